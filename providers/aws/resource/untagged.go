package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file handles resources that have a name of this installation and lack its tags. A person or
// another program may have removed the tags. Fairlead leaves such a resource alone: the role of
// docs/iam-policy.json may change only resources with the tag of the installation, and may not add
// that tag to an existing resource (aws:ResourceTag,
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/load-balancer-authentication-access-control.html).
// Putting the tags back confirms that the resource is ours, and Fairlead keeps it as it is.

// ExplainUntagged returns the error for a resource without our tags: it belongs to another
// installation, or it says with which command the tags are put back.
func ExplainUntagged(what, arn string, tags, ours map[string]string) error {
	if tags[TagInstallation] != "" {
		return fmt.Errorf("%s is somebody else's: %w", what, providers.ErrRejected)
	}
	return fmt.Errorf("%s has the name that this installation gives, and not its tags: it is "+
		"somebody else's, or has lost them. "+
		"If it is this installation's, put them back, and it is kept as it stands: %s: %w", what,
		addTags(arn, ours), providers.ErrRejected)
}

// ExplainDenied adds to a refusal, about a resource inside a load balancer of ours, that the
// resource has lost its tags.
func ExplainDenied(err error, what, arn string, tags, ours map[string]string) error {
	if !errors.Is(err, providers.ErrDenied) || tags[TagInstallation] != "" {
		return err
	}
	return fmt.Errorf("%s has lost its tags, without which it may not be changed; put them "+
		"back: %s: %w",
		what, addTags(arn, ours), err)
}

// ExplainDeniedRules adds to a refusal about rules which of them have lost their tags. The tags of
// rules are read only here.
func (r API) ExplainDeniedRules(ctx context.Context, key lb.Key, err error, arns ...string) error {
	if !errors.Is(err, providers.ErrDenied) {
		return err
	}
	tags, unread := r.TagsOf(ctx, arns)
	if unread != nil {
		return err
	}
	for _, arn := range arns {
		err = ExplainDenied(err, "the rule", arn, tags[arn], r.Owned(key, nil))
	}
	return err
}

// addTags returns the command that adds tags to a resource of Elastic Load Balancing.
func addTags(arn string, tags map[string]string) string {
	words := []string{"aws elbv2 add-tags --resource-arns", arn, "--tags"}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		words = append(words, fmt.Sprintf("'Key=%s,Value=%s'", name, tags[name]))
	}
	return strings.Join(words, " ")
}

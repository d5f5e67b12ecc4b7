package client

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
// another program may have removed the tags. Fairlead does not change such a resource: the role of
// docs/iam-policy.json can change only resources with the tag of the installation, and cannot add
// that tag to an existing resource (aws:ResourceTag,
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/load-balancer-authentication-access-control.html).
// A person who restores the tags confirms that the resource is ours, and Fairlead uses it again.

// ExplainUntagged returns the error for a resource without our tags: it belongs to another
// installation, or its tags can be restored with the command in the error.
func ExplainUntagged(what, arn string, tags, ours map[string]string) error {
	if tags[TagInstallation] != "" {
		return fmt.Errorf("%s belongs to another installation: %w", what, providers.ErrRejected)
	}
	return fmt.Errorf("%s has a name of this installation, and lacks its tags: it is not this "+
		"installation's, or its tags were removed. "+
		"If it is this installation's, restore the tags, and it stays in use: %s: %w", what,
		addTags(arn, ours), providers.ErrRejected)
}

// ExplainDenied adds to a denial that the resource, which is part of our load balancer, lacks our
// tags: it has lost them, or others made it.
func ExplainDenied(err error, what, arn string, tags, ours map[string]string) error {
	if !errors.Is(err, providers.ErrDenied) || tags[TagInstallation] != "" {
		return err
	}
	return fmt.Errorf("%s lacks Fairlead's tags, without which it cannot be changed; add them: %s: %w",
		what, addTags(arn, ours), err)
}

// ExplainDeniedRules adds to a denial the rules that have lost their tags. Only this function reads
// the tags of rules.
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

package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file is about what has a name that only this installation gives, and not its tags. Another
// hand may have taken them away. Nothing is done to it: the role of docs/iam-policy.json may change
// only what has the tag of the installation, and may not give that to what is there
// (aws:ResourceTag,
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/load-balancer-authentication-access-control.html).
// An owner of the account who puts the tags back confirms that it is ours, and it is taken over as
// it stands.

// untagged says of something that it is somebody else's, or how its owner gives it back.
func (p *Provider) untagged(what, arn string, tags, ours map[string]string) error {
	if tags[tagInstallation] != "" {
		return fmt.Errorf("%s is somebody else's: %w", what, providers.ErrRejected)
	}
	return fmt.Errorf("%s has the name that this installation gives, and not its tags: it is somebody else's, or has lost them. "+
		"If it is this installation's, put them back, and it is kept as it stands: %s: %w", what, addTags(arn, ours), providers.ErrRejected)
}

// wasOurs reports whether a target group was seen with its tags before, by this process.
func (p *Provider) wasOurs(arn string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bared[arn] != ""
}

// deniedUntagged adds to a refusal, about something that lies inside a load balancer of ours, that
// it has lost its tags.
func (p *Provider) deniedUntagged(err error, what, arn string, tags, ours map[string]string) error {
	if !errors.Is(err, providers.ErrDenied) || tags[tagInstallation] != "" {
		return err
	}
	return fmt.Errorf("%s has lost its tags, without which it may not be changed; put them back: %s: %w", what, addTags(arn, ours), err)
}

// deniedRules adds to a refusal about rules which of them have lost their tags. The tags of rules
// are read for that only.
func (p *Provider) deniedRules(ctx context.Context, key lb.Key, err error, arns ...string) error {
	if !errors.Is(err, providers.ErrDenied) {
		return err
	}
	tags, unread := p.tagsOf(ctx, arns)
	if unread != nil {
		return err
	}
	for _, arn := range arns {
		err = p.deniedUntagged(err, "the rule", arn, tags[arn], p.owned(key, nil))
	}
	return err
}

// addTags is the command that gives a resource of Elastic Load Balancing some tags.
func addTags(arn string, tags map[string]string) string {
	words := []string{"aws elbv2 add-tags --resource-arns", arn, "--tags"}
	for _, name := range sorted(tags) {
		words = append(words, fmt.Sprintf("'Key=%s,Value=%s'", name, tags[name]))
	}
	return strings.Join(words, " ")
}

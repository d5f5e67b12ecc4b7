package aws

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file gives load balancers the protection of AWS Shield Advanced. A tag says that one was
// given, and its name that it was by us: what somebody else gave stays.

// How long a subscription is known, and how long that there is none.
const (
	subscriptionLife  = 2 * time.Hour
	subscriptionPause = time.Minute
)

// unshielded is why load balancers cannot be shielded, or "". That it cannot be told is a reason,
// too: nothing else waits for it.
func (p *Provider) unshielded(ctx context.Context) string {
	read := func() (shieldtypes.SubscriptionState, error) {
		out, err := p.shields.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{})
		if err != nil {
			return "", explained("reading the subscription to Shield Advanced", err)
		}
		return out.SubscriptionState, nil
	}
	state, err := p.subscription.since(time.Now().Add(-subscriptionLife), read)
	if err == nil && state != shieldtypes.SubscriptionStateActive {
		state, err = p.subscription.since(time.Now().Add(-subscriptionPause), read)
	}
	switch {
	case err != nil:
		return err.Error()
	case state != shieldtypes.SubscriptionStateActive:
		return "the account has no subscription to Shield Advanced"
	}
	return ""
}

// shield gives a load balancer a protection, or takes away the one that it was given.
func (p *Provider) shield(ctx context.Context, seen *lb.Observed, want string) error {
	arn := seen.Handle
	if want != lb.ShieldOn {
		if err := p.unshield(ctx, seen); err != nil {
			return err
		}
	} else if _, err := p.shields.CreateProtection(ctx, &shield.CreateProtectionInput{
		Name: aws.String(p.shieldName(seen.Key)), ResourceArn: aws.String(arn),
		// The role may delete protections only where they have the tag of the installation.
		Tags: []shieldtypes.Tag{{Key: aws.String(tagInstallation), Value: aws.String(p.installation)}},
	}); err != nil && !is(err, "ResourceAlreadyExists") {
		return explained("shielding "+arn, err)
	}
	if want == "" {
		return p.untag(ctx, arn, []string{tagShield})
	}
	return p.tag(ctx, arn, map[string]string{tagShield: want})
}

// shieldName is what the protection of a load balancer is called that we give it.
func (p *Provider) shieldName(key lb.Key) string { return "fairlead " + p.derivedName(key) }

// unshield takes away the protection that a load balancer was given.
func (p *Provider) unshield(ctx context.Context, seen *lb.Observed) error {
	there, err := p.shieldOf(ctx, seen.Handle)
	if err != nil || there == nil || aws.ToString(there.Name) != p.shieldName(seen.Key) {
		return err
	}
	_, err = p.shields.DeleteProtection(ctx, &shield.DeleteProtectionInput{ProtectionId: there.Id})
	if is(err, "ResourceNotFound") {
		return nil
	}
	return explained("taking the shield from "+seen.Handle, err)
}

// shieldOf is the protection that a load balancer has, or nil.
func (p *Provider) shieldOf(ctx context.Context, arn string) (*shieldtypes.Protection, error) {
	out, err := p.shields.DescribeProtection(ctx, &shield.DescribeProtectionInput{ResourceArn: aws.String(arn)})
	if is(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, explained("reading the shield of "+arn, err)
	}
	return out.Protection, nil
}

// readShield reads whether a load balancer was given a protection: from the tag, or, looked at
// deeply, whether it has one. Somebody else's does where there is to be one, and is none of ours
// where there is not.
func (p *Provider) readShield(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if l.balancer == nil {
		return nil
	}
	arn := aws.ToString(l.balancer.LoadBalancerArn)
	if l.protection.Shield = l.tags[arn][tagShield]; l.protection.Shield == "" || !l.deep {
		return nil
	}
	there, err := p.shieldOf(ctx, arn)
	switch {
	case err != nil:
		return err
	case there == nil:
		l.protection.Shield = lb.ShieldOff
	case aws.ToString(there.Name) == p.shieldName(l.key):
		l.protection.Shield = lb.ShieldOn
	}
	return nil
}

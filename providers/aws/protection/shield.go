package protection

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/cache"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file gives load balancers the protection of AWS Shield Advanced. A tag says that Fairlead
// gave it, and so does the name of the protection: a protection of others stays.

// How long the state of the subscription is kept: where there is one, and where there is none.
const (
	subscriptionLife  = 2 * time.Hour
	subscriptionPause = time.Minute
)

// Shields gives load balancers the protection of Shield Advanced.
type Shields struct {
	resource.API
	shields      *shield.Client
	subscription cache.Value[shieldtypes.SubscriptionState]
}

// NewShields returns Shields that have read nothing.
func NewShields(api resource.API, client *shield.Client) *Shields {
	return &Shields{API: api, shields: client}
}

// Unavailable returns why load balancers cannot be protected, or "". That the subscription cannot
// be read is a reason, too: no other setting waits for it.
func (s *Shields) Unavailable(ctx context.Context) string {
	read := func() (shieldtypes.SubscriptionState, error) {
		out, err := s.shields.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{})
		if err != nil {
			return "", awserr.Explain("reading the subscription to Shield Advanced", err)
		}
		return out.SubscriptionState, nil
	}
	state, err := s.subscription.Since(time.Now().Add(-subscriptionLife), read)
	if err == nil && state != shieldtypes.SubscriptionStateActive {
		state, err = s.subscription.Since(time.Now().Add(-subscriptionPause), read)
	}
	switch {
	case err != nil:
		return err.Error()
	case state != shieldtypes.SubscriptionStateActive:
		return "the account has no subscription to Shield Advanced"
	}
	return ""
}

// Set gives a load balancer a protection, or removes ours.
func (s *Shields) Set(ctx context.Context, seen *lb.Observed, want string) error {
	arn := seen.Handle
	if want != lb.ShieldOn {
		if err := s.Remove(ctx, seen); err != nil {
			return err
		}
	} else if _, err := s.shields.CreateProtection(ctx, &shield.CreateProtectionInput{
		Name: aws.String(s.nameOf(seen.Key)), ResourceArn: aws.String(arn),
		// The role may delete protections only where they have the tag of the installation.
		Tags: []shieldtypes.Tag{{Key: aws.String(resource.TagInstallation),
			Value: aws.String(s.Installation)}},
	}); err != nil && !awserr.Is(err, "ResourceAlreadyExists") {
		return awserr.Explain("shielding "+arn, err)
	}
	if want == "" {
		return s.Untag(ctx, arn, []string{resource.TagShield})
	}
	return s.Tag(ctx, arn, map[string]string{resource.TagShield: want})
}

// nameOf returns the name of our protection of a load balancer.
func (s *Shields) nameOf(key lb.Key) string { return "fairlead " + s.DerivedName(key) }

// Remove removes our protection of a load balancer.
func (s *Shields) Remove(ctx context.Context, seen *lb.Observed) error {
	there, err := s.attached(ctx, seen.Handle)
	if there == nil || aws.ToString(there.Name) != s.nameOf(seen.Key) {
		return err
	}
	_, err = s.shields.DeleteProtection(ctx, &shield.DeleteProtectionInput{ProtectionId: there.Id})
	if awserr.Is(err, "ResourceNotFound") {
		return nil
	}
	return awserr.Explain("taking the shield from "+seen.Handle, err)
}

// attached returns the protection that a load balancer has, or nil.
func (s *Shields) attached(ctx context.Context, arn string) (*shieldtypes.Protection, error) {
	out, err := s.shields.DescribeProtection(ctx, &shield.DescribeProtectionInput{
		ResourceArn: aws.String(arn),
	})
	if awserr.Is(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, awserr.Explain("reading the shield of "+arn, err)
	}
	return out.Protection, nil
}

// Observe reads whether a load balancer has a protection: what the tag says, or, with a deep look,
// what Shield says. A protection of others is enough where there is to be one, and is left alone
// where there is to be none.
func (s *Shields) Observe(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if l.Balancer == nil {
		return nil
	}
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	if l.Protection.Shield = l.Tags[arn][resource.TagShield]; l.Protection.Shield == "" || !l.Deep {
		return nil
	}
	there, err := s.attached(ctx, arn)
	switch {
	case err != nil:
		return err
	case there == nil:
		l.Protection.Shield = lb.ShieldOff
	case aws.ToString(there.Name) == s.nameOf(l.Key):
		l.Protection.Shield = lb.ShieldOn
	}
	return nil
}

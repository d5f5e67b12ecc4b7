package balancers

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file adds the protection of AWS Shield Advanced to load balancers. A tag and the name of the
// protection show that Fairlead added it. Fairlead keeps the protections of others.

// The times for which the state of the subscription is used: if there is one, and if there is none.
const (
	subscriptionLife  = 2 * time.Hour
	subscriptionPause = time.Minute
)

// Shields adds the protection of Shield Advanced to load balancers, and removes it.
type Shields struct {
	client.API
	shields      *shield.Client
	subscription client.Cached[shieldtypes.SubscriptionState]
}

// NewShields returns Shields without state.
func NewShields(api client.API, client *shield.Client) *Shields {
	return &Shields{API: api, shields: client}
}

// Unavailable returns the reason why load balancers cannot be protected, or "". An error of reading
// the subscription is a reason, too: no other setting waits for it.
func (s *Shields) Unavailable(ctx context.Context) string {
	read := func() (shieldtypes.SubscriptionState, error) {
		out, err := s.shields.GetSubscriptionState(ctx, &shield.GetSubscriptionStateInput{})
		if err != nil {
			return "", client.Explain("reading the subscription to Shield Advanced", err)
		}
		return out.SubscriptionState, nil
	}
	state, err := s.subscription.ReadSince(time.Now().Add(-subscriptionLife), read)
	if err == nil && state != shieldtypes.SubscriptionStateActive {
		state, err = s.subscription.ReadSince(time.Now().Add(-subscriptionPause), read)
	}
	switch {
	case err != nil:
		return err.Error()
	case state != shieldtypes.SubscriptionStateActive:
		return "the account has no subscription to Shield Advanced"
	}
	return ""
}

// Set adds a protection to a load balancer, or removes ours.
func (s *Shields) Set(ctx context.Context, seen *lb.Observed, want string) error {
	arn := seen.Handle
	if want != lb.ShieldOn {
		if err := s.Remove(ctx, seen); err != nil {
			return err
		}
	} else if _, err := s.shields.CreateProtection(ctx, &shield.CreateProtectionInput{
		Name: aws.String(s.nameOf(seen.Key)), ResourceArn: aws.String(arn),
		// The role can delete only protections with the tag of the installation.
		Tags: []shieldtypes.Tag{{Key: aws.String(client.TagInstallation),
			Value: aws.String(s.Installation)}},
	}); err != nil && !client.HasCode(err, "ResourceAlreadyExists") {
		return client.Explain("shielding "+arn, err)
	}
	if want == "" {
		return s.Untag(ctx, arn, []string{client.TagShield})
	}
	return s.Tag(ctx, arn, map[string]string{client.TagShield: want})
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
	if client.HasCode(err, "ResourceNotFound") {
		return nil
	}
	return client.Explain("taking the shield from "+seen.Handle, err)
}

// attached returns the protection that a load balancer has, or nil.
func (s *Shields) attached(ctx context.Context, arn string) (*shieldtypes.Protection, error) {
	out, err := s.shields.DescribeProtection(ctx, &shield.DescribeProtectionInput{
		ResourceArn: aws.String(arn),
	})
	if client.HasCode(err, "ResourceNotFound") {
		return nil, nil
	}
	if err != nil {
		return nil, client.Explain("reading the shield of "+arn, err)
	}
	return out.Protection, nil
}

// Attached returns whether a load balancer has a protection, made by Fairlead or not: ShieldOn or ShieldOff.
func (s *Shields) Attached(ctx context.Context, arn string) (string, error) {
	there, err := s.attached(ctx, arn)
	if err != nil || there == nil {
		return lb.ShieldOff, err
	}
	return lb.ShieldOn, nil
}

// Observe reads whether a load balancer has a protection: from the tag, or, with a deep look, from
// Shield. A protection of others counts if one is wanted, and stays if none is wanted.
func (s *Shields) Observe(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if l.Balancer == nil {
		return nil
	}
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	if l.Protection.Shield = l.Tags[arn][client.TagShield]; l.Protection.Shield == "" || !l.Deep {
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

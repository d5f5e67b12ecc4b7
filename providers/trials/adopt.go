package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file takes over a load balancer that is made as another controller makes it, and gives it back.

// A Former makes load balancers as the controller makes them from which they are taken over.
type Former interface {
	providers.Adopter
	// FormerName is the name of the load balancer of this run.
	FormerName() string
	// MakeFormer makes an internal load balancer with this name, and the listeners, rules and target groups of a wanted
	// one, and returns its handle.
	MakeFormer(ctx context.Context, want lb.LoadBalancer) (handle string, err error)
	// TryFormer tests the assumptions that are about such a load balancer.
	TryFormer(ctx context.Context, handle string) []check.Finding
}

// keys returns the keys of the load balancers of a run, in the order in which they are deleted.
func (o Options) keys(in Cloud) []lb.Key {
	if former, is := in.(Former); is && o.Adopt {
		return []lb.Key{formerKey(former), second, first}
	}
	return []lb.Key{second, first}
}

// formerKey returns the key of the load balancer that is taken over.
func formerKey(f Former) lb.Key { return lb.Key("fairlead/prove/former/internal=" + f.FormerName()) }

// A takeover is a load balancer that is taken over and given back.
type takeover struct {
	*run
	Former
	key    lb.Key
	handle string
	want   lb.LoadBalancer
	before *lb.Other
}

// adoptions returns the scenarios of a takeover.
func (r *run) adoptions(l life) ([]scenario, error) {
	former, is := r.lab.(Former)
	if !is {
		return nil, fmt.Errorf("the provider takes no load balancers over")
	}
	t := &takeover{run: r, Former: former, key: formerKey(former)}
	home, calls := rule("/*", forward(web)), rule("/api/*", lb.FromRouting(routing.Status(410)))
	t.want = l.balancer(t.key, []lb.TargetGroup{l.group(web, "/")}, nil, listener(80, routing.HTTP, nil, calls, home))
	t.want.Settings.Tags = nil
	return []scenario{
		{"former", "a load balancer is made as the AWS Load Balancer Controller makes it", t.make,
			func(ctx context.Context) []check.Finding { return t.TryFormer(ctx, t.handle) }},
		{"take", "it is taken over, and only its tags change", t.take, nil},
		{"return", "it is given back as it was", t.giveBack, nil},
		{"take-again", "it is taken over again", t.take, nil},
		{"change", "a rule of it is added by an ordinary plan", t.change, nil},
		{"return-changed", "it is given back with that rule, and its tags are as they were", t.giveBackChanged, nil},
	}, nil
}

func (t *takeover) make(ctx context.Context) (detail string, err error) {
	if t.handle, err = t.MakeFormer(ctx, t.want); err != nil {
		return "", err
	}
	if err := pause(ctx, t.ReadLag); err != nil {
		return "", err
	}
	return "", t.await(ctx, func(o *lb.Other) error {
		if missing := t.missing(o); missing != "" {
			return fmt.Errorf("what was made is not read yet: %s", missing)
		}
		t.before = o
		t.want.Settings.Subnets = o.Read.LoadBalancer.Subnets
		t.want.Digest = lb.DigestOf(t.want.Settings)
		return nil
	})
}

// missing says what of the load balancer that was made is not read; "" if all is.
func (t *takeover) missing(o *lb.Other) string {
	switch {
	case o.Read == nil || o.Read.LoadBalancer == nil || len(o.Read.LoadBalancer.SecurityGroups) != 1:
		return "its settings"
	case len(o.Listeners) != 1 || len(o.Listeners[0].Rules) != len(t.want.Listeners[0].Rules):
		return "its listener with its rules"
	case len(o.TargetGroups) != 1:
		return "its target group"
	}
	for _, handle := range slices.Sorted(maps.Keys(o.Tags)) {
		if len(o.Tags[handle]) == 0 {
			return "the tags of " + handle
		}
	}
	return ""
}

// find reads the load balancer.
func (t *takeover) find(ctx context.Context) (*lb.Other, error) {
	o, err := retryCall(ctx, t.run, func() (*lb.Other, error) { return t.Found(ctx, t.handle) })
	if err == nil && o == nil {
		err = fmt.Errorf("load balancer %s is gone", t.handle)
	}
	return o, err
}

// takeover says which parts of the found load balancer are which wanted ones.
func (t *takeover) takeover(o *lb.Other) lb.Takeover {
	out := lb.Takeover{Want: t.want, Groups: map[string]lb.GroupID{}}
	for _, g := range o.TargetGroups {
		out.Groups[g.Handle] = web
	}
	if o.Read != nil && o.Read.LoadBalancer != nil && len(o.Read.LoadBalancer.SecurityGroups) > 0 {
		out.Firewall = o.Read.LoadBalancer.SecurityGroups[0]
	}
	return out
}

// take takes the load balancer over. Only its tags may change, and no step may be left to do.
func (t *takeover) take(ctx context.Context) (string, error) {
	what := t.takeover(t.before)
	if err := t.call(ctx, func() error { return t.Admit(ctx, t.before, what) }); err != nil {
		return "", fmt.Errorf("letting it connect to targets: %w", err)
	}
	changes, err := t.retag(ctx, func(o *lb.Other) ([]lb.TagChange, error) { return t.Claim(o, what) })
	if err != nil {
		return "", err
	}
	if err := t.await(ctx, t.unchanged); err != nil {
		return "", err
	}
	return fmt.Sprintf("by %d changes of tags", changes), t.awaitRead(ctx, t.key, t.noSteps(t.want))
}

// retag makes changes of tags until none is left to make, and returns how many it made. It waits before it reads again, as
// reads of tags of an earlier moment would say that nothing is to be done.
func (t *takeover) retag(ctx context.Context, changes func(*lb.Other) ([]lb.TagChange, error)) (made int, err error) {
	for {
		now, err := t.find(ctx)
		if err != nil {
			return made, err
		}
		left, err := changes(now)
		if err != nil || len(left) == 0 {
			return made, err
		}
		for _, c := range left {
			if err := t.call(ctx, func() error { return t.Retag(ctx, t.key, c) }); err != nil {
				return made, err
			}
			made++
		}
		if err := pause(ctx, t.ReadLag); err != nil {
			return made, err
		}
	}
}

// call makes a call, and repeats it after temporary errors.
func (t *takeover) call(ctx context.Context, do func() error) error {
	_, err := retryCall(ctx, t.run, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// await reads the load balancer until a check passes, and returns the last error after half as long again as reads lag.
func (t *takeover) await(ctx context.Context, check func(*lb.Other) error) error {
	for tries, deadline := 0, time.Now().Add(t.ReadLag+t.ReadLag/2); ; tries++ {
		now, err := t.find(ctx)
		if err != nil {
			return err
		}
		if err := check(now); err == nil || time.Now().After(deadline) {
			return err
		}
		if tries == 0 {
			continue // most reads have it at once
		}
		if err := pause(ctx, t.Pause); err != nil {
			return err
		}
	}
}

// unchanged checks that all but tags is as it was made.
func (t *takeover) unchanged(now *lb.Other) error {
	if was, is := withoutTags(t.before), withoutTags(now); was != is {
		return fmt.Errorf("more than its tags has changed: %s", firstDifference(was, is))
	}
	return nil
}

// withoutTags returns a load balancer as text, without its tags, what they say, and what changes by itself.
func withoutTags(o *lb.Other) string {
	seen := o.Clone()
	seen.Key, seen.Digest, seen.Firewall, seen.Protected = "", "", "", ""
	for i := range seen.Listeners {
		l := &seen.Listeners[i]
		l.Digest, l.Shape, l.Others = "", "", false
	}
	for i := range seen.TargetGroups {
		g := &seen.TargetGroups[i]
		g.Digest, g.Service, g.Port, g.Registered = "", "", "", false
	}
	settings, _ := json.Marshal(o.Read) // plain data, without an error
	return inComparableForm(seen) + string(settings)
}

// change adds a rule.
func (t *takeover) change(ctx context.Context) (string, error) {
	want := t.want
	l := want.Listeners[0]
	l.Rules = append([]lb.Rule{rule("/new/*", lb.FromRouting(routing.Status(503)))}, l.Rules...)
	want.Listeners = []lb.Listener{l}
	return "", t.applyAndCheck(ctx, want)
}

func (t *takeover) giveBack(ctx context.Context) (string, error) {
	detail, err := t.giveBackChanged(ctx)
	if err != nil {
		return "", err
	}
	return detail, t.await(ctx, t.unchanged)
}

// giveBackChanged gives the load balancer back. The tags of all parts that it had before have to be as they were.
func (t *takeover) giveBackChanged(ctx context.Context) (string, error) {
	changes, err := t.retag(ctx, func(o *lb.Other) ([]lb.TagChange, error) { return t.Return(o), nil })
	if err != nil {
		return "", err
	}
	now, err := t.find(ctx)
	if err != nil {
		return "", err
	}
	dismiss := func() error {
		_, err := t.Dismiss(ctx, now, t.key)
		return err
	}
	if err := t.call(ctx, dismiss); err != nil {
		return "", fmt.Errorf("undoing what let it connect to targets: %w", err)
	}
	if err := t.await(ctx, t.tagged); err != nil {
		return "", err
	}
	return fmt.Sprintf("by %d changes of tags", changes), t.awaitRead(ctx, t.key, func(seen *lb.Observed) error {
		if seen.Exists {
			return fmt.Errorf("%s is still observed as the operator's", t.key)
		}
		return nil
	})
}

// tagged checks that tags are as they were.
func (t *takeover) tagged(now *lb.Other) error {
	var wrong []string
	for _, handle := range slices.Sorted(maps.Keys(t.before.Tags)) {
		if was, is := t.before.Tags[handle], now.Tags[handle]; !maps.Equal(was, is) {
			wrong = append(wrong, fmt.Sprintf("%s has the tags %v, and had %v", handle, is, was))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d parts have other tags than before: %s", len(wrong), strings.Join(wrong, "; "))
	}
	return nil
}

package neutral

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file goes the operator's way from objects to a provider, without the operator.

// A balancer is the load balancer of one provider.
type balancer struct {
	name     string
	provider providers.Provider
	plane    plane
	// real are the addresses at which Services really answer; nil where the endpoints of the cluster
	// will do.
	real map[string]lb.Target
	// killed says that the provider is killed now and then.
	killed bool

	snapshot ingress.Snapshot
	built    model.Built
	seen     *lb.Observed
}

// A plane answers requests as a load balancer does: in words, and "refused" where nothing listens.
// A request that is spread over Services is made as often as the weights take until they are over.
type plane interface {
	ask(b *balancer, r request, times int) (string, error)
}

// settle makes the load balancer what the cluster asks for.
func (b *balancer) settle(t *testing.T, o ingress.Objects) {
	t.Helper()
	b.patiently(t, func() error {
		rests, err := b.reconcile(t.Context(), o)
		if err == nil && !rests {
			err = providers.ErrPending
		}
		return err
	})
}

// patiently tries again what is too early, and where the provider is killed whatever fails.
func (b *balancer) patiently(t *testing.T, try func() error) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if !b.killed && !onlyPending(err) || t.Failed() || time.Since(begun) > 3*time.Minute {
			t.Fatalf("%s: %v", b.name, err)
		}
	}
}

// onlyPending reports whether all that went wrong is that it is too early.
func onlyPending(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyPending(e) })
	}
	return errors.Is(err, providers.ErrPending)
}

// reconcile goes the way once, and reports whether there was nothing to do.
func (b *balancer) reconcile(ctx context.Context, o ingress.Objects) (rests bool, err error) {
	if err := b.compile(ctx, o); err != nil {
		return false, err
	}
	want := b.built.LoadBalancer
	for i := range want.TargetGroups {
		if to, ok := b.real[want.TargetGroups[i].Service]; ok {
			want.TargetGroups[i].Targets = []lb.Target{to}
		}
	}
	todo := planner.Diff(b.seen, want, b.provider.Capabilities(model.ClassOf(b.snapshot)))
	outcome, err := providers.Run(ctx, b.provider, b.seen, todo, providers.Options{})
	if err == nil && len(outcome.Rejections) > 0 {
		err = fmt.Errorf("refused: %v", outcome.Rejections)
	}
	return len(todo.Steps) == 0, err
}

// compile observes what there is, and compiles what is asked for.
func (b *balancer) compile(ctx context.Context, o ingress.Objects) error {
	split, _ := ingress.Place(o, ingress.ClassOptions{})
	at := slices.IndexFunc(split, func(s ingress.Snapshot) bool { return s.Key == key })
	if at < 0 {
		return errors.New("no Ingress asks for a load balancer")
	}
	b.snapshot = split[at]
	facts, err := b.provider.Lookup(ctx, model.Ask(b.snapshot))
	if err != nil {
		return err
	}
	if b.seen, err = b.provider.Observe(ctx, key, false); err != nil {
		return err
	}
	facts.AddObserved(b.seen)
	b.built = model.Compile(b.snapshot, facts, b.provider.Capabilities(model.ClassOf(b.snapshot)))
	return nil
}

// refusals are what is refused, each with the object that it is of.
func (b *balancer) refusals() map[string]string {
	out := map[string]string{}
	for _, d := range b.built.Diagnostics {
		if d.Severity == diag.Error {
			out[fmt.Sprintf("%s %s", d.Reason, d.Source)] = d.Source.Object()
		}
	}
	return out
}

// wanted is what the Ingresses say of a request, in words, and how often it is made until its
// weights are over.
func (b *balancer) wanted(r request) (said string, times int) {
	at := slices.IndexFunc(b.built.Table.Listeners, func(l routing.Listener) bool { return l.Port == r.port })
	if at < 0 {
		return refused, 1
	}
	protocol := b.built.Table.Listeners[at].Protocol
	sent := r.sent()
	a := b.built.Table.Match(sent).Action.On(protocol)
	switch {
	case a.Fixed != nil:
		return fixed(a.Fixed.Status, a.Fixed.Body), 1
	case a.Redirect != nil:
		return redirected(a.Redirect.Status, a.Redirect.Location(sent, strings.ToLower(string(protocol)), r.query)), 1
	}
	host, target := sent.Host, r.target()
	if a.Rewrite != nil {
		host, target = a.Rewrite.Apply(host, target)
	}
	shares := shares{}
	for _, f := range a.Forward {
		shares[b.serviceOf(string(f.Backend))] += int(f.Weight)
	}
	return shares.forward(host, target, int(a.StickySeconds)), shares.reduce()
}

// serviceOf is the Service of a target group.
func (b *balancer) serviceOf(group string) string {
	for _, g := range b.built.LoadBalancer.TargetGroups {
		if string(g.ID) == group {
			return g.Service
		}
	}
	return "no Service (" + group + ")"
}

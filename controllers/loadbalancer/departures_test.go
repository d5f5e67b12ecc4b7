package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file tests when an Ingress is released, and what is removed from it then.

const otherKey = lb.Key("fairlead/shop/other/internal")

// parting is an outcome of a load balancer that shop/web has departed from, and shop/kept has not.
func parting(ing *networkingv1.Ingress, seen *lb.Observed) (outcome, *records.Record) {
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}, Departed: map[string]*networkingv1.Ingress{"shop/web": ing}}
	g.Record.Address = "ours.example"
	next := &records.Record{}
	next.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/kept"}, {Ingress: "shop/web"}}
	return outcome{Snapshot: g, Observed: seen, Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: benchKey}}}, next
}

// An Ingress departs once the cloud routes nothing that was not asked for. One of a load balancer
// that its class retains departs at once.
func TestAnIngressDepartsOnceItsRoutesAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		exists, retained, none bool
		departs                bool
	}{
		"the load balancer is gone":     {departs: true},
		"the load balancer exists":      {exists: true},
		"the load balancer is retained": {exists: true, retained: true, departs: true},
		"nothing departs":               {exists: true, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			o, next := parting(nil, &lb.Observed{Key: benchKey, Exists: c.exists})
			if c.retained {
				o.Snapshot.Class = ingress.Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain}}
			}
			if c.none {
				o.Snapshot.Departed = nil
			}
			free, err := b.releaseDeparted(t.Context(), o, next)
			_, departs := free["shop/web"]
			if err != nil || departs != c.departs || len(free) > 1 {
				t.Errorf("it departs: %v, error %v", free, err)
			}
			if _, left := o.Snapshot.Departed["shop/web"]; !c.none && left == c.departs {
				t.Errorf("it is still to depart: %t", left)
			}
			if left := records.MemberOf(next, "shop/web") != nil; left == c.departs || records.MemberOf(next, "shop/kept") == nil {
				t.Errorf("the record has %v", next.Memory.Members)
			}
		})
	}
}

// An Ingress that cannot be parted with stays in the record, and is to depart at the next
// reconcile.
func TestAnIngressThatCannotBePartedWithStays(t *testing.T) {
	refuses := errors.New("refused")
	b := newBench(t, published(false))
	b.Ingresses = ingresses.NewWriter(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return refuses
		},
	}))
	o, next := parting(b.ingress(), &lb.Observed{Key: benchKey})
	free, err := b.releaseDeparted(t.Context(), o, next)
	if !errors.Is(err, refuses) || len(free) > 0 || o.Snapshot.Departed["shop/web"] == nil || len(next.Memory.Members) != 2 {
		t.Errorf("%v departs, error %v; to depart are %v, and the record has %v", free, err, o.Snapshot.Departed, next.Memory.Members)
	}
}

// published is shop/web with the finalizer and the address of the load balancer, as it is served or
// deleted.
func published(deleted bool) *networkingv1.Ingress {
	ing := ask("shop.example")
	ing.Finalizers = []string{v1alpha1.IngressFinalizer}
	ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "ours.example"}}
	if now := metav1.Now(); deleted {
		ing.DeletionTimestamp = &now
	}
	return ing
}

// The address is removed from an Ingress that departs, unless another load balancer has it, or it is
// deleted. Its class's withdrawal, and that the load balancer stays, are sent to it.
func TestWhatIsSaidToAnIngressThatDeparts(t *testing.T) {
	who := cluster.RefTo(cluster.KindIngress, "shop", "web")
	told := diag.Diagnostic{Source: diag.Source{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, Severity: diag.Warning, Message: "a message"}
	withdrawn, protected := told, told
	withdrawn.Reason, protected.Reason = diag.ConsentWithdrawn, diag.Protected
	for name, c := range map[string]struct {
		on                                      []lb.Key
		deleted, disowned, withdrawn, protected bool
		stays                                   bool // the address
		events                                  []string
	}{
		"it belongs nowhere":         {},
		"it belongs here":            {on: []lb.Key{benchKey}},
		"it belongs to another":      {on: []lb.Key{benchKey, otherKey}, stays: true, withdrawn: true},
		"the other does not have it": {on: []lb.Key{benchKey, otherKey}, disowned: true},
		"it is deleted":              {deleted: true, stays: true},
		"the class has withdrawn":    {withdrawn: true, events: []string{string(diag.ConsentWithdrawn)}},
		"the load balancer stays":    {protected: true, events: []string{string(diag.Protected)}},
		"deleted, of one that stays": {deleted: true, protected: true, stays: true, events: []string{string(diag.Protected)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, published(c.deleted))
			o, _ := parting(b.ingress(), &lb.Observed{Key: benchKey})
			b.Directory.Place(who, c.on)
			o.Snapshot.Disowned = map[string]bool{"shop/web": c.disowned}
			if c.withdrawn {
				o.Snapshot.ConsentWithdrawn = map[string]diag.Diagnostic{"shop/web": withdrawn}
			}
			if c.protected {
				o.Plan.Diagnostics = []diag.Diagnostic{protected}
			}
			if err := b.unpublishDeparted(t.Context(), o, who, o.Snapshot.Departed["shop/web"]); err != nil {
				t.Fatal(err)
			}
			if stays := len(b.ingress().Status.LoadBalancer.Ingress) > 0; stays != c.stays {
				t.Errorf("the address stays: %t", stays)
			}
			var list eventsv1.EventList
			if err := b.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for _, e := range list.Items {
				reasons = append(reasons, e.Reason)
			}
			if !slices.Equal(reasons, c.events) {
				t.Errorf("the events are %q, want %q", reasons, c.events)
			}
		})
	}
}

// The finalizer is removed unless another load balancer has the Ingress. Where it cannot be removed,
// or the Ingress waits for room, the directory keeps the Ingress.
func TestAReleasedIngressLosesTheFinalizer(t *testing.T) {
	who := cluster.RefTo(cluster.KindIngress, "shop", "web")
	for name, c := range map[string]struct {
		on                    []lb.Key
		awaits, gone, refused bool
		held                  bool // has the finalizer
		want                  []lb.Key
	}{
		"of one load balancer":      {on: []lb.Key{benchKey}},
		"of another too":            {on: []lb.Key{otherKey, benchKey}, held: true, want: []lb.Key{otherKey}},
		"gone":                      {on: []lb.Key{benchKey}, gone: true, held: true},
		"it waits for room":         {on: []lb.Key{benchKey}, awaits: true, want: []lb.Key{benchKey}},
		"the API server refuses it": {on: []lb.Key{benchKey}, refused: true, held: true, want: []lb.Key{benchKey}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, published(false))
			refuses := errors.New("refused")
			if c.refused {
				b.Ingresses = ingresses.NewWriter(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
					Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
						return refuses
					},
				}))
			}
			if err := b.Ingresses.AddFinalizer(t.Context(), b.ingress()); err != nil {
				t.Fatal(err)
			}
			o, _ := parting(nil, &lb.Observed{Key: benchKey})
			o.Snapshot.AwaitingRoom = map[string]bool{"shop/web": c.awaits}
			b.Directory.Place(who, c.on)
			free := map[string]*networkingv1.Ingress{"shop/web": nil}
			if !c.gone {
				free["shop/web"] = b.ingress()
			}
			if err := b.removeFinalizers(t.Context(), o, free); errors.Is(err, refuses) != c.refused || err != nil && !c.refused {
				t.Errorf("it ends with %v", err)
			}
			if held := controllerutil.ContainsFinalizer(b.ingress(), v1alpha1.IngressFinalizer); held != c.held {
				t.Errorf("it has the finalizer: %t", held)
			}
			if c.gone && b.Ingresses.ChangedByOthers(ask("shop.example")) {
				t.Error("one of the same name is taken for the one that is gone")
			}
			if got := b.Directory.DependentsOf(who); !slices.Equal(got, c.want) {
				t.Errorf("it belongs to %v, want %v", got, c.want)
			}
		})
	}
}

// Steps that take routes away count, unless they wait for target groups to be healthy.
func TestWhichStepsAreOfRoutes(t *testing.T) {
	step := func(s plan.Step, after ...int) plan.Planned { return plan.Planned{Step: s, After: after} }
	await, takes, makes := plan.AwaitTargets{}, plan.DeleteRule{}, plan.CreateRule{}
	for name, c := range map[string]struct {
		steps []plan.Planned
		want  bool
	}{
		"none":                               {nil, false},
		"one that makes a route":             {[]plan.Planned{step(makes)}, false},
		"one that deletes a target group":    {[]plan.Planned{step(plan.DeleteTargetGroup{})}, false},
		"one that deletes a rule":            {[]plan.Planned{step(takes)}, true},
		"one that changes a rule":            {[]plan.Planned{step(plan.ModifyRule{})}, true},
		"one that deletes a listener":        {[]plan.Planned{step(plan.DeleteListener{})}, true},
		"one that changes a listener":        {[]plan.Planned{step(plan.ModifyListener{})}, true},
		"one that deletes the load balancer": {[]plan.Planned{step(plan.DeleteLoadBalancer{})}, true},
		"a wait":                             {[]plan.Planned{step(await)}, false},
		"one behind a wait":                  {[]plan.Planned{step(await), step(takes, 0)}, false},
		"one behind one that waits":          {[]plan.Planned{step(await), step(makes, 0), step(takes, 1)}, false},
		"one beside a wait":                  {[]plan.Planned{step(await), step(takes)}, true},
		"one behind another step":            {[]plan.Planned{step(await), step(makes), step(takes, 1)}, true},
		"a second one, beside a wait":        {[]plan.Planned{step(await), step(takes, 0), step(takes)}, true},
	} {
		if got := removesRoutes(plan.Plan{Steps: c.steps}, func(plan.Planned) bool { return true }); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// failingStatus writes Ingresses, and no status.
func failingStatus(b *bench, with error) *ingresses.Writer {
	return ingresses.NewWriter(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return with
		},
	}))
}

package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers"
)

// This file tests when an Ingress has the address of its load balancer.

var errStep = errors.New("a step failed")

// An Ingress gets the address once all that it asks for is served, and loses it once nothing of it
// is. Where the cloud refuses a step, one that has the address keeps it, with the reason.
func TestWhenAnIngressHasTheAddress(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		absent, inactive bool
		shut             bool // nothing of it is served
		err              error
		withheld         string
		member           ingress.Member // what it says besides
		unserved         bool           // as the record says
		unknown          bool           // to the record
		at               *metav1.Time   // when it was published
		has              bool           // the address
		want, published  bool
	}{
		"it is served":                          {want: true, published: true},
		"it is served, and was published":       {at: &before, want: true, published: true},
		"it has the address":                    {has: true, want: true, published: true},
		"the load balancer is not ready":        {inactive: true},
		"the load balancer is not ready yet":    {inactive: true, shut: true, has: true, want: true},
		"the load balancer is gone":             {absent: true, inactive: true, shut: true, has: true},
		"it may be gone":                        {absent: true, inactive: true, shut: true, err: errStep, has: true, want: true},
		"nothing of it is served":               {shut: true, has: true},
		"nothing of it, and a step failed":      {shut: true, err: errStep, has: true, want: true},
		"a step failed":                         {err: errStep},
		"a step failed, and it was published":   {err: errStep, at: &before, want: true, published: true},
		"likewise, and it is not ready":         {err: errStep, at: &before, inactive: true, published: true},
		"likewise, and nothing of it is served": {err: errStep, at: &before, shut: true, published: true},
		"a step has to wait":                    {err: providers.ErrPending, at: &before, published: true},
		"the plan is withheld":                  {withheld: v1alpha1.ReasonPaused},
		"it is withheld, and it was published":  {withheld: v1alpha1.ReasonPaused, err: errStep, at: &before, published: true},
		"it was never served":                   {unserved: true},
		"it was published, and not served":      {unserved: true, at: &before, published: true},
		"it is leaving":                         {member: ingress.Member{Leaving: true}},
		"it has vanished":                       {member: ingress.Member{Vanished: true}},
		"it is not in the record":               {unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			ing := published(false)
			if !c.has {
				ing.Status.LoadBalancer.Ingress = nil
			}
			b := newBench(t, ing)
			m := ingress.NewMember(b.ingress(), settings.Values{})
			m.Leaving, m.Vanished = c.member.Leaving, c.member.Vanished
			seen := &lb.Observed{Key: benchKey, Exists: !c.absent, Active: !c.inactive, Address: lb.Address{Hostname: "ours.example"}}
			if !c.shut {
				seen.Listeners = []lb.ObservedListener{{Port: 80, Protocol: routing.HTTP}}
			}
			table := &precedence.Table{Config: routing.Config{Routes: []routing.Route{{Owner: m.Owner, Ports: []int32{80}}}}}
			o := outcome{Observed: seen, Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: benchKey}, Table: table}, Err: c.err, Withheld: c.withheld}
			o.Snapshot = &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Members: []ingress.Member{m}}, Actual: map[string]*networkingv1.Ingress{"shop/web": m.Ingress}}
			o.Snapshot.Record.Address = "ours.example"
			next := &records.Record{Address: "ours.example"}
			if !c.unknown {
				next.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web", Served: !c.unserved, PublishedAt: c.at}}
			}
			if _, err := b.publish(t.Context(), o, next); err != nil {
				t.Fatal(err)
			}
			if has := len(b.ingress().Status.LoadBalancer.Ingress) == 1; has != c.want {
				t.Errorf("it has the address: %t", has)
			}
			known := records.MemberOf(next, "shop/web")
			if at := known != nil && known.PublishedAt != nil; at != c.published || c.at != nil && !known.PublishedAt.Equal(c.at) {
				t.Errorf("the record says %v", known)
			}
		})
	}
}

// An address is in the record before it is in a status. Where either cannot be written, the Ingress
// was not published.
func TestTheAddressIsInTheRecordFirst(t *testing.T) {
	for name, c := range map[string]struct {
		recorded            string
		unrecorded, refused bool
		saved, published    bool
	}{
		"a new address":                   {saved: true, published: true},
		"the address as before":           {recorded: "ours.example", published: true},
		"a record that cannot be written": {unrecorded: true},
		"a status that cannot be written": {refused: true, saved: true},
	} {
		t.Run(name, func(t *testing.T) {
			ing := published(false)
			ing.Status.LoadBalancer.Ingress = nil
			b := newBench(t, ing)
			if err := b.Records.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.unrecorded {
				a := b.archive("")
				a.failure = errStep
				b.Records.Store = a
			}
			if c.refused {
				b.Ingresses = ingresses.NewWriter(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
					SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
						return errStep
					},
				}))
			}
			m := ingress.NewMember(b.ingress(), settings.Values{})
			seen := &lb.Observed{Key: benchKey, Exists: true, Active: true, Address: lb.Address{Hostname: "ours.example"}, Listeners: []lb.ObservedListener{{Port: 80}}}
			table := &precedence.Table{Config: routing.Config{Routes: []routing.Route{{Owner: m.Owner, Ports: []int32{80}}}}}
			o := outcome{Observed: seen, Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: benchKey}, Table: table}}
			o.Snapshot = &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Members: []ingress.Member{m}}, Actual: map[string]*networkingv1.Ingress{"shop/web": m.Ingress}}
			o.Snapshot.Record.Address = c.recorded
			next := &records.Record{Address: "ours.example", Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/web", Served: true}}}}
			if _, err := b.publish(t.Context(), o, next); (err != nil) != (c.unrecorded || c.refused) {
				t.Errorf("the error is %v", err)
			}
			if saved := b.Records.Get(benchKey).Address != ""; saved != c.saved {
				t.Errorf("the record is written: %t", saved)
			}
			if at := next.Memory.Members[0].PublishedAt != nil; at != c.published || c.unrecorded && len(b.ingress().Status.LoadBalancer.Ingress) > 0 {
				t.Errorf("it is published: %t", at)
			}
		})
	}
}

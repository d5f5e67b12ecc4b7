package targets

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file tracks target groups that come and go.

// Where the operator ends, and nothing reads the queue any more, nothing waits for it.
func TestNothingIsQueuedForGoodWhenTheOperatorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		b := NewBook(ended)
		b.wake = nil // takes nothing
		close(ended)
		began := time.Now()
		b.awaken(t.Context(), lb.GroupKey{Key: "a", ID: "g"})
		if took := time.Since(began); took > 0 {
			t.Errorf("it takes %s", took)
		}
	})
}

// serviceOf returns a Service of the namespace shop.
func serviceOf(name string) cluster.Ref { return cluster.RefTo(cluster.KindService, "shop", name) }

// groupOf returns a target group of a Service of the namespace shop.
func groupOf(id, service, targetType string) lb.TargetGroup {
	return lb.TargetGroup{ID: lb.GroupID(id), Service: "shop/" + service, Port: "80", TargetType: targetType, Family: "ipv4"}
}

// observed returns target groups as they are in the cloud.
func observed(groups ...lb.TargetGroup) (out []lb.ObservedTargetGroup) {
	for _, g := range groups {
		out = append(out, lb.ObservedTargetGroup{TargetGroup: g})
	}
	return out
}

// woken returns the IDs of the groups that are to be reconciled.
func woken(b *Book) string {
	var out []string
	for len(b.wake) > 0 {
		out = append(out, string((<-b.wake).Object.ID))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// named returns the IDs of groups.
func named(groups []lb.GroupKey) string {
	var out []string
	for _, k := range groups {
		out = append(out, string(k.ID))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Groups are reconciled at once when they are new, and when their class allows other targets. Those
// that are gone are forgotten.
func TestGroupsAreReconciledWhenTheyAreNew(t *testing.T) {
	b := NewBook(t.Context().Done())
	class := v1alpha1.LoadBalancerClassSpec{}
	ip, other := groupOf("a", "web", v1alpha1.TargetTypeIP), groupOf("b", "web", v1alpha1.TargetTypeIP)
	for _, c := range []struct {
		what   string
		ports  []string
		groups []lb.TargetGroup
		woken  string
		there  string
	}{
		{"one is new", nil, []lb.TargetGroup{ip}, "a", "a"},
		{"it is there", nil, []lb.TargetGroup{ip}, "", "a"},
		{"another one is new", nil, []lb.TargetGroup{ip, other}, "b", "a b"},
		{"the class allows other ports", []string{"9000"}, []lb.TargetGroup{ip, other}, "a b", "a b"},
		{"and stays", []string{"9000"}, []lb.TargetGroup{ip, other}, "", "a b"},
		{"one is gone", []string{"9000"}, []lb.TargetGroup{other}, "", "b"},
		{"all are gone", []string{"9000"}, nil, "", ""},
	} {
		class.TargetPorts = c.ports
		b.Track(t.Context(), key, class, lb.Capabilities{TargetsPerGroup: 7}, observed(c.groups...))
		if got := woken(b); got != c.woken {
			t.Errorf("%s: %q are reconciled, want %q", c.what, got, c.woken)
		}
		if got := named(b.groupsOf(serviceOf("web"))); got != c.there {
			t.Errorf("%s: the groups of the Service are %q, want %q", c.what, got, c.there)
		}
		for _, id := range []lb.GroupID{"a", "b"} {
			k := lb.GroupKey{Key: key, ID: id}
			known, exists := b.groupCopy(k)
			if _, has := b.TargetsOf(k); has != exists || exists != strings.Contains(c.there, string(id)) {
				t.Errorf("%s: %s exists: %v", c.what, id, exists)
			}
			if exists && (known.backend.Service != "shop/web" || known.backend.Port != "80" || known.caps.TargetsPerGroup != 7 || !slices.Equal(known.class.TargetPorts, c.ports)) {
				t.Errorf("%s: %s is %+v of %+v", c.what, id, known.backend, known.terms)
			}
		}
	}
	if len(b.groups)+len(b.tallies)+len(b.byService) > 0 {
		t.Errorf("of a load balancer without groups there are %v, %v, %v", b.groups, b.tallies, b.byService)
	}
}

// Nodes are needed once a group has them for targets. These groups are found among all.
func TestNodesAreNeededForGroupsOfInstances(t *testing.T) {
	b := NewBook(t.Context().Done())
	needed := func() bool {
		select {
		case <-b.instances:
			return true
		default:
			return false
		}
	}
	ip, onNodes := groupOf("a", "web", v1alpha1.TargetTypeIP), groupOf("b", "web", v1alpha1.TargetTypeInstance)
	b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(ip))
	if needed() || len(b.onInstances()) > 0 {
		t.Error("Nodes are needed for addresses of Pods")
	}
	for range 2 {
		b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(ip, onNodes))
		if got := named(b.onInstances()); !needed() || got != "b" {
			t.Errorf("Nodes are needed: %v, for %q", needed(), got)
		}
	}
}

// What a load balancer is going to have is known once it was compiled, until it is forgotten.
func TestGroupsThatAreGoingToBe(t *testing.T) {
	b := NewBook(t.Context().Done())
	k := lb.GroupKey{Key: key, ID: "a"}
	if b.Compiled(key, serviceOf("web")) || b.isLeaving(k) {
		t.Error("something is known before it was compiled")
	}
	b.Expect(key, []cluster.Ref{serviceOf("web")}, []lb.TargetGroup{
		groupOf("a", "web", v1alpha1.TargetTypeIP), groupOf("b", "web", v1alpha1.TargetTypeInstance), groupOf("c", "api", v1alpha1.TargetTypeIP),
	})
	if !b.Compiled(key, serviceOf("web")) || b.Compiled(key, serviceOf("api")) || b.Compiled("another", serviceOf("web")) {
		t.Error("it was compiled with another Service")
	}
	if got := b.Expected(key, serviceOf("web")); !slices.Equal(got, []lb.GroupID{"a"}) {
		t.Errorf("of the Pods of the Service there are going to be the groups %q", got)
	}
	if b.isLeaving(k) || !b.isLeaving(lb.GroupKey{Key: key, ID: "d"}) || b.isLeaving(lb.GroupKey{Key: "another", ID: "a"}) {
		t.Error("the wrong groups are going to leave")
	}
	b.Forget(key)
	if b.Compiled(key, serviceOf("web")) || len(b.Expected(key, serviceOf("web"))) > 0 || b.isLeaving(lb.GroupKey{Key: key, ID: "d"}) {
		t.Error("something is known after it was forgotten")
	}
}

// Targets that are known are read again after an observation. They are in doubt unless they were set
// a moment before it, for then the cloud may not find them yet.
func TestTargetsAreReadAgain(t *testing.T) {
	for age, doubted := range map[time.Duration]bool{0: false, providers.ReadLag: false, providers.ReadLag + time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBook(t.Context().Done())
			b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(groupOf("a", "web", ""), groupOf("b", "web", "")))
			k := lb.GroupKey{Key: key, ID: "a"}
			b.change(k, func(known *tracked) { known.known, known.set = true, time.Now() })
			woken(b)
			time.Sleep(age)
			b.Recheck(t.Context(), key)
			if got, _ := b.groupCopy(k); got.known || got.doubted != doubted {
				t.Errorf("after %s they are known: %v, doubted: %v", age, got.known, got.doubted)
			}
			if got := woken(b); got != "a" {
				t.Errorf("%q are reconciled", got)
			}
		})
	}
	b := NewBook(t.Context().Done())
	b.Track(t.Context(), key, v1alpha1.LoadBalancerClassSpec{}, lb.Capabilities{}, observed(groupOf("a", "web", ""), groupOf("b", "web", "")))
	for _, id := range []lb.GroupID{"a", "b"} {
		b.change(lb.GroupKey{Key: key, ID: id}, func(known *tracked) { known.known = true })
	}
	woken(b)
	b.RecheckOne(t.Context(), lb.GroupKey{Key: key, ID: "a"})
	one, _ := b.groupCopy(lb.GroupKey{Key: key, ID: "a"})
	two, _ := b.groupCopy(lb.GroupKey{Key: key, ID: "b"})
	if got := woken(b); one.known || !two.known || got != "a" {
		t.Errorf("the one is known: %v, the other: %v, and %q are reconciled", one.known, two.known, got)
	}
}

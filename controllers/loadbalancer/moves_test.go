package loadbalancer

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// graceful is a class with a grace of ten minutes.
var graceful = v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: 10 * time.Minute}}

// recordOf returns a record with these members, which are in the order of their names.
func recordOf(members ...v1alpha1.MemberMemory) *records.Record {
	return &records.Record{Memory: v1alpha1.Memory{Members: members}}
}

func memberOf(name string) ingress.Member {
	return ingress.Member{
		Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}},
		Owner:   routing.Owner{Namespace: "shop", Name: name},
	}
}

func TestMovesEndAfterTheGrace(t *testing.T) {
	o := outcomeOf(graceful)
	o.Snapshot.Record = *recordOf(
		v1alpha1.MemberMemory{Ingress: "shop/gone", Previous: "p", Earlier: []string{"q"}},
		v1alpha1.MemberMemory{Ingress: "shop/gone-settled"})
	next := recordOf(
		v1alpha1.MemberMemory{Ingress: "shop/a", Previous: "x", Earlier: []string{"y", "z"}, PublishedAt: after(-10 * time.Minute)},
		v1alpha1.MemberMemory{Ingress: "shop/b", Previous: "v", PublishedAt: after(-2 * time.Minute)},
		v1alpha1.MemberMemory{Ingress: "shop/c", Previous: "w", PublishedAt: after(-4 * time.Minute)},
		v1alpha1.MemberMemory{Ingress: "shop/d", Previous: "u"},
		v1alpha1.MemberMemory{Ingress: "shop/e", PublishedAt: after(-time.Hour)})
	ended, wait := o.endMoves(next, noon)
	if want := []lb.Key{"p", "q", "x", "y", "z"}; !slices.Equal(ended, want) || wait != 6*time.Minute {
		t.Errorf("%v have ended, the next in %s; want %v, 6m0s", ended, wait, want)
	}
	if a := next.Memory.Members[0]; a.Previous != "" || a.Earlier != nil {
		t.Errorf("the move that has ended is remembered: %v", a)
	}
	for i, previous := range []string{"", "v", "w", "u", ""} {
		if got := next.Memory.Members[i].Previous; got != previous {
			t.Errorf("member %d has come from %q, want %q", i, got, previous)
		}
	}
	if again, _ := o.endMoves(&records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/gone"}}}}, noon); len(again) > 0 {
		t.Errorf("a member that is still there has moved on: %v", again)
	}
}

func TestUntilLetGo(t *testing.T) {
	departing := func(name string) ingress.Member {
		m := memberOf(name)
		m.Departing = true
		return m
	}
	left := func(name string, ago time.Duration) v1alpha1.MemberMemory {
		return v1alpha1.MemberMemory{Ingress: "shop/" + name, DepartedAt: after(-ago)}
	}
	for name, c := range map[string]struct {
		members []ingress.Member
		known   []v1alpha1.MemberMemory
		want    time.Duration
	}{
		"no member":           {},
		"one that stays":      {[]ingress.Member{memberOf("a")}, []v1alpha1.MemberMemory{left("a", time.Minute)}, 0},
		"one that is unknown": {[]ingress.Member{departing("a")}, nil, 0},
		"one without a time":  {[]ingress.Member{departing("a")}, []v1alpha1.MemberMemory{{Ingress: "shop/a"}}, 0},
		"one":                 {[]ingress.Member{departing("a")}, []v1alpha1.MemberMemory{left("a", time.Minute)}, 9 * time.Minute},
		"one that is late":    {[]ingress.Member{departing("a")}, []v1alpha1.MemberMemory{left("a", time.Hour)}, queue.AfterConflict},
		"the first of two":    {[]ingress.Member{departing("a"), departing("b")}, []v1alpha1.MemberMemory{left("a", time.Minute), left("b", 3*time.Minute)}, 7 * time.Minute},
	} {
		o := outcomeOf(graceful)
		o.Snapshot.Members = c.members
		if got := o.untilDeparted(recordOf(c.known...), noon); got != c.want {
			t.Errorf("%s: in %s, want %s", name, got, c.want)
		}
	}
}

func TestUntilVanishedGo(t *testing.T) {
	gone := func(ago time.Duration, unconfirmed bool) v1alpha1.MemberMemory {
		return v1alpha1.MemberMemory{VanishedAt: after(-ago), Unconfirmed: unconfirmed}
	}
	held := gone(time.Hour, false)
	held.Ingress = "shop/web"
	for name, c := range map[string]struct {
		known []v1alpha1.MemberMemory
		want  time.Duration
		held  []string
	}{
		"no member":                 {},
		"one that is held back":     {known: []v1alpha1.MemberMemory{held}, held: []string{"shop"}},
		"one that is there":         {[]v1alpha1.MemberMemory{{}}, 0, nil},
		"one":                       {[]v1alpha1.MemberMemory{gone(time.Minute, false)}, 9 * time.Minute, nil},
		"one that is unconfirmed":   {[]v1alpha1.MemberMemory{gone(time.Minute, true)}, 0, nil},
		"one that is late":          {[]v1alpha1.MemberMemory{gone(time.Hour, false)}, queue.AfterConflict, nil},
		"the first of two":          {[]v1alpha1.MemberMemory{gone(time.Minute, false), gone(3*time.Minute, false)}, 7 * time.Minute, nil},
		"the one that is confirmed": {[]v1alpha1.MemberMemory{gone(time.Minute, false), gone(3*time.Minute, true)}, 9 * time.Minute, nil},
	} {
		o := outcomeOf(graceful)
		o.Hold.Namespaces = c.held
		if c.held != nil {
			o.Snapshot.Recorded.Members = map[string]record.Member{"shop/web": {Served: true, LastAccepted: &record.Accepted{}}}
		}
		if got := o.untilVanishedEnd(recordOf(c.known...), 10*time.Minute, noon); got != c.want {
			t.Errorf("%s: in %s, want %s", name, got, c.want)
		}
	}
}

func TestHostsStayReserved(t *testing.T) {
	o := outcomeOf(graceful)
	o.Snapshot.Key = "-/@public/"
	o.Built.Table = &precedence.Table{Config: routing.Config{Yielding: []routing.Host{"b.test"}}}
	o.Snapshot.Owners = ingress.ResolveOwners(
		[]ingress.HostClaim{{Host: "b.test", By: routing.Owner{Namespace: "shop", Name: "web"}}, {Host: routing.Any, By: routing.Owner{Namespace: "shop", Name: "web"}}},
		[]ingress.HostHolding{{Host: "c.test", Namespace: "blog"}})
	known := v1alpha1.Memory{Hosts: []v1alpha1.HostOwner{
		{Host: "a.test", Namespace: "blog", Until: after(0)},
		{Host: "aa.test", Namespace: "blog", Until: after(2 * time.Minute)},
		{Host: "b.test", Namespace: "shop"},
		{Host: "c.test", Namespace: "blog", Yields: true},
		{Host: "d.test", Namespace: "blog", Until: after(time.Minute)},
	}}
	before := known
	o.learnOwners(&known, noon.Add(time.Millisecond))
	want := []v1alpha1.HostOwner{
		{Host: "*", Namespace: "shop"},
		{Host: "aa.test", Namespace: "blog", Until: after(2 * time.Minute)},
		{Host: "b.test", Namespace: "shop", Yields: true},
		{Host: "c.test", Namespace: "blog", Until: after(10 * time.Minute)},
		{Host: "d.test", Namespace: "blog", Until: after(time.Minute)},
	}
	if diff := cmp.Diff(want, known.Hosts); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if wait := untilFree(&records.Record{Memory: known}, noon); wait != time.Minute {
		t.Errorf("the next host is free in %s, want 1m0s", wait)
	}
	if wait := untilFree(&records.Record{Memory: known}, noon.Add(time.Hour)); wait != queue.AfterConflict {
		t.Errorf("a host that is free already is so in %s", wait)
	}
	if wait := untilFree(&records.Record{}, noon); wait != 0 {
		t.Errorf("where no host is reserved, one is free in %s", wait)
	}
	o.Built.Table = nil
	o.learnOwners(&known, noon)
	if known.Hosts[2].Yields {
		t.Error("a host yields without a table")
	}
	o.Snapshot.Key = "shop/web/"
	if o.learnOwners(&before, noon); before.Hosts != nil {
		t.Errorf("a load balancer of one namespace has owners of hosts: %v", before.Hosts)
	}
}

package loadbalancer

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
)

// This file tests which members a record has before anything of them exists in the cloud.

func TestWhichMembersAreEnrolled(t *testing.T) {
	before := &metav1.Time{Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	web := routing.Owner{Namespace: "shop", Name: "web"}
	some := &metav1.Time{Time: time.Now()} // compared as "there is one"
	for name, c := range map[string]struct {
		known  []v1alpha1.MemberMemory
		member ingress.Member
		want   []v1alpha1.MemberMemory // nil where the record is not written
	}{
		"one that is new": {
			member: ingress.Member{Owner: web, From: otherKey, Move: 1},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web", Previous: string(otherKey), Move: 1}},
		},
		"one that is new, before another": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/zoo"}},
			member: ingress.Member{Owner: web},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web"}, {Ingress: "shop/zoo"}},
		},
		"one that is leaving, and not known": {member: ingress.Member{Owner: web, Leaving: true}},
		"one that is known": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", Move: 2, PublishedAt: before}},
			member: ingress.Member{Owner: web, Move: 2, From: otherKey},
		},
		"one of an earlier move": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", Move: 2, PublishedAt: before}},
			member: ingress.Member{Owner: web, Move: 1, From: otherKey},
		},
		"one that comes back": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", Move: 1, PublishedAt: before, Earlier: []string{"an earlier one"}}},
			member: ingress.Member{Owner: web, Move: 2, From: otherKey, Earlier: []routing.Key{"one", "two"}},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web", Previous: string(otherKey), Move: 2, Earlier: []string{"one", "two"}}},
		},
		"one that comes back, and is leaving": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", Move: 1}},
			member: ingress.Member{Owner: web, Move: 2, Leaving: true},
		},
		"one that begins to depart": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web"}},
			member: ingress.Member{Owner: web, Leaving: true, Departing: true},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web", DepartedAt: some}},
		},
		"one that is departing": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", DepartedAt: before}},
			member: ingress.Member{Owner: web, Leaving: true, Departing: true},
		},
		"one that departs no more": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", DepartedAt: before}},
			member: ingress.Member{Owner: web},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web"}},
		},
		"one that had vanished": {
			known:  []v1alpha1.MemberMemory{{Ingress: "shop/web", VanishedAt: before, Unconfirmed: true}},
			member: ingress.Member{Owner: web},
			want:   []v1alpha1.MemberMemory{{Ingress: "shop/web"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := b.Records.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Members: []ingress.Member{c.member}}}
			g.Actual = map[string]*networkingv1.Ingress{"shop/web": ask()}
			g.Record.Memory.Members = c.known
			if err := b.recordMembers(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			stored := b.stored()
			if (stored != nil) != (c.want != nil) {
				t.Fatalf("the record that is written is %+v", stored)
			}
			if stored == nil {
				return
			}
			there := cmp.Comparer(func(a, b *metav1.Time) bool { return (a == nil) == (b == nil) })
			for where, r := range map[string]records.Record{"written": stored.Status, "kept": g.Record} {
				if diff := cmp.Diff(c.want, r.Memory.Members, there, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("the members that are %s are (-want +got)\n%s", where, diff)
				}
				if !slices.Equal(r.Members, []string{"shop/web"}) || r.MemberCount != 1 {
					t.Errorf("%s are %d members, %q", where, r.MemberCount, r.Members)
				}
			}
		})
	}
}

// The status of an Ingress that departs stays as others write it; that of a member does not.
func TestTheStatusOfADepartingIngressIsNotRepaired(t *testing.T) {
	for _, departs := range []bool{false, true} {
		b := newBench(t, published(false))
		ing := b.ingress()
		member := ingress.Member{Ingress: ing, Owner: routing.Owner{Namespace: "shop", Name: "web"}, Leaving: departs, Departing: departs}
		g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey, Members: []ingress.Member{member}}}
		if err := b.Records.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.Ingresses.AddFinalizer(t.Context(), ing); err != nil {
			t.Fatal(err)
		}
		if err := b.Ingresses.Publish(t.Context(), ing, ing.Status.LoadBalancer.Ingress); err != nil {
			t.Fatal(err)
		}
		if err := b.addFinalizers(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		ing.Status.LoadBalancer.Ingress = nil
		if b.Ingresses.ChangedByOthers(ing) == departs {
			t.Errorf("it departs: %t, and its status is repaired: %t", departs, !departs)
		}
	}
}

// An operator that only plans writes neither a record nor a finalizer. An Ingress that is deleted
// gets no finalizer: the API server would refuse it.
func TestWhichIngressesGetTheFinalizer(t *testing.T) {
	for name, c := range map[string]struct{ readOnly, deleted, gets bool }{
		"one that is served":  {gets: true},
		"one that only plans": {readOnly: true},
		"one that is deleted": {deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			ing := ask("shop.example")
			if now := metav1.Now(); c.deleted {
				ing.DeletionTimestamp, ing.Finalizers = &now, []string{"example.com/others"}
			}
			b := newBench(t, ing, service())
			b.ReadOnly = c.readOnly
			b.place()
			g := b.gathered()
			g.Ingresses = []*networkingv1.Ingress{b.ingress()}
			if err := b.addFinalizers(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			if gets := slices.Contains(b.ingress().Finalizers, v1alpha1.IngressFinalizer); gets != c.gets {
				t.Errorf("it gets the finalizer: %t", gets)
			}
			if written := b.stored() != nil; c.readOnly && written {
				t.Error("a record is written")
			}
		})
	}
}

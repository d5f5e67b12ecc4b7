package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/test/nightly"
)

// This file tests that a namespace delays no neighbour by what the API server does not take: Ingresses
// at the limit of etcd, those that are created again all the time, and a record that is full.

// noise is text that does not compress to less than three quarters.
func noise(draw *rand.Rand, size int) string {
	var out strings.Builder
	for range size {
		out.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[draw.IntN(64)])
	}
	return out.String()
}

// enlarge gives an Ingress paths of 1,000 bytes and more, until it is as large as the API server
// takes, so that a finalizer is too much.
func enlarge(ing *networkingv1.Ingress) *networkingv1.Ingress {
	const room = 3<<19 - 15 // some bytes are for the resource version
	paths := &ing.Spec.Rules[0].HTTP.Paths
	for left := room; left > 2500; left = room - ing.Size() {
		for range max(1, left/1100-1) {
			*paths = append(*paths, below("", fmt.Sprintf("/%d%s", len(*paths), strings.Repeat("a", 1000))).Spec.Rules[0].HTTP.Paths...)
		}
	}
	last := &(*paths)[len(*paths)-1]
	last.Path += strings.Repeat("a", room-ing.Size()-4)
	last.Path += strings.Repeat("a", room-ing.Size())
	return ing
}

// An Ingress that cannot be given the finalizer is not served anew, or as it was last accepted. Its
// author hears so, and others go on.
func TestAFinalizerThatIsNotWrittenDelaysNoNeighbour(t *testing.T) {
	if testing.Short() {
		t.Skip("it reconciles Ingresses of 1.5 MB")
	}
	grown := func(b sharedBench) {
		ing := b.find("bob", "web")
		ing.Finalizers, ing.Spec = nil, joins("bob", "web", "bob.example", "/large").Spec
		if err := b.Update(b.Context(), enlarge(ing)); err != nil {
			b.Fatal(err)
		}
	}
	cases := map[string]struct {
		act   func(sharedBench)
		hears []string
	}{
		"a new one": {
			func(b sharedBench) { b.put(enlarge(joins("bob", "large", "large.example", "/large"))) },
			[]string{"large", "ChangeWaits", "fairlead.dev/ingress", "request is too large"},
		},
		"one that has lost its own": {grown, []string{"web", "ChangeWaits", "request is too large"}},
		"one whose version is forgotten": {
			func(b sharedBench) { b.forgetVersions("bob"); grown(b) }, nil,
		},
		"one that is created again each time": {
			func(b sharedBench) {
				conflict := apierrors.NewConflict(networkingv1.Resource("ingresses"), "web", errors.New("another UID"))
				b.Ingresses = ingresses.NewWriter(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
						if o.GetNamespace() == "bob" && b.find("bob", "web").Spec.Rules[0].Host == "bob.example" {
							return conflict
						}
						return c.Patch(ctx, o, p, opts...)
					},
				}))
				b.remove("bob", "web", true)
				b.put(joins("bob", "web", "bob.example", "/large"))
			}, nil,
		},
	}
	for _, name := range nightly.Some(t, 2, slices.Sorted(maps.Keys(cases))) {
		t.Run(name, func(t *testing.T) {
			c := cases[name]
			b := newSharedBench(t, nil)
			b.put(joins("alice", "web", "alice.example", "/old"))
			b.put(joins("bob", "web", "bob.example", "/old"))
			b.work()
			c.act(b)
			b.work()
			if name == "one whose version is forgotten" { // there is none to return to
				b.answers("bob.example", "/large", "bob/web")
			} else {
				b.answers("bob.example", "/old", "bob/web")
				b.answers("bob.example", "/large", "404")
			}
			b.answers("large.example", "/large", "404")
			if _, err := b.Reconcile(t.Context(), sharedKey); err == nil {
				t.Error("the finalizer is not tried again")
			}
			if c.hears != nil {
				b.hears("bob", c.hears[0], c.hears[1:]...)
			}
			b.checkAliceIsFree()
			b.put(joins("bob", "large", "large.example", "/small"))
			b.put(joins("bob", "web", "good.example", "/small"))
			b.work()
			b.answers("large.example", "/small", "bob/web")
			b.answers("good.example", "/small", "bob/web")
			if _, err := b.Reconcile(t.Context(), sharedKey); err != nil {
				t.Errorf("a finalizer is still missing: %v", err)
			}
		})
	}
}

// A record that is full of the versions of a namespace has room for new members: their names have
// priority.
func TestAFullRecordDelaysNoNeighbour(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles 570 Ingresses, some of them large")
	}
	b := newSharedBench(t, nil)
	b.put(joins("alice", "web", "alice.example", "/old"))
	draw := rand.New(rand.NewPCG(1, 1))
	for i := range 30 {
		ing := joins("bob", fmt.Sprintf("big%d", i), fmt.Sprintf("big%d.example", i))
		for range 60 {
			ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, below("", "/"+noise(draw, 900)).Spec.Rules[0].HTTP.Paths...)
		}
		b.put(ing)
	}
	b.work()
	for i := range 540 {
		b.put(joins("bob", fmt.Sprintf("n%03d", i)+strings.Repeat("x", 240), "bob.example", "/"))
	}
	b.put(joins("alice", "web", "alice.example", "/new"))
	if _, err := b.Reconcile(t.Context(), sharedKey); err != nil {
		t.Error(err)
	}
	b.answers("alice.example", "/new", "alice/web")
	b.remove("alice", "web", false)
	if _, err := b.Reconcile(t.Context(), sharedKey); err != nil {
		t.Error(err)
	}
	if b.find("alice", "web") != nil {
		t.Error("the Ingress that alice deleted stays")
	}
}

// A status that the API server does not take is told to its author, once, and is written when the
// API server takes it. Others have theirs.
func TestAStatusThatIsNotWrittenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, nil)
		refused, tries := errors.New("etcdserver: request is too large"), 0
		b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if o.GetNamespace() == "bob" && refused != nil {
					tries++
					return refused
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		})
		b.takeOver()
		b.put(joins("alice", "a", "alice.example", "/"))
		b.put(joins("bob", "b", "bob.example", "/"))
		for range 4 {
			b.work()
			time.Sleep(2 * time.Minute)
		}
		told := slices.DeleteFunc(b.notes("bob", "b"), func(n string) bool { return !strings.HasPrefix(n, "ChangeWaits") })
		if len(told) != 1 || !strings.Contains(told[0], "address") || !strings.Contains(told[0], "request is too large") || !strings.Contains(told[0], "it ends when") {
			t.Errorf("bob hears %q", told)
		}
		if len(b.find("alice", "a").Status.LoadBalancer.Ingress) == 0 || len(b.notes("alice", "a")) > 0 || tries == 0 {
			t.Errorf("alice hears %q, after %d refused writes", b.notes("alice", "a"), tries)
		}
		refused = nil
		b.work()
		if len(b.find("bob", "b").Status.LoadBalancer.Ingress) == 0 {
			t.Error("bob has no address")
		}
	})
}

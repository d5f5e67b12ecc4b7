package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/unassigned"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/nightly"
)

// This file cuts an operator off between any two of its writes, and has another one go on.

var errCutOff = errors.New("the process has ended")

// A lifetime is how many writes a process makes before it ends, to the API server and to the cloud.
// Where it goes on, the next write alone fails.
type lifetime struct {
	left   int // no end if it is negative
	goesOn bool

	mu      sync.Mutex
	written int
}

// write returns an error once the process has ended.
func (l *lifetime) write() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		if l.goesOn {
			l.left = -1
		}
		return fmt.Errorf("write %d: %w", l.written+1, errCutOff)
	}
	l.left--
	l.written++
	return nil
}

// writesOf returns a client whose writes end with a lifetime.
func writesOf(c client.Client, of *lifetime) client.Client {
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := of.write(); err != nil {
				return err
			}
			return to.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, to client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := of.write(); err != nil {
				return err
			}
			return to.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := of.write(); err != nil {
				return err
			}
			return to.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, to client.Client, part string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := of.write(); err != nil {
				return err
			}
			return to.SubResource(part).Patch(ctx, o, p, opts...)
		},
	})
}

const storyKey = lb.Key("fairlead/shop/@web/internal")

// ingressesOfStory are more than are written at a time.
const ingressesOfStory = 10

// A story is the life of a load balancer.
type story struct {
	*bench
	cluster client.Client // as users write to it
	life    *lifetime
	hosts   map[string]string // that the cloud may serve, by the names of their Ingresses
}

func newStory(t *testing.T, life *lifetime) *story {
	t.Helper()
	s := &story{bench: newBench(t), life: life, hosts: map[string]string{}}
	s.cluster = s.bench.Client
	for i := range ingressesOfStory {
		ing, backend := ask(fmt.Sprintf("shop-%d.example", i)), service()
		ing.Name, backend.Name = fmt.Sprintf("web-%02d", i), fmt.Sprintf("web-%02d", i)
		ing.Annotations = map[string]string{"fairlead.dev/group": "web"}
		ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = ing.Name
		s.create(backend)
		s.create(ing)
		s.hosts[ing.Name] = ing.Spec.Rules[0].Host
	}
	s.cloud.Refuses = s.apply
	s.restart()
	return s
}

// restart has a process begin that knows nothing but what is in the cluster and in the cloud.
func (s *story) restart() {
	s.bench.Client = writesOf(s.cluster, s.life)
	s.succeed()
	for name := range s.hosts {
		if ing := s.named(name); ing != nil {
			s.onIngress(s.Context(), ing)
		}
	}
}

func (s *story) named(name string) *networkingv1.Ingress {
	s.Helper()
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	err := s.cluster.Get(s.Context(), client.ObjectKeyFromObject(ing), ing)
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return ing
}

// record is what the API server has of the load balancer.
func (s *story) record() (records.Record, bool) {
	s.Helper()
	stored, err := records.NewStore(s.cluster, s.cluster, "").Load(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	record, there := stored[storyKey]
	return record, there
}

// isHeld reports whether an Ingress has the finalizer and is in a record.
func (s *story) isHeld(name string, record *records.Record) bool {
	ing := s.named(name)
	return ing != nil && controllerutil.ContainsFinalizer(ing, v1alpha1.IngressFinalizer) &&
		records.MemberOf(record, "shop/"+name) != nil
}

// apply is called before each step in the cloud. By then, every Ingress for which it is has the
// finalizer, and is in the record.
func (s *story) apply(step plan.Step) error {
	record, _ := s.record()
	for name := range s.hosts {
		if ing := s.named(name); ing == nil || !ing.DeletionTimestamp.IsZero() {
			continue
		}
		if strings.Contains(step.ID()+step.Detail(), name) && !s.isHeld(name, &record) {
			s.Errorf("after %d writes, the cloud is changed before %s is held", s.life.written, name)
		}
	}
	return s.life.write()
}

// check looks at what a process leaves behind: whatever the cloud has is of an Ingress that is
// held.
func (s *story) check() {
	s.Helper()
	seen, err := s.cloud.Cloud.Observe(s.Context(), storyKey, true)
	if err != nil {
		s.Fatal(err)
	}
	record, there := s.record()
	if !there && (seen.Exists || len(seen.TargetGroups) > 0 || len(seen.Certificates) > 0) {
		s.Errorf("after %d writes, the cloud has a load balancer without a record: %+v", s.life.written, seen)
	}
	for _, l := range seen.Listeners {
		for _, rule := range l.Rules {
			for name, host := range s.hosts {
				hosts := slices.IndexFunc(rule.Conditions, func(c lb.Condition) bool { return slices.Contains(c.Values, host) })
				if hosts >= 0 && !s.isHeld(name, &record) {
					s.Errorf("after %d writes, the cloud has a rule of %s, which is not held", s.life.written, name)
				}
			}
		}
	}
}

// until reconciles until something is so. Where the process ends, the next one goes on.
func (s *story) until(what string, done func() bool) {
	s.Helper()
	var err error
	for range 20 {
		_, err = s.Reconcile(s.Context(), storyKey)
		others := &unassigned.Reconciler{Placer: gather.NewPlacer(s.Gatherer), Events: s.Events, Ingresses: s.Ingresses, Queue: s.Unassigned}
		for name := range s.hosts {
			_, failure := others.Reconcile(s.Context(), types.NamespacedName{Namespace: "shop", Name: name})
			err = errors.Join(err, failure)
		}
		s.check()
		if s.life.left == 0 {
			s.life.left = -1
			s.restart()
		} else if done() {
			return
		}
	}
	s.Fatalf("it does not come to this: %s; %v", what, err)
}

// tell tells the story, and returns how many writes it takes.
func (s *story) tell() int {
	s.Helper()
	s.until("all Ingresses have an address", func() bool {
		for name := range s.hosts {
			if len(s.named(name).Status.LoadBalancer.Ingress) == 0 {
				return false
			}
		}
		return true
	})
	gone := func(names ...string) {
		s.Helper()
		for _, name := range names {
			if err := s.cluster.Delete(s.Context(), s.named(name)); err != nil {
				s.Fatal(err)
			}
		}
		s.until("the Ingresses are gone", func() bool {
			return !slices.ContainsFunc(names, func(name string) bool { return s.named(name) != nil })
		})
		for _, name := range names {
			delete(s.hosts, name)
		}
	}
	gone("web-00", "web-05")
	gone(slices.Collect(maps.Keys(s.hosts))...)
	if _, there := s.record(); there {
		s.until("the record is gone", func() bool { _, there := s.record(); return !there })
	}
	if keys, err := s.cloud.Cloud.List(s.Context()); err != nil || len(keys) > 0 {
		s.Errorf("the cloud has %v, %v", keys, err)
	}
	return s.life.written
}

// Wherever a process ends, the next one finds what it has made: nothing is in the cloud before its
// Ingresses have the finalizer and are in the record, and in the end nothing is left. So it is
// where one write fails.
func TestAProcessThatIsCutOff(t *testing.T) {
	all := newStory(t, &lifetime{left: -1}).tell()
	if all < 3*ingressesOfStory {
		t.Fatalf("the story takes %d writes", all)
	}
	lengths := make([]int, all)
	for writes := range lengths {
		lengths[writes] = writes
	}
	for _, writes := range nightly.Some(t, 12, lengths) {
		newStory(t, &lifetime{left: writes}).tell()
		newStory(t, &lifetime{left: writes, goesOn: true}).tell()
	}
}

package loadbalancer

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file is a bench with a load balancer that the namespaces alice and bob share. What bob does
// must not delay what alice asks for.

const sharedKey = lb.Key("fairlead/@public/internal")

// A sharedBench is a bench with the group public.
type sharedBench struct{ *bench }

// newSharedBench is a bench with the namespaces alice, bob, carol and dave, each with the Services web and
// other, and a group that all of them may join.
func newSharedBench(t *testing.T, edit func(*v1alpha1.LoadBalancerClassSpec), objects ...client.Object) sharedBench {
	t.Helper()
	b := sharedBench{newBench(t, objects...)}
	b.Grace = time.Minute
	for _, namespace := range []string{"alice", "bob", "carol", "dave"} {
		labels := map[string]string{corev1.LabelMetadataName: namespace}
		b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}})
		for _, name := range []string{"web", "other"} {
			s := service()
			s.Namespace, s.Name = namespace, name
			b.create(s)
		}
	}
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	class.Spec.Groups = []v1alpha1.SharedGroup{{Name: "public"}}
	if edit != nil {
		edit(&class.Spec)
	}
	b.create(class)
	named := &networkingv1.IngressClass{}
	if err := b.Get(t.Context(), client.ObjectKey{Name: "fairlead"}, named); err != nil {
		t.Fatal(err)
	}
	named.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "shared"}
	if err := b.Update(t.Context(), named); err != nil {
		t.Fatal(err)
	}
	return b
}

// joins is an Ingress of a namespace in the group, with paths of a host.
func joins(namespace, name, host string, paths ...string) *networkingv1.Ingress {
	ing := below(host, paths...)
	ing.Namespace, ing.Name = namespace, name
	ing.Annotations = map[string]string{"fairlead.dev/group": "public"}
	return ing
}

// find returns an Ingress; nil if there is none.
func (b sharedBench) find(namespace, name string) *networkingv1.Ingress {
	b.Helper()
	ing, err := cluster.Get[networkingv1.Ingress](b.Context(), b.Client, cluster.RefTo(cluster.KindIngress, namespace, name))
	if err != nil {
		b.Fatal(err)
	}
	return ing
}

// put creates an Ingress, or edits it.
func (b sharedBench) put(ing *networkingv1.Ingress) {
	b.Helper()
	if before := b.find(ing.Namespace, ing.Name); before != nil {
		before.Spec, before.Annotations = ing.Spec, ing.Annotations
		if err := b.Update(b.Context(), before); err != nil {
			b.Fatal(err)
		}
	} else {
		b.create(ing.DeepCopy())
	}
	b.onIngress(b.Context(), b.find(ing.Namespace, ing.Name))
}

// remove deletes an Ingress; by force, without its finalizers.
func (b sharedBench) remove(namespace, name string, force bool) {
	b.Helper()
	ing := b.find(namespace, name)
	if ing == nil {
		return
	}
	if force && len(ing.Finalizers) > 0 {
		ing.Finalizers = nil
		if err := b.Update(b.Context(), ing); err != nil {
			b.Fatal(err)
		}
		ing = b.find(namespace, name)
	}
	if ing == nil {
		return // it was being deleted
	}
	if err := b.Delete(b.Context(), ing); err != nil {
		b.Fatal(err)
	}
}

// work reconciles the load balancer as often as it asks for at once.
func (b sharedBench) work() {
	b.Helper()
	for range 4 {
		if _, err := b.Reconcile(b.Context(), sharedKey); err != nil {
			b.Logf("reconciling: %v", err)
		}
	}
}

// answer returns the namespace and the Service whose target group answers a request, or the status.
func (b sharedBench) answer(host, path string) string {
	b.Helper()
	return b.answerTo(routing.Request{Port: 80, Host: host, Path: path, Method: "GET"})
}

// answerTo does so for a request to port 80.
func (b sharedBench) answerTo(r routing.Request) string {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), sharedKey, false)
	if err != nil {
		b.Fatal(err)
	}
	l := seen.Listener(80)
	if l == nil {
		return "closed"
	}
	_, action := l.Plain().Match(r, b.cloud.Capabilities(lb.Class{}).Dialect)
	if groups := action.Groups(); len(groups) > 0 {
		name, _, _ := strings.Cut(string(groups[0]), ":")
		return name
	}
	return strconv.Itoa(action.Status)
}

// answers checks what answers a request.
func (b sharedBench) answers(host, path, want string) {
	b.Helper()
	if got := b.answer(host, path); got != want {
		b.Errorf("%s%s is answered by %s, want %s", host, path, got, want)
	}
}

// notes returns the events about an Ingress, each as its reason and its text.
func (b sharedBench) notes(namespace, name string) (out []string) {
	b.Helper()
	var list eventsv1.EventList
	if err := b.List(b.Context(), &list, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Name == name {
			out = append(out, e.Reason+": "+e.Note)
		}
	}
	return out
}

// hears checks that an Ingress has an event with some parts.
func (b sharedBench) hears(namespace, name string, parts ...string) {
	b.Helper()
	notes := b.notes(namespace, name)
	if !slices.ContainsFunc(notes, func(note string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(note, part) })
	}) {
		b.Errorf("%s/%s has the events %q, want one with %q", namespace, name, notes, parts)
	}
}

// forgetVersions drops the last accepted versions of a namespace, as a full record does.
func (b sharedBench) forgetVersions(namespace string) {
	b.Helper()
	known := b.Records.Get(sharedKey)
	record := *known.DeepCopy()
	for i := range record.Memory.Members {
		if m := &record.Memory.Members[i]; strings.HasPrefix(m.Ingress, namespace+"/") {
			m.LastAccepted, m.Forgotten = nil, true
		}
	}
	if err := b.Records.Save(b.Context(), sharedKey, record); err != nil {
		b.Fatal(err)
	}
}

// A namespace whose Ingresses vanish delays no change of another one, whether the record has a
// version of them or not. What it has a version of is served for the grace, and the rest goes.
func TestWhatVanishesDelaysNoNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		ingresses int
		forgotten bool
	}{
		"one":                      {ingresses: 1},
		"many":                     {ingresses: 6},
		"one without a version":    {ingresses: 1, forgotten: true},
		"many without any version": {ingresses: 6, forgotten: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSharedBench(t, nil)
				b.put(joins("alice", "web", "alice.example", "/old"))
				for i := range c.ingresses {
					b.put(joins("bob", "web"+strconv.Itoa(i), "bob"+strconv.Itoa(i)+".example", "/"))
				}
				b.work()
				b.answers("bob0.example", "/", "bob/web")
				if c.forgotten {
					b.forgetVersions("bob")
				}
				for i := range c.ingresses {
					b.remove("bob", "web"+strconv.Itoa(i), true)
				}
				b.put(joins("alice", "web", "alice.example", "/new"))
				b.work()
				b.answers("alice.example", "/new", "alice/web")
				b.answers("alice.example", "/old", "404")
				want := "bob/web"
				if c.forgotten {
					want = "404"
				}
				b.answers("bob0.example", "/", want)
				time.Sleep(b.Grace)
				b.work()
				for i := range c.ingresses {
					b.answers("bob"+strconv.Itoa(i)+".example", "/", "404")
				}
				b.remove("alice", "web", false)
				b.work()
				b.answers("alice.example", "/new", "closed")
				if b.find("alice", "web") != nil {
					t.Error("the Ingress of alice stays")
				}
			})
		})
	}
}

// Where several namespaces lose Ingresses, all of these are served until that is confirmed. The
// changes of others are carried out.
func TestWhatSeveralNamespacesLoseHasToBeConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, nil)
		b.put(joins("alice", "web", "alice.example", "/old"))
		b.put(joins("bob", "web", "bob.example", "/"))
		b.put(joins("carol", "web", "carol.example", "/"))
		b.put(joins("dave", "web", "dave.example", "/"))
		b.work()
		b.remove("bob", "web", true)
		b.work()
		time.Sleep(b.Grace / 2)
		b.remove("carol", "web", true)
		b.remove("dave", "web", true)
		b.put(joins("alice", "web", "alice.example", "/new"))
		b.work()
		time.Sleep(2 * b.Grace)
		b.work()
		b.answers("alice.example", "/new", "alice/web")
		b.answers("bob.example", "/", "bob/web")
		b.answers("carol.example", "/", "carol/web")
		b.hears("bob", "web", "Vanished", "an administrator confirms")

		// They wait for a confirmation, and one namespace that loses an Ingress later does not.
		b.put(joins("bob", "later", "later.example", "/"))
		b.work()
		b.remove("bob", "later", true)
		b.work()
		time.Sleep(b.Grace)
		b.work()
		b.answers("later.example", "/", "404")
		b.answers("bob.example", "/", "bob/web")
		o := &v1alpha1.LoadBalancer{}
		if err := b.Get(t.Context(), client.ObjectKey{Name: v1alpha1.Name(string(sharedKey), "")}, o); err != nil {
			t.Fatal(err)
		}
		o.Annotations = map[string]string{v1alpha1.ConfirmVanishedAnnotation: time.Now().UTC().Format(time.RFC3339)}
		if err := b.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		b.work()
		b.answers("bob.example", "/", "404")
		b.answers("carol.example", "/", "404")
	})
}

// What bob removes by force, on load balancers of his own, does not keep what alice loses herself.
func TestWhatANeighbourLosesIsNoRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, nil)
		b.put(joins("alice", "web", "alice.example", "/"))
		keys := []lb.Key{sharedKey}
		for _, name := range []string{"one", "two", "three"} {
			ing := joins("bob", name, name+".example", "/")
			ing.Annotations = nil
			b.put(ing)
			keys = append(keys, lb.Key("fairlead/bob/"+name+"/internal"))
		}
		work := func() {
			for _, key := range slices.Concat(keys, keys, keys) {
				if _, err := b.Reconcile(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		work()
		b.answers("alice.example", "/", "alice/web")
		for _, name := range []string{"one", "two", "three"} {
			b.remove("bob", name, true)
		}
		work()
		b.remove("alice", "web", true)
		work()
		b.hears("alice", "web", "Vanished", "until it is back or the vanished grace is over")
		time.Sleep(b.Grace)
		work()
		b.answers("alice.example", "/", "closed")
	})
}

// A namespace gets no load balancers by removing finalizers: those of what has vanished go at the
// end of the grace, however many there are.
func TestLoadBalancersOfWhatVanishedGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, nil)
		var keys []lb.Key
		for round := range 4 {
			for i := range 4 {
				name := "web" + strconv.Itoa(4*round+i)
				ing := joins("bob", name, name+".example", "/")
				ing.Annotations = nil
				b.put(ing)
				keys = append(keys, lb.Key("fairlead/bob/"+name+"/internal"))
			}
			for _, key := range keys {
				if _, err := b.Reconcile(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 4 {
				b.remove("bob", "web"+strconv.Itoa(4*round+i), true)
			}
			for _, key := range keys {
				if _, err := b.Reconcile(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(b.Grace)
		for range 3 {
			for _, key := range keys {
				if _, err := b.Reconcile(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		if left, err := b.cloud.List(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%d load balancers are left: %v, %v", len(left), left, err)
		}
	})
}

// An Ingress gets its address, and one that is deleted goes, though the cloud is never ready for a
// step of another namespace, or refuses it each time.
func TestAnAddressWaitsForItsNamespaceOnly(t *testing.T) {
	for name, failure := range map[string]error{"not ready": providers.ErrPending, "refused": providers.ErrRejected} {
		t.Run(name, func(t *testing.T) {
			b := newSharedBench(t, nil)
			b.put(joins("alice", "first", "first.example", "/"))
			b.put(joins("bob", "web", "bob.example", "/"))
			b.work()
			b.answers("first.example", "/", "alice/web")
			b.cloud.Refuses = func(s plan.Step) error {
				if removesRoute(s) && strings.Contains(s.Detail(), "bob/") {
					return failure
				}
				return nil
			}
			b.put(joins("bob", "web", "bob.example", "/more"))
			b.put(joins("alice", "second", "second.example", "/"))
			b.remove("alice", "first", false)
			b.work()
			b.answers("second.example", "/", "alice/web")
			b.answers("first.example", "/", "404")
			if len(b.find("alice", "second").Status.LoadBalancer.Ingress) == 0 {
				t.Error("the new Ingress has no address")
			}
			if b.find("alice", "first") != nil {
				t.Error("the deleted Ingress stays")
			}
		})
	}
}

// takeOver has another operator take over, which lists all Ingresses.
func (b sharedBench) takeOver() {
	b.Helper()
	b.succeed()
	b.Grace = time.Minute
	var list networkingv1.IngressList
	if err := b.List(b.Context(), &list); err != nil {
		b.Fatal(err)
	}
	for i := range list.Items {
		b.onIngress(b.Context(), &list.Items[i])
	}
}

// A namespace that uses up a quota delays no neighbour that stays within an equal share: the newest
// of what it was lent goes. What is refused is told once, whatever others ask for later.
func TestAFullQuotaDelaysNoNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, nil)
		b.cloud.Rules = 20
		for i := range 30 { // of one age, they are in the order of their names
			b.put(joins("bob", "web"+strconv.Itoa(10+i), "bob"+strconv.Itoa(10+i)+".example", "/"))
		}
		b.work()
		b.answers("bob29.example", "/", "bob/web")
		b.answers("bob30.example", "/", "404")
		before := b.notes("bob", "web35")
		b.put(joins("alice", "web", "alice.example", "/"))
		if _, err := b.Reconcile(t.Context(), sharedKey); err != nil {
			t.Error(err)
		}
		b.answers("alice.example", "/", "alice/web")
		b.answers("bob28.example", "/", "bob/web")
		b.answers("bob29.example", "/", "404")
		b.hears("bob", "web29", "QuotaExceeded", "more rules than the 20", "an equal share")
		time.Sleep(time.Minute)
		b.put(joins("bob", "web50", "bob50.example", "/"))
		b.work()
		b.answers("alice.example", "/", "alice/web")
		b.answers("bob28.example", "/", "bob/web")
		if now := b.notes("bob", "web35"); len(before) != 1 || !slices.Equal(now, before) {
			t.Errorf("bob is told %q, and was told %q", now, before)
		}
		if b.checkAliceIsFree(); b.find("bob", "web29") == nil {
			t.Error("the Ingress is gone")
		}
	})
}

// A wildcard of a neighbour makes paths for any host repeat for the hosts below it. This costs their
// namespace no share: what it is served stays, and the new Ingresses of the neighbour are left out.
func TestAWildcardOfANeighbourCostsNoShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) { c.HostMiss = "LessSpecific" })
		b.cloud.Rules = 22
		anyHost, web := joins("alice", "any", ""), joins("alice", "web", "h0.example.com", "/own")
		for i := range 8 {
			s := service()
			s.Namespace, s.Name = "alice", "s"+strconv.Itoa(i)
			b.create(s)
			to := joins("alice", "any", "", "/p"+strconv.Itoa(i)).Spec.Rules[0]
			to.HTTP.Paths[0].Backend.Service.Name = s.Name
			anyHost.Spec.Rules = append(anyHost.Spec.Rules, to)
		}
		anyHost.Spec.Rules = anyHost.Spec.Rules[1:]
		for i := range 23 {
			web.Spec.Rules = append(web.Spec.Rules, joins("alice", "web", "h"+strconv.Itoa(i+1)+".example.com", "/own").Spec.Rules...)
		}
		b.put(anyHost)
		b.put(web)
		b.work()
		b.put(joins("bob", "web0", "*.example.com", "/shop"))
		for i := range 8 {
			b.work()
			b.answers("h7.example.com", "/own", "alice/web")
			b.answers("h7.example.com", "/p3", "alice/s3")
			b.put(joins("bob", "web"+strconv.Itoa(i+1), "b"+strconv.Itoa(i+1)+".test", "/"))
		}
		b.takeOver()
		b.work()
		b.answers("h7.example.com", "/own", "alice/web")
		b.answers("b1.test", "/", "bob/web")
		b.answers("b8.test", "/", "404")
		b.hears("bob", "web8", "QuotaExceeded", "more rules than the 22", "no more than an equal share", "raise the quota")
		if notes := b.notes("alice", "web"); slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "QuotaExceeded") }) {
			t.Errorf("alice is told %q", notes)
		}
	})
}

package loadbalancer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/nightly"
)

// This file has alice and bob fight over one load balancer, while whatever may hold a plan back is
// on: the grace of what vanishes, expectations, a quota of rules, retention, a cloud that fails
// what bob asks for, and an API server that takes no write on his Ingresses. Whatever bob does, what alice asks for is served one reconcile later.

var (
	seed  = flag.Uint64("seed", 0, "the seed of the first fight; 0 draws one")
	lives = flag.Int("lives", 10, "how many fights there are")
)

// fights are those in which a defect was found, and four others. With -short a part of them is fought.
var fights = []struct {
	seed  uint64
	class uint8
}{
	{0, 0}, {1, 1}, {2, 2}, {3, 3},
	{4716396972467101498, 0}, // a default action of bob waits for its target group
	// Without expectations, after a restart or a part of a plan: what alice is served
	{2147198360645994223, 0}, // is behind a 404 that keeps requests from a rule that stays
	{395178692895807327, 0},  // gets another place
	{1199723217411756831, 0}, // a rule of bob does not move behind new hosts of alice
	// The cloud deletes no rule of bob that is there twice
	{8535030297122749397, 2},
	{3630855055725080105, 2},  // a rule of bob for any host goes, after a restart without expectations
	{3733684185477406751, 2},  // what came before a rule of bob that stays, in order, goes
	{5844000079010054747, 2},  // two rules of bob stay, and the later one has the more specific host
	{5107794820704837757, 0},  // a rule of bob that stays is behind another one, and before one of alice
	{8267861501896243175, 2},  // what a version that is forgotten asks for is not served yet
	{8575902266379780376, 2},  // a rule of bob that stays, as it covers another one, is before a 404
	{7522329832836349893, 10}, // without expectations, an Ingress of bob with conditions is left out
	{4409755026493401366, 3},  // a rule of alice is to become one of bob, which fails
	{416802353891998619, 5},   // and nothing else is to be done
}

func FuzzFight(f *testing.F) {
	for _, known := range nightly.Some(f, len(fights), fights) {
		f.Add(known.seed, known.class)
	}
	f.Fuzz(fight)
}

func TestRandomFights(t *testing.T) {
	first, n := *seed, uint64(*lives)
	if first == 0 {
		first = rand.Uint64() >> 1
	}
	switch {
	case testing.Short():
		n = min(n, 3)
	case nightly.Is():
		n = max(n, 100)
	}
	t.Logf("-seed %d", first)
	for life := range n {
		if !t.Run(fmt.Sprint(first+life), func(t *testing.T) { fight(t, first+life, uint8((first+life)/2%12)) }) {
			return
		}
	}
}

// A fighter draws what alice and bob do. Alice names hosts of her own, of which she never lets go of
// the first, and no path that an expectation rules out. A class has the default precedence and misses, or
// other misses, or the precedence of the order; in every second three, its hosts are shared, and alice comes
// first; in every second six, paths of bob have conditions.
//
// In the fights with an odd seed, an expectation has hosts of alice, which bob may cover and must not
// answer for, alice renames them, too, and the expectations are missing for some time.
type fighter struct {
	sharedBench
	*rand.Rand
	named   bool
	shared  bool                         // bob answers what alice does not ask for on her first host, which he names, too
	when    bool                         // bob asks for conditions
	missing bool                         // the expectations: what comes waits
	wanted  map[string]map[string]string // by host of alice: the Service of each path
	deleted map[string]bool              // hosts that alice deleted
	refuses error                        // of the API server, to all writes on Ingresses of bob
	log     []string
}

func fight(t *testing.T, seed uint64, class uint8) {
	synctest.Test(t, func(t *testing.T) {
		f := fighter{Rand: rand.New(rand.NewPCG(seed, seed)), wanted: map[string]map[string]string{}, deleted: map[string]bool{}}
		var objects []client.Object
		for _, name := range []string{"page", "admin"} {
			b := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: name}}
			b.Spec.FixedResponse = &v1alpha1.FixedResponse{StatusCode: 403}
			objects = append(objects, b)
		}
		f.named, f.shared, f.when = seed%2 == 1, class/3%2 == 1, class/6%2 == 1
		f.sharedBench = newSharedBench(t, func(c *v1alpha1.LoadBalancerClassSpec) {
			gated(c)
			if f.named { // so that bob's wildcard takes no host of hers
				c.AllowedHosts = []v1alpha1.AllowedHosts{f.hostsOf("alice", f.hostsOfAlice()...), f.hostsOf("bob", "*")}
			}
			switch class % 3 {
			case 1:
				c.HostMiss = v1alpha1.HostMissLessSpecific
			case 2:
				c.Precedence = v1alpha1.PrecedenceOrder
			}
			if f.shared {
				c.Hosts, c.Order = v1alpha1.HostsShared, true
			}
			if f.IntN(2) == 0 {
				c.DeletionPolicy = v1alpha1.DeletionPolicyRetain
			}
		}, append(objects, f.ruleBook())...)
		f.Client = interceptor.NewClient(f.Client.(client.WithWatch), interceptor.Funcs{Patch: f.patch, SubResourcePatch: f.patchStatus})
		f.succeed()
		f.Grace = time.Minute
		f.cloud.Rules = 40
		f.put(f.first(joins("alice", "a0", "a0.example", "/p0")))
		f.wanted["a0.example"] = map[string]string{"/p0": "web"}
		f.work()
		for range 12 {
			for range 1 + f.IntN(3) {
				f.bob()
			}
			f.alice()
			for range 2 {
				if _, err := f.Reconcile(t.Context(), sharedKey); err != nil {
					f.log = append(f.log, "  error "+err.Error())
				}
			}
			if f.check(); t.Failed() {
				t.Logf("-seed %d, class %d\n%s", seed, class, strings.Join(f.log, "\n"))
				r := f.Records.Get(sharedKey)
				t.Logf("%v", r.Conditions)
				t.Logf("%v", r.LastPlan)
				return
			}
		}
	})
}

// patch and patchStatus are the writes of the operator.
func (f *fighter) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if o.GetNamespace() == "bob" && f.refuses != nil {
		return f.refuses
	}
	return c.Patch(ctx, o, p, opts...)
}

func (f *fighter) patchStatus(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if o.GetNamespace() == "bob" && f.refuses != nil {
		return f.refuses
	}
	return c.SubResource(sub).Patch(ctx, o, p, opts...)
}

func (f *fighter) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// alice edits, creates or deletes one of her Ingresses.
func (f *fighter) alice() {
	i := f.IntN(4)
	name, host := "a"+strconv.Itoa(i), "a"+strconv.Itoa(i)+".example"
	if f.missing {
		f.gives(name)
		return
	}
	if i > 0 && f.IntN(3) == 0 {
		f.note("alice deletes %s", name)
		f.remove("alice", name, false)
		if f.forget(name); f.find("alice", name) != nil {
			f.deleted[host] = true
		}
		return
	}
	if i > 0 && f.named && f.IntN(3) == 0 {
		host = name + ".else"
	}
	if ing := f.find("alice", name); ing != nil && !ing.DeletionTimestamp.IsZero() {
		return // it cannot be edited any more
	}
	f.forget(name)
	f.wanted[host] = map[string]string{}
	delete(f.deleted, name+".example")
	var paths []string
	for range 1 + f.IntN(3) {
		if p := "/p" + strconv.Itoa(f.IntN(6)); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	ing := joins("alice", name, host, paths...)
	for j, p := range paths {
		f.wanted[host][p] = []string{"web", "other"}[f.IntN(2)]
		ing.Spec.Rules[0].HTTP.Paths[j].Backend.Service = toService(f.wanted[host][p])
	}
	f.note("alice asks for %s%v", host, f.wanted[host])
	f.put(f.first(ing))
}

// first has an Ingress of alice come before those of bob.
func (f *fighter) first(ing *networkingv1.Ingress) *networkingv1.Ingress {
	if f.shared {
		ing.Annotations["fairlead.dev/order"] = "-1"
	}
	return ing
}

// forget drops what is wanted of an Ingress of alice.
func (f *fighter) forget(name string) {
	delete(f.wanted, name+".example")
	delete(f.wanted, name+".else")
}

// gives has alice take away while nothing can be added.
func (f *fighter) gives(name string) {
	if ing := f.find("alice", name); name == "a0" || ing == nil || !ing.DeletionTimestamp.IsZero() {
		return
	}
	f.note("alice gives up %s", name)
	f.remove("alice", name, false)
	f.forget(name)
	f.deleted[name+".example"] = true
}

// ruleBook has the expectations of the fight.
func (f *fighter) ruleBook() *corev1.ConfigMap {
	if !f.named {
		return ruleBook(noAdmin)
	}
	return ruleBook(noAdmin + `
- name: hers
  requests: {hosts: [a1.example, a2.example], paths: [{prefix: /p0}]}
  must: {namespaces: [alice]}
`)
}

func (f *fighter) hostsOfAlice() (out []string) {
	for i := range 4 {
		out = append(out, fmt.Sprintf("a%d.example", i), fmt.Sprintf("a%d.else", i))
	}
	return out
}

func (f *fighter) hostsOf(namespace string, hosts ...string) v1alpha1.AllowedHosts {
	return v1alpha1.AllowedHosts{Hosts: hosts,
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}
}

func toService(name string) *networkingv1.IngressServiceBackend {
	return &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}
}

// bob does something.
func (f *fighter) bob() {
	name := "b" + strconv.Itoa(f.IntN(4))
	if f.named && f.IntN(8) == 0 {
		f.toggleRules()
		return
	}
	switch f.IntN(13) {
	case 0, 1:
		force := f.IntN(3) > 0
		f.note("bob deletes %s, by force: %t", name, force)
		f.remove("bob", name, force)
	case 2:
		f.note("bob's versions are forgotten")
		f.forgetVersions("bob")
	case 3:
		f.note("another operator takes over")
		f.takeOver()
	case 4:
		seed := f.Uint32()
		if f.cloud.Refuses = nil; f.IntN(3) > 0 {
			f.cloud.Refuses = func(s plan.Step) error { return failsBob(s, seed) }
		}
		f.note("the cloud fails steps of bob: %t", f.cloud.Refuses != nil)
	case 5:
		took := time.Duration(f.IntN(900)) * time.Second
		f.note("%s go by", took)
		time.Sleep(took)
	case 6, 7:
		f.editBackend([]string{"page", "admin"}[f.IntN(2)])
	case 8:
		f.refuses = []error{
			nil, errors.New("etcdserver: request is too large"),
			apierrors.NewConflict(networkingv1.Resource("ingresses"), name, errors.New("another UID")),
		}[f.IntN(3)]
		f.note("the API server answers writes on Ingresses of bob: %v", f.refuses)
	default:
		f.put(f.askOfBob(name))
	}
}

// toggleRules deletes the expectations, or creates them again.
func (f *fighter) toggleRules() {
	f.missing = !f.missing
	f.note("the expectations are missing: %t", f.missing)
	if f.missing {
		if err := f.Delete(f.Context(), f.ruleBook()); err != nil {
			f.Fatal(err)
		}
		return
	}
	f.create(f.ruleBook())
}

// askOfBob draws an Ingress of bob.
func (f *fighter) askOfBob(name string) *networkingv1.Ingress {
	hosts := []string{"b0.example", "b1.example", "*.b.example", "", "a0.example"}
	if f.named {
		hosts = append(hosts, "*.example", "")
	}
	paths := []string{"/", "/admin", "/a", "/p0", "/p1", "/admin/x", "/*"}
	ing := joins("bob", name, hosts[f.IntN(len(hosts))], paths[f.IntN(len(paths))])
	for range f.IntN(3) {
		ing.Spec.Rules = append(ing.Spec.Rules, below(hosts[f.IntN(len(hosts))], paths[f.IntN(len(paths))]).Spec.Rules...)
	}
	if n := f.IntN(12); n < 2 { // more than the quota, or a large part of it
		for i := range []int{60, 15}[n] {
			ing.Spec.Rules = append(ing.Spec.Rules, below(fmt.Sprintf("%s-%d.many.example", name, i), "/"+strconv.Itoa(i)).Spec.Rules...)
		}
	}
	if f.IntN(10) == 0 {
		ing.Annotations["fairlead.dev/health-check-path"] = "not a path"
	}
	if f.when && f.IntN(3) > 0 {
		when := []string{
			`"header": {"x-fight": ["yes"]}`, `"query": {"fight": ["yes", "perhaps"]}`, `"method": ["POST"]`, `"source": ["192.0.2.0/24"]`,
		}[f.IntN(4)]
		ing.Annotations["fairlead.dev/conditions"] = "[{" + when + "}]"
		f.note("bob asks in %s for %s", name, when)
	}
	for i := range ing.Spec.Rules {
		b := &ing.Spec.Rules[i].HTTP.Paths[0].Backend
		if b.Service = toService([]string{"web", "other", "missing"}[f.IntN(3)]); f.IntN(3) == 0 {
			*b = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{
				APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: []string{"page", "admin"}[f.IntN(2)],
			}}
		}
		f.note("bob asks in %s for %q%s", name, ing.Spec.Rules[i].Host, ing.Spec.Rules[i].HTTP.Paths[0].Path)
		if i == 5 {
			break
		}
	}
	return ing
}

// editBackend makes a Backend of bob forward, or not.
func (f *fighter) editBackend(name string) {
	b := &v1alpha1.Backend{}
	if err := f.Get(f.Context(), client.ObjectKey{Namespace: "bob", Name: name}, b); err != nil {
		f.Fatal(err)
	}
	forwards := f.IntN(2) == 0
	if b.Spec = (v1alpha1.BackendSpec{FixedResponse: &v1alpha1.FixedResponse{StatusCode: 403}}); forwards {
		b.Spec = v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}}}
	}
	f.note("the Backend %s of bob forwards: %t", name, forwards)
	if err := f.Update(f.Context(), b); err != nil {
		f.Fatal(err)
	}
}

// failsBob fails some of the steps that make, change or delete something of bob.
func failsBob(s plan.Step, seed uint32) error {
	switch s.(type) {
	case plan.CreateTargetGroup, plan.ModifyTargetGroup, plan.RegisterTargets, plan.CreateRule, plan.ModifyRule, plan.DeleteRule,
		plan.DeleteTargetGroup:
	default:
		return nil
	}
	text := s.ID() + s.Detail()
	h := fnv.New32()
	_, _ = fmt.Fprint(h, seed, text)
	if !strings.Contains(text, "bob/") || h.Sum32()%2 == 0 {
		return nil
	}
	all := []error{
		providers.ErrRejected, providers.ErrNoRoom, providers.ErrDenied, providers.ErrPending,
		providers.ErrThrottled, errors.New("InternalFailure"),
	}
	return all[h.Sum32()/2%6]
}

// asks returns requests for a host and a path: one without and one with what conditions of bob ask for.
func (f *fighter) asks(host, path string) []routing.Request {
	r := routing.Request{Port: 80, Host: host, Path: path, Method: "GET"}
	if !f.when {
		return []routing.Request{r}
	}
	all := r
	all.Header, all.Query = map[string][]string{"x-fight": {"yes"}}, map[string][]string{"fight": {"yes"}}
	all.Method, all.Source = http.MethodPost, netip.MustParseAddr("192.0.2.1")
	return []routing.Request{r, all}
}

// check compares the answers with what alice asks for, and checks that no path that an expectation
// rules out is forwarded.
func (f *fighter) check() {
	f.Helper()
	for host, paths := range f.wanted {
		for i := range 6 {
			path := "/p" + strconv.Itoa(i)
			f.checkPath(host, path, paths[path])
		}
		f.checkPath(host, "/admin", "")
		name, _, _ := strings.Cut(host, ".")
		if ing := f.find("alice", name); len(ing.Status.LoadBalancer.Ingress) == 0 {
			f.Errorf("%s of alice has no address", name)
		}
		for _, n := range f.notes("alice", name) {
			if strings.HasPrefix(n, "ChangeWaits") {
				f.Errorf("%s of alice waits: %s", name, n)
			}
		}
	}
	for host := range f.deleted {
		name, _, _ := strings.Cut(host, ".")
		if f.find("alice", name) != nil {
			f.Errorf("the Ingress %s that alice deleted stays", name)
		}
		if got := f.answer(host, "/p0"); strings.HasPrefix(got, "alice/") {
			f.Errorf("%s that alice deleted is answered by %s", host, got)
		}
	}
	for _, host := range f.hostsOfAlice() {
		for _, r := range f.asks(host, "/p0") {
			got := f.answerTo(r)
			if _, wanted := f.wanted[host]; f.named && !wanted && strings.HasPrefix(got, "alice/") {
				f.Errorf("%s that alice has given up is answered by %s", host, got)
			}
			if hers := host == "a1.example" || host == "a2.example"; f.named && hers && strings.HasPrefix(got, "bob/") {
				f.Errorf("%s/p0 is answered by %s", host, got)
			}
		}
	}
	for _, host := range []string{"b0.example", "b1.example", "x.b.example", "other.example"} {
		for _, r := range f.asks(host, "/admin") {
			if got := f.answerTo(r); strings.Contains(got, "/") {
				f.Errorf("%s/admin is forwarded to %s", host, got)
			}
		}
	}
}

// checkPath checks what answers for a path of a host of alice: her Service, or 404 without one. Where hosts
// are shared, bob may answer what she does not ask for, and where he names the host, too, requests that
// fulfil his conditions.
func (f *fighter) checkPath(host, path, service string) {
	f.Helper()
	for _, r := range f.asks(host, path) {
		got, want := f.answerTo(r), "404"
		if service != "" {
			want = "alice/" + service
		}
		mayBob := f.shared && path != "/admin" && (service == "" || host == "a0.example" && r.Method == http.MethodPost)
		mayStatus := f.shared && path == "/admin"
		switch {
		case got == want:
		case mayBob && !strings.HasPrefix(got, "alice/") && got != "closed":
		case mayStatus && !strings.Contains(got, "/") && got != "closed":
		default:
			f.Errorf("%s %s%s is answered by %s, want %s", r.Method, host, path, got, want)
		}
	}
}

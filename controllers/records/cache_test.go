package records

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// This file tests what is read of records, and when.

const webKey, apiKey = lb.Key("fairlead/shop/web/internal"), lb.Key("fairlead/shop/api/internal")

var (
	noon       = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	errRefused = errors.New("refused")
)

// ago is a time before noon.
func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-d)} }

// kept is a Store of some records, which fails if a test says so.
type kept struct {
	Store
	of    map[lb.Key]Record
	err   error
	loads int
}

func (k *kept) Load(context.Context) (map[lb.Key]Record, error) {
	k.loads++
	return k.of, k.err
}
func (k *kept) Save(context.Context, lb.Key, Record) error { return k.err }
func (k *kept) Drop(context.Context, lb.Key) error         { return k.err }

func members(names ...string) (r Record) {
	for _, name := range names {
		r.Memory.Members = append(r.Memory.Members, v1alpha1.MemberMemory{Ingress: name})
	}
	return r
}

// Records are read once, and again only if that failed. Before, there are none.
func TestRecordsAreReadOnce(t *testing.T) {
	k := &kept{of: map[lb.Key]Record{webKey: members("shop/web")}, err: errRefused}
	c := NewCache(k, false)
	if err := c.Ready(t.Context()); !errors.Is(err, errRefused) || c.All() != nil {
		t.Errorf("there is %v, error %v", c.All(), err)
	}
	if c.Follow(webKey, members("shop/web").Memory) {
		t.Error("another operator is followed before what it has written is read")
	}
	k.err = nil
	for range 2 {
		if err := c.Ready(t.Context()); err != nil || len(c.All()) != 1 {
			t.Errorf("there is %v, error %v", c.All(), err)
		}
	}
	if k.loads != 2 {
		t.Errorf("they are read %d times", k.loads)
	}
}

// A cache has what was saved last, and finds it by the Ingresses in it.
func TestWhatACacheHas(t *testing.T) {
	for _, follows := range []bool{false, true} {
		k := &kept{of: map[lb.Key]Record{webKey: members("shop/web", "shop/both"), apiKey: members("shop/api", "shop/both")}}
		c := NewCache(k, follows)
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds := func(member string, want ...lb.Key) {
			t.Helper()
			if got := c.Holding(member); !slices.Equal(got, want) {
				t.Errorf("%s is held by %q, want %q", member, got, want)
			}
		}
		holds("shop/both", apiKey, webKey)
		next := members("shop/next")
		next.Address = "next"
		k.err = errRefused
		if err := c.Save(t.Context(), webKey, next); !errors.Is(err, errRefused) || c.Get(webKey).Address != "" {
			t.Errorf("after a write that failed there is %v, error %v", c.Get(webKey), err)
		}
		if err := c.Drop(t.Context(), webKey); !errors.Is(err, errRefused) || len(c.Keys()) != 2 {
			t.Errorf("after a deletion that failed there are %q, error %v", c.Keys(), err)
		}
		k.err = nil
		if err := c.Save(t.Context(), webKey, next); err != nil || c.Get(webKey).Address != "next" {
			t.Errorf("after a write there is %v, error %v", c.Get(webKey), err)
		}
		if follows { // another operator says what is remembered
			holds("shop/web", webKey)
			if !c.Follow(webKey, next.Memory) || c.Follow(webKey, next.Memory) {
				t.Error("what another operator remembers is new once")
			}
		}
		holds("shop/next", webKey)
		holds("shop/web")
		holds("shop/both", apiKey)
		if err := c.Drop(t.Context(), webKey); err != nil || !slices.Equal(c.Keys(), []lb.Key{apiKey}) || c.Parsed(webKey, noon).Members != nil {
			t.Errorf("after a deletion there are %q, error %v", c.Keys(), err)
		}
		holds("shop/next")
	}
}

// A name of a load balancer is the same for all that ask for it.
func TestWhichLoadBalancersHaveTheSameName(t *testing.T) {
	named := func(ingress, name string) lb.Key {
		return routing.NewKey([]string{"fairlead", "shop", ingress}, "internal", "", name)
	}
	a, b, other := named("a", "front"), named("b", "front"), named("c", "back")
	c := NewCache(&kept{of: map[lb.Key]Record{a: {}, b: {}, other: {}, webKey: {}, apiKey: {}}}, false)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[lb.Key][]lb.Key{a: {b}, b: {a}, other: nil, webKey: nil} {
		if got := c.SameName(key); !slices.Equal(got, want) {
			t.Errorf("the name of %s is that of %q, want %q", key, got, want)
		}
	}
}

// The compiler reads all of a record but what has ended, whenever that is.
func TestWhatEndsInARecord(t *testing.T) {
	reserved := Record{Memory: v1alpha1.Memory{Hosts: []v1alpha1.HostOwner{{Host: "a.example", Namespace: "shop", Until: &metav1.Time{Time: noon}}, {Host: "b.example", Namespace: "infra"}}}}
	member := func(change func(*v1alpha1.MemberMemory)) Record {
		r := members("shop/web", "shop/other")
		change(&r.Memory.Members[0])
		return r
	}
	hosts := func(m record.Record) any { return slices.Sorted(maps.Values(m.Hosts)) }
	for name, c := range map[string]struct {
		record      Record
		read        func(record.Record) any
		before, now any // a minute before noon, and at noon
	}{
		"a host that is reserved": {reserved, hosts, []string{"infra", "shop"}, []string{"infra"}},
		"an Ingress that departs": {
			member(func(m *v1alpha1.MemberMemory) { m.DepartedAt = ago(time.Hour) }),
			func(m record.Record) any { return m.Members["shop/web"].Departed }, 59 * time.Minute, time.Hour,
		},
		"an Ingress that departs later": {
			member(func(m *v1alpha1.MemberMemory) { m.DepartedAt = ago(-time.Hour) }),
			func(m record.Record) any { return m.Members["shop/web"].Departed }, time.Duration(0), time.Duration(0),
		},
		"an Ingress that has vanished": {
			member(func(m *v1alpha1.MemberMemory) { m.VanishedAt = ago(time.Hour) }),
			func(m record.Record) any { return m.Members["shop/web"].Vanished.For }, 59 * time.Minute, time.Hour,
		},
		"an Ingress that vanishes later": {
			member(func(m *v1alpha1.MemberMemory) { m.VanishedAt = ago(-time.Hour) }),
			func(m record.Record) any { return m.Members["shop/web"].Vanished.For }, time.Duration(0), time.Duration(0),
		},
		"a refusal": {
			member(func(m *v1alpha1.MemberMemory) {
				m.Rejections = []v1alpha1.Rejection{{Version: "stays"}, {Version: "ends", Until: &metav1.Time{Time: noon}}, {Version: "last"}}
			}),
			func(m record.Record) any { return len(m.Members["shop/web"].Rejections) }, 3, 2,
		},
	} {
		cache := NewCache(&kept{of: map[lb.Key]Record{webKey: c.record}}, false)
		if err := cache.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.before, c.read(cache.Parsed(webKey, noon.Add(-time.Minute)))); diff != "" {
			t.Errorf("%s: before, it is (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(c.now, c.read(cache.Parsed(webKey, noon))); diff != "" {
			t.Errorf("%s: it is (-want +got)\n%s", name, diff)
		}
	}
}

// What the compiler reads of a record is all that is remembered. A record in which nothing ends is
// read once.
func TestWhatTheCompilerReads(t *testing.T) {
	created := metav1.NewTime(noon.Add(-time.Hour))
	accepted := &v1alpha1.AcceptedVersion{At: metav1.NewTime(noon), Created: created, Annotations: map[string]string{"a": "b"}}
	r := Record{Memory: v1alpha1.Memory{
		Class: &v1alpha1.LoadBalancerClassSpec{Scheme: "internal"}, Rules: []string{"rule"},
		Members: []v1alpha1.MemberMemory{
			{Ingress: "shop/old", LastAccepted: &v1alpha1.AcceptedVersion{At: metav1.NewTime(noon)}},
			{Ingress: "shop/web", Served: true, Move: 2, Previous: string(apiKey), Earlier: []string{"a", "b"}, LastAccepted: accepted, Rejections: []v1alpha1.Rejection{{Version: "v", Message: "m"}}},
		},
		Certificates: []v1alpha1.SecretCertificate{{Secret: "shop/tls", ID: "id"}}, Clients: []v1alpha1.SecretClient{{Secret: "shop/client", ID: "client"}},
		CloudCertificates: []v1alpha1.CloudCertificate{{ID: "arn", Hosts: []string{"a.example"}}},
		Hosts:             []v1alpha1.HostOwner{{Host: AnyHost, Namespace: "infra", Yields: true}, {Host: "a.example", Namespace: "shop"}},
		ClosedHosts:       []v1alpha1.ClosedHost{{Host: "b.example", Port: 80, GivenUpBy: "shop"}},
	}}
	want := record.Record{
		Class: r.Memory.Class, Rules: r.Memory.Rules,
		Members: map[string]record.Member{
			"shop/old": {LastAccepted: &record.Accepted{}, Created: noon},
			"shop/web": {
				Served: true, Move: 2, Previous: apiKey, Earlier: []lb.Key{"a", "b"}, Created: created.Time, Rejections: []record.Rejection{{Version: "v", Message: "m"}},
				LastAccepted: &record.Accepted{Annotations: map[string]string{"a": "b"}, Spec: networkingv1.IngressSpec{}},
			},
		},
		Certificates: map[string]lb.CertificateID{"shop/tls": "id"}, Clients: map[string]string{"shop/client": "client"},
		CloudCertificates: map[lb.CertificateID][]string{"arn": {"a.example"}},
		Hosts:             map[routing.Host]string{routing.Any: "infra", "a.example": "shop"}, Yielding: map[routing.Host]bool{routing.Any: true},
		Closed: []routing.ClosedHost{{Host: "b.example", Port: 80, GivenUpBy: "shop"}},
	}
	if diff := cmp.Diff(want, Parse(r, noon)); diff != "" {
		t.Errorf("it is (-want +got)\n%s", diff)
	}
	c := NewCache(&kept{of: map[lb.Key]Record{webKey: r, apiKey: members("shop/web", "shop/api")}}, false)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, again := c.Parsed(webKey, noon), c.Parsed(webKey, noon.Add(time.Hour))
	if first.Members["shop/new"] = (record.Member{}); len(again.Members) != 3 {
		t.Error("a record in which nothing ends is read again")
	}
	delete(first.Members, "shop/new")
	about := c.ParsedOf([]string{"shop/web", "shop/old", "shop/none"}, noon)
	wantAbout := map[lb.Key]record.Record{
		webKey: {Class: want.Class, Hosts: want.Hosts, Members: want.Members}, apiKey: {Hosts: map[routing.Host]string{}, Members: map[string]record.Member{"shop/web": {}}},
	}
	if diff := cmp.Diff(wantAbout, about); diff != "" {
		t.Errorf("about these Ingresses is known (-want +got)\n%s", diff)
	}
}

// The parameters are added with which load balancers of a class were served, unless these are known.
func TestTheParametersOfAClassThatIsRemembered(t *testing.T) {
	with := Record{Memory: v1alpha1.Memory{Class: &v1alpha1.LoadBalancerClassSpec{Scheme: "internal"}}}
	c := NewCache(&kept{of: map[lb.Key]Record{webKey: with, apiKey: {}, "other/shop/web/internal": with, "/shop/web/internal": with}}, false)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct {
		class string
		known map[lb.Key]record.Record
		want  map[lb.Key]record.Record
	}{
		"no class":           {"", nil, map[lb.Key]record.Record{}},
		"a class":            {"fairlead", nil, map[lb.Key]record.Record{webKey: {Class: with.Memory.Class}}},
		"a class not served": {"third", nil, map[lb.Key]record.Record{}},
		"what is known":      {"fairlead", map[lb.Key]record.Record{webKey: {Rules: []string{"a"}}}, map[lb.Key]record.Record{webKey: {Rules: []string{"a"}}}},
	} {
		got := map[lb.Key]record.Record{}
		maps.Copy(got, k.known)
		c.AddPinned(k.class, got)
		if diff := cmp.Diff(k.want, got); diff != "" {
			t.Errorf("%s: it is (-want +got)\n%s", name, diff)
		}
	}
}

func TestWhatARecordSays(t *testing.T) {
	for name, c := range map[string]struct {
		record Record
		want   []string
	}{
		"nothing":                    {Record{}, nil},
		"a host name":                {Record{Address: "a.example"}, []string{"a.example"}},
		"an address":                 {Record{Address: "192.0.2.1", IPs: []string{"192.0.2.1", "192.0.2.2"}}, []string{"192.0.2.1", "192.0.2.2"}},
		"both":                       {Record{Address: "a.example", IPs: []string{"192.0.2.1"}}, []string{"a.example", "192.0.2.1"}},
		"addresses and no host name": {Record{IPs: []string{"192.0.2.1"}}, []string{"192.0.2.1"}},
	} {
		if got := AddressesOf(&c.record); !slices.Equal(got, c.want) {
			t.Errorf("%s: the addresses are %q, want %q", name, got, c.want)
		}
	}
	refused, rejected := members("shop/a", "shop/b"), Record{Diagnostics: []v1alpha1.Diagnostic{{Reason: string(diag.QuotaExceeded)}}}
	refused.Memory.Members[1].Rejections = []v1alpha1.Rejection{{}}
	for name, c := range map[string]struct {
		record Record
		want   bool
	}{
		"nothing":            {Record{}, false},
		"members":            {members("shop/a"), false},
		"a refused member":   {refused, true},
		"a limit":            {rejected, true},
		"another diagnostic": {Record{Diagnostics: []v1alpha1.Diagnostic{{Reason: string(diag.Protected)}}}, false},
	} {
		if got := HasRejections(&c.record); got != c.want {
			t.Errorf("%s: it has rejections: %t", name, got)
		}
	}
	unsorted := members("shop/c", "shop/a", "shop/b")
	SortMembers(&unsorted)
	for _, name := range []string{"shop/a", "shop/b", "shop/c"} {
		if m := MemberOf(&unsorted, name); m == nil || m.Ingress != name {
			t.Errorf("of %s it has %v", name, m)
		}
	}
	if m := MemberOf(&unsorted, "shop/bb"); m != nil {
		t.Errorf("of an Ingress that it does not have it has %v", m)
	}
}

// clusterWith is a cluster with the records of both operators, of one that carries plans out and of
// one that only plans.
func clusterWith(t *testing.T, funcs interceptor.Funcs) client.WithWatch {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithStatusSubresource(&v1alpha1.LoadBalancer{}).WithInterceptorFuncs(funcs).Build()
	remembers := members("shop/web")
	remembers.Address = "carried out"
	if err := NewStore(c, c, "").Save(t.Context(), webKey, remembers); err != nil {
		t.Fatal(err)
	}
	if err := NewStore(c, c, "shop").Save(t.Context(), apiKey, members("shop/api")); err != nil {
		t.Fatal(err)
	}
	return c
}

// An operator that only plans has reports of its own, and remembers what the other one does.
func TestReportsOfAnOperatorThatOnlyPlans(t *testing.T) {
	c := clusterWith(t, interceptor.Funcs{})
	report := members("shop/mine")
	report.Address = "planned"
	for _, key := range []lb.Key{webKey, "fairlead/shop/new/internal"} {
		if err := NewPlannedStore(c, c, "").Save(t.Context(), key, report); err != nil {
			t.Fatal(err)
		}
	}
	got, err := NewPlannedStore(c, c, "").Load(t.Context())
	if err != nil || len(got) != 2 || got[webKey].Address != "planned" || len(got["fairlead/shop/new/internal"].Memory.Members) > 0 ||
		len(got[webKey].Memory.Members) != 1 || got[webKey].Memory.Members[0].Ingress != "shop/web" {
		t.Errorf("it loads %v, error %v", got, err)
	}
	if got, err := NewStore(c, c, "").Load(t.Context()); err != nil || len(got) != 1 || got[webKey].Address != "carried out" {
		t.Errorf("the other operator loads %v, error %v", got, err)
	}
	if known, err := Remembered(t.Context(), c, ""); err != nil || len(known) != 1 || len(known[webKey].Members) != 1 {
		t.Errorf("remembered is %v, error %v", known, err)
	}
	if err := NewSweeper(c, c, "").Start(t.Context()); err != nil {
		t.Error(err)
	}
	var left v1alpha1.LoadBalancerList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 2 || slices.ContainsFunc(left.Items, func(o v1alpha1.LoadBalancer) bool { return IsPlanned(&o) }) {
		t.Errorf("%d records are left, error %v", len(left.Items), err)
	}
}

// What cannot be read or deleted is an error. A cluster without our CRDs has no records.
func TestReportsThatCannotBeRead(t *testing.T) {
	lists, fails := 0, 0
	var with error
	c := clusterWith(t, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if lists++; lists == fails {
				return with
			}
			return c.List(ctx, list, opts...)
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return with },
	})
	if err := NewPlannedStore(c, c, "").Save(t.Context(), webKey, Record{}); err != nil {
		t.Fatal(err)
	}
	with = errRefused
	for fails = 1; fails <= 2; fails++ {
		lists = 0
		if got, err := NewPlannedStore(c, c, "").Load(t.Context()); !errors.Is(err, errRefused) || got != nil {
			t.Errorf("where list %d fails there is %v, error %v", fails, got, err)
		}
	}
	for fails = 1; fails >= 0; fails-- { // then the deletion
		lists = 0
		if err := NewSweeper(c, c, "").Start(t.Context()); !errors.Is(err, errRefused) {
			t.Errorf("the error is %v", err)
		}
	}
	lists, fails = 0, 1
	if known, err := Remembered(t.Context(), c, ""); !errors.Is(err, errRefused) || known != nil {
		t.Errorf("remembered is %v, error %v", known, err)
	}
	lists, with = 0, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: v1alpha1.KindLoadBalancer}}
	if known, err := Remembered(t.Context(), c, ""); err != nil || known != nil {
		t.Errorf("without the CRDs, remembered is %v, error %v", known, err)
	}
}

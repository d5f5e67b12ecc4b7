package gather

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/settings"
)

// This file tests what a snapshot has: what its Ingresses name, and which of them leave it.

const (
	webKey    = lb.Key("fairlead/shop/web/internal")
	publicKey = lb.Key("fairlead/shop/web/internet-facing")
	groupKey  = lb.Key("fairlead/@shared/internal")
	closedKey = lb.Key("fairlead/@closed/internal")
	albKey    = lb.Key("alb/shop/web/internal")
)

// clusterOf has the class fairlead with parameters, the namespace shop, and some objects.
func clusterOf(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	class.Spec.Controller = ingress.ControllerName
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "fairlead"}
	foreign := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/other"}}
	parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	parameters.Spec.Expectations = &v1alpha1.ConfigMapReference{Namespace: "infra", Name: "rules"}
	parameters.Spec.Groups = []v1alpha1.SharedGroup{
		{Name: "shared", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}},
		{Name: "closed", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}},
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}}
	b := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithObjects(append(objects, class, foreign, parameters, shop)...)
	for _, i := range cluster.Indexes() {
		b = b.WithIndex(i.Of, i.Field, i.Values)
	}
	return b.Build()
}

// gathererOf is a Gatherer of a cluster and of some records.
func gathererOf(c client.Client, of map[lb.Key]records.Record) *Gatherer {
	return &Gatherer{
		Cache: c, Server: c, Directory: cluster.NewDependencies(), Expectations: expectations.NewReader(c, nil, nil),
		Secrets: cluster.NewSecretReader(cluster.SecretsAll, c, c), Certificates: &cluster.CertificateCache{}, Pods: cluster.NewPodReader(c, false),
		Records: records.NewCache(loaded{of: of}, false), Unconfirmed: func(lb.Key) bool { return false },
	}
}

// asking is shop/web, which asks for a load balancer of the class fairlead.
func asking(change ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}}}
	ing.Spec.IngressClassName = new("fairlead")
	ing.Spec.DefaultBackend = toService("web")
	for _, c := range change {
		c(ing)
	}
	return ing
}

func annotated(name, value string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) { ing.Annotations[name] = value }
}

func ofClass(name string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = &name }
}

func deleted(ing *networkingv1.Ingress) {
	now := metav1.Now()
	ing.DeletionTimestamp, ing.Finalizers = &now, []string{v1alpha1.IngressFinalizer}
}

func toService(name string) *networkingv1.IngressBackend {
	return &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

func toResource(kind, name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: kind, Name: name}}
}

// remembering is a record of one member.
func remembering(change ...func(*v1alpha1.MemberMemory)) records.Record {
	m := v1alpha1.MemberMemory{Ingress: "shop/web"}
	for _, c := range change {
		c(&m)
	}
	return records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{m}}}
}

func isServed(m *v1alpha1.MemberMemory) { m.Served = true }

func accepted(spec networkingv1.IngressSpec) func(*v1alpha1.MemberMemory) {
	return func(m *v1alpha1.MemberMemory) { m.LastAccepted = &v1alpha1.AcceptedVersion{Spec: spec} }
}

func rejecting(ing *networkingv1.Ingress) func(*v1alpha1.MemberMemory) {
	return func(m *v1alpha1.MemberMemory) {
		m.Rejections = []v1alpha1.Rejection{{Version: record.Version(ing), Message: "refused"}}
	}
}

// An eager reader fails a test where an object is read that the directory does not have yet: a
// change between the two would be lost.
type eager struct {
	client.Reader
	*testing.T
	directory *cluster.Dependencies
	kinds     []string
}

func (e eager) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if kind := reflect.TypeOf(into).Elem().Name(); slices.Contains(e.kinds, kind) && len(e.directory.DependentsOf(cluster.RefTo(kind, key.Namespace, key.Name))) == 0 {
		e.Errorf("%s %s is read before the directory has it", kind, key)
	}
	return e.Reader.Get(ctx, key, into, opts...)
}

// A load balancer depends on the objects that its Ingresses name, as they are and as they were last
// accepted, and its snapshot has those that exist.
func TestASnapshotHasWhatItsIngressesName(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	ing := asking(func(ing *networkingv1.Ingress) {
		ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "tls"}, {Hosts: []string{"shop.example"}}}
		ing.Annotations = map[string]string{settings.Backends: `{"own": {"services": [{"name": "own"}], "authenticate": {"oidc": {"secretName": "own"}}}}`}
		path := func(b networkingv1.IngressBackend) networkingv1.HTTPIngressPath {
			return networkingv1.HTTPIngressPath{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: b}
		}
		ing.Spec.Rules = []networkingv1.IngressRule{{Host: "none.example"}, {Host: "shop.example", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{path(*toService("path")), path(toResource(v1alpha1.KindBackend, "split")), path(toResource("StorageBucket", "bucket")), path(networkingv1.IngressBackend{})},
		}}}}
	})
	split := &v1alpha1.Backend{ObjectMeta: in("split")}
	split.Spec.Services = []v1alpha1.WeightedService{{Name: "canary"}}
	split.Spec.Authenticate = &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{SecretName: "client"}}
	before := &v1alpha1.Backend{ObjectMeta: in("before")}
	before.Spec.Authenticate = &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: in("web-1"), AddressType: discoveryv1.AddressTypeIPv4}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0"}}}
	c := clusterOf(
		t, ing, split, before, slice, &corev1.Service{ObjectMeta: in("web")}, &corev1.Service{ObjectMeta: in("canary")}, &corev1.Pod{ObjectMeta: in("web-0")},
		&corev1.Secret{ObjectMeta: in("tls"), Data: map[string][]byte{corev1.TLSCertKey: []byte("x"), "other": []byte("y")}},
	)
	last := networkingv1.IngressSpec{DefaultBackend: new(toResource(v1alpha1.KindBackend, "before"))}
	record := remembering(accepted(last))
	record.Memory.Class = &v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{Namespace: "infra", Name: "old"}}
	g := gathererOf(c, map[lb.Key]records.Record{webKey: record})
	g.Cache = eager{c, t, g.Directory, []string{cluster.KindService, cluster.KindBackend}}
	if err := g.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out ingress.Objects
	if err := g.addClasses(t.Context(), map[string]bool{"fairlead": true}, &out, versions{}); err != nil {
		t.Fatal(err)
	}
	namespaced := &v1alpha1.LoadBalancerClass{}
	namespaced.Spec.Expectations = &v1alpha1.ConfigMapReference{Namespace: "shop", Name: "own"}
	out.LoadBalancerClasses = []*v1alpha1.LoadBalancerClass{namespaced, {}}
	if err := g.references(t.Context(), webKey, map[string]*networkingv1.Ingress{"shop/web": ing, "shop/bare": {}, "shop/gone": nil}, g.Records.Parsed(webKey, time.Now()), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range g.Directory.ReferencesOf(webKey) {
		got = append(got, ref.Key())
	}
	slices.Sort(got)
	var want []string
	for _, ref := range []cluster.Ref{
		cluster.RefTo(cluster.KindBackend, "shop", "before"), cluster.RefTo(cluster.KindBackend, "shop", "split"),
		cluster.RefTo(cluster.KindConfigMap, "infra", "old"), cluster.RefTo(cluster.KindConfigMap, "infra", "rules"), cluster.RefTo(cluster.KindConfigMap, "shop", "own"),
		cluster.RefTo(cluster.KindSecret, "shop", "client"), cluster.RefTo(cluster.KindSecret, "shop", "own"), cluster.RefTo(cluster.KindSecret, "shop", "tls"),
		cluster.RefTo(cluster.KindService, "shop", "canary"), cluster.RefTo(cluster.KindService, "shop", "own"), cluster.RefTo(cluster.KindService, "shop", "path"), cluster.RefTo(cluster.KindService, "shop", "web"),
	} {
		want = append(want, ref.Key())
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("it depends on\n%q, want\n%q", got, want)
	}
	services := namesOf(out.Services)
	slices.Sort(services)
	if !slices.Equal(services, []string{"canary", "web"}) || !slices.Equal(namesOf(out.EndpointSlices), []string{"web-1"}) || !slices.Equal(namesOf(out.Pods), []string{"web-0"}) || !out.PodsKnown {
		t.Errorf("it has the Services %q, the EndpointSlices %q and the Pods %q, known: %t", services, namesOf(out.EndpointSlices), namesOf(out.Pods), out.PodsKnown)
	}
	if len(out.Secrets) != 1 || len(out.Secrets[0].Data) != 1 || len(out.SecretsUnread) > 0 {
		t.Errorf("it has the Secrets %v, unread are %v", out.Secrets, out.SecretsUnread)
	}
}

// What a snapshot has of Secrets says which may be read, and what their certificates are.
func TestASnapshotSaysWhichSecretsMayBeRead(t *testing.T) {
	c := clusterOf(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tls"}, Data: map[string][]byte{corev1.TLSCertKey: []byte("x")}})
	ing := asking(func(ing *networkingv1.Ingress) { ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "tls"}} })
	for mode, parsed := range map[cluster.SecretsMode]int{cluster.SecretsAll: 1, cluster.SecretsNone: 0} {
		g := gathererOf(c, nil)
		g.Secrets = cluster.NewSecretReader(mode, c, c)
		var o ingress.Objects
		err := g.references(t.Context(), webKey, map[string]*networkingv1.Ingress{"shop/web": ing}, record.Record{}, &o)
		if err != nil || len(o.Certificates) != parsed || (o.SecretsWithheld == "") != (mode == cluster.SecretsAll) {
			t.Errorf("%s: %d certificates are parsed, withheld is %q, error %v", mode, len(o.Certificates), o.SecretsWithheld, err)
		}
	}
}

// What cannot be read fails a reconcile: nothing is planned without it. Only Nodes may be missing.
func TestASnapshotWithoutAnObject(t *testing.T) {
	nodes := annotated(settings.TargetType, v1alpha1.TargetTypeInstance)
	backend := &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "split"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	none := &corev1.ReplicationController{} // is not read
	spec := networkingv1.IngressSpec{DefaultBackend: new(toResource(v1alpha1.KindBackend, "split")), TLS: []networkingv1.IngressTLS{{SecretName: "tls"}}}
	gone := v1alpha1.MemberMemory{Ingress: "shop/gone", Served: true, LastAccepted: &v1alpha1.AcceptedVersion{Spec: spec}}
	for name, c := range map[string]struct {
		cache, server any  // the kind that cannot be read
		beside        bool // the only Ingress is one of another load balancer of the group
		departs       bool // the Ingress that is gone
		ended         bool // the operator is stopped
		reads         bool
		nodes         int
	}{
		"all":                            {cache: none, server: none, reads: true, nodes: 1},
		"the pause":                      {cache: &metav1.PartialObjectMetadata{}, server: none},
		"the pause, of the server":       {cache: none, server: &metav1.PartialObjectMetadata{}, departs: true},
		"an Ingress":                     {cache: &networkingv1.Ingress{}, server: none},
		"an Ingress, of the server":      {cache: none, server: &networkingv1.Ingress{}},
		"all Ingresses":                  {cache: &networkingv1.IngressList{}, server: none},
		"an Ingress beside":              {cache: &networkingv1.Ingress{}, server: none, beside: true},
		"the class":                      {cache: &networkingv1.IngressClass{}, server: none},
		"its parameters":                 {cache: &v1alpha1.ClusterLoadBalancerClass{}, server: none},
		"a Backend":                      {cache: &v1alpha1.Backend{}, server: none},
		"a Service":                      {cache: &corev1.Service{}, server: none},
		"endpoints":                      {cache: &discoveryv1.EndpointSliceList{}, server: none},
		"the namespace":                  {cache: &corev1.Namespace{}, server: none},
		"a Secret":                       {cache: none, server: &corev1.Secret{}, reads: true, nodes: 1},
		"a Secret, as the operator ends": {cache: none, server: &corev1.Secret{}, ended: true},
		"Nodes":                          {cache: &corev1.NodeList{}, server: none, reads: true},
		"Nodes, as the operator ends":    {cache: &corev1.NodeList{}, server: none, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := clusterOf(t, asking(nodes), service, backend, node)
			record := records.Record{Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{gone}}}
			g := gathererOf(in, map[lb.Key]records.Record{webKey: record})
			g.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "web"), []lb.Key{webKey})
			key := webKey
			if c.beside {
				key = publicKey
			}
			if g.Grace = time.Hour; c.departs {
				g.Grace = 0
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if !c.ended {
				end = func() {}
			}
			g.Cache, g.Server = failing{in, c.cache, end}, failing{in, c.server, end}
			g.Secrets = cluster.NewSecretReader(cluster.SecretsAll, g.Server, g.Server)
			out, err := g.Gather(ctx, key)
			if (err == nil) != c.reads || (out == nil) != (err != nil) {
				t.Fatalf("it is %v, error %v", out, err)
			}
			if err == nil && (len(out.Nodes) != c.nodes || (out.NodesUnread == "") != (c.nodes > 0)) {
				t.Errorf("it has %d Nodes, unread are %q", len(out.Nodes), out.NodesUnread)
			}
		})
	}
}

// An Ingress leaves its load balancer where it does not ask for it any more. One that waits, as it
// is refused and was never served, is not released; and what is remembered is not changed.
func TestWhichIngressesDepart(t *testing.T) {
	refused := annotated(settings.Scheme, "neither")
	shared := annotated(settings.Group, "shared")
	web, foreign := asking(), asking(ofClass("foreign"))
	named := asking(annotated(settings.IngressClass, "alb"), func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = nil })
	for name, c := range map[string]struct {
		there                                                       *networkingv1.Ingress
		key                                                         lb.Key // webKey if it is ""
		record                                                      records.Record
		placed                                                      bool // without a record
		grace                                                       time.Duration
		room                                                        int
		literal, pinned                                             string
		member, kept, departs, disowned, withdrawn, waits, vanished bool
	}{
		"it is a member":                                  {there: web, placed: true, member: true},
		"it is remembered and a member":                   {there: web, record: remembering(isServed), member: true},
		"it is gone":                                      {record: remembering(), departs: true, disowned: true},
		"it is gone, and was served":                      {record: remembering(isServed), departs: true, disowned: true},
		"it is gone, and was refused":                     {record: remembering(rejecting(web)), departs: true, disowned: true},
		"it has vanished, and its version is unknown":     {record: remembering(isServed), grace: time.Hour, departs: true, disowned: true},
		"it has vanished, and its version is known":       {record: remembering(isServed, accepted(web.Spec)), grace: time.Hour, member: true, vanished: true},
		"it is deleted":                                   {there: asking(deleted), record: remembering(isServed), departs: true, disowned: true},
		"it is of another controller":                     {there: foreign, record: remembering(), departs: true, disowned: true},
		"it asks for another load balancer":               {there: asking(annotated(settings.Scheme, "internet-facing")), placed: true, departs: true},
		"the cloud refuses it":                            {there: web, record: remembering(rejecting(web))},
		"the cloud refuses it, and it was served":         {there: web, record: remembering(isServed, rejecting(web)), departs: true, disowned: true},
		"the cloud refuses it, and it is deleted":         {there: asking(deleted), record: remembering(rejecting(asking(deleted))), departs: true, disowned: true},
		"the cloud refuses it, and it is not ours":        {there: foreign, record: remembering(rejecting(foreign)), departs: true, disowned: true},
		"the cloud refused another version, it is broken": {there: asking(refused), record: remembering(rejecting(web)), departs: true, disowned: true},
		"it is refused by the group":                      {there: asking(shared, refused), key: groupKey, placed: true, kept: true},
		"it is refused by the group, and was served":      {there: asking(shared, refused), key: groupKey, record: remembering(isServed), departs: true, disowned: true},
		"its class had parameters, and is gone":           {there: named, key: albKey, literal: "alb", pinned: "infra", placed: true, departs: true, disowned: true},
		"it names a class that never existed":             {there: named, key: albKey, literal: "alb", placed: true, member: true},
		"the group is closed to it":                       {there: asking(annotated(settings.Group, "closed")), key: closedKey, record: remembering(isServed, accepted(web.Spec)), departs: true, disowned: true, withdrawn: true},
		"there is no room":                                {there: web, placed: true, room: 1, waits: true},
		"there is no room any more":                       {there: web, record: remembering(), room: 1, waits: true, departs: true, disowned: true},
	} {
		t.Run(name, func(t *testing.T) {
			of := []client.Object{}
			if c.there != nil {
				of = append(of, c.there.DeepCopy())
			}
			if c.key == "" {
				c.key = webKey
			}
			other := records.Record{}
			if c.pinned != "" {
				other.Memory.Class = &v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{Name: c.pinned}}
			}
			g := gathererOf(clusterOf(t, of...), map[lb.Key]records.Record{c.key: c.record, "alb/shop/other/internal": other})
			if g.Grace, g.Options.Room, g.Options.Literal = c.grace, c.room, c.literal; c.placed {
				g.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "web"), []lb.Key{c.key})
			}
			out, err := g.Gather(t.Context(), c.key)
			if err != nil {
				t.Fatal(err)
			}
			_, departs := out.Departed["shop/web"]
			_, vanished := out.Vanished["shop/web"]
			if departs != c.departs || out.Disowned["shop/web"] != c.disowned || out.AwaitingRoom["shop/web"] != c.waits || vanished != c.vanished {
				t.Errorf("it departs: %t, disowned: %t, waits for room: %t, has vanished: %t", departs, out.Disowned["shop/web"], out.AwaitingRoom["shop/web"], vanished)
			}
			if d := out.ConsentWithdrawn["shop/web"]; (d.Reason == diag.ConsentWithdrawn) != c.withdrawn {
				t.Errorf("the class has withdrawn its consent: %v", out.ConsentWithdrawn)
			}
			if member := slices.Equal(out.MemberNames(), []string{"shop/web"}); member != c.member {
				t.Errorf("the members are %q", out.MemberNames())
			}
			if want := c.there != nil && (c.member || c.waits || c.kept); (out.Actual["shop/web"] != nil) != want {
				t.Errorf("the Ingress is %v", out.Actual)
			}
			if m := g.Records.Parsed(c.key, time.Now()).Members["shop/web"]; m.Vanished != nil {
				t.Error("what is remembered has changed")
			}
		})
	}
}

// The class of a load balancer without Ingresses is the one that exists, and else the one that it
// was served under.
func TestTheClassOfALoadBalancerWithoutIngresses(t *testing.T) {
	remembered := records.Record{Memory: v1alpha1.Memory{Class: &v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{Namespace: "infra", Name: "old"}}}}
	for name, c := range map[string]struct {
		key    lb.Key
		record records.Record
		class  string
		rules  string
	}{
		"it exists":                        {webKey, records.Record{}, "fairlead", "rules"},
		"it exists, and one is remembered": {webKey, remembered, "fairlead", "rules"},
		"it is gone":                       {"gone/shop/web/internal", remembered, "gone", "old"},
		"it is gone, and not remembered":   {"gone/shop/web/internal", records.Record{}, "gone", ""},
	} {
		out, err := gathererOf(clusterOf(t), map[lb.Key]records.Record{c.key: c.record}).Gather(t.Context(), c.key)
		if err != nil {
			t.Fatal(err)
		}
		rules := ""
		if out.Expectations != nil {
			rules = out.Expectations.ConfigMap.Name
		}
		if out.Class.Name != c.class || rules != c.rules {
			t.Errorf("%s: the class is %q with the expectations %q, want %q with %q", name, out.Class.Name, rules, c.class, c.rules)
		}
	}
}

func TestWhatASnapshotSaysOfItself(t *testing.T) {
	member := func(name string) ingress.Member {
		return ingress.Member{Ingress: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}}
	}
	retains := ingress.Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{DeletionPolicy: v1alpha1.DeletionPolicyRetain}}
	rejected := records.Record{Diagnostics: []v1alpha1.Diagnostic{{Reason: string(diag.QuotaExceeded)}}}
	for name, c := range map[string]struct {
		Snapshot
		retained, changes, limits bool
		warm                      time.Duration
	}{
		"nothing":               {warm: settings.DefaultWarmTimeout},
		"a class that retains":  {Snapshot: Snapshot{Snapshot: ingress.Snapshot{Class: retains}}, retained: true, warm: settings.DefaultWarmTimeout},
		"its consent withdrawn": {Snapshot: Snapshot{Snapshot: ingress.Snapshot{Class: retains, Withdrawn: true}}, warm: settings.DefaultWarmTimeout},
		"a new member":          {Snapshot: Snapshot{Snapshot: ingress.Snapshot{Class: retains, Members: []ingress.Member{member("web")}}}, changes: true, warm: settings.DefaultWarmTimeout},
		"one that departs":      {Snapshot: Snapshot{Departed: map[string]*networkingv1.Ingress{"shop/web": nil}}, changes: true, warm: settings.DefaultWarmTimeout},
		"a limit":               {Snapshot: Snapshot{Record: rejected}, limits: true, warm: settings.DefaultWarmTimeout},
		"a time": {Snapshot: Snapshot{Snapshot: ingress.Snapshot{Class: ingress.Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{WarmTimeout: &metav1.Duration{Duration: time.Minute}}}}},
			warm: time.Minute},
	} {
		if c.Retained() != c.retained || c.HasChanges() != c.changes || c.Ask().Limits != c.limits || c.WarmTimeout() != c.warm {
			t.Errorf("%s: retained: %t, changes: %t, limits: %t, warm: %s", name, c.Retained(), c.HasChanges(), c.Ask().Limits, c.WarmTimeout())
		}
	}
}

// Those that a group refuses stay, if they were to depart, and are told so. The record decides about
// those that it has.
func TestOnlyTheDepartedAreKept(t *testing.T) {
	refused := func(name string) *networkingv1.Ingress {
		ing := asking(annotated(settings.Group, "shared"), annotated(settings.Scheme, "neither"))
		ing.Name = name
		return ing
	}
	g := gathererOf(clusterOf(t), nil)
	var o ingress.Objects
	if err := g.addClasses(t.Context(), map[string]bool{"fairlead": true}, &o, versions{}); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.Namespaces, err = g.namespaces(t.Context(), []*networkingv1.Ingress{asking()}); err != nil {
		t.Fatal(err)
	}
	o.Ingresses = []*networkingv1.Ingress{refused("web"), refused("beside"), refused("known")}
	out := &Snapshot{Actual: map[string]*networkingv1.Ingress{}, Departed: map[string]*networkingv1.Ingress{"shop/web": o.Ingresses[0], "shop/known": o.Ingresses[2], "shop/gone": nil}}
	out.Key, out.Recorded = groupKey, record.Record{Members: map[string]record.Member{"shop/known": {}}}
	out.keepRefused(o, g.Options)
	if len(out.Actual) != 1 || out.Actual["shop/web"] != o.Ingresses[0] || len(out.Departed) != 2 || out.Departed["shop/known"] == nil {
		t.Errorf("the Ingresses are %v, and %v depart", out.Actual, out.Departed)
	}
}

// The namespaces of Ingresses are read, and those that reserve hosts.
func TestWhichNamespacesAreRead(t *testing.T) {
	g := gathererOf(clusterOf(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "infra"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "none"}}), nil)
	found, err := g.namespaces(t.Context(), []*networkingv1.Ingress{asking()}, "infra", "gone")
	names := namesOf(found)
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"infra", "shop"}) {
		t.Errorf("they are %q, error %v", names, err)
	}
}

package gather

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// classed returns a Gatherer of a cluster that has classes, with parameters of each kind.
func classed(t *testing.T) *Gatherer {
	t.Helper()
	class := func(name, kind, namespace, parameters string) *networkingv1.IngressClass {
		c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}
		c.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: kind, Name: parameters}
		if namespace != "" {
			c.Spec.Parameters.Namespace = &namespace
		}
		return c
	}
	b := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithObjects(
		class("clusterwide", v1alpha1.KindClusterLoadBalancerClass, "", "all"), class("namespaced", v1alpha1.KindLoadBalancerClass, "infra", "some"),
		class("same", v1alpha1.KindClusterLoadBalancerClass, "", "all"), class("missing", v1alpha1.KindClusterLoadBalancerClass, "", "missing"),
		class("unknown", "Service", "infra", "some"), &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "bare", ResourceVersion: "1"}},
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "all", ResourceVersion: "2"}},
		&v1alpha1.LoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "some", ResourceVersion: "3"}},
	)
	for _, i := range cluster.Indexes() {
		b = b.WithIndex(i.Of, i.Field, i.Values)
	}
	return &Gatherer{Cache: b.Build()}
}

func namesOf[T client.Object](list []T) (names []string) {
	for _, o := range list {
		names = append(names, o.GetName())
	}
	return names
}

func TestAllClassesAreRead(t *testing.T) {
	g := classed(t)
	o, err := g.Classes(t.Context())
	if err != nil || len(o.IngressClasses) != 6 || !slices.Equal(namesOf(o.ClusterLoadBalancerClasses), []string{"all"}) || !slices.Equal(namesOf(o.LoadBalancerClasses), []string{"some"}) {
		t.Errorf("the classes are %v, error %v", o, err)
	}
	names, err := g.ClassesOf(t.Context(), cluster.RefTo(v1alpha1.KindClusterLoadBalancerClass, "", "all"))
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"clusterwide", "same"}) {
		t.Errorf("the classes of the parameters are %q, error %v", names, err)
	}
	g.Cache = failing{}
	if o, err := g.Classes(t.Context()); !errors.Is(err, errFailing) || o.IngressClasses != nil {
		t.Errorf("the classes are %v, error %v", o, err)
	}
	if names, err := g.ClassesOf(t.Context(), cluster.Ref{}); !errors.Is(err, errFailing) || names != nil {
		t.Errorf("the classes of the parameters are %q, error %v", names, err)
	}
}

// Those classes are read that Ingresses name, that Ingresses without one have, and that load
// balancers have which are remembered.
func TestWhichClassesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		without string
		ing     *networkingv1.Ingress
		records map[lb.Key]record.Record
		want    []string
	}{
		"nothing":                      {},
		"the class of those without":   {without: "standard", want: []string{"standard"}},
		"the class of an Ingress":      {ing: &networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: new("public")}}, want: []string{"public"}},
		"an Ingress of no class":       {ing: &networkingv1.Ingress{}},
		"the class of a load balancer": {records: map[lb.Key]record.Record{"old/shop/web/internal": {}}, want: []string{"old"}},
		"of several, each once":        {without: "old", ing: &networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: new("old")}}, records: map[lb.Key]record.Record{"old/shop/web/internal": {}}, want: []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Gatherer{Options: ingress.ClassOptions{WithoutClass: c.without}}
			var ingresses []*networkingv1.Ingress
			if c.ing != nil {
				ingresses = append(ingresses, c.ing)
			}
			if got := slices.Sorted(maps.Keys(g.classNames(ingresses, c.records))); !slices.Equal(got, c.want) {
				t.Errorf("the classes are %q, want %q", got, c.want)
			}
		})
	}
}

// Classes are read with their parameters, each once, and with the version of each, also of what
// does not exist.
func TestClassesAreReadWithTheirParameters(t *testing.T) {
	g, v := classed(t), versions{}
	var o ingress.Objects
	names := map[string]bool{"clusterwide": true, "namespaced": true, "same": true, "missing": true, "unknown": true, "bare": true, "gone": true}
	if err := g.addClasses(t.Context(), names, &o, v); err != nil {
		t.Fatal(err)
	}
	if got, want := namesOf(o.IngressClasses), []string{"bare", "clusterwide", "missing", "namespaced", "same", "unknown"}; !slices.Equal(got, want) {
		t.Errorf("the classes are %q, want %q", got, want)
	}
	if !slices.Equal(namesOf(o.ClusterLoadBalancerClasses), []string{"all"}) || !slices.Equal(namesOf(o.LoadBalancerClasses), []string{"some"}) {
		t.Errorf("the parameters are %q and %q", namesOf(o.ClusterLoadBalancerClasses), namesOf(o.LoadBalancerClasses))
	}
	class := func(name string) cluster.Ref { return cluster.RefTo(cluster.KindIngressClass, "", name) }
	want := versions{
		class("bare"): "1", class("clusterwide"): "1", class("missing"): "1", class("namespaced"): "1", class("same"): "1", class("unknown"): "1", class("gone"): "",
		cluster.RefTo(v1alpha1.KindClusterLoadBalancerClass, "", "all"): "2", cluster.RefTo(v1alpha1.KindClusterLoadBalancerClass, "", "missing"): "",
		cluster.RefTo(v1alpha1.KindLoadBalancerClass, "infra", "some"): "3", cluster.RefTo("Service", "infra", "some"): "",
	}
	if !maps.Equal(v, want) {
		t.Errorf("the versions are %v, want %v", v, want)
	}
	if now, err := g.versionsOf(t.Context(), maps.Keys(want)); err != nil || !maps.Equal(now, want) {
		t.Errorf("the versions are read as %v, want %v, error %v", now, want, err)
	}
	for _, kind := range []client.Object{&networkingv1.IngressClass{}, &v1alpha1.ClusterLoadBalancerClass{}, &v1alpha1.LoadBalancerClass{}} {
		g := &Gatherer{Cache: failing{Reader: g.Cache, kind: kind}}
		if err := g.addClasses(t.Context(), names, &ingress.Objects{}, versions{}); !errors.Is(err, errFailing) {
			t.Errorf("where a %T cannot be read the error is %v", kind, err)
		}
	}
}

var errFailing = errors.New("it cannot be read")

// failing is a reader that reads no object of a kind, or does not list them; nil for all.
type failing struct {
	client.Reader
	kind any
	end  func() // is called before
}

func (f failing) fail() error {
	if f.end != nil {
		f.end()
	}
	return errFailing
}

func (f failing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if f.kind == nil || reflect.TypeOf(f.kind) == reflect.TypeOf(into) {
		return f.fail()
	}
	return f.Reader.Get(ctx, key, into, opts...)
}

func (f failing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if f.kind == nil || reflect.TypeOf(f.kind) == reflect.TypeOf(list) {
		return f.fail()
	}
	return f.Reader.List(ctx, list, opts...)
}

package gather

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
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

// Of a class with a dialect, the parameters of the other controller are read, too: those of its name, or
// those that it refers to beside ours of its name.
func TestParametersOfTheOtherControllerAreRead(t *testing.T) {
	params := func(name string) cluster.Ref { return cluster.RefTo(cluster.KindIngressClassParams, "", name) }
	own := func(name string) cluster.Ref { return cluster.RefTo(v1alpha1.KindClusterLoadBalancerClass, "", name) }
	all := []client.Object{
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "ours", ResourceVersion: "2"}},
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "theirs", ResourceVersion: "3"}, Spec: v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB}},
		&v1alpha1.LoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "theirs", ResourceVersion: "4"}, Spec: v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB}},
		&alb.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "edge", ResourceVersion: "5"}},
	}
	lacking, err := cluster.NewOptional(t.Context(), meta.NewDefaultRESTMapper(nil), nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	foreign := alb.ParamsVersion.Group
	for name, c := range map[string]struct {
		class              string
		group, kind, named string
		optional           *cluster.Optional
		want               versions
		read               []string
	}{
		"of its name":           {"edge", v1alpha1.Group, v1alpha1.KindClusterLoadBalancerClass, "theirs", nil, versions{own("theirs"): "3", params("edge"): "5"}, []string{"edge"}},
		"beside one":            {"edge", v1alpha1.Group, v1alpha1.KindLoadBalancerClass, "theirs", nil, versions{cluster.RefTo(v1alpha1.KindLoadBalancerClass, "infra", "theirs"): "4", params("edge"): "5"}, []string{"edge"}},
		"not there":             {"other", v1alpha1.Group, v1alpha1.KindClusterLoadBalancerClass, "theirs", nil, versions{own("theirs"): "3", params("other"): ""}, nil},
		"not the dialect":       {"edge", v1alpha1.Group, v1alpha1.KindClusterLoadBalancerClass, "ours", nil, versions{own("ours"): "2"}, nil},
		"it is referred to":     {"theirs", foreign, alb.ParamsKind, "edge", nil, versions{own("theirs"): "3", own("edge"): "", params("edge"): "5"}, []string{"edge"}},
		"without one of ours":   {"other", foreign, alb.ParamsKind, "edge", nil, versions{own("other"): "", own("edge"): "", params("edge"): "5"}, []string{"edge"}},
		"with one of its name":  {"other", foreign, alb.ParamsKind, "theirs", nil, versions{own("other"): "", own("theirs"): "3", params("theirs"): ""}, nil},
		"without the kind":      {"edge", v1alpha1.Group, v1alpha1.KindClusterLoadBalancerClass, "theirs", lacking, versions{own("theirs"): "3", params("edge"): ""}, nil},
		"without it, referring": {"theirs", foreign, alb.ParamsKind, "edge", lacking, versions{own("theirs"): "3", own("edge"): "", params("edge"): ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: c.class, ResourceVersion: "1"}}
			class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &c.group, Kind: c.kind, Name: c.named}
			if c.kind == v1alpha1.KindLoadBalancerClass {
				class.Spec.Parameters.Namespace = new("infra")
			}
			b := fake.NewClientBuilder().WithScheme(cluster.NewScheme()).WithObjects(class).WithObjects(all...)
			for _, i := range cluster.Indexes() {
				b = b.WithIndex(i.Of, i.Field, i.Values)
			}
			g, v, o := &Gatherer{Cache: b.Build(), Optional: c.optional}, versions{}, ingress.Objects{}
			c.want[cluster.RefTo(cluster.KindIngressClass, "", c.class)] = "1"
			if err := g.addClasses(t.Context(), map[string]bool{c.class: true}, &o, v); err != nil || !maps.Equal(v, c.want) || !slices.Equal(namesOf(o.IngressClassParams), c.read) {
				t.Errorf("%q are read, the versions are %v, want %v, error %v", namesOf(o.IngressClassParams), v, c.want, err)
			}
			if now, err := g.versionsOf(t.Context(), maps.Keys(c.want)); err != nil || !maps.Equal(now, c.want) {
				t.Errorf("the versions are read as %v, want %v, error %v", now, c.want, err)
			}
			for ref := range c.want { // a change of each leads to the class
				if ref.Kind == cluster.KindIngressClass {
					continue
				}
				if names, err := g.ClassesOf(t.Context(), ref); err != nil || !slices.Equal(names, []string{c.class}) {
					t.Errorf("the classes of %v are %q, error %v", ref, names, err)
				}
			}
			listed := []string{"edge"}
			if c.optional != nil {
				listed = nil
			}
			if o, err := g.Classes(t.Context()); err != nil || !slices.Equal(namesOf(o.IngressClassParams), listed) {
				t.Errorf("%q are listed, error %v", namesOf(o.IngressClassParams), err)
			}
		})
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

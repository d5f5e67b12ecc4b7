package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
)

// A tellingReader says which lists it was asked for, in which namespace and with which name.
type tellingReader struct {
	client.Reader
	lists []string
	gets  int
}

func (t *tellingReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	t.lists = append(t.lists, fmt.Sprintf("%s %s%v", reflect.TypeOf(list).Elem().Name(), o.Namespace, o.FieldSelector))
	if o.FieldSelector != nil {
		return nil // the client in memory has no index of names
	}
	return t.Reader.List(ctx, list, opts...)
}

func (t *tellingReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	t.gets++
	return t.Reader.Get(ctx, key, into, opts...)
}

// Each kind that decides which rules there are is listed once from the API server, within the
// scope; others are the cache's.
func TestWhatIsReadFromTheAPIServer(t *testing.T) {
	in := metav1.ObjectMeta{Namespace: "shop", Name: "x"}
	global := metav1.ObjectMeta{Name: "x"}
	for _, c := range []struct {
		object client.Object
		list   string // that the API server is asked for in a scope; "" for none
		all    string // in all namespaces
	}{
		{&networkingv1.Ingress{ObjectMeta: in}, "IngressList shop<nil>", "IngressList <nil>"},
		{&networkingv1.IngressClass{ObjectMeta: global}, "IngressClassList <nil>", "IngressClassList <nil>"},
		{&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: global}, "ClusterLoadBalancerClassList <nil>", "ClusterLoadBalancerClassList <nil>"},
		{&v1alpha1.LoadBalancerClass{ObjectMeta: in}, "LoadBalancerClassList shop<nil>", "LoadBalancerClassList <nil>"},
		{&alb.IngressClassParams{ObjectMeta: global}, "IngressClassParamsList <nil>", "IngressClassParamsList <nil>"},
		{&v1alpha1.Backend{ObjectMeta: in}, "BackendList shop<nil>", "BackendList <nil>"},
		{&corev1.Service{ObjectMeta: in}, "ServiceList shop<nil>", "ServiceList <nil>"},
		{&corev1.Namespace{ObjectMeta: global}, "NamespaceList metadata.name=shop", "NamespaceList <nil>"},
		{&corev1.Pod{ObjectMeta: in}, "", ""},
		{&corev1.Node{ObjectMeta: global}, "", ""},
	} {
		for scope, want := range map[string]string{"shop": c.list, "": c.all} {
			server, cache := &tellingReader{Reader: clusterOf(t, c.object.DeepCopyObject().(client.Object))}, &tellingReader{Reader: clusterOf(t)}
			r := &FreshReader{Reader: cache, Server: server, Scope: scope, Read: map[reflect.Type]map[client.ObjectKey]client.Object{}}
			for range 2 {
				into := reflect.New(reflect.TypeOf(c.object).Elem()).Interface().(client.Object)
				err := r.Get(t.Context(), client.ObjectKeyFromObject(c.object), into)
				there := want != "" && want != "NamespaceList metadata.name=shop"
				if there && (err != nil || into.GetName() != "x") || !there && !apierrors.IsNotFound(err) {
					t.Errorf("%T in %q: there is %q, %v", c.object, scope, into.GetName(), err)
				}
			}
			lists := []string{want}
			if want == "" {
				lists = nil
			}
			if !slices.Equal(server.lists, lists) || server.gets > 0 || (cache.gets > 0) != (want == "") {
				t.Errorf("%T in %q: the API server is asked for %q, want %q, and the cache %d times", c.object, scope, server.lists, lists, cache.gets)
			}
		}
	}
}

func TestWhatIsListedFromTheAPIServer(t *testing.T) {
	for _, c := range []struct {
		list client.ObjectList
		want []string
	}{
		{&networkingv1.IngressClassList{}, []string{"IngressClassList <nil>"}},
		{&v1alpha1.ClusterLoadBalancerClassList{}, []string{"ClusterLoadBalancerClassList <nil>"}},
		{&alb.IngressClassParamsList{}, []string{"IngressClassParamsList <nil>"}},
		{&v1alpha1.LoadBalancerClassList{}, []string{"LoadBalancerClassList shop<nil>"}},
		{&networkingv1.IngressList{}, []string{"IngressList shop<nil>"}},
		{&corev1.ServiceList{}, nil},
	} {
		server, cache := &tellingReader{Reader: clusterOf(t)}, &tellingReader{Reader: clusterOf(t)}
		r := &FreshReader{Reader: cache, Server: server, Scope: "shop"}
		if err := r.List(t.Context(), c.list); err != nil || !slices.Equal(server.lists, c.want) || (len(cache.lists) == 1) != (c.want == nil) {
			t.Errorf("%T: the API server is asked for %q, want %q, the cache for %q, error %v", c.list, server.lists, c.want, cache.lists, err)
		}
	}
}

// An API server that does not answer is not an empty one.
func TestAReadingAnewFails(t *testing.T) {
	r := &FreshReader{Reader: clusterOf(t), Server: unavailable{}, Read: map[reflect.Type]map[client.ObjectKey]client.Object{}}
	if err := r.Get(t.Context(), client.ObjectKey{Name: "x"}, &networkingv1.IngressClass{}); !errors.Is(err, errUnavailable) {
		t.Errorf("the error is %v, want %v", err, errUnavailable)
	}
	if listOf(&unstructured.Unstructured{}) != nil {
		t.Error("an object of an unknown kind is listed")
	}
}

// A kind that the cluster does not have has no objects, if it is one that the cluster may lack.
func TestAKindThatTheClusterLacksIsReadAnew(t *testing.T) {
	for name, err := range map[string]error{
		"it never had it": &meta.NoKindMatchError{}, "it had it before": apierrors.NewNotFound(schema.GroupResource{}, ""),
	} {
		r := &FreshReader{Reader: clusterOf(t), Server: lacking{err: err}, Read: map[reflect.Type]map[client.ObjectKey]client.Object{}}
		if err := r.Get(t.Context(), client.ObjectKey{Name: "x"}, &alb.IngressClassParams{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s, and reading one ends with %v", name, err)
		}
		if err := r.List(t.Context(), &alb.IngressClassParamsList{}); err != nil {
			t.Errorf("%s, and listing ends with %v", name, err)
		}
		if err := r.List(t.Context(), &v1alpha1.ClusterLoadBalancerClassList{}); !errors.Is(err, r.Server.(lacking).err) {
			t.Errorf("%s, and listing a kind that is always there ends with %v", name, err)
		}
	}
}

// lacking is an API server without a kind.
type lacking struct {
	client.Reader
	err error
}

func (l lacking) List(context.Context, client.ObjectList, ...client.ListOption) error { return l.err }

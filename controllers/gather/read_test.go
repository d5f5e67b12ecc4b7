package gather

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
)

// This file tests what is read from the API server, and not from the cache.

// A countingReader is a reader of some objects, which counts what is asked.
type countingReader struct {
	objects []client.Object
	gets    int
	lists   []string
}

func (s *countingReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.gets++
	for _, o := range s.objects {
		slice, is := o.(*discoveryv1.EndpointSlice)
		if to, wanted := into.(*discoveryv1.EndpointSlice); is && wanted && client.ObjectKeyFromObject(o) == key {
			slice.DeepCopyInto(to)
			return nil
		}
	}
	switch into.(type) {
	case *metav1.PartialObjectMetadata, *networkingv1.IngressClass: // a report, and the class of it in the cache
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return errors.New("this is not to be got by its name")
}

func (s *countingReader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	s.lists = append(s.lists, fmt.Sprintf("%T %s %v", list, o.Namespace, o.FieldSelector))
	for _, object := range s.objects {
		switch list := list.(type) {
		case *corev1.ServiceList:
			if service, is := object.(*corev1.Service); is {
				list.Items = append(list.Items, *service)
			}
		case *networkingv1.IngressClassList:
			if class, is := object.(*networkingv1.IngressClass); is {
				list.Items = append(list.Items, *class)
			}
		}
	}
	return nil
}

// TestTheSecondReadingIsTheAPIServers: what the cache misses is there, what it has too much is not,
// and each kind is listed once, within what the operator's role allows.
func TestTheSecondReadingIsTheAPIServers(t *testing.T) {
	ctx := t.Context()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	cache := &countingReader{objects: []client.Object{&corev1.Service{ObjectMeta: named("stale")}, &discoveryv1.EndpointSlice{ObjectMeta: named("web-1")}}}
	server := &countingReader{objects: []client.Object{&corev1.Service{ObjectMeta: named("web")}, &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}}}}
	g := &Gatherer{Cache: cache, Server: server, Scope: "shop"}
	again := g.withFreshReader()

	for name, there := range map[string]bool{"web": true, "stale": false} {
		found, err := cluster.Get[corev1.Service](ctx, again.Cache, cluster.RefTo(cluster.KindService, "shop", name))
		if err != nil || (found != nil) != there {
			t.Errorf("of Service %s there is %v, %v", name, found, err)
		}
	}
	if o, err := again.Classes(ctx); err != nil || len(o.IngressClasses) != 1 {
		t.Errorf("the classes are %v, %v", o.IngressClasses, err)
	}
	if _, err := cluster.Get[corev1.Namespace](ctx, again.Cache, cluster.RefTo(cluster.KindNamespace, "", "shop")); err != nil {
		t.Error(err)
	}
	slice := &discoveryv1.EndpointSlice{}
	if err := again.Cache.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web-1"}, slice); err != nil || apierrors.IsNotFound(err) {
		t.Errorf("what the API server is not asked for is not the cache's: %v", err)
	}
	want := []string{
		"*v1.ServiceList shop <nil>", "*v1.IngressClassList  <nil>", "*v1alpha1.ClusterLoadBalancerClassList  <nil>",
		"*v1alpha1.LoadBalancerClassList shop <nil>", "*alb.IngressClassParamsList  <nil>", "*v1.NamespaceList  metadata.name=shop",
	}
	if fmt.Sprint(server.lists) != fmt.Sprint(want) || server.gets > 0 || len(cache.lists) > 0 {
		t.Errorf("the API server is asked for %q, and %d by name; the cache for %q", server.lists, server.gets, cache.lists)
	}
}

// TestADoubtIsReadAnew: only the reading after a doubt is the API server's.
func TestADoubtIsReadAnew(t *testing.T) {
	const key = lb.Key("fairlead/shop/web/internal")
	cache, server := &countingReader{}, &countingReader{}
	doubted := false
	g := &Gatherer{
		Cache: cache, Server: server, Unconfirmed: func(lb.Key) bool { return doubted }, Certificates: &cluster.CertificateCache{}, Directory: cluster.NewDependencies(),
		Records: records.NewCache(nothing{}, false), Pods: cluster.NewPodReader(cache, false), Secrets: cluster.NewSecretReader(cluster.SecretsNone, server, cache),
	}
	for i, doubts := range []bool{false, true, false} {
		server.lists, doubted = nil, doubts
		_, err := g.Gather(t.Context(), key)
		if asked := len(server.lists) > 0; asked != doubted {
			t.Errorf("reading %d asks the API server for %q: %v", i, server.lists, err)
		}
	}
}

// nothing is a keeper that remembers nothing.
type nothing struct{ records.Store }

func (nothing) Load(context.Context) (map[lb.Key]records.Record, error) { return nil, nil }

// TestAnIngressThatAnotherLeaderHasLetGoOfIsNotServedAgain: the cache of an operator that takes
// over has an Ingress with our finalizer that is deleted by now. The record, which is read from the
// API server, does not have it.
func TestAnIngressThatAnotherLeaderHasLetGoOfIsNotServedAgain(t *testing.T) {
	named := func(finalizers ...string) *networkingv1.Ingress {
		return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: finalizers}}
	}
	deleted := named(v1alpha1.IngressFinalizer)
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	for name, c := range map[string]struct {
		cached, there *networkingv1.Ingress
		remembered    bool
		asked         int
		want          *networkingv1.Ingress
	}{
		"it is let go of":                           {cached: named(v1alpha1.IngressFinalizer), asked: 1},
		"it is being deleted":                       {cached: named(v1alpha1.IngressFinalizer), there: deleted, asked: 1, want: deleted},
		"it is there, and the record is lost":       {cached: named(v1alpha1.IngressFinalizer), there: named(v1alpha1.IngressFinalizer), asked: 1, want: named(v1alpha1.IngressFinalizer)},
		"it is being deleted, and not remembered":   {cached: deleted, want: deleted},
		"it is new":                                 {cached: named(), there: named(), want: named()},
		"it is remembered":                          {cached: named(v1alpha1.IngressFinalizer), there: named(v1alpha1.IngressFinalizer), remembered: true, want: named(v1alpha1.IngressFinalizer)},
		"it is remembered, and the cache is behind": {there: named(v1alpha1.IngressFinalizer), remembered: true, asked: 1, want: named(v1alpha1.IngressFinalizer)},
		"it is gone, and not remembered":            {},
	} {
		t.Run(name, func(t *testing.T) {
			server := &oneIngress{there: c.there}
			g := &Gatherer{Cache: &countingReader{}, Server: server}
			known := map[string]*networkingv1.Ingress{"shop/web": c.cached}
			remembered := record.Record{Members: map[string]record.Member{}}
			if c.remembered {
				remembered.Members["shop/web"] = record.Member{Served: true}
			}
			if err := g.confirmIngresses(t.Context(), known, remembered); err != nil {
				t.Fatal(err)
			}
			got := known["shop/web"]
			if server.gets != c.asked || (got == nil) != (c.want == nil) || got != nil && got.DeletionTimestamp.IsZero() != c.want.DeletionTimestamp.IsZero() {
				t.Errorf("the API server is asked %d times, want %d, and the Ingress is %v, want %v", server.gets, c.asked, got, c.want)
			}
		})
	}
}

// oneIngress is an API server that has an Ingress, or none.
type oneIngress struct {
	client.Reader
	there *networkingv1.Ingress
	gets  int
}

func (o *oneIngress) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.gets++
	if o.there == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.there.DeepCopyInto(into.(*networkingv1.Ingress))
	return nil
}

func TestVersionsThatWereDroppedAreOutdated(t *testing.T) {
	p := NewPlacer(&Gatherer{Cache: &countingReader{}})
	class := cluster.RefTo(cluster.KindIngressClass, "", "missing")
	p.noteVersions(versions{class: ""})
	if outdated, err := p.isOutdated(t.Context(), class); outdated || err != nil {
		t.Errorf("a class that is as it was seen: outdated %t, error %v", outdated, err)
	}
	for i := range mostVersions - 1 {
		p.noteVersions(versions{cluster.RefTo(cluster.KindIngressClass, "", fmt.Sprint(i)): ""})
	}
	if len(p.placedUnder) != mostVersions || p.incomplete {
		t.Errorf("%d versions are remembered, want %d, and some were dropped: %t", len(p.placedUnder), mostVersions, p.incomplete)
	}
	for i := range 2 {
		p.noteVersions(versions{cluster.RefTo(cluster.KindIngressClass, "", fmt.Sprint("more-", i)): ""})
	}
	if len(p.placedUnder) != 2 {
		t.Errorf("%d versions are remembered, want 2", len(p.placedUnder))
	}
	if outdated, err := p.isOutdated(t.Context(), class); !outdated || err != nil {
		t.Errorf("a class whose version was dropped: outdated %t, error %v", outdated, err)
	}
}

package controllers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	apiserver "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/disputes"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/scheme"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/controllers/waits"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake"
)

// This file is a reconciler without a manager, for tests of single decisions: the API server and
// the cloud are both in memory, and nothing happens but what the test calls.

const benchKey = lb.Key("fairlead/shop/web/internal")

// A bench is a reconciler, its cluster and its cloud.
type bench struct {
	*testing.T
	client.Client
	*reconciler
	cloud *benchCloud
}

// benchCloud refuses and lists what a test says, and counts looks.
type benchCloud struct {
	*fake.Cloud
	refuses func(plan.Step) error // before a step is done
	list    func() ([]lb.Key, error)
	shields bool // can be put before load balancers
	looks   int
}

func (c *benchCloud) Capabilities(class lb.Class) lb.Capabilities {
	out := c.Cloud.Capabilities(class)
	out.Shields = c.shields
	return out
}

func (c *benchCloud) List(ctx context.Context) ([]lb.Key, error) {
	if c.list != nil {
		return c.list()
	}
	return c.Cloud.List(ctx)
}

func (c *benchCloud) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	c.looks++
	return c.Cloud.Observe(ctx, key, deep)
}

func (c *benchCloud) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if c.refuses != nil {
		if err := c.refuses(step); err != nil {
			return plan.Result{}, err
		}
	}
	return c.Cloud.Apply(ctx, seen, step)
}

// newBench is a bench with the class fairlead, the namespace shop and some objects.
func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	cloud, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	objects = append(objects,
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ingress.Controller}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	)
	server := apiserver.NewClientBuilder().WithScheme(scheme.New()).
		WithStatusSubresource(&v1alpha1.LoadBalancer{}, &networkingv1.Ingress{}).
		WithIndex(&discoveryv1.EndpointSlice{}, cluster.SliceService, cluster.ServiceOfSlice).
		WithIndex(&discoveryv1.EndpointSlice{}, cluster.SlicePods, cluster.PodsOfSlice).
		WithObjects(objects...).Build()
	b := &bench{T: t, Client: server, cloud: &benchCloud{Cloud: cloud}}
	b.succeed()
	return b
}

// succeed has another process take over, which knows nothing but what is in the cluster and in the
// cloud.
func (b *bench) succeed() {
	unconfirmed := &doubts{}
	b.reconciler = &reconciler{
		Gatherer: &gather.Gatherer{
			Cache: b.Client, Server: b.Client, Secrets: cluster.NewSecretReader(cluster.SecretsMode(""), b.Client, b.Client), Directory: cluster.NewDependencies(),
			Pods: cluster.NewPodReader(b.Client, false), Memories: records.NewCache(records.NewStore(b.Client, b.Client, ""), false),
			Judged: &cluster.CertificateCache{}, Unconfirmed: unconfirmed.about,
		},
		observer:   observer{cloud: b.cloud, every: 10 * time.Hour},
		writer:     b.Client,
		ingresses:  ingresses.NewWriter(b.Client),
		events:     events.NewRecorder(b.Client, b.Client),
		targets:    targets.NewBook(nil),
		disputes:   &disputes.Disputes{},
		doubts:     unconfirmed,
		waiting:    &waits.Waits{},
		wake:       make(chan event.TypedGenericEvent[lb.Key], 1024),
		unassigned: make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
		metrics:    metrics.NewRecorder(metrics.NewRequests(), "", nil),
	}
}

// ask is the Ingress shop/web, with a path for each host.
func ask(hosts ...string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       networkingv1.IngressSpec{IngressClassName: new("fairlead")},
	}
	for _, host := range hosts {
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
			}}}},
		}})
	}
	return ing
}

// service is the Service shop/web, which has no endpoints.
func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func (b *bench) create(o client.Object) {
	b.Helper()
	if err := b.Create(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// place tells the directory of the Ingress, as its watch does.
func (b *bench) place() {
	b.Helper()
	if ing := b.ingress(); ing != nil {
		b.onIngress(b.Context(), ing)
	}
}

// ingress is shop/web; nil if there is none.
func (b *bench) ingress() *networkingv1.Ingress {
	b.Helper()
	ing, err := cluster.Get[networkingv1.Ingress](b.Context(), b.Client, cluster.RefTo(cluster.KindIngress, "shop", "web"))
	if err != nil {
		b.Fatal(err)
	}
	return ing
}

// reconcile reconciles the load balancer of the Ingress once.
func (b *bench) reconcile() (reconcile.Result, error) {
	return b.Reconcile(b.Context(), benchKey)
}

// settle reconciles until nothing is left to do.
func (b *bench) settle() {
	b.Helper()
	for range 10 {
		if _, err := b.reconcile(); err != nil {
			b.Fatal(err)
		}
		if p := b.Memories.Get(benchKey).LastPlan; p != nil && int(p.Done) == len(p.Steps)+int(p.OmittedSteps) {
			return
		}
	}
	b.Fatalf("it does not settle: %+v", b.Memories.Get(benchKey))
}

// rules is how many rules the cloud has.
func (b *bench) rules() int {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), benchKey, false)
	if err != nil {
		b.Fatal(err)
	}
	return seen.RuleCount()
}

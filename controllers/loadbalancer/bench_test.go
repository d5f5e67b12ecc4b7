package loadbalancer

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/targets"
	"fairlead.dev/fairlead/model/lb"
)

// This file is a reconciler without a manager, for tests of single decisions: the API server and
// the cloud are both in memory, and nothing happens but what the test calls.

const benchKey = lb.Key("fairlead/shop/web/internal")

// A bench is a reconciler, its cluster and its cloud.
type bench struct {
	*testing.T
	client.Client
	*Reconciler
	cloud *controllertest.Cloud
}

// newBench is a bench with the class fairlead, the namespace shop and some objects.
func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{T: t, Client: controllertest.NewClient(t, objects...), cloud: controllertest.NewCloud(t)}
	b.succeed()
	return b
}

// succeed has another process take over, which knows nothing but what is in the cluster and in the
// cloud.
func (b *bench) succeed() {
	b.Reconciler = New(Parts{
		Gatherer: controllertest.NewGatherer(b.Client), Cloud: b.cloud, DriftInterval: 10 * time.Hour,
		Events:     events.NewRecorder(b.Client, b.Client),
		Ingresses:  ingresses.NewWriter(b.Client),
		Targets:    targets.NewBook(nil),
		Disputes:   &queue.Disputes{},
		Waits:      &queue.Waits{},
		Metrics:    metrics.NewRecorder(metrics.NewRequests(), &metrics.Reads{}, "", nil),
		Unassigned: make(chan event.TypedGenericEvent[types.NamespacedName], 1024),
	})
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
		if p := b.Records.Get(benchKey).LastPlan; p != nil && int(p.Done) == len(p.Steps)+int(p.OmittedSteps) {
			return
		}
	}
	b.Fatalf("it does not settle: %+v", b.Records.Get(benchKey))
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

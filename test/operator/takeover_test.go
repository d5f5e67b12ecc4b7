package operator

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file gives the Ingresses of a cluster, and their load balancer, to another one.

// installation is the name by which an operator of the namespace tells what is its own.
func (w *world) installation(t *testing.T) string {
	t.Helper()
	system := &corev1.Namespace{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	return string(system.UID) + "/" + w.namespace
}

// copyTo makes in another cluster what kubectl get and kubectl apply take there: no status, and
// nothing of the API server's.
func (w *world) copyTo(t *testing.T, to *world) {
	t.Helper()
	var ingresses networkingv1.IngressList
	if err := w.List(t.Context(), &ingresses, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range ingresses.Items {
		from := &ingresses.Items[i]
		to.create(t, &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name, Annotations: from.Annotations, Labels: from.Labels},
			Spec:       from.Spec,
		})
	}
}

// condition is the reason of a condition of the only load balancer; "" while there is none.
func (w *world) condition(t *testing.T, kind string) string {
	t.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		return ""
	}
	if c := meta.FindStatusCondition(list.Items[0].Status.Conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// A cluster takes over the load balancer of another one by the name of its installation. The load
// balancer keeps its address, and each request is answered by a pod of one of the two clusters.
func TestANewClusterTakesOverALoadBalancer(t *testing.T) {
	t.Parallel()
	const n = 3
	old := newWorld(t, simulated(t))
	may := map[string][]string{}
	for i := range n {
		old.serve(t, backend(i), pods(i, 1)...)
		old.create(t, old.ingress(site(i), backend(i), "/"))
		was, is := behind(i), behind(n+i)
		may[hostOf(i)] = []string{was, is, was + " " + is, is + " " + was}
	}
	old.replace(t)
	kube.Eventually(t, "all are served", func() bool {
		return old.served(t, n, n) && allOf(n, func(i int) bool { return old.behindOf(t, i, i) }) && old.proxy.quiet() > rest
	})
	at := old.hostname(t, site(0))
	v := old.vigilOver(at, may)

	old.replica.Kill() // kubectl scale deployment/fairlead --replicas=0
	cluster := kube.Start(t, kube.Options{})
	next := worldIn(t, cluster, old.namespace, old.account)
	next.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: old.namespace}})
	next.install(t)
	for i := range n {
		next.serve(t, backend(i), pods(n+i, 1)...)
	}
	old.copyTo(t, next)
	next.flags = []string{"--installation-id=" + old.installation(t)}
	next.replace(t)
	kube.Eventually(t, "the load balancer is found, and only looked at", func() bool {
		return next.condition(t, v1alpha1.ConditionProgrammed) == v1alpha1.ReasonRecordLost || next.condition(t, v1alpha1.ConditionProgrammed) == v1alpha1.ReasonProgrammed
	})
	next.confirm(t)
	kube.Eventually(t, "the pods of the new cluster answer", func() bool {
		return allOf(n, func(i int) bool {
			return next.hostname(t, site(i)) == at && v.answers(at, hostOf(i), false) == behind(n+i)
		}) && next.condition(t, v1alpha1.ConditionProgrammed) == v1alpha1.ReasonProgrammed
	})
	if b := next.balancers(t); b != 1 {
		t.Errorf("there are %d load balancers", b)
	}
	v.judge(t, "meanwhile")

	// It is the new cluster's: it changes and deletes it.
	v.at("", nil)
	next.point(t, site(0), backend(1))
	kube.Eventually(t, "a change is done", func() bool { return v.answers(at, hostOf(0), false) == behind(n+1) })
	if err := next.DeleteAllOf(t.Context(), &networkingv1.Ingress{}, client.InNamespace(next.namespace)); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "all is gone", func() bool { return next.ingresses(t) == 0 && next.empty(t) })
}

// confirm confirms that the record of each load balancer may be missing.
func (w *world) confirm(t *testing.T) {
	t.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		before := o.DeepCopy()
		o.Annotations = map[string]string{v1alpha1.ConfirmVanishedAnnotation: time.Now().UTC().Add(time.Second).Format(time.RFC3339)}
		if err := w.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
}

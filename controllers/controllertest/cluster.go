// Package controllertest is a cluster and a cloud in memory, for tests of reconcilers.
package controllertest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/controllers/scheme"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the cluster.

// NewClient returns the client of a cluster with the class fairlead, the namespace shop and some
// objects.
func NewClient(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	class.Spec.Controller = classes.Controller
	objects = append(objects, class, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	b := fake.NewClientBuilder().WithScheme(scheme.New()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.LoadBalancer{}, &networkingv1.Ingress{})
	for _, i := range cluster.Indexes() {
		b = b.WithIndex(i.Of, i.Field, i.Values)
	}
	return b.Build()
}

// NewGatherer returns a Gatherer of a cluster that has only the records in the cluster.
func NewGatherer(c client.Client) *gather.Gatherer {
	return &gather.Gatherer{
		Cache: c, Server: c, Directory: cluster.NewDependencies(),
		Secrets:      cluster.NewSecretReader(cluster.SecretsMode(""), c, c),
		Expectations: expectations.NewReader(c, nil, nil),
		Pods:         cluster.NewPodReader(c, false),
		Memories:     records.NewCache(records.NewStore(c, c, ""), false),
		Judged:       &cluster.CertificateCache{},
		Unconfirmed:  func(lb.Key) bool { return false },
	}
}

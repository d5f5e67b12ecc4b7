// Package controllertest is a cluster and a cloud in memory, for tests of reconcilers.
package controllertest

import (
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the cluster.

// NewClient returns the client of a cluster with the class fairlead, the namespace shop and some
// objects.
func NewClient(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	class.Spec.Controller = ingress.ControllerName
	objects = append(objects, class, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	known := cluster.NewScheme()
	stored := clienttesting.NewObjectTracker(known, serializer.NewCodecFactory(known).UniversalDecoder())
	b := fake.NewClientBuilder().WithScheme(known).WithObjectTracker(bounded{stored}).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.LoadBalancer{}, &networkingv1.Ingress{}, &alb.TargetGroupBinding{})
	for _, i := range cluster.Indexes() {
		b = b.WithIndex(i.Of, i.Field, i.Values)
	}
	return b.Build()
}

// mostBytes is how many bytes an object may have, by the default of etcd
// (https://etcd.io/docs/latest/dev-guide/limit/).
const mostBytes = 3 << 19

// bounded refuses writes of objects that are too large, with the message of the API server.
type bounded struct{ clienttesting.ObjectTracker }

func (b bounded) Create(r schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.CreateOptions) error {
	if err := checkSize(o); err != nil {
		return err
	}
	return b.ObjectTracker.Create(r, o, namespace, opts...)
}

func (b bounded) Update(r schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.UpdateOptions) error {
	if err := checkSize(o); err != nil {
		return err
	}
	return b.ObjectTracker.Update(r, o, namespace, opts...)
}

func (b bounded) Patch(r schema.GroupVersionResource, o runtime.Object, namespace string, opts ...metav1.PatchOptions) error {
	if err := checkSize(o); err != nil {
		return err
	}
	return b.ObjectTracker.Patch(r, o, namespace, opts...)
}

// checkSize measures built-in objects as Protobuf, and others as JSON, as the API server stores
// them.
func checkSize(o runtime.Object) error {
	encode := func() ([]byte, error) { return json.Marshal(o) }
	if p, is := o.(interface{ Marshal() ([]byte, error) }); is {
		encode = p.Marshal
	}
	text, err := encode()
	if err != nil {
		return err
	}
	if len(text) > mostBytes {
		return apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	}
	return nil
}

// NewGatherer returns a Gatherer of a cluster that has only the records in the cluster.
func NewGatherer(c client.Client) *gather.Gatherer {
	return &gather.Gatherer{
		Cache: c, Server: c, Directory: cluster.NewDependencies(),
		Secrets:      cluster.NewSecretReader(cluster.SecretsMode(""), c, c),
		Expectations: expectations.NewReader(c, nil, nil),
		Pods:         cluster.NewPodReader(c, false),
		Records:      records.NewCache(records.NewStore(c, c, ""), false),
		Adoptions:    records.NewAdoptionStore(c, c, ""),
		Certificates: &cluster.CertificateCache{},
		Unconfirmed:  func(lb.Key) bool { return false },
	}
}

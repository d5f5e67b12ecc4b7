package ingresses

import (
	"encoding/json"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file makes patches without client.MergeFrom: its comparison of whole objects costs more than
// all other work for an Ingress.

// A patch changes a part of an Ingress. A patch of the status is a JSON merge patch (RFC 7386), any
// other a strategic merge patch
// (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).
type patch struct {
	Metadata metadata     `json:"metadata,omitzero"`
	Status   *statusPatch `json:"status,omitempty"`
}

// metadata makes the API server refuse the patch if the Ingress has another UID or resource
// version.
type metadata struct {
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`

	// Finalizers are added, and WithoutFinalizers removed, by a strategic merge patch: the list has
	// the patch strategy "merge"
	// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/).
	Finalizers        []string `json:"finalizers,omitempty"`
	WithoutFinalizers []string `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
}

type statusPatch struct {
	LoadBalancer struct {
		Ingress []networkingv1.IngressLoadBalancerIngress `json:"ingress"`
	} `json:"loadBalancer"`
}

// entriesOf returns the part of a patch that replaces the entries of the status.
func entriesOf(entries []networkingv1.IngressLoadBalancerIngress) *statusPatch {
	s := &statusPatch{}
	s.LoadBalancer.Ingress = entries
	return s
}

// Type returns the type that a request has.
func (p patch) Type() types.PatchType {
	if p.Status != nil {
		return types.MergePatchType
	}
	return types.StrategicMergePatchType
}

// Data returns the text that a request has.
func (p patch) Data(client.Object) ([]byte, error) { return json.Marshal(p) }

// metadataOf returns a metadata object with the name of an Ingress. The answer of the API server
// then has only the metadata
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
func metadataOf(ing *networkingv1.Ingress) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name = ing.Namespace, ing.Name
	o.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind(cluster.KindIngress))
	return o
}

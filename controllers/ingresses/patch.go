package ingresses

import (
	"encoding/json"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file makes patches by hand: comparing whole objects, as client.MergeFrom does, costs more than
// all else that is done for an Ingress.

// A patch is a JSON merge patch of an Ingress (RFC 7386). What is nil stays as it is.
type patch struct {
	Metadata metadata     `json:"metadata,omitzero"`
	Status   *statusPatch `json:"status,omitempty"`
}

type metadata struct {
	// ResourceVersion has the API server refuse the patch if the Ingress has another one.
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Finalizers      *[]string `json:"finalizers,omitempty"`
}

type statusPatch struct {
	LoadBalancer struct {
		Ingress []networkingv1.IngressLoadBalancerIngress `json:"ingress"`
	} `json:"loadBalancer"`
}

// mergePatch returns a patch of the metadata, and of the entries of the status if they are not nil.
func mergePatch(of metadata, entries *[]networkingv1.IngressLoadBalancerIngress) (client.Patch, error) {
	p := patch{Metadata: of}
	if entries != nil {
		p.Status = &statusPatch{}
		p.Status.LoadBalancer.Ingress = *entries
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("making a patch of an Ingress: %w", err)
	}
	return client.RawPatch(types.MergePatchType, text), nil
}

// named returns a metadata object with the name of an Ingress, for the answer of the API server,
// which then has the metadata alone
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
func named(ing *networkingv1.Ingress) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name = ing.Namespace, ing.Name
	o.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind(cluster.KindIngress))
	return o
}

package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/model/endpoints"
)

// A cachedPod has the fields of a Pod that are read. A cache returns copies, and the copy of a
// cachedPod is a Pod.
type cachedPod struct {
	metav1.ObjectMeta
	addresses []corev1.PodIP
	phase     corev1.PodPhase
	gated     *gatedFields // nil for a Pod without our readiness gate
}

// gatedFields has the fields that only Pods with our readiness gate need.
type gatedFields struct {
	gates      []corev1.PodReadinessGate
	conditions []corev1.PodCondition
}

// transformPod keeps the fields of a Pod that are read: without our readiness gate only the name and
// the addresses.
func transformPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil // the mark of a deleted Pod, or a cachedPod
	}
	slim := &cachedPod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
		},
		addresses: p.Status.PodIPs,
	}
	if endpoints.Ended(p) {
		slim.phase = p.Status.Phase
	}
	if endpoints.HasGate(p) {
		slim.DeletionTimestamp, slim.Labels = p.DeletionTimestamp, p.Labels
		slim.gated = &gatedFields{p.Spec.ReadinessGates, p.Status.Conditions}
	}
	return slim, nil
}

func (p *cachedPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a Pod that shares nothing with the cache.
func (p *cachedPod) DeepCopyObject() runtime.Object { return p.pod().DeepCopy() }

// pod returns the Pod, which shares its fields with the cache.
func (p *cachedPod) pod() *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: p.ObjectMeta}
	out.Status.PodIPs, out.Status.Phase = p.addresses, p.phase
	if p.gated != nil {
		out.Spec.ReadinessGates, out.Status.Conditions = p.gated.gates, p.gated.conditions
	}
	return out
}

// PodIn returns the Pod of an event. The caller must not change it.
func PodIn(o client.Object) *corev1.Pod {
	if slim, ok := o.(*cachedPod); ok {
		return slim.pod()
	}
	return o.(*corev1.Pod)
}

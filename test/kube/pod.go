package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file stands in for the kubelet, where a test writes EndpointSlices itself: endpoints are
// targets if there is a Pod whose status has their address.

// Pod makes a Pod that runs at an address, or moves the one that has its name there.
func Pod(t testing.TB, c client.Client, namespace, name, address string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "echo", Image: "echo.test/echo"}}},
	}
	err := c.Create(t.Context(), pod)
	if apierrors.IsAlreadyExists(err) {
		err = c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
	}
	if err == nil {
		before := pod.DeepCopy()
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
		err = c.Status().Patch(t.Context(), pod, client.MergeFrom(before))
	}
	if err != nil {
		t.Fatalf("making Pod %s: %s", name, err)
	}
	return pod
}

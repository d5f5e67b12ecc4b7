package rollout

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/test/kube"
)

// This file is which Pods are asked: what their conditions say, and what the Service makes of them.

func TestAPodThatIsNotReadyIsNotAsked(t *testing.T) {
	s := newScene(t, 2)
	pods := s.pods(t)
	s.eventuallyAsked(t, pods...)

	s.say(t, pods[0], corev1.ConditionFalse)
	s.eventuallyAsked(t, pods[1])

	// The Service may say that readiness is none of its business.
	s.publish(t, true)
	s.eventuallyAsked(t, pods...)
	s.publish(t, false)
	s.eventuallyAsked(t, pods[1])

	s.say(t, pods[1], corev1.ConditionFalse)
	s.eventuallyNobody(t)
}

func TestAPodThatLeavesIsAskedWhereNoOtherIsLeft(t *testing.T) {
	s := newScene(t, 2, lingers(6))
	pods := s.pods(t)
	client := s.Client(t).CoreV1().Pods(s.namespace)

	// One leaves; another takes its place, and until then the one that stays does the work.
	if err := client.Delete(t.Context(), pods[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the Pod is not asked any more", func() bool { return !slices.Contains(s.asked(t, 20), pods[0]) })
	if _, err := client.Get(t.Context(), pods[0], metav1.GetOptions{}); err != nil {
		t.Errorf("it was asked for as long as it was there: %s", err)
	}

	// All leave, and none comes: they serve for as long as they can.
	s.patch(t, "web", `{"spec": {"replicas": 0}}`)
	kube.Eventually(t, "all Pods are leaving", func() bool {
		return len(s.Endpoints(t, s.namespace, "web", kube.Ready)) == 0
	})
	s.asked(t, 20)
	s.eventuallyNobody(t)
	if left := s.Endpoints(t, s.namespace, "web", kube.Terminating); len(left) > 0 {
		t.Errorf("nobody is asked though %v still serve", left)
	}
}

// pods are the names of the Pods that there are.
func (s *scene) pods(t *testing.T) []string {
	t.Helper()
	list, err := s.Client(t).CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names
}

// say makes a Pod say of itself whether it is ready, as a failing probe would.
func (s *scene) say(t *testing.T, pod string, ready corev1.ConditionStatus) {
	t.Helper()
	patch := fmt.Sprintf(`{"status": {"conditions": [{"type": "Ready", "status": %q}]}}`, ready)
	if _, err := s.Client(t).CoreV1().Pods(s.namespace).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

// publish makes the Service publish Pods that are not ready, or not.
func (s *scene) publish(t *testing.T, all bool) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec": {"publishNotReadyAddresses": %t}}`, all)
	if _, err := s.Client(t).CoreV1().Services(s.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// asked are the Pods that answer some requests. All of the requests have to be answered.
func (s *scene) asked(t *testing.T, requests int) []string {
	t.Helper()
	var names []string
	for range requests {
		echo, err := get(&http.Transport{DisableKeepAlives: true}, "http://"+s.address+"/")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, echo.Pod)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// eventuallyAsked waits until some Pods answer, and no others.
func (s *scene) eventuallyAsked(t *testing.T, pods ...string) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%v are asked", pods), func() bool { return slices.Equal(s.asked(t, 20), pods) })
}

// eventuallyNobody waits until the load balancer has nobody to ask.
func (s *scene) eventuallyNobody(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "nobody is asked", func() bool {
		_, err := get(&http.Transport{DisableKeepAlives: true}, "http://"+s.address+"/")
		return errors.Is(err, errUnavailable)
	})
}

package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What does not exist is no error; what cannot be read is one.
func TestObjectsAreReadByName(t *testing.T) {
	c := clusterOf(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, aSlice("web-1", "web"), aSlice("other-1", "other"))
	web, missing := RefTo(KindService, "shop", "web"), RefTo(KindService, "shop", "missing")
	before := &corev1.Service{}
	all, err := GetAll(t.Context(), c, map[Ref]bool{web: true, missing: true}, []*corev1.Service{before})
	if err != nil || len(all) != 2 || all[0] != before || all[1].Name != "web" {
		t.Errorf("the Services are %v, error %v", all, err)
	}
	slices, err := EndpointsOf(t.Context(), c, web)
	if err != nil || len(slices) != 1 || slices[0].Name != "web-1" {
		t.Errorf("the EndpointSlices are %v, error %v", slices, err)
	}
	if found, err := Get[corev1.Service](t.Context(), unavailable{}, web); found != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("there is %v, error %v, want %v", found, err, errUnavailable)
	}
	if found, err := GetAll[corev1.Service](t.Context(), unavailable{}, map[Ref]bool{web: true}, nil); found != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("there are %v, error %v, want %v", found, err, errUnavailable)
	}
	if found, err := EndpointsOf(t.Context(), unavailable{}, web); found != nil || !errors.Is(err, errUnavailable) {
		t.Errorf("the EndpointSlices are %v, error %v, want %v", found, err, errUnavailable)
	}
	if got := RefFrom(KindService, "shop/web"); got != web {
		t.Errorf("shop/web is %v, want %v", got, web)
	}
}

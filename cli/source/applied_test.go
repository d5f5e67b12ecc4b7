package source

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
)

// TestAppliedFilesReplaceObjectsAndKeepTheirAge: the age decides between Ingresses that ask for the
// same, and kubectl apply does not change it.
func TestAppliedFilesReplaceObjectsAndKeepTheirAge(t *testing.T) {
	born := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ing := func(namespace, name, class string, created metav1.Time) *networkingv1.Ingress {
		return &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: created},
			Spec:       networkingv1.IngressSpec{IngressClassName: &class},
		}
	}
	cluster := ingress.Objects{Ingresses: []*networkingv1.Ingress{ing("a", "web", "old", born), ing("b", "web", "old", born)}}
	files := ingress.Objects{Ingresses: []*networkingv1.Ingress{ing("a", "web", "new", metav1.Time{}), ing("a", "other", "new", metav1.Time{})}}
	got := Applied(cluster, files).Ingresses
	if len(got) != 3 || *got[0].Spec.IngressClassName != "new" || !got[0].CreationTimestamp.Equal(&born) ||
		*got[1].Spec.IngressClassName != "old" || got[2].Name != "other" || len(cluster.Ingresses) != 2 {
		t.Errorf("%+v", got)
	}
}

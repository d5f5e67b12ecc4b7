package controllers

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTakenBy(t *testing.T) {
	ours, older, theirs := "ours.example", "older.example", "theirs.example"
	cases := map[string]struct {
		reason    string
		foreign   bool
		leaving   bool
		status    []string
		addresses []string
		want      string
	}{
		"ours":              {reason: "it says where we serve it", status: []string{ours}, addresses: []string{ours}},
		"not served yet":    {reason: "nothing was said of it", status: []string{theirs}},
		"moving":            {reason: "two load balancers of ours have it", status: []string{ours}, addresses: []string{older, ours}},
		"cleared":           {reason: "whoever cleared it serves nobody", addresses: []string{ours}},
		"rewritten":         {reason: "somebody else says that they serve it", status: []string{theirs}, addresses: []string{ours}, want: "status"},
		"written beside us": {reason: "two serve it", status: []string{ours, theirs}, addresses: []string{ours}, want: "status"},
		"of another class":  {reason: "we still have it in the cloud", foreign: true, status: []string{ours}, addresses: []string{ours}, want: "class"},
		"being deleted":     {reason: "nobody will have it", foreign: true, leaving: true, addresses: []string{ours}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ing := &networkingv1.Ingress{}
			if c.leaving {
				ing.DeletionTimestamp = new(metav1.Now())
			}
			for _, hostname := range c.status {
				ing.Status.LoadBalancer.Ingress = append(ing.Status.LoadBalancer.Ingress, networkingv1.IngressLoadBalancerIngress{Hostname: hostname})
			}
			if got := takenBy(ing, c.foreign, c.addresses); got != c.want {
				t.Errorf("taken by %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}

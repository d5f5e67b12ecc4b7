package ingress

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file tests what authors of Ingresses in a dialect are told.

// Diagnostics name annotations of the author. Where several of them are read as one, they say as which.
func TestAnAuthorIsToldInItsOwnWords(t *testing.T) {
	var headers []string
	for i := range 17 {
		headers = append(headers, fmt.Sprintf(`{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "x-%d", "values": ["a"]}}`, i))
	}
	const theirs = "alb.ingress.kubernetes.io/"
	for name, c := range map[string]struct {
		annotations map[string]string
		at, says    string
	}{
		"one annotation":      {map[string]string{"conditions.web": "[" + strings.Join(headers, ",") + "]"}, "conditions.web", "16 are the most"},
		"several annotations": {map[string]string{"conditions.web": "[" + strings.Join(headers, ",") + "]", "conditions.api": "[" + headers[0] + "]"}, "conditions.*", "16 are the most (written as fairlead.dev/conditions)"},
	} {
		t.Run(name, func(t *testing.T) {
			ing := anIngress("shop/web", ruled("a.com", prefixed("/", "web:80"), prefixed("/api", "api:80")))
			for key, value := range c.annotations {
				ing.Annotations[theirs+key] = value
			}
			class := aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB})
			_, found := Place(Objects{Ingresses: []*networkingv1.Ingress{ing}, IngressClasses: []*networkingv1.IngressClass{class[0].(*networkingv1.IngressClass)},
				ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{class[1].(*v1alpha1.ClusterLoadBalancerClass)}}, ClassOptions{})
			for _, d := range found {
				if d.Severity == diag.Error && d.Source.Field == "metadata.annotations["+theirs+c.at+"]" && strings.HasSuffix(d.Message, c.says) {
					return
				}
			}
			t.Errorf("told %v, want %q at %s", found, c.says, c.at)
		})
	}
}

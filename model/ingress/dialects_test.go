package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
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

// What Ingresses mean together is kept while all that it is made of is the same.
func TestWorldsAreMadeOfTheSame(t *testing.T) {
	ing := anIngress("shop/web", ruled("a.com", prefixed("/", "web:80")))
	class := func(c v1alpha1.LoadBalancerClassSpec) Objects {
		c.Dialect = v1alpha1.DialectNGINX
		of := aClass("fairlead", c)
		return Objects{Ingresses: []*networkingv1.Ingress{ing}, IngressClasses: []*networkingv1.IngressClass{of[0].(*networkingv1.IngressClass)},
			ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{of[1].(*v1alpha1.ClusterLoadBalancerClass)}}
	}
	plain := class(v1alpha1.LoadBalancerClassSpec{})
	for name, c := range map[string]struct {
		change func(*Objects)
		same   bool
	}{
		"nothing":    {func(*Objects) {}, true},
		"a Service":  {func(o *Objects) { o.Services = append(o.Services, &corev1.Service{}) }, true},
		"an Ingress": {func(o *Objects) { o.Ingresses = []*networkingv1.Ingress{ing.DeepCopy()} }, false},
		"one more":   {func(o *Objects) { o.Ingresses = append(slices.Clone(o.Ingresses), anIngress("shop/api")) }, false},
		"one beside": {func(o *Objects) { o.Beside = []*networkingv1.Ingress{anIngress("shop/api")} }, false},
		"the class": {func(o *Objects) {
			*o = class(v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{CaseFolding: "off"}})
		}, false},
		"what is kept":      {func(o *Objects) { o.Records = map[routing.Key]record.Record{"k": {Members: keptMember("shop/web")}} }, false},
		"what others keep":  {func(o *Objects) { o.Records = map[routing.Key]record.Record{"k": {Members: keptMember("shop/api")}} }, true},
		"the class's owner": {func(o *Objects) { *o = class(v1alpha1.LoadBalancerClassSpec{}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			options := ClassOptions{}.Once()
			before, after := plain, plain
			c.change(&after)
			if was, is := Worlds(before, options), Worlds(after, options); len(was) != 1 || len(is) != 1 || (was[0] == is[0]) != c.same {
				t.Errorf("the worlds are %v and %v, want the same: %t", was, is, c.same)
			}
		})
	}
}

func keptMember(name string) map[string]record.Member {
	return map[string]record.Member{name: {LastAccepted: &record.Accepted{}}}
}

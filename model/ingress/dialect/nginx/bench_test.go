package nginx_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/test/cputime"
)

// many returns Ingresses of as many hosts: every third one has rewrites, and every tenth a canary.
func many(n int) (all []*networkingv1.Ingress) {
	kinds := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}
	for i := range n {
		ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("i", i),
			CreationTimestamp: metav1.NewTime(time.Unix(int64(i), 0)), Annotations: map[string]string{}}}
		rule := networkingv1.IngressRule{Host: fmt.Sprintf("h%d.example", i), IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{}}}
		for j, kind := range kinds {
			path := fmt.Sprintf("/api%d", j)
			if i%3 == 0 {
				ing.Annotations[nginx.Prefix+"rewrite-target"] = "/$2"
				path += "(/|$)(.*)"
			}
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, PathType: &kind,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: fmt.Sprint("s", i),
					Port: networkingv1.ServiceBackendPort{Number: 80}}}})
		}
		if i%10 == 9 {
			rule.Host = fmt.Sprintf("h%d.example", i-1)
			ing.Annotations[nginx.Prefix+"canary"], ing.Annotations[nginx.Prefix+"canary-weight"] = "true", "10"
		}
		ing.Spec.Rules = []networkingv1.IngressRule{rule}
		if i%2 == 0 {
			ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{rule.Host}, SecretName: "tls"}}
		}
		all = append(all, ing)
	}
	return all
}

func worldOf(all []*networkingv1.Ingress, memory nginx.Memory) *nginx.World {
	return nginx.NewWorld(all, nginx.DefaultConfig(), &v1alpha1.LoadBalancerClassSpec{}, func(_, _ string, hosts []string) []string { return hosts },
		nil, memory)
}

func BenchmarkWorld(b *testing.B) {
	all := many(2000)
	for b.Loop() {
		worldOf(all, nil)
	}
}

// change changes one of the Ingresses.
func change(all []*networkingv1.Ingress, i int) {
	all[i] = all[i].DeepCopy()
	all[i].Annotations[nginx.Prefix+"ssl-redirect"] = fmt.Sprint(all[i].Annotations[nginx.Prefix+"ssl-redirect"] == "false")
}

// BenchmarkChange is what a change of one Ingress costs an operator that has read them all before.
func BenchmarkChange(b *testing.B) {
	all, memory := many(2000), &sync.Map{}
	worldOf(all, memory)
	for i := 0; b.Loop(); i++ {
		change(all, i%len(all))
		worldOf(all, memory)
	}
}

// TestAChangeOfOneOfManyIsCheap compares CPU time in one process, where the machine is as slow for both.
func TestAChangeOfOneOfManyIsCheap(t *testing.T) {
	all, memory := many(1000), &sync.Map{}
	start := cputime.Self(t)
	worldOf(all, memory)
	first := cputime.Self(t) - start
	for i := range 4 {
		change(all, i)
		worldOf(all, memory)
	}
	if each := (cputime.Self(t) - start - first) / 4; each*2 > first {
		t.Errorf("a change of one of %d Ingresses takes %s of CPU, and to read them all %s", len(all), each, first)
	}
}

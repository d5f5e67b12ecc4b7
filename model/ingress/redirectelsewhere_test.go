package ingress_test

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect"
)

// TestARedirectOfAnotherNamespaceIsTold: in a group across namespaces, the controller redirects the requests of all of them.
func TestARedirectOfAnotherNamespaceIsTold(t *testing.T) {
	const prefix = "alb.ingress.kubernetes.io/"
	for name, c := range map[string]struct {
		groups   []v1alpha1.SharedGroup
		of, port string
		want     string
	}{
		"a group across namespaces":  {groups: []v1alpha1.SharedGroup{{Name: "edge"}}, of: "edge", port: "HTTP", want: "http://b.example:80/"},
		"another group":              {groups: []v1alpha1.SharedGroup{{Name: "edge"}}, of: "own", port: "HTTP"},
		"a group of each namespace":  {of: "edge", port: "HTTP"},
		"an Ingress over HTTPS only": {groups: []v1alpha1.SharedGroup{{Name: "edge"}}, of: "edge", port: "HTTPS"},
	} {
		class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"},
			Spec: v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB, Groups: c.groups}}
		own := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: networkingv1.IngressClassSpec{
			Controller: ingress.ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
				APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "alb"}}}
		of := func(namespace string, annotations map[string]string) *networkingv1.Ingress {
			return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Annotations: annotations},
				Spec: networkingv1.IngressSpec{IngressClassName: new("alb"), Rules: []networkingv1.IngressRule{{Host: namespace + ".example"}}}}
		}
		readings := ingress.Readings(ingress.Objects{ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{class},
			IngressClasses: []*networkingv1.IngressClass{own}, Ingresses: []*networkingv1.Ingress{
				of("a", map[string]string{prefix + "group.name": c.of, prefix + "ssl-redirect": "443"}),
				of("b", map[string]string{prefix + "group.name": "edge", prefix + "listen-ports": `[{"` + c.port + `": 80}]`})}}, ingress.ClassOptions{})
		got := ""
		for _, v := range readings[ingress.Name{Namespace: "b", Name: "web"}].Verdicts {
			if v.Key == prefix+"ssl-redirect" && v.Outcome == dialect.Changed && strings.Contains(v.Message, "Ingress a/web ") {
				got = v.Request.URL
			}
		}
		if got != c.want {
			t.Errorf("%s: the request that shows the change is %q, want %q", name, got, c.want)
		}
	}
}

package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file asks for the name of a load balancer that somebody else has.

func TestANameThatIsTakenIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	const name = "shop-edge"
	w := newWorld(t, simulated(t))
	made, err := w.elb.CreateLoadBalancer(t.Context(), &elbapi.CreateLoadBalancerInput{
		Name: aws.String(name), Scheme: elb.LoadBalancerSchemeEnumInternal, Subnets: []string{"subnet-private0", "subnet-private1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	theirs := made.LoadBalancers[0].LoadBalancerArn
	w.begin(t)
	w.serve(t, "web", "10.0.0.10")
	ing := w.ingress("site", "web", "/")
	ing.Annotations["fairlead.dev/load-balancer-name"] = name
	w.create(t, ing)
	const says = "a load balancer without this installation's tags has the name " + name
	kube.Eventually(t, "the Ingress is told, and its LoadBalancer says so", func() bool {
		return w.warned(t, "site") && strings.Contains(w.refusal(t), says)
	})
	kube.Eventually(t, "nobody asks AWS again and again while the name is taken", func() bool { return w.proxy.quiet() > rest })
	if w.hostname(t, "site") != "" || w.balancers(t) != 1 || len(w.listeners(t)) > 0 {
		t.Error("something was made for the Ingress, or of the load balancer of somebody else")
	}

	if _, err := w.elb.DeleteLoadBalancer(t.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: theirs}); err != nil {
		t.Fatal(err)
	}
	edit(t, w, &networkingv1.Ingress{}, "site", func(i *networkingv1.Ingress) { // or else it is found out within ten minutes
		i.Spec.Rules[0].HTTP.Paths[0].Path = "/shop"
	})
	kube.Eventually(t, "the Ingress is served under its name", func() bool {
		b := w.balancer(t)
		return b != nil && aws.ToString(b.LoadBalancerName) == name && w.hostname(t, "site") == aws.ToString(b.DNSName) && w.refusal(t) == ""
	})

	next := w.ingress("next", "web", "/")
	next.Annotations["fairlead.dev/group"], next.Annotations["fairlead.dev/load-balancer-name"] = "another", name
	w.create(t, next)
	kube.Eventually(t, "one of ours that wants the name is told who has it", func() bool { return w.warned(t, "next") })
	w.delete(t, ing)
	kube.Eventually(t, "it gets the name once that is free", func() bool { return w.hostname(t, "next") != "" })
}

// refusal is why the LoadBalancer of the namespace has not accepted all that it was asked for; ""
// if it has.
func (w *world) refusal(t *testing.T) string {
	t.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list.Items, func(b v1alpha1.LoadBalancer) bool { return strings.HasPrefix(b.Spec.Key, w.namespace+"/") })
	if at < 0 {
		return ""
	}
	if c := meta.FindStatusCondition(list.Items[at].Status.Conditions, v1alpha1.ConditionAccepted); c != nil && c.Status != "True" {
		return c.Message
	}
	return ""
}

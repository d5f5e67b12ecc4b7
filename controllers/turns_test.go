package controllers_test

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/kube"
)

// TestALargeLoadBalancerHoldsNobodyUp has hundreds of steps wait for their turn, and then asks for
// small load balancers.
func TestALargeLoadBalancerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run(func(s *settings) { s.operator.Cloud = providers.LimitRate(w.cloud, 50, 1) })
	w.serve("web", "web-1")
	large := w.ask("large", "large.example", "/", "web")
	for i := range 400 { // each a rule, for each has a Service of its own
		path := *large.Spec.Rules[0].HTTP.Paths[0].DeepCopy()
		path.Path, path.Backend.Service.Name = fmt.Sprintf("/%d", i), fmt.Sprintf("web-%d", i)
		large.Spec.Rules[0].HTTP.Paths = append(large.Spec.Rules[0].HTTP.Paths, path)
	}
	w.create(large)
	w.eventually(func() error { return noError(w.cloud.writes.Load() > 10, "the large one has not begun") })
	var small []*networkingv1.Ingress
	for i := range 10 {
		name := fmt.Sprintf("small-%d", i)
		small = append(small, w.ask(name, name+".example", "/", "web"))
		w.create(small[i])
	}
	for _, ing := range small {
		w.answers(ing.Name, "http://"+ing.Name+".example/", "web-1")
	}
	if len(w.ingress("large").Status.LoadBalancer.Ingress) > 0 {
		t.Error("the large one was first, or done too soon to show anything")
	}
}

package alb

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/test/albsim"
)

// TestAdoptKnowsTheNameOfAClass: with a class that takes load balancers over, what is wanted has the name of what was found,
// or the name differs.
func TestAdoptKnowsTheNameOfAClass(t *testing.T) {
	for names, c := range map[string]struct {
		code int
		says []string
	}{
		"[{stack: all, name: k8s-all-0123456789}]": {0, []string{
			"k8s-all-0123456789, for all, is wanted as alb/shop/@all/internal=k8s-all-0123456789", "0 of them differ", "answers: the same for all requests"}},
		"[]": {2, []string{
			"is wanted as alb/shop/@all/internal=" + alb.LoadBalancerName(albsim.Cluster, "all", "internal"), "load balancer, name: is k8s-all-0123456789, wanted"}},
	} {
		w := newWorld(t, albsim.Options{})
		w.makeTheirs(twoIngresses())
		w.sim.Forget()
		code, out, problems := w.adopt(strings.Replace(ourManifests(twoIngresses().manifests()), "spec: {dialect: alb}",
			"spec: {dialect: alb, adoption: {from: alb, clusterName: "+albsim.Cluster+", names: "+names+"}}", 1))
		if code != c.code {
			t.Errorf("%s: exit code %d: %s%s", names, code, out, problems)
		}
		for _, text := range c.says {
			if !strings.Contains(out, text) {
				t.Errorf("%s: it does not say %q: %s", names, text, out)
			}
		}
		if said := out + problems; strings.Contains(said, "NameTaken") || strings.Contains(said, "is not served") {
			t.Errorf("%s: a name is taken: %s", names, said)
		}
		for _, call := range w.sim.Calls() {
			if call.Write {
				t.Errorf("%s: it makes the call %s", names, call)
			}
		}
	}
}

package model

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/test/nightly"
)

// withGlobs is n Ingresses with a member more that has globs on the host of the first.
func withGlobs(n int, globs ...string) ingress.Objects {
	o := many(n, false)
	hostile := o.Ingresses[0].DeepCopy()
	hostile.Name = "zz-hostile"
	hostile.CreationTimestamp = o.Ingresses[n-1].CreationTimestamp
	specific := networkingv1.PathTypeImplementationSpecific
	paths := &hostile.Spec.Rules[0].HTTP.Paths
	to := (*paths)[0].Backend
	*paths = nil
	for _, g := range globs {
		*paths = append(*paths, networkingv1.HTTPIngressPath{Path: g, PathType: &specific, Backend: to})
	}
	o.Ingresses = append(o.Ingresses, hostile)
	return o
}

// splitAll compiles what is the only load balancer of some objects.
func splitAll(t *testing.T, o ingress.Objects, c lb.Capabilities) (Built, []diag.Diagnostic) {
	t.Helper()
	snapshots, found := ingress.Place(o, ingress.ClassOptions{})
	if len(snapshots) != 1 {
		t.Fatalf("%d load balancers, %v", len(snapshots), found)
	}
	return Compile(snapshots[0], lb.Facts{}, c), found
}

// slow are globs of which each is tens of thousands of states, or more.
func slow(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("/*%c%c????????????%c%d", 'a'+i%26, 'a'+(i+1)%26, 'a'+(i+2)%26, i%10))
	}
	return out
}

// TestTooComplexIsRefusedAlone compiles neighbours beside an Ingress whose globs take too many
// steps: they get what they get without it, to the last rule and word.
func TestTooComplexIsRefusedAlone(t *testing.T) {
	for _, c := range nightly.Some(t, len(capabilitySets), capabilitySets) {
		alone, found := splitAll(t, many(5, false), c)
		if len(found) > 0 {
			t.Fatal(found)
		}
		for _, globs := range [][]string{slow(20), {"/" + strings.Repeat("*a", 600)}, {"/" + strings.Repeat("*", 200_000)}} {
			beside, found := splitAll(t, withGlobs(5, globs...), c)
			if len(found) != 1 || found[0].Reason != diag.TooComplex || found[0].Source.Name != "zz-hostile" || found[0].Severity != diag.Error ||
				!strings.Contains(found[0].Message, "write fewer") || len(found[0].Message) > 500 {
				t.Errorf("%s: %v", c.Name, found)
			}
			if !reflect.DeepEqual(beside.LoadBalancer, alone.LoadBalancer) || !reflect.DeepEqual(beside.Diagnostics, alone.Diagnostics) {
				t.Errorf("%s: the neighbours are compiled otherwise beside it", c.Name)
			}
		}
	}
}

// TestQuestionsOfAnIngressAreItsOwn has an Ingress that is just not too complex, but whose globs
// together are: it uses its own steps up, and not those of its neighbours.
func TestQuestionsOfAnIngressAreItsOwn(t *testing.T) {
	var globs []string
	for i := range 80 {
		glob := "/"
		for j := range 5 {
			glob += fmt.Sprintf("*%c%c", 'a'+(i*(j+1))%5, 'a'+(i/(j+1))%5)
		}
		globs = append(globs, glob)
	}
	c := unlimited(lb.ALB())
	built, found := splitAll(t, withGlobs(5, globs...), c)
	if len(found) > 0 {
		t.Fatal(found)
	}
	compare := built.Table.Comparer()
	if spent := compare.Spent("shop/zz-hostile"); spent < language.MemberSteps/10 || spent > language.MemberSteps+2_000_000 {
		t.Errorf("it took %d steps, and has %d", spent, language.MemberSteps)
	}
	for i := range 5 {
		if spent := compare.Spent(fmt.Sprintf("shop/app-%05d", i)); spent > language.MemberSteps/20 {
			t.Errorf("its neighbour %d was charged %d steps", i, spent)
		}
	}
	// What the neighbours on other hosts have does not depend on it.
	alone, _ := splitAll(t, many(5, false), c)
	rules := map[string]bool{}
	for _, r := range built.LoadBalancer.Listeners[0].Rules {
		rules[fmt.Sprint(r.Conditions, r.Action)] = true
	}
	for _, r := range alone.LoadBalancer.Listeners[0].Rules {
		if !rules[fmt.Sprint(r.Conditions, r.Action)] {
			t.Errorf("no rule %v %v beside it", r.Conditions, r.Action)
		}
	}
}

package loadbalancer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/diag"
)

// ruleBook is the ConfigMap that the class of a gated bench names.
func ruleBook(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "rules"}, Data: map[string]string{"rules.yaml": text}}
}

const noAdmin = `
expectations:
- name: no-admin
  requests: {paths: [{prefix: /admin}]}
  must: {forwarded: false}
`

// newGatedBench is a bench whose class names expectations.
func newGatedBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := newBench(t, objects...)
	b.create(&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "gated"}, Spec: v1alpha1.LoadBalancerClassSpec{
		Expectations: &v1alpha1.ConfigMapReference{Namespace: "platform", Name: "rules"},
	}})
	class := &networkingv1.IngressClass{}
	if err := b.Get(t.Context(), client.ObjectKey{Name: "fairlead"}, class); err != nil {
		t.Fatal(err)
	}
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "gated"}
	if err := b.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	b.place()
	return b
}

// below is the Ingress shop/web with paths of a host.
func below(host string, paths ...string) *networkingv1.Ingress {
	ing := ask(host)
	one := ing.Spec.Rules[0].HTTP.Paths[0]
	ing.Spec.Rules[0].HTTP.Paths = nil
	for _, p := range paths {
		one.Path = p
		ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, one)
	}
	return ing
}

// edit has the Ingress ask for paths of a host, and reconciles.
func (b *bench) edit(host string, paths ...string) {
	b.Helper()
	ing := b.ingress()
	ing.Spec = below(host, paths...).Spec
	if err := b.Update(b.Context(), ing); err != nil {
		b.Fatal(err)
	}
	b.place()
	b.reconciles()
}

// programmed checks the reason of the condition Programmed, and that of Degraded.
func (b *bench) programmed(reason, degraded string) {
	b.Helper()
	r := b.Records.Get(benchKey)
	for kind, want := range map[string]string{v1alpha1.ConditionProgrammed: reason, v1alpha1.ConditionDegraded: degraded} {
		if c := meta.FindStatusCondition(r.Conditions, kind); c == nil || c.Reason != want {
			b.Errorf("%s is %+v, want the reason %s", kind, c, want)
		}
	}
}

// told returns the diagnostics about expectations.
func (b *bench) told() []string {
	var out []string
	for _, d := range b.Records.Get(benchKey).Diagnostics {
		if d.Reason == string(diag.ExpectationViolated) {
			out = append(out, d.Source+": "+d.Message)
		}
	}
	return out
}

func TestAPlanThatViolatesAnExpectationIsWithheld(t *testing.T) {
	b := newGatedBench(t, below("shop.example", "/shop"), service(), ruleBook(noAdmin))
	b.settle()
	b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonAsExpected)
	rules := b.rules()
	b.edit("shop.example", "/shop", "/admin")
	b.programmed(v1alpha1.ReasonExpectation, v1alpha1.ReasonExpectation)
	if n := b.rules(); n != rules {
		t.Errorf("there are %d rules, and %d before", n, rules)
	}
	c := meta.FindStatusCondition(b.Records.Get(benchKey).Conditions, v1alpha1.ConditionProgrammed)
	for _, part := range []string{`expectation "no-admin" of ConfigMap platform/rules`, "curl http://shop.example/admin", "must not be forwarded", "shop/web"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("%q lacks %q", c.Message, part)
		}
	}
	if told := b.told(); len(told) != 1 || !strings.HasPrefix(told[0], "Ingress shop/web spec.rules[0].http.paths[1]: the change waits") {
		t.Errorf("told %q", told)
	}
	b.edit("shop.example", "/shop", "/about")
	b.settle()
	b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonAsExpected)
	if told := b.told(); len(told) > 0 {
		t.Errorf("still told: %q", told)
	}
}

// What is violated already withholds nothing but what would make it worse, also after a restart,
// and nothing that takes away.
func TestAViolationThatStandsWithholdsNoOtherPlan(t *testing.T) {
	for name, restart := range map[string]func(*bench){
		"as the operator goes on":        func(*bench) {},
		"as another operator takes over": func(b *bench) { b.succeed(); b.place() },
	} {
		t.Run(name, func(t *testing.T) {
			rules := ruleBook(noAdmin)
			rules.Data["rules.yaml"] = strings.ReplaceAll(noAdmin, "/admin", "/other")
			b := newGatedBench(t, below("shop.example", "/shop", "/admin"), service(), rules)
			b.settle()
			rules.Data["rules.yaml"] = noAdmin
			if err := b.Update(t.Context(), rules); err != nil {
				t.Fatal(err)
			}
			b.reconciles()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectation)
			if told := b.told(); len(told) != 1 || !strings.Contains(told[0], ": this violates expectation") {
				t.Errorf("told %q", told)
			}
			restart(b)
			b.edit("shop.example", "/shop", "/admin", "/about")
			b.settle()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectation)
			restart(b)
			b.edit("shop.example", "/admin", "/about")
			b.settle()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectation)
			restart(b)
			b.edit("shop.example", "/admin", "/about", "/admin/more", "/")
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectation) // it is forwarded as before, by another path
			restart(b)
			b.edit("other.example", "/admin")
			b.programmed(v1alpha1.ReasonExpectation, v1alpha1.ReasonExpectation)
			restart(b)
			b.edit("shop.example", "/about")
			b.settle()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonAsExpected)
		})
	}
}

// Without expectations that can be read, what is answered stays as it is, and less may be.
func TestWithoutExpectationsNothingIsAdded(t *testing.T) {
	for name, broken := range map[string]*corev1.ConfigMap{"missing": nil, "broken": ruleBook("expectation: x")} {
		t.Run(name, func(t *testing.T) {
			rules := ruleBook(noAdmin)
			b := newGatedBench(t, below("shop.example", "/shop", "/about"), service(), rules)
			b.settle()
			if err := b.Delete(t.Context(), rules); err != nil {
				t.Fatal(err)
			}
			if broken != nil {
				b.create(broken)
			}
			b.reconciles()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectations)
			b.edit("shop.example", "/shop", "/about", "/more")
			b.programmed(v1alpha1.ReasonExpectations, v1alpha1.ReasonExpectations)
			b.edit("shop.example", "/shop")
			b.settle()
			b.programmed(v1alpha1.ReasonProgrammed, v1alpha1.ReasonExpectations)
		})
	}
}

// A load balancer that does not exist yet is not made while its expectations are missing.
func TestWithoutExpectationsNoLoadBalancerIsMade(t *testing.T) {
	b := newGatedBench(t, below("shop.example", "/shop"), service())
	b.reconciles()
	b.programmed(v1alpha1.ReasonExpectations, v1alpha1.ReasonExpectations)
	if seen, err := b.cloud.Cloud.Observe(t.Context(), benchKey, false); err != nil || seen.Exists {
		t.Errorf("there is a load balancer: %+v, %v", seen, err)
	}
	if on := b.Directory.DependentsOf(cluster.RefTo(cluster.KindConfigMap, "platform", "rules")); len(on) != 1 || on[0] != benchKey {
		t.Errorf("a change of the ConfigMap reconciles %v", on)
	}
}

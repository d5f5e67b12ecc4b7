package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// This file has TargetGroupBindings among files.

// boundClass is a class that permits the namespace shop one target group.
const boundClass = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: bound}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: bound}
spec:
  targetGroupBindings:
  - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    targetGroups: ["arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/edge/*"]
---
`

// bindingYAML is a binding of the Service web.
func bindingYAML(namespace, name, metadata, spec string) string {
	return `apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: ` + namespace + `, name: ` + name + metadata + `}
spec: {serviceRef: {name: web, port: 80}, targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/edge/` + name + `"` + spec + `}
---
`
}

// Plan and explain say of each binding whether it is served, why not, or that a class has to permit it.
func TestWhatBecomesOfBindings(t *testing.T) {
	served := bindingYAML("shop", "web", "", "")
	refused := bindingYAML("shop", "far", "", `, iamRoleArnToAssume: "arn:aws:iam::1:role/a"`)
	foreign := bindingYAML("bank", "pay", "", "")
	theirs := bindingYAML("shop", "own", `, labels: {ingress.k8s.aws/stack: x}`, "")
	opened := bindingYAML("shop", "open", "", `, networking: {ingress: [{from: [{securityGroup: {groupID: sg-1}}, {ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 8080}]}]}`)
	ingress := ingressYAML("web", "web.example.com", "/")
	for name, c := range map[string]struct {
		files string
		args  []string
		code  int
		says  []string
	}{
		"served":             {boundClass + served, []string{"plan"}, exitDone, []string{"TargetGroupBinding shop/web", "class fairlead permits it; the endpoints of Service shop/web, port 80, are registered", "Service shop/web is not among the files"}},
		"beside an Ingress":  {boundClass + ingress + "---\n" + served, []string{"plan"}, exitToDo, []string{"class fairlead permits it"}},
		"refused":            {boundClass + ingress + "---\n" + refused, []string{"plan"}, exitFail, []string{"TargetGroupBinding shop/far", "Fairlead assumes no role of another account"}},
		"without consent":    {boundClass + ingress + "---\n" + foreign, []string{"plan"}, exitToDo, []string{"no class lets namespace bank", "until then, it is left to the AWS Load Balancer Controller"}},
		"a gate for it":      {boundClass + ingress + "---\n" + foreign, []string{"plan", "--fail-on", "warning"}, exitFail, []string{"no class lets namespace bank"}},
		"no class with any":  {ingress + "---\n" + foreign, []string{"plan", "--fail-on", "warning"}, exitToDo, []string{"no class lets namespace bank"}},
		"security groups":    {boundClass + opened, []string{"plan"}, exitDone, []string{"allow TCP 8080 from sg-1 and 10.0.0.0/8"}},
		"all":                {boundClass + ingress + "---\n" + served + refused + foreign, []string{"explain", "--all"}, exitToDo, []string{"class fairlead permits it", "assumes no role", "no class lets namespace bank", "Not served as asked: TargetGroupBinding shop/far."}},
		"all, and all fine":  {boundClass + ingress + "---\n" + served, []string{"explain", "--all"}, exitDone, []string{"class fairlead permits it", "Every Ingress is accepted"}},
		"by name":            {boundClass + served + refused, []string{"explain", "targetgroupbinding/shop/web"}, exitDone, []string{"BindingServed TargetGroupBinding shop/web", "class fairlead permits it"}},
		"by names":           {boundClass + served + refused, []string{"explain", "TargetGroupBinding/shop/web", "targetgroupbinding/shop/far"}, exitDone, []string{"class fairlead permits it", "assumes no role"}},
		"one that is theirs": {boundClass + theirs, []string{"explain", "targetgroupbinding/shop/own"}, exitFail, []string{"made TargetGroupBinding shop/own for itself"}},
		"one that is not":    {boundClass + served, []string{"explain", "targetgroupbinding/shop/gone"}, exitFail, []string{"there is no TargetGroupBinding shop/gone"}},
		"theirs in a plan":   {boundClass + ingress + "---\n" + theirs, []string{"plan"}, exitToDo, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": c.files})
			got := fairlead(t, append(c.args, "--provider", "aws", "-f", dir)...)
			for _, says := range c.says {
				if !strings.Contains(got.out+got.err, says) {
					t.Errorf("it does not say %q", says)
				}
			}
			if got.code != c.code || len(c.says) == 0 && strings.Contains(got.out, "TargetGroupBinding") || t.Failed() {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, c.code, got.out, got.err)
			}
			if c.args[0] != "plan" {
				return
			}
			var report struct{ Diagnostics []struct{ Source string } }
			printed := fairlead(t, append(c.args, "--provider", "aws", "-f", dir, "-o", "json")...).out
			if err := json.Unmarshal([]byte(printed), &report); err != nil {
				t.Fatalf("%v in\n%s", err, printed)
			}
			if is := strings.Contains(fmt.Sprint(report.Diagnostics), "TargetGroupBinding "); is != (len(c.says) > 0) {
				t.Errorf("the diagnostics are %v", report.Diagnostics)
			}
		})
	}
}

// One binding is explained without the others, also as JSON.
func TestOneBindingIsExplained(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": boundClass + bindingYAML("shop", "web", "", "") +
		bindingYAML("shop", "far", "", `, iamRoleArnToAssume: "arn:aws:iam::1:role/a"`)})
	explain := func(format string) string {
		got := fairlead(t, "explain", "targetgroupbinding/shop/web", "--provider", "aws", "-f", dir, "-o", format)
		if got.code != exitDone || !strings.Contains(got.out, "BindingServed") || strings.Contains(got.out, "shop/far") {
			t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
		}
		return got.out
	}
	explain("text")
	var found []struct{ Reason, Source string }
	if err := json.Unmarshal([]byte(explain("json")), &found); err != nil || len(found) == 0 || found[len(found)-1].Source != "TargetGroupBinding shop/web" {
		t.Errorf("%v, %v", found, err)
	}
}

package alb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference page of the dialect from what it makes of an example of each annotation.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../../../../docs/reference/dialect-alb.md", dialectPage())
}

func dialectPage() string {
	var b strings.Builder
	b.WriteString(`# Annotations of the AWS Load Balancer Controller

A class with ` + "`dialect: alb`" + ` reads these annotations, which all begin with ` + "`alb.ingress.kubernetes.io/`" + `, in place of
Fairlead's own. ` + "`same`" + `: requests are answered as by the other controller. ` + "`changed`" + `: some are not. ` + "`dropped`" + `: it has no
effect, and opens nothing. ` + "`refused`" + `: an Ingress with it is not served. An annotation that is not in the list is refused if
its name reads like a restriction, and dropped otherwise. ` + "`fairlead explain --all`" + ` says what became of those of your
Ingresses. Those with a star are read on Services, too, where they take priority.

A regular expression is taken to be searched for in a host, a path or a header, with ` + "`^` and `$`" + ` for the ends. AWS does not
document this: write both, and ` + "`.*`" + ` where there may be more text.

| Annotation, with an example | In Fairlead's own words | |
|---|---|---|
`)
	class := alb.Defaults(v1alpha1.LoadBalancerClassSpec{})
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		value := annotations[name][0]
		if value == "" {
			value = annotations[name][1]
		}
		switch {
		case name == "allowed-cidrs", name == "comment":
			continue // they are none of the controller's
		case strings.HasPrefix(name, "frontend-nlb-") && name != "frontend-nlb-scheme":
			continue // all are refused alike
		}
		out := alb.Read(dialect.Input{Ingress: ingress(name, value), Class: &class,
			Service: func(string) *corev1.Service { return nil }})
		verdict := out.Verdicts[slices.IndexFunc(out.Verdicts, func(v dialect.Verdict) bool { return v.Key == alb.Prefix+name })]
		var own []string
		for _, mine := range slices.Sorted(maps.Keys(out.Annotations)) {
			if out.Origins[mine] == alb.Prefix+name || mine == settings.Backends || mine == settings.RequestConditions {
				own = append(own, fmt.Sprintf("[`%s`](annotations.md#%s)", mine, strings.NewReplacer(".", "", "/", "").Replace(mine)))
			}
		}
		star := ""
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{alb.Prefix + name: value}}}
		_, found := alb.ReadService(service, nil)
		if len(found) == 0 || found[0].Outcome == verdict.Outcome && found[0].Message == verdict.Message {
			star = " \\*"
		}
		result := "`" + string(verdict.Outcome) + "`"
		if verdict.Message != "" {
			result += ": " + verdict.Message
		}
		if name == "frontend-nlb-scheme" {
			name = "frontend-nlb-*"
		}
		fmt.Fprintf(&b, "| `%s`%s<br>`%s` | %s | %s |\n", name, star, strings.ReplaceAll(value, "|", "\\|"), strings.Join(own, ", "), result)
	}
	return b.String()
}

package loadbalancer

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// memberWith is the only member of a load balancer with what was compiled of it.
func memberWith(t *testing.T, edit func(*networkingv1.Ingress)) (ingress.Member, model.Built) {
	t.Helper()
	prefix := networkingv1.PathTypePrefix
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{}},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new("fairlead"),
			Rules: []networkingv1.IngressRule{{Host: "a.test", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
				}}},
			}}}},
		},
	}
	edit(ing)
	snapshots, found := ingress.Place(ingress.Objects{Ingresses: []*networkingv1.Ingress{ing}}, ingress.ClassOptions{AssumeClasses: []string{"fairlead"}})
	if len(snapshots) != 1 {
		t.Fatalf("%d load balancers: %v", len(snapshots), found)
	}
	return snapshots[0].Members[0], model.Compile(snapshots[0], lb.Facts{}, lb.Literal())
}

func TestPortsSayWhatKeepsThemFromBeingServed(t *testing.T) {
	const made = diag.Reason("MadeUp") // a reason that nothing here knows
	source := diag.Source{Kind: "Ingress", Namespace: "shop", Name: "web", Field: "spec.rules[0]"}
	of := func(severity diag.Severity, reason diag.Reason, ports ...int32) diag.Diagnostic {
		return diag.Diagnostic{Severity: severity, Reason: reason, Source: source}.On(ports...)
	}
	stranger := of(diag.Error, made)
	stranger.Source.Name = "other"
	cases := map[string]struct {
		ports string
		found []diag.Diagnostic
		want  map[int32]string
	}{
		"nothing is in the way":                 {"HTTP:80,HTTP:8080", nil, map[int32]string{80: "", 8080: ""}},
		"an error on a port":                    {"HTTP:80,HTTP:8080", []diag.Diagnostic{of(diag.Error, made, 8080)}, map[int32]string{80: "", 8080: "fairlead.dev/MadeUp"}},
		"an error on no port in particular":     {"HTTP:80,HTTP:8080", []diag.Diagnostic{of(diag.Error, made)}, map[int32]string{80: "fairlead.dev/MadeUp", 8080: "fairlead.dev/MadeUp"}},
		"a warning on a port":                   {"HTTP:80", []diag.Diagnostic{of(diag.Warning, made, 80)}, map[int32]string{80: "fairlead.dev/MadeUp"}},
		"a warning on no port in particular":    {"HTTP:80", []diag.Diagnostic{of(diag.Warning, made)}, map[int32]string{80: ""}},
		"what is worth knowing":                 {"HTTP:80", []diag.Diagnostic{of(diag.Info, made, 80)}, map[int32]string{80: ""}},
		"a port that is asked for and not open": {"HTTP:80", []diag.Diagnostic{of(diag.Error, made, 443)}, map[int32]string{80: "", 443: "fairlead.dev/MadeUp"}},
		"an error before a warning":             {"HTTP:80", []diag.Diagnostic{of(diag.Warning, "Mild", 80), of(diag.Error, made)}, map[int32]string{80: "fairlead.dev/MadeUp"}},
		"what is about the port before the rest": {"HTTP:80,HTTP:8080", []diag.Diagnostic{of(diag.Error, "General"), of(diag.Error, made, 80)},
			map[int32]string{80: "fairlead.dev/MadeUp", 8080: "fairlead.dev/General"}},
		"one about a port, and then the rest": {"HTTP:80,HTTP:8080", []diag.Diagnostic{of(diag.Error, made, 80), of(diag.Error, "General")},
			map[int32]string{80: "fairlead.dev/MadeUp", 8080: "fairlead.dev/General"}},
		"of equals about no port the first": {"HTTP:80", []diag.Diagnostic{of(diag.Error, made), of(diag.Error, "Second")}, map[int32]string{80: "fairlead.dev/MadeUp"}},
		"of equals the first":               {"HTTP:80", []diag.Diagnostic{of(diag.Error, made, 80), of(diag.Error, "Second", 80)}, map[int32]string{80: "fairlead.dev/MadeUp"}},
		"nothing of neighbours":             {"HTTP:80", []diag.Diagnostic{stranger}, map[int32]string{80: ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, built := memberWith(t, func(i *networkingv1.Ingress) { i.Annotations["fairlead.dev/listen-ports"] = c.ports })
			reach := newReach(lb.Address{Hostname: "lb.test"}, built.Table, func(int32) bool { return true }, c.found)
			got := map[int32]string{}
			for _, p := range reach.statusOf(m)[0].Ports {
				got[p.Port] = ""
				if p.Error != nil {
					got[p.Port] = *p.Error
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}

// The API describes what the error of a port looks like.
func TestEveryReasonCanBeTheErrorOfAPort(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Z][A-Za-z0-9]*)$`)
	for _, r := range diag.Reasons {
		if text := errorOf(r.Reason); len(text) > 316 || !form.MatchString(text) {
			t.Errorf("%q is no error of a port", text)
		}
	}
}

func TestWhatIsNotServedHasNoAddress(t *testing.T) {
	open := func(int32) bool { return true }
	cases := map[string]struct {
		edit func(*networkingv1.Ingress)
		open func(int32) bool
		want bool
	}{
		"a route":                 {func(*networkingv1.Ingress) {}, open, true},
		"on no port that is open": {func(*networkingv1.Ingress) {}, func(int32) bool { return false }, false},
		"a default backend": {func(i *networkingv1.Ingress) {
			i.Spec.DefaultBackend, i.Spec.Rules = &i.Spec.Rules[0].HTTP.Paths[0].Backend, nil
		}, open, true},
		"a name, where only that is asked for": {func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP = nil }, open, true},
		"a name, where its paths are refused": {func(i *networkingv1.Ingress) {
			i.Spec.Rules[0].HTTP.Paths[0].Path, i.Spec.Rules[0].HTTP.Paths[0].PathType = "/(", new(networkingv1.PathTypeImplementationSpecific)
		}, open, true},
		"HTTPS without a certificate": {func(i *networkingv1.Ingress) { i.Annotations["fairlead.dev/listen-ports"] = "HTTPS:443" }, open, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, built := memberWith(t, c.edit)
			if got := newReach(lb.Address{}, built.Table, c.open, nil).serves(m); got != c.want {
				t.Errorf("it is served: %v", got)
			}
		})
	}
}

// A member is reached where a route, a default backend or a name of it is served. One that asks for
// more than names is not served by its names alone.
func TestWhereMembersAreReached(t *testing.T) {
	owner := routing.Owner{Namespace: "shop", Name: "web"}
	paths := networkingv1.IngressRule{Host: "a.test", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	names := networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.test"}}}
	route := routing.Route{Owner: owner, Ports: []int32{8080, 443, 80}}
	name := routing.Name{Owner: owner, Ports: []int32{443}}
	for title, c := range map[string]struct {
		spec   networkingv1.IngressSpec
		config routing.Config
		served bool
		ports  []int32
	}{
		"nothing":                        {names, routing.Config{}, false, nil},
		"a name":                         {names, routing.Config{Names: []routing.Name{name}}, true, []int32{443}},
		"a name, where paths are asked":  {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths}}, routing.Config{Names: []routing.Name{name}}, false, []int32{443}},
		"a name, where a default is":     {networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{}}, routing.Config{Names: []routing.Name{name}}, false, []int32{443}},
		"a route":                        {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths}}, routing.Config{Routes: []routing.Route{route}}, true, []int32{80, 443}},
		"a route and a name on one port": {names, routing.Config{Routes: []routing.Route{route}, Names: []routing.Name{name}}, true, []int32{80, 443}},
	} {
		m := memberOf("web")
		m.Spec = c.spec
		reach := newReach(lb.Address{IPs: []string{"192.0.2.1", "192.0.2.2"}}, &precedence.Table{Config: c.config}, func(port int32) bool { return port != 8080 }, nil)
		if got := reach.serves(m); got != c.served {
			t.Errorf("%s: served is %t", title, got)
		}
		entries := reach.statusOf(m)
		if len(entries) != 2 || entries[0].IP != "192.0.2.1" || entries[1].IP != "192.0.2.2" {
			t.Errorf("%s: addresses %+v", title, entries)
		}
		var ports []int32
		for _, p := range entries[1].Ports {
			ports = append(ports, p.Port)
		}
		if !slices.Equal(ports, c.ports) {
			t.Errorf("%s: ports %v, want %v", title, ports, c.ports)
		}
	}
}

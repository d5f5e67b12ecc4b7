package ingress

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

func TestServiceResolution(t *testing.T) {
	const at = " Ingress shop/web spec.defaultBackend.service"
	two := func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", Port: 53, NodePort: 30053}, {Name: "udp", Port: 54, Protocol: corev1.ProtocolUDP},
		}
	}
	external := func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "db.example.test"
	}
	headless := func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }
	families := func(f ...corev1.IPFamily) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.IPFamilies = f }
	}
	stored := func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(1, 0) }
	named := func(name string) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = &name }
	}
	six := func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }
	endpoint := []routing.Target{{Address: "10.0.0.1", Port: 8080}}

	cases := map[string]struct {
		class   v1alpha1.LoadBalancerClassSpec
		backend string
		given   []any
		want    routing.Backend // ID, port and targets
		told    []string
	}{
		"by number": {backend: "web:80", given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"by name": {backend: "web:http", given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"a headless Service": {backend: "web:80", given: []any{aService("shop/web:80", headless), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"a Service that is missing": {backend: "web:80",
			want: routing.Backend{ID: "shop/web:80", Port: "80"}, told: []string{"error ServiceMissing" + at}},
		"a Service that is missing, by port name": {backend: "web:http",
			want: routing.Backend{ID: "shop/web:http", Port: "http"}, told: []string{"error ServiceMissing" + at}},
		"a Service in another namespace": {backend: "web:80", given: []any{aService("pay/web:80"), aSlice("pay/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80"}, told: []string{"error ServiceMissing" + at}},
		"a port that is missing": {backend: "web:81", given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:81", Port: "81"}, told: []string{"error ServicePortMissing" + at}},
		"a port name that is missing": {backend: "web:admin", given: []any{aService("shop/web:80")},
			want: routing.Backend{ID: "shop/web:admin", Port: "admin"}, told: []string{"error ServicePortMissing" + at}},
		"one number over UDP and TCP is TCP": {backend: "web:53", given: []any{aService("shop/web:80", two), aSlice("shop/web", named("dns-tcp"), "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:53", Port: "53", Targets: endpoint}},
		"a port that is UDP only": {backend: "web:54", given: []any{aService("shop/web:80", two)},
			want: routing.Backend{ID: "shop/web:54", Port: "54"}, told: []string{"error ServiceUnusable" + at}},
		"an unnamed port of an unnamed slice port": {backend: "web:80",
			given: []any{aService("shop/web:80", func(s *corev1.Service) { s.Spec.Ports[0].Name = "" }), aSlice("shop/web", named(""), "10.0.0.1")},
			want:  routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"endpoints of another port": {backend: "web:80", given: []any{aService("shop/web:80"), aSlice("shop/web", named("admin"), "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80"}, told: []string{"warning NoEndpoints" + at}},
		"no slice, in files: nobody runs it yet": {backend: "web:80", given: []any{aService("shop/web:80")},
			want: routing.Backend{ID: "shop/web:80", Port: "80"}},
		"no slice, in a cluster": {backend: "web:80", given: []any{aService("shop/web:80", stored)},
			want: routing.Backend{ID: "shop/web:80", Port: "80"}, told: []string{"warning NoEndpoints" + at}},
		"IPv6 only": {backend: "web:80", given: []any{aService("shop/web:80", families(corev1.IPv6Protocol)), aSlice("shop/web", six, "fd00::1"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80/ipv6", Port: "80", Family: "ipv6", Targets: []routing.Target{{Address: "fd00::1", Port: 8080}}}},
		"both families are what a headless Service without a selector says on each cluster": {backend: "web:80", given: []any{aService("shop/web:80", headless, families(corev1.IPv6Protocol, corev1.IPv4Protocol)), aSlice("shop/web", six, "fd00::1")},
			want: routing.Backend{ID: "shop/web:80/ipv6", Port: "80", Family: "ipv6", Targets: []routing.Target{{Address: "fd00::1", Port: 8080}}}},
		"and IPv4 if it has endpoints of both": {backend: "web:80", given: []any{aService("shop/web:80", headless, families(corev1.IPv6Protocol, corev1.IPv4Protocol)), aSlice("shop/web", six, "fd00::1"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"both families are reached over IPv4": {backend: "web:80", given: []any{aService("shop/web:80", families(corev1.IPv6Protocol, corev1.IPv4Protocol)), aSlice("shop/web", six, "fd00::1"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: endpoint}},
		"instances need a node port": {class: v1alpha1.LoadBalancerClassSpec{TargetType: "instance"}, backend: "web:80", given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1")},
			want: routing.Backend{ID: "shop/web:80/instance", Port: "80", TargetType: "instance"}, told: []string{"error ServiceUnusable" + at}},
		"instances with a node port": {class: v1alpha1.LoadBalancerClassSpec{TargetType: "instance"}, backend: "web:53", given: []any{aService("shop/web:80", two)},
			want: routing.Backend{ID: "shop/web:53/instance", Port: "53", TargetType: "instance"}},
		"an external name is refused": {backend: "web:80", given: []any{aService("shop/web:80", external)},
			want: routing.Backend{ID: "shop/web:80", Port: "80"}, told: []string{"error ExternalNameRefused" + at}},
		"an external name that the class allows": {class: v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true}, backend: "web:http", given: []any{aService("shop/web:80", external)},
			want: routing.Backend{ID: "shop/web:80", Port: "80", Targets: []routing.Target{{Address: "db.example.test", Port: 80}}}},
		"an external name needs no port of its own": {class: v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true}, backend: "web:443", given: []any{aService("shop/web:80", external)},
			want: routing.Backend{ID: "shop/web:443", Port: "443", Targets: []routing.Target{{Address: "db.example.test", Port: 443}}}},
		"an external name with a port name that is missing": {class: v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true}, backend: "web:admin", given: []any{aService("shop/web:80", external)},
			want: routing.Backend{ID: "shop/web:admin", Port: "admin"}, told: []string{"error ServicePortMissing" + at}},
		"an external name has no instances": {class: v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true, TargetType: "instance"}, backend: "web:80", given: []any{aService("shop/web:80", external)},
			want: routing.Backend{ID: "shop/web:80/instance", Port: "80", TargetType: "instance"}, told: []string{"error ServiceUnusable" + at}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, append(c.given, aClass("fairlead", c.class), anIngress("shop/web", defaulted(to(c.backend))))...)
			compare(t, "action", config.Defaults[0].Action, routing.To(c.want.ID)) // whatever is wrong, the rule stays
			want := c.want
			want.Service, want.Protocol, want.Version = "shop/web", "HTTP", "HTTP1"
			want.Family, want.TargetType = cmp.Or(want.Family, "ipv4"), cmp.Or(want.TargetType, "ip")
			want.Health = settings.HealthCheck(nil, &v1alpha1.LoadBalancerClassSpec{}, "", "")
			compare(t, "backend", config.Backends, map[routing.BackendID]routing.Backend{want.ID: want})
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestTargetsAreTheReadyEndpoints(t *testing.T) {
	state := func(ready, serving, terminating *bool) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			for i := range s.Endpoints {
				s.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}
			}
		}
	}
	yes, no := new(true), new(false)
	ready, unready, unknown := state(yes, yes, no), state(no, no, no), state(nil, nil, nil)
	serves, failed, untold := state(no, yes, yes), state(no, no, yes), state(no, nil, yes) // and terminates
	// Of a Service that publishes addresses that are not ready, so that ready says nothing.
	published, publishedServes, publishedFailed := state(yes, no, no), state(yes, yes, yes), state(yes, no, yes)
	cases := map[string]struct {
		slices endpoints.SliceList
		want   []string
	}{
		"sorted, each once":                       {endpoints.SliceList{aSlice("shop/web", ready, "10.0.0.2", "10.0.0.1"), aSlice("shop/web", ready, "10.0.0.1")}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		"unready ones are left out":               {endpoints.SliceList{aSlice("shop/web", ready, "10.0.0.1"), aSlice("shop/web", unready, "10.0.0.2")}, []string{"10.0.0.1:8080"}},
		"unknown counts as ready":                 {endpoints.SliceList{aSlice("shop/web", unknown, "10.0.0.1")}, []string{"10.0.0.1:8080"}},
		"none is ready":                           {endpoints.SliceList{aSlice("shop/web", unready, "10.0.0.1")}, nil},
		"terminating ones are left out":           {endpoints.SliceList{aSlice("shop/web", ready, "10.0.0.1"), aSlice("shop/web", serves, "10.0.0.2")}, []string{"10.0.0.1:8080"}},
		"unless no other is ready":                {endpoints.SliceList{aSlice("shop/web", unready, "10.0.0.1"), aSlice("shop/web", serves, "10.0.0.2")}, []string{"10.0.0.2:8080"}},
		"and they serve":                          {endpoints.SliceList{aSlice("shop/web", serves, "10.0.0.1"), aSlice("shop/web", failed, "10.0.0.2")}, []string{"10.0.0.1:8080"}},
		"all have failed":                         {endpoints.SliceList{aSlice("shop/web", failed, "10.0.0.1")}, nil},
		"who terminates and says no more is gone": {endpoints.SliceList{aSlice("shop/web", untold, "10.0.0.1")}, nil},
		"unready ones are published":              {endpoints.SliceList{aSlice("shop/web", published, "10.0.0.1"), aSlice("shop/web", ready, "10.0.0.2")}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		"published ones that terminate are not":   {endpoints.SliceList{aSlice("shop/web", published, "10.0.0.1"), aSlice("shop/web", publishedServes, "10.0.0.2")}, []string{"10.0.0.1:8080"}},
		"unless none stays":                       {endpoints.SliceList{aSlice("shop/web", publishedServes, "10.0.0.1"), aSlice("shop/web", publishedFailed, "10.0.0.2")}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		"slices of names are none of ours":        {endpoints.SliceList{aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN }, "a.test")}, nil},
		"a port without a number is none":         {endpoints.SliceList{aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = nil }, "10.0.0.1")}, nil},
		"an endpoint without an address is none":  {endpoints.SliceList{aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = nil }, "10.0.0.1")}, nil},
		"a UDP port of the same name is another":  {endpoints.SliceList{aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Protocol = new(corev1.ProtocolUDP) }, "10.0.0.1")}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, target := range c.slices.Targets(&corev1.ServicePort{Name: "http", Port: 80}, endpoints.IPv4) {
				got = append(got, target.String())
			}
			compare(t, "targets", got, c.want)
		})
	}
}

func TestComingEndpointsAreThoseThatAreNotReadyYet(t *testing.T) {
	with := func(c discoveryv1.EndpointConditions) endpoints.SliceList {
		return endpoints.SliceList{aSlice("shop/web", nil, "10.0.0.1"), aSlice("shop/web", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions = c }, "10.0.0.2")}
	}
	for name, c := range map[string]struct {
		slices endpoints.SliceList
		want   bool
	}{
		"all are ready":         {with(discoveryv1.EndpointConditions{Ready: new(true)}), false},
		"one starts":            {with(discoveryv1.EndpointConditions{Ready: new(false)}), true},
		"one leaves":            {with(discoveryv1.EndpointConditions{Ready: new(false), Terminating: new(true)}), false},
		"there are none at all": {nil, false},
	} {
		if got := (endpoints.Objects{Slices: c.slices}).HasUnreadyEndpoints(); got != c.want {
			t.Errorf("%s: coming is %v, want %v", name, got, c.want)
		}
	}
}

func TestABackendIsSharedByAllThatUseIt(t *testing.T) {
	config, found := translated(t, nil, aService("shop/web:80"),
		anIngress("shop/a", annotated("group", "g"), ruled("a.test", prefixed("/", "web:80"), prefixed("/b", "web:http"))),
		anIngress("shop/b", annotated("group", "g"), annotated("target-type", "instance"), ruled("b.test", prefixed("/", "web:80"))))
	compare(t, "backends", slices.Sorted(maps.Keys(config.Backends)), []routing.BackendID{"shop/web:80", "shop/web:80/instance"})
	compare(t, "told", told(found), []string{"error ServiceUnusable Ingress shop/b spec.rules[0].http.paths[0].backend.service"})
}

func TestHealthChecksOfSharedBackends(t *testing.T) {
	const at = "metadata.annotations[fairlead.dev/health-check-"
	an := func(name string, age int64, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		return anIngress("shop/"+name, append(with, annotated("group", "g"), aged(age), ruled(name+".test", prefixed("/", "web:80")))...)
	}
	usual := settings.HealthCheck(nil, &v1alpha1.LoadBalancerClassSpec{}, "", "")
	with := func(change func(*routing.HealthCheck)) routing.HealthCheck {
		h := usual
		change(&h)
		return h
	}
	cases := map[string]struct {
		class v1alpha1.HealthCheck
		given []any
		want  routing.HealthCheck
		told  []string
	}{
		"nobody says anything": {want: routing.HealthCheck{
			Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200",
		}, given: []any{an("a", 1)}},
		"the class does": {class: v1alpha1.HealthCheck{Path: "/class", IntervalSeconds: 30}, given: []any{an("a", 1)},
			want: with(func(h *routing.HealthCheck) { h.Path, h.IntervalSeconds = "/class", 30 })},
		"an Ingress does": {class: v1alpha1.HealthCheck{Path: "/class", IntervalSeconds: 30}, given: []any{an("a", 1, annotated("health-check-path", "/a"), annotated("health-check-port", "8081"))},
			want: with(func(h *routing.HealthCheck) { h.Path, h.Port, h.IntervalSeconds = "/a", "8081", 30 })},
		"each setting is the oldest's that makes it": {given: []any{an("a", 2, annotated("health-check-path", "/a")), an("b", 1, annotated("health-check-path", "/b"), annotated("health-check-success-codes", "204"))},
			want: with(func(h *routing.HealthCheck) { h.Path, h.SuccessCodes = "/a", "204" }), told: []string{"warning SettingConflict Ingress shop/b " + at + "path]"}},
		"two that agree": {given: []any{an("a", 2, annotated("health-check-path", "/a")), an("b", 1, annotated("health-check-path", "/a"))},
			want: with(func(h *routing.HealthCheck) { h.Path = "/a" })},
		"two that are right alone and wrong together": {given: []any{an("a", 2, annotated("health-check-interval-seconds", "10")), an("b", 1, annotated("health-check-timeout-seconds", "12"))},
			want: with(func(h *routing.HealthCheck) { h.IntervalSeconds = 10 }), told: []string{"warning SettingConflict Ingress shop/b " + at + "timeout-seconds]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, append(c.given, aService("shop/web:80"), aClass("fairlead", v1alpha1.LoadBalancerClassSpec{HealthCheck: c.class}))...)
			compare(t, "health check", config.Backends["shop/web:80"].Health, c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

package providertest

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/selfsigned"
)

// This file has the stages of a load balancer that every provider has to support. They use only
// what the rules of every cloud can express.

const (
	web lb.GroupID = "shop/web:80"
	api lb.GroupID = "shop/api:80"
)

// A place describes the environment of the load balancers.
type place struct {
	settings routing.Settings // of every stage, such as subnets
	targets  []lb.Target      // of the target groups; none, or one healthy target
	// capabilities limit the stages; the zero value is no limit.
	capabilities lb.Capabilities
}

// weighted reports whether an action can forward to two target groups with the weights of the
// stages.
func (w place) weighted() bool {
	return atLeast(w.capabilities.TargetsPerForward, 2) && atLeast(w.capabilities.MaxWeight, 3)
}

// twoPorts reports whether a load balancer can have two listeners, one of them with certificates.
func (w place) twoPorts() bool {
	return atLeast(w.capabilities.Listeners, 2) && !w.capabilities.NoHTTPS
}

// targetType returns a type that target groups can have.
func (w place) targetType() string {
	if slices.Contains(w.capabilities.TargetTypesRefused, "ip") {
		return lb.InstanceTarget
	}
	return "ip"
}

// redirectStatus returns a status that redirects can have.
func (w place) redirectStatus() int {
	if all := w.capabilities.RedirectStatuses; len(all) > 0 {
		return all[0]
	}
	return 301
}

// atLeast reports whether a limit, of which 0 is none, leaves room for n.
func atLeast(limit, n int) bool { return limit == 0 || limit >= n }

// leftOut lists the parts of stages that the load balancers cannot have.
func (w place) leftOut() []string {
	var out []string
	if !w.weighted() {
		out = append(out, "a rule that forwards to two target groups by weight")
	}
	if !w.twoPorts() {
		out = append(out, "a second listener, with certificates")
	}
	return out
}

// A stage is a desired state of the load balancer. It has no key.
type stage struct {
	name string
	want lb.LoadBalancer
}

// stages returns the stages in their order. Each has a kind of change that the others lack.
func stages(t T, w place) []stage {
	t.Helper()
	old, renewed, second := certificate(t, "shop.example.com"), certificate(t, "shop.example.com"),
		certificate(t, "www.example.com")
	webGroup, apiGroup := w.group(web, "/", w.targets...), w.group(api, "/health", w.targets...)
	quicker := w.group(api, "/healthz", w.targets...)
	empty := w.group("shop/late:80", "/") // of a Service without endpoints

	home := rule("shop.example.com", "/*", forward(web))
	calls := rule("shop.example.com", "/api/*", forward(api))
	both := rule("www.example.com", "/*", lb.Action{
		Kind: "forward", Targets: []lb.Weighted{{Group: api, Weight: 1}, {Group: web, Weight: 3}},
	})
	if !w.weighted() {
		both.Action = forward(api)
	}
	late := rule("late.example.com", "/*", forward(empty.ID))
	sorry := rule("old.example.com", "/*", fixed(410))
	redirect := routing.Action{Redirect: &routing.Redirect{Status: w.redirectStatus(), Scheme: "https", Port: "443"}}
	secure := rule("shop.example.com", "/*", lb.FromRouting(redirect))

	plain := func(rules ...lb.Rule) lb.Listener { return listener(80, routing.HTTP, nil, rules...) }
	tls := func(ids []lb.Certificate, rules ...lb.Rule) lb.Listener {
		return listener(443, routing.HTTPS, ids, rules...)
	}
	pairs := certificates(renewed, second)
	defaulted := plain(calls, home)
	defaulted.Default = forward(web)

	all := []stage{
		{"one rule", w.loadBalancer("a", groups(webGroup), nil, plain(home))},
		{"rules before and after it", w.loadBalancer("a", groups(apiGroup, webGroup), nil, plain(calls, home, both))},
		{"an answer of its own, and a Service without endpoints", w.loadBalancer("a", groups(apiGroup, webGroup, empty), nil, plain(calls, home, sorry, late))},
		{"a second port", w.loadBalancer("a", groups(apiGroup, webGroup), certificates(old), plain(secure), tls(certificates(old), calls, home))},
		{"a certificate renewed and one more", w.loadBalancer("a", groups(apiGroup, webGroup), pairs, plain(secure), tls(pairs, both, calls, home))},
		{"the other one is the default", w.loadBalancer("a", groups(apiGroup, webGroup), pairs, plain(secure), tls([]lb.Certificate{pairs[1], pairs[0]}, both, calls, home))},
		{"another health check and other settings", w.loadBalancer("b", groups(quicker, webGroup), certificates(renewed), plain(secure), tls(certificates(renewed), calls, home))},
		{"back to one port, with a default", w.loadBalancer("b", groups(quicker, webGroup), nil, defaulted)},
		{"nothing", lb.LoadBalancer{}},
	}
	if !w.twoPorts() {
		all = slices.DeleteFunc(all, func(s stage) bool { return len(s.want.Listeners) > 1 })
	}
	return all
}

func (w place) loadBalancer(tag string, groups []lb.TargetGroup, certificates []lb.Certificate,
	listeners ...lb.Listener) lb.LoadBalancer {
	settings := w.settings
	settings.Scheme, settings.IPFamily, settings.Tags = "internal", "ipv4",
		map[string]string{"stage": tag}
	return lb.LoadBalancer{Digest: lb.DigestOf(settings), Settings: settings,
		Listeners: listeners, TargetGroups: groups, Certificates: certificates}
}

func listener(port int32, protocol routing.Protocol, certificates []lb.Certificate,
	rules ...lb.Rule) lb.Listener {
	l := lb.Listener{
		Port: port, Protocol: protocol, Default: fixed(404), Rules: rules,
		Digest: lb.DigestOf(lb.ListenerSettings{}),
	}
	for _, c := range certificates {
		l.Certificates = append(l.Certificates, c.ID)
	}
	return l
}

func rule(host, path string, action lb.Action) lb.Rule {
	return lb.Rule{Action: action, Conditions: []lb.Condition{
		{Field: "host", Values: []string{host}},
		{Field: "path", Values: []string{path}},
	}}
}

func forward(id lb.GroupID) lb.Action { return lb.FromRouting(routing.To(id)) }

func fixed(status int) lb.Action { return lb.FromRouting(routing.Status(status)) }

func (w place) group(id lb.GroupID, check string, targets ...lb.Target) lb.TargetGroup {
	health := routing.HealthCheck{Path: check, Protocol: "HTTP", Port: "traffic-port",
		IntervalSeconds: 5,
		TimeoutSeconds:  2, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"}
	return lb.TargetGroup{ID: id, Service: "shop/web", Port: "80", TargetType: w.targetType(),
		Protocol: routing.HTTP, Version: "HTTP1",
		Family: "ipv4", Digest: lb.DigestOf(health), Health: health, Targets: targets}
}

// groups returns target groups in the order of load balancers; certificates does the same.
func groups(all ...lb.TargetGroup) []lb.TargetGroup {
	slices.SortFunc(all, func(a, b lb.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func certificates(all ...lb.Certificate) []lb.Certificate {
	slices.SortFunc(all, func(a, b lb.Certificate) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Listening returns a target that answers requests on this machine until the test ends.
func Listening[R T](t R) lb.Target {
	target, stop, err := Listen()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(stop)
	return target
}

// Listen returns a target that answers requests on this machine until stop is called.
func Listen() (target lb.Target, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return lb.Target{}, nil, fmt.Errorf("listening as a target: %w", err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return lb.Target{Address: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port)}, func() {
		_ = server.Close()
	}, nil
}

// certificate returns a new certificate for a host, with its key.
func certificate(t T, host string) lb.Certificate {
	t.Helper()
	c, err := selfsigned.Certificate(host)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// withoutSettings returns a desired load balancer without the parts that an observation lacks.
func withoutSettings(l lb.LoadBalancer) lb.LoadBalancer {
	l.Settings = routing.Settings{}
	if l.Empty() {
		return l
	}
	l.Listeners, l.TargetGroups, l.Certificates = slices.Clone(l.Listeners),
		slices.Clone(l.TargetGroups), slices.Clone(l.Certificates)
	for i := range l.Listeners {
		l.Listeners[i].Settings = lb.ListenerSettings{}
	}
	for i := range l.TargetGroups {
		l.TargetGroups[i].Health, l.TargetGroups[i].Targets = routing.HealthCheck{}, nil
	}
	for i := range l.Certificates {
		l.Certificates[i].Secrets, l.Certificates[i].Pair = nil, nil
	}
	return l
}

// toLoadBalancer returns an observation without the parts that only an existing load balancer has.
func toLoadBalancer(o *lb.Observed) lb.LoadBalancer {
	l := lb.LoadBalancer{Key: o.Key, Digest: o.Digest}
	for _, seen := range o.Listeners {
		l.Listeners = append(l.Listeners, seen.Plain())
	}
	for _, g := range o.TargetGroups {
		l.TargetGroups = append(l.TargetGroups, g.TargetGroup)
	}
	for _, c := range o.Certificates {
		l.Certificates = append(l.Certificates, c.Certificate)
	}
	return l
}

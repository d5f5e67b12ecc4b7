package status

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file makes the report of what the compiler made, and of what the operator says.

// Input is what a report is made of.
type Input struct {
	Objects     ingress.Objects
	Programs    []program.Program
	Diagnostics []diag.Diagnostic
	Problems    manifests.Problems
	Places      manifests.Places
	// Known reports whether the endpoints of a Service are known.
	Known answer.Endpoints
	// Provider is the one that serves classes that name none.
	Provider string
	// Records are what the operator says of load balancers; none without a cluster.
	Records []v1alpha1.LoadBalancer
}

// anyHost is how reports write the host of requests that no other host is named for.
const anyHost = "*"

// Of returns the report.
func Of(in Input) Report {
	b := builder{Input: in, endpoints: endpointsOf(in.Objects.EndpointSlices), lines: map[diag.Source]manifests.Place{},
		reported: map[string]bool{}}
	out := Report{LoadBalancers: []LoadBalancer{}, Hosts: []Host{}, Diagnostics: []Finding{}, Problems: in.Problems}
	if out.Problems == nil {
		out.Problems = manifests.Problems{}
	}
	for _, d := range in.Diagnostics {
		out.Diagnostics = append(out.Diagnostics, b.finding(d))
	}
	slices.SortStableFunc(out.Diagnostics, func(a, b Finding) int {
		return cmp.Compare(rank[a.Severity], rank[b.Severity])
	})
	b.refusals(out.Diagnostics)
	for _, p := range in.Programs {
		out.LoadBalancers = append(out.LoadBalancers, b.loadBalancer(p))
		out.Hosts = append(out.Hosts, b.hosts(p)...)
	}
	for i := range in.Records {
		if r := &in.Records[i]; !b.reported[r.Spec.Key] && r.Status.Memory.Binding == nil && r.Status.Memory.Adoption == nil {
			out.LoadBalancers = append(out.LoadBalancers, b.leaving(r))
		}
	}
	out.Hosts = append(out.Hosts, b.unserved()...)
	order := map[string]int{stateAttention: 0, stateUnknown: 1, stateOK: 2}
	slices.SortStableFunc(out.LoadBalancers, func(a, b LoadBalancer) int {
		return cmp.Or(order[a.State]-order[b.State], cmp.Compare(a.Key, b.Key))
	})
	slices.SortStableFunc(out.Hosts, func(a, b Host) int {
		return cmp.Or(compareLast(a.Host == anyHost, b.Host == anyHost),
			cmp.Compare(strings.TrimPrefix(a.Host, "*."), strings.TrimPrefix(b.Host, "*.")), cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Port, b.Port), cmp.Compare(a.LoadBalancer, b.LoadBalancer))
	})
	out.Summary = summaryOf(out, in)
	return out
}

// compareLast puts true behind false.
func compareLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

var rank = map[diag.Severity]int{diag.Error: 0, diag.Warning: 1, diag.Info: 2}

func summaryOf(r Report, in Input) Summary {
	s := Summary{LoadBalancers: len(r.LoadBalancers), Ingresses: len(in.Objects.Ingresses),
		Findings: output.TallyOf(in.Diagnostics, len(in.Problems))}
	names := map[string]bool{}
	for _, h := range r.Hosts {
		if h.Host != anyHost {
			names[h.Host] = true
		}
		s.Routes += len(h.Routes)
	}
	for _, l := range r.LoadBalancers {
		if l.State == stateAttention {
			s.Attention++
		}
	}
	s.Hosts = len(names)
	return s
}

// A builder makes a report.
type builder struct {
	Input
	endpoints map[string]*Targets  // by namespace/name of Services
	reported  map[string]bool      // keys of LoadBalancers that have a program
	refused   map[string][]Finding // by host
	ingresses map[string]*networkingv1.Ingress
	lines     map[diag.Source]manifests.Place
}

// endpointsOf counts the endpoints of Services, as the specification of EndpointSlice has it: unknown readiness is ready.
func endpointsOf(all []*discoveryv1.EndpointSlice) map[string]*Targets {
	out := map[string]*Targets{}
	seen := map[string]map[string]bool{}
	for _, s := range all {
		name := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		if out[name] == nil {
			out[name], seen[name] = &Targets{}, map[string]bool{}
		}
		for _, e := range s.Endpoints {
			at := strings.Join(e.Addresses, " ")
			switch {
			case seen[name][at]: // a slice for each port, or of each IP family
			case e.Conditions.Ready == nil || *e.Conditions.Ready:
				out[name].Ready++
			default:
				out[name].NotReady++
			}
			seen[name][at] = true
		}
	}
	return out
}

func (b *builder) place(s diag.Source) manifests.Place {
	if at, done := b.lines[s]; done {
		return at
	}
	object := diag.Source{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
	at, _ := b.Places.Of(object.String(), s.Field)
	b.lines[s] = at
	return at
}

func (b *builder) finding(d diag.Diagnostic) Finding {
	at := b.place(d.Source)
	f := Finding{Diagnostic: d, Namespace: d.Source.Namespace, File: at.File, Line: at.Line,
		Page: "docs/reference/diagnostics.md#" + strings.ToLower(string(d.Reason))}
	if i := slices.IndexFunc(diag.Reasons, func(r diag.Doc) bool { return r.Reason == d.Reason }); i >= 0 {
		plain := diag.Reasons[i].Plain()
		f.Meaning, f.Remedy = plain.Meaning, plain.Remedy
	}
	return f
}

// refusals finds the hosts that errors are about: that of the rule, or all of an Ingress.
func (b *builder) refusals(all []Finding) {
	b.refused = map[string][]Finding{}
	b.ingresses = map[string]*networkingv1.Ingress{}
	for _, ing := range b.Objects.Ingresses {
		b.ingresses[ing.Namespace+"/"+ing.Name] = ing
	}
	for _, f := range all {
		ing := b.ingresses[f.Source.Object()]
		if f.Severity != diag.Error || f.Source.Kind != "Ingress" || ing == nil {
			continue
		}
		rule := -1
		if rest, found := strings.CutPrefix(f.Source.Field, "spec.rules["); found {
			number, _, _ := strings.Cut(rest, "]")
			if n, err := strconv.Atoi(number); err == nil {
				rule = n
			}
		}
		named := map[string]bool{}
		for i, r := range ing.Spec.Rules {
			if host := cmp.Or(r.Host, anyHost); (rule < 0 || rule == i) && !named[host] {
				named[host] = true
				b.refused[host] = append(b.refused[host], f)
			}
		}
	}
}

// hosts returns the hosts of a load balancer, on each of its ports.
func (b *builder) hosts(p program.Program) []Host {
	var out []Host
	for _, l := range p.Table.Listeners {
		for _, level := range p.Table.Levels(l.Port) {
			name := cmp.Or(string(level.Host), anyHost)
			h := Host{Host: name, Port: l.Port, Protocol: string(l.Protocol), LoadBalancer: p.LoadBalancer.Key,
				Routes: []Route{}, Refused: []Finding{}, RefusedPaths: []Route{}}
			h.Default = b.miss(p, l.Port, level)
			live, hidden := level.Reachable()
			before := map[string][]*routing.Route{}
			for _, r := range live {
				h.Routes = append(h.Routes, b.route(p, l.Port, level, r, before))
				key := r.Path.Value
				if r.Path.Type > routing.Prefix {
					key = ""
				}
				before[key] = append(before[key], r)
			}
			for _, lost := range hidden {
				r := b.answered(p, l.Port, level, lost.Route.Action, lost.Route.Path.Value)
				b.describe(&r, lost.Route)
				r.Unreachable = true
				for _, by := range lost.By {
					r.Behind = append(r.Behind, by.Source.String())
				}
				h.Routes = append(h.Routes, r)
			}
			h.Refused = append(h.Refused, b.refused[name]...)
			h.RefusedPaths = append(h.RefusedPaths, b.refusedPaths(p, level, h)...)
			if level.Host == routing.Any && len(h.Routes) == 0 && level.Miss == nil {
				continue // the load balancer answers 404, as it does without any host
			}
			out = append(out, h)
		}
	}
	for _, h := range out {
		b.refused[h.Host] = nil
	}
	return out
}

// refusedPaths returns the paths of refused Ingresses that a host does not serve, with the answers that requests get instead.
func (b *builder) refusedPaths(p program.Program, level *precedence.Level, of Host) (out []Route) {
	known := map[string]bool{}
	for _, r := range of.Routes {
		known[r.Source] = true
	}
	for _, f := range of.Refused {
		for i, rule := range b.ingresses[f.Source.Object()].Spec.Rules {
			if cmp.Or(rule.Host, anyHost) != of.Host || rule.HTTP == nil {
				continue
			}
			for j, path := range rule.HTTP.Paths {
				source := f.Source.At(fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j))
				q, err := answer.Ask(p.Table.URL(of.Port, level.Host, routing.Sendable(cmp.Or(path.Path, "/"))))
				if !concerns(f.Source.Field, source.Field) || known[source.String()] || err != nil {
					continue
				}
				known[source.String()] = true
				q.Request.Method = http.MethodGet
				at, r := b.place(source), b.answered(p, of.Port, level, p.Table.Match(q.Request).Action, cmp.Or(path.Path, "/"))
				r.Path, r.RefusedFor = path.Path, f.Reason
				if path.PathType != nil {
					r.Type = string(*path.PathType)
				}
				r.Ingress, r.Source, r.File, r.Line = source.Object(), source.String(), at.File, at.Line
				out = append(out, r)
			}
		}
	}
	return out
}

// concerns reports whether an error about a field is one about a path: that of the path or within it, or that of what has the path.
func concerns(field, path string) bool {
	return !strings.Contains(field, ".paths[") || field == path || strings.HasPrefix(field, path+".")
}

// unserved returns the hosts that no load balancer names, as their Ingresses are refused.
func (b *builder) unserved() []Host {
	var out []Host
	for host, all := range b.refused {
		if len(all) > 0 {
			out = append(out, Host{Host: host, Routes: []Route{}, Refused: all, RefusedPaths: []Route{},
				Default: Route{Answer: "not served: the Ingresses that name the host are refused"}})
		}
	}
	return out
}

func (b *builder) route(p program.Program, port int32, level *precedence.Level, r *routing.Route,
	before map[string][]*routing.Route) Route {
	others := slices.Concat(before[r.Path.Value], before[""])
	path, found := p.Table.Witness(r.Owner.Namespace, r.Path, others)
	out := b.answered(p, port, level, r.Action, cmp.Or(path, r.Path.Value))
	if !found {
		out.URL = ""
	}
	b.describe(&out, r)
	return out
}

func (b *builder) describe(out *Route, r *routing.Route) {
	at := b.place(r.Source)
	out.Path, out.Type, out.When = r.Path.Value, r.Path.Type.String(), r.When.String()
	out.Ingress, out.Source, out.File, out.Line = r.Owner.String(), r.Source.String(), at.File, at.Line
}

// answered is what an action does with a request for a path of a host.
func (b *builder) answered(p program.Program, port int32, level *precedence.Level, a routing.Action, path string) Route {
	url := p.Table.URL(port, level.Host, routing.Sendable(path))
	q, err := answer.Ask(url)
	if err != nil {
		url = ""
	}
	q.Request.Method = http.MethodGet
	outcome := answer.OutcomeOf(p, a, q, b.Known)
	out := Route{URL: url, Answer: outcome.String(), Outcome: outcome}
	if a.Auth != nil {
		out.SignIn = a.Auth.String()
	}
	if a.Rewrite != nil {
		out.Rewrite = a.Rewrite.String()
	}
	for _, w := range a.Forward {
		if t := b.endpoints[p.Table.Backends[w.Backend].Service]; t != nil {
			if out.Endpoints == nil {
				out.Endpoints = &Targets{}
			}
			out.Endpoints.Ready += t.Ready
			out.Endpoints.NotReady += t.NotReady
		}
	}
	return out
}

// miss returns the answer to requests that match no route of a host.
func (b *builder) miss(p program.Program, port int32, level *precedence.Level) Route {
	if level.Miss != nil {
		out := b.answered(p, port, level, level.Miss.Action, "/")
		at := b.place(level.Miss.Source)
		out.URL, out.Ingress, out.Source = "", level.Miss.Owner.String(), level.Miss.Source.String()
		out.File, out.Line = at.File, at.Line
		return out
	}
	out := b.answered(p, port, level, routing.NotFound(), "/")
	out.URL = ""
	if len(level.Next) > 0 {
		out.Answer = "the less specific hosts answer"
	}
	return out
}

func conditionsOf(all []metav1.Condition) []Condition {
	out := []Condition{}
	for _, c := range all {
		out = append(out, Condition{c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC()})
	}
	return out
}

// diagnosticsOf returns the diagnostics of findings.
func diagnosticsOf(all []Finding) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, f := range all {
		out = append(out, f.Diagnostic)
	}
	return out
}

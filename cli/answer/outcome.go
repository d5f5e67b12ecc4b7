package answer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the response to a client.

// An Outcome is the response to a client: of a Service, a fixed response or a redirect; none if no
// listener accepts the connection.
type Outcome struct {
	Kind    string              `json:"kind"`
	Service string              `json:"service,omitempty"`
	Port    routing.ServicePort `json:"port,omitempty"`
	// TargetGroup is one that others made, in place of a Service.
	TargetGroup string  `json:"targetGroup,omitempty"`
	Services    []Share `json:"services,omitempty"` // where there are several
	// Status is that of a fixed response or a redirect, or 503 for Services without targets.
	Status   int    `json:"status,omitempty"`
	Location string `json:"location,omitempty"`
}

// unanswered is the kind of an outcome without a response.
const unanswered = "none"

// A Share is a Service that gets a part of the requests.
type Share struct {
	Service string              `json:"service,omitempty"`
	Port    routing.ServicePort `json:"port,omitempty"`
	// TargetGroup is one that others made, in place of a Service.
	TargetGroup string `json:"targetGroup,omitempty"`
	Weight      int32  `json:"weight"`
	// Status is 503 if the Service has no targets, else 0.
	Status int `json:"status,omitempty"`
}

// Endpoints reports whether the endpoints of a port of a Service, namespace/name, are known. For files
// they often are not.
type Endpoints func(service string, port routing.ServicePort) bool

func (o Outcome) String() string {
	switch o.Kind {
	case unanswered:
		return "nothing: no load balancer accepts such a connection"
	case "fixed":
		return fmt.Sprintf("fixed response %d", o.Status)
	case "redirect":
		return fmt.Sprintf("redirect %d to %s", o.Status, printable.Word(o.Location))
	}
	if len(o.Services) == 0 {
		text := fmt.Sprintf("Service %s port %s", o.Service, o.Port)
		if o.TargetGroup != "" {
			text = "target group " + o.TargetGroup
		}
		if o.Status != 0 {
			return fmt.Sprintf("%d, because %s has no targets", o.Status, text)
		}
		return text
	}
	var shares []string
	for _, s := range o.Services {
		text := fmt.Sprintf("%s port %s (weight %d", s.Service, s.Port, s.Weight)
		if s.TargetGroup != "" {
			text = fmt.Sprintf("target group %s (weight %d", s.TargetGroup, s.Weight)
		}
		if s.Status != 0 && o.Status == 0 {
			text += fmt.Sprintf(", answered %d: it has no targets", s.Status)
		}
		shares = append(shares, text+")")
	}
	text := strings.Join(shares, ", ")
	if !slices.ContainsFunc(o.Services, func(s Share) bool { return s.TargetGroup != "" }) {
		text = "Services " + text
	}
	if o.Status != 0 {
		return fmt.Sprintf("%d, because none has targets of the %s", o.Status, text)
	}
	return text
}

// Short returns the outcome in few characters, for a table.
func (o Outcome) Short() string {
	if o.Kind == unanswered {
		return "none"
	}
	if o.Kind != "service" {
		return fmt.Sprintf("%d", o.Status)
	}
	text := fmt.Sprintf("%s:%s", o.Service, o.Port)
	if o.TargetGroup != "" {
		text = o.TargetGroup
	}
	if len(o.Services) > 0 {
		text += " and others"
	}
	return text
}

// LacksTargets reports whether some or all requests are answered 503.
func (o Outcome) LacksTargets() bool {
	return o.Kind == "service" && (o.Status != 0 || slices.ContainsFunc(o.Services,
		func(s Share) bool { return s.Status != 0 && s.Weight > 0 }))
}

// LacksTargets reports whether a diagnostic says why a Service that answers has no targets.
func (e Explanation) LacksTargets(d diag.Diagnostic) bool {
	causes := []diag.Reason{diag.NoEndpoints, diag.NoNodes, diag.EndpointForeign}
	return e.Outcome.LacksTargets() && d.Source.Object() == e.Ingress &&
		d.Severity != diag.Info && slices.Contains(causes, d.Reason)
}

// OutcomeOf returns the response that an action gives. Of several Services, it names the one with
// the largest weight. A load balancer answers requests for a target group without targets 503
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-troubleshooting.html,
// "HTTP 503: Service unavailable"), also if another group of the same forward has targets.
func OutcomeOf(p program.Program, a routing.Action, q Question, known Endpoints) Outcome {
	switch {
	case a.Fixed != nil:
		return Outcome{Kind: "fixed", Status: a.Fixed.Status}
	case a.Redirect != nil:
		return Outcome{Kind: "redirect", Status: a.Redirect.Status,
			Location: a.Location(q.Request, q.Scheme, q.Query)}
	}
	out := Outcome{Kind: "service"}
	var heaviest int32 = -1
	var shares []Share
	for _, w := range a.Forward {
		backend := p.Table.Backends[w.Backend]
		if w.Weight > heaviest {
			heaviest, out.Service, out.Port = w.Weight, backend.Service, backend.Port
			out.TargetGroup = backend.TargetGroup
		}
		share := Share{Service: backend.Service, Port: backend.Port, TargetGroup: backend.TargetGroup,
			Weight: w.Weight}
		if len(backend.Targets) == 0 && backend.TargetGroup == "" && known(backend.Service, backend.Port) {
			share.Status = http.StatusServiceUnavailable
		}
		shares = append(shares, share)
	}
	if !slices.ContainsFunc(shares, func(s Share) bool { return s.Status == 0 && s.Weight > 0 }) {
		out.Status = http.StatusServiceUnavailable
	}
	if len(shares) > 1 {
		out.Services = shares
	}
	return out
}

// Package answer computes which Service answers a request, by which rule, and why.
package answer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file computes the answer twice: from the specification and from the rules. The two must
// agree.

// An Explanation is a request, its answer and the reasons. It is the JSON that explain prints: keys
// may be added, and none may change.
type Explanation struct {
	URL          string `json:"url"`
	LoadBalancer lb.Key `json:"loadBalancer"`
	// LoadBalancers has those that name the host, and if Named is false those with a listener on the
	// port.
	LoadBalancers []lb.Key `json:"loadBalancers"`
	// Named reports whether a load balancer names the host, or a wildcard that covers it.
	Named   bool     `json:"named"`
	Outcome Outcome  `json:"outcome"`
	Ingress string   `json:"ingress"`
	Source  string   `json:"source"`
	Rule    string   `json:"rule"`
	Over    []beaten `json:"over"`
	Why     string   `json:"why"`
	// Others has the answers of the other load balancers.
	Others []Other `json:"others"`
	// Hosts has the nearest hosts that are named, if Named is false.
	Hosts []string `json:"hosts"`
	// Paths has the nearest paths of the host, if none of its paths matches.
	Paths []Near `json:"paths"`
	// Ports has the other ports of the load balancer that have a route for the request, if its own has none.
	Ports []OtherPort `json:"ports"`
	// Refused has the refusals of Ingresses that name the host.
	Refused []Refusal `json:"refused"`

	pathsLeft int // paths of the host besides Paths
	// claimed is the host that the load balancer names, and sharing how many load balancers name it.
	claimed routing.Host
	sharing int
}

// An Other is the answer of a further load balancer.
type Other struct {
	LoadBalancer lb.Key  `json:"loadBalancer"`
	Outcome      Outcome `json:"outcome"`
	Ingress      string  `json:"ingress"`
	Source       string  `json:"source"`
	Rule         string  `json:"rule"`
	Why          string  `json:"why"`
}

// An OtherPort has a route for a request that its port has none for.
type OtherPort struct {
	Port    int32   `json:"port"`
	URL     string  `json:"url"`
	Outcome Outcome `json:"outcome"`
	Source  string  `json:"source"`
}

// A beaten route matches the request, too, but with lower precedence.
type beaten struct {
	Source  string `json:"source"`
	Request string `json:"request"`
}

// Explain returns the answers of the load balancers to which the DNS name of the host may lead: one
// that names the host before those that name a wildcard, and of these that of the oldest Ingress. If
// no load balancer names it, those with a listener on the port answer.
func Explain(programs []program.Program, q Question, known Endpoints) (Explanation, error) {
	e := Explanation{URL: q.Asked, LoadBalancers: []lb.Key{}, Over: []beaten{}, Others: []Other{},
		Hosts: []string{}, Paths: []Near{}, Ports: []OtherPort{}}
	var asked []program.Program
	asked, e.claimed, e.sharing = naming(programs, q.Request.Hostname())
	if e.Named = len(asked) > 0; !e.Named {
		asked = listening(programs, q.Request.Port)
		e.Hosts = nearestHosts(programs, q.Request.Hostname())
	}
	if len(asked) == 0 {
		e.Outcome = Outcome{Kind: unanswered}
		e.Why = fmt.Sprintf("no load balancer names the host, and none has a listener on port %d%s",
			q.Request.Port, portsOf(programs, "; there are listeners on "))
		return e, nil
	}
	var wrong []error
	for i, p := range asked {
		e.LoadBalancers = append(e.LoadBalancers, p.LoadBalancer.Key)
		if i == 0 {
			wrong = append(wrong, FillAnswer(p, &e, q, known))
			continue
		}
		var other Explanation
		wrong = append(wrong, FillAnswer(p, &other, q, known))
		e.Others = append(e.Others, Other{p.LoadBalancer.Key, other.Outcome, other.Ingress,
			other.Source, other.Rule, other.Why})
	}
	return e, errors.Join(wrong...)
}

// FillAnswer fills in how a load balancer answers a request.
func FillAnswer(p program.Program, e *Explanation, q Question, known Endpoints) error {
	e.LoadBalancer = p.LoadBalancer.Key
	listener := p.After.Listener(q.Request.Port)
	if listener == nil {
		e.Outcome = Outcome{Kind: unanswered}
		e.Why = fmt.Sprintf("there is no listener on port %d%s", q.Request.Port,
			portsOf([]program.Program{p}, "; it listens on "))
		e.Ports = otherPorts(p, q, known)
		return nil
	}
	if spoken := strings.ToLower(string(listener.Protocol)); spoken != q.Scheme {
		e.Outcome = Outcome{Kind: unanswered}
		e.Why = fmt.Sprintf("port %d speaks %s, so ask for %s://", q.Request.Port, listener.Protocol,
			spoken)
		return nil
	}
	said := p.Table.Match(q.Request)
	place, done := p.Matcher(listener).Match(q.Request)
	e.Rule = rulePlace(listener, place)
	if want := lb.FromRouting(said.Action); want.Key() != done.Key() {
		return fmt.Errorf("%s: the specification and the rules of %s disagree: "+
			"%s by %s, but %s by rule %s",
			q.Asked, e.LoadBalancer, want, cmp.Or(said.Source.String(), "default"), done, e.Rule)
	}
	e.Outcome = OutcomeOf(p, said.Action, q, known)
	e.Source, e.Why = said.Source.String(), said.Why()
	if said.Owner.Name != "" {
		e.Ingress = said.Owner.String()
	}
	for _, route := range said.Over() {
		e.Over = append(e.Over, beaten{route.Source.String(), q.Asked})
	}
	if said.Route == nil {
		e.Paths, e.pathsLeft = nearestPaths(p.Table.Level(q.Request.Port, said.Host), q.Request)
		e.Ports = otherPorts(p, q, known)
	}
	return nil
}

// portsOf returns the ports of the listeners after some words; empty if there is none.
func portsOf(programs []program.Program, words string) string {
	var ports []int32
	for _, p := range programs {
		for _, l := range p.After.Listeners {
			ports = append(ports, l.Port)
		}
	}
	slices.Sort(ports)
	var texts []string
	for _, port := range slices.Compact(ports) {
		texts = append(texts, fmt.Sprint(port))
	}
	if len(texts) == 0 {
		return ""
	}
	return words + strings.Join(texts, ", ")
}

// rulePlace returns the port and the priority of a rule.
func rulePlace(l *lb.ObservedListener, rule int) string {
	if rule < 0 {
		return fmt.Sprintf("%d/default", l.Port)
	}
	return fmt.Sprintf("%d/%d", l.Port, l.Rules[rule].Priority)
}

package expectations

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/routing"
)

// This file reports hosts that are closed: an expectation rules out the answer of the Ingress that
// would answer for a host after a namespace has given it up.

// A Closing is a host that is closed, and the offence that it would be otherwise.
type Closing struct {
	Offence
	GivenUpBy string // the namespace; "" if it is not known
}

// is reports whether a closing is about requests for a host on a port.
func (c Closing) is(host routing.Host, port int32) bool { return c.Host.Covers(host) && c.Port == port }

// Without returns the judgement without the offences of hosts that are closed.
func (j Judgement) Without(closings []Closing) Judgement {
	isClosed := func(host routing.Host, port int32) bool {
		return slices.ContainsFunc(closings, func(c Closing) bool { return c.is(host, port) })
	}
	j.Offences = slices.DeleteFunc(slices.Clone(j.Offences), func(o Offence) bool {
		return isClosed(o.Host, o.Port)
	})
	if slices.ContainsFunc(closings, func(c Closing) bool { return c.Why == j.AddedRequest }) {
		if j.AddedRequest = ""; len(j.Offences) > 0 {
			j.AddedRequest = j.Offences[0].Why
		}
	}
	var left []expect.Result
	for _, r := range j.NewlyViolated {
		r.Violations = slices.DeleteFunc(slices.Clone(r.Violations), func(v expect.Violation) bool {
			return isClosed(v.Host.Named(), v.Port)
		})
		r.Undecided = slices.DeleteFunc(slices.Clone(r.Undecided), func(u compare.Undecided) bool {
			return isClosed(expect.Host(u.Host).Named(), u.Port)
		})
		if len(r.Violations)+len(r.Undecided) > 0 {
			left = append(left, r)
		}
	}
	j.NewlyViolated = left
	return j
}

// firstOfHosts returns the first closing of each host of each Ingress: others are on other ports.
func (j Judgement) firstOfHosts() (out []Closing) {
	for _, c := range j.Closings {
		if !slices.ContainsFunc(out, func(o Closing) bool { return o.Host == c.Host && o.Next == c.Next }) {
			out = append(out, c)
		}
	}
	return out
}

// closed describes the host, and the namespace that named it last.
func (c Closing) closed() string {
	if c.GivenUpBy == "" {
		return fmt.Sprintf("host %s, which no rule names", c.Host)
	}
	return fmt.Sprintf("host %s, which namespace %s has given up", c.Host, c.GivenUpBy)
}

// would describes what is wrong with the answer while the host is open.
func (c Closing) would() string {
	if c.Undecided {
		return c.Why
	}
	return "this would violate " + c.Why
}

// closingTexts describes the closed hosts to administrators.
func (j Judgement) closingTexts() (out []string) {
	all := j.firstOfHosts()
	for _, c := range all[:min(len(all), mostReported)] {
		why := "otherwise " + c.would()
		if j.Set.Unread != "" {
			why = "otherwise " + c.Why
		}
		out = append(out, fmt.Sprintf("%s, answers 404: %s", c.closed(), why))
	}
	if more := len(all) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more hosts answer 404 likewise", more))
	}
	return out
}

// closingDiagnostics tells the Ingresses that cover closed hosts.
func (j Judgement) closingDiagnostics() (out []diag.Diagnostic) {
	for _, c := range j.firstOfHosts() {
		why, end := c.would(), "the expectation is changed"
		if j.Set.Unread != "" {
			why = fmt.Sprintf("expectations of ConfigMap %s: %s; otherwise %s", j.Set.ConfigMap,
				j.Set.Unread, c.Why)
			end = "the ConfigMap is corrected"
		}
		ref := cluster.RefFrom(cluster.KindIngress, c.Next)
		out = append(out, diag.Diagnostic{Severity: diag.Warning, Reason: diag.HostClosed,
			Source: diag.Source{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name},
			Message: fmt.Sprintf("it does not answer for %s: %s; requests for the host are answered 404; it "+
				"ends when %s, when this Ingress or allowedHosts of the class is changed so that this one "+
				"does not answer such requests, or when an Ingress names the host",
				c.closed(), why, end)})
	}
	return out
}

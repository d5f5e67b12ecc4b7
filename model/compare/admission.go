package compare

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file compares what ports of different load balancers ask for before a request gets to a
// Service.

// An admission is all that a request has to pass.
type admission struct {
	table    *precedence.Table
	listener *routing.Listener
	auth     *routing.Auth // nil if users need not sign in
	shown    certificate   // for the host
}

// A loss is a protection that an admission had, and another one does not have, or may not have.
type loss struct {
	protection Protection // Less or Unknown
	text       string
	inbound    bool // it is about address ranges
}

// losses returns what an admission before asks for and one after does not.
func losses(before, after admission) []loss {
	var out []loss
	add := func(p Protection, setting, old, now string) {
		if p == Less || p == Unknown {
			out = append(out, loss{p, fmt.Sprintf("%s: %s, now %s", setting, old, now),
				setting == "inbound ranges"})
		}
	}
	if before.auth != nil && after.auth == nil {
		out = append(out, loss{protection: Less, text: "users no longer have to sign in"})
	} else if before.auth != nil {
		if p, details := compareAuth(before.auth, after.auth); p == Less || p == Unknown {
			out = append(out, loss{protection: p, text: strings.Join(details, "; ")})
		}
	}
	old, now := before.listener, after.listener
	if old.Protocol == routing.HTTPS && now.Protocol != routing.HTTPS {
		add(Less, "protocol", string(old.Protocol), string(now.Protocol))
	}
	if schemeOf(before.table) != internetFacing && schemeOf(after.table) == internetFacing {
		add(Less, "scheme", schemeOf(before.table), internetFacing)
	}
	if admitsMore(old.Inbound, now.Inbound) {
		add(Less, "inbound ranges", listed(old.Inbound, everybody), listed(now.Inbound, everybody))
	}
	if a, b := mutualOf(old.Mutual), mutualOf(now.Mutual); a != b {
		add(compareMutual(old.Mutual, now.Mutual), "mutual TLS", a, b)
	}
	if old.Protocol == routing.HTTPS && now.Protocol == routing.HTTPS {
		if old.TLSPolicy != now.TLSPolicy {
			add(Unknown, "TLS policy", orDefault(old.TLSPolicy), orDefault(now.TLSPolicy))
		}
		a, b := before.shown, after.shown
		add(compareCertificate(a, b), "certificate", a.String(), b.String())
	}
	for _, e := range wholeExposures(before.table, after.table) {
		add(e.Protection, e.Setting, e.Before, e.After)
	}
	return out
}

// String describes an admission.
func (a admission) String() string {
	said := []string{string(a.listener.Protocol), schemeOf(a.table)}
	if a.auth != nil {
		said = append(said, "sign-in with "+a.auth.String())
	}
	if len(a.listener.Inbound) > 0 {
		said = append(said, "inbound ranges "+strings.Join(a.listener.Inbound, ", "))
	}
	if m := a.listener.Mutual; m.Verifies() {
		said = append(said, "mutual TLS "+mutualOf(m))
	}
	if a.listener.TLSPolicy != "" {
		said = append(said, "TLS policy "+a.listener.TLSPolicy)
	}
	if p := a.table.Protection; p.HasWebACL() {
		said = append(said, "web ACL "+p.WebACL)
	}
	return fmt.Sprintf("served before by %s port %d: %s", a.table.Key, a.listener.Port,
		strings.Join(said, "; "))
}

// A verdict compares the admission of a request with those before.
type verdict struct {
	Protection
	because string
	details []string // those before
}

// worseThan reports whether a verdict is worse than another.
func (v verdict) worseThan(o verdict) bool {
	order := []Protection{Same, More, Unknown, Less}
	return slices.Index(order, v.Protection) > slices.Index(order, o.Protection)
}

// A way is what a port asked for before it forwarded a request to Services.
type way struct {
	admission string // of admissions, or own
	backends  []string
}

// waysOf returns the ways in answers.
func waysOf(answers []string) []way {
	var out []way
	for _, texts := range answers {
		for text := range strings.SplitSeq(texts, "\n") {
			if fields := strings.Split(text, "\t"); fields[0] != "" {
				out = append(out, way{fields[0], fields[1:]})
			}
		}
	}
	return out
}

// waysTo returns the ways to a Service; all if there is none, since the Service is new to the
// request. That another Service was less protected, as one below a wildcard, says nothing about it.
func waysTo(all []way, backend string) []way {
	var out []way
	for _, w := range all {
		if slices.Contains(w.backends, backend) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// verdict compares the answer after with those before, for each Service that gets the request now.
func (c *servedComparison) verdict(answers []string) verdict {
	out := verdict{Protection: Same}
	before := waysOf(answers[1:])
	for _, now := range waysOf(answers[:1]) {
		for _, backend := range now.backends {
			if v := c.since(waysTo(before, backend), c.admissions[now.admission]); v.worseThan(out) {
				out = v
			}
		}
	}
	return out
}

// since compares an admission with ways before. The request is less protected if each of them asked for
// something that is not asked for now.
func (c *servedComparison) since(ways []way, after admission) verdict {
	same := verdict{Protection: Same}
	var worst []loss
	var ranges, details []string
	for _, w := range ways {
		if w.admission == own {
			return same
		}
		before := c.admissions[w.admission]
		lost := losses(before, after)
		if len(lost) == 0 {
			return same
		}
		if len(lost) == 1 && lost[0].inbound {
			ranges = append(ranges, before.listener.Inbound...)
		}
		if worst == nil || weight(lost) < weight(worst) {
			worst = lost
		}
		details = append(details, before.String())
	}
	if worst == nil || len(ranges) > 0 && !admitsMore(ranges, after.listener.Inbound) {
		return same
	}
	return verdict{worstOf(worst), textsOf(worst), bounded(details)}
}

// weight orders losses: those that may be none first, then by number.
func weight(lost []loss) int {
	if worstOf(lost) == Unknown {
		return len(lost)
	}
	return 1000 + len(lost)
}

func worstOf(lost []loss) Protection {
	if slices.ContainsFunc(lost, func(l loss) bool { return l.protection == Less }) {
		return Less
	}
	return Unknown
}

func textsOf(lost []loss) string {
	var out []string
	for _, l := range lost {
		out = append(out, l.text)
	}
	return strings.Join(out, "; ")
}

// bounded returns the first texts, and the number of the others.
func bounded(texts []string) []string {
	const most = 10
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("%d more", len(texts)-most))
}

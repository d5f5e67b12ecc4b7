package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file keeps a load balancer within its quotas, and its table within its limits. Accepted
// versions stay served: a change that does not fit is refused, that of the newest member first.

// brokenLimits describes the quotas and limits that are exceeded.
func (b Built) brokenLimits(c lb.Capabilities, inUse lb.Counts) []string {
	out := brokenQuotas(b.LoadBalancer, c, inUse)
	if excess := b.Table.Excess(); excess != "" {
		out = append(out, excess)
	}
	return out
}

// brokenQuotas describes the quotas that a load balancer exceeds. Present resources beyond a quota
// are permitted.
func brokenQuotas(l lb.LoadBalancer, c lb.Capabilities, inUse lb.Counts) []string {
	have, most := l.Counts(), c.Limits()
	var out []string
	for _, q := range []struct {
		what              string
		have, most, inUse int
		name              string
	}{
		{"rules", have.Rules, most.Rules, inUse.Rules, c.Quotas.Rules},
		{"target groups", have.TargetGroups, most.TargetGroups, inUse.TargetGroups, c.Quotas.TargetGroups},
		{"certificates besides the default ones", have.Certificates, most.Certificates, inUse.Certificates, c.Quotas.Certificates},
		{"listeners", have.Listeners, most.Listeners, inUse.Listeners, c.Quotas.Listeners},
		{"listeners that verify the certificates of clients", have.Verifying, most.Verifying, inUse.Verifying, ""},
	} {
		if q.most > 0 && q.have > max(q.most, q.inUse) {
			out = append(out, fmt.Sprintf("more %s than the %d that %s allows%s", q.what, q.most, c.Name,
				quotaName(q.name)))
		}
	}
	return out
}

// lacksCertificates reports whether a load balancer has more certificates than the quota.
func lacksCertificates(l lb.LoadBalancer, c lb.Capabilities, inUse lb.Counts) bool {
	most := c.Limits().Certificates
	return most > 0 && l.Counts().Certificates > max(most, inUse.Certificates)
}

// quotaName returns the name of a quota, to follow a message about it.
func quotaName(quota string) string {
	if quota == "" {
		return ""
	}
	return " (quota " + quota + ")"
}

// A concession is a change that is refused, or a member that is left out with its last accepted
// version.
type concession struct {
	ingress.Member
	all bool
	// Shared: several namespaces have members, and this is within the share of one.
	shared bool
}

// fit makes the fewest concessions so that the rest fits. It first refuses the newest changes. If
// accepted versions need more than before, as can happen when an older member is deleted, it leaves
// out the newest members; but not for a lowered limit, as the cloud keeps present resources. What
// namespaces take beyond their share goes before all that is within one (share.go). No concession is
// made for want of an earlier one: what is within a share and served stays if the rest can give way.
func fit(s ingress.Snapshot, f lb.Facts, c lb.Capabilities, whole Built,
	languages *language.Cache, find finder) Built {
	changes := s.Changes()
	kept := s.Refuse(changes).Members
	possible, stages := concessionsOf(changes, kept, func(possible []concession) []bool {
		compiled := func(s ingress.Snapshot) lb.LoadBalancer {
			return compile(s, f, c, languages).LoadBalancer
		}
		closed := closedRules(s, whole.LoadBalancer, compiled)
		return beyondShares(possible, s.Alone(), s.Refuse(changes).Alone(), closed,
			whole.LoadBalancer, c, f.InUse, compiled)
	})
	compiled := func(made []int) Built {
		if len(made) == 0 {
			return whole
		}
		var back, out []ingress.Member
		for _, i := range made {
			if possible[i].all {
				out = append(out, possible[i].Member)
			} else {
				back = append(back, possible[i].Member)
			}
		}
		return compile(s.Refuse(back).Without(out), f, c, languages)
	}
	var built *Built // the last one that fits
	known := newNeeds(s, kept, whole, c, f.InUse, possible)
	suffice := func(made []int) bool {
		tried := compiled(made)
		if len(tried.brokenLimits(c, f.InUse)) > 0 {
			return false
		}
		built = &tried
		known.note(tried.LoadBalancer)
		return true
	}
	if i := slices.IndexFunc(stages, func(n int) bool { return suffice(firstOnes(n)) }); i >= 0 {
		possible = possible[:stages[i]]
	} else {
		// members that are leaving need more: the cloud decides
		possible = slices.DeleteFunc(possible, func(p concession) bool { return p.all })
		known = newNeeds(s, kept, whole, c, f.InUse, possible)
	}
	made := find(possible, effortFor(s.Routes()+whole.Table.Repeated()), known, suffice)
	if built == nil {
		tried := compiled(made)
		built = &tried
	}
	// The message has no totals, as each change of one would be reported to all.
	broken, reason := strings.Join(whole.brokenLimits(c, f.InUse), ", and "), diag.QuotaExceeded
	if len(brokenQuotas(whole.LoadBalancer, c, f.InUse)) == 0 {
		reason = diag.TooComplex
	}
	message := fmt.Sprintf("%s has no room for it: with everything that is asked for it "+
		"would have %s; ", s.Key, broken)
	several := s.Key.SharedGroup() != ""
	rules := shareOf(whole.LoadBalancer, c, f.InUse, 1).Rules > 0
	reported := map[diag.Source]bool{}
	for _, i := range made {
		if source := possible[i].Source(); !reported[source] {
			reported[source] = true
			built.Diagnostics = append(built.Diagnostics,
				diag.Diagnostic{Severity: diag.Error, Reason: reason,
					Source: source, Message: message + possible[i].order(several, rules)})
		}
	}
	return *built
}

// order says which concessions are made first. Rules: it is about their quota.
func (c concession) order(shared, rules bool) string {
	switch {
	case c.shared && rules:
		return "its namespace alone takes no more than an equal share, but wildcards, rules without a " +
			"host and default backends of one namespace cause rules for the hosts of others: Ingresses " +
			"with these are left out first, the newest before others; an administrator can raise the quota"
	case shared && !c.shared:
		return "the newest of a namespace that takes more than an equal share is left out first"
	}
	return "the newest is left out first"
}

// forOtherHosts reports whether a member has a wildcard, a rule without a host or a default backend.
// Namespaces cause rules together by such members only, so of what is within the shares, they give
// way before those that only have hosts of their own.
func (c concession) forOtherHosts() bool {
	return c.Spec.DefaultBackend != nil ||
		slices.ContainsFunc(c.Spec.Rules, func(r networkingv1.IngressRule) bool {
			return r.Host == "" || routing.Host(r.Host).Wildcard()
		})
}

// concessionsOf returns the possible concessions in order: changes, and then members without
// changes, the newest first. If several namespaces have members, what is beyond their shares is
// first. Stages has the numbers of those that are enough, if possible, before any later one.
func concessionsOf(changes, kept []ingress.Member,
	beyondShares func([]concession) []bool) (possible []concession, stages []int) {
	several := false
	add := func(m ingress.Member, all bool) {
		possible = append(possible, concession{Member: m, all: all})
		several = several || m.Owner.Namespace != possible[0].Owner.Namespace
	}
	for _, m := range changes {
		add(m, false)
	}
	for _, m := range slices.Backward(kept) {
		if !m.Leaving {
			add(m, true)
		}
	}
	if !several {
		return possible, []int{len(changes), len(possible)}
	}
	var first, last []concession
	for i, beyond := range beyondShares(possible) {
		if beyond {
			first = append(first, possible[i])
		} else {
			possible[i].shared = true
			last = append(last, possible[i])
		}
	}
	rank := func(c concession) int { // the least first
		switch {
		case !c.all && c.forOtherHosts():
			return 0
		case !c.all:
			return 1
		case c.forOtherHosts():
			return 2
		}
		return 3
	}
	slices.SortStableFunc(last, func(a, b concession) int { return rank(a) - rank(b) })
	stages = []int{len(first)}
	for most := 1; most <= 3; most++ {
		n := slices.IndexFunc(last, func(c concession) bool { return rank(c) > most })
		if n < 0 {
			n = len(last)
		}
		stages = append(stages, len(first)+n)
	}
	return append(first, last...), stages
}

// An effort is the number of compiles to find unnecessary concessions: for all namespaces together,
// and then in turn (inturn.go).
type effort struct{ attempts, turns int }

// The bounds of an effort. With the few attempts that it takes to find how many concessions
// suffice, a load balancer is compiled at most about 64 times, and as often again where many
// namespaces are refused, or once for each of these where they are more. One with many routes takes
// long to compile, so it is compiled less often: its routes, those that are repeated for more specific
// hosts too, as often as it is compiled, are at most mostCompiled, unless the fewest attempts take
// more.
const (
	mostAttempts, fewestAttempts = 50, 8
	mostCompiled                 = 200_000
)

// effortFor returns the effort for a load balancer with this many routes.
func effortFor(routes int) effort {
	attempts := min(mostAttempts, max(fewestAttempts, mostCompiled/max(1, routes)))
	return effort{attempts, inTurns * attempts / mostAttempts}
}

// singly is the number of concessions in a row that are undone one by one before several are undone
// at once.
const singly = 8

// A finder finds the concessions to make. It is least, except in tests.
type finder func(possible []concession, with effort, known *needs, suffice func([]int) bool) []int

// firstOnes returns the indices of the first n concessions.
func firstOnes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// least returns the first concessions that suffice, as indices, without those that it turns out not
// to take: one member less can be rules more, and one more rules less. They are given back from the
// last one on, in blocks: after some in a row could be given back, the next block is twice as
// large, and one that does not fit is halved. What is known not to fit takes no attempt, so the
// attempts do not grow with the number of members. After the attempts each namespace has a few of
// its own, and what is left then stays conceded.
func least(possible []concession, with effort, known *needs, suffice func(made []int) bool) []int {
	conceded := 0
	first := sort.Search(len(possible), func(n int) bool {
		for ; conceded < n; conceded++ {
			known.concede(conceded)
		}
		for ; conceded > n; conceded-- {
			known.serve(conceded - 1)
		}
		return !known.exceeded() && suffice(firstOnes(n))
	})
	for ; conceded < first; conceded++ {
		known.concede(conceded)
	}
	for ; conceded > first; conceded-- {
		known.serve(conceded - 1)
	}
	made := firstOnes(first)
	for again := true; again; {
		again = false
		size, row := 1, 0
		for i := len(made); i > 0; {
			from := max(0, i-size)
			fits := false
			if !known.exceeded(made[from:i]...) {
				if with.attempts--; with.attempts < 0 {
					return inTurn(possible, made, i, with.turns, known, suffice)
				}
				fits = suffice(slices.Concat(made[:from], made[i:]))
			}
			switch {
			case fits:
				known.serve(made[from:i]...)
				made, again, row, i = slices.Delete(made, from, i), true, row+i-from, from
				if row >= singly {
					size *= 2
				}
			case i-from > 1:
				size = (i - from) / 2
			default:
				i, row = from, 0
			}
		}
	}
	return made
}

// warnCrowded returns warnings about target groups with more targets than the cloud permits.
func warnCrowded(l lb.LoadBalancer, c lb.Capabilities) []diag.Diagnostic {
	var out []diag.Diagnostic
	tell := func(groups []lb.GroupID, message string) {
		for _, source := range l.OriginsOf(groups) {
			out = append(out, diag.Diagnostic{
				Severity: diag.Warning, Reason: diag.QuotaExceeded, Source: source, Message: message,
			})
		}
	}
	all := 0
	var ids []lb.GroupID
	for _, g := range l.TargetGroups {
		all += len(g.Targets)
		ids = append(ids, g.ID)
		if most := c.TargetsPerGroup; most > 0 && len(g.Targets) > most {
			tell([]lb.GroupID{g.ID}, fmt.Sprintf("Service %s has %d targets, and a target group of %s "+
				"takes %d%s: the others get no requests",
				g.Service, len(g.Targets), c.Name, most, quotaName(c.Quotas.TargetsPerGroup)))
		}
	}
	if most := c.TargetsPerLoadBalancer; most > 0 && all > most {
		tell(ids, fmt.Sprintf("%s has %d targets in all, and %s takes %d%s: some get no requests",
			l.Key, all, c.Name, most, quotaName(c.Quotas.TargetsPerLoadBalancer)))
	}
	return out
}

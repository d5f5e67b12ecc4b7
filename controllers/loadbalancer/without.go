package loadbalancer

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/providers"
)

// This file makes the wanted load balancer without what the cloud rejects. Rules that need it keep
// the action that they have in the cloud, and new ones answer 503, or are left out if the cloud
// rejects the rule itself.

// A place is a rule on a port.
type place struct {
	port int32
	rule string // its MatchKey
}

// A without is a load balancer without what the cloud rejects.
type without struct {
	built  model.Built
	seen   *lb.Observed    // without rules that answer nothing
	held   map[string]bool // Ingresses of which no route changes
	closed map[string]bool // Ingresses whose routes answer 503
	kept   map[string]bool // Ingresses with routes that keep the action that they have in the cloud
	// secrets are the last certificates of Secrets.
	secrets map[string]lb.CertificateID

	groups  map[lb.GroupID]bool // target groups that no rule can begin to use
	created map[place]bool      // rules that cannot be created
	changed map[place]int       // priorities of rules that cannot be changed
	most    int                 // values of a condition
}

// newWithout returns what is wanted without some steps. Routes that need them, and all of held
// Ingresses, keep the action that they have in the cloud; those of closed Ingresses answer 503.
func newWithout(o *outcome, failed []providers.Rejection, held, closed map[string]bool) *without {
	w := &without{
		built: o.Built, seen: withoutHidden(o.Observed), held: held, closed: closed, kept: map[string]bool{},
		secrets: o.Snapshot.Recorded.Certificates, groups: map[lb.GroupID]bool{}, created: map[place]bool{}, changed: map[place]int{},
		most: mostValues(o.Capabilities),
	}
	want := &w.built.LoadBalancer
	want.TargetGroups = slices.Clone(want.TargetGroups)
	want.Listeners = slices.Clone(want.Listeners)
	for i := range want.Listeners {
		want.Listeners[i].Rules = slices.Clone(want.Listeners[i].Rules)
	}
	for _, x := range failed {
		w.leaveOut(x)
	}
	answers := newAnswers()
	for i := range want.Listeners {
		w.changeListener(&want.Listeners[i], answers)
	}
	w.changeGroups()
	w.built.Table = answers.table(w.built.Table)
	return w
}

// withoutHidden returns what is there, without the rules that come after one with the same conditions.
// They answer nothing: a rule got another place, and the old one could not be deleted.
func withoutHidden(seen *lb.Observed) *lb.Observed {
	out := *seen
	out.Listeners = slices.Clone(seen.Listeners)
	for i := range out.Listeners {
		l, known := &out.Listeners[i], map[string]bool{}
		l.Rules = slices.DeleteFunc(slices.Clone(l.Rules), func(r lb.ObservedRule) bool {
			key := r.MatchKey()
			hidden := known[key]
			known[key] = true
			return hidden
		})
	}
	return &out
}

// has reports whether the cloud has a rule that answers something.
func (w *without) has(port int32, priority int) bool {
	l := w.seen.Listener(port)
	return l != nil && l.Rule(priority) != nil
}

// mostValues returns how many hosts a rule may have, of any kind.
func mostValues(c lb.Capabilities) int {
	most := 100
	for _, n := range []int{c.ValuesPerCondition, c.ValuesPerRule, c.WildcardsPerRule} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// leaveOut notes what cannot be had without a step.
func (w *without) leaveOut(x providers.Rejection) {
	want := &w.built.LoadBalancer
	switch s := x.Step.(type) {
	case plan.CreateTargetGroup:
		w.groups[s.Group.ID] = true
	case plan.RegisterTargets:
		w.groups[s.Group] = true
	case plan.ModifyTargetGroup:
		for i := range want.TargetGroups {
			if g := &want.TargetGroups[i]; g.ID == s.Group.ID && w.seen.TargetGroup(g.ID) != nil {
				g.Digest = w.seen.TargetGroup(g.ID).Digest
			}
		}
	case plan.DeleteTargetGroup:
		if g := w.seen.TargetGroup(s.Group); g != nil {
			want.TargetGroups = append(want.TargetGroups, g.TargetGroup)
		}
	case plan.CreateRule:
		if !w.stays(s.Port, s.Rule) {
			w.created[place{port: s.Port, rule: s.Rule.MatchKey()}] = true
		}
	case plan.ModifyRule:
		if !w.has(s.Port, s.Priority) { // one that answers nothing was to take another one's place
			w.stays(s.Port, s.Rule)
			return
		}
		at := place{port: s.Port, rule: s.Rule.MatchKey()}
		if isOfOthers(w.seen.Listener(s.Port).Rule(s.Priority).Action, x.Origin) { // which do not wait to lose it
			w.created[at] = true
			return
		}
		w.changed[at] = s.Priority
		if !w.closes(x.Origin) {
			w.putBack(s.Port, s.Priority, nil)
		}
	case plan.DeleteRule:
		if w.has(s.Port, s.Priority) {
			w.stays(s.Port, s.Rule)
		}
	default:
		w.leaveOutCertificate(x.Step)
	}
}

// leaveOutCertificate keeps the certificates that listeners have.
func (w *without) leaveOutCertificate(step plan.Step) {
	want := &w.built.LoadBalancer
	change := func(port int32, f func([]lb.CertificateID) []lb.CertificateID) {
		for i := range want.Listeners {
			if l := &want.Listeners[i]; port == 0 || l.Port == port {
				l.Certificates = f(slices.Clone(l.Certificates))
			}
		}
	}
	switch s := step.(type) {
	case plan.ImportCertificate:
		w.leaveOutImport(s.Certificate)
	case plan.AttachCertificate:
		change(s.Port, func(all []lb.CertificateID) []lb.CertificateID {
			return slices.DeleteFunc(all, func(id lb.CertificateID) bool {
				return id == s.Certificate && id != all[0]
			})
		})
	case plan.ReplaceCertificate:
		if w.seen.Certificate(s.Old) == nil {
			return
		}
		change(0, func(all []lb.CertificateID) []lb.CertificateID {
			if at := slices.Index(all, s.New.ID); at >= 0 {
				all[at] = s.Old
				slices.Sort(all[1:])
			}
			return all
		})
		w.changeCertificates(func(c lb.Certificate) bool { return c.ID == s.New.ID || c.ID == s.Old })
	default: // nothing of one namespace needs it
	}
}

// leaveOutImport leaves a certificate out. The listeners that would have it keep the certificates
// that they have in the cloud, without those of other namespaces. One without any is left out, too.
func (w *without) leaveOutImport(left lb.Certificate) {
	want := &w.built.LoadBalancer
	stays := func(id lb.CertificateID) bool {
		for secret, of := range w.secrets {
			if of == id && !slices.ContainsFunc(left.Secrets, func(s string) bool {
				return namespaceOf(s) == namespaceOf(secret)
			}) {
				return false
			}
		}
		return true
	}
	for i := range want.Listeners {
		l := &want.Listeners[i]
		if at := slices.Index(l.Certificates, left.ID); at >= 0 {
			l.Certificates = slices.Delete(slices.Clone(l.Certificates), at, at+1)
			w.keepCertificates(l, stays)
		}
	}
	want.Listeners = slices.DeleteFunc(want.Listeners, func(l lb.Listener) bool {
		return l.Protocol == routing.HTTPS && len(l.Certificates) == 0
	})
	w.changeCertificates(func(c lb.Certificate) bool { return c.ID == left.ID })
}

// keepCertificates adds to a listener the certificates that stay, and keeps the default one if it
// stays, or is wanted anyway.
func (w *without) keepCertificates(l *lb.Listener, stays func(lb.CertificateID) bool) {
	seen := w.seen.Listener(l.Port)
	if seen == nil || len(seen.Certificates) == 0 {
		return
	}
	for _, id := range seen.Certificates {
		if stays(id) && !slices.Contains(l.Certificates, id) {
			l.Certificates = append(l.Certificates, id)
		}
	}
	if len(l.Certificates) == 0 {
		l.Certificates = slices.Clone(seen.Certificates)
	}
	if at := slices.Index(l.Certificates, seen.Certificates[0]); at > 0 {
		l.Certificates = slices.Insert(slices.Delete(l.Certificates, at, at+1), 0, seen.Certificates[0])
	}
	slices.Sort(l.Certificates[1:])
}

// changeCertificates leaves certificates out, and adds those of the cloud that listeners use.
func (w *without) changeCertificates(isLeftOut func(lb.Certificate) bool) {
	want := &w.built.LoadBalancer
	want.Certificates = slices.DeleteFunc(slices.Clone(want.Certificates), isLeftOut)
	for _, l := range want.Listeners {
		for _, id := range l.Certificates {
			there := w.seen.Certificate(id)
			if there != nil && !slices.ContainsFunc(want.Certificates, func(c lb.Certificate) bool {
				return c.ID == id
			}) {
				want.Certificates = append(want.Certificates, there.Certificate)
			}
		}
	}
	slices.SortFunc(want.Certificates, func(a, b lb.Certificate) int { return cmp.Compare(a.ID, b.ID) })
}

// stays puts a rule back of which a copy could not be created, or that could not be deleted, and reports
// whether the cloud has it. If it is wanted, too, at another place, it keeps its place in the cloud, and
// its action there.
func (w *without) stays(port int32, r lb.Rule) bool {
	l, want := w.seen.Listener(port), w.wantedListener(port)
	if l == nil || want == nil {
		return false
	}
	key := r.MatchKey()
	at := slices.IndexFunc(l.Rules, func(there lb.ObservedRule) bool { return there.MatchKey() == key })
	if at < 0 {
		return false
	}
	var origin []diag.Source
	if i := slices.IndexFunc(want.Rules, func(r lb.Rule) bool { return r.MatchKey() == key }); i >= 0 {
		origin = want.Rules[i].Origin
		want.Rules = slices.Delete(want.Rules, i, i+1)
	}
	w.changed[place{port, key}] = l.Rules[at].Priority
	w.putBack(port, l.Rules[at].Priority, origin)
	return true
}

// putBack adds a rule of the cloud to the wanted ones, before those that follow it in the cloud, and
// guards hosts from it.
func (w *without) putBack(port int32, priority int, origin []diag.Source) {
	l, want := w.seen.Listener(port), w.wantedListener(port)
	if want == nil || !w.has(port, priority) {
		return
	}
	stays := l.Rule(priority).Rule
	stays.Origin, stays.Stays = origin, true
	if !contains(want.Rules, stays) {
		next := slices.IndexFunc(want.Rules, func(r lb.Rule) bool {
			return slices.ContainsFunc(l.Rules, func(there lb.ObservedRule) bool {
				return there.Priority > priority && there.MatchKey() == r.MatchKey()
			})
		})
		if next < 0 {
			next = len(want.Rules)
		}
		for i := len(want.Rules) - 1; i >= next; i-- { // of two rules that stay, both keep their places
			if want.Rules[i].Stays && isBefore(l, want.Rules[i], priority) {
				next = i + 1
				break
			}
		}
		// What is for more specific hosts, also by rules that are new, comes before it. What the same rules
		// have for other hosts does not: rules for these may be before them.
		first, last := want.Rules[:next:next], []lb.Rule{stays}
		for _, r := range want.Rules[next:] {
			if r.Stays { // both keep their places
				last = addNew(last, &r)
				continue
			}
			more, others := w.split(r, func(host routing.Host) bool { return isBelow(host, stays) })
			first, last = addNew(first, more), addNew(last, others)
		}
		want.Rules = slices.Concat(first, last)
	}
	w.guard(l, want, stays, priority)
}

// isBefore reports whether the cloud has a rule before a priority.
func isBefore(l *lb.ObservedListener, r lb.Rule, priority int) bool {
	return slices.ContainsFunc(l.Rules, func(there lb.ObservedRule) bool {
		return there.Priority < priority && there.MatchKey() == r.MatchKey()
	})
}

// split returns a rule for the hosts that a function reports, and for the others, each with its routes;
// nil without any.
func (w *without) split(r lb.Rule, is func(routing.Host) bool) (of, others *lb.Rule) {
	some, hasSome := r.ForHosts(is)
	rest, hasRest := r.ForHosts(func(host routing.Host) bool { return !is(host) })
	switch {
	case !hasRest:
		return &r, nil
	case !hasSome:
		return nil, &r
	}
	some.Origin, rest.Origin = nil, nil
	for _, route := range w.built.Table.Routes {
		if part := &rest; slices.Contains(r.Origin, route.Source) {
			if is(route.Host) {
				part = &some
			}
			part.Origin = append(part.Origin, route.Source)
		}
	}
	return &some, &rest
}

// addNew adds a rule, if there is one, and none with its conditions was put back before.
func addNew(rules []lb.Rule, r *lb.Rule) []lb.Rule {
	if r == nil || contains(rules, *r) {
		return rules
	}
	return append(rules, *r)
}

// guard adds rules with a 404 right before a rule that stays in the cloud. They keep requests from it
// that the table answers so: those for more specific hosts. Rules of the cloud that cover it stay, for
// its hosts: for others, they could keep requests from rules that come after it. The 404s come before
// these, too.
func (w *without) guard(l *lb.ObservedListener, want *lb.Listener, stays lb.Rule, priority int) {
	first := stays
	add := func(r lb.Rule) {
		at := slices.IndexFunc(want.Rules, func(r lb.Rule) bool { return r.MatchKey() == stays.MatchKey() })
		want.Rules = slices.Insert(want.Rules, at, r)
		if first.MatchKey() == stays.MatchKey() && r.Action.Key() != notFound.Key() {
			first = r
		}
	}
	guarded := map[routing.Host]bool{}
	note := func(r lb.Rule) {
		if len(r.Conditions) == 1 {
			for _, host := range r.Hosts() {
				guarded[host] = true
			}
		}
	}
	for _, r := range l.Rules {
		if r.Priority >= priority {
			continue
		}
		if part, is := coversInOrder(r.Rule, stays); is && !contains(want.Rules, part) && !contains(want.Rules, r.Rule) {
			add(part)
		}
		if !covers(r.Rule, stays) {
			continue
		}
		part, is := r.ForHosts(func(host routing.Host) bool { return isOf(host, stays) })
		if is && !contains(want.Rules, part) {
			add(part)
		}
	}
	for _, r := range want.Rules {
		if r.MatchKey() == first.MatchKey() {
			break
		}
		note(r)
	}
	var hosts []string
	for _, level := range w.built.Table.Levels(l.Port) {
		if !answersMisses(level) && !guarded[level.Host] && isBelow(level.Host, stays) {
			hosts = append(hosts, string(level.Host))
		}
	}
	for some := range slices.Chunk(hosts, w.most) {
		guard := lb.Rule{Conditions: []lb.Condition{{Field: "host", Values: some}}, Action: notFound}
		want.Rules = slices.DeleteFunc(want.Rules, func(r lb.Rule) bool { return r.Key() == guard.Key() })
		at := slices.IndexFunc(want.Rules, func(r lb.Rule) bool { return r.MatchKey() == first.MatchKey() })
		want.Rules = slices.Insert(want.Rules, at, guard)
	}
}

// answersMisses reports whether anything may answer the requests that match no route of a host.
func answersMisses(l *precedence.Level) bool {
	return l.Miss != nil || slices.ContainsFunc(l.Next, func(next *precedence.Level) bool {
		return next.Miss != nil || len(next.Routes) > 0
	})
}

// covers reports whether a rule of the cloud keeps requests from a later one that stays, so that it
// stays, too: with a 404, or on a host of it by another action of its namespaces.
func covers(r, stays lb.Rule) bool {
	return r.Action.Key() == notFound.Key() ||
		slices.ContainsFunc(r.Hosts(), func(host routing.Host) bool {
			return slices.Contains(stays.Hosts(), host)
		}) && !slices.ContainsFunc(plan.NamespacesOf(r), func(namespace string) bool {
			return !slices.Contains(plan.NamespacesOf(stays), namespace)
		})
}

// coversInOrder returns what a rule of the cloud for less specific hosts keeps from a later one that stays,
// with another action of its namespaces: where routes are in order, it may come first.
func coversInOrder(r, stays lb.Rule) (part lb.Rule, is bool) {
	hosts := stays.Condition("host")
	if hosts == nil || lb.SameAction(r.Action, stays.Action) || !slices.ContainsFunc(r.Hosts(), func(above routing.Host) bool {
		return !slices.ContainsFunc(stays.Hosts(), func(host routing.Host) bool { return host == above || !above.Covers(host) })
	}) || slices.ContainsFunc(plan.NamespacesOf(r), func(namespace string) bool {
		return !slices.Contains(plan.NamespacesOf(stays), namespace)
	}) {
		return r, false
	}
	part = r
	part.Conditions = append([]lb.Condition{*hosts}, slices.DeleteFunc(slices.Clone(r.Conditions), func(c lb.Condition) bool {
		return c.Field == "host"
	})...)
	return part, true
}

// isBelow reports whether a rule answers requests for a host as those for a less specific one.
func isBelow(host routing.Host, r lb.Rule) bool {
	below := false
	for _, above := range r.Hosts() {
		if above == host {
			return false
		} else if above.Covers(host) {
			below = true
		}
	}
	return below
}

// isOf reports whether a rule answers requests for a host. Where a star spans dots, the host of a rule
// may have the names that are too deep for the wildcard: "*.*.example.com" for "*.example.com".
func isOf(host routing.Host, r lb.Rule) bool {
	if deeper := strings.TrimPrefix(string(host), "*."); strings.HasPrefix(deeper, "*.") {
		host = routing.Host(deeper)
	}
	return slices.ContainsFunc(r.Hosts(), func(above routing.Host) bool { return above.Covers(host) })
}

// wantedListener returns the wanted listener of a port, or nil.
func (w *without) wantedListener(port int32) *lb.Listener {
	all := w.built.LoadBalancer.Listeners
	if at := slices.IndexFunc(all, func(l lb.Listener) bool { return l.Port == port }); at >= 0 {
		return &all[at]
	}
	return nil
}

// contains reports whether a rule has the same conditions as another one.
func contains(rules []lb.Rule, rule lb.Rule) bool {
	return slices.ContainsFunc(rules, func(r lb.Rule) bool { return r.MatchKey() == rule.MatchKey() })
}

// needs reports whether an action needs a target group that was rejected.
func (w *without) needs(a lb.Action) bool {
	return slices.ContainsFunc(a.Targets, func(t lb.Weighted) bool { return w.groups[t.Group] })
}

// changeListener changes the rules and the default action of a listener.
func (w *without) changeListener(l *lb.Listener, answers *answers) {
	seen := w.seen.Listener(l.Port)
	if before := l.Default; w.needs(before) || w.holds(answers.defaults(w.built.Table, *l, before)) {
		l.Default = unavailable
		if seen != nil && !w.closes(answers.defaults(w.built.Table, *l, before)) {
			l.Default = seen.Default
		}
		answers.add(l.Port, answers.defaults(w.built.Table, *l, before), &l.Default)
	}
	var rules []lb.Rule
	for _, rule := range l.Rules {
		at := place{port: l.Port, rule: rule.MatchKey()}
		priority, fixed := w.changed[at]
		switch {
		case w.created[at]:
			answers.add(l.Port, rule.Origin, nil)
			continue
		case fixed && seen.Rule(priority) != nil && !w.closes(rule.Origin):
			there := seen.Rule(priority)
			answers.add(l.Port, rule.Origin, &there.Action)
			if there.MatchKey() != rule.MatchKey() {
				continue // it was put back
			}
			rule.Action = there.Action
		case fixed, w.needs(rule.Action), w.holds(rule.Origin):
			parts := present(seen, rule)
			for i := range parts {
				if w.closes(rule.Origin) || isOfOthers(parts[i].Action, rule.Origin) {
					parts[i].Action = unavailable
				}
				answers.add(l.Port, rule.Origin, &parts[i].Action)
			}
			rules = append(rules, parts...)
			continue
		}
		rules = append(rules, rule)
	}
	l.Rules = rules
}

// isOfOthers reports whether an action forwards to target groups of which none is of a namespace of routes:
// these took the place of others, which gave it up.
func isOfOthers(a lb.Action, routes []diag.Source) bool {
	namespaces := plan.NamespacesOf(lb.Rule{Action: a})
	return len(namespaces) > 0 && len(routes) > 0 && !slices.ContainsFunc(routes, func(s diag.Source) bool {
		return slices.Contains(namespaces, s.Namespace)
	})
}

// holds reports whether routes are of a held Ingress.
func (w *without) holds(routes []diag.Source) bool {
	return slices.ContainsFunc(routes, func(s diag.Source) bool { return w.held[s.Object()] })
}

// closes notes the Ingresses of routes, and reports whether the routes answer 503.
func (w *without) closes(routes []diag.Source) bool {
	is := false
	for _, source := range routes {
		w.kept[source.Object()] = true
		is = is || w.closed[source.Object()]
	}
	return is
}

// unavailable is the answer of routes that cannot have their action, and notFound that of hosts that
// keep requests from other namespaces.
var (
	unavailable = lb.FromRouting(routing.Status(503))
	notFound    = lb.FromRouting(routing.NotFound())
)

// present returns a rule with the action that it has in the cloud, in parts if several rules have its
// values there; 503 for what is not there.
func present(l *lb.ObservedListener, rule lb.Rule) (parts []lb.Rule) {
	if l != nil {
		for _, there := range l.Rules {
			at, values, others, is := common(rule, there.Rule)
			if !is {
				continue
			}
			part := withValues(rule, at, values)
			part.Action = there.Action
			if parts = append(parts, part); len(others) == 0 {
				return parts
			}
			rule = withValues(rule, at, others)
		}
	}
	rule.Action = unavailable
	return append(parts, rule)
}

// common returns the values of a condition that a rule has in common with another one, and the
// others; is reports whether they have all other conditions in common.
func common(rule, there lb.Rule) (at int, values, others []string, is bool) {
	if len(rule.Conditions) != len(there.Conditions) {
		return 0, nil, nil, false
	}
	for i, c := range rule.Conditions {
		o := there.Conditions[i]
		if c.Field != o.Field || c.Name != o.Name || !slices.Equal(c.Regex, o.Regex) {
			return 0, nil, nil, false
		}
		var in, out []string
		for _, v := range c.Values {
			if slices.Contains(o.Values, v) {
				in = append(in, v)
			} else {
				out = append(out, v)
			}
		}
		if len(in) == 0 && len(c.Values) > 0 || len(out) > 0 && len(others) > 0 {
			return 0, nil, nil, false
		}
		if len(out) > 0 || values == nil {
			at, values, others = i, in, out
		}
	}
	return at, values, others, true
}

// withValues returns a rule with other values of one of its conditions.
func withValues(r lb.Rule, at int, values []string) lb.Rule {
	if r.Conditions = slices.Clone(r.Conditions); len(values) > 0 {
		r.Conditions[at].Values = values
	}
	return r
}

// changeGroups leaves out target groups that cannot be had, and adds those of the cloud that rules
// use.
func (w *without) changeGroups() {
	want, used := &w.built.LoadBalancer, map[lb.GroupID]bool{}
	use := func(a lb.Action) {
		for _, id := range a.Groups() {
			used[id] = true
		}
	}
	for _, l := range want.Listeners {
		use(l.Default)
		for _, rule := range l.Rules {
			use(rule.Action)
		}
	}
	want.TargetGroups = slices.DeleteFunc(want.TargetGroups, func(g lb.TargetGroup) bool {
		return w.groups[g.ID]
	})
	for _, g := range w.seen.TargetGroups {
		known := slices.ContainsFunc(want.TargetGroups, func(t lb.TargetGroup) bool {
			return t.ID == g.ID
		})
		if !known && (used[g.ID] || w.groups[g.ID]) { // one without targets is not made anew each time
			g.Targets = nil
			want.TargetGroups = append(want.TargetGroups, g.TargetGroup)
		}
	}
	slices.SortFunc(want.TargetGroups, func(a, b lb.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
}

// answers are the actions of routes that are not those that their Ingresses ask for; nil for a route
// that is left out.
type answers struct {
	actions map[answered]*lb.Action
}

// An answered is a route or a default on a port.
type answered struct {
	port   int32
	source diag.Source
}

func newAnswers() *answers { return &answers{actions: map[answered]*lb.Action{}} }

// add notes the action of routes on a port. Of several, one that forwards counts.
func (a *answers) add(port int32, routes []diag.Source, action *lb.Action) {
	if action != nil {
		action = new(*action)
	}
	for _, source := range routes {
		at := answered{port, source}
		if before := a.actions[at]; before == nil || len(before.Targets) == 0 {
			a.actions[at] = action
		}
	}
}

// defaults returns the defaults, and the routes of all requests, that a listener answers with its
// default action.
func (a *answers) defaults(t *precedence.Table, l lb.Listener, action lb.Action) (out []diag.Source) {
	for _, d := range t.Defaults {
		if slices.Contains(d.Ports, l.Port) &&
			lb.FromRouting(d.Action.On(l.Protocol)).Key() == action.Key() {
			out = append(out, d.Source)
		}
	}
	if level := t.Level(l.Port, routing.Any); level != nil {
		for _, r := range level.Routes {
			if r.Path == routing.Root && len(r.When) == 0 &&
				lb.FromRouting(r.Action.On(l.Protocol)).Key() == action.Key() {
				out = append(out, r.Source)
			}
		}
	}
	return out
}

// table returns a table with these actions.
func (a *answers) table(t *precedence.Table) *precedence.Table {
	if len(a.actions) == 0 || t == nil {
		return t
	}
	c := t.Config
	c.Routes, c.Defaults = nil, nil
	for _, r := range t.Routes {
		a.split(r.Source, r.Action, r.Ports, func(action routing.Action, ports []int32) {
			r.Action, r.Ports = action, ports
			c.Routes = append(c.Routes, r)
		})
	}
	for _, d := range t.Defaults {
		if len(d.Ports) == 0 { // it is for the hosts of its Ingress alone, on any port
			if action, served := a.onAnyPort(d.Source, d.Action); served {
				d.Action = action
				c.Defaults = append(c.Defaults, d)
			}
			continue
		}
		a.split(d.Source, d.Action, d.Ports, func(action routing.Action, ports []int32) {
			d.Action, d.Ports = action, ports
			c.Defaults = append(c.Defaults, d)
		})
	}
	return precedence.New(c)
}

// onAnyPort returns the action of a default that is for no port in particular, and false if it is left out. If it has
// another action than the one that is asked for on some ports, it has that of the lowest.
func (a *answers) onAnyPort(source diag.Source, asked routing.Action) (routing.Action, bool) {
	var first *answered // with another action
	leftOut := false
	for at, other := range a.actions {
		switch {
		case at.source != source:
		case other == nil:
			leftOut = true
		case first == nil || at.port < first.port:
			first = &at
		}
	}
	if first != nil {
		return a.actions[*first].Routing(), true
	}
	return asked, !leftOut
}

// split calls add with the actions of a route, each with its ports.
func (a *answers) split(source diag.Source, asked routing.Action, ports []int32,
	add func(routing.Action, []int32)) {
	var rest []int32
	for _, port := range ports {
		switch other, is := a.actions[answered{port, source}]; {
		case !is:
			rest = append(rest, port)
		case other != nil:
			add(other.Routing(), []int32{port})
		}
	}
	if len(rest) > 0 {
		add(asked, rest)
	}
}

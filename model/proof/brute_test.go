package proof_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file walks through the states of plans one by one, and asks requests in each.

// A brute walks through one plan.
type brute struct {
	seen, after *lb.Observed
	want        lb.LoadBalancer
	plan        plan.Plan
	dialect     lb.Dialect
	registers   map[lb.GroupID]bool
	known       map[matched]bool
	moved       map[arrival]*routing.Request
}

// An arrival is a request that follows a redirect to a port.
type arrival struct {
	request *routing.Request
	port    string
}

func newBrute(seen *lb.Observed, want lb.LoadBalancer, p plan.Plan, d lb.Dialect) *brute {
	b := &brute{seen: seen, want: want, plan: p, dialect: d, registers: map[lb.GroupID]bool{}, known: map[matched]bool{}, moved: map[arrival]*routing.Request{}}
	for _, s := range p.Steps {
		if s, is := s.Step.(plan.RegisterTargets); is {
			b.registers[s.Group] = true
		}
	}
	b.after = seen.Clone()
	for i := range want.Listeners {
		l := want.Listeners[i]
		old := b.after.Listener(l.Port)
		if old == nil {
			plan.CreateListener{Listener: l}.Do(b.after, plan.Result{})
			old = b.after.Listener(l.Port)
		}
		old.Default, old.Rules, old.Protocol, old.Certificates = l.Default, nil, l.Protocol, l.Certificates
		for j, r := range l.Rules {
			old.Rules = append(old.Rules, lb.ObservedRule{Rule: r, Priority: j + 1})
		}
	}
	b.after.Listeners = slices.DeleteFunc(b.after.Listeners, func(l lb.ObservedListener) bool {
		return !slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool { return w.Port == l.Port })
	})
	return b
}

// do applies a step as strictly as a cloud does.
func (b *brute) do(o *lb.Observed, s plan.Step) error {
	fails := func(when bool, what string, args ...any) error {
		if when {
			return fmt.Errorf("%s %s: %s", s.Op(), s.ID(), fmt.Sprintf(what, args...))
		}
		return nil
	}
	names := func(a lb.Action, before ...lb.GroupID) error {
		for _, g := range a.Groups() {
			if lb.OthersMade(g) {
				continue
			}
			seen := o.TargetGroup(g)
			if err := fails(seen == nil, "no group %s", g); err != nil {
				return err
			}
			if err := fails(b.registers[g] && !seen.Registered && !slices.Contains(before, g), "no targets in %s", g); err != nil {
				return err
			}
		}
		return nil
	}
	rule := func(port int32, priority int, there bool) error {
		l := o.Listener(port)
		if err := fails(l == nil, "no port"); err != nil {
			return err
		}
		return fails((l.Rule(priority) != nil) != there, "the rule is there: %v", !there)
	}
	var err error
	switch s := s.(type) {
	case plan.ImportCertificate:
		err = fails(o.Certificate(s.Certificate.ID) != nil, "exists")
	case plan.ReplaceCertificate:
		err = fails(o.Certificate(s.Old) == nil || o.Certificate(s.New.ID) != nil, "nothing to replace")
	case plan.DeleteCertificate:
		err = fails(o.Certificate(s.Certificate) == nil || serves(o, s.Certificate), "is in use, or not there")
	case plan.AttachCertificate:
		l := o.Listener(s.Port)
		err = fails(l == nil || slices.Contains(l.Certificates, s.Certificate) || b.lacks(o, s.Certificate), "no certificate, or there already")
	case plan.DetachCertificate:
		l := o.Listener(s.Port)
		err = fails(l == nil || slices.Index(l.Certificates, s.Certificate) < 1, "no certificate to detach")
	case plan.CreateLoadBalancer:
		err = fails(o.Exists, "exists")
	case plan.ModifyLoadBalancer, plan.SetWebACL, plan.ShieldLoadBalancer, plan.DeleteLoadBalancer:
		err = fails(!o.Exists, "does not exist")
	case plan.CreateTargetGroup:
		err = fails(o.TargetGroup(s.Group.ID) != nil, "exists")
	case plan.ModifyTargetGroup:
		err = fails(o.TargetGroup(s.Group.ID) == nil, "does not exist")
	case plan.RegisterTargets:
		err = fails(o.TargetGroup(s.Group) == nil, "does not exist")
	case plan.AwaitTargets:
		g := o.TargetGroup(s.Group)
		if err = fails(g == nil || b.registers[s.Group] && !g.Registered || !plan.GroupsInUse(o)[s.Group], "nothing checks it"); err != nil {
			return err
		}
	case plan.DeleteTargetGroup:
		err = fails(o.TargetGroup(s.Group) == nil || plan.GroupsInUse(o)[s.Group], "does not exist or is in use")
	case plan.CreateListener:
		if err = fails(!o.Exists || o.Listener(s.Listener.Port) != nil || b.lacks(o, s.Listener.Certificates...), "no load balancer, or a port, or no certificate"); err == nil {
			err = names(s.Listener.Default)
		}
	case plan.ModifyListener:
		if err = fails(o.Listener(s.Listener.Port) == nil || b.lacks(o, s.Listener.Certificates[:min(1, len(s.Listener.Certificates))]...), "no port, or no certificate"); err == nil {
			err = names(s.Listener.Default, o.Listener(s.Listener.Port).Default.Groups()...)
		}
	case plan.DeleteListener:
		err = fails(o.Listener(s.Port) == nil, "no port")
	case plan.CreateRule:
		if err = rule(s.Port, s.Priority, false); err == nil {
			err = names(s.Rule.Action)
		}
	case plan.ModifyRule:
		if err = rule(s.Port, s.Priority, true); err == nil {
			err = names(s.Rule.Action, o.Listener(s.Port).Rule(s.Priority).Action.Groups()...)
		}
	case plan.DeleteRule:
		err = rule(s.Port, s.Priority, true)
	case plan.RespaceRules:
		if err = fails(o.Listener(s.Port) == nil, "no port"); err != nil {
			return err
		}
		for from := range s.To {
			if err := rule(s.Port, from, true); err != nil {
				return err
			}
		}
		for _, to := range s.To {
			if _, moves := s.To[to]; !moves {
				if err := rule(s.Port, to, false); err != nil {
					return err
				}
			}
		}
	}
	if err != nil {
		return err
	}
	before := plan.GroupsInUse(o)
	s.Do(o, plan.Result{})
	now := plan.GroupsInUse(o)
	for g := range before {
		if seen := o.TargetGroup(g); !now[g] && seen != nil {
			seen.Ready = false
		}
	}
	return nil
}

// lacks reports whether one of some certificates is not there that is of the load balancer.
func (b *brute) lacks(o *lb.Observed, ids ...lb.CertificateID) bool {
	return slices.ContainsFunc(ids, func(id lb.CertificateID) bool {
		known := b.seen.Certificate(id) != nil || slices.ContainsFunc(b.want.Certificates, func(c lb.Certificate) bool { return c.ID == id })
		return known && o.Certificate(id) == nil
	})
}

// serves reports whether a listener serves a certificate.
func serves(o *lb.Observed, id lb.CertificateID) bool {
	return slices.ContainsFunc(o.Listeners, func(l lb.ObservedListener) bool { return slices.Contains(l.Certificates, id) })
}

// shown reports whether a listener that speaks TLS has a certificate for a host.
func (b *brute) shown(o *lb.Observed, port int32, host string) bool {
	l := o.Listener(port)
	return l != nil && l.Protocol == routing.HTTPS && slices.ContainsFunc(l.Certificates, func(id lb.CertificateID) bool {
		var hosts []string
		for _, c := range b.want.Certificates {
			if c.ID == id {
				hosts = c.Hosts
			}
		}
		if c := b.seen.Certificate(id); c != nil {
			hosts = c.Hosts
		}
		return slices.ContainsFunc(hosts, func(h string) bool { return routing.Host(h).Covers(routing.Host(host)) })
	})
}

// misfit is a host for which a listener has no certificate, though it has one before and after.
func (b *brute) misfit(o *lb.Observed, done func(int) bool) string {
	for i, s := range b.plan.Steps {
		if done(i) && s.Early == diag.DeleteFirst {
			return "" // that is announced
		}
	}
	for _, l := range b.seen.Listeners {
		closes := slices.ContainsFunc(b.plan.Steps, func(s plan.Planned) bool {
			c, is := s.Step.(plan.DeleteListener)
			return is && c.Port == l.Port
		})
		for _, host := range []string{"a.test", "b.test", "e.test", "c.d.test", "other.org"} {
			if !closes && b.shown(b.seen, l.Port, host) && b.shown(b.after, l.Port, host) && !b.shown(o, l.Port, host) {
				return host + " has no certificate"
			}
		}
	}
	return ""
}

// answer is the action of the rule that answers a request; nil where the port is closed. Standard
// says that it is the default action.
func (b *brute) answer(o *lb.Observed, r *routing.Request) (a *lb.Action, standard bool) {
	l := o.Listener(r.Port)
	if l == nil {
		return nil, false
	}
	for i := range l.Rules {
		if b.matches(l.Rules[i].Rule, r) {
			return &l.Rules[i].Action, false
		}
	}
	return &l.Default, true
}

func (b *brute) matches(r lb.Rule, asked *routing.Request) bool {
	if len(r.Conditions) == 0 {
		return true
	}
	key := matched{&r.Conditions[0], asked}
	holds, known := b.known[key]
	if !known {
		at, _ := lb.NewMatcher(lb.Listener{Rules: []lb.Rule{{Conditions: r.Conditions}}}, b.dialect).Match(*asked)
		holds = at == 0
		b.known[key] = holds
	}
	return holds
}

// matched is conditions, by the first of them, and a request.
type matched struct {
	conditions *lb.Condition
	request    *routing.Request
}

// same compares actions by what those of random plans differ in.
func same(a, b *lb.Action) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Status == b.Status && a.Location == b.Location && slices.Equal(a.Targets, b.Targets)
}

// announced reports whether a rule for a request has gone early, or its default action.
func (b *brute) announced(done func(int) bool, r *routing.Request, standard bool) bool {
	for i, s := range b.plan.Steps {
		if s.Early != diag.DeleteFirst || !done(i) {
			continue
		}
		switch step := s.Step.(type) {
		case plan.DeleteRule:
			if step.Port == r.Port && b.matches(step.Rule, r) {
				return true
			}
		case plan.ModifyListener:
			if step.Listener.Port == r.Port && standard {
				return true
			}
		}
	}
	return false
}

// closedEarly reports whether a port is announced to close too early, and has.
func (b *brute) closedEarly(done func(int) bool, port int32) bool {
	for i, s := range b.plan.Steps {
		if closes, is := s.Step.(plan.DeleteListener); is && closes.Port == port && s.Early == diag.DeleteFirst && done(i) {
			return true
		}
	}
	return false
}

// reopens reports whether a port closes and opens again.
func (b *brute) reopens(port int32) bool {
	closes, opens := false, false
	for _, s := range b.plan.Steps {
		switch s := s.Step.(type) {
		case plan.DeleteListener:
			closes = closes || s.Port == port
		case plan.CreateListener:
			opens = opens || s.Listener.Port == port
		default:
		}
	}
	return closes && opens
}

// outcome is where a request ends that follows redirects, which keep its host and its path.
func (b *brute) outcome(o *lb.Observed, r *routing.Request) string {
	for range 4 {
		a, _ := b.answer(o, r)
		switch {
		case a == nil || b.reopens(r.Port):
			return "refused"
		case a.Redirect == nil:
			return a.Key()
		}
		r = b.onto(r, a.Redirect.Port)
	}
	return "loop"
}

// onto is a request on another port, the same one each time.
func (b *brute) onto(r *routing.Request, port string) *routing.Request {
	key := arrival{r, port}
	if b.moved[key] == nil {
		next := *r
		n, err := strconv.Atoi(port)
		if err != nil {
			panic(err)
		}
		next.Port = int32(n)
		b.moved[key] = &next
	}
	return b.moved[key]
}

// followed says what is wrong about where redirects lead.
func (b *brute) followed(o *lb.Observed, done func(int) bool, r *routing.Request, got *lb.Action) string {
	if got == nil || got.Redirect == nil {
		return ""
	}
	for i, s := range b.plan.Steps {
		if done(i) && s.Early == diag.RedirectOrder {
			return ""
		}
	}
	at := r
	for range 4 { // a redirected request is announced as any other
		a, standard := b.answer(o, at)
		if a == nil && b.closedEarly(done, at.Port) {
			return ""
		}
		if a != nil {
			if b.announced(done, at, standard) {
				return ""
			}
			if a.Redirect != nil {
				at = b.onto(at, a.Redirect.Port)
			}
		}
	}
	is, old, goal := b.outcome(o, r), b.outcome(b.seen, r), b.outcome(b.after, r)
	if is != old && is != goal && old != "refused" && goal != "refused" {
		return fmt.Sprintf("%+v ends at %s, not %s or %s", *r, is, old, goal)
	}
	return ""
}

func (b *brute) says(why diag.Reason) bool {
	return slices.ContainsFunc(b.plan.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == why })
}

// wrong says what is wrong about the answer to a request in a state.
func (b *brute) wrong(o *lb.Observed, done func(int) bool, r *routing.Request) string {
	got, standard := b.answer(o, r)
	old, _ := b.answer(b.seen, r)
	goal, _ := b.answer(b.after, r)
	opens, closed := false, false
	for i, s := range b.plan.Steps {
		if !done(i) {
			continue
		}
		switch step := s.Step.(type) {
		case plan.CreateListener:
			opens = opens || step.Listener.Port == r.Port
		case plan.DeleteListener:
			if closed = closed || step.Port == r.Port; closed && got == nil {
				return "" // it closes, or closes and opens
			}
		}
	}
	if b.announced(done, r, standard) {
		return ""
	}
	if !same(got, old) && !same(got, goal) && !(opens && standard) {
		return fmt.Sprintf("%+v gets %v, not %v or %v", *r, got, old, goal)
	}
	if b.withoutACL(o, got, old, goal) {
		return fmt.Sprintf("%+v gets %v without the web ACL", *r, got)
	}
	if b.unverified(o, r.Port) && got != nil && !same(got, old) {
		return fmt.Sprintf("%+v gets %v without a certificate of its own", *r, got)
	}
	if why := b.followed(o, done, r, got); why != "" {
		return why
	}
	if got == nil || closed || same(got, old) || !b.served(old) || b.says(diag.Unparked) {
		return ""
	}
	for _, w := range got.Targets {
		if g := o.TargetGroup(w.Group); !lb.OthersMade(w.Group) && (w.Weight > 0 || len(got.Targets) == 1) && (g == nil || !g.Ready) {
			return fmt.Sprintf("%+v gets to %s, which is not healthy", *r, w.Group)
		}
	}
	return ""
}

// withoutACL reports whether an answer is new and the web ACL that is asked for is not there yet, or
// is old and the one that is not asked for any more is gone.
func (b *brute) withoutACL(o *lb.Observed, got, old, goal *lb.Action) bool {
	want, is := b.want.Protection, o.Protection.WebACL
	switch {
	case got == nil || want.WebACL == b.seen.Protection.WebACL:
		return false
	case want.HasWebACL():
		return is != want.WebACL && !same(got, old)
	}
	return is == want.WebACL && !same(got, goal)
}

// unverified reports whether a listener does not verify clients yet that does so at the end. One that
// speaks another protocol before is announced to answer otherwise.
func (b *brute) unverified(o *lb.Observed, port int32) bool {
	before, is := b.seen.Listener(port), o.Listener(port)
	at := slices.IndexFunc(b.want.Listeners, func(l lb.Listener) bool { return l.Port == port })
	return before != nil && before.Protocol == routing.HTTPS && !before.Verifies && is != nil && !is.Verifies &&
		at >= 0 && b.want.Listeners[at].Verifies
}

func (b *brute) served(a *lb.Action) bool {
	return a != nil && slices.ContainsFunc(a.Groups(), func(id lb.GroupID) bool {
		g := b.seen.TargetGroup(id)
		return g != nil && (g.Registered || g.Ready) || lb.OthersMade(id)
	})
}

// start is what is there: a group that no rule names is not checked.
func (b *brute) start() *lb.Observed {
	o := b.seen.Clone()
	named := plan.GroupsInUse(o)
	for i := range o.TargetGroups {
		o.TargetGroups[i].Ready = o.TargetGroups[i].Ready && named[o.TargetGroups[i].ID]
	}
	return o
}

// arrived reports what is missing at the end.
func (b *brute) arrived(o *lb.Observed) string {
	if b.want.Protection.HasWebACL() && o.Protection.WebACL != b.want.Protection.WebACL {
		return "the web ACL is missing"
	}
	if len(o.Listeners) != len(b.want.Listeners) {
		return "other ports"
	}
	for _, l := range b.want.Listeners {
		got := o.Listener(l.Port)
		if got == nil {
			return "a port is missing"
		}
		rules := got.Plain().Rules
		rules = slices.DeleteFunc(rules, plan.Parked)
		if got.Protocol != l.Protocol {
			return "another protocol"
		}
		if l.Protocol == routing.HTTPS && got.Verifies != l.Verifies {
			return "other clients are verified"
		}
		if l.Protocol != routing.HTTPS && len(got.Certificates) > 0 || l.Protocol == routing.HTTPS && !sameCertificates(got.Certificates, l.Certificates) {
			return "other certificates"
		}
		for _, id := range got.Certificates {
			if b.lacks(o, id) {
				return "a certificate is missing"
			}
		}
		if !slices.EqualFunc(rules, l.Rules, lb.SameRule) || !lb.SameAction(got.Default, l.Default) {
			return "other rules"
		}
	}
	for g := range plan.GroupsInUse(o) {
		if o.TargetGroup(g) == nil && !lb.OthersMade(g) {
			return "a group is missing"
		}
	}
	for _, g := range b.want.TargetGroups {
		if seen := o.TargetGroup(g.ID); len(g.Targets) > 0 && (seen == nil || !seen.Registered) {
			return "targets are missing"
		}
	}
	return ""
}

// sameCertificates compares certificates, of which the first is the default one.
func sameCertificates(a, b []lb.CertificateID) bool {
	if len(a) == 0 || len(b) == 0 || a[0] != b[0] {
		return len(a) == len(b) && len(a) == 0
	}
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// asked returns the first wrong answer of a state.
func (b *brute) asked(o *lb.Observed, done func(int) bool, requests []routing.Request) string {
	if why := b.misfit(o, done); why != "" {
		return why
	}
	for i := range requests {
		if why := b.wrong(o, done, &requests[i]); why != "" {
			return why
		}
	}
	return ""
}

// walk goes through all states of a small plan, and some orders of another one.
func (b *brute) walk(rng *rand.Rand, requests []routing.Request, most int) string {
	n := len(b.plan.Steps)
	if n <= 60 {
		type at struct {
			done  uint64
			state *lb.Observed
		}
		type key struct {
			done  uint64
			ready string // which groups are healthy can depend on the order
		}
		keyOf := func(done uint64, o *lb.Observed) key {
			k := key{done: done}
			for _, g := range o.TargetGroups {
				k.ready += fmt.Sprint(g.Ready)
			}
			return k
		}
		queue, known := []at{{0, b.start()}}, map[key]bool{}
		for len(queue) > 0 && len(known) <= most {
			next := queue[0]
			queue = queue[1:]
			done := func(i int) bool { return next.done&(1<<i) != 0 }
			if why := b.asked(next.state, done, requests); why != "" {
				return why
			}
			if bits.OnesCount64(next.done) == n {
				if why := b.arrived(next.state); why != "" {
					return why
				}
			}
			for i, s := range b.plan.Steps {
				if done(i) || slices.ContainsFunc(s.After, func(a int) bool { return !done(a) }) {
					continue
				}
				o := next.state.Clone()
				if err := b.do(o, s.Step); err != nil {
					return err.Error()
				}
				if k := keyOf(next.done|1<<i, o); !known[k] {
					known[k] = true
					queue = append(queue, at{next.done | 1<<i, o})
				}
			}
		}
		if len(queue) == 0 {
			return ""
		}
	}
	for range 8 {
		o, done := b.start(), make([]bool, n)
		is := func(i int) bool { return done[i] }
		for range n {
			var ready []int
			for i, s := range b.plan.Steps {
				if !done[i] && !slices.ContainsFunc(s.After, func(a int) bool { return !done[a] }) {
					ready = append(ready, i)
				}
			}
			i := ready[rng.IntN(len(ready))]
			if err := b.do(o, b.plan.Steps[i].Step); err != nil {
				return err.Error()
			}
			done[i] = true
			if why := b.asked(o, is, requests); why != "" {
				return why
			}
		}
		if why := b.arrived(o); why != "" {
			return why
		}
	}
	return ""
}

// confirms replays the witness of a refusal.
func (b *brute) confirms(steps []int, r *routing.Request) bool {
	o, done := b.start(), map[int]bool{}
	for _, i := range steps {
		if slices.ContainsFunc(b.plan.Steps[i].After, func(a int) bool { return !done[a] }) {
			panic("the witness is no order of the plan")
		}
		if b.do(o, b.plan.Steps[i].Step) != nil {
			return true
		}
		done[i] = true
	}
	if r != nil {
		is := func(i int) bool { return done[i] }
		return b.wrong(o, is, r) != "" || b.misfit(o, is) != ""
	}
	return len(steps) == len(b.plan.Steps) && (b.arrived(o) != "" || b.unordered())
}

// unordered reports whether two steps that modify one rule may come in either order. The check
// refutes such a plan, even if a third one comes after both.
func (b *brute) unordered() bool {
	for first, one := range b.plan.Steps {
		for second, other := range b.plan.Steps[first+1:] {
			_, modifies := one.Step.(plan.ModifyRule)
			_, again := other.Step.(plan.ModifyRule)
			if modifies && again && one.Step.ID() == other.Step.ID() && !b.follows(first+1+second, first) {
				return true
			}
		}
	}
	return false
}

// follows reports whether a step waits for another one, or for one that does.
func (b *brute) follows(step, other int) bool {
	return slices.ContainsFunc(b.plan.Steps[step].After, func(a int) bool { return a == other || b.follows(a, other) })
}

package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner/rulelist"
	"fairlead.dev/fairlead/model/planner/schedule"
	"fairlead.dev/fairlead/model/routing"
)

// This file has what a plan knows of one listener that changes.

// A change is what happens to one listener.
type change struct {
	comparison
	// what its rule steps wait for: the listener, then its new numbers; or absent
	ready        int
	steps        []move        // everything that changes where requests go
	parkingRules []parkingRule // the parking rules on it

	attached    []int                    // these add certificates to those that a port serves
	servedAfter map[lb.CertificateID]int // after it, a port that has others serves the certificate
	// writes the settings ahead of the rules: it replaces the default certificate, or has clients be
	// verified; or absent
	settingsFirst int

	// lines by their old and by their new rules, steps by their requests
	before, after, moved func() *index
}

// newChange has nothing to do yet. Its indices are made when they are first looked into.
func newChange(co comparison, p *overlapCache) *change {
	ch := &change{comparison: co, ready: absent, settingsFirst: absent}
	ch.before = lazily(func() *index { return co.oldRules(p) })
	ch.after = lazily(func() *index { return co.newRules(p) })
	ch.moved = lazily(func() *index { return ch.movedRules(p) })
	return ch
}

// lazily is a function that makes its result when it is first called.
func lazily(build func() *index) func() *index {
	var made *index
	return func() *index {
		if made == nil {
			made = build()
		}
		return made
	}
}

// movedRules finds the tasks that change where requests go by the requests.
func (ch *change) movedRules(p *overlapCache) *index {
	x := newIndex(p)
	for _, m := range ch.steps {
		x.add(m.entry)
	}
	return &x
}

// A move is a task that changes where requests go, and which.
type move struct {
	entry     // the task and its requests: any, where it is about the default or the listener
	line  int // in the merged list, or absent
	fate  rulelist.Change
}

// verification is the place that a listener takes which begins to verify the certificates of
// clients, or makes by ending to.
func (ch *change) verification() schedule.Places {
	return schedule.Places{schedule.Verifying: one(ch.want.Verifies) - one(ch.seen.Verifies)}
}

// one is 1 for what is so.
func one(so bool) int {
	if so {
		return 1
	}
	return 0
}

// beginsToVerify reports whether rules change on a listener that begins to verify the certificates
// of clients.
func (ch *change) beginsToVerify() bool {
	return ch.staysHTTPS() && ch.want.Verifies && !ch.seen.Verifies &&
		slices.ContainsFunc(ch.lines, func(l rulelist.Line) bool { return l.Change != rulelist.Kept })
}

// verified returns the task after which clients are verified where a listener begins to do so
// before its rules change; absent elsewhere.
func (ch *change) verified() int {
	if ch.beginsToVerify() {
		return ch.settingsFirst
	}
	return absent
}

// elsewhere reports whether what no rule is for is answered differently.
func (ch *change) elsewhere() bool {
	return ch.seen.Protocol != ch.want.Protocol || !lb.SameAction(ch.seen.Default, ch.want.Default)
}

// A parkingRule is a parking rule that is there or is made.
type parkingRule struct {
	priority int
	rule     lb.Rule
}

// staysHTTPS reports whether a listener speaks TLS, and goes on doing so.
func (ch *change) staysHTTPS() bool {
	return ch.seen != nil && ch.want != nil && ch.seen.Protocol == routing.HTTPS &&
		ch.want.Protocol == routing.HTTPS
}

package planner

import (
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the changes of one listener.

// A change holds the tasks of one listener.
type change struct {
	comparison
	// the task that its rule steps wait for: the listener, then its new numbers; or absent
	ready        int
	answering    []answerTask  // the tasks that change the answers to requests
	parkingRules []parkingRule // the parking rules on it

	attached    []int                    // the tasks that attach certificates
	servedAfter map[lb.CertificateID]int // the task after which a port serves the certificate
	// the task that changes the settings before the rules, for another default certificate or the
	// verification of clients; or absent
	settingsFirst int

	// lines by their old and by their new rules, answering by their requests
	before, after, answeringRules func() *index
}

// newChange returns a change without tasks. Its indices are built on first use.
func newChange(co comparison, p *overlapCache) *change {
	ch := &change{comparison: co, ready: absent, settingsFirst: absent}
	ch.before = buildOnce(func() *index { return co.oldRules(p) })
	ch.after = buildOnce(func() *index { return co.newRules(p) })
	ch.answeringRules = buildOnce(func() *index { return ch.indexAnswering(p) })
	return ch
}

// buildOnce returns a function that builds its result on the first call.
func buildOnce(build func() *index) func() *index {
	var made *index
	return func() *index {
		if made == nil {
			made = build()
		}
		return made
	}
}

// indexAnswering returns an index that finds the tasks that change the answers to requests.
func (ch *change) indexAnswering(p *overlapCache) *index {
	x := newIndex(p)
	for _, t := range ch.answering {
		x.add(t.entry)
	}
	return &x
}

// hiddenRules returns the lines of rules to remove that come after one with the same conditions that
// stays. They answer no request before, during or after the plan: nothing waits for their removal, even
// if the cloud refuses it.
func (ch *change) hiddenRules() map[int]bool {
	stays, hidden := map[string]bool{}, map[int]bool{}
	for i, l := range ch.lines {
		switch l.Change {
		case Kept, Switched, Widened:
			stays[ch.old[l.Old].MatchKey()] = true
		case Removed:
			hidden[i] = stays[ch.old[l.Old].MatchKey()]
		default: // it stops to match some requests, or does not match them from the beginning
		}
	}
	return hidden
}

// An answerTask is a task that changes the answers to requests, with a rule that matches these requests.
type answerTask struct {
	entry     // the task and its rule, which matches all requests for a default or a listener
	line  int // in the merged list, or absent
	fate  Change
}

// verification returns the place that a listener takes if it begins to verify client certificates,
// or frees if it stops.
func (ch *change) verification() places {
	return places{verifying: countIf(ch.want.Verifies) - countIf(ch.seen.Verifies)}
}

// countIf returns 1 for true, and 0 for false.
func countIf(so bool) int {
	if so {
		return 1
	}
	return 0
}

// beginsToVerify reports whether rules change on a listener that begins to verify client
// certificates.
func (ch *change) beginsToVerify() bool {
	return ch.staysHTTPS() && ch.want.Verifies && !ch.seen.Verifies &&
		slices.ContainsFunc(ch.lines, func(l Line) bool { return l.Change != Kept })
}

// verified returns the task after which a listener verifies clients, if it begins to before its
// rules change; otherwise absent.
func (ch *change) verified() int {
	if ch.beginsToVerify() {
		return ch.settingsFirst
	}
	return absent
}

// defaultDiffers reports whether the answer to requests that match no rule changes.
func (ch *change) defaultDiffers() bool {
	return ch.seen.Protocol != ch.want.Protocol || !lb.SameAction(ch.seen.Default, ch.want.Default)
}

// A parkingRule is an existing or new parking rule with its priority.
type parkingRule struct {
	priority int
	rule     lb.Rule
}

// staysHTTPS reports whether a listener uses HTTPS before and after the plan.
func (ch *change) staysHTTPS() bool {
	return ch.seen != nil && ch.want != nil && ch.seen.Protocol == routing.HTTPS &&
		ch.want.Protocol == routing.HTTPS
}

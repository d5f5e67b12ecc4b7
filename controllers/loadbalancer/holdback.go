package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
)

// This file decides which changes wait. What belongs to the namespaces that cause a wait is held
// back; the changes of others are carried out. If that is not possible, the plan is only reported.
// A host that a namespace gives up can be closed instead (closedhosts.go).

// plan compiles a load balancer and makes the steps to it. If they are not permitted, or not
// proven, hosts that were given up are closed or the namespaces that cause this are held back, and
// the plan is made again, as often as this shows further ones. If no plan is permitted, it returns
// the first one.
func (r *Reconciler) plan(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed) outcome {
	first := r.planWith(ctx, snap, facts, seen, ingress.Hold{})
	if first.Forbidden == "" {
		return first
	}
	c := causes{r: r, facts: facts, changed: changedIngresses(snap), changing: map[string]bool{}, named: namedHosts(snap)}
	for name := range c.changed {
		c.changing[namespaceOf(name)] = true
	}
	last, told := first, first.Expectations
	for {
		hold := c.holdMore(last)
		if hold.Equal(last.Hold) {
			return first
		}
		if last = r.planWith(ctx, snap, facts, seen, hold); last.Forbidden == "" {
			last = c.release(last, func(hold ingress.Hold) outcome {
				return r.planWith(ctx, snap, facts, seen, hold)
			})
			last.Hold.Closed = closedHosts(last.Built.Table)
			last.holdBack(first, told, c.closings(last.Hold.Closed))
			return last
		}
		told = told.With(last.Expectations)
	}
}

// planWith makes a plan with some Ingresses held back, and checks it.
func (r *Reconciler) planWith(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed, hold ingress.Hold) outcome {
	with := func(stays []routing.Route) outcome { return r.planKeeping(ctx, snap, facts, seen, hold, stays) }
	return with(nil).keepRules(with)
}

// planKeeping makes a plan with some Ingresses held back, and routes of the cloud that stay.
func (r *Reconciler) planKeeping(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed, hold ingress.Hold, stays []routing.Route) outcome {
	caps := r.Cloud.Capabilities(model.ClassOf(snap.Snapshot))
	held := snap.WithHold(hold, snap.Departed)
	held.Stays = stays
	built := r.compile(held, facts, seen, caps) // cannot fail
	if len(stays) > 0 {
		keepGroups(&built, seen)
	}
	// Rules that another writer has made.
	foreign := r.rules.applyForeignRulePolicy(ctx, snap, seen, &built)
	// The steps, in a safe order.
	todo := planUnlessRetained(snap, r.diff(seen, built.LoadBalancer, caps))
	o := outcome{
		Snapshot: snap, Capabilities: caps, Built: built, Observed: seen, Plan: todo,
		ForeignRules: foreign, Unread: unread(snap, facts), Hold: hold,
	}
	r.prove(ctx, &o) // that the order is safe
	o.Expectations = r.judgeExpectations(o, facts)
	if !o.Plan.Empty() {
		o.Forbidden = cmp.Or(o.Expectations.Reason(), o.Proof.reason())
	}
	return o
}

// A causes finds the namespaces because of which a plan is not permitted.
type causes struct {
	r        *Reconciler
	facts    lb.Facts
	changed  map[string]bool // Ingresses whose present version is not served yet
	changing map[string]bool // their namespaces
	// named has the Ingresses that named a host when they were last accepted.
	named map[routing.Host][]string
	// suspects can have caused the violations, by the Ingresses that are left out.
	suspects map[string]expectations.Suspects
	// closed are the offences for which hosts are closed.
	closed []expectations.Closing
}

// changedIngresses returns the Ingresses that came, changed or went since the last plan.
func changedIngresses(snap *gather.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, m := range snap.Changes() {
		out[m.Owner.String()] = true
	}
	for name := range snap.Departed {
		out[name] = true
	}
	return out
}

// holdMore returns what is to be held back after a plan that was not permitted. If nothing helps
// that can wait, more hosts are closed than a namespace may give up. Each host is closed once, and
// each namespace is held back once, and loses each Ingress once. Hosts are closed together, so plans
// are made again a few times for each namespace at most.
func (c *causes) holdMore(o outcome) ingress.Hold {
	if hold := c.holdMoreOf(o, true); !hold.Equal(o.Hold) {
		return hold
	}
	return c.holdMoreOf(o, false)
}

func (c *causes) holdMoreOf(o outcome, limited bool) ingress.Hold {
	hold := o.Hold
	for _, f := range o.Expectations.Offences {
		next, givers := namespaceOf(f.Next), c.givers(o, f)
		switch {
		case c.changing[next] && !isHeld(o.Hold, next):
			hold.Namespaces = with(hold.Namespaces, next)
		case c.closes(o, f) && c.close(&hold, o, f, limited):
		case len(givers) > 0:
			hold.Accepted = with(hold.Accepted, givers...)
		case f.Next != "" && c.suspectsOf(o, next).StandsAlone(f):
			hold.Ingresses = with(hold.Ingresses, f.Next)
			if leavesOutOf(o.Hold, next) { // others of the namespace are behind it
				hold.Ingresses = with(hold.Ingresses, c.namersOf(f, func(name string) bool {
					return namespaceOf(name) == next && !slices.Contains(o.Hold.Ingresses, name)
				})...)
			}
		}
	}
	hold.Namespaces = with(hold.Namespaces, o.Proof.namespaces()...)
	return hold
}

// givers returns the Ingresses that change, or whose versions are forgotten, and that may have kept the
// requests of an offence from the Ingress that would answer them: those that answer them now, or named the
// host, and are not held back.
func (c *causes) givers(o outcome, f expectations.Offence) []string {
	all := o.forgotten(f)
	if c.changed[f.Now] {
		all = with(all, f.Now)
	}
	all = with(all, c.changedNamers(f)...)
	return slices.DeleteFunc(all, o.holds)
}

// changedNamers returns the Ingresses that change and named the host of an offence.
func (c *causes) changedNamers(f expectations.Offence) []string {
	return c.namersOf(f, func(name string) bool { return c.changed[name] })
}

// isHeld reports whether all changes of a namespace are held back.
func isHeld(hold ingress.Hold, namespace string) bool {
	return slices.Contains(hold.Namespaces, namespace)
}

// with returns a list that has names, too. The list that is passed stays as it is.
func with(list []string, names ...string) []string {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(slices.Clip(list), name)
		}
	}
	return list
}

func namespaceOf(ingress string) string {
	return cluster.RefFrom(cluster.KindIngress, ingress).Namespace
}

// leavesOutOf reports whether an Ingress of a namespace is left out.
func leavesOutOf(hold ingress.Hold, namespace string) bool {
	return slices.ContainsFunc(hold.Ingresses, func(name string) bool { return namespaceOf(name) == namespace })
}

// suspectsOf returns what violates expectations without a change of an Ingress, where those of a
// namespace that are left out are missing.
func (c *causes) suspectsOf(o outcome, namespace string) expectations.Suspects {
	var without []string
	for _, name := range o.Hold.Ingresses {
		if namespaceOf(name) == namespace {
			without = append(without, name)
		}
	}
	of := strings.Join(without, " ")
	known, ok := c.suspects[of]
	if !ok {
		known = c.r.gate.Suspects(o.Snapshot.Expectations, changeOf(o, c.facts), without)
		if c.suspects == nil {
			c.suspects = map[string]expectations.Suspects{}
		}
		c.suspects[of] = known
	}
	return known
}

// release makes a permitted plan again with less held back, one by one, if that is permitted, too: another
// namespace may be the cause. The plan with nothing held back is not permitted.
func (c *causes) release(o outcome,
	plan func(ingress.Hold) outcome) outcome {
	try := func(hold ingress.Hold) {
		if hold.Equal(o.Hold) || hold.Empty() {
			return
		}
		if less := plan(hold); less.Forbidden == "" {
			o = less
		}
	}
	for _, name := range slices.Concat(o.Hold.Namespaces, o.Hold.Accepted) {
		hold := o.Hold
		is := func(n string) bool { return n == name }
		hold.Namespaces = slices.DeleteFunc(slices.Clone(hold.Namespaces), is)
		hold.Accepted = slices.DeleteFunc(slices.Clone(hold.Accepted), is)
		try(hold)
	}
	return o
}

func changeOf(o outcome, facts lb.Facts) expectations.Change {
	return expectations.Change{
		Snapshot: o.Snapshot.Snapshot, Departed: o.Snapshot.Departed, Facts: facts,
		Capabilities: o.Capabilities, Observed: o.Observed, Plan: o.Plan, Next: o.Built.Table,
	}
}

// judgeExpectations compares a plan with the expectations of the class, and with the routes that are served
// now.
func (r *Reconciler) judgeExpectations(o outcome, facts lb.Facts) expectations.Judgement {
	return r.gate.Judge(o.Snapshot.Expectations, changeOf(o, facts))
}

// logExpectations logs what violates an expectation, once.
func logExpectations(ctx context.Context, o outcome) {
	j := o.Expectations
	for _, d := range j.Diagnostics() {
		if !o.wasReported(d) {
			log.FromContext(ctx).Info("an expectation is violated",
				"at", d.Source.String(), "message", d.Message)
		}
	}
	if j.Set.Unread != "" {
		log.FromContext(ctx).Info("the expectations of the class are unread",
			"configMap", j.Set.ConfigMap.String(), "message", j.Set.Unread)
	}
}

// prove checks the plan, and replaces it by one that is proven, if there is one.
func (r *Reconciler) prove(ctx context.Context, o *outcome) {
	o.Plan, o.Proof = checkPlan(o.Observed, o.Built.LoadBalancer, o.Plan, o.Capabilities.Dialect,
		o.Snapshot.Class.LoadBalancerClassSpec)
	if o.Proof.Way == "" {
		return
	}
	r.Metrics.Proofs.WithLabelValues(o.Proof.Way).Inc()
	if o.Proof.Way == unproven {
		r.Metrics.Defects.WithLabelValues(metrics.DefectUnprovenPlan).Inc()
	}
	if o.Proof.Way != proven {
		log.FromContext(ctx).Info("a plan is not proven", "is", o.Proof.Way, "message", o.Proof.message(),
			"witness", o.Proof.witness(), "done", o.Proof.done(), "plan", o.Proof.steps())
	}
}

// withheld returns the reason of the condition Programmed for which a plan is not carried out; ""
// if it is carried out.
func (r *Reconciler) withheld(o outcome) string {
	why := ""
	switch {
	case o.Plan.Empty():
	case r.ReadOnly:
		why = v1alpha1.ReasonReadOnly
	case o.Snapshot.PausedBy != "":
		why = v1alpha1.ReasonPaused
	case r.lostRecordWait(o.Snapshot, time.Now()) > 0:
		why = v1alpha1.ReasonRecordLost
	case o.Dispute != nil && !o.Dispute.OfTargets:
		why = v1alpha1.ReasonDisputed
	case o.Forbidden != "":
		why = o.Forbidden
	case plan.Suspicious(o.Plan, o.Observed) && !o.Snapshot.HasChanges():
		if r.doubts.confirm(o.Plan) {
			return ""
		}
		return v1alpha1.ReasonUnconfirmed
	}
	r.doubts.forget(o.Snapshot.Key)
	return why
}

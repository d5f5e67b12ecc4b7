package loadbalancer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/outcome"
	"fairlead.dev/fairlead/controllers/proofs"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file decides which changes wait. What belongs to the namespaces that cause a wait is held
// back; the changes of others are carried out. If that is not possible, the plan is only reported.
// A host that a namespace gives up can be closed instead (closedhosts.go).

// plan compiles a load balancer and makes the steps to it. If they are not permitted, or not
// proven, hosts that were given up are closed or the namespaces that cause this are held back, and
// the plan is made again, as often as this shows further ones. If no plan is permitted, it returns
// the first one.
func (r *Reconciler) plan(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed) outcome.Outcome {
	first := r.planWith(ctx, snap, facts, seen, ingress.Hold{})
	if first.Forbidden == "" {
		return first
	}
	c := causes{r: r, facts: facts, changed: changedIngresses(snap)}
	last, told := first, first.Expectations
	for {
		hold := c.holdMore(last)
		if hold.Equal(last.Hold) {
			return first
		}
		if last = r.planWith(ctx, snap, facts, seen, hold); last.Forbidden == "" {
			last = c.release(last, func(hold ingress.Hold) outcome.Outcome {
				return r.planWith(ctx, snap, facts, seen, hold)
			})
			last.Hold.Closed = closedHosts(last.Built.Table)
			last.HoldBack(first, told, c.closings(last.Hold.Closed))
			return last
		}
		told = told.With(last.Expectations)
	}
}

// planWith makes a plan with some Ingresses held back, and judges it.
func (r *Reconciler) planWith(ctx context.Context, snap *gather.Snapshot, facts lb.Facts,
	seen *lb.Observed, hold ingress.Hold) outcome.Outcome {
	caps := r.Cloud.Capabilities(model.ClassOf(snap.Snapshot))
	built := r.compile(snap.Held(hold, snap.Departed), facts, seen, caps) // cannot fail
	// Rules that another writer has made.
	foreign := r.rules.applyForeignRulePolicy(ctx, snap, seen, &built)
	// The steps, in a safe order.
	todo := outcome.PlanUnlessRetained(snap, r.diff(seen, built.LoadBalancer, caps))
	o := outcome.Outcome{
		Snapshot: snap, Capabilities: caps, Built: built, Observed: seen, Plan: todo,
		ForeignRules: foreign, Unread: unread(snap, facts), Hold: hold,
	}
	r.prove(ctx, &o) // that the order is safe
	o.Expectations = r.judge(o, facts)
	if !o.Plan.Empty() {
		o.Forbidden = cmp.Or(o.Expectations.Reason(), o.Proof.Reason())
	}
	return o
}

// A causes finds the namespaces because of which a plan is not permitted.
type causes struct {
	r       *Reconciler
	facts   lb.Facts
	changed map[string]bool // Ingresses whose present version is not served yet
	// suspects can have caused the violations; nil if they are not known yet.
	suspects *expectations.Suspects
	// doubtful are namespaces that may be held back because of another one's change.
	doubtful []string
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

// holdMore returns what is to be held back after a plan that was not permitted. If holding back
// changes does not help, namespaces that still violate an expectation are left out. Each host is
// closed once, and each namespace is held back once, loses single Ingresses once, and is left out
// once. Hosts are closed together, so plans are made again a few times for each namespace at most.
func (c *causes) holdMore(o outcome.Outcome) ingress.Hold {
	if hold := c.holdMoreOf(o, false); !hold.Equal(o.Hold) {
		return hold
	}
	return c.holdMoreOf(o, true)
}

func (c *causes) holdMoreOf(o outcome.Outcome, whole bool) ingress.Hold {
	hold := o.Hold
	isHeld := func(namespace string) bool { return slices.Contains(o.Hold.Namespaces, namespace) }
	add := func(namespace string) {
		if namespace != "" && !slices.Contains(hold.Namespaces, namespace) {
			hold.Namespaces = append(slices.Clip(hold.Namespaces), namespace)
		}
	}
	leaveOut := func(ingresses ...string) {
		for _, name := range ingresses {
			if !slices.Contains(hold.Ingresses, name) {
				hold.Ingresses = append(slices.Clip(hold.Ingresses), name)
			}
		}
	}
	// The Ingress that gives up what it answered waits, and if that does not help, its namespace.
	keep := func(name string) {
		namespace := namespaceOf(name)
		if slices.ContainsFunc(o.Hold.Accepted, func(n string) bool { return namespaceOf(n) == namespace }) {
			add(namespace)
		} else if !slices.Contains(hold.Accepted, name) {
			hold.Accepted = append(slices.Clip(hold.Accepted), name)
		}
	}
	for _, f := range o.Expectations.Offences {
		next, now := namespaceOf(f.Next), namespaceOf(f.Now)
		by := c.namersOf(o, f)
		switch {
		case c.changed[f.Next] && !isHeld(next):
			if add(next); c.changed[f.Now] && now != next {
				c.doubtful = append(c.doubtful, next)
			}
		case c.closes(o, f, by) && c.close(&hold, f, giver(o, f, by), o.Snapshot.Recorded.Closed):
			if isHeld(next) { // what it asks for elsewhere may be permitted
				c.doubtful = append(c.doubtful, next)
			}
		case whole && holdsSome(o.Hold, next) && isItsOwn(o):
			leaveOut(namespaceMembers(o.Snapshot, next)...) // what was held back covered a violation
		case c.changed[f.Now] && !isHeld(now):
			keep(f.Now)
		case f.Next == "" || slices.Contains(hold.Ingresses, f.Next):
		case c.suspectsOf(o).StandsAlone(f.Next):
			leaveOut(f.Next)
		case f.Now == "" && c.changes(next) && !isHeld(next): // what it had elsewhere may have covered this
			add(next)
			c.doubtful = append(c.doubtful, next)
		case slices.ContainsFunc(by, func(name string) bool { return !isHeld(namespaceOf(name)) }):
			for _, name := range by {
				keep(name)
			}
		}
	}
	for _, namespace := range o.Proof.Namespaces() {
		add(namespace)
	}
	return hold
}

func namespaceOf(ingress string) string {
	return cluster.RefFrom(cluster.KindIngress, ingress).Namespace
}

// isItsOwn reports whether only its namespace can have caused a violation: the class is as it was
// when the last plan was carried out.
func isItsOwn(o outcome.Outcome) bool {
	last := o.Snapshot.Recorded.Class
	return last != nil && equality.Semantic.DeepEqual(*last, o.Snapshot.Class.LoadBalancerClassSpec)
}

// changes reports whether an Ingress of a namespace changed.
func (c *causes) changes(namespace string) bool {
	for name := range c.changed {
		if namespaceOf(name) == namespace {
			return true
		}
	}
	return false
}

// holdsSome reports whether something of a namespace is held back.
func holdsSome(hold ingress.Hold, namespace string) bool {
	return slices.Contains(hold.Namespaces, namespace) ||
		slices.ContainsFunc(slices.Concat(hold.Accepted, hold.Ingresses),
			func(i string) bool { return namespaceOf(i) == namespace })
}

// namespaceMembers returns the members of a namespace, those that have departed included.
func namespaceMembers(snap *gather.Snapshot, namespace string) []string {
	names := append(snap.MemberNames(), slices.Sorted(maps.Keys(snap.Departed))...)
	return slices.DeleteFunc(names, func(name string) bool { return namespaceOf(name) != namespace })
}

// suspectsOf returns the namespaces that can have caused the violations of a plan.
func (c *causes) suspectsOf(o outcome.Outcome) *expectations.Suspects {
	if c.suspects == nil {
		c.suspects = new(c.r.gate.Suspects(o.Snapshot.Expectations, changeOf(o, c.facts)))
	}
	return c.suspects
}

// release makes a permitted plan again without holding back those who may have been held back
// because of another namespace's change, and without closing hosts, if that is permitted, too.
func (c *causes) release(o outcome.Outcome,
	plan func(ingress.Hold) outcome.Outcome) outcome.Outcome {
	try := func(hold ingress.Hold) {
		if hold.Equal(o.Hold) {
			return
		}
		if less := plan(hold); less.Forbidden == "" {
			o = less
		}
	}
	for _, namespace := range c.doubtful {
		hold := o.Hold
		hold.Namespaces = slices.DeleteFunc(slices.Clone(hold.Namespaces), func(n string) bool {
			return n == namespace
		})
		try(hold)
	}
	if hold := o.Hold; hold.Delays() {
		hold.Closed = nil
		try(hold)
	}
	return o
}

func changeOf(o outcome.Outcome, facts lb.Facts) expectations.Change {
	return expectations.Change{
		Snapshot: o.Snapshot.Snapshot, Departed: o.Snapshot.Departed, Facts: facts,
		Capabilities: o.Capabilities, Observed: o.Observed, Plan: o.Plan, Next: o.Built.Table,
	}
}

// judge compares a plan with the expectations of the class, and with the routes that are served
// now.
func (r *Reconciler) judge(o outcome.Outcome, facts lb.Facts) expectations.Judgement {
	return r.gate.Judge(o.Snapshot.Expectations, changeOf(o, facts))
}

// logExpectations logs what violates an expectation, once.
func logExpectations(ctx context.Context, o outcome.Outcome) {
	j := o.Expectations
	for _, d := range j.Diagnostics() {
		if !o.WasReported(d) {
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
func (r *Reconciler) prove(ctx context.Context, o *outcome.Outcome) {
	o.Plan, o.Proof = proofs.Judge(o.Observed, o.Built.LoadBalancer, o.Plan, o.Capabilities.Dialect,
		o.Snapshot.Class.LoadBalancerClassSpec)
	if o.Proof.Way == "" {
		return
	}
	r.Metrics.Proofs.WithLabelValues(o.Proof.Way).Inc()
	if o.Proof.Way == proofs.Unproven {
		r.Metrics.Defects.WithLabelValues(metrics.DefectUnprovenPlan).Inc()
	}
	if o.Proof.Way != proofs.Proven {
		log.FromContext(ctx).Info("a plan is not proven", "is", o.Proof.Way, "message", o.Proof.Message(),
			"witness", o.Proof.Witness(), "done", o.Proof.Done(), "plan", o.Proof.Steps())
	}
}

// withheld returns the reason of the condition Programmed for which a plan is not carried out; ""
// if it is carried out.
func (r *Reconciler) withheld(o outcome.Outcome) string {
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

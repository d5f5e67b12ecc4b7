package loadbalancer

import (
	"context"
	"errors"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/expectations"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/providers"
)

// This file tests what a reconcile does besides its plan.

// An asked cloud says what a test has it say of certificates and limits.
type askedCloud struct {
	*controllertest.Cloud
	edit func(*lb.Facts)
}

func (c askedCloud) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	facts, err := c.Cloud.Lookup(ctx, q)
	c.edit(&facts)
	return facts, err
}

// What could not be read is read again soon, and what could is not.
func TestFactsThatCouldNotBeReadAreReadAgainSoon(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*lb.Facts)
		soon bool
	}{
		"nothing":      {func(*lb.Facts) {}, false},
		"limits":       {func(f *lb.Facts) { f.LimitsUnread = true }, true},
		"certificates": {func(f *lb.Facts) { f.CertificatesUnread = "denied" }, true},
	} {
		b := newBench(t, ask("shop.example"), service())
		b.place()
		b.settle()
		b.Cloud = askedCloud{b.cloud, c.edit}
		if out, err := b.reconcile(); err != nil || out.RequeueAfter == 0 || out.RequeueAfter <= cluster.RetryUnread != c.soon {
			t.Errorf("%s: it is reconciled again after %s, error %v", name, out.RequeueAfter, err)
		}
	}
}

// A reconcile ends the changes that it began with, counts and measures, and has its calls wait under
// the name of its load balancer. Its target groups are expected, and what it wrote may not be read
// at once.
func TestWhatAReconcileLeaves(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.Cloud = providers.LimitRate(b.cloud, 50, 1)
	b.place()
	b.backlog.NoteChange(benchKey)
	b.settle()
	if b.OldestChange() != 0 {
		t.Errorf("a change is not met since %s", b.OldestChange())
	}
	var compiled, plans dto.Metric
	if err := errors.Join(b.Metrics.Compiles.Write(&compiled), b.Metrics.Plans.WithLabelValues("ok").Write(&plans)); err != nil || compiled.Histogram.GetSampleCount() == 0 || plans.Counter.GetValue() != 1 {
		t.Errorf("%d compilations and %v plans are counted, error %v", compiled.Histogram.GetSampleCount(), plans.Counter.GetValue(), err)
	}
	if b.Waits.Since(benchKey, v1alpha1.ReasonRateLimited).IsZero() {
		t.Error("its calls have not waited")
	}
	if !b.Targets.Compiled(benchKey, cluster.RefTo(cluster.KindService, "shop", "web")) {
		t.Error("its target groups are not expected")
	}
	group := b.lastObserved(benchKey).TargetGroups[0].ID
	b.lastObserved(benchKey).TargetGroups[0].Ready = false
	b.warmups.byGroup = map[lb.GroupKey]*await{{Key: benchKey, ID: group}: {lost: true}}
	b.quiet[benchKey] = time.Time{}
	b.reconciles()
	if !b.lastObserved(benchKey).TargetGroups[0].Ready {
		t.Error("a group that was waited for long enough is not taken for healthy")
	}
	if !b.quiet[benchKey].IsZero() {
		t.Error("a reconcile that writes nothing is taken for one that does")
	}
	b.change()
	b.reconciles()
	if !b.quiet[benchKey].After(time.Now()) {
		t.Error("a reconcile that writes is not taken for one")
	}
}

// A plan begins with a claim. Where it is withheld, or there is none, nothing is claimed.
func TestWhatIsClaimed(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	term := func() string {
		t.Helper()
		report := &v1alpha1.LoadBalancer{}
		if err := b.Get(t.Context(), client.ObjectKey{Name: v1alpha1.Name(string(benchKey), "")}, report); err != nil {
			t.Fatal(err)
		}
		return report.Status.Term
	}
	b.place()
	b.Paused = []string{string(benchKey)}
	if b.reconciles(); term() != "" {
		t.Errorf("while it is paused, %q has claimed it", term())
	}
	b.Paused = nil
	if b.settle(); term() == "" {
		t.Error("a plan was carried out without a claim")
	}
	b.loseRecord()
	b.succeed()
	b.place()
	if b.reconciles(); term() != "" {
		t.Errorf("without a plan, %q has claimed it", term())
	}
}

// overtaking is a keeper of records that another operator writes, too.
type overtaking struct {
	records.Store
	refuses error
	taken   bool
}

func (o *overtaking) Claim(ctx context.Context, key lb.Key) error {
	if o.refuses != nil {
		return o.refuses
	}
	return o.Store.Claim(ctx, key)
}

func (o *overtaking) Overtaken(context.Context, lb.Key) (bool, error) { return o.taken, nil }

// compiled is the table of the load balancer that is wanted.
func (b *bench) compiled() *precedence.Table {
	b.Helper()
	seen, err := b.cloud.Cloud.Observe(b.Context(), benchKey, false)
	if err != nil {
		b.Fatal(err)
	}
	snap := b.gathered()
	return b.compile(snap.Snapshot, lb.Facts{}, seen, b.Cloud.Capabilities(model.ClassOf(snap.Snapshot))).Table
}

// serves reports whether the gate knows that a table is served.
func (b *bench) serves(key lb.Key, table *precedence.Table) bool {
	change := expectations.Change{Observed: &lb.Observed{Key: key, Exists: true}, Plan: plan.Plan{Steps: []plan.Planned{{Step: plan.CreateTargetGroup{}}}}, Next: table}
	change.Snapshot.Key = key
	return b.gate.Judge(&expectations.Set{Unread: "unread"}, change).AddedRequest == ""
}

// What a load balancer serves is known once all of it is served, where its class has expectations,
// until another operator has written. Then the cloud is observed again.
func TestWhatIsKnownToBeServed(t *testing.T) {
	b := newBench(t, below("shop.example", "/shop"), service())
	b.place()
	if b.settle(); b.serves(benchKey, b.compiled()) {
		t.Error("it is known, though the class has no expectations")
	}
	b = newGatedBench(t, below("shop.example", "/shop"), service(), ruleBook(noAdmin))
	b.cloud.Refuses = func(plan.Step) error { return errStep }
	if _, err := b.reconcile(); err == nil || b.serves(benchKey, b.compiled()) {
		t.Errorf("it is known, though a step failed with %v", err)
	}
	b.cloud.Refuses = nil
	if b.settle(); !b.serves(benchKey, b.compiled()) {
		t.Error("it is not known")
	}
	other := &overtaking{Store: b.Records.Store, refuses: errStep}
	b.Records.Store = other
	known := b.compiled()
	b.change()
	if _, err := b.reconcile(); !errors.Is(err, errStep) || b.serves(benchKey, known) || b.lastObserved(benchKey) != nil {
		t.Errorf("another operator has written, and it is known; error %v", err)
	}
	other.refuses = nil
	if b.settle(); !b.serves(benchKey, b.compiled()) {
		t.Error("it is not known again")
	}
	other.taken, b.Paused = true, []string{string(benchKey)}
	before := b.cloud.Observations
	known = b.compiled()
	b.edit("shop.example", "/shop", "/about")
	if b.serves(benchKey, known) || b.cloud.Observations != before+1 {
		t.Errorf("another operator has written, and it is known; it is observed %d times", b.cloud.Observations-before)
	}
}

package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	dto "github.com/prometheus/client_model/go"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/events"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers"
)

// This file tests what is reported of a reconcile, and when the next one is.

// done is the outcome of a load balancer that exists and has nothing to do.
func done(change func(*outcome)) outcome {
	g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}, ReadAt: time.Now()}
	o := outcome{
		Snapshot: g, Observed: &lb.Observed{Key: benchKey, Exists: true, Active: true}, Capabilities: lb.ALB(),
		Built: model.Built{LoadBalancer: lb.LoadBalancer{Key: benchKey}, Table: &precedence.Table{}},
	}
	change(&o)
	return o
}

// readyBench is a bench that has read its records.
func readyBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := newBench(t, objects...)
	if err := b.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// The next reconcile is when something is expected to change, and else when the cloud may have
// drifted. Where a step failed, or the report could not be written, the queue decides.
func TestWhenTheNextReconcileIs(t *testing.T) {
	const drift = 9 * time.Hour
	now := metav1.Now()
	member := func(m v1alpha1.MemberMemory) []v1alpha1.MemberMemory {
		m.Ingress = "shop/web"
		return []v1alpha1.MemberMemory{m}
	}
	departing := ingress.NewMember(ask("shop.example"), settings.Values{})
	departing.Leaving, departing.Departing = true, true
	for name, c := range map[string]struct {
		change      func(*outcome)
		rate        bool // calls wait for the cloud's rate
		least, most time.Duration
		anyway      bool // where a step failed, too
		told        bool // a failed step is told by the next reconcile
	}{
		"nothing":              {change: func(*outcome) {}, least: drift, most: 2 * drift},
		"it is not active yet": {change: func(o *outcome) { o.Observed.Active = false }, least: queue.AfterPending, most: queue.AfterPending},
		"it does not exist": {change: func(o *outcome) {
			o.Observed.Exists, o.Observed.Active, o.Snapshot.Record.Memory.Members = false, false, member(v1alpha1.MemberMemory{})
		}, least: drift, most: 2 * drift},
		"a limit is met":          {change: func(o *outcome) { o.Built.Diagnostics = []diag.Diagnostic{{Reason: diag.QuotaExceeded}} }, least: queue.AfterRejected, most: queue.AfterRejected},
		"the cloud lacks a thing": {change: func(o *outcome) { o.Built.Diagnostics = []diag.Diagnostic{{Reason: diag.NetworkUnmet}} }, least: queue.AfterRejected, most: queue.AfterRejected},
		"it has to be confirmed":  {change: func(o *outcome) { o.Withheld = v1alpha1.ReasonUnconfirmed }, least: queue.AfterConflict, most: queue.AfterConflict},
		"a refusal has ended": {change: func(o *outcome) {
			o.Snapshot.Record.Memory.Members = member(v1alpha1.MemberMemory{Rejections: []v1alpha1.Rejection{{Version: "v", Capabilities: "of another cloud"}}})
		}, least: queue.AfterConflict, most: queue.AfterConflict, told: true},
		"a fact is unread":         {change: func(o *outcome) { o.Unread = true }, least: cluster.RetryUnread, most: cluster.RetryUnread, anyway: true},
		"expectations are unread":  {change: func(o *outcome) { o.Expectations.Set.Unread = "missing" }, least: cluster.RetryUnread, most: cluster.RetryUnread, anyway: true},
		"settings are unread":      {change: func(o *outcome) { o.Observed.Unread = []string{"denied"} }, least: untilReread, most: untilReread, anyway: true},
		"the record was lost":      {change: func(o *outcome) { o.Snapshot.Record.Memory.LostAt = &now }, least: 50 * time.Minute, most: time.Hour, anyway: true},
		"another writer undoes it": {change: func(o *outcome) { o.Dispute = &queue.Dispute{Until: time.Now().Add(time.Hour)} }, least: 50 * time.Minute, most: time.Hour, anyway: true},
		"calls wait":               {change: func(*outcome) {}, rate: true, least: waitCheckInterval, most: waitCheckInterval, anyway: true},
		"an Ingress has vanished": {change: func(o *outcome) {
			o.Snapshot.Record.Memory.Members = member(v1alpha1.MemberMemory{VanishedAt: &now})
		}, least: 50 * time.Minute, most: time.Hour, anyway: true},
		"an Ingress departs": {change: func(o *outcome) {
			o.Snapshot.Members = []ingress.Member{departing}
			o.Snapshot.Record.Memory.Members = member(v1alpha1.MemberMemory{DepartedAt: &now})
		}, least: settings.DefaultMoveGrace - time.Minute, most: settings.DefaultMoveGrace, anyway: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, failed := range []string{"", "a step", "the record"} {
				b := readyBench(t)
				if b.Grace = time.Hour; c.rate {
					b.Waits.Begin(benchKey, v1alpha1.ReasonRateLimited)
				}
				o := done(c.change)
				if failed == "a step" {
					o.Err = errStep
				}
				if failed == "the record" {
					a := b.archive("")
					a.failure = errStep
					b.Records.Store = a
				}
				out, err := b.report(t.Context(), o)
				least, most := c.least, c.most
				if failed == "a step" && o.Withheld == "" && !c.told || failed == "the record" {
					if !errors.Is(err, errStep) {
						t.Errorf("after a failure of %s the error is %v", failed, err)
					}
					if !c.anyway {
						least, most = 0, 0
					}
				} else if err != nil {
					t.Error(err)
				}
				if out.RequeueAfter < least || out.RequeueAfter > most {
					t.Errorf("after a failure of %q the next is after %s, want from %s to %s", failed, out.RequeueAfter, least, most)
				}
			}
		})
	}
}

// Of a load balancer of which nothing is left nothing is remembered, and others may have its name.
func TestWhatIsForgottenOfALoadBalancer(t *testing.T) {
	key := func(ingress string) lb.Key {
		return routing.NewKey([]string{"fairlead", "shop", ingress}, "internal", "", "front")
	}
	named, same := key("web"), key("api")
	for name, failing := range map[string]bool{"all is well": false, "an event cannot be sent": true} {
		t.Run(name, func(t *testing.T) {
			b := readyBench(t, ask("shop.example"), service())
			for _, key := range []lb.Key{named, same} {
				if err := b.Records.Save(t.Context(), key, records.Record{Address: "there"}); err != nil {
					t.Fatal(err)
				}
			}
			refuses := failing
			b.Events = events.NewRecorder(interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{Create: func(ctx context.Context, to client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if refuses {
					return errStep
				}
				return to.Create(ctx, o, opts...)
			}}), b.Client)
			seen := &lb.Observed{Key: named}
			b.observer.keep(named, seen)
			for !b.Disputes.Add(lb.GroupKey{Key: named}, []string{"rule"}, time.Now()) {
			}
			b.place()
			table := b.compiled()
			b.gate.Served(named, table)
			b.writes.add(named, []string{"rule"}, nil, time.Now())
			b.Targets.Expect(named, []cluster.Ref{{Kind: cluster.KindService}}, nil)
			b.Reconciler.rules.find(&gather.Snapshot{Snapshot: ingress.Snapshot{Key: named}}, seen, lb.LoadBalancer{})
			b.Waits.Set(named, v1alpha1.ReasonQueued, time.Now())
			b.doubts.confirm(plan.Plan{Key: named, Steps: []plan.Planned{{Step: plan.CreateTargetGroup{}}}})
			told := diag.Diagnostic{Source: diag.Source{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, Severity: diag.Warning, Reason: diag.ConsentWithdrawn}
			o := done(func(o *outcome) {
				o.Snapshot.Key, o.Observed, o.Built.LoadBalancer.Key = named, seen, named
				o.Built.Diagnostics, o.Snapshot.Actual = []diag.Diagnostic{told}, map[string]*networkingv1.Ingress{"shop/web": ask("shop.example")}
			})
			_, err := b.report(t.Context(), o)
			left := map[string]bool{
				"the record": slices.Contains(b.Records.Keys(), named), "the observation": b.lastObserved(named) != nil, "what was written": b.writes.byKey[named] != nil,
				"the expected groups": b.Targets.Compiled(named, cluster.Ref{Kind: cluster.KindService}), "its rules": b.Reconciler.rules.views[named].seen != nil,
				"a wait": !b.Waits.Since(named, v1alpha1.ReasonQueued).IsZero(), "a doubt": b.doubts.isUnconfirmed(named), "when it was written": !b.quiet[named].IsZero(),
			}
			left["a dispute"], left["what it serves"] = b.Disputes.FirstToEnd(named, time.Now()) != nil, b.serves(named, table)
			for what, is := range left {
				if is != failing {
					t.Errorf("%s is left: %t", what, is)
				}
			}
			if failing != errors.Is(err, errStep) {
				t.Errorf("the error is %v", err)
			}
			refuses = false
			asked := false
			if err := b.Events.SendNew(t.Context(), named, []diag.Diagnostic{told}, func(diag.Diagnostic) bool { asked = true; return true }, o.Snapshot.Addressee); err != nil || asked == failing {
				t.Errorf("whether it was told before is asked: %t, error %v", asked, err)
			}
			if woken := b.woken(); !failing && !slices.Equal(woken, []lb.Key{same}) || failing && len(woken) > 0 {
				t.Errorf("%q are reconciled", woken)
			}
		})
	}
}

// woken are the load balancers that others have reconciled.
func (b *bench) woken() (keys []lb.Key) {
	for len(b.wake) > 0 {
		keys = append(keys, (<-b.wake).Object)
	}
	return keys
}

// An Ingress that departs is released once the record is without it. Then there may be room for
// others, and where one has moved on, the load balancers that it left are reconciled.
func TestWhatAnIngressThatDepartsLeavesBehind(t *testing.T) {
	old := metav1.NewTime(time.Now().Add(-24 * 30 * time.Hour))
	for name, c := range map[string]struct {
		departs, leftOut, moved, failing bool
		woken                            []lb.Key
		held                             bool
	}{
		"nothing":                        {held: true},
		"one departs":                    {departs: true},
		"one waits for room":             {leftOut: true, held: true},
		"one departs, and another waits": {departs: true, leftOut: true, woken: []lb.Key{benchKey}},
		"the record cannot be written":   {departs: true, failing: true, held: true},
		"a move is over":                 {moved: true, held: true, woken: []lb.Key{otherKey}},
	} {
		t.Run(name, func(t *testing.T) {
			b := readyBench(t, published(false))
			b.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "web"), []lb.Key{benchKey})
			if c.failing {
				a := b.archive("")
				a.failure = errStep
				b.Records.Store = a
			}
			o := done(func(o *outcome) {
				o.Built.LoadBalancer = lb.LoadBalancer{Key: benchKey}
				o.Observed.Exists, o.Observed.Active = false, false
				o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/kept"}, {Ingress: "shop/web"}}
				if c.departs {
					o.Snapshot.Departed = map[string]*networkingv1.Ingress{"shop/web": b.ingress()}
				}
				if c.leftOut {
					o.Snapshot.LeftOut = []*networkingv1.Ingress{ask("late.example")}
				}
				if c.moved {
					o.Snapshot.Record.Memory.Members[1].Previous, o.Snapshot.Record.Memory.Members[1].PublishedAt = string(otherKey), &old
				}
			})
			if _, err := b.report(t.Context(), o); errors.Is(err, errStep) != c.failing {
				t.Errorf("the error is %v", err)
			}
			if woken := b.woken(); !slices.Equal(woken, c.woken) {
				t.Errorf("%q are reconciled, want %q", woken, c.woken)
			}
			if held := len(b.ingress().Finalizers) > 0; held != c.held {
				t.Errorf("it has the finalizer: %t", held)
			}
		})
	}
}

// The record has an address until no Ingress can have it in its status.
func TestUntilWhenTheRecordHasAnAddress(t *testing.T) {
	refuses := errors.New("no release")
	for name, c := range map[string]struct {
		exists, departed, member bool
		unwritable               bool // the status of the member
		err                      error
		kept                     bool
	}{
		"it is gone":                         {},
		"it is gone, and a step failed":      {err: errStep},
		"it exists":                          {exists: true, kept: true},
		"it is gone, and an Ingress is left": {departed: true, kept: true},
		"it is gone, with a member":          {member: true},
		"with a member that has it":          {member: true, unwritable: true, kept: true},
		"with a member, and a step failed":   {member: true, err: errStep, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := readyBench(t, published(false))
			o := done(func(o *outcome) {
				o.Observed.Exists, o.Observed.Active, o.Err = c.exists, c.exists, c.err
				o.Observed.Address.Hostname = "ours.example"
				o.Snapshot.Record.Address = "ours.example"
				o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/kept"}, {Ingress: "shop/web"}}
				if c.departed {
					o.Snapshot.Departed = map[string]*networkingv1.Ingress{"shop/web": b.ingress()}
				}
				if c.member {
					m := ingress.NewMember(b.ingress(), settings.Values{})
					o.Snapshot.Members, o.Snapshot.Actual = []ingress.Member{m}, map[string]*networkingv1.Ingress{"shop/web": b.ingress()}
				}
			})
			if c.departed || c.unwritable {
				b.Ingresses = failingStatus(b, refuses)
			}
			if _, err := b.report(t.Context(), o); errors.Is(err, refuses) != (c.departed || c.unwritable) {
				t.Errorf("the error is %v", err)
			}
			if kept := b.Records.Get(benchKey).Address != ""; kept != c.kept {
				t.Errorf("the record has an address: %t", kept)
			}
		})
	}
}

// What came of a plan is counted by its result.
func TestTheResultsOfPlans(t *testing.T) {
	for name, c := range map[string]struct {
		withheld string
		err      error
		want     string
	}{
		"it is done":                        {want: "ok"},
		"it is withheld":                    {withheld: v1alpha1.ReasonPaused, want: "withheld"},
		"a step waits":                      {err: providers.ErrPending, want: "pending"},
		"a step is refused":                 {err: providers.ErrRejected, want: "rejected"},
		"one waits, and another is refused": {err: errors.Join(providers.ErrPending, providers.ErrRejected), want: "rejected"},
		"one is refused, and another waits": {err: errors.Join(providers.ErrRejected, providers.ErrPending), want: "rejected"},
	} {
		b := newBench(t)
		o := done(func(o *outcome) {
			o.Withheld, o.Err, o.Plan.Steps = c.withheld, c.err, []plan.Planned{{Step: plan.CreateTargetGroup{}}}
			o.Run.Pending = []plan.Step{plan.AwaitTargets{Group: "web"}}
		})
		b.backlog.NoteChange(benchKey)
		b.backlog.Begin(benchKey)
		b.backlog.NoteWork(benchKey) // by a plan before
		b.measure(o)
		var counted, took dto.Metric
		if err := b.Metrics.Plans.WithLabelValues(c.want).Write(&counted); err != nil || counted.Counter.GetValue() != 1 || resultOf(o) != c.want {
			t.Errorf("%s: %v plans are counted as %s, and the result is %s, error %v", name, counted.Counter.GetValue(), c.want, resultOf(o), err)
		}
		if err := b.Metrics.Changes.WithLabelValues(queue.BalancersLoop).(interface{ Write(*dto.Metric) error }).Write(&took); err != nil || (took.Histogram.GetSampleCount() == 1) != (c.want == "ok") {
			t.Errorf("%s: %d changes are measured, error %v", name, took.Histogram.GetSampleCount(), err)
		}
		if b.AwaitedGroups()[benchKey] != 1 {
			t.Errorf("%s: awaited are %v", name, b.AwaitedGroups())
		}
		o.Plan.Steps = nil
		if b.measure(o); b.Metrics.Plans.WithLabelValues(c.want).Write(&counted) != nil || counted.Counter.GetValue() != 1 {
			t.Errorf("%s: a plan without steps is counted", name)
		}
	}
}

// A plan is logged that changed something, and its steps, unless it is withheld.
func TestWhichPlansAreLogged(t *testing.T) {
	for name, c := range map[string]struct {
		withheld string
		done     int
		want     []string
	}{
		"one that is done":     {done: 1, want: []string{"changed the load balancer", "step"}},
		"one that did nothing": {want: []string{"step"}},
		"one that is withheld": {withheld: v1alpha1.ReasonPaused, done: 1},
	} {
		var lines []string
		ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1}))
		b := readyBench(t)
		_, _ = b.report(ctx, done(func(o *outcome) {
			o.Withheld, o.Run.Done, o.Plan.Steps = c.withheld, c.done, []plan.Planned{{Step: plan.CreateTargetGroup{}}}
		}))
		found := 0
		for _, line := range lines {
			if strings.Contains(line, `"msg"="changed the load balancer"`) || strings.Contains(line, `"msg"="step"`) {
				found++
			}
		}
		if found != len(c.want) {
			t.Errorf("%s: logged is %q, want %q", name, lines, c.want)
		}
	}
}

// A cloud that cannot be read is reported, unless there is no Ingress to report it to, or the
// operator ends.
func TestACloudThatCannotBeReadIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		members, remembered, ended bool
		saved                      bool
	}{
		"without Ingresses":      {},
		"with a member":          {members: true, saved: true},
		"with one in the record": {remembered: true, saved: true},
		"as the operator ends":   {members: true, ended: true},
	} {
		b := readyBench(t)
		ctx, end := context.WithCancel(t.Context())
		if c.ended {
			end()
		}
		g := &gather.Snapshot{Snapshot: ingress.Snapshot{Key: benchKey}}
		before := []metav1.Condition{{Type: v1alpha1.ConditionProgrammed, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionWaiting, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonThrottled, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
		g.Record.Conditions = slices.Clone(before)
		if c.members {
			g.Members = []ingress.Member{ingress.NewMember(ask("shop.example"), settings.Values{})}
		}
		if c.remembered {
			g.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web"}}
		}
		failure := fmt.Errorf("describing: %w", providers.ErrPending)
		if _, err := b.reportUnreadableCloud(ctx, g, failure); !errors.Is(err, providers.ErrPending) {
			t.Errorf("%s: the error is %v", name, err)
		}
		end()
		r := b.Records.Get(benchKey)
		programmed, waiting := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionProgrammed), meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting)
		if saved := r.LastError == failure.Error() && programmed != nil && programmed.Status == metav1.ConditionFalse && waiting.Status == metav1.ConditionFalse; saved != c.saved {
			t.Errorf("%s: it is reported: %t, %+v", name, saved, r)
		}
		if !slices.Equal(g.Record.Conditions, before) {
			t.Errorf("%s: the record that was read is changed", name)
		}
	}
}

// A report has the reconcilers of others know of it: what is waited for, which target groups there
// are, and what has to be observed anew.
func TestWhatAReportTellsOthers(t *testing.T) {
	b := readyBench(t)
	group := lb.GroupKey{Key: benchKey, ID: "web"}
	o := done(func(o *outcome) {
		o.Observed.TargetGroups = []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: group.ID, Service: "shop/web", TargetType: v1alpha1.TargetTypeIP}}}
		o.Built.LoadBalancer.TargetGroups = []lb.TargetGroup{o.Observed.TargetGroups[0].TargetGroup}
		o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web"}}
		o.Run.Pending, o.Err = []plan.Step{plan.AwaitTargets{Group: group.ID}}, providers.ErrPending
	})
	b.observer.keep(benchKey, o.Observed)
	b.Waits.Set(benchKey, v1alpha1.ReasonRateLimited, time.Now().Add(-time.Minute))
	_, _ = b.report(t.Context(), o)
	if b.warmups.byGroup[group] == nil || b.lastObserved(benchKey) == nil {
		t.Errorf("what is waited for is %v, and the observation is %v", b.warmups.byGroup, b.lastObserved(benchKey))
	}
	if _, exists := b.Targets.TargetsOf(group); !exists {
		t.Error("the target group is not known")
	}
	r := b.Records.Get(benchKey)
	if c := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionWaiting); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the condition is %v", c)
	}
	o.Err, o.Withheld, o.Run.Pending = nil, v1alpha1.ReasonUnconfirmed, nil
	_, _ = b.report(t.Context(), o)
	if b.warmups.byGroup[group] != nil || b.lastObserved(benchKey) != nil {
		t.Errorf("what is waited for is %v, and the observation is %v", b.warmups.byGroup, b.lastObserved(benchKey))
	}
}

// What the cloud refuses is left out at once. The report on that follows, and the owner of the
// Ingress is told; what is served is published.
func TestARefusalIsReportedByTheNextReconcile(t *testing.T) {
	b := newBench(t, ask("shop.example"), service())
	b.place()
	b.cloud.Refuses = func(s plan.Step) error {
		if _, is := s.(plan.CreateRule); is {
			return providers.ErrRejected
		}
		return nil
	}
	for range 3 {
		out, err := b.reconcile()
		if len(b.Unassigned) == 0 {
			continue
		}
		if err != nil || out.RequeueAfter != queue.AfterConflict || len(b.Records.Get(benchKey).Diagnostics) > 0 {
			t.Errorf("it is reconciled again after %s, reported is %v, error %v", out.RequeueAfter, b.Records.Get(benchKey).Diagnostics, err)
		}
		break
	}
	if len(b.Unassigned) != 1 {
		t.Errorf("%d Ingresses are looked after", len(b.Unassigned))
	}
	b = readyBench(t)
	o := done(func(o *outcome) {
		o.Snapshot.Record.Diagnostics = []v1alpha1.Diagnostic{{Reason: string(diag.Protected)}}
		o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web", Rejections: []v1alpha1.Rejection{{Version: "v", Capabilities: "of another cloud"}}}}
	})
	if _, err := b.report(t.Context(), o); err != nil || len(b.Records.Get(benchKey).Diagnostics) != 1 {
		t.Errorf("reported is %v, error %v", b.Records.Get(benchKey).Diagnostics, err)
	}
	b = newBench(t, ask("shop.example"), service())
	b.place()
	if b.settle(); len(b.ingress().Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("published is %v", b.ingress().Status)
	}
}

// An operator that only plans reports, and writes nothing else. It lets go of what departs, and of
// load balancers of which nothing is left.
func TestThePreviewOfAPlan(t *testing.T) {
	for name, c := range map[string]struct {
		gone, departed, remembered, failing bool
		left, released                      bool
	}{
		"it exists":                      {left: true},
		"it is gone":                     {gone: true},
		"it is gone, and one departs":    {gone: true, departed: true, released: true},
		"one departs that is remembered": {gone: true, departed: true, remembered: true, left: true},
		"the report cannot be written":   {failing: true},
		"the report cannot be deleted":   {gone: true, failing: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := readyBench(t, published(false))
			b.ReadOnly = true
			if err := b.Records.Save(t.Context(), benchKey, records.Record{Address: "before"}); err != nil {
				t.Fatal(err)
			}
			b.Directory.Place(cluster.RefTo(cluster.KindIngress, "shop", "web"), []lb.Key{benchKey})
			o := done(func(o *outcome) {
				o.Observed.Exists, o.Observed.Active = !c.gone, !c.gone
				if c.departed {
					o.Snapshot.Departed = map[string]*networkingv1.Ingress{"shop/web": b.ingress()}
				}
				if c.remembered {
					o.Snapshot.Record.Memory.Members = []v1alpha1.MemberMemory{{Ingress: "shop/web"}}
				}
			})
			b.observer.keep(benchKey, o.Observed)
			if c.failing {
				b.Records.Store = failingStore{b.Records.Store}
			}
			out, err := b.report(t.Context(), o)
			if errors.Is(err, errStep) != c.failing || (out.RequeueAfter > 0) != (c.left && !c.failing) {
				t.Errorf("the next is after %s, error %v", out.RequeueAfter, err)
			}
			if released := len(b.Directory.MembersOf(benchKey)) == 0; released != c.released || (len(o.Snapshot.Departed) == 0) != (c.released || !c.departed) {
				t.Errorf("it is let go of: %t, departed are %v", released, o.Snapshot.Departed)
			}
			if left := slices.Contains(b.Records.Keys(), benchKey); left != (c.left || c.failing) || b.lastObserved(benchKey) != nil || len(b.ingress().Finalizers) == 0 {
				t.Errorf("the report is left: %t, the observation %v", left, b.lastObserved(benchKey))
			}
		})
	}
}

// failingStore is a keeper that cannot write.
type failingStore struct{ records.Store }

func (failingStore) Save(context.Context, lb.Key, records.Record) error { return errStep }
func (failingStore) Drop(context.Context, lb.Key) error                 { return errStep }

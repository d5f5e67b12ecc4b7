package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/controllertest"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

const (
	web  = lb.Key("fairlead/shop/@all/internal")
	blog = lb.Key("fairlead/blog/@all/internal")
)

// A keeper has records that were written before.
type keeper struct {
	records.Store
	of map[lb.Key]records.Record
}

func (k keeper) Load(context.Context) (map[lb.Key]records.Record, error) { return k.of, nil }

// A report is what the reconcilers tell.
type report struct {
	awaited map[lb.Key]int
	oldest  time.Duration
	found   []diag.Diagnostic
}

func (r report) AwaitedGroups() map[lb.Key]int  { return r.awaited }
func (r report) OldestChange() time.Duration    { return r.oldest }
func (r report) Diagnostics() []diag.Diagnostic { return r.found }

// counting returns the gauges of a leader that has read some records.
func counting(t *testing.T, c client.Client, of map[lb.Key]records.Record) *gauges {
	t.Helper()
	g := &gauges{Gatherer: controllertest.NewGatherer(c), Balancers: report{}, Unassigned: report{}, Waits: &queue.Waits{}}
	g.Records = records.NewCache(keeper{of: of}, false)
	if err := g.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// taken are the values of some gauges, sorted.
func taken(g *gauges, of ...metrics.Metric) []string {
	var out []string
	g.Take(func(m metrics.Metric, value float64, labels ...string) {
		if slices.ContainsFunc(of, func(o metrics.Metric) bool { return o.Name == m.Name }) {
			out = append(out, strings.TrimPrefix(fmt.Sprint(m.Name, labels, " ", int64(value)), "fairlead_"))
		}
	})
	slices.Sort(out)
	return out
}

// expect compares lists of values.
func expect(t *testing.T, why string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: there are\n%q\nwant\n%q", why, got, want)
	}
}

func TestAReplicaWithoutTheLeaseHasNoGauges(t *testing.T) {
	g := &gauges{Gatherer: controllertest.NewGatherer(controllertest.NewClient(t)), Waits: &queue.Waits{}}
	g.Take(func(m metrics.Metric, value float64, labels ...string) { t.Errorf("%s%v %v", m.Name, labels, value) })
}

func TestRecordsAreCounted(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason}
	}
	now := metav1.Now()
	g := counting(t, controllertest.NewClient(t), map[lb.Key]records.Record{
		web: {
			Rules: 7, RuleLimit: 100,
			Conditions: []metav1.Condition{condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted"), condition(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "Limit")},
			Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{
				{Ingress: "shop/a", Served: true}, {Ingress: "shop/b", Served: true, VanishedAt: &now, Unconfirmed: true},
				{Ingress: "shop/c", VanishedAt: &now}, {Ingress: "shop/d", VanishedAt: &now}, {Ingress: "shop/e", Unconfirmed: true},
			}},
		},
		blog: {Rules: 1, Conditions: []metav1.Condition{condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted"), condition(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "Fine"), condition(v1alpha1.ConditionProgrammed, metav1.ConditionTrue, "Programmed")}},
	})
	expect(t, "conditions", taken(g, metrics.LoadBalancersGauge, metrics.DegradedGauge), []string{
		"load_balancer_degraded[fairlead/shop/@all/internal Limit] 1",
		"load_balancers[Accepted False] 0", "load_balancers[Accepted True] 2",
		"load_balancers[Degraded False] 1", "load_balancers[Degraded True] 1",
		"load_balancers[Programmed False] 0", "load_balancers[Programmed True] 1",
		"load_balancers[Waiting False] 0", "load_balancers[Waiting True] 0",
	})
	expect(t, "rules, with a limit where there is one", taken(g, metrics.RulesGauge, metrics.RuleLimitGauge), []string{
		"load_balancer_rule_limit[fairlead/shop/@all/internal] 100", "load_balancer_rules[fairlead/blog/@all/internal] 1", "load_balancer_rules[fairlead/shop/@all/internal] 7",
	})
	expect(t, "members", taken(g, metrics.ServedGauge, metrics.VanishedGauge), []string{
		"ingresses[false] 3", "ingresses[true] 2",
		"vanished_ingresses[fairlead/shop/@all/internal awaited] 1", "vanished_ingresses[fairlead/shop/@all/internal unneeded] 2",
	})
}

func TestMembersAreCountedWhereThereAreNone(t *testing.T) {
	g := counting(t, controllertest.NewClient(t), map[lb.Key]records.Record{})
	expect(t, "members", taken(g, metrics.ServedGauge, metrics.VanishedGauge), []string{"ingresses[false] 0", "ingresses[true] 0"})
}

func TestDiagnosticsAreCounted(t *testing.T) {
	g := counting(t, controllertest.NewClient(t), map[lb.Key]records.Record{
		web:  {Diagnostics: []v1alpha1.Diagnostic{{Severity: "warning", Reason: "Conflict"}, {Severity: "error", Reason: "Conflict"}}},
		blog: {Diagnostics: []v1alpha1.Diagnostic{{Severity: "error", Reason: "Conflict"}}},
	})
	g.Unassigned = report{found: []diag.Diagnostic{{Severity: diag.Error, Reason: "Conflict"}, {Severity: diag.Warning, Reason: "NoClass"}}}
	expect(t, "of records and of Ingresses without a load balancer", taken(g, metrics.DiagnosticsGauge), []string{
		"diagnostics[error Conflict] 3", "diagnostics[warning Conflict] 1", "diagnostics[warning NoClass] 1",
	})
}

func TestWhatReconcilersAwaitIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := counting(t, controllertest.NewClient(t), map[lb.Key]records.Record{
			web: {Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/a", LastAccepted: &v1alpha1.AcceptedVersion{Spec: networkingv1.IngressSpec{TLS: []networkingv1.IngressTLS{{}}}}}}}},
		})
		g.Balancers = report{awaited: map[lb.Key]int{web: 2}, oldest: 8 * time.Second}
		g.Orphans.Set(3, map[string]int{"class": 2, "ingress": 1})
		g.TargetBacklog.NoteChange(lb.GroupKey{Key: web, ID: "A"})
		g.Waits.Begin(web, v1alpha1.ReasonQuota)
		time.Sleep(30 * time.Second)
		expect(t, "groups and orphans", taken(g, metrics.ParkedGauge, metrics.OrphansGauge, metrics.OrphansHeldGauge), []string{
			"load_balancer_parked_target_groups[fairlead/shop/@all/internal] 2",
			"orphans[] 3", "orphans_held[class] 2", "orphans_held[ingress] 1",
		})
		var waiting []string
		for _, reason := range queue.Reasons() {
			count, seconds := 0, 0
			if reason == v1alpha1.ReasonQuota {
				count, seconds = 1, 30
			}
			waiting = append(waiting, fmt.Sprintf("waiting_load_balancers[%s] %d", reason, count), fmt.Sprintf("waiting_seconds[%s] %d", reason, seconds))
		}
		slices.Sort(waiting)
		expect(t, "waits", taken(g, metrics.WaitingGauge, metrics.WaitingSecondsGauge), waiting)
		expect(t, "changes", taken(g, metrics.UnmetGauge), []string{
			"change_oldest_unmet_seconds[loadbalancers] 8", "change_oldest_unmet_seconds[targets] 30",
		})
		expect(t, "features", taken(g, metrics.FeaturesGauge), []string{"feature_ingresses[fairlead spec.tls] 1"})
	})
}

// anIngress returns an Ingress that was made some seconds after 1970; of no class if that is empty.
func anIngress(namespace, name, class string, created int64) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.Unix(created, 0)}}
	if class != "" {
		ing.Spec.IngressClassName = &class
	}
	return ing
}

// reached has an Ingress say where it is reached.
func reached(ing *networkingv1.Ingress, address string) *networkingv1.Ingress {
	ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: address}}
	return ing
}

func foreignClass() *networkingv1.IngressClass {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}, Spec: networkingv1.IngressClassSpec{Controller: "k8s.io/ingress-nginx"}}
}

func TestIngressesWithoutAClassAreCounted(t *testing.T) {
	all := []client.Object{foreignClass(), anIngress("shop", "a", "", 30), anIngress("shop", "b", "", 10), anIngress("shop", "c", "", 20), anIngress("blog", "a", "", 40), anIngress("blog", "b", "fairlead", 5), anIngress("pay", "a", "nginx", 5)}
	for _, tt := range []struct {
		why, without string
		want         []string
	}{
		{"none are ours", "", []string{
			"ingresses_without_class[blog] 1", "ingresses_without_class[shop] 3",
			"ingresses_without_class_oldest_created_seconds[blog] 40", "ingresses_without_class_oldest_created_seconds[shop] 10",
		}},
		{"all are ours", "fairlead", nil},
		{"they are another controller's", "nginx", []string{
			"ingresses_without_class[blog] 1", "ingresses_without_class[shop] 3",
			"ingresses_without_class_oldest_created_seconds[blog] 40", "ingresses_without_class_oldest_created_seconds[shop] 10",
		}},
	} {
		g := counting(t, controllertest.NewClient(t, all...), map[lb.Key]records.Record{})
		g.Options.WithoutClass = tt.without
		expect(t, tt.why, taken(g, metrics.UnclassedGauge, metrics.UnclassedSinceGauge), tt.want)
	}
}

func TestIngressesThatAreTakenOverAreCounted(t *testing.T) {
	synctest.Test(t, testTakenOver)
}

func testTakenOver(t *testing.T) {
	departed := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(-ago)} }
	of := func(address string, departed *metav1.Time) records.Record {
		return records.Record{Address: address, Memory: v1alpha1.Memory{Members: []v1alpha1.MemberMemory{{Ingress: "shop/a", DepartedAt: departed}}}}
	}
	withGrace := func(r records.Record, grace time.Duration) records.Record {
		r.Memory.Class = &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: grace}}
		return r
	}
	byClass, byStatus := []string{"load_balancer_ingresses_taken_over[fairlead/shop/@all/internal class] 1"}, []string{"load_balancer_ingresses_taken_over[fairlead/shop/@all/internal status] 1"}
	const gone = lb.Key("gone/shop/@all/internal")
	for _, tt := range []struct {
		why     string
		ingress *networkingv1.Ingress
		records map[lb.Key]records.Record
		want    []string
	}{
		{"of another class", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{web: of("web.test", nil)}, byClass},
		{"within the grace of a move", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{web: of("web.test", departed(time.Second))}, nil},
		{"after the grace of a move", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{web: of("web.test", departed(100*time.Hour))}, byClass},
		{"a class that is there has its own grace", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{web: withGrace(of("web.test", departed(time.Minute)), 0)}, nil},
		{"a class that is not there has the grace that was remembered", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{gone: withGrace(of("web.test", departed(time.Minute)), 0)},
			[]string{"load_balancer_ingresses_taken_over[gone/shop/@all/internal class] 1"}},
		{"at the end of a grace", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{gone: withGrace(of("web.test", departed(time.Minute)), time.Minute)},
			[]string{"load_balancer_ingresses_taken_over[gone/shop/@all/internal class] 1"}},
		{"a class that is not remembered either has the usual one", anIngress("shop", "a", "nginx", 1), map[lb.Key]records.Record{gone: of("web.test", departed(time.Minute))}, nil},
		{"of our class", anIngress("shop", "a", "fairlead", 1), map[lb.Key]records.Record{web: of("web.test", nil)}, nil},
		{"reached elsewhere", reached(anIngress("shop", "a", "fairlead", 1), "nginx.test"), map[lb.Key]records.Record{web: of("web.test", nil)}, byStatus},
		{"reached at its load balancer", reached(anIngress("shop", "a", "fairlead", 1), "web.test"), map[lb.Key]records.Record{web: of("web.test", nil)}, nil},
		{"reached at another one of its load balancers", reached(anIngress("shop", "a", "fairlead", 1), "old.test"), map[lb.Key]records.Record{web: of("web.test", nil), gone: of("old.test", nil)}, nil},
		{"of no load balancer", reached(anIngress("shop", "b", "nginx", 1), "nginx.test"), map[lb.Key]records.Record{web: of("web.test", nil)}, nil},
	} {
		g := counting(t, controllertest.NewClient(t, foreignClass(), tt.ingress), tt.records)
		expect(t, tt.why, taken(g, metrics.TakenOverGauge), tt.want)
	}
}

// What the cache cannot answer is not counted as none, and the others are.
func TestIngressesThatCannotBeReadAreNotCounted(t *testing.T) {
	for why, kind := range map[string]client.ObjectList{"Ingresses": &networkingv1.IngressList{}, "classes": &networkingv1.IngressClassList{}} {
		c := interceptor.NewClient(controllertest.NewClient(t, anIngress("shop", "a", "", 30)), controllertest.FailingList(kind, errors.New("away")))
		g := counting(t, c, map[lb.Key]records.Record{web: {}})
		expect(t, "without "+why, taken(g, metrics.UnclassedGauge, metrics.RulesGauge), []string{"load_balancer_rules[fairlead/shop/@all/internal] 0"})
	}
}

// A gauge of orphans does not change with what its caller does later.
func TestOrphansAreCounted(t *testing.T) {
	var o orphans
	if all, kept := o.get(); all != 0 || len(kept) > 0 {
		t.Errorf("%d before the first look, %v", all, kept)
	}
	o.Set(2, map[string]int{"class": 1})
	_, kept := o.get()
	kept["class"] = 7
	if all, kept := o.get(); all != 2 || kept["class"] != 1 {
		t.Errorf("%d orphans, %v", all, kept)
	}
}

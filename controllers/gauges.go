package controllers

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/gather"
	"fairlead.dev/fairlead/controllers/ingresses"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/controllers/queue"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// gauges counts for the leader. A replica without the lease has no records, and no gauges.
type gauges struct {
	*gather.Gatherer
	Balancers balancers
	// TargetBacklog has the changes of targets that the cloud does not have yet.
	TargetBacklog queue.Backlog[lb.GroupKey]
	Orphans       orphans
	Waits         *queue.Waits
	Unassigned    Unassigned
}

// balancers is the reconciler of load balancers.
type balancers interface {
	// AwaitedGroups returns the number of target groups that each load balancer waits for.
	AwaitedGroups() map[lb.Key]int
	// OldestChange returns the age of the oldest change that the cloud does not have yet.
	OldestChange() time.Duration
}

// Unassigned is the reconciler of Ingresses without a load balancer.
type Unassigned interface {
	Diagnostics() []diag.Diagnostic
}

// Take emits the value of each gauge.
func (c *gauges) Take(emit emitter) {
	all := c.Records.All()
	if all == nil {
		return
	}
	c.countRecords(all, emit)
	found := map[[2]string]int{}
	for _, r := range all {
		for _, d := range r.Diagnostics {
			found[[2]string{d.Severity, d.Reason}]++
		}
	}
	for _, d := range c.Unassigned.Diagnostics() {
		found[[2]string{string(d.Severity), string(d.Reason)}]++
	}
	for labels, n := range found {
		emit(metrics.DiagnosticsGauge, float64(n), labels[:]...)
	}
	for key, n := range c.Balancers.AwaitedGroups() {
		emit(metrics.ParkedGauge, float64(n), string(key))
	}
	orphans, kept := c.Orphans.get()
	emit(metrics.OrphansGauge, float64(orphans))
	for by, n := range kept {
		emit(metrics.OrphansHeldGauge, float64(n), by)
	}
	count, longest := c.Waits.Longest()
	for _, reason := range queue.Reasons() {
		emit(metrics.WaitingGauge, float64(count[reason]), reason)
		emit(metrics.WaitingSecondsGauge, longest[reason].Seconds(), reason)
	}
	emit(metrics.UnmetGauge, c.Balancers.OldestChange().Seconds(), queue.BalancersLoop)
	emit(metrics.UnmetGauge, c.TargetBacklog.Oldest().Seconds(), queue.TargetsLoop)
	countFeatures(all, emit)
	c.countIngresses(all, emit)
}

// countRecords counts load balancers and their members.
func (c *gauges) countRecords(all map[lb.Key]records.Record, emit emitter) {
	conditions := map[[2]string]int{}
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProgrammed,
		v1alpha1.ConditionDegraded, v1alpha1.ConditionWaiting} {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
			conditions[[2]string{kind, string(status)}] = 0
		}
	}
	members := map[bool]int{true: 0, false: 0}
	for key, r := range all {
		for _, condition := range r.Conditions {
			conditions[[2]string{condition.Type, string(condition.Status)}]++
			if condition.Type == v1alpha1.ConditionDegraded && condition.Status == metav1.ConditionTrue {
				emit(metrics.DegradedGauge, 1, string(key), condition.Reason)
			}
		}
		emit(metrics.RulesGauge, float64(r.Rules), string(key))
		if r.RuleLimit > 0 {
			emit(metrics.RuleLimitGauge, float64(r.RuleLimit), string(key))
		}
		vanished := map[string]int{}
		for _, m := range r.Memory.Members {
			members[m.Served]++
			switch {
			case m.VanishedAt != nil && m.Unconfirmed:
				vanished["awaited"]++
			case m.VanishedAt != nil:
				vanished["unneeded"]++
			}
		}
		for confirmation, n := range vanished {
			emit(metrics.VanishedGauge, float64(n), string(key), confirmation)
		}
	}
	for labels, n := range conditions {
		emit(metrics.LoadBalancersGauge, float64(n), labels[:]...)
	}
	for yes, n := range members {
		emit(metrics.ServedGauge, float64(n), strconv.FormatBool(yes))
	}
}

// countIngresses counts the Ingresses that name no class, and those that another controller serves
// too.
func (c *gauges) countIngresses(all map[lb.Key]records.Record, emit emitter) {
	ctx := context.Background() // a scrape has none; caches answer at once
	var list networkingv1.IngressList
	err := c.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
	objects, classErr := c.Classes(ctx)
	if err != nil || classErr != nil {
		log.Log.V(1).Info("Ingresses cannot be counted", "error", err, "classError", classErr)
		return
	}
	foreign := map[string]bool{}
	for _, class := range objects.IngressClasses {
		foreign[class.Name] = class.Spec.Controller != ingress.ControllerName
	}
	type nobodys struct{ count, oldest int64 }
	without := map[string]nobodys{}
	taken := map[[2]string]int{}
	for i := range list.Items {
		ing := &list.Items[i]
		class := cmp.Or(ingress.ClassName(ing), c.Options.WithoutClass)
		if ingress.ClassName(ing) == "" && (class == "" || foreign[class]) {
			created := ing.CreationTimestamp.Unix()
			n, known := without[ing.Namespace]
			if !known {
				n.oldest = created
			}
			without[ing.Namespace] = nobodys{n.count + 1, min(n.oldest, created)}
		}
		name := cluster.RefOf(cluster.KindIngress, ing).String()
		holders := c.Records.Holding(name)
		graced := func(k lb.Key) bool {
			since := departedAt(all[k], name)
			return since != nil && time.Since(since.Time) < c.graceOf(k, objects)
		}
		if slices.ContainsFunc(holders, graced) {
			continue // it is served for the grace period of its class
		}
		if by := takenBy(ing, foreign[class], publishedBy(all, holders)); by != "" {
			taken[[2]string{string(holders[0]), by}]++
		}
	}
	for namespace, n := range without {
		emit(metrics.UnclassedGauge, float64(n.count), namespace)
		emit(metrics.UnclassedSinceGauge, float64(n.oldest), namespace)
	}
	for labels, n := range taken {
		emit(metrics.TakenOverGauge, float64(n), labels[:]...)
	}
}

// publishedBy returns the addresses that load balancers may have written into Ingress statuses.
func publishedBy(all map[lb.Key]records.Record, keys []lb.Key) []string {
	var out []string
	for _, key := range keys {
		r := all[key]
		out = append(out, records.AddressesOf(&r)...)
	}
	return out
}

// departedAt returns when a member left the classes of Fairlead; nil if it has not.
func departedAt(r records.Record, member string) *metav1.Time {
	known := records.MemberOf(&r, member)
	if known == nil {
		return nil
	}
	return known.DepartedAt
}

// graceOf returns how long a load balancer serves a member that has left the classes of Fairlead.
func (c *gauges) graceOf(key lb.Key, objects ingress.Objects) time.Duration {
	class := ingress.FindClass(objects, c.Options, key.Class())
	if class == nil {
		class = &ingress.Class{}
		if spec := c.Records.Get(key).Memory.Class; spec != nil {
			class.LoadBalancerClassSpec = *spec
		}
	}
	grace, _ := class.DepartureGrace()
	return grace
}

// takenBy returns a sign that another controller works on an Ingress of a record; "" for none.
func takenBy(ing *networkingv1.Ingress, foreign bool, addresses []string) string {
	if !ing.DeletionTimestamp.IsZero() || len(addresses) == 0 {
		return ""
	}
	if foreign {
		return "class"
	}
	if len(ingresses.WithoutAddresses(ing.Status.LoadBalancer.Ingress, addresses)) > 0 {
		return "status"
	}
	return ""
}

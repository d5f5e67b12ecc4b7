// Package metrics has the metrics for Prometheus: a table of metrics, the counters of one operator,
// and a provider whose calls are counted and timed.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// This file is the table of metrics, of which docs/reference/metrics.md is made. No metric has a
// label for Ingresses, of which there may be thousands; load balancers and namespaces are labels
// only where few of them have a series, or each has one.

// A Metric is a row of the table.
type Metric struct {
	Name    string
	kind    string // counter, histogram or gauge
	labels  []string
	meaning string
}

// table has all metrics, in the order of the reference, which is that of their declarations.
var table []Metric

// metric adds a row to the table.
func metric(name, kind string, labels []string, meaning string) Metric {
	row := Metric{name, kind, labels, meaning}
	table = append(table, row)
	return row
}

// Counters and histograms, which grow as things happen. NewRecorder makes them.
var (
	compileSeconds = metric("fairlead_compile_seconds", "histogram", nil,
		"How long it takes to compile the Ingresses of a load balancer.")
	planSteps = metric("fairlead_plan_steps_total", "counter", []string{"op", "kind", "result"},
		"Steps of plans that were tried.")
	providerCalls = metric("fairlead_provider_calls_total", "counter", []string{"call", "result"},
		"Calls of the provider. Each step of a plan is one Apply.")
	cloudRequests = metric("fairlead_cloud_requests_total", "counter",
		[]string{"service", "operation", "outcome"},
		"Requests to the cloud's API, those that are made again included. A call of the provider is "+
			"one or a few, or none.")
	objectsRead = metric("fairlead_objects_read_total", "counter", nil,
		"Objects that were read from the operator's caches. "+
			"A reconcile of a load balancer of five Ingresses reads about 40.")
	providerSeconds = metric("fairlead_provider_call_seconds", "histogram", []string{"call"},
		"How long calls of the provider take, waiting for their turn included.")
	plansCount = metric("fairlead_plans_total", "counter", []string{"result"},
		"Plans that had something to do, by what came of them. A plan that has to wait is counted each "+
			"time it is tried.")
	proofsCount = metric("fairlead_plan_proofs_total", "counter", []string{"verdict"},
		"Plans that had something to do, by what the check of them says. A plan that has to wait is "+
			"checked each time it is tried.")
	defectsCount = metric("fairlead_defects_total", "counter", []string{"kind"},
		"Mistakes that the operator finds in its own work: report them. The kind unproven_plan is a "+
			"plan whose check fails; what it would change waits.")
	changeSeconds = metric("fairlead_change_seconds", "histogram", []string{"loop"},
		"How long it takes from when the operator hears of a change of an object until the cloud has "+
			"it, where something has to be changed there.")
)

// oldestCall is a gauge that every replica has.
var oldestCall = metric("fairlead_provider_call_oldest_seconds", "gauge", nil,
	"How long the oldest call of the provider that is under way has been so, waiting for its turn "+
		"included; 0 without one.")

// The requests under way are gauges that every replica has.
var (
	cloudUnderWay = metric("fairlead_cloud_requests_in_flight", "gauge",
		[]string{"service", "requests"},
		"Requests to the cloud's API that are under way.")
	cloudLimit = metric("fairlead_cloud_requests_in_flight_limit", "gauge",
		[]string{"service", "requests"},
		"Requests to the cloud's API that may be under way at a time. The operator lowers it while "+
			"answers are slow, refuse requests because of load, or do not come, and raises it again.")
)

// build is a gauge that every replica has.
var build = metric("fairlead_build_info", "gauge", []string{"version"},
	"1, with the version of the replica.")

// Gauges, which are counted when they are asked for. Only the leader has them.
var (
	LoadBalancersGauge = metric("fairlead_load_balancers", "gauge", []string{"condition", "status"},
		"Load balancers by what their conditions say.")
	DegradedGauge = metric("fairlead_load_balancer_degraded", "gauge",
		[]string{"load_balancer", "reason"},
		"1 for each load balancer that needs attention, for as long as it does.")
	RulesGauge = metric("fairlead_load_balancer_rules", "gauge", []string{"load_balancer"},
		"Rules that a load balancer has.")
	RuleLimitGauge = metric("fairlead_load_balancer_rule_limit", "gauge", []string{"load_balancer"},
		"Rules that a load balancer can have, where the cloud sets a limit.")
	ParkedGauge = metric("fairlead_load_balancer_parked_target_groups", "gauge",
		[]string{"load_balancer"},
		"Target groups of a load balancer that have to be healthy before they take over, where there "+
			"are any.")
	TakenOverGauge = metric("fairlead_load_balancer_ingresses_taken_over", "gauge",
		[]string{"load_balancer", "by"},
		"Ingresses of a load balancer that another controller works on, where there are any.")
	VanishedGauge = metric("fairlead_vanished_ingresses", "gauge",
		[]string{"load_balancer", "confirmation"},
		"Ingresses of a load balancer that were removed without the operator, and are still served, "+
			"where there are any.")
	ServedGauge = metric("fairlead_ingresses", "gauge", []string{"served"},
		"Ingresses that have a load balancer, by whether all that they ask for has been served at some "+
			"time.")
	UnclassedGauge = metric("fairlead_ingresses_without_class", "gauge", []string{"ingress_namespace"},
		"Ingresses that name no class and are not served, where there are any and they are not "+
			"adopted.")
	UnclassedSinceGauge = metric("fairlead_ingresses_without_class_oldest_created_seconds", "gauge",
		[]string{"ingress_namespace"},
		"When the oldest Ingress without a class was created, in seconds since 1970.")
	DiagnosticsGauge = metric("fairlead_diagnostics", "gauge", []string{"severity", "reason"},
		"Diagnostics that hold now, by reason; see [diagnostics](diagnostics.md).")
	WaitingGauge = metric("fairlead_waiting_load_balancers", "gauge", []string{"reason"},
		"Load balancers that wait for something, by what they wait for.")
	WaitingSecondsGauge = metric("fairlead_waiting_seconds", "gauge", []string{"reason"},
		"How long the load balancer that has waited longest has done so, by what it waits for; 0 where "+
			"none waits.")
	UnmetGauge = metric("fairlead_change_oldest_unmet_seconds", "gauge", []string{"loop"},
		"How long ago the operator heard of the oldest change that the cloud does not have yet; 0 if "+
			"it has all. What is paused does not count.")
	FeaturesGauge = metric("fairlead_feature_ingresses", "gauge", []string{"class", "feature"},
		"Ingresses that use a feature, by the class that they were served under, where there are any.")
	OrphansGauge = metric("fairlead_orphans", "gauge", nil,
		"Load balancers that the last look at the cloud found, and that no Ingress asks for and "+
			"nothing remembers.")
	OrphansHeldGauge = metric("fairlead_orphans_held", "gauge", []string{"held_by"},
		"Those of the orphans that are not collected, by what keeps them, where there are any.")
)

// meanings explain the labels of metrics.
var meanings = map[string]string{
	"by": "the sign: `class`, if it names a class of another controller and is still served, or " +
		"`status`, if another controller has written an address into its status",
	"call": "a method of the provider: `Lookup`, `Observe`, `Active`, `Apply`, `Targets`, " +
		"`SetTargets` or `List`",
	"class":     "the name of a class",
	"condition": "`Accepted`, `Programmed`, `Degraded` or `Waiting`",
	"confirmation": "`awaited`, if they go only once the LoadBalancer's annotation confirms it, or " +
		"`unneeded`, if they go when the grace is over",
	"feature": "an annotation of Fairlead's by its name, a part of the Ingress API such as " +
		"`spec.tls` or `pathType Exact`, or a field of the class's parameters such as " +
		"`parameters.inbound`",
	"held_by": "`ingress`, if an Ingress with Fairlead's finalizer belongs to no load balancer and " +
		"may be served by one of these, or `class`, if their IngressClass is missing or names another " +
		"controller",
	"ingress_namespace": "a namespace; Prometheus itself says in `namespace` where the operator is",
	"kind":              "what a step is about, such as `rule` or `target group`",
	"load_balancer":     "the key of a load balancer, as `spec.key` of its LoadBalancer says",
	"loop": "`loadbalancers`, for what Ingresses and the objects that they name ask for, or " +
		"`targets`, for the members of target groups",
	"op":        "what a step does, such as `create`, `modify` or `delete`",
	"operation": "what is asked of the cloud's API, by its own name",
	"outcome":   "`ok`, the API's own name of an error, or `lost` where there was no answer",
	"reason": "why it is so: of a condition or of a diagnostic. What is waited for is `Queued`, " +
		"`RateLimited`, `Throttled`, `TargetHealth`, `Cloud` or `Quota`",
	"requests": "`reads`, or `changes` for those that change something",
	"result": "`ok`, `pending` (it has to be asked again), `rejected` (the cloud will not do it), " +
		"`denied` (the credentials do not suffice), `throttled` (too many calls), `stopped` (the " +
		"operator was told to stop) or `error`; of plans also `withheld` (it is paused, has to be " +
		"confirmed, violates an expectation, or is not proven)",
	"served":   "`true` or `false`",
	"service":  "the API of the cloud that is asked, by its own name",
	"severity": "`error`, `warning` or `info`",
	"version":  "what `fairlead version` says",
	"status":   "`True` or `False`",
	"verdict": "`proven`, `serialised` (only its steps one after the other are proven, and are " +
		"carried out so), `undecided` (the check did not come to an end; it is carried out), " +
		"`accepted` (it is not proven, and carried out because the class says so) or `unproven` " +
		"(it is withheld)",
}

func (m Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.meaning, m.labels, nil)
}

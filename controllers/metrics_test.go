package controllers_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/metrics"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// TestMetricsMove runs an operator through whatever its metrics are about, and finds each of them
// moved: those that its reference documents, with the labels that it documents, and no others.
func TestMetricsMove(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	limited := lb.Literal()
	limited.Rules = 50
	cloud, err := fake.New(fake.Options{Serve: true, CheckEvery: 20 * time.Millisecond, Capabilities: limited})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	w.cloud = &meter{Cloud: cloud}
	registry := prometheus.NewRegistry()
	requests, reads := metrics.NewRequests(), &metrics.Reads{}
	requests.Count("Elastic Load Balancing v2", "CreateRule", "ok") // as a provider does
	requests.SetInFlight("Elastic Load Balancing v2", "changes", 1, 4)
	w.run(func(s *settings) {
		s.operator.Metrics, s.operator.Requests, s.operator.Version = registry, requests, "1.2.3"
		s.operator.Reads, s.manager.NewClient = reads, reads.NewClient
		s.operator.VanishedGrace = time.Minute
	})
	found := map[string]string{} // some are there for a while only
	read := func() map[string]*dto.MetricFamily {
		families := gathered(t, registry)
		for name, family := range families {
			found[name] = describe(family)
		}
		return families
	}
	shows := func(metric string, labels ...string) {
		t.Helper()
		w.eventually(func() error {
			return noError(moved(read()[metric], labels), "%s%v is not there, or zero: %v", metric, labels, read()[metric])
		})
	}

	w.serve("web", "web-1")
	w.serve("api", "api-1")
	w.create(w.ask("shop", "shop.example", "/", "web"), w.ask("leaves", "leaves.example", "/", "web"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.answers("leaves", "http://leaves.example/", "web-1")
	shop := w.class + "/" + w.namespace + "/shop/internal"
	shows("fairlead_compile_seconds")
	shows("fairlead_objects_read_total")
	shows("fairlead_cloud_requests_total", "Elastic Load Balancing v2", "CreateRule", "ok")
	shows("fairlead_cloud_requests_in_flight", "changes", "Elastic Load Balancing v2")
	shows("fairlead_cloud_requests_in_flight_limit", "changes", "Elastic Load Balancing v2")
	shows("fairlead_plan_steps_total", "create", "rule", "ok")
	shows("fairlead_plans_total", "ok")
	shows("fairlead_change_seconds", "loadbalancers")
	w.create(w.pod("web", "web-2"))
	shows("fairlead_change_seconds", "targets")
	shows("fairlead_build_info", "1.2.3")
	shows("fairlead_feature_ingresses", w.class, "pathType Prefix")
	for _, call := range []string{"Lookup", "Observe", "Apply", "Targets", "List"} {
		shows("fairlead_provider_calls_total", call, "ok")
		shows("fairlead_provider_call_seconds", call)
	}
	shows("fairlead_load_balancers", "Programmed", "True")
	shows("fairlead_load_balancer_rules", shop)
	shows("fairlead_load_balancer_rule_limit", shop)
	shows("fairlead_ingresses", "true")

	nobodys, lost := w.ask("nobodys", "nobodys.example", "/", "web"), w.ask("lost", "lost.example", "/", "web")
	nobodys.Spec.IngressClassName = nil
	missing := w.class + "-missing"
	lost.Spec.IngressClassName = &missing
	w.create(nobodys, lost)
	shows("fairlead_ingresses_without_class", w.namespace)
	shows("fairlead_ingresses_without_class_oldest_created_seconds", w.namespace)
	shows("fairlead_diagnostics", "error", "ClassMissing")

	w.serve("cold")
	cold, deaf := w.pod("cold", "cold-1"), int32(1024)
	cold.Ports[0].Port = &deaf
	w.create(cold)
	w.change("shop", func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "cold"
	})
	shows("fairlead_load_balancer_parked_target_groups", shop)
	shows("fairlead_plan_steps_total", "await", "targets", "pending")
	shows("fairlead_waiting_load_balancers", "TargetHealth")
	shows("fairlead_waiting_seconds", "TargetHealth")
	shows("fairlead_plans_total", "pending")
	shows("fairlead_change_oldest_unmet_seconds", "loadbalancers")

	w.cloud.no.Store(&refusal{"", fmt.Errorf("%w: no such rights", providers.ErrDenied)})
	orphan := lb.Key(w.class + "/" + w.namespace + "/orphan/internal")
	if _, err := w.cloud.Cloud.Apply(t.Context(), &lb.Observed{Key: orphan}, plan.CreateLoadBalancer{}); err != nil {
		t.Fatal(err)
	}
	shows("fairlead_orphans")
	if _, err := w.cloud.Cloud.Apply(t.Context(), &lb.Observed{Key: lb.Key(missing + "/" + w.namespace + "/orphan/internal")}, plan.CreateLoadBalancer{}); err != nil {
		t.Fatal(err)
	}
	shows("fairlead_orphans_held", "class")
	other := w.class + "-other"
	w.create(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: other}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/other"}})
	w.change("leaves", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = &other })
	w.told("leaves", "ClassForeign") // and so it is not taken over, but on its way, until the grace is over
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{}})
	leaves := w.class + "/" + w.namespace + "/leaves/internal"
	shows("fairlead_load_balancer_ingresses_taken_over", leaves, "class")
	shows("fairlead_load_balancer_degraded", leaves, "ProviderDenied")
	shows("fairlead_load_balancers", "Degraded", "True")
	w.force("shop") // whose deletion the cloud refuses
	shows("fairlead_vanished_ingresses", shop, "unneeded")

	w.cloud.no.Store(&refusal{"", fmt.Errorf("%w: slow down", providers.ErrThrottled)})
	w.create(w.ask("more", "more.example", "/", "web"))
	shows("fairlead_provider_calls_total", "Apply", "throttled")
	w.cloud.no.Store(nil)

	if diff := cmp.Diff(documentedMetrics(t), found); diff != "" {
		t.Errorf("what is documented is not what there is (-documented +found):\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(read()))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("metrics that Prometheus would have named otherwise: %v, %v", problems, err)
	}

	w.stop()
	if left := read(); len(left) > 0 {
		t.Errorf("an operator that has ended still has metrics: %v", left)
	}
}

// gathered are the metrics that would be scraped now.
func gathered(t *testing.T, from prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// moved reports whether a metric has a series with some labels that is not zero.
func moved(family *dto.MetricFamily, labels []string) bool {
	return slices.ContainsFunc(family.GetMetric(), func(m *dto.Metric) bool {
		for _, want := range labels {
			if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == want }) {
				return false
			}
		}
		return m.GetGauge().GetValue()+m.GetCounter().GetValue()+float64(m.GetHistogram().GetSampleCount()) > 0
	})
}

// describe is the kind of a metric and its labels, sorted.
func describe(family *dto.MetricFamily) string {
	words := []string{strings.ToLower(family.GetType().String())}
	for _, l := range family.GetMetric()[0].GetLabel() {
		words = append(words, l.GetName())
	}
	return strings.Join(words, " ")
}

// documentedMetrics are the metrics of the reference, described in the same way.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_\\w+)` \\| (\\w+) \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		labels := regexp.MustCompile(`\w+`).FindAllString(row[3], -1)
		slices.Sort(labels)
		out[row[1]] = strings.Join(append([]string{row[2]}, labels...), " ")
	}
	return out
}

// Package alerts tests what is asked of Prometheus, with Prometheus itself. It is a module of its
// own, so that nothing else depends on it.
package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

// An alert is one of config/prometheus/rules.yaml.
type alert struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
	For   string `json:"for"`

	Annotations struct {
		Runbook string `json:"runbook"`
	} `json:"annotations"`
}

func alerts(t *testing.T) map[string]alert {
	t.Helper()
	var file struct {
		Spec struct {
			Groups []struct {
				Rules []alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	text, err := os.ReadFile("../../config/prometheus/rules.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]alert{}
	for _, g := range file.Spec.Groups {
		for _, r := range g.Rules {
			out[r.Alert] = r
		}
	}
	return out
}

// asked are all expressions, by what asks them.
func asked(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, a := range alerts(t) {
		out["alert "+name] = a.Expr
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	text, err := os.ReadFile("../../config/grafana/dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for i, target := range p.Targets {
			out[fmt.Sprintf("panel %s, %d", p.Title, i)] = strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
		}
	}
	return out
}

// Metrics of the libraries that the operator is made of, and of Prometheus, with their labels.
var libraries = map[string][]string{
	"up":                                 nil,
	"leader_election_master_status":      {"name"},
	"controller_runtime_reconcile_total": {"controller", "result"},
	"controller_runtime_reconcile_errors_total": {"controller"},
	"workqueue_depth": {"name", "controller", "priority"},
	"workqueue_longest_running_processor_seconds": {"name", "controller"},
}

// scraped are the labels that Prometheus gives to everything that it scrapes.
var scraped = []string{"namespace", "service", "pod", "job", "instance", "endpoint", "container", "__name__"}

// TestExpressionsAskForWhatThereIs: a metric or a label that does not exist is silent, and so would
// its alert be.
func TestExpressionsAskForWhatThereIs(t *testing.T) {
	known := documented(t)
	used := map[string]bool{}
	for where, text := range asked(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %s", where, err)
			continue
		}
		var there []string // labels of the metrics that it asks for
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			v, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			has, exists := known[v.Name]
			if !exists {
				t.Errorf("%s asks for %s, which does not exist", where, v.Name)
			}
			used[v.Name] = true
			there = slices.Concat(there, has, scraped)
			for _, m := range v.LabelMatchers {
				if !slices.Contains(has, m.Name) && !slices.Contains(scraped, m.Name) {
					t.Errorf("%s asks for the label %s of %s, which does not exist", where, m.Name, v.Name)
				}
			}
			return nil
		})
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if a, ok := node.(*parser.AggregateExpr); ok {
				for _, l := range a.Grouping {
					if !slices.Contains(there, l) {
						t.Errorf("%s groups by the label %s, which does not exist", where, l)
					}
				}
			}
			return nil
		})
	}
	for name := range known {
		if strings.HasPrefix(name, "fairlead_") && !used[name] && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			t.Errorf("%s is asked for nowhere, neither by an alert nor on the dashboard", name)
		}
	}
}

// documented are the metrics of the reference, which a test of the operator holds against what it
// really serves, and those of libraries; with their labels.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for name, labels := range libraries {
		out[name] = labels
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fairlead_\\w+)` \\| (\\w+) \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		labels := regexp.MustCompile(`\w+`).FindAllString(row[3], -1)
		if row[2] != "histogram" {
			out[row[1]] = labels
			continue
		}
		for _, series := range []string{"_bucket", "_sum", "_count"} {
			out[row[1]+series] = append(slices.Clone(labels), "le")
		}
	}
	return out
}

// TestObjectivesHaveAlerts: each objective of docs/reference/alerts.md names an alert that asks for its
// metric, and a panel shows it. The page lists every alert.
func TestObjectivesHaveAlerts(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	page, known, expressions := string(text), alerts(t), asked(t)
	for name := range known {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/reference/alerts.md does not say what the alert %s means", name)
		}
	}
	for _, name := range regexp.MustCompile("`(Fairlead[A-Z]\\w+)`").FindAllStringSubmatch(page, -1) {
		if _, there := known[name[1]]; !there {
			t.Errorf("docs/reference/alerts.md names the alert %s, which does not exist", name[1])
		}
	}
	_, objectives, found := strings.Cut(page, "\n| Indicator |")
	if !found {
		t.Fatal("docs/reference/alerts.md has no table of objectives")
	}
	objectives, _, _ = strings.Cut(objectives, "\n\n")
	rows := strings.Split(objectives, "\n")[2:]
	if len(rows) < 4 {
		t.Errorf("there are %d objectives", len(rows))
	}
	for _, row := range rows {
		name := regexp.MustCompile("`(Fairlead\\w+)` \\|$").FindStringSubmatch(row)
		metrics := regexp.MustCompile(`fairlead_\w+`).FindAllString(row, -1)
		if name == nil || len(metrics) == 0 {
			t.Errorf("no alert or no metric is named: %s", row)
			continue
		}
		for _, metric := range metrics {
			if !strings.Contains(known[name[1]].Expr, metric) {
				t.Errorf("the alert %s does not ask for %s", name[1], metric)
			}
			shown := false
			for where, e := range expressions {
				shown = shown || strings.HasPrefix(where, "panel Objective: ") && strings.Contains(e, metric)
			}
			if !shown {
				t.Errorf("no panel of an objective shows %s", metric)
			}
		}
	}
}

// TestAlertsHaveRunbooks: the annotation of each alert leads to the section of the page that names it.
func TestAlertsHaveRunbooks(t *testing.T) {
	const path = "docs/reference/alerts.md"
	page, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[path+"#"+strings.ReplaceAll(strings.ToLower(title), " ", "-")] = text
	}
	for name, a := range alerts(t) {
		if !strings.Contains(sections[a.Annotations.Runbook], "`"+name+"`") {
			t.Errorf("the runbook of %s, %q, is no section that names it", name, a.Annotations.Runbook)
		}
	}
}

// TestAlertsFire gives each alert a history in which it is to fire, and one in which it is not.
func TestAlertsFire(t *testing.T) {
	const fairlead = `namespace="fairlead-system"`
	// Series are a value each minute; 0x90 is zeros for an hour and a half, 0+1x90 counts up, _ is no
	// value.
	cases := map[string]struct{ fires, quiet string }{
		"FairleadDown": {
			`up{namespace="fairlead-system",service="fairlead-metrics"} 0x90`,
			`up{namespace="fairlead-system",service="fairlead-metrics"} 1x90`,
		},
		"FairleadWithoutLeader": {
			`leader_election_master_status{name="fairlead",` + fairlead + `,pod="a"} 0x90`,
			`leader_election_master_status{name="fairlead",` + fairlead + `,pod="a"} 1x90`,
		},
		"FairleadReconcilingFails": {
			`controller_runtime_reconcile_errors_total{controller="loadbalancers",` + fairlead + `} 0+1x90`,
			`controller_runtime_reconcile_errors_total{controller="loadbalancers",` + fairlead + `} 5x90`,
		},
		"FairleadFallsBehind": {
			`workqueue_longest_running_processor_seconds{name="loadbalancers",` + fairlead + `} 0+60x90`,
			`workqueue_longest_running_processor_seconds{name="loadbalancers",` + fairlead + `} 600x90`,
		},
		"FairleadCloudDoesNotAnswer": {
			`fairlead_provider_call_oldest_seconds{` + fairlead + `} 75x90`,
			`fairlead_provider_call_oldest_seconds{` + fairlead + `} 0x20 75x3 0x60`,
		},
		"FairleadWaits": {
			`fairlead_waiting_seconds{reason="RateLimited",` + fairlead + `} 0+60x90`,
			`fairlead_waiting_seconds{reason="RateLimited",` + fairlead + `} 0+60x14 0x76
			 fairlead_waiting_seconds{reason="Quota",` + fairlead + `} 0+60x90`,
		},
		"FairleadChangesAreLate": {
			`fairlead_change_seconds_bucket{loop="loadbalancers",le="256",` + fairlead + `} 0+9x90
			 fairlead_change_seconds_bucket{loop="loadbalancers",le="512",` + fairlead + `} 0+10x90
			 fairlead_change_seconds_bucket{loop="loadbalancers",le="+Inf",` + fairlead + `} 0+10x90`,
			`fairlead_change_seconds_bucket{loop="loadbalancers",le="256",` + fairlead + `} 0+97x90
			 fairlead_change_seconds_bucket{loop="loadbalancers",le="512",` + fairlead + `} 0+100x90
			 fairlead_change_seconds_bucket{loop="loadbalancers",le="+Inf",` + fairlead + `} 0+100x90`,
		},
		"FairleadChangeUnmet": {
			`fairlead_change_oldest_unmet_seconds{loop="loadbalancers",` + fairlead + `} 0+60x90`,
			`fairlead_change_oldest_unmet_seconds{loop="loadbalancers",` + fairlead + `} 0+60x32 0x60`,
		},
		"FairleadPlansFail": {
			`fairlead_plans_total{result="error",` + fairlead + `} 0+2x90
			 fairlead_plans_total{result="ok",` + fairlead + `} 0+10x90`,
			`fairlead_plans_total{result="error",` + fairlead + `} 0+1x90
			 fairlead_plans_total{result="pending",` + fairlead + `} 0+99x90
			 fairlead_plans_total{result="ok",` + fairlead + `} 0+20x90`,
		},
		"FairleadPlanNotProven": {
			`fairlead_plan_proofs_total{verdict="unproven",` + fairlead + `} 0+1x90`,
			`fairlead_plan_proofs_total{verdict="proven",` + fairlead + `} 0+9x90
			 fairlead_plan_proofs_total{verdict="undecided",` + fairlead + `} 0+1x90
			 fairlead_plan_proofs_total{verdict="unproven",` + fairlead + `} 3x90`,
		},
		"FairleadAsksTooMuch": {
			`fairlead_cloud_requests_total{service="Elastic Load Balancing v2",operation="CreateRule",outcome="ok",` + fairlead + `} 0+60x90
			 fairlead_change_seconds_count{loop="loadbalancers",` + fairlead + `} 0+1x90`,
			`fairlead_cloud_requests_total{service="Elastic Load Balancing v2",operation="CreateRule",outcome="ok",` + fairlead + `} 0+20x90
			 fairlead_change_seconds_count{loop="loadbalancers",` + fairlead + `} 0+1x90`,
		},
		"FairleadLoadBalancerDegraded": {
			`fairlead_load_balancer_degraded{load_balancer="a",reason="ProviderFailed",` + fairlead + `} 1x90`,
			`fairlead_load_balancer_degraded{load_balancer="a",reason="ProviderFailed",` + fairlead + `} 1x10 _x80`,
		},
		"FairleadCredentialsDenied": {
			`fairlead_provider_calls_total{call="Apply",result="denied",` + fairlead + `} 0+1x90`,
			`fairlead_provider_calls_total{call="Apply",result="ok",` + fairlead + `} 0+1x90`,
		},
		"FairleadThrottled": {
			`fairlead_provider_calls_total{call="Apply",result="throttled",` + fairlead + `} 0+6x90
			 fairlead_provider_calls_total{call="Apply",result="ok",` + fairlead + `} 0+54x90`,
			`fairlead_provider_calls_total{call="Apply",result="throttled",` + fairlead + `} 0+1x90
			 fairlead_provider_calls_total{call="Apply",result="ok",` + fairlead + `} 0+99x90`,
		},
		"FairleadNearQuota": {
			`fairlead_load_balancer_rules{load_balancer="a",` + fairlead + `} 95x90
			 fairlead_load_balancer_rule_limit{load_balancer="a",` + fairlead + `} 100x90`,
			`fairlead_load_balancer_rules{load_balancer="a",` + fairlead + `} 85x90
			 fairlead_load_balancer_rule_limit{load_balancer="a",` + fairlead + `} 100x90`,
		},
		"FairleadOrphans": {
			`fairlead_orphans{` + fairlead + `} 1x90`,
			`fairlead_orphans{` + fairlead + `} 1x20 0x70`,
		},
		"FairleadIngressWithoutClass": { // created at the start of time, which is the start of the history
			`fairlead_ingresses_without_class_oldest_created_seconds{ingress_namespace="shop",` + fairlead + `} 0x1600`,
			`fairlead_ingresses_without_class_oldest_created_seconds{ingress_namespace="shop",` + fairlead + `} 0x1300 _x300`,
		},
		"FairleadIngressTakenOver": {
			`fairlead_load_balancer_ingresses_taken_over{load_balancer="a",by="class",` + fairlead + `} 1x90`,
			`fairlead_load_balancer_ingresses_taken_over{load_balancer="a",by="class",` + fairlead + `} 1x5 _x85`,
		},
		"FairleadIngressesVanished": {
			`fairlead_vanished_ingresses{load_balancer="a",confirmation="awaited",` + fairlead + `} 1x90`,
			`fairlead_vanished_ingresses{load_balancer="a",confirmation="awaited",` + fairlead + `} 0x90`,
		},
		"FairleadTargetsStayUnhealthy": {
			`fairlead_load_balancer_parked_target_groups{load_balancer="a",` + fairlead + `} 1x90`,
			`fairlead_load_balancer_parked_target_groups{load_balancer="a",` + fairlead + `} 1x10 _x80`,
		},
	}
	for name, a := range alerts(t) {
		c, ok := cases[name]
		if !ok {
			t.Errorf("alert %s has no history to fire in", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			length := 90 * time.Minute
			if name == "FairleadIngressWithoutClass" {
				length = 1600 * time.Minute
			}
			if !fires(t, a, c.fires, length) {
				t.Errorf("it never fires in\n%s", c.fires)
			}
			if fires(t, a, c.quiet, length) {
				t.Errorf("it fires in\n%s", c.quiet)
			}
		})
	}
}

// fires reports whether an alert's expression holds for as long as it has to, for some labels, in a
// history with a value each minute.
func fires(t *testing.T, a alert, history string, length time.Duration) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(history, "\n", "\n  "))
	engine := promqltest.NewTestEngine(t, false, 0, 1_000_000)
	patience, err := time.ParseDuration(a.For)
	if err != nil {
		t.Fatal(err)
	}
	since := map[string]time.Time{}
	start := time.Unix(0, 0)
	for at := start; at.Before(start.Add(length)); at = at.Add(time.Minute) {
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, a.Expr, at)
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(t.Context())
		vector, err := result.Vector()
		if err != nil {
			t.Fatal(err)
		}
		holds := map[string]time.Time{}
		for _, sample := range vector {
			key := sample.Metric.String()
			holds[key] = at
			if begun, before := since[key]; before {
				holds[key] = begun
			}
			if at.Sub(holds[key]) >= patience {
				return true
			}
		}
		since = holds
		query.Close()
	}
	return false
}

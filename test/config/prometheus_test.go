package config

import (
	"encoding/json"
	"slices"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestMetricsAreFound follows the way from the monitor to the port of the operator: a selector or a
// name that misses is silent.
func TestMetricsAreFound(t *testing.T) {
	objects := with(t, "prometheus")
	for _, m := range only[*monitoringv1.ServiceMonitor](objects) {
		monitors, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range only[*corev1.Service](objects) {
			if m.Namespace != s.Namespace || !monitors.Matches(labels.Set(s.Labels)) {
				t.Errorf("the monitor does not select Service %s", s.Name)
			}
			if s.Spec.Ports[0].Name != m.Spec.Endpoints[0].Port {
				t.Errorf("the monitor scrapes port %q, the Service has %q", m.Spec.Endpoints[0].Port, s.Spec.Ports[0].Name)
			}
			for _, d := range only[*appsv1.Deployment](objects) {
				pod := d.Spec.Template
				if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
					t.Errorf("Service %s does not select the operator", s.Name)
				}
				if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == s.Spec.Ports[0].TargetPort.StrVal }) {
					t.Errorf("the operator has no port %q", s.Spec.Ports[0].TargetPort.StrVal)
				}
			}
			return
		}
	}
	t.Error("there is no monitor, or no Service")
}

func TestAlertsSayWhatToDo(t *testing.T) {
	known := map[string]bool{}
	for _, r := range only[*monitoringv1.PrometheusRule](with(t, "prometheus")) {
		for _, g := range r.Spec.Groups {
			for _, alert := range g.Rules {
				if known[alert.Alert] || alert.For == nil || alert.Labels["severity"] == "" || alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
					t.Errorf("alert %s is there twice, or lacks a duration, a severity, a summary or a description", alert.Alert)
				}
				known[alert.Alert] = true
			}
		}
	}
	if len(known) == 0 {
		t.Error("there is no alert")
	}
}

// TestTheDashboardIsFound: Grafana's sidecar takes what has its label and holds JSON. What the
// dashboard asks for is tested in test/alerts.
func TestTheDashboardIsFound(t *testing.T) {
	maps := only[*corev1.ConfigMap](with(t, "grafana"))
	at := slices.IndexFunc(maps, func(m *corev1.ConfigMap) bool { return m.Name == "fairlead-dashboard" })
	if at < 0 {
		t.Fatal("there is no dashboard")
	}
	text := maps[at].Data["fairlead.json"]
	if maps[at].Namespace != "fairlead-system" || maps[at].Labels["grafana_dashboard"] == "" || !json.Valid([]byte(text)) {
		t.Errorf("nobody finds it, or can read it: %v\n%s", maps[at].ObjectMeta, text)
	}
}

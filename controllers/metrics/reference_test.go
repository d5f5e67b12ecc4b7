package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference page of metrics from their table, and checks that the committed
// page is the same.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) { page.Check(t, "../../docs/reference/metrics.md", metricsPage()) }

func metricsPage() string {
	var b strings.Builder
	b.WriteString(`# Metrics

What the operator serves at ` + "`/metrics`" + ` of its ` + "`--metrics-bind-address`" + `, beside what controller-runtime,
client-go and Go have to say of themselves. Only the leader has gauges: what the others see is not
what is done. Nothing is labelled by Ingress, so that the number of series stays bounded.

<!-- Generated from controllers/metrics/table.go by "make generate". -->

| Metric | Kind | Labels | Meaning |
|---|---|---|---|
`)
	for _, m := range table {
		var quoted []string
		for _, l := range m.labels {
			quoted = append(quoted, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.kind, strings.Join(quoted, ", "), m.meaning)
	}
	b.WriteString("\n| Label | What it says |\n|---|---|\n")
	for _, l := range slices.Sorted(maps.Keys(meanings)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", l, meanings[l])
	}
	return b.String()
}

func TestEveryLabelHasAMeaning(t *testing.T) {
	used := map[string]bool{}
	for _, m := range table {
		for _, l := range m.labels {
			used[l] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(meanings)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("labels with a meaning and labels in use (-meaning +used):\n%s", diff)
	}
}

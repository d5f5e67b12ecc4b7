package cli

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// TestConditionsReference writes the reference page of conditions from their table.
func TestConditionsReference(t *testing.T) {
	page.Check(t, "../docs/reference/conditions.md", conditionsPage())
}

func conditionsPage() string {
	var b strings.Builder
	b.WriteString(`# Conditions of a LoadBalancer

` + "`kubectl describe lb NAME`" + ` prints three or four conditions. Each reason that asks for attention has a row, which
` + "`fairlead explain REASON`" + ` prints, too.

<!-- Generated from cli/conditions.go by "make generate". -->

| Condition | is | Reason | Meaning |
|---|---|---|---|
`)
	before := ""
	for _, row := range conditionReasons {
		condition, status := row.condition, row.status
		if condition == before {
			condition, status = "", ""
		}
		before = row.condition
		more := ""
		if row.page != "" {
			more = " [More](../" + row.page + ")."
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s%s |\n", condition, status, strings.Join(row.reasons, "`, `"), row.meaning, more)
	}
	b.WriteString(`
The condition Waiting appears after 15 s, and is updated once when the wait ends. ` + "`lastTransitionTime`" + ` is the start of the
wait. A load balancer that never waited for 15 s has no condition Waiting. The metric
` + "`fairlead_waiting_seconds`" + ` has the longest wait for each reason, short waits included. A replica that waits for the
lease writes nothing; if no replica has the lease, the alert ` + "`FairleadWithoutLeader`" + ` fires.
`)
	return strings.ReplaceAll(b.String(), "|  |  |", "| | |")
}

// A reason of conditions is explained by its name, whatever its case; one of diagnostics, too, says what its condition means.
func TestReasonsOfConditionsAreExplained(t *testing.T) {
	for word, want := range map[string][]string{
		"Disputed":     {"reason      Disputed\n", "condition   Programmed is False\n", "page        docs/how-to/troubleshoot.md#when-another-writer"},
		"targethealth": {"reason      TargetHealth\n", "condition   Waiting is True\n", "page        docs/reference/conditions.md\n"},
		"ClassMissing": {"do this ", "condition   Accepted is False\n", "page        docs/reference/diagnostics.md#classmissing\n"},
	} {
		got := fairlead(t, "explain", word)
		for _, text := range want {
			if got.code != 0 || !strings.Contains(got.out, text) {
				t.Errorf("explain %s: exit code %d, %s%s, want %q", word, got.code, got.out, got.err, text)
			}
		}
	}
}

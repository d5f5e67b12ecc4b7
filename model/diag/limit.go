package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// This file limits the diagnostics about one object. An Ingress can have thousands of paths, each
// with a diagnostic, and diagnostics are kept in memory, stored, and sent as events.

// mostOfOne is the most diagnostics about one object.
const mostOfOne = 50

// Limit sorts diagnostics and keeps at most 50 about each object. It keeps the first of every
// reason and port, then prefers errors to warnings, and warnings to information. One more
// diagnostic has the number of those left out.
func Limit(ds []Diagnostic) []Diagnostic {
	ds = Sort(ds)
	var out []Diagnostic
	for from := 0; from < len(ds); {
		to := from + 1
		for to < len(ds) && ds[to].Source.At("") == ds[from].Source.At("") {
			to++
		}
		out = append(out, limitOne(ds[from:to])...)
		from = to
	}
	return Sort(out)
}

// limitOne limits the diagnostics about one object.
func limitOne(ds []Diagnostic) []Diagnostic {
	if len(ds) <= mostOfOne {
		return ds
	}
	type kind struct {
		Severity
		Reason
		ports Ports
	}
	seen := map[kind]bool{}
	rank := make([]int, len(ds))
	order := make([]int, len(ds))
	for i, d := range ds {
		rank[i], order[i] = weight(d.Severity), i
		if k := (kind{d.Severity, d.Reason, d.Ports}); !seen[k] {
			seen[k], rank[i] = true, -1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	var out []Diagnostic
	errors := 0
	for n, i := range order {
		switch {
		case n < mostOfOne:
			out = append(out, ds[i])
		case ds[i].Severity == Error:
			errors++
		}
	}
	return append(out, Diagnostic{Severity: Warning, Reason: Omitted, Source: ds[0].Source.At(""),
		Message: fmt.Sprintf("%d more diagnostics about it are left out, %d of them errors",
			len(ds)-mostOfOne, errors)})
}

// weight returns the rank of a severity; errors have the lowest.
func weight(s Severity) int { return slices.Index([]Severity{Error, Warning, Info}, s) }

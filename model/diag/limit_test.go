package diag

import (
	"fmt"
	"testing"
)

func TestDiagnosticsAboutOneObjectAreLimited(t *testing.T) {
	web := Source{Kind: "Ingress", Namespace: "shop", Name: "web"}
	var all []Diagnostic
	for i := range 5000 {
		all = append(all, Diagnostic{Info, HostMiss, web.At(fmt.Sprintf("a[%04d]", i)), "miss", ""})
		all = append(all, Diagnostic{Error, NotExpressible, web.At(fmt.Sprintf("b[%04d]", i)), "not expressible", ""})
	}
	all = append(all, Diagnostic{Error, QuotaExceeded, web.At("z"), "full", ""}, Diagnostic{Warning, Conflict, web.At("z"), "conflict", ""})
	other := Diagnostic{Warning, Conflict, Source{Kind: "Ingress", Namespace: "shop", Name: "x"}, "neighbour", ""}
	got := Limit(append(all, other))

	count := map[Reason]int{}
	for _, d := range got {
		count[d.Reason]++
	}
	want := map[Reason]int{HostMiss: 1, NotExpressible: 47, QuotaExceeded: 1, Conflict: 2, Omitted: 1}
	for reason, n := range want {
		if count[reason] != n {
			t.Errorf("%d of %s are kept, want %d", count[reason], reason, n)
		}
	}
	if len(got) != 52 || got[0].Message != "9952 more diagnostics about it are left out, 4953 of them errors" || got[len(got)-1] != other {
		t.Errorf("%d are kept; the first is %v, the last %v", len(got), got[0], got[len(got)-1])
	}
}

func TestFewDiagnosticsAreAllKept(t *testing.T) {
	var all []Diagnostic
	for i := range mostOfOne {
		all = append(all, Diagnostic{Error, Invalid, Source{Kind: "Ingress", Name: "web", Field: fmt.Sprint(i)}, "bad", ""})
	}
	if got := Limit(all); len(got) != mostOfOne {
		t.Errorf("of %d diagnostics %d are kept", mostOfOne, len(got))
	}
}

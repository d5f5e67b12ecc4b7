package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

func TestErrorsKeepTheirClassAndMessage(t *testing.T) {
	classes := []error{providers.ErrPending, providers.ErrRejected, providers.ErrNoRoom, providers.ErrDenied, providers.ErrThrottled, errors.New("something else")}
	for _, class := range classes {
		sent := fmt.Errorf("making rule 7: %w: a limit of 3", class)
		var p v1.Problem
		over(t, EncodeError(sent), &p)
		got := DecodeError(&p)
		for _, other := range classes[:len(classes)-1] {
			if errors.Is(got, other) != errors.Is(sent, other) {
				t.Errorf("%v arrived as %v: is it %v?", sent, got, other)
			}
		}
		if got.Error() != sent.Error() {
			t.Errorf("%q arrived as %q", sent, got)
		}
	}
}

func TestTheTimeToAskAgainArrives(t *testing.T) {
	p := EncodeError(&providers.RetryAfter{Err: fmt.Errorf("making it: %w", providers.ErrPending), In: 1500 * time.Millisecond})
	if p.Type != v1.ProblemPending || p.RetryAfterSeconds != 2 {
		t.Fatalf("sent as %+v", p)
	}
	later, ok := errors.AsType[*providers.RetryAfter](DecodeError(p))
	if !ok || later.In != 2*time.Second || !errors.Is(later, providers.ErrPending) {
		t.Errorf("arrived as %v", later)
	}
}

func TestProblemsOfOtherTypes(t *testing.T) {
	for kind, class := range map[v1.ProblemType]error{v1.ProblemUnknown: providers.ErrRejected, v1.ProblemTooLarge: providers.ErrRejected} {
		if err := DecodeError(v1.NewProblem(kind, "no")); !errors.Is(err, class) {
			t.Errorf("%s arrived as %v, want %v", kind, err, class)
		}
	}
	for _, kind := range []v1.ProblemType{v1.ProblemOther, v1.ProblemVersion, "https://example.com/new"} {
		err := DecodeError(v1.NewProblem(kind, "no"))
		for _, class := range []error{providers.ErrPending, providers.ErrRejected, providers.ErrDenied, providers.ErrThrottled} {
			if errors.Is(err, class) {
				t.Errorf("%s arrived as %v", kind, class)
			}
		}
	}
	if err := DecodeError(&v1.Problem{Type: "odd"}); !strings.Contains(err.Error(), `"odd"`) {
		t.Errorf("a problem without words arrived as %q", err)
	}
}

package providers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

func TestAPanicFailsTheStepAndNoOther(t *testing.T) {
	cloud := &scripted{apply: func(_ context.Context, _ *lb.Observed, id string) error {
		if id == "bad" {
			panic("index out of range")
		}
		return nil
	}}
	var logged []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
	seen := &lb.Observed{}
	out, err := providers.Run(ctx, cloud, seen, steps("bad", "behind < bad", "good", "more < good"), providers.Options{Parallel: 1})
	var panicked *providers.Panic
	if !errors.As(err, &panicked) {
		t.Fatalf("the error is %v, want a panic", err)
	}
	for _, says := range []string{"applying", "bad: the provider panicked at ", "TestAPanicFailsTheStepAndNoOther", "index out of range"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
	if out.Done != 2 || len(out.Rejections)+len(out.Pending) > 0 {
		t.Errorf("the outcome is %+v", out)
	}
	if got := ids(seen); !slices.Equal(got, []string{"good", "more"}) {
		t.Errorf("done are %v", got)
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "panic_test.go") {
		t.Errorf("logged is %q, want the stack", logged)
	}
}

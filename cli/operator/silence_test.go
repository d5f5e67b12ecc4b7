package operator

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

func TestASilentAPIServerIsNotedOnce(t *testing.T) {
	refused := errors.New("connection refused")
	var said bytes.Buffer
	var answer error
	l := &silence{logger: logr.FromSlogHandler((&Settings{logFormat: "console"}).Logs(&said))}
	transport := l.watch(roundTrip(func(*http.Request) (*http.Response, error) { return nil, answer }))
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, step := range []struct {
		why  string
		err  error // context.Canceled is of whoever asked and did not wait
		says string
	}{
		{"it answers", nil, ""},
		{"whoever asked is gone", context.Canceled, ""},
		{"it is away", refused, "the API server does not answer"},
		{"it is still away", refused, ""},
		{"whoever asked is gone, and it is still away", context.Canceled, ""},
		{"it is back", nil, "the API server answers again"},
		{"it is still there", nil, ""},
		{"it is away again", refused, "the API server does not answer"},
	} {
		said.Reset()
		answer = step.err
		ctx := t.Context()
		if errors.Is(answer, context.Canceled) {
			ctx = gone
		}
		if _, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody)); !errors.Is(err, step.err) {
			t.Errorf("%s: the error is %v", step.why, err)
		}
		if (step.says != "") != (said.Len() > 0) || !strings.Contains(said.String(), step.says) {
			t.Errorf("%s: the log says %q, want %q", step.why, said.String(), step.says)
		}
	}
}

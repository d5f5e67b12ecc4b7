package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

func TestLibrariesAreHeardOnlyIfSomethingIsWrong(t *testing.T) {
	for _, o := range []running{{logFormat: "json"}, {logFormat: "console"}, {logFormat: "json", verbose: true}} {
		var said bytes.Buffer
		l := slog.New(quiet{o.logs(&said)}).With("logger", "library").WithGroup("about")
		l.Debug("caches are filled")
		l.Info("a server starts")
		l.Error("the lease is lost")
		if n := strings.Count(said.String(), "\n"); n != 1 || !strings.Contains(said.String(), "the lease is lost") {
			t.Errorf("%+v: a library says\n%s", o, said.String())
		}
	}
}

func TestAWarningOfTheAPIServerIsPassedOnOnce(t *testing.T) {
	var said bytes.Buffer
	w := &warner{logger: logr.FromSlogHandler((&running{}).logs(&said))}
	for range 3 {
		w.HandleWarningHeader(299, "-", `unknown field "status.rules"`)
		w.HandleWarningHeader(299, "-", `unknown field "status.ips"`)
		w.HandleWarningHeader(199, "-", "not for people")
	}
	if n := strings.Count(said.String(), "unknown field"); n != 2 || strings.Contains(said.String(), "not for people") {
		t.Errorf("it is passed on as\n%s", said.String())
	}
}

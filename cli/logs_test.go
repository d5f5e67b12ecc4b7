package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
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

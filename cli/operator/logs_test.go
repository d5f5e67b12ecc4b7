package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"fairlead.dev/fairlead/model/printable"
)

func TestLibrariesAreHeardOnlyIfSomethingIsWrong(t *testing.T) {
	for _, o := range []Settings{{logFormat: "json"}, {logFormat: "console"}, {logFormat: "json", verbose: true}} {
		var said bytes.Buffer
		l := slog.New(quiet{o.Logs(&said)}).With("logger", "library").WithGroup("about")
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
	w := &warner{logger: logr.FromSlogHandler((&Settings{}).Logs(&said))}
	for range 3 {
		w.HandleWarningHeader(299, "-", `unknown field "status.rules"`)
		w.HandleWarningHeader(299, "-", `unknown field "status.ips"`)
		w.HandleWarningHeader(199, "-", "not for people")
	}
	if n := strings.Count(said.String(), "unknown field"); n != 2 || strings.Contains(said.String(), "not for people") {
		t.Errorf("it is passed on as\n%s", said.String())
	}
}

// Libraries log errors with text of objects, and logs are read on terminals.
func TestLogsArePrintable(t *testing.T) {
	const hostile = "/a\x1b]0;t\a\nlevel=ERROR msg=forged\r\u202e\u009b2J\u0085\u200b\ufe0f\u3164\x7f\xff\u2028"
	for _, format := range []string{"json", "console"} {
		var said bytes.Buffer
		o := Settings{logFormat: format}
		l := slog.New(o.Logs(&said))
		l.With(hostile, hostile).WithGroup(hostile).Error(hostile, "err", errors.New(hostile), hostile, []string{hostile})
		line, more, _ := strings.Cut(said.String(), "\n")
		if more != "" || printable.Line(line) != line || !strings.Contains(line, "forged") {
			t.Errorf("%s: %q", format, said.String())
		}
		if format == "json" && !json.Valid([]byte(line)) {
			t.Errorf("%s is not JSON", line)
		}
	}
}

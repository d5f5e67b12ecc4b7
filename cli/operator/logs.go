package operator

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/fairlead/model/printable"
)

// This file formats the operator's log, and leaves out most of what libraries log.

// Logs returns the handler that writes the log. Lines are printable in both formats: control
// characters and invisible ones that slog leaves unescaped are escaped.
func (o *Settings) Logs(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{}
	if o.verbose {
		options.Level = slog.LevelDebug
	}
	if o.logFormat == "console" {
		escape := func(line []byte) []byte { return []byte(printable.Line(string(line))) }
		return slog.NewTextHandler(escaping{w, escape}, options)
	}
	return slog.NewJSONHandler(escaping{w, printable.JSON}, options)
}

// An escaping writer escapes each line. A line is written by one call.
type escaping struct {
	io.Writer
	escape func(line []byte) []byte // is given the line without its line break
}

// Write writes a line.
func (e escaping) Write(line []byte) (int, error) {
	escaped := e.escape(bytes.TrimSuffix(line, []byte("\n")))
	if _, err := e.Writer.Write(append(escaped, '\n')); err != nil {
		return 0, err
	}
	return len(line), nil
}

// A quiet handler is for libraries: it drops all lines below warnings.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs)}
}

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// A warner logs each warning of the API server once. It warns of unknown fields, for example, where
// the CRDs are older than the operator.
type warner struct {
	logger logr.Logger
	logged sync.Map // warnings, by their text
}

// warning is the code of warnings for people: RFC 9111, section 5.5.
const warning = 299

// HandleWarningHeader implements rest.WarningHandler.
func (w *warner) HandleWarningHeader(code int, _, text string) {
	if code != warning {
		return
	}
	if _, logged := w.logged.LoadOrStore(text, true); !logged {
		w.logger.Info("the API server warns", "of", text)
	}
}

// A progress logs that a replica is ready to work, and that it works.
type progress struct {
	manager     manager.Manager
	logger      logr.Logger
	leaderElect bool
}

// NeedLeaderElection is false: a replica that waits for the lease logs that, too.
func (progress) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (c progress) Start(ctx context.Context) error {
	if !c.manager.GetCache().WaitForCacheSync(ctx) {
		return nil
	}
	if c.leaderElect {
		c.logger.Info("ready to work, and waiting for the lease")
	}
	select {
	case <-c.manager.Elected():
		c.logger.Info("working")
	case <-ctx.Done():
	}
	return nil
}

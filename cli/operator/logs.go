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

// This file is what the operator's log looks like, and what is not in it.

// Logs is where log lines go and how they look. They are printable in both formats: what slog
// leaves as it is of controls and invisible characters is escaped.
func (o *Settings) Logs(w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{}
	if o.verbose {
		options.Level = slog.LevelDebug
	}
	if o.logFormat == "console" {
		return slog.NewTextHandler(escaping{w, func(line []byte) []byte { return append([]byte(printable.Line(string(line))), '\n') }}, options)
	}
	return slog.NewJSONHandler(escaping{w, func(line []byte) []byte { return append(printable.JSON(line), '\n') }}, options)
}

// An escaping writer escapes each line, which is written whole.
type escaping struct {
	io.Writer
	escape func(line []byte) []byte // without its line break; the result has one
}

// Write writes a line.
func (e escaping) Write(line []byte) (int, error) {
	if _, err := e.Writer.Write(e.escape(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// A quiet handler is for libraries. What they are about to do is of interest to those who look for
// mistakes in them; what goes wrong there is to everybody.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// A warner passes on what the API server warns of, such as fields that it does not know because the
// kinds are older than the operator: each warning once.
type warner struct {
	logger logr.Logger
	passed sync.Map // by their text
}

// warning is the code of those that are for people.
const warning = 299

// HandleWarningHeader is called with every warning.
func (w *warner) HandleWarningHeader(code int, _, text string) {
	if code != warning {
		return
	}
	if _, passed := w.passed.LoadOrStore(text, true); !passed {
		w.logger.Info("the API server warns", "of", text)
	}
}

// A crier says how far a replica is: whether it can work, and whether it does.
type crier struct {
	manager     manager.Manager
	logger      logr.Logger
	leaderElect bool
}

// NeedLeaderElection is false, for those who wait are heard too.
func (crier) NeedLeaderElection() bool { return false }

func (c crier) Start(ctx context.Context) error {
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

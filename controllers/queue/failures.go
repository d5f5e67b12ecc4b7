package queue

import (
	"regexp"
	"sync"

	"github.com/go-logr/logr"
)

// This file logs a failure once. A key that fails again in the same way is tried again, and logged
// when it succeeds.

// failures holds the last error of each key.
type failures[K comparable] struct {
	mu   sync.Mutex
	last map[K]string
}

// isNew reports whether a failure of a key differs from its last one.
func (f *failures[K]) isNew(key K, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = map[K]string{}
	}
	before, known := f.last[key]
	f.last[key] = err.Error()
	return !known || !SameFailure(before, err.Error())
}

// remove removes the error of a key, and reports whether it had one.
func (f *failures[K]) remove(key K) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, failed := f.last[key]
	delete(f.last, key)
	return failed
}

// varyingWords matches the words of an error that differ from one attempt to the next: times,
// ports, IDs of requests.
var varyingWords = regexp.MustCompile(`\S*\d\S*`)

// SameFailure reports whether two texts are the same error of two attempts.
func SameFailure(a, b string) bool {
	return varyingWords.ReplaceAllString(a, "") == varyingWords.ReplaceAllString(b, "")
}

// A quietSink leaves out the line that controller-runtime logs for each error that a reconciler
// returns.
type quietSink struct{ logr.LogSink }

func quiet(l logr.Logger) logr.Logger {
	if l.GetSink() == nil { // it logs nothing
		return l
	}
	return l.WithSink(quietSink{l.GetSink()})
}

func (q quietSink) Error(err error, message string, about ...any) {
	if message != "Reconciler error" {
		q.LogSink.Error(err, message, about...)
	}
}

func (q quietSink) WithValues(about ...any) logr.LogSink {
	return quietSink{q.LogSink.WithValues(about...)}
}

func (q quietSink) WithName(name string) logr.LogSink { return quietSink{q.LogSink.WithName(name)} }

package bindings

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file asks the cloud about target groups. An answer holds for a while, also one with which a binding is
// refused: otherwise each write of an author would be a question.

const (
	// checkAgain is how long an answer holds at most, and how long a binding waits that another target group
	// would be needed for.
	checkAgain = 10 * time.Minute
	// checkLeaving is how long an answer holds for a binding that leaves: its target group may be deleted with it.
	checkLeaving = 10 * time.Second
	// askAgain is how long an error holds.
	askAgain = time.Second
)

// A question is about a target group of a provider: two may know the same ARN, with other rights.
type question struct {
	provider string
	group    lb.GroupID
	leaves   bool // it is of a binding that leaves
}

// A fact is what the cloud has said of a target group.
type fact struct {
	lb.OthersGroup
	there    bool
	answered bool // not by a provider that knows no target groups of others
	failed   error
	at       time.Time
}

// facts are the last answers.
type facts struct {
	mu    sync.Mutex
	known map[question]fact
}

// ask returns what the cloud says of a target group, or has said a while ago, and reports whether it was asked.
func (r *Reconciler) ask(ctx context.Context, key lb.Key, group lb.GroupID, leaves bool) (f fact, asked bool) {
	about, holds := question{key.Provider(), group, leaves}, min(checkAgain, r.Interval)
	if leaves {
		holds = checkLeaving
	}
	f, known := r.facts.get(about)
	if f.failed != nil {
		holds = askAgain
	}
	if known && time.Since(f.at) < holds {
		return f, false
	}
	found, err := r.Cloud.Lookup(providers.WithKey(ctx, key), lb.Questions{Provider: about.provider, TargetGroups: []lb.GroupID{group}})
	f = fact{answered: found.TargetGroups != nil, at: time.Now()}
	f.OthersGroup, f.there = found.TargetGroups[group]
	if err != nil {
		f.failed = fmt.Errorf("reading target group %s: %w", group, err)
	}
	if ctx.Err() == nil {
		r.facts.put(about, f)
	}
	return f, true
}

func (k *facts) get(about question) (f fact, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, known = k.known[about]
	return f, known
}

// put stores an answer, and drops those that hold no longer.
func (k *facts) put(about question, f fact) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.known, func(_ question, old fact) bool { return time.Since(old.at) > checkAgain })
	if k.known == nil {
		k.known = map[question]fact{}
	}
	k.known[about] = f
}

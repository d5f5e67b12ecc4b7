// Package clouds is what a binary has of a kind of cloud: its settings, and how it is opened. Each
// provider describes itself so, and main lists them.
package clouds

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/prove"
)

// A Cloud is a kind of cloud. A function is nil where the cloud cannot do what it is for.
type Cloud struct {
	// Default reports whether it is chosen where no other one is named.
	Default bool
	// Flags adds its settings. Their names begin with that of the cloud.
	Flags func(*pflag.FlagSet)
	// Offline opens it for compiling alone: nothing is asked of the cloud.
	Offline func() (Offline, error)
	// Live opens it to serve a cluster from.
	Live func(context.Context, Environment) (Live, error)
	// Local opens it on this machine, for a demonstration.
	Local func() (Local, error)
	// Check looks at it before it is used, and changes nothing.
	Check func(context.Context, Environment) []check.Finding
	// Prove opens it in the name of an installation, to be proved on.
	Prove func(ctx context.Context, s Environment, installation string) (prove.Cloud, error)
	// ProofMakes and ProofCosts describe a proof: the resources that it makes, and their price.
	ProofMakes, ProofCosts string
	// Redact replaces the values in a text that identify an account.
	Redact func(text string) string
	// Place is where it makes load balancers, as far as its settings say so.
	Place func() string
	// DisabledFeatures names features that are off without a setting, in words; "" for none.
	DisabledFeatures func() string
}

// Environment describe the operator to a cloud that is opened.
type Environment struct {
	// Installation tells what this operator makes from what others do.
	Installation func(context.Context) (string, error)
	// Nodes are the cloud's names of the cluster's nodes.
	Nodes func(context.Context) ([]string, error)
	// OnRequest is told of each request to the cloud's API.
	OnRequest func(service, operation, result string)
	// AttemptTimeout is how long the cloud may take to answer an attempt of a call, and CallTimeout
	// how long all attempts of a call may take.
	AttemptTimeout, CallTimeout time.Duration
	// Log is where the cloud logs.
	Log logr.Logger
}

// Offline answers the compiler's questions without asking the cloud.
type Offline interface {
	Capabilities(class lb.Class) lb.Capabilities
	Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error)
}

// Local is a cloud that lives in this process until it is closed.
type Local interface {
	providers.Provider
	Close()
}

// Live is a cloud that a cluster is served from.
type Live interface {
	// Term returns the provider for a term of this operator. It remembers nothing of an earlier term,
	// in which another operator may have changed the cloud.
	Term() providers.Provider
	Close()
}

// SharedLocal is a cloud that lives in this process, and that all terms share for this reason.
type SharedLocal struct{ Local }

// Term is for Live.
func (l SharedLocal) Term() providers.Provider { return l.Local }

// Package clouds describes the kinds of cloud that a binary supports: their flags, and how to open
// one. Each provider has such a description, and main lists them.
package clouds

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/trials"
)

// A Cloud describes a kind of cloud. A function is nil if the cloud does not support it.
type Cloud struct {
	// Default is true for the cloud that is used if no other one is named.
	Default bool
	// Adopts is true if its providers are Adopters: they take load balancers over.
	Adopts bool
	// Called is what messages call one of its load balancers, such as "an ALB"; "" for "the load balancer".
	Called string
	// Flags adds its flags. Their names begin with that of the cloud.
	Flags func(*pflag.FlagSet)
	// Offline opens it for compiling. It makes no calls.
	Offline func() (Offline, error)
	// Live opens it for an operator.
	Live func(context.Context, Environment) (Live, error)
	// Unseen gives the reason, in words, why another process cannot read the load balancers of an
	// operator; "" if it can.
	Unseen func() string
	// Local opens it in this process, for a demonstration.
	Local func() (Local, error)
	// Check checks the account and the network for problems, and changes nothing.
	Check func(context.Context, Environment) []check.Finding
	// Prove opens it for a trial under the name of an installation.
	Prove func(ctx context.Context, s Environment, installation string) (trials.Cloud, error)
	// TrialMakes and TrialCosts describe a trial: the resources that it makes, and their price.
	TrialMakes, TrialCosts string
	// Redact replaces the values in a text that identify an account.
	Redact func(text string) string
	// Place returns the place of its load balancers, such as a region, if its settings name one.
	Place func() string
	// DisabledFeatures describes the features that are off because a setting is missing; "" for none.
	DisabledFeatures func() string
}

// An Environment describes the operator to a cloud that is opened.
type Environment struct {
	// Installation returns the ID that marks the resources of this operator.
	Installation func(context.Context) (string, error)
	// Nodes returns the cloud's names of the cluster's nodes.
	Nodes func(context.Context) ([]string, error)
	// OnRequest is called after each request to the cloud's API.
	OnRequest func(service, operation, result string)
	// OnInFlight is called when the number of requests under way at an API changes, or its limit.
	// Calls are "reads" or "changes". It may be nil.
	OnInFlight func(service, calls string, underWay, limit int)
	// AttemptTimeout limits each attempt of a call, and CallTimeout all attempts of a call.
	AttemptTimeout, CallTimeout time.Duration
	// Log is the log of the cloud.
	Log logr.Logger
}

// Offline answers the compiler's questions without asking the cloud.
type Offline interface {
	Capabilities(class lb.Class) lb.Capabilities
	Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error)
}

// Local is a cloud in this process. It ends when it is closed.
type Local interface {
	providers.Provider
	Close()
}

// Live is a cloud that an operator uses.
type Live interface {
	// Term returns the provider for a term of this operator. It has no state of an earlier term,
	// because another operator may have changed the cloud since.
	Term() providers.Provider
	Close()
}

// SharedLocal makes a Live of a Local: all terms get the same provider, because its state is in
// this process.
type SharedLocal struct{ Local }

// Term returns the Local.
func (l SharedLocal) Term() providers.Provider { return l.Local }

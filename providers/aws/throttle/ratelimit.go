// Package throttle keeps calls to AWS within the rates of an account and within their deadlines.
package throttle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/errorcode"
)

// This file keeps calls within the rates that AWS grants an account, counts them, and slows down
// where AWS says that it is too fast after all: an account's rates are shared with whoever else
// works in it.
//
// Load balancers whose calls wait take turns, and what restricts or repairs goes first: see
// providers.Turns.

// ParallelReads is how many reads of one observation are under way at the same time.
const ParallelReads = 8

// Published are the rates of classes of calls. Those of Elastic Load Balancing are AWS's published
// ones for reads, changes and targets, and those of WAF for web ACLs of load balancers. Of
// Certificate Manager they are the least of the operations in a class
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html), none of which is said to take
// more at once. Where AWS publishes none they are careful guesses.
func Published() providers.Rates {
	return providers.Rates{
		"read":       {PerSecond: 50, Burst: 200},
		"modify":     {PerSecond: 3, Burst: 20},
		"targets":    {PerSecond: 4, Burst: 20},
		"write":      {PerSecond: 3, Burst: 20}, // creates, deletes, sets and tags
		"ec2-read":   {PerSecond: 20, Burst: 100},
		"ec2-write":  {PerSecond: 5, Burst: 50},
		"acm-read":   {PerSecond: 8, Burst: 8},
		"acm-write":  {PerSecond: 5, Burst: 5}, // deletes and tags
		"acm-import": {PerSecond: 1, Burst: 1},
		"waf-read":   {PerSecond: 1, Burst: 1},
		"waf-write":  {PerSecond: 0.5, Burst: 1},
		"other":      {PerSecond: 5, Burst: 10},
	}
}

// classOf is the class of a call.
func classOf(service, operation string) string {
	kind := "write"
	if reads(operation) {
		kind = "read"
	}
	switch service {
	case "Elastic Load Balancing v2":
		switch {
		case strings.HasSuffix(operation, "isterTargets"):
			return "targets"
		case strings.HasPrefix(operation, "Modify"):
			return "modify"
		}
		return kind
	case "EC2":
		return "ec2-" + kind
	case "ACM":
		if strings.HasPrefix(operation, "Import") {
			return "acm-import"
		}
		return "acm-" + kind
	case "WAFV2":
		return "waf-" + kind
	}
	return "other"
}

// reads reports whether a call changes nothing.
func reads(operation string) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Get"}, func(p string) bool {
		return strings.HasPrefix(operation, p)
	})
}

// A Request is a call that was made, an attempt that is made again included.
type Request struct {
	Service, Operation string
	Result             string        // ok, AWS's name of an error, or lost where there was no answer
	Waited             time.Duration // for its turn
}

// A Pacer makes calls wait for their turn.
type Pacer struct {
	buckets   map[string]*bucket
	onRequest func(Request) // may be nil
}

// NewPacer returns a Pacer for the rates, which tells of each call.
func NewPacer(rates providers.Rates, tell func(Request)) *Pacer {
	p := &Pacer{buckets: map[string]*bucket{}, onRequest: tell}
	for class, r := range rates {
		p.buckets[class] = &bucket{
			turns: providers.NewTurns(r.PerSecond, r.Burst), rate: r.PerSecond, full: r.PerSecond,
		}
	}
	return p
}

// AddTo puts the pacer where the SDK makes each attempt of a call.
func (p *Pacer) AddTo(stack *middleware.Stack) error {
	//nolint:misspell // the SDK names it so
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Pace", p.pace), "Retry",
		middleware.After)
}

func (p *Pacer) pace(ctx context.Context, in middleware.FinalizeInput,
	next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	r := Request{
		Service: awsmiddleware.GetServiceID(ctx), Operation: awsmiddleware.GetOperationName(ctx),
	}
	b := p.buckets[classOf(r.Service, r.Operation)]
	came := time.Now()
	if b != nil {
		w := stopwatchOf(ctx)
		w.pause()
		err := b.turns.Wait(ctx)
		w.resume()
		if err != nil {
			return middleware.FinalizeOutput{}, middleware.Metadata{},
				fmt.Errorf("waiting for a turn to call %s: %w", r.Operation, err)
		}
	}
	r.Waited = time.Since(came)
	out, metadata, err := next.HandleFinalize(ctx, in)
	if r.Result = errorcode.Read(err); err == nil {
		r.Result = "ok"
	} else if r.Result == "" {
		r.Result = "lost"
	}
	if b != nil {
		b.record(errorcode.Throttled(r.Result))
	}
	if p.onRequest != nil {
		p.onRequest(r)
	}
	return out, metadata, err
}

// A bucket is the rate of a class, and how much of it AWS seems to grant at the moment.
type bucket struct {
	turns *providers.Turns
	full  float64 // calls a second

	mu     sync.Mutex
	rate   float64 // the same, at the moment
	slowed time.Time
}

// The least that is left of a rate, how long one refusal stands for all that come with it, and how
// many calls that are granted make up for a rate that was lost.
const (
	leastShare = 10
	oneRefusal = time.Second
	recovery   = 60
)

// record halves the rate when AWS refuses a call for it, and raises it again by and by.
func (b *bucket) record(refused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case !refused:
		b.rate = min(b.full, b.rate+b.full/recovery)
	case now.Sub(b.slowed) >= oneRefusal:
		b.slowed = now
		b.rate = max(b.full/leastShare, b.rate/2)
	}
	b.turns.SetRate(b.rate)
}

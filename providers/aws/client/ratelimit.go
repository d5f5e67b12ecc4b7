package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"

	"fairlead.dev/fairlead/providers"
)

// This file keeps calls within the rates that AWS grants an account, counts them, and slows down if
// AWS throttles them: all programs in an account share its rates.
//
// Load balancers whose calls wait take turns. Calls that restrict or repair the routing go first:
// see providers.Turns.

// ParallelReads is the number of reads of one observation that are under way at the same time.
const ParallelReads = 8

// PublishedRates returns the rates of classes of calls. AWS publishes those of Elastic Load Balancing
// for reads, changes and targets, and those of WAF for web ACLs of load balancers. For Certificate
// Manager each is the lowest rate of the operations in a class
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html), which documents no bursts.
// The others are conservative estimates.
func PublishedRates() providers.Rates {
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

// classOf returns the class of a call.
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

// A Request describes one attempt of a call.
type Request struct {
	Service, Operation string
	Result             string        // ok, AWS's code of an error, or lost if there was no answer
	Waited             time.Duration // for the rate limit
}

// A Pacer makes calls wait for their turn: first for the rate of their class, then until there are
// few enough under way at their endpoint.
type Pacer struct {
	o       PacerOptions
	buckets map[string]*bucket

	mu       sync.Mutex
	inFlight map[endpoint]*providers.InFlight
}

// PacerOptions configure a Pacer.
type PacerOptions struct {
	// Rates are the rates of classes of calls. Calls of a class without one have none.
	Rates providers.Rates
	// Deadlines are those of the calls.
	Deadlines Deadlines
	// OnRequest is called after each attempt; it may be nil.
	OnRequest func(Request)
	// OnInFlight is called when the number of calls under way at an endpoint changes, or its limit; it
	// may be nil. Calls are "reads" or "changes".
	OnInFlight func(service, calls string, underWay, limit int)
}

// An endpoint is a service, and whether the calls change something. Reads have a limit of their
// own: a look does not wait for changes that are slow.
type endpoint struct {
	service string
	changes bool
}

// NewPacer returns a Pacer that has made no call yet.
func NewPacer(o PacerOptions) *Pacer {
	p := &Pacer{o: o, buckets: map[string]*bucket{}, inFlight: map[endpoint]*providers.InFlight{}}
	for class, r := range o.Rates {
		p.buckets[class] = &bucket{
			turns: providers.NewTurns(r.PerSecond, r.Burst), rate: r.PerSecond, full: r.PerSecond,
		}
	}
	return p
}

// AddTo adds the pacer to the middleware of each attempt of a call.
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
	w := stopwatchOf(ctx)
	w.pause()
	sent, err := p.wait(ctx, b, r)
	w.resume()
	if err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{},
			fmt.Errorf("waiting for a turn to call %s: %w", r.Operation, err)
	}
	r.Waited = time.Since(came)
	out, metadata, err := next.HandleFinalize(ctx, in)
	if r.Result = ErrorCode(err); err == nil {
		r.Result = "ok"
	} else if r.Result == "" {
		r.Result = "lost"
	}
	sent.End(answerOf(ctx, r.Result, err))
	if b != nil {
		b.record(isThrottle(r.Result))
	}
	if p.o.OnRequest != nil {
		p.o.OnRequest(r)
	}
	return out, metadata, err
}

// wait waits until an attempt may be sent.
func (p *Pacer) wait(ctx context.Context, b *bucket, r Request) (*providers.Sent, error) {
	if b != nil {
		if err := b.turns.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return p.inFlightAt(endpoint{r.Service, !reads(r.Operation)}).Send(ctx, r.Operation)
}

// inFlightAt returns the bound of an endpoint.
func (p *Pacer) inFlightAt(to endpoint) *providers.InFlight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight[to] == nil {
		calls := "reads"
		if to.changes {
			calls = "changes"
		}
		var tell func(underWay, limit int)
		if report := p.o.OnInFlight; report != nil {
			tell = func(underWay, limit int) { report(to.service, calls, underWay, limit) }
		}
		p.inFlight[to] = providers.NewInFlight(p.o.Deadlines.Attempt, p.o.Deadlines.Call, tell)
	}
	return p.inFlight[to]
}

// answerOf returns how an attempt ended, for the bound of its endpoint.
func answerOf(ctx context.Context, result string, err error) providers.Answer {
	status := 0
	if r, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = r.HTTPStatusCode()
	}
	switch {
	case isThrottle(result), status >= http.StatusInternalServerError:
		return providers.Refused
	case result != "lost":
		return providers.Answered
	case ctx.Err() != nil && !IsTimeout(context.Cause(ctx)):
		return providers.Cancelled
	}
	return providers.Lost
}

// A bucket holds the rate of a class, and the lower rate that is used while AWS throttles calls.
type bucket struct {
	turns *providers.Turns
	full  float64 // calls a second

	mu     sync.Mutex
	rate   float64 // calls a second at the moment
	slowed time.Time
}

// leastShare is the part of a rate that always stays. oneRefusal is the time in which further
// refusals count as one. recovery is the number of calls after which the full rate is restored.
const (
	leastShare = 10
	oneRefusal = time.Second
	recovery   = 60
)

// record halves the rate when AWS throttles a call, and raises it with each other call.
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

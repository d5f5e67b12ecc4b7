package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file makes a call: it sends it and reads the answer. An error names the provider.

// A client makes the calls of one provider.
type client struct {
	endpoint Endpoint
	base     *url.URL
	breaker  *breaker
	// Reads have a limit of their own: a look does not wait for changes that are slow.
	reads, changes *calls

	mu           sync.Mutex
	capabilities capabilities
}

// newClient returns a client for an endpoint. It makes no call.
func newClient(e Endpoint) (*client, error) {
	base, err := parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", e.Name, err)
	}
	c := &client{endpoint: e, breaker: newBreaker(e.Name)}
	base, attempts := newAttempts(e, base, c.breaker)
	c.base, c.reads = base, newCalls(e, "reads", e.Attempt, attempts)
	// A change is not sent again while the provider may still carry it out: its attempt has the time
	// of the call.
	c.changes = newCalls(e, "changes", e.Call, attempts)
	return c, nil
}

// calls makes the calls that read, or those that change something, and bounds what is under way.
type calls struct {
	http     *retryablehttp.Client
	inFlight *providers.InFlight
}

func newCalls(e Endpoint, kind string, within time.Duration, a *attempts) *calls {
	var tell func(underWay, limit int)
	if e.OnInFlight != nil {
		tell = func(underWay, limit int) { e.OnInFlight(e.Name, kind, underWay, limit) }
	}
	return &calls{newHTTPClient(e, within, a), providers.NewInFlight(e.Attempt, 2*e.Call, tell)}
}

// of returns what makes a call.
func (p *client) of(c call) *calls {
	if c.changes {
		return p.changes
	}
	return p.reads
}

// call makes a call, with the provider's name in its error.
func (p *client) call(ctx context.Context, c call) error {
	return p.withName(p.do(ctx, c))
}

func (p *client) do(ctx context.Context, c call) error {
	body, err := p.encode(c)
	if err != nil {
		return err
	}
	sent, err := p.of(c).inFlight.Send(ctx, c.operation)
	if err != nil {
		return fmt.Errorf("waiting for a turn to call %s: %w", c, err)
	}
	c.load = &load{}
	to := p.base.JoinPath(c.at)
	to.RawQuery = c.query.Encode()
	got, err := p.send(ctx, c, to, body)
	sent.End(c.load.answer(ctx, err))
	if err != nil {
		return err
	}
	return got.read(c)
}

// encode returns the body of a call.
func (p *client) encode(c call) ([]byte, error) {
	if c.body == nil {
		return nil, nil
	}
	text, err := json.Marshal(c.body)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", c, err)
	}
	if most := p.known().requestBytes; len(text) > most {
		return nil, fmt.Errorf("%w: %s has %d bytes, and the provider takes %d", providers.ErrRejected,
			c, len(text), most)
	}
	return text, nil
}

// shortest is the length from which a body is compressed.
const shortest = 8 << 10

// send makes the attempts of a call and returns the last answer.
func (p *client) send(ctx context.Context, c call, to *url.URL, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.endpoint.Call, errLate)
	defer cancel()
	ctx, end := endsWithPlan(ctx, c)
	defer end()
	var raw any
	encoding := ""
	switch {
	case len(body) >= shortest && p.known().gzip:
		packed, err := compress(body)
		if err != nil {
			return nil, err
		}
		raw, encoding = packed, "gzip"
	case body != nil:
		raw = body
	}
	r, err := retryablehttp.NewRequestWithContext(context.WithValue(ctx, callKey{}, c), c.method,
		to.String(), raw)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", c, err)
	}
	r.Header.Set("Accept", v1.MediaType)
	r.Header.Set(v1.HeaderRequestID, randomHex(16))
	r.Header.Set("traceparent", "00-"+randomHex(16)+"-"+randomHex(8)+"-01")
	if raw != nil {
		r.Header.Set("Content-Type", v1.MediaType)
	}
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	if c.ifNoneMatch != "" {
		r.Header.Set("If-None-Match", c.ifNoneMatch)
	}
	var got *answer
	var read *http.Response // the one that was read last
	r.SetResponseHandler(func(response *http.Response) (err error) {
		read = response
		got, err = readAnswer(response)
		return err
	})
	response, err := p.of(c).http.Do(r)
	if response != nil && response != read { // an answer that go-retryablehttp takes for a failure
		got, err = readAnswer(response)
	}
	if err != nil {
		return nil, p.failed(ctx, c, err)
	}
	return got, nil
}

// errLate is the cause of the end of a call whose time is over.
var errLate = errors.New("its time is over")

// failed returns the error of a call without an answer that can be read.
func (p *client) failed(ctx context.Context, c call, err error) error {
	cause, last := context.Cause(ctx), c.load.lastAnswer()
	switch {
	case cause == nil:
		return fmt.Errorf("calling %s: %w", c, withoutURL(err))
	case cause != errLate && last != "": //nolint:errorlint // it is never wrapped
		return fmt.Errorf("calling %s: %w; its last answer had %s", c, cause, last)
	case cause != errLate: //nolint:errorlint // it is never wrapped
		return fmt.Errorf("calling %s: %w", c, cause)
	case last != "":
		err = fmt.Errorf("%s had no result within %s: its last answer had %s", c, p.endpoint.Call, last)
	default:
		err = fmt.Errorf("%s was not answered within %s", c, p.endpoint.Call)
	}
	if c.changes {
		// The look that decides whether to repeat the change comes when it is no longer under way.
		return &providers.RetryAfter{Err: err, In: p.endpoint.Call}
	}
	return err
}

// endsWithPlan returns a context that ends if the plan of a call ends while the call waits for its
// next attempt. An attempt that was sent is not ended.
func endsWithPlan(ctx context.Context, c call) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	plan := providers.PlanOf(ctx)
	stop := context.AfterFunc(plan, func() {
		c.load.ifRests(func() { cancel(context.Cause(plan)) })
	})
	return ctx, func() { stop(); cancel(nil) }
}

// withName adds the name of the provider to an error.
func (p *client) withName(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("provider %s: %w", p.endpoint.Name, err)
}

// capabilities holds the last capabilities of the provider.
type capabilities struct {
	model         lb.Capabilities
	schemas       schemas
	stepsPerApply int
	requestBytes  int
	gzip          bool // requests may be compressed
	etag          string
	at            time.Time // when the call began
}

// known returns the last capabilities.
func (p *client) known() capabilities {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capabilities
}

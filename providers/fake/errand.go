package fake

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// This file finds the target that answers a request. One that does not is no reason to fail while
// there are others: whatever has not been sent is sent to the next, and what may be done twice is,
// as long as there is not a word of an answer.

// errNobody says that a pool has no members.
var errNobody = errors.New("the target group has no targets")

// An errand is one request to a pool, and an http.RoundTripper for it. It is with the member that
// answers until it ends.
type errand struct {
	pool   *pool
	cancel context.CancelFunc // ends the request
	tried  []*member
	with   *member // nil, or the last one that was tried
}

// RoundTrip asks one member after the other, each once.
func (e *errand) RoundTrip(r *http.Request) (*http.Response, error) {
	body := hold(r)
	failed := errNobody
	for {
		e.with = e.pool.pick(e)
		if e.with == nil {
			return nil, failed
		}
		e.tried = append(e.tried, e.with)
		response, err := e.with.transport.RoundTrip(addressed(r, body, e.with))
		if err == nil {
			body.release()
			return response, nil
		}
		e.finish()
		if failed = err; r.Context().Err() != nil || !body.again() || !repeatable(r.Method, err) {
			return nil, err
		}
	}
}

// finish leaves the member that the errand is with.
func (e *errand) finish() {
	if e.with != nil {
		e.with.exit(e)
		e.with = nil
	}
}

// addressed is a request to a member. Whoever was asked before may still be looking at his own.
func addressed(r *http.Request, body *heldBody, m *member) *http.Request {
	to := r.WithContext(r.Context())
	if body != nil {
		to.Body, to.GetBody = &bodyReader{body: body}, body.open
	}
	url := *r.URL
	url.Host = net.JoinHostPort(m.Address, strconv.Itoa(int(m.Port)))
	to.URL = &url
	return to
}

// repeatable reports whether a request that was not answered can be made again: it was not sent, or
// doing it twice is doing it once.
func repeatable(method string, err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" || slices.Contains(idempotent, method)
}

var idempotent = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace}

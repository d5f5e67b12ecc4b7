package fake

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// This file finds the target that answers a request. If one does not answer, the next one is tried:
// always if the request was not sent, and if it is idempotent as long as no part of an answer has
// come.

// errNoTargets is the error of a group without targets.
var errNoTargets = errors.New("the target group has no targets")

// An exchange is one request to a group, and its http.RoundTripper. Until it ends, it counts as a
// request of the member that answers.
type exchange struct {
	Group  *group
	Cancel context.CancelFunc // ends the request
	tried  []*member
	with   *member // the member that was tried last, or nil
}

// RoundTrip tries one member after the other, each once.
func (e *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	body := hold(r)
	failed := errNoTargets
	for {
		e.with = e.Group.pick(e.tried, &e.Cancel)
		if e.with == nil {
			return nil, failed
		}
		e.tried = append(e.tried, e.with)
		response, err := e.with.connections().RoundTrip(requestFor(r, body, e.with))
		if err == nil {
			body.release()
			return response, nil
		}
		e.Finish()
		if failed = err; r.Context().Err() != nil || !body.canReplay() || !canRepeat(r.Method, err) {
			return nil, err
		}
	}
}

// Finish ends the request at its member.
func (e *exchange) Finish() {
	if e.with != nil {
		e.with.exit(&e.Cancel)
		e.with = nil
	}
}

// requestFor returns a copy of the request for a member. An earlier member may still read its own
// copy.
func requestFor(r *http.Request, body *heldBody, m *member) *http.Request {
	to := r.WithContext(r.Context())
	if body != nil {
		to.Body, to.GetBody = &bodyReader{body: body}, body.open
	}
	url := *r.URL
	url.Host = net.JoinHostPort(m.Address, strconv.Itoa(int(m.Port)))
	to.URL = &url
	return to
}

// canRepeat reports whether a request without an answer can be sent again: it was not sent, or it
// is idempotent.
func canRepeat(method string, err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" || slices.Contains(idempotent, method)
}

var idempotent = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete,
	http.MethodOptions, http.MethodTrace}

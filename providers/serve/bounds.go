package serve

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/wire"
)

// This file limits the cost of requests: their number, their length with and without compression,
// and the number of long ones that are read at once.

const (
	mostCalls  = 512      // that are under way
	mostLarge  = 8        // requests longer than small that are read and understood at once
	small      = 64 << 10 // bytes
	waitsForIt = 10 * time.Second
)

type bounds struct {
	calls, large chan struct{} // an element for each call or large request
}

func newBounds() *bounds {
	b := &bounds{calls: make(chan struct{}, mostCalls), large: make(chan struct{}, mostLarge)}
	for range mostCalls {
		b.calls <- struct{}{}
	}
	for range mostLarge {
		b.large <- struct{}{}
	}
	return b
}

// enter begins a call, unless there are too many.
func (b *bounds) enter() (release func(), p *v1.Problem) {
	select {
	case <-b.calls:
		return func() { b.calls <- struct{}{} }, nil
	default:
		return nil, busyProblem(fmt.Sprintf(
			"%d calls are under way, and this provider takes no more at once",
			mostCalls))
	}
}

// busyProblem returns the problem of an overloaded server.
func busyProblem(detail string) *v1.Problem {
	p := wire.NewProblem(v1.ProblemThrottled, detail)
	p.RetryAfterSeconds = 1
	return p
}

// readBody reads the body of a request, which may be compressed. The limit holds for the body with
// and without compression. The caller calls release once it has decoded the body.
func (b *bounds) readBody(
	w http.ResponseWriter, r *http.Request, limit int,
) (body []byte, release func(), p *v1.Problem) {
	from, p := decompressed(http.MaxBytesReader(w, r.Body, int64(limit)),
		r.Header.Values("Content-Encoding"))
	if p != nil {
		return nil, nil, p
	}
	release = func() {}
	body, err := io.ReadAll(io.LimitReader(from, int64(min(small, limit+1))))
	if len(body) == small {
		late := time.NewTimer(waitsForIt)
		defer late.Stop()
		select {
		case <-b.large:
			release = func() { b.large <- struct{}{} }
		case <-late.C:
			return nil, nil, busyProblem("other long requests are being read")
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(from, int64(limit+1-small)))
		body = append(body, rest...)
	}
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) || len(body) > limit {
		release()
		return nil, nil, wire.NewProblem(v1.ProblemTooLarge,
			fmt.Sprintf("the request is longer than %d bytes, which this provider takes at most", limit))
	}
	if err != nil {
		release()
		return nil, nil, malformedProblem("the body of the request cannot be read: %v", err)
	}
	return body, release, nil
}

// decompressed returns a body without its compression.
func decompressed(body io.Reader, encodings []string) (io.Reader, *v1.Problem) {
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, malformedProblem("the body of the request is no gzip: %v", err)
		}
		return unzipped, nil
	default:
		return nil, malformedProblem("the Content-Encoding %q is not known; it can be gzip or none",
			clip(encoding))
	}
}

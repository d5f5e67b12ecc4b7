package fake

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// This file is bodies of requests that can be sent again.

// maxHeld is how much of a body is kept in case that it has to be sent again.
const maxHeld = 64 << 10

// A heldBody is the body of a request, which may be read from its beginning as long as it is whole.
type heldBody struct {
	whole atomic.Bool

	mu     sync.Mutex
	source io.Reader
	kept   []byte // what was read of the source, while it is whole
	end    error  // of the source, once it is there
}

// hold holds the body of a request. It is nil where there is none.
func hold(r *http.Request) *heldBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &heldBody{source: r.Body}
	b.whole.Store(true)
	return b
}

// again reports whether the body can be read once more.
func (b *heldBody) again() bool { return b == nil || b.whole.Load() }

// release keeps no more than is read from now on: whoever reads has an answer.
func (b *heldBody) release() {
	if b != nil {
		b.whole.Store(false)
	}
}

// open reads the body from its beginning. Whoever read it before is to be closed.
func (b *heldBody) open() (io.ReadCloser, error) {
	if !b.again() {
		return nil, errUsedUp
	}
	return &bodyReader{body: b}, nil
}

var errUsedUp = errors.New("the body of the request is used up")

// A bodyReader is one reading of a heldBody.
type bodyReader struct {
	body   *heldBody
	at     int
	closed atomic.Bool
}

func (r *bodyReader) Read(p []byte) (int, error) {
	b := r.body
	b.mu.Lock() // until a reading that was given up has what it waits for, and kept it
	defer b.mu.Unlock()
	switch {
	case r.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case r.at < len(b.kept):
		n := copy(p, b.kept[r.at:])
		r.at += n
		return n, nil
	case b.end != nil:
		return 0, b.end
	}
	n, err := b.source.Read(p)
	b.end = err
	r.at += n
	if b.whole.Load() && len(b.kept)+n > maxHeld {
		b.whole.Store(false)
	}
	if b.whole.Load() {
		b.kept = append(b.kept, p[:n]...)
	}
	return n, err
}

func (r *bodyReader) Close() error {
	r.closed.Store(true) // the source is the server's to close
	return nil
}

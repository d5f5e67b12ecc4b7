package fake

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// This file holds bodies of requests, so that they can be sent again.

// maxHeld is the largest part of a body that is held.
const maxHeld = 64 << 10

// A heldBody is the body of a request. It can be read from its beginning while all that was read of
// it is held.
type heldBody struct {
	whole atomic.Bool

	mu     sync.Mutex
	source io.Reader
	kept   []byte // all that was read of the source, while whole is true
	end    error  // of the source, once it is there
}

// hold holds the body of a request. It returns nil if there is none.
func hold(r *http.Request) *heldBody {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b := &heldBody{source: r.Body}
	b.whole.Store(true)
	return b
}

// canReplay reports whether the body can be read from its beginning.
func (b *heldBody) canReplay() bool { return b == nil || b.whole.Load() }

// release stops holding the body: the request has been answered.
func (b *heldBody) release() {
	if b != nil {
		b.whole.Store(false)
	}
}

// open reads the body from its beginning. The caller closes earlier readers.
func (b *heldBody) open() (io.ReadCloser, error) {
	if !b.canReplay() {
		return nil, errUsedUp
	}
	return &bodyReader{body: b}, nil
}

var errUsedUp = errors.New("the body of the request is used up")

// A bodyReader reads a heldBody once.
type bodyReader struct {
	body   *heldBody
	at     int
	closed atomic.Bool
}

func (r *bodyReader) Read(p []byte) (int, error) {
	b := r.body
	b.mu.Lock() // waits for the read of a reader that was given up
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
	r.closed.Store(true) // the server closes the source
	return nil
}

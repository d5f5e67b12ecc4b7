package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// This file divides logs into chunks of whole lines, which are worked on apart.

// A chunk is lines of a file.
type chunk struct {
	file  int
	first int // the number of its first line
	text  []byte
}

// The sizes of chunks. AWS logs at most 8 KB of User-Agent, and URLs are at most 16 KB
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html),
// so that a line is far shorter than the longest.
const (
	chunkSize   = 1 << 18
	longestLine = 1 << 20
)

var errLong = fmt.Errorf("the line is longer than %d bytes", longestLine)

// A Problem is a line or a file that could not be read. It is left out.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 0 for the file
	Problem string `json:"problem"`
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Problem)
}

// A reader divides one file.
type reader struct {
	file    int
	from    io.Reader
	line    int  // the number of the next line
	skips   bool // the rest of a line that is too long
	give    func(chunk) bool
	problem func(line int, err error)
}

// read gives all chunks of the file. It ends early where a chunk is not taken.
func (r *reader) read() {
	r.line = 1
	var rest []byte // the beginning of a line
	for {
		text, err := r.fill(rest)
		text = r.skip(text)
		end := bytes.LastIndexByte(text, '\n') + 1
		if errors.Is(err, io.EOF) {
			end = len(text)
		}
		rest = bytes.Clone(text[end:]) // the chunk is not the reader's any more once it is given
		if end > 0 {
			lines := bytes.Count(text[:end], []byte("\n"))
			if !r.give(chunk{r.file, r.line, text[:end]}) {
				return
			}
			r.line += lines
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.problem(0, err)
			}
			return
		}
		if len(rest) > longestLine {
			r.problem(r.line, errLong)
			rest, r.skips = nil, true
		}
	}
}

// buffers has the buffers of finished chunks, for reuse.
var buffers = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// done gives the buffer of a chunk back.
func (c chunk) done() {
	if cap(c.text) == chunkSize {
		buffers.Put((*[chunkSize]byte)(c.text[:chunkSize]))
	}
}

// fill returns the beginning of a line with the bytes that follow.
func (r *reader) fill(rest []byte) ([]byte, error) {
	text := buffers.Get().(*[chunkSize]byte)[:]
	if 2*len(rest) > len(text) {
		text = make([]byte, 2*len(rest))
	}
	n := copy(text, rest)
	var err error
	for n < len(text) && err == nil {
		var more int
		more, err = r.from.Read(text[n:])
		n += more
	}
	return text[:n], err
}

// skip leaves out the rest of a line that is too long.
func (r *reader) skip(text []byte) []byte {
	if !r.skips {
		return text
	}
	at := bytes.IndexByte(text, '\n')
	if at < 0 {
		return nil
	}
	r.line, r.skips = r.line+1, false
	return text[at+1:]
}

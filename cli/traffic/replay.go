package traffic

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/accesslog"
	"fairlead.dev/fairlead/model/replay"
)

// This file has all processors replay lines.

// Logs are files with lines.
type Logs struct {
	Files []string
	Stdin io.Reader
	// Since and Until bound the times of the lines that are replayed: from Since on, and before Until.
	// The zero Time bounds nothing.
	Since, Until time.Time
}

// bounded reports whether some lines may be left out for their time.
func (l Logs) bounded() bool { return !l.Since.IsZero() || !l.Until.IsZero() }

// timely reports whether a time is within the bounds.
func (l Logs) timely(at time.Time) bool {
	return !at.Before(l.Since) && (l.Until.IsZero() || at.Before(l.Until))
}

// mostProblems is the limit of listed problems. All are counted.
const mostProblems = 20

// problems has the problems of lines and files, by place.
type problems struct {
	count int64
	first []placed
}

type placed struct {
	replay.Place
	err error
}

func (p *problems) add(at replay.Place, err error) {
	p.count++
	p.keep(placed{at, err})
}

func (p *problems) keep(one placed) {
	p.first = append(p.first, one)
	if len(p.first) > 2*mostProblems {
		p.trim()
	}
}

func (p *problems) trim() {
	slices.SortFunc(p.first, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	p.first = p.first[:min(len(p.first), mostProblems)]
}

// A worker replays the lines of chunks.
type worker struct {
	*replay.Replayer
	problems
	logs Logs
	line accesslog.Line
}

func (w *worker) work(c chunk) {
	at := replay.Place{File: c.file, Line: c.first}
	for rest := c.text; len(rest) > 0; at.Line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(text) == 0 {
			continue
		}
		if err := w.line.Parse(text); err != nil {
			w.add(at, err)
			continue
		}
		if w.logs.bounded() {
			when, err := w.line.At()
			if err != nil {
				w.add(at, err)
				continue
			}
			if !w.logs.timely(when) {
				w.Untimely()
				continue
			}
		}
		w.Replay(&w.line, at)
	}
}

// Replay replays all lines. A line or a file that cannot be read is left out.
func (l Logs) Replay(ctx context.Context, setup *replay.Setup) (Report, error) {
	chunks := make(chan chunk, runtime.GOMAXPROCS(0))
	var unread problems // of files, and of lines that are too long
	var reading, working sync.WaitGroup
	reading.Go(func() { l.readAll(ctx, chunks, &unread) })
	workers := make([]*worker, runtime.GOMAXPROCS(0))
	for i := range workers {
		w := &worker{Replayer: replay.New(setup), logs: l}
		workers[i] = w
		working.Go(func() {
			for c := range chunks {
				w.work(c)
				c.done()
			}
		})
	}
	reading.Wait()
	close(chunks)
	working.Wait()
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	var all []*replay.Replayer
	for _, w := range workers {
		all = append(all, w.Replayer)
		unread.count += w.count
		for _, p := range w.first {
			unread.keep(p)
		}
	}
	unread.trim()
	return l.report(replay.Merge(setup, all, l.names()), unread), nil
}

// names returns the names of the files in reports.
func (l Logs) names() []string {
	var out []string
	for _, file := range l.Files {
		out = append(out, nameOf(file))
	}
	return out
}

// readAll reads all files, several at the same time, and gives their chunks.
func (l Logs) readAll(ctx context.Context, chunks chan<- chunk, unread *problems) {
	next := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(l.Files)) {
		group.Go(func() {
			for file := range next {
				l.readOne(ctx, file, chunks, func(line int, err error) {
					mu.Lock()
					defer mu.Unlock()
					unread.add(replay.Place{File: file, Line: line}, err)
				})
			}
		})
	}
	for file := range l.Files {
		next <- file
	}
	close(next)
	group.Wait()
}

func (l Logs) readOne(
	ctx context.Context, file int, chunks chan<- chunk, problem func(line int, err error),
) {
	from, closer, err := open(l.Files[file], l.Stdin)
	if err != nil {
		problem(0, err)
		return
	}
	r := reader{file: file, from: from, problem: problem, give: func(c chunk) bool {
		select {
		case chunks <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}}
	r.read()
	if err := closer.Close(); err != nil {
		problem(0, err)
	}
}

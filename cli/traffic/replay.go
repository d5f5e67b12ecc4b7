package traffic

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
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
	files map[int]*read
}

// read counts the lines of a file, and has the first one that cannot be read.
type read struct {
	good, bad int64
	first     placed
}

// foreign returns the problem of a file without any line of an Application Load Balancer: it is the
// log of something else, so one problem says it for all lines.
func (r *read) foreign() (placed, bool) {
	return placed{replay.Place{File: r.first.File}, fmt.Errorf("it is no access log of an Application "+
		"Load Balancer: none of its %d lines can be read; line %d: %w", r.bad, r.first.Line,
		r.first.err)}, r.good == 0 && r.bad > 1
}

// of returns the counts of a file.
func (p *problems) of(file int) *read {
	if p.files == nil {
		p.files = map[int]*read{}
	}
	if p.files[file] == nil {
		p.files[file] = &read{}
	}
	return p.files[file]
}

// addLine adds a line that cannot be read.
func (p *problems) addLine(at replay.Place, err error) {
	r := p.of(at.File)
	if r.bad++; r.bad == 1 || at.Line < r.first.Line {
		r.first = placed{at, err}
	}
	p.add(at, err)
}

// merge adds the problems of a worker.
func (p *problems) merge(more problems) {
	p.count += more.count
	for _, one := range more.first {
		p.keep(one)
	}
	for file, r := range more.files {
		sum := p.of(file)
		if r.bad > 0 && (sum.bad == 0 || r.first.Line < sum.first.Line) {
			sum.first = r.first
		}
		sum.good, sum.bad = sum.good+r.good, sum.bad+r.bad
	}
}

// joinForeign replaces the problems of lines of files that are no access logs by one for each file. The
// first problem of another file may have given way to these lines, so it is added anew.
func (p *problems) joinForeign() {
	for _, r := range p.files {
		whole, is := r.foreign()
		if !is {
			if r.bad > 0 && !slices.ContainsFunc(p.first, func(one placed) bool { return one.Place == r.first.Place }) {
				p.keep(r.first)
			}
			continue
		}
		p.first = slices.DeleteFunc(p.first, func(one placed) bool {
			return one.File == whole.File && one.Line > 0
		})
		p.count -= r.bad
		p.add(whole.Place, whole.err)
	}
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
	counts := w.of(c.file)
	for rest := c.text; len(rest) > 0; at.Line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(text) == 0 {
			continue
		}
		if err := w.line.Parse(text); err != nil {
			w.addLine(at, err)
			continue
		}
		counts.good++
		if w.logs.bounded() {
			if when, err := w.line.At(); err != nil || !w.logs.timely(when) {
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
		unread.merge(w.problems)
	}
	unread.joinForeign()
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

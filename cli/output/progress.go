package output

import (
	"fmt"
	"io"
	"time"
)

// This file says on a terminal what a command is at. In a pipe it says nothing.

// patience is how long a command takes before it says what it is at, and then counts on.
const patience = time.Second

// While does something, and says so in one line of a terminal if that takes more than a second. The line is gone afterwards,
// so what is done must not print.
func While(w io.Writer, what string, do func() error) error {
	if !isTerminal(w) {
		return do()
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		const erased = "\r\x1b[K" // to the beginning of the line, whose rest is erased
		start, shown := time.Now(), false
		for {
			select {
			case <-done:
				if shown {
					fmt.Fprint(w, erased)
				}
				return
			case <-time.After(patience):
				fmt.Fprintf(w, "%s%s … %.0f s", erased, what, time.Since(start).Seconds())
				shown = true
			}
		}
	}()
	defer func() {
		close(done)
		<-gone
	}()
	return do()
}

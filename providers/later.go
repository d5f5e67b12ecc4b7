package providers

import (
	"fmt"
	"time"
)

// Later is an error after which a call is to be made again in a while. A provider may say so of any
// error.
type Later struct {
	Err error
	In  time.Duration
}

func (l *Later) Error() string { return fmt.Sprintf("%s (ask again in %s)", l.Err, l.In) }

// Unwrap is the error without the time.
func (l *Later) Unwrap() error { return l.Err }

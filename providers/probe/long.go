package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// This file is about calls that take long.

// accepted are the answers with 202 of a run.
type accepted struct {
	count int
	wrong error // of the first that was wrong
}

// accept looks at an answer with 202.
func (p *probe) accept(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted.count++
	after := a.header.Get("Retry-After")
	switch seconds, err := strconv.Atoi(after); {
	case p.accepted.wrong != nil:
	case a.header.Get("Location") == "":
		p.accepted.wrong = errors.New("an answer with 202 has no Location")
	case err != nil || seconds < 0:
		p.accepted.wrong = fmt.Errorf("the Retry-After of an answer with 202 is %q; it has to be seconds", after)
	}
}

// long is whether what was answered with 202 could be asked for.
var long = trial{
	"provider/long-calls", "an answer of 202 says where and when to ask for the answer", "answer 202 with a Location below /operations/ and with Retry-After in seconds",
	func(p *probe, _ context.Context) error {
		if p.accepted.count == 0 {
			return noted("no call was answered with 202")
		}
		return p.accepted.wrong
	},
}

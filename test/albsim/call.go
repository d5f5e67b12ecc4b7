package albsim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file is every call from the outside: counted, slowed down by token buckets, broken by faults
// where a test asks for it.

// A Call is one API call as the simulator saw it.
type Call struct {
	Service string
	Action  string
	By      string // the access key of the caller
	Write   bool   // it changes something, if it succeeds
	Error   string // the code of the refusal, if it was refused
	At      time.Time
}

func (c Call) String() string { return c.Service + ":" + c.Action }

// A Fault breaks a call. The zero Fault does not.
type Fault int

// The faults there are.
const (
	NoFault     Fault = iota
	Throttled         // refused for its rate, before anything happens
	Unavailable       // failed, before anything happens
	LostBefore        // the connection ends, and nothing has happened
	LostAfter         // the connection ends, and the call was carried out
)

// errLost ends the connection without an answer.
var errLost = errors.New("the connection is lost")

// call carries a call out, unless a bucket is empty or a fault is injected.
func (s *Sim) call(by, service, action string, do handler, decode decoder) (any, error) {
	c := Call{Service: service, Action: action, By: by, Write: writes(action)}
	defer s.takeTime(c)()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller, c.At = by, s.now()
	fault := NoFault
	if s.options.Fault != nil {
		fault = s.options.Fault(c)
	}
	out, err := s.carryOut(c, fault, do, decode)
	var refused *refusal.Error
	if errors.As(err, &refused) {
		c.Error = refused.Code
	}
	s.calls = append(s.calls, c)
	s.after(c)
	if fault == LostBefore || fault == LostAfter {
		return nil, errLost
	}
	return out, err
}

// after tells whoever watches, while the simulator can be asked.
func (s *Sim) after(c Call) {
	if s.options.After != nil {
		s.mu.Unlock()
		defer s.mu.Lock()
		s.options.After(c)
	}
}

func (s *Sim) carryOut(c Call, fault Fault, do handler, decode decoder) (any, error) {
	switch {
	case do == nil:
		return nil, refuse("InvalidAction", "The action %s is not valid for this endpoint.", c.Action)
	case fault == LostBefore:
		return nil, nil
	case fault == Unavailable:
		return nil, &refusal.Error{Code: "ServiceUnavailable", Message: "Service Unavailable", Status: http.StatusServiceUnavailable}
	case fault == Throttled, !s.take(c):
		return nil, refuse(throttling(c.Service), "Rate exceeded")
	}
	deployed := s.advance()
	s.reindex()
	of := s
	if c.Write {
		s.keep()
	} else {
		of = s.seen(c)
	}
	out, err := do(of, decode)
	if s.touched || deployed {
		s.follow()
	}
	if c.Write {
		s.outdate()
	}
	return out, err
}

// throttling is how a service says that there are too many calls.
func throttling(service string) string {
	if service == "acm" {
		return "ThrottlingException"
	}
	return "Throttling"
}

// writes reports whether a call of that name changes something.
func writes(action string) bool {
	for _, prefix := range []string{"Describe", "List", "Get", "Simulate"} {
		if strings.HasPrefix(action, prefix) {
			return false
		}
	}
	return true
}

// A Rate is a token bucket: Burst calls at once, refilled with PerSecond.
type Rate struct {
	Burst     float64
	PerSecond float64
}

// Rates are the buckets of the classes of calls.
type Rates map[string]Rate

// Published are the rates that AWS publishes, and where it says nothing, a careful guess. Of
// Certificate Manager they are in calls of an operation per second
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html); how many it takes at once is
// not said.
func Published() Rates {
	return Rates{
		"targets":  {20, 4},
		"modify":   {20, 3},
		"describe": {200, 50},
		"write":    {20, 3},
		"waf":      {1, 0.5},
		"waf-read": {1, 1},

		"ImportCertificate": {1, 1}, "DeleteCertificate": {10, 10}, "AddTagsToCertificate": {5, 5}, "RemoveTagsFromCertificate": {5, 5},
		"ListCertificates": {8, 8}, "DescribeCertificate": {10, 10}, "GetCertificate": {10, 10}, "ListTagsForCertificate": {10, 10},
	}
}

// classOf is the bucket that a call takes from.
func classOf(c Call) string {
	switch {
	case c.Service == "wafv2" && c.Write:
		return "waf"
	case c.Service == "wafv2":
		return "waf-read"
	case c.Service == "acm":
		return "acm/" + c.Action
	case !c.Write:
		return c.Service + "/describe"
	case strings.HasSuffix(c.Action, "isterTargets"):
		return "targets"
	case strings.HasPrefix(c.Action, "Modify"):
		return c.Service + "/modify"
	}
	return c.Service + "/write"
}

type bucket struct {
	tokens float64
	at     time.Time
}

// take takes a token, if there is one.
func (s *Sim) take(c Call) bool {
	class := classOf(c)
	_, kind, found := strings.Cut(class, "/")
	if !found {
		kind = class
	}
	rate, limited := s.options.Rates[kind]
	if !limited {
		return true
	}
	b, ok := s.buckets[class]
	if !ok {
		b = &bucket{tokens: rate.Burst, at: s.now()}
		s.buckets[class] = b
	}
	b.tokens = min(rate.Burst, b.tokens+s.now().Sub(b.at).Seconds()*rate.PerSecond)
	b.at = s.now()
	if b.tokens < 1-1e-6 { // what rounding loses is nobody's fault
		return false
	}
	b.tokens--
	return true
}

// Calls are the calls since the last Forget, in order.
func (s *Sim) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Forget starts counting anew.
func (s *Sim) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// Cost is how many calls there were, and how many of them were to change something.
func (s *Sim) Cost() (total, write int) {
	for _, c := range s.Calls() {
		total++
		if c.Write {
			write++
		}
	}
	return total, write
}

func (s *Sim) nextRequestID() string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", s.requests.Add(1))
}

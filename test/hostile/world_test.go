package hostile

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/request"
)

// This file is what an expectation can ask of a cluster. The compiler, the command line and the
// operator each answer it in their way.

type world interface {
	// answer is what becomes of a request, as request.Request spells it, or nothing.
	answer(r request.Request) (string, error)
	// told are the diagnostics, as "error HostTaken Ingress bob/b spec.rules[0].host".
	told() ([]string, error)
	// presented are the Secrets with a certificate on a port that fits a host, and "discovered" for
	// those of the cloud.
	presented(port int32, host string) ([]string, error)
	// targets are the addresses that requests for a Service's port are sent to.
	targets(service string) ([]string, error)
	// loadBalancers are the keys of those that there are.
	loadBalancers() ([]string, error)
	// printed is all that is printed.
	printed() (string, error)
}

// nothing is what becomes of a request for a host that no load balancer has anything for.
const nothing = "nothing"

// check holds a world to what has to hold.
func check(t *testing.T, w world, holds []expectation) {
	t.Helper()
	for _, e := range holds {
		got, ok, err := e.holds(w)
		switch {
		case err != nil:
			t.Errorf("%s: %v", e.line, err)
		case !ok:
			t.Errorf("%s: it is %s", e.line, got)
		}
	}
}

// ofOffline checks a case in a world for each of its stages, made of the objects that there are
// then.
func ofOffline(t *testing.T, c *hostile, open func(t *testing.T, of contents) world) {
	t.Helper()
	var there contents
	for _, s := range c.stages {
		there = there.after(s)
		if len(s.holds) > 0 {
			check(t, open(t, there), s.holds)
		}
	}
}

// listed are names as an expectation spells them.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

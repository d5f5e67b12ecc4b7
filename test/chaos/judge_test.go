package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file judges what requests are answered: each is what some accepted version says, and nothing
// else. A request that all accepted versions have a Service for always gets to a pod of it.

// asked are the paths that are asked for.
var asked = []string{"/", "/x", "/api", "/api/y"}

// A judge asks the data plane.
type judge struct {
	*history
	sim   *albsim.Sim
	delay time.Duration // until what was changed is served everywhere

	tally sync.Mutex
	sent  int
	wrong []string
	told  map[string]bool // what was reported already
}

// watch asks every few milliseconds until the test ends.
func (j *judge) watch(t *testing.T) {
	often := time.NewTicker(25 * time.Millisecond)
	t.Cleanup(often.Stop)
	go func() {
		for {
			select {
			case <-often.C:
				j.ask("in between")
			case <-t.Context().Done():
				return
			}
		}
	}()
}

// ask sends each request to each load balancer that was there when everything was last right.
func (j *judge) ask(when string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for group, address := range j.addresses {
		for name := range j.sites {
			for _, path := range asked {
				n++
				if got, may := j.answer(address, name, path), j.may(group, name, path); !j.permits(group, got, may) {
					j.tell(when, fmt.Sprintf("%s%s on the load balancer of group-%d is answered by %q; versions say %q", name, path, group, got, may))
				}
			}
		}
	}
	j.tally.Lock()
	defer j.tally.Unlock()
	j.sent += n
}

const (
	nothing = "" // the service of a request that no version has one for
	refused = "refused"
)

// may are the services that accepted versions lead a request to, and nothing. An Ingress that moves
// is served at its old address, too, for a while, in its newest version.
func (j *judge) may(group int, name, path string) []string {
	out, was := map[string]bool{}, false
	for _, v := range j.sites[name] {
		if was = was || v.group == group; was {
			out[v.leadsTo(path)] = true
		}
		if v.group != group {
			out[nothing] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// permits reports whether an answer is one of those that may be given. Where a version has nothing,
// the pods of the next one may still wait for their first check, and the load balancer may not be
// there if no Ingress asks for it.
func (j *judge) permits(group int, got string, may []string) bool {
	if slices.Contains(may, nothing) && (got == "404" || got == "503" || got == refused && !j.stays(group)) {
		return true
	}
	for _, service := range may {
		if service != nothing && got != "" && !slices.ContainsFunc(strings.Fields(got), func(pod string) bool { return !j.pods[service][pod] }) {
			return true
		}
	}
	return false
}

// answer is what becomes of a request: the pods that it may get to, a status, or that it is
// refused.
func (j *judge) answer(address, name, path string) string {
	a := j.sim.Ask(address, matching.Request{Port: 80, Host: hostOf(name), Path: path, Source: "203.0.113.7"}, matching.Reading{})
	if a.Refused {
		return refused
	}
	var pods []string
	for _, share := range a.Forward {
		pods = append(pods, share.Targets...)
	}
	if len(pods) == 0 || a.Status != 0 {
		return fmt.Sprint(a.Status)
	}
	return strings.Join(pods, " ")
}

// unsettled is what is not exactly as the newest versions say, at the addresses that load balancers
// have now.
func (j *judge) unsettled(addresses map[int]string) (out []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for group, address := range addresses {
		for name, versions := range j.sites {
			v := versions[len(versions)-1]
			for _, path := range asked {
				want := "404"
				if service := v.leadsTo(path); service != nothing && v.group == group {
					want = strings.Join(j.has[service], " ")
				}
				if got := j.answer(address, name, path); got != want {
					out = append(out, fmt.Sprintf("%s%s in group-%d is answered by %q, and is to be by %q", name, path, group, got, want))
				}
			}
		}
		if before := j.addresses[group]; before != "" && before != address && j.stays(group) {
			out = append(out, fmt.Sprintf("the load balancer of group-%d was %s, and is %s", group, before, address))
		}
	}
	slices.Sort(out)
	return out
}

// tell keeps what was answered wrongly, each thing once.
func (j *judge) tell(when, what string) {
	j.tally.Lock()
	defer j.tally.Unlock()
	if !j.told[what] {
		j.told[what] = true
		j.wrong = append(j.wrong, fmt.Sprintf("%s, %s: %s", time.Now().Format(time.StampMilli), when, what))
	}
}

// report fails the test for what was answered wrongly.
func (j *judge) report(t *testing.T) {
	t.Helper()
	j.tally.Lock()
	defer j.tally.Unlock()
	for _, w := range j.wrong {
		t.Error(w)
	}
	j.wrong = nil
}

// count is how many requests were sent.
func (j *judge) count() int {
	j.tally.Lock()
	defer j.tally.Unlock()
	return j.sent
}

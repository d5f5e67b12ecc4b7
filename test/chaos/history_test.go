package chaos

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// This file is the history of the objects: which versions were accepted since everything was last
// right. Until it is so again, each of them may be what the data plane does.

// A site is the version of an Ingress: its group, and where its paths lead.
type site struct {
	group  int
	routes map[string]string // services by path; nil where there is no such Ingress
}

// leadsTo is the service that a request is for; "" for none.
func (s site) leadsTo(path string) string {
	best, service := -1, ""
	for prefix, to := range s.routes {
		under := strings.TrimSuffix(prefix, "/")
		if len(under) > best && (path == under || strings.HasPrefix(path, under+"/")) {
			best, service = len(under), to
		}
	}
	return service
}

// A history is what was accepted.
type history struct {
	mu        sync.Mutex
	sites     map[string][]site          // versions by the name of the Ingress, the newest last
	pods      map[string]map[string]bool // by service: those that it has had
	has       map[string][]string        // by service: those that it has
	addresses map[int]string             // of the load balancers, by group, when everything was last right
}

func newHistory() *history {
	return &history{sites: map[string][]site{}, pods: map[string]map[string]bool{}, has: map[string][]string{}, addresses: map[int]string{}}
}

// accept notes a version that is about to be written: it counts from then on.
func (h *history) accept(name string, s site) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.routes = maps.Clone(s.routes)
	h.sites[name] = append(h.sites[name], s)
}

// withdraw takes back the version that was accepted last.
func (h *history) withdraw(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sites[name] = h.sites[name][:len(h.sites[name])-1]
}

// scale notes the pods that a service is about to have.
func (h *history) scale(service string, pods []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pods[service] == nil {
		h.pods[service] = map[string]bool{}
	}
	for _, p := range pods {
		h.pods[service][p] = true
	}
	h.has[service] = slices.Sorted(slices.Values(pods))
}

// now is the newest version of each Ingress that exists.
func (h *history) now() map[string]site {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest()
}

func (h *history) newest() map[string]site {
	out := map[string]site{}
	for name, versions := range h.sites {
		if last := versions[len(versions)-1]; last.routes != nil {
			out[name] = last
		}
	}
	return out
}

// forget has only the newest versions count from now on, at the addresses that load balancers have.
func (h *history) forget(addresses map[int]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, versions := range h.sites {
		if last := versions[len(versions)-1:]; len(versions) > 1 || last[0].routes != nil {
			h.sites[name] = last
		} else {
			delete(h.sites, name) // it has been gone for a round
		}
	}
	for service, pods := range h.has {
		h.pods[service] = map[string]bool{}
		for _, p := range pods {
			h.pods[service][p] = true
		}
	}
	h.addresses = addresses
}

// stays reports whether each version since everything was last right has an Ingress in the group:
// one at least has been there all the while.
func (h *history) stays(group int) bool {
	for _, versions := range h.sites {
		if !slices.ContainsFunc(versions, func(s site) bool { return s.routes == nil || s.group != group }) {
			return true
		}
	}
	return false
}

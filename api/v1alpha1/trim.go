package v1alpha1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file keeps a LoadBalancer small enough to be stored. What is cut is said: in a count beside
// the list, and of each member whose last good version had to go.

const (
	// MaxDiagnostics is how many diagnostics a report holds.
	MaxDiagnostics = 200
	// MaxSteps is how many steps of a plan it holds.
	MaxSteps = 50
	// MaxHosts is how many bytes the owners of hosts are given.
	MaxHosts = 256 << 10
	// MaxSize is how many bytes of JSON a status may be. An object in etcd can be 1.5 MiB; the rest
	// is for metadata, which notes who wrote each field.
	MaxSize = 1 << 20
)

// Trim cuts the status to what can be stored in size bytes. It cuts the lists, then drops last
// accepted versions, and returns the Ingresses that lost theirs: until they are accepted again they
// have nothing to fall back to. The namespace whose versions take the most bytes loses its largest
// one first, so that large Ingresses of one namespace cost the others nothing.
func (s *LoadBalancerStatus) Trim(size int) ([]string, error) {
	s.OmittedDiagnostics += cut(&s.Diagnostics, MaxDiagnostics)
	s.Memory.Hosts = boundHosts(s.Memory.Hosts, MaxHosts)
	if s.LastPlan != nil {
		s.LastPlan.OmittedSteps += cut(&s.LastPlan.Steps, MaxSteps)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("measuring a report: %w", err)
	}
	excess := len(text) - size
	if excess <= 0 {
		return nil, nil
	}
	namespaces, err := s.Memory.versions()
	if err != nil {
		return nil, err
	}
	var lost []string
	for excess > 0 && len(namespaces) > 0 {
		most := slices.MaxFunc(namespaces, func(a, b *versions) int { return cmp.Compare(a.size, b.size) })
		if len(most.versions) == 0 {
			break
		}
		v := most.versions[0]
		most.versions, most.size = most.versions[1:], most.size-v.size
		// That it is forgotten takes a few bytes more, where its place was.
		excess -= v.size + len(`"lastAccepted":,`) - len(`"forgotten":true,`)
		v.LastAccepted, v.Forgotten = nil, true
		lost = append(lost, v.Ingress)
	}
	return lost, nil
}

// A version is a member with its last accepted version, and how many bytes of JSON that version takes.
type version struct {
	*MemberMemory
	size int
}

// versions are the last accepted versions of a namespace, the largest first, and how many bytes all take.
type versions struct {
	namespace string
	versions  []version
	size      int
}

// versions are those of each namespace, by its name. Of equally large ones the oldest is first, then the first
// by name, so that equal memories are cut equally.
func (m *Memory) versions() ([]*versions, error) {
	by := map[string]*versions{}
	for i := range m.Members {
		member := &m.Members[i]
		if member.LastAccepted == nil {
			continue
		}
		text, err := json.Marshal(member.LastAccepted)
		if err != nil {
			return nil, fmt.Errorf("measuring the last accepted version of %s: %w", member.Ingress, err)
		}
		namespace, _, _ := strings.Cut(member.Ingress, "/")
		if by[namespace] == nil {
			by[namespace] = &versions{namespace: namespace}
		}
		of := by[namespace]
		of.versions, of.size = append(of.versions, version{member, len(text)}), of.size+len(text)
	}
	for _, of := range by {
		slices.SortFunc(of.versions, func(a, b version) int {
			return cmp.Or(cmp.Compare(b.size, a.size), a.LastAccepted.At.Compare(b.LastAccepted.At.Time), cmp.Compare(a.Ingress, b.Ingress))
		})
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *versions) int { return cmp.Compare(a.namespace, b.namespace) }), nil
}

// boundHosts forgets owners of hosts where there are more than fit in size bytes. The namespaces with the
// most lose the surplus, so that a namespace which names thousands of hosts costs the others nothing:
// first hosts that no Ingress names any more, then the last ones by name. Equal lists are cut equally.
func boundHosts(hosts []HostOwner, size int) []HostOwner {
	by, total := map[string][]HostOwner{}, 0
	for _, h := range hosts {
		by[h.Namespace] = append(by[h.Namespace], h)
		total += h.size()
	}
	if total <= size {
		return hosts
	}
	// Namespaces that need less than their share leave the rest of it to the others.
	namespaces, need := slices.Collect(maps.Keys(by)), map[string]int{}
	for namespace, all := range by {
		for _, h := range all {
			need[namespace] += h.size()
		}
	}
	slices.SortFunc(namespaces, func(a, b string) int { return cmp.Or(cmp.Compare(need[a], need[b]), cmp.Compare(a, b)) })
	var kept []HostOwner
	for i, namespace := range namespaces {
		share := size / (len(namespaces) - i)
		for _, h := range namedFirst(by[namespace]) {
			if share -= h.size(); share < 0 {
				break
			}
			kept, size = append(kept, h), size-h.size()
		}
	}
	slices.SortFunc(kept, func(a, b HostOwner) int { return cmp.Compare(a.Host, b.Host) })
	return kept
}

// namedFirst are the hosts that Ingresses name, and behind them the reserved ones.
func namedFirst(hosts []HostOwner) []HostOwner {
	reserved := func(h HostOwner) bool { return h.Until != nil }
	named := slices.DeleteFunc(slices.Clone(hosts), reserved)
	return append(named, slices.DeleteFunc(slices.Clone(hosts), func(h HostOwner) bool { return !reserved(h) })...)
}

// size is about how many bytes of JSON an owner takes.
func (h HostOwner) size() int {
	size := len(`{"host":"","namespace":""},`) + len(h.Host) + len(h.Namespace)
	if h.Until != nil {
		size += len(`,"until":"2006-01-02T15:04:05Z"`)
	}
	if h.Yields {
		size += len(`,"yields":true`)
	}
	return size
}

// cut shortens a list and returns by how much.
func cut[T any](list *[]T, most int) int32 {
	omitted := max(0, len(*list)-most)
	*list = (*list)[:len(*list)-omitted]
	return int32(omitted)
}

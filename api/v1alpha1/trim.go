package v1alpha1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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
	// MaxMembers is how many bytes the names of members are given that a report lists.
	MaxMembers = 64 << 10
	// MaxSize is how many bytes of JSON a status may be. An object in etcd can be 1.5 MiB; the rest
	// is for metadata, which notes who wrote each field.
	MaxSize = 1 << 20
)

// Trim cuts the status to what can be stored in size bytes. It cuts the lists, then drops last
// accepted versions, and returns the Ingresses that lost theirs: until they are accepted again they
// have nothing to fall back to. If that is not enough, what the cloud rejected is forgotten, which is tried
// again then, and after that what members are leaving. The namespace that takes the most bytes loses its
// largest one first, so that large Ingresses of one namespace cost the others nothing. The names of members
// stay: the compiler bounds how many there are.
func (s *LoadBalancerStatus) Trim(size int) ([]string, error) {
	s.OmittedDiagnostics += cut(&s.Diagnostics, MaxDiagnostics)
	s.Memory.Hosts = boundHosts(s.Memory.Hosts, MaxHosts)
	s.Members = s.Members[:fitting(s.Members, MaxMembers)]
	if s.LastPlan != nil {
		s.LastPlan.OmittedSteps += cut(&s.LastPlan.Steps, MaxSteps)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("measuring a report: %w", err)
	}
	excess := len(text) - size
	var lost []string
	for i, part := range dispensable {
		if excess <= 0 {
			break
		}
		dropped, err := s.Memory.drop(part, &excess)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			lost = dropped // versions
		}
	}
	return lost, nil
}

// fitting is how many of some names take no more than so many bytes.
func fitting(names []string, size int) int {
	for i, name := range names {
		if size -= len(name) + len(`"",`); size < 0 {
			return i
		}
	}
	return len(names)
}

// A part is something of what is remembered of a member that can be done without.
type part struct {
	of   func(*MemberMemory) any // nil for nothing
	drop func(*MemberMemory)
	// more is how many bytes it takes besides, and leaves is how many take its place.
	more, leaves int
}

// dispensable are the parts, in the order in which they go.
var dispensable = []part{
	{
		func(m *MemberMemory) any {
			if m.LastAccepted == nil {
				return nil
			}
			return m.LastAccepted
		},
		func(m *MemberMemory) { m.LastAccepted, m.Forgotten = nil, true },
		len(`"lastAccepted":,`), len(`"forgotten":true,`),
	},
	{
		func(m *MemberMemory) any {
			if len(m.Rejections) == 0 {
				return nil
			}
			return m.Rejections
		},
		func(m *MemberMemory) { m.Rejections = nil },
		len(`"rejections":,`), 0,
	},
	{
		func(m *MemberMemory) any {
			if m.Previous == "" {
				return nil
			}
			return append([]string{m.Previous}, m.Earlier...)
		},
		func(m *MemberMemory) { m.Previous, m.Earlier = "", nil },
		len(`"previous":,`), 0,
	},
}

// drop drops a part of members until there is no excess any more, and returns the Ingresses that lost it.
func (m *Memory) drop(p part, excess *int) ([]string, error) {
	namespaces, err := m.holding(p)
	if err != nil {
		return nil, err
	}
	var lost []string
	for *excess > 0 && len(namespaces) > 0 {
		most := slices.MaxFunc(namespaces, func(a, b *holder) int { return cmp.Compare(a.size, b.size) })
		if len(most.held) == 0 {
			break
		}
		h := most.held[0]
		most.held, most.size = most.held[1:], most.size-h.size
		*excess -= h.size + p.more - p.leaves
		p.drop(h.MemberMemory)
		lost = append(lost, h.Ingress)
	}
	return lost, nil
}

// A held is a member with a part, and how many bytes of JSON that takes.
type held struct {
	*MemberMemory
	size int
}

// at is when the version of a member was accepted that it falls back to.
func (h held) at() time.Time {
	if h.LastAccepted == nil {
		return time.Time{}
	}
	return h.LastAccepted.At.Time
}

// A holder is a namespace with its members that have a part, the largest first, and how many bytes all take.
type holder struct {
	namespace string
	held      []held
	size      int
}

// holding are the namespaces, by name. Of equally large parts the one with the oldest version is first, then the first
// by name, so that equal memories are cut equally.
func (m *Memory) holding(p part) ([]*holder, error) {
	by := map[string]*holder{}
	for i := range m.Members {
		member := &m.Members[i]
		value := p.of(member)
		if value == nil {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("measuring what is remembered of %s: %w", member.Ingress, err)
		}
		namespace, _, _ := strings.Cut(member.Ingress, "/")
		if by[namespace] == nil {
			by[namespace] = &holder{namespace: namespace}
		}
		of := by[namespace]
		of.held, of.size = append(of.held, held{member, len(text)}), of.size+len(text)
	}
	for _, of := range by {
		slices.SortFunc(of.held, func(a, b held) int {
			return cmp.Or(cmp.Compare(b.size, a.size), a.at().Compare(b.at()), cmp.Compare(a.Ingress, b.Ingress))
		})
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *holder) int { return cmp.Compare(a.namespace, b.namespace) }), nil
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

package compare

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file divides host names into classes that no table distinguishes.

// A HostClass has the names whose most specific host in the tables is the same, and that fulfil the
// same conditions on the host: of a host itself, of the other names below a wildcard, or, for Any, of
// all other names.
type HostClass struct {
	Host routing.Host
	Name string // one of the class
}

// HostClasses returns the classes of the hosts of tables on a port, and of other hosts. Undecided is
// the reason why there may be more; zero if these are all.
func HostClasses(f *requests.Finder, port int32, others []routing.Host,
	tables ...*precedence.Table) ([]HostClass, requests.Undecided) {
	return hostClasses(f, NewHostSets(), port, others, tables...)
}

// hostClasses is HostClasses for names that further sets divide, too.
func hostClasses(f *requests.Finder, sets *HostSets, port int32, others []routing.Host,
	tables ...*precedence.Table) ([]HostClass, requests.Undecided) {
	known := map[routing.Host]bool{routing.Any: true}
	for _, h := range others {
		known[h] = true
	}
	for _, t := range tables {
		if t == nil {
			continue
		}
		for _, level := range t.Levels(port) {
			known[level.Host] = true
		}
		sets.AddConditions(t, port)
	}
	out := make([]HostClass, 0, len(known))
	for _, h := range slices.SortedFunc(maps.Keys(known), byKind) {
		out = append(out, HostClass{h, nameOf(h, known)})
	}
	if len(sets.conditions) == 0 {
		return out, requests.Undecided{}
	}
	for h := range known {
		sets.AddHost(h)
	}
	seen := map[string]bool{}
	key := func(c HostClass) string { return string(c.Host) + " " + sets.Fulfilled(c.Name) }
	for _, c := range out {
		seen[key(c)] = true
	}
	names, undecided := sets.Names(f)
	for _, name := range names {
		for _, h := range routing.Levels(name) {
			if !known[h] {
				continue
			}
			if c := (HostClass{h, name}); !seen[key(c)] {
				seen[key(c)] = true
				out = append(out, c)
			}
			break
		}
	}
	slices.SortStableFunc(out, func(a, b HostClass) int { return byKind(a.Host, b.Host) })
	return out, undecided
}

// byKind orders precise hosts before wildcards, and Any last.
func byKind(a, b routing.Host) int {
	return cmp.Or(a.Rank()-b.Rank(), cmp.Compare(a, b))
}

// nameOf returns a name whose most specific known host is h.
func nameOf(h routing.Host, known map[routing.Host]bool) string {
	domain := ".example"
	switch {
	case h.Wildcard():
		domain = strings.TrimPrefix(string(h), "*")
	case h != routing.Any:
		return string(h)
	}
	for i := 0; ; i++ {
		name := "any" + strings.Repeat("y", i) + domain
		if h == routing.Any && known[routing.Host("*"+domain)] {
			domain = ".any" + domain
			continue
		}
		if !known[routing.Host(name)] {
			return name
		}
	}
}

// HostSets has sets of host names: hosts, domains, and the conditions of routes on the host.
type HostSets struct {
	exact      map[string]bool
	ends       map[string]bool // what names below a domain end with, or names that fulfil a condition
	conditions []condition
	known      map[string]bool // conditions, by key
	general    bool            // a condition is on more than how names end
}

// A condition is one on the host, and the namespace of its Ingress.
type condition struct {
	routing.Condition
	holds     func(routing.Request) bool
	namespace string
}

// NewHostSets returns no sets.
func NewHostSets() *HostSets {
	return &HostSets{exact: map[string]bool{}, ends: map[string]bool{}, known: map[string]bool{}}
}

// Conditional reports whether there is a condition.
func (s *HostSets) Conditional() bool { return len(s.conditions) > 0 }

// AddHost adds a host.
func (s *HostSets) AddHost(h routing.Host) {
	switch {
	case h.Wildcard():
		s.ends[string(h[1:])] = true
	case h != routing.Any:
		s.exact[string(h)] = true
	}
}

// AddDomain adds the names with any number of labels below a domain.
func (s *HostSets) AddDomain(domain string) { s.ends["."+domain] = true }

// AddConditions adds the conditions of the routes of a table on the host.
func (s *HostSets) AddConditions(t *precedence.Table, port int32) {
	for i := range t.Routes {
		r := &t.Routes[i]
		for _, c := range r.When {
			if c.Field == "host" && slices.Contains(r.Ports, port) {
				s.add(c, r.Owner.Namespace)
			}
		}
	}
}

func (s *HostSets) add(c routing.Condition, namespace string) {
	key := routing.Conditions{c}.Key()
	if s.known[key] {
		return
	}
	s.known[key] = true
	s.conditions = append(s.conditions, condition{c, c.Matcher(), namespace})
	for _, v := range c.Values {
		switch end, star := strings.CutPrefix(v, "*"); {
		case c.Regex || strings.ContainsAny(end, "*?"):
			s.general = true
		case star:
			s.ends[end] = true
		default:
			s.exact[v] = true
		}
	}
}

// Fulfilled is equal for names that fulfil the same conditions.
func (s *HostSets) Fulfilled(name string) string {
	var b strings.Builder
	for i, c := range s.conditions {
		if c.holds(routing.Request{Host: name}) {
			fmt.Fprintf(&b, "%d ", i)
		}
	}
	return b.String()
}

// Names returns names such that each possible name is in the same sets as one of them. Undecided is
// the reason why some may lack; zero if none do.
func (s *HostSets) Names(f *requests.Finder) ([]string, requests.Undecided) {
	if !s.general {
		if names, all := s.namesByEnd(); all {
			return names, requests.Undecided{}
		}
	}
	var sets []requests.HostSet
	for _, name := range slices.Sorted(maps.Keys(s.exact)) {
		sets = append(sets, requests.HostSet{Name: name})
	}
	for _, end := range slices.Sorted(maps.Keys(s.ends)) {
		if end != "" && end[0] == '.' {
			below := regexp.QuoteMeta(end)
			sets = append(sets, requests.HostSet{Expression: "[^.]+" + below},
				requests.HostSet{Expression: ".+" + below})
		}
	}
	for _, c := range s.conditions {
		patterns := make([]string, len(c.Values))
		for i, v := range c.Values {
			if patterns[i] = "(?i:" + v + ")"; !c.Regex {
				patterns[i] = "(?:" + routing.GlobPattern(v) + ")"
			}
		}
		sets = append(sets,
			requests.HostSet{Expression: strings.Join(patterns, "|"), Namespace: c.namespace})
	}
	return f.Names(sets)
}

// namesByEnd returns the names, if all sets are precise names or depend on how names end: which
// these are is decided by the longest of these ends. All is false if a name for an end was not found.
func (s *HostSets) namesByEnd() (names []string, all bool) {
	names = slices.Sorted(maps.Keys(s.exact))
	for _, end := range append(slices.Sorted(maps.Keys(s.ends)), "") {
		if end != "" && end[0] != '.' {
			names = append(names, end) // nothing in place of the star
		}
		for _, front := range []string{"", "any."} {
			name, found := s.nameWithEnd(front, end)
			if !found {
				return nil, false
			}
			names = append(names, name)
		}
	}
	return names, true
}

// nameWithEnd returns a name of which this is the longest end of a set.
func (s *HostSets) nameWithEnd(front, end string) (string, bool) {
	const letters = "yabcdefghijklmnopqrstuvwxz0123456789"
	for i := range 4 * len(letters) {
		name := front + "any" + strings.Repeat(string(letters[i%len(letters)]), i/len(letters)+min(i, 1)) + end
		if !s.exact[name] && s.longestEnd(name) == end {
			return name, true
		}
	}
	return "", false
}

func (s *HostSets) longestEnd(name string) string {
	for i := 1; i < len(name); i++ {
		if s.ends[name[i:]] {
			return name[i:]
		}
	}
	return ""
}

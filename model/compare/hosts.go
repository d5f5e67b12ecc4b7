package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file divides host names into classes that no table distinguishes.

// A HostClass has the names whose most specific host in the tables is the same: a host itself, the
// other names below a wildcard, or, for Any, all other names.
type HostClass struct {
	Host routing.Host
	Name string // one of the class
}

// HostClasses returns the classes of the hosts of tables on a port, and of other hosts.
func HostClasses(port int32, others []routing.Host, tables ...*precedence.Table) []HostClass {
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
	}
	out := make([]HostClass, 0, len(known))
	for _, h := range slices.SortedFunc(maps.Keys(known), byKind) {
		out = append(out, HostClass{h, nameOf(h, known)})
	}
	return out
}

// byKind orders precise hosts before wildcards, and Any last.
func byKind(a, b routing.Host) int {
	kind := func(h routing.Host) int {
		switch {
		case h == routing.Any:
			return 2
		case h.Wildcard():
			return 1
		}
		return 0
	}
	return cmp.Or(kind(a)-kind(b), cmp.Compare(a, b))
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

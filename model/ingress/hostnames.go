package ingress

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file names hosts in messages.

const mostListed = 3 // hosts in one sentence to an owner

// A nameList is a list of names without duplicates, in the order in which they were added.
type nameList struct {
	List []string
	has  map[string]bool
}

func (n *nameList) Add(name string) {
	if n.has[name] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[name], n.List = true, append(n.List, name)
}

func describeClaim(h routing.Host) string {
	if h == routing.Any {
		return "hosts that no rule names"
	}
	return string(h)
}

// listFirst returns the first names of a list, and the number of others.
func listFirst(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func describeHost(h routing.Host) string {
	if h == routing.Any {
		return "what is for no host in particular"
	}
	return "host " + string(h)
}

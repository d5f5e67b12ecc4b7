package ingress

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file names hosts in messages.

const mostListed = 3 // hosts in one sentence to an owner

// A NameList is a list of names without duplicates, in the order in which they were added.
type NameList struct {
	List []string
	has  map[string]bool
}

func (n *NameList) Add(name string) {
	if n.has[name] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[name], n.List = true, append(n.List, name)
}

func DescribeClaim(h routing.Host) string {
	if h == routing.Any {
		return "hosts that no rule names"
	}
	return string(h)
}

// ListFirst returns the first names of a list, and the number of others.
func ListFirst(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

func DescribeHost(h routing.Host) string {
	if h == routing.Any {
		return "what is for no host in particular"
	}
	return "host " + string(h)
}

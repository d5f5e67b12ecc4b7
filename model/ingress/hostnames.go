package ingress

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

const mostListed = 3 // hosts in one sentence to an owner

// A nameList is names, each once, in the order in which they were added.
type nameList struct {
	list []string
	has  map[string]bool
}

func (n *nameList) add(name string) {
	if n.has[name] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[name], n.list = true, append(n.list, name)
}

func describeClaim(h routing.Host) string {
	if h == routing.Any {
		return "hosts that no rule names"
	}
	return string(h)
}

// listed are the first names of a list, and how many more there are.
func listed(names []string) string {
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

package routing

import "strings"

// A Host is the host of an Ingress rule: "" for any, "*.example.com" for exactly one label in
// place of the star, anything else for itself. It is lower-case.
type Host string

// Any is the host of a rule that names none.
const Any Host = ""

// Wildcard reports whether the host starts with the one-label wildcard.
func (h Host) Wildcard() bool { return strings.HasPrefix(string(h), "*.") }

// Parent is the one wildcard that covers a precise host: the star in place of its first label.
// A host of one label has none.
func (h Host) Parent() (Host, bool) {
	label, rest, found := strings.Cut(string(h), ".")
	if !found || label == "" || rest == "" {
		return "", false
	}
	return Host("*." + rest), true
}

// Covers reports whether every name that other stands for is one that h stands for.
func (h Host) Covers(other Host) bool {
	if h == Any || h == other {
		return true
	}
	if !h.Wildcard() || other.Wildcard() {
		return false
	}
	parent, ok := other.Parent()
	return ok && parent == h
}

// Levels are the hosts that stand for a name, most specific first. The host of a request is
// decided on this list before any path is looked at.
func Levels(name string) []Host {
	levels := make([]Host, 0, 3)
	if name != "" && !Host(name).Wildcard() {
		levels = append(levels, Host(name))
		if parent, ok := Host(name).Parent(); ok {
			levels = append(levels, parent)
		}
	}
	return append(levels, Any)
}

package routing

import "strings"

// A Host is the host of an Ingress rule, in lower case: "" for any, "*.example.com" for exactly one
// label in place of the star, or one host name.
type Host string

// Any is the host of a rule without one.
const Any Host = ""

// Wildcard reports whether the host starts with the one-label wildcard.
func (h Host) Wildcard() bool { return strings.HasPrefix(string(h), "*.") }

// Rank orders hosts by kind: precise ones before wildcards, and Any last.
func (h Host) Rank() int {
	switch {
	case h == Any:
		return 2
	case h.Wildcard():
		return 1
	}
	return 0
}

// A ClosedHost is a host that no less specific host answers for on a port. Unless a rule names it, it
// answers 404 there, also where spec.tls lists it.
type ClosedHost struct {
	Host Host
	Port int32
	// GivenUpBy is the namespace that named it last; "" if that is not known.
	GivenUpBy string
}

// Parent returns the wildcard that covers a precise host: with a star in place of its first label.
// A host of one label has none.
func (h Host) Parent() (Host, bool) {
	label, rest, found := strings.Cut(string(h), ".")
	if !found || label == "" || rest == "" {
		return "", false
	}
	return Host("*." + rest), true
}

// Covers reports whether h matches every name that other matches.
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

// Levels returns the hosts that match a name, most specific first. The host of a request is decided
// with this list before any path is compared.
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

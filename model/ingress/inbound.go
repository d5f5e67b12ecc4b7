package ingress

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// This file reads who may connect to a port: ranges of addresses, and lists of ranges that the cloud keeps.
// Nobody in particular is everybody.

// prefixList is what a cloud calls a list of ranges.
var prefixList = regexp.MustCompile(`^pl-[0-9a-f]{8,17}$`)

// parseInbound reads "10.0.0.0/8, 2001:db8::/32, pl-0123456789abcdef0".
func parseInbound(text string) ([]string, error) {
	sources := strings.Split(text, ",")
	for i := range sources {
		sources[i] = strings.TrimSpace(sources[i])
	}
	return sources, checkInbound(sources)
}

// checkInbound refuses what is neither a range of addresses nor a list of them.
func checkInbound(sources []string) error {
	for _, s := range sources {
		if prefixList.MatchString(s) {
			continue
		}
		switch p, err := netip.ParsePrefix(s); {
		case err != nil:
			return fmt.Errorf("%q is neither a range of addresses, as in 10.0.0.0/8, nor a list of them, as in pl-0123456789abcdef0", s)
		case p != p.Masked():
			return fmt.Errorf("%s has more than a range of addresses; it would be %s", s, p.Masked())
		}
	}
	if len(sources) == 0 {
		return errors.New("nobody is listed")
	}
	return nil
}

// inboundOf is sources in canonical form: sorted, each once, and nil for everybody.
func inboundOf(sources []string) []string {
	out := slices.Clone(sources)
	slices.Sort(out)
	out = slices.Compact(out)
	if slices.Contains(out, "0.0.0.0/0") && slices.Contains(out, "::/0") {
		return nil
	}
	return out
}

// admitsMore reports whether somebody may connect who was not asked for.
func admitsMore(given, asked []string) bool {
	if len(given) == 0 {
		return len(asked) > 0
	}
	return len(asked) > 0 && slices.ContainsFunc(given, func(s string) bool { return !within(s, asked) })
}

// within reports whether a source is one of some others, or a part of one.
func within(source string, others []string) bool {
	if slices.Contains(others, source) {
		return true
	}
	p, err := netip.ParsePrefix(source)
	return err == nil && slices.ContainsFunc(others, func(other string) bool {
		o, err := netip.ParsePrefix(other)
		return err == nil && o.Bits() <= p.Bits() && o.Contains(p.Addr())
	})
}

// describeInbound is who may connect, in words.
func describeInbound(sources []string) string {
	if len(sources) == 0 {
		return "everybody"
	}
	return strings.Join(sources, ", ")
}

package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
)

// This file reads which clients may connect to a port: ranges of addresses, and lists of ranges
// that the cloud keeps. Where nothing is listed, all clients may. Sources are compared as the sets
// of addresses that they are: two halves of a range are the range. What is in a list of the cloud
// is not known, so a list lies within itself, and within all addresses.

// prefixList is what a cloud calls a list of ranges.
var prefixList = regexp.MustCompile(`^pl-[0-9a-f]{8,17}$`)

// mostSources is how many ranges and lists one port can have, of a class too.
const mostSources = 50

// itemsOf splits a list at its commas.
func itemsOf(list string) []string {
	items := strings.Split(list, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// parseInbound reads "10.0.0.0/8, 2001:db8::/32, pl-0123456789abcdef0".
func parseInbound(text string) ([]string, error) {
	sources := itemsOf(text)
	return sources, checkInbound(sources)
}

func checkInboundText(text string) error { return checkInbound(itemsOf(text)) }

// checkInbound refuses what is neither a range of addresses nor a list of them.
func checkInbound(sources []string) error {
	for _, s := range sources {
		if prefixList.MatchString(s) {
			continue
		}
		switch p, err := netip.ParsePrefix(s); {
		case err != nil:
			return fmt.Errorf("%s is neither a range of addresses, as in 10.0.0.0/8, nor a list of them, "+
				"as in pl-0123456789abcdef0", diag.Quote(s))
		case p.Addr().Is4In6():
			return fmt.Errorf("%s is a range of IPv4 addresses in the form of IPv6, in which none arrive; "+
				"write it as one of IPv4", s)
		case p != p.Masked():
			return fmt.Errorf("%s has more than a range of addresses; it would be %s", s, p.Masked())
		}
	}
	switch {
	case len(sources) == 0:
		return errors.New("no range is listed")
	case len(sources) > mostSources:
		return fmt.Errorf("%d ranges are listed, and %d are the most that there can be", len(sources),
			mostSources)
	}
	return nil
}

// CanonicalInbound is sources in canonical form: each range as clouds write it, sorted, each once,
// and nil for all clients. EC2 "canonicalizes IPv4 and IPv6 CIDRs" and refuses one that it has in
// another form (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Ipv6Range.html).
func CanonicalInbound(sources []string) []string {
	out := slices.Clone(sources)
	for i, s := range out {
		if p, err := netip.ParsePrefix(s); err == nil {
			out[i] = p.String()
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if setOf(out).everything() {
		return nil
	}
	return out
}

// Within reports whether all clients that some sources admit are among those that others admit.
func Within(sources, others []string) bool { return setOf(others).contains(setOf(sources)) }

// A span is the addresses from the first to the last, of one family.
type span struct{ first, last netip.Addr }

// A sourceSet is which clients sources admit.
type sourceSet struct {
	spans []span   // ascending, none touches the next
	lists []string // of the cloud
}

// allFamilies are all addresses. Those of one family alone are not.
var allFamilies = []string{"0.0.0.0/0", "::/0"}

// setOf is the set of sources that have been checked; of none, which is all clients.
func setOf(sources []string) sourceSet {
	if len(sources) == 0 {
		sources = allFamilies
	}
	var set sourceSet
	for _, s := range sources {
		if p, err := netip.ParsePrefix(s); err == nil {
			set.spans = append(set.spans, spanOf(p))
		} else {
			set.lists = append(set.lists, s)
		}
	}
	// IPv4 before IPv6
	slices.SortFunc(set.spans, func(a, b span) int { return a.first.Compare(b.first) })
	merged := set.spans[:0]
	for _, s := range set.spans {
		if n := len(merged); n > 0 && merged[n-1].reaches(s) {
			if merged[n-1].last.Less(s.last) {
				merged[n-1].last = s.last
			}
			continue
		}
		merged = append(merged, s)
	}
	set.spans = merged
	return set
}

// spanOf is a range from its first to its last address.
func spanOf(p netip.Prefix) span {
	p = p.Masked()
	last := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(last); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return span{p.Addr(), end}
}

// reaches reports whether a span that does not begin before this one overlaps it or begins right
// behind it.
func (s span) reaches(next span) bool {
	if s.last.BitLen() != next.first.BitLen() {
		return false
	}
	behind := s.last.Next()
	return !behind.IsValid() || !behind.Less(next.first)
}

// everything reports whether all clients are in the set.
func (s sourceSet) everything() bool { return s.containsSpans(setOf(nil)) }

func (s sourceSet) contains(o sourceSet) bool {
	if s.everything() {
		return true
	}
	return s.containsSpans(o) && !slices.ContainsFunc(o.lists, func(list string) bool {
		return !slices.Contains(s.lists, list)
	})
}

func (s sourceSet) containsSpans(o sourceSet) bool {
	for _, inner := range o.spans {
		if !slices.ContainsFunc(s.spans, func(outer span) bool {
			return outer.first.BitLen() == inner.first.BitLen() && !inner.first.Less(outer.first) &&
				!outer.last.Less(inner.last)
		}) {
			return false
		}
	}
	return true
}

// DescribeInbound lists the clients that may connect, in words.
func DescribeInbound(sources []string) string {
	if len(sources) == 0 {
		return "all clients"
	}
	return strings.Join(sources, ", ")
}

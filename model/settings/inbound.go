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

// This file reads which clients may connect to a port: address ranges, and prefix lists of the
// cloud. An empty list permits all clients. Sources are compared as sets of addresses: two halves
// of a range equal the range. The contents of a prefix list are not known, so it is contained only
// in itself and in all addresses.

// prefixList matches the IDs of prefix lists.
var prefixList = regexp.MustCompile(`^pl-[0-9a-f]{8,17}$`)

// mostSources is the most ranges and lists of one port, also of a class.
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

// checkInbound refuses sources that are neither address ranges nor prefix lists.
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

// CanonicalInbound returns sources in canonical form: each range as clouds write it, sorted,
// without duplicates, and nil for all clients. EC2 "canonicalizes IPv4 and IPv6 CIDRs" and refuses
// one that it has in another form
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Ipv6Range.html).
func CanonicalInbound(sources []string) []string {
	out := slices.Clone(sources)
	for i, s := range out {
		if p, err := netip.ParsePrefix(s); err == nil {
			out[i] = p.String()
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if setOf(out).containsAll() {
		return nil
	}
	return out
}

// Within reports whether others admit all clients that sources admit.
func Within(sources, others []string) bool { return setOf(others).contains(setOf(sources)) }

// A span has the addresses of one family from the first to the last.
type span struct{ first, last netip.Addr }

// A sourceSet is the set of clients that sources admit.
type sourceSet struct {
	spans []span   // ascending, none touches the next
	lists []string // of the cloud
}

// allFamilies has all addresses, which needs both families.
var allFamilies = []string{"0.0.0.0/0", "::/0"}

// setOf returns the set of valid sources; without any, it has all clients.
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

// spanOf returns a range as a span.
func spanOf(p netip.Prefix) span {
	p = p.Masked()
	last := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(last); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return span{p.Addr(), end}
}

// reaches reports whether next, which does not begin before s, overlaps s or begins right after it.
func (s span) reaches(next span) bool {
	if s.last.BitLen() != next.first.BitLen() {
		return false
	}
	behind := s.last.Next()
	return !behind.IsValid() || !behind.Less(next.first)
}

// containsAll reports whether the set has all clients.
func (s sourceSet) containsAll() bool { return s.containsSpans(setOf(nil)) }

func (s sourceSet) contains(o sourceSet) bool {
	if s.containsAll() {
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

// DescribeInbound describes the clients that may connect.
func DescribeInbound(sources []string) string {
	if len(sources) == 0 {
		return "all clients"
	}
	return strings.Join(sources, ", ")
}

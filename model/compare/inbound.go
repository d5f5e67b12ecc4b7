package compare

import (
	"net/netip"
	"slices"
)

// This file compares address ranges.

// inbound compares the clients that may connect. An empty list has all clients.
func inbound(before, after []string) Protection {
	more, fewer := admitsMore(before, after), admitsMore(after, before)
	switch {
	case more:
		return Less
	case fewer:
		return More
	}
	return Same
}

// Within reports whether all addresses of ranges are in others. An empty list has all addresses.
func Within(ranges, others []string) bool { return !admitsMore(others, ranges) }

// admitsMore reports whether after admits an address that before does not. Of a prefix list, only
// the name is known.
func admitsMore(before, after []string) bool {
	switch {
	case len(before) == 0:
		return false
	case len(after) == 0:
		after = []string{"0.0.0.0/0", "::/0"}
	}
	covered := map[bool][]netip.Prefix{}
	for _, text := range before {
		if p, err := netip.ParsePrefix(text); err == nil {
			covered[p.Addr().Is4()] = append(covered[p.Addr().Is4()], p.Masked())
		}
	}
	return slices.ContainsFunc(after, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return !slices.Contains(before, text)
		}
		return !covers(covered[p.Addr().Is4()], p.Masked())
	})
}

// covers reports whether ranges together contain a range. Ranges are nested or disjoint, so one
// contains it, or each of its halves is covered.
func covers(some []netip.Prefix, p netip.Prefix) bool {
	holds := func(s netip.Prefix) bool { return s.Bits() <= p.Bits() && s.Contains(p.Addr()) }
	if slices.ContainsFunc(some, holds) {
		return true
	}
	if !slices.ContainsFunc(some, func(s netip.Prefix) bool { return p.Contains(s.Addr()) }) {
		return false // no range is in either half
	}
	low, high := halves(p)
	return covers(some, low) && covers(some, high)
}

// halves returns the two halves of a range.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bytes := p.Addr().AsSlice()
	bytes[p.Bits()/8] |= 1 << (7 - p.Bits()%8)
	middle, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(middle, p.Bits()+1)
}

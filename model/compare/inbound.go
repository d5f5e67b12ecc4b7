package compare

import (
	"net/netip"
	"slices"
)

// This file compares ranges of addresses.

// inbound compares which clients may connect. No ranges stand for all clients.
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

// Within reports whether all addresses of some ranges are in others. No ranges stand for all
// addresses.
func Within(ranges, others []string) bool { return !admitsMore(others, ranges) }

// admitsMore reports whether after admits an address that before does not. Of a list of addresses
// that the cloud keeps under a name, only the name is known.
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

// covers reports whether some ranges together hold a whole range. Ranges are nested or disjoint, so
// one holds it, or each of its halves is held.
func covers(some []netip.Prefix, p netip.Prefix) bool {
	holds := func(s netip.Prefix) bool { return s.Bits() <= p.Bits() && s.Contains(p.Addr()) }
	if slices.ContainsFunc(some, holds) {
		return true
	}
	if !slices.ContainsFunc(some, func(s netip.Prefix) bool { return p.Contains(s.Addr()) }) {
		return false // neither half has anything
	}
	low, high := halves(p)
	return covers(some, low) && covers(some, high)
}

// halves are the two ranges that a range consists of.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	bytes := p.Addr().AsSlice()
	bytes[p.Bits()/8] |= 1 << (7 - p.Bits()%8)
	middle, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(middle, p.Bits()+1)
}

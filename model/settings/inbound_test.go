package settings

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

func TestSourcesAreComparedAsSets(t *testing.T) {
	list := "pl-0123456789abcdef0"
	cases := map[string]struct {
		sources, others []string
		want            bool
	}{
		"all within all":                             {nil, nil, true},
		"all in other words":                         {nil, []string{"::/0", "0.0.0.0/1", "128.0.0.0/1"}, true},
		"all are not within IPv4":                    {nil, []string{"0.0.0.0/0"}, false},
		"nor within IPv6":                            {nil, []string{"::/0"}, false},
		"IPv4 within all":                            {[]string{"0.0.0.0/0"}, nil, true},
		"a range within itself":                      {[]string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}, true},
		"a part":                                     {[]string{"10.1.0.0/16"}, []string{"10.0.0.0/8"}, true},
		"a whole within a part":                      {[]string{"10.0.0.0/8"}, []string{"10.1.0.0/16"}, false},
		"a range within its halves":                  {[]string{"10.0.0.0/24"}, []string{"10.0.0.128/25", "10.0.0.0/25"}, true},
		"a range within its halves but for a gap":    {[]string{"10.0.0.0/24"}, []string{"10.0.0.128/25", "10.0.0.0/26"}, false},
		"what lies in both of two that touch":        {[]string{"10.0.0.64/26", "10.0.0.128/26"}, []string{"10.0.0.0/25", "10.0.0.128/25"}, true},
		"IPv6 within its halves":                     {[]string{"2001:db8::/32"}, []string{"2001:db8::/33", "2001:db8:8000::/33"}, true},
		"the last addresses":                         {[]string{"255.255.255.255/32"}, []string{"255.0.0.0/8"}, true},
		"the last of IPv4 and the first of IPv6":     {[]string{"::/128"}, []string{"255.255.255.255/32"}, false},
		"IPv4 is no part of IPv6":                    {[]string{"10.0.0.0/8"}, []string{"::/0"}, false},
		"a list within itself":                       {[]string{list}, []string{"10.0.0.0/8", list}, true},
		"a list within another one":                  {[]string{list}, []string{"pl-11111111"}, false},
		"a list within all":                          {[]string{list}, nil, true},
		"a list within IPv4":                         {[]string{list}, []string{"0.0.0.0/0"}, false},
		"a range within a list, whatever that holds": {[]string{"10.0.0.0/8"}, []string{list}, false},
		"all within a list":                          {nil, []string{list}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Within(c.sources, c.others); got != c.want {
				t.Errorf("%v within %v: %t, want %t", c.sources, c.others, got, c.want)
			}
		})
	}
}

// TestSetsAreWhatTheirAddressesAre compares all pairs of lists of two ranges of eight addresses
// with what each address says.
func TestSetsAreWhatTheirAddressesAre(t *testing.T) {
	var ranges []string
	for bits := 29; bits <= 32; bits++ {
		for first := 0; first < 8; first += 1 << (32 - bits) {
			ranges = append(ranges, fmt.Sprintf("192.0.2.%d/%d", first, bits))
		}
	}
	var lists [][]string
	for i, a := range ranges {
		for _, b := range ranges[i:] {
			lists = append(lists, []string{a, b})
		}
	}
	admitted := func(list []string) (out [8]bool) {
		for i := range out {
			out[i] = slices.ContainsFunc(list, func(r string) bool {
				return netip.MustParsePrefix(r).Contains(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
			})
		}
		return out
	}
	for _, a := range lists {
		for _, b := range lists {
			want, of := true, admitted(b)
			for i, yes := range admitted(a) {
				want = want && (!yes || of[i])
			}
			if got := Within(a, b); got != want {
				t.Fatalf("%v within %v: %t, want %t", a, b, got, want)
			}
		}
	}
}

func TestRangesInTheFormOfTheOtherFamilyAreRefused(t *testing.T) {
	for _, text := range []string{"::ffff:10.0.0.0/104", "::ffff:a00:1/128"} {
		if _, err := parseInbound(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

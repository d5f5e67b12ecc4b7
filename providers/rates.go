package providers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file limits the rate of calls.

// A Rate is a number of calls a second, and the burst after a time with fewer calls.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Rates holds the rates of classes of calls, by name. The text form is "read=50/200,write=3/20".
type Rates map[string]Rate

// MarshalText implements encoding.TextMarshaler.
func (r Rates) MarshalText() ([]byte, error) {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s=%s/%d", class,
			strconv.FormatFloat(r[class].PerSecond, 'f', -1, 64), r[class].Burst))
	}
	return []byte(strings.Join(parts, ",")), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rates) UnmarshalText(text []byte) error {
	out := Rates{}
	for part := range strings.SplitSeq(string(text), ",") {
		if part == "" {
			continue
		}
		class, said, _ := strings.Cut(part, "=")
		often, burst, _ := strings.Cut(said, "/")
		rate := Rate{}
		var err, err2 error
		rate.PerSecond, err = strconv.ParseFloat(often, 64)
		rate.Burst, err2 = strconv.Atoi(burst)
		inRange := rate.PerSecond > 0 && rate.PerSecond <= 1e6 && rate.Burst >= 1
		if err != nil || err2 != nil || class == "" || !inRange {
			return fmt.Errorf("%q is no rate: "+
				"it has to read like write=3/20, for 3 calls a second and 20 at once", part)
		}
		out[class] = rate
	}
	*r = out
	return nil
}

// With returns the rates with some replaced. An unknown class is an error.
func (r Rates) With(other Rates) (Rates, error) {
	out := maps.Clone(r)
	for class, rate := range other {
		if _, known := r[class]; !known {
			return nil, fmt.Errorf("no class of calls is named %q: there are %s", class,
				strings.Join(slices.Sorted(maps.Keys(r)), ", "))
		}
		out[class] = rate
	}
	return out, nil
}

package providers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file is how fast a cloud may be asked.

// A Rate is so many calls a second, and Burst at once where there were fewer before.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Rates are those of classes of calls, each by its name. As text they read
// "read=50/200,write=3/20".
type Rates map[string]Rate

// MarshalText writes what UnmarshalText reads.
func (r Rates) MarshalText() ([]byte, error) {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s=%s/%d", class, strconv.FormatFloat(r[class].PerSecond, 'f', -1, 64), r[class].Burst))
	}
	return []byte(strings.Join(parts, ",")), nil
}

// UnmarshalText reads rates.
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
		if err != nil || err2 != nil || class == "" || !(rate.PerSecond > 0 && rate.PerSecond <= 1e6) || rate.Burst < 1 {
			return fmt.Errorf("%q is no rate: it has to read like write=3/20, for 3 calls a second and 20 at once", part)
		}
		out[class] = rate
	}
	*r = out
	return nil
}

// With are the rates with some replaced. A class that is not among them is a mistake.
func (r Rates) With(other Rates) (Rates, error) {
	out := maps.Clone(r)
	for class, rate := range other {
		if _, known := r[class]; !known {
			return nil, fmt.Errorf("no class of calls is named %q: there are %s", class, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
		}
		out[class] = rate
	}
	return out, nil
}

package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/providers/clouds"
)

// This file holds the clouds of the binary.

// Clouds are the clouds of the binary, by the name that --provider gives them.
type Clouds map[string]clouds.Cloud

// NamesOf returns the sorted names of the clouds for which can returns true.
func (c Clouds) NamesOf(can func(clouds.Cloud) bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if can(c[name]) {
			out = append(out, name)
		}
	}
	return out
}

// Compiles reports whether the compiler supports a cloud.
func Compiles(c clouds.Cloud) bool { return c.Offline != nil }

// Serves reports whether a cloud has load balancers for clusters.
func Serves(c clouds.Cloud) bool { return c.Live != nil }

// Checks reports whether a cloud can be checked before it is used.
func Checks(c clouds.Cloud) bool { return c.Check != nil }

// Demonstrates reports whether a cloud can be opened on this machine.
func Demonstrates(c clouds.Cloud) bool { return c.Local != nil }

// defaultName returns the default of --provider.
func (c Clouds) defaultName() []string {
	return c.NamesOf(func(c clouds.Cloud) bool { return c.Default })
}

// Flags adds the settings of all clouds.
func (c Clouds) Flags(flags *pflag.FlagSet) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if add := c[name].Flags; add != nil {
			add(flags)
		}
	}
}

// Has reports whether a setting belongs to a cloud: its name begins with the name of the cloud.
func (c Clouds) Has(setting string) bool {
	cloud, _, of := strings.Cut(setting, "-")
	_, is := c[cloud]
	return of && is
}

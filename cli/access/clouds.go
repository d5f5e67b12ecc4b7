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

// Only returns the clouds for which can returns true.
func (c Clouds) Only(can func(clouds.Cloud) bool) Clouds {
	out := maps.Clone(c)
	maps.DeleteFunc(out, func(_ string, cloud clouds.Cloud) bool { return !can(cloud) })
	return out
}

// NamesOf returns the sorted names of the clouds for which can returns true.
func (c Clouds) NamesOf(can func(clouds.Cloud) bool) []string {
	return slices.Sorted(maps.Keys(c.Only(can)))
}

// Compiles reports whether the compiler supports a cloud.
func Compiles(c clouds.Cloud) bool { return c.Offline != nil }

// Serves reports whether a cloud has load balancers for clusters.
func Serves(c clouds.Cloud) bool { return c.Live != nil }

// Checks reports whether a cloud can be checked before it is used.
func Checks(c clouds.Cloud) bool { return c.Check != nil }

// Demonstrates reports whether a cloud can be opened on this machine.
func Demonstrates(c clouds.Cloud) bool { return c.Local != nil }

// Adopts reports whether a cloud takes load balancers over.
func Adopts(c clouds.Cloud) bool { return c.Adopts }

// defaultName returns the default of --provider: a cloud that is one, or the only cloud. Without either, the flag is required.
func (c Clouds) defaultName() []string {
	if len(c) == 1 {
		return slices.Collect(maps.Keys(c))
	}
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

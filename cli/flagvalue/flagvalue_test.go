package flagvalue

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// Each type of flag takes good values, prints them as it keeps them, and refuses bad ones without a
// change.
func TestFlagsCheckTheirValues(t *testing.T) {
	for name, c := range map[string]struct {
		flag  pflag.Value
		takes map[string]string // what it prints then
		bad   []string
	}{
		"list":     {List(new([]string)), map[string]string{"a": "a", "a, b,,": "a,b", "": ""}, nil},
		"choice":   {OneOf(new(string), "a", "a", "b"), map[string]string{"b": "b"}, []string{"", "c", "A"}},
		"duration": {Positive(new(time.Duration), time.Second), map[string]string{"90s": "1m30s"}, []string{"", "0s", "-1s", "5"}},
		"count":    {AtLeastOne(new(int), 1), map[string]string{"3": "3"}, []string{"", "0", "-1", "1.5"}},
		"rate":     {Rate(new(float64)), map[string]string{"0.5": "0.5", "0": "0"}, []string{"", "-1", "NaN", "Inf", "a"}},
		"class": {
			ClassName(new(string), "fairlead"),
			map[string]string{"true": "fairlead", "edge": "edge", "false": "", "": ""}, []string{"Edge", "a b"},
		},
		"class that has to be named": {
			ClassName(new(string), ""), map[string]string{"edge": "edge", "false": ""}, []string{"true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for value, printed := range c.takes {
				if err := c.flag.Set(value); err != nil || c.flag.String() != printed {
					t.Errorf("%q: %q, %v; want %q", value, c.flag, err, printed)
				}
			}
			before := c.flag.String()
			for _, value := range c.bad {
				if c.flag.Set(value) == nil || c.flag.String() != before {
					t.Errorf("%q is accepted, or changes %q to %q", value, before, c.flag)
				}
			}
		})
	}
}

// pflag asks for the text of the zero value of a type, to find out whether a flag has its default.
func TestZeroValuesHaveATextOfTheirOwn(t *testing.T) {
	for _, zero := range []pflag.Value{Choice{}, checked[time.Duration]{}} {
		if zero.String() != "" {
			t.Errorf("%T prints %q", zero, zero)
		}
	}
}

func TestNamesAreProse(t *testing.T) {
	for want, values := range map[string][]string{
		"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"},
	} {
		if got := Names(values); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

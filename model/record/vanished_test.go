package record

import (
	"testing"
	"time"
)

func TestHowLongAVanishedIngressStays(t *testing.T) {
	const grace = 10 * time.Minute
	for name, c := range map[string]struct {
		v     Vanishing
		stays bool
	}{
		"at once":                    {Vanishing{}, true},
		"just before the grace ends": {Vanishing{For: grace - 1}, true},
		"the grace is over":          {Vanishing{For: grace}, false},
		"many vanished":              {Vanishing{For: 100 * grace, Unconfirmed: true}, true},
		"it is confirmed":            {Vanishing{For: time.Second, Unconfirmed: true, Confirmed: true}, false},
		"confirmed before the grace": {Vanishing{For: time.Second, Confirmed: true}, false},
	} {
		if got := c.v.Stays(grace); got != c.stays {
			t.Errorf("%s: it stays: %v", name, got)
		}
	}
}

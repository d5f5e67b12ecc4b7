package memory

import (
	"testing"
	"time"
)

func TestHowManyVanishTogether(t *testing.T) {
	for _, c := range []struct {
		absence Absence
		grave   bool
	}{
		{Absence{Vanished: 0, Members: 0}, false},
		{Absence{Vanished: 0, Members: 1}, false},
		{Absence{Vanished: 1, Members: 1}, false}, // one is for the grace alone, even where it is all that there is
		{Absence{Vanished: 1, Members: 2}, false},
		{Absence{Vanished: 2, Members: 2}, true},
		{Absence{Vanished: 2, Members: 5}, true},
		{Absence{Vanished: 2, Members: 6}, false},
		{Absence{Vanished: 3, Members: 8}, true},
		{Absence{Vanished: 3, Members: 9}, false},
		{Absence{Vanished: 4, Members: 1000}, true},
		{Absence{Vanished: 1000, Members: 1000}, true},
	} {
		if got := c.absence.Grave(); got != c.grave {
			t.Errorf("%d of %d: grave is %v", c.absence.Vanished, c.absence.Members, got)
		}
	}
}

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

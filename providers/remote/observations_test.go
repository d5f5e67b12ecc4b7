package remote

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
)

func TestObservationsThatAreKept(t *testing.T) {
	there, gone := &lb.Observed{Exists: true}, &lb.Observed{}
	for name, c := range map[string]struct {
		seen observation
		kept bool
	}{
		"there":              {observation{`"2"`, there}, true},
		"without a tag":      {observation{"", there}, false},
		"not there":          {observation{`"2"`, gone}, false},
		"neither of the two": {observation{"", gone}, false},
	} {
		var o observations
		o.keep("key", true, observation{`"1"`, there})
		o.keep("key", true, c.seen)
		want := observation{}
		if c.kept {
			want = c.seen
		}
		if got := o.of("key", true); got != want {
			t.Errorf("%s: %v is kept, want %v", name, got, want)
		}
		if got := o.of("key", false); got != (observation{}) {
			t.Errorf("%s: %v is kept of another depth", name, got)
		}
	}
}

func TestObservationsAreLimited(t *testing.T) {
	var o observations
	for n := range mostObservations + 5 {
		key := lb.Key(fmt.Sprintf("fairlead/ns/%d/internal", n))
		seen := observation{string(key), &lb.Observed{Key: key, Exists: true}}
		o.keep(key, false, seen)
		if got := o.of(key, false); got != seen {
			t.Fatalf("the last one is not kept, but %v", got)
		}
		if len(o.last) != min(n+1, mostObservations) {
			t.Fatalf("of %d observations, %d are kept", n+1, len(o.last))
		}
	}
}

package disputes

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

const key = lb.Key("fairlead/shop/web/internal")

// A change that is undone twice in a row is left, each time for longer.
func TestWhatIsUndoneTwiceIsLeft(t *testing.T) {
	a, b, both := []string{"create rule 80/1"}, []string{"modify listener 80"}, []string{"modify listener 80", "create rule 80/1"}
	cases := map[string]struct {
		found [][]string // by one look after the other, each an hour after the wait before it
		waits []time.Duration
	}{
		"once":                         {[][]string{a}, []time.Duration{0}},
		"twice":                        {[][]string{a, a}, []time.Duration{0, 10 * time.Minute}},
		"something else":               {[][]string{a, b}, []time.Duration{0, 0}},
		"the same with something else": {[][]string{a, both}, []time.Duration{0, 10 * time.Minute}},
		"not in a row":                 {[][]string{a, nil, a}, []time.Duration{0, 0, 0}},
		"again and again":              {[][]string{a, a, a, a, a}, []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute}},
		"until it ends":                {[][]string{a, a, nil, a}, []time.Duration{0, 10 * time.Minute, 0, 0}},
		"no more than the longest wait": {[][]string{a, a, a, a, a, a, a, a, a, a}, []time.Duration{
			0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute, 320 * time.Minute, 10 * time.Hour, 10 * time.Hour, 10 * time.Hour,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var d Disputes
			now := time.Unix(0, 0)
			for i, undone := range c.found {
				d.Add(lb.GroupKey{Key: key}, undone, now)
				if left := d.Left(lb.GroupKey{Key: key}, now); left != c.waits[i] {
					t.Errorf("after look %d it is left for %s, want %s", i, left, c.waits[i])
				}
				if open := d.First(key, now); (open != nil) != (c.waits[i] > 0) {
					t.Errorf("after look %d the dispute is %v", i, open)
				}
				now = now.Add(c.waits[i] + time.Hour)
				if d.First(key, now) != nil {
					t.Errorf("after look %d it never ends", i)
				}
			}
			d.Forget(key)
			if len(d.of) > 0 {
				t.Errorf("what is left is %v", d.of)
			}
		})
	}
}

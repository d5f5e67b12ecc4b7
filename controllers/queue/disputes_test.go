package queue

import (
	"strings"
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
				if left := d.Add(lb.GroupKey{Key: key}, undone, now); left != (c.waits[i] > 0) {
					t.Errorf("look %d leaves it: %t", i, left)
				}
				if left := d.TimeLeft(lb.GroupKey{Key: key}, now); left != c.waits[i] {
					t.Errorf("after look %d it is left for %s, want %s", i, left, c.waits[i])
				}
				if open := d.FirstToEnd(key, now); (open != nil) != (c.waits[i] > 0) {
					t.Errorf("after look %d the dispute is %v", i, open)
				}
				now = now.Add(c.waits[i] + time.Hour)
				if d.FirstToEnd(key, now) != nil {
					t.Errorf("after look %d it never ends", i)
				}
			}
			d.Forget(key)
			if len(d.byKey) > 0 {
				t.Errorf("what is left is %v", d.byKey)
			}
		})
	}
}

// A load balancer has the disputes about itself and about its target groups, and none of another
// load balancer. That about itself is reported first, and all of them are forgotten together.
func TestTheDisputesOfALoadBalancer(t *testing.T) {
	const other = lb.Key("fairlead/shop/other/internal")
	undone := []string{"register 10.0.0.1"}
	self, group, others := lb.GroupKey{Key: key}, lb.GroupKey{Key: key, ID: "web"}, lb.GroupKey{Key: other}
	began := time.Unix(0, 0)
	for name, c := range map[string]struct {
		begin map[lb.GroupKey]time.Duration // when each is undone a second time
		want  time.Duration                 // when the first is over; 0 for none
	}{
		"another's":              {map[lb.GroupKey]time.Duration{others: time.Minute}, 0},
		"a target group's":       {map[lb.GroupKey]time.Duration{group: time.Minute}, 11 * time.Minute},
		"its own first":          {map[lb.GroupKey]time.Duration{self: time.Minute, group: 2 * time.Minute}, 11 * time.Minute},
		"a target group's first": {map[lb.GroupKey]time.Duration{self: 2 * time.Minute, group: time.Minute, others: 0}, 12 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // the order of a map is another each time
				var d Disputes
				for k, at := range c.begin {
					d.Add(k, undone, began)
					d.Add(k, undone, began.Add(at))
				}
				first := d.FirstToEnd(key, began.Add(3*time.Minute))
				if (first != nil) != (c.want > 0) || first != nil && !first.Until.Equal(began.Add(c.want)) {
					t.Fatalf("the first is %v, want one that ends after %s", first, c.want)
				}
				if _, own := c.begin[self]; first != nil && first.OfTargets == own {
					t.Fatalf("it is about targets: %t", first.OfTargets)
				}
				d.Forget(key)
				if d.FirstToEnd(key, began) != nil || d.TimeLeft(others, began) > 0 != (len(d.byKey) > 0) {
					t.Fatalf("what is left is %v", d.byKey)
				}
				if _, disputed := c.begin[others]; disputed != (d.FirstToEnd(other, began) != nil) {
					t.Fatalf("the dispute of another is %v", d.FirstToEnd(other, began))
				}
			}
		})
	}
}

// A dispute names three objects at most.
func TestADisputeNamesThreeObjects(t *testing.T) {
	for want, undone := range map[string][]string{
		"(a)":                  {"a"},
		"(a, b, c)":            {"a", "b", "c"},
		"(a, b, c and 1 more)": {"a", "b", "c", "d"},
		"(a, b, c and 2 more)": {"a", "b", "c", "d", "e"},
	} {
		d := Dispute{undone: undone, times: 2, Until: time.Unix(0, 0)}
		if text := d.String(); !strings.Contains(text, want) || !strings.Contains(text, "1970-01-01T00:00:00Z") {
			t.Errorf("it says %q, want %q", text, want)
		}
	}
}

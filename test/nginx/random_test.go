package nginx

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	seed     = flag.Uint64("seed", rand.Uint64(), "the first of the clusters that are drawn")
	clusters = flag.Int("clusters", 20, "how many clusters are drawn")
	requests = flag.Int("requests", 200, "how many requests are sent to each")
)

// TestRandom loads random clusters: nearly all of them load, answers repeat themselves, and requests reach what there is.
func TestRandom(t *testing.T) {
	t.Logf("-seed %d", *seed)
	o := Idle(t)
	loaded, hit, all, statuses := 0, 0, 0, map[int]int{}
	refused := map[string]int{}
	for i := range *clusters {
		random := rand.New(rand.NewPCG(*seed+uint64(i), 1))
		c := RandomCluster(random)
		err := o.Load(c)
		if errors.Is(err, ErrConfiguration) {
			reason := err.Error()[strings.Index(err.Error(), "[emerg]")+7:]
			refused[strings.Join(strings.Fields(reason)[1:4], " ")]++
			continue
		}
		if err != nil && !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		loaded++
		seen := map[string]bool{}
		for range *requests {
			r := RandomRequest(random, &c)
			a := o.Ask(r)
			statuses[a.Status]++
			seen[a.Where] = true
			if b := o.Ask(r); a.String() != b.String() {
				t.Errorf("cluster %d: %+v is answered with %s, then with %s", *seed+uint64(i), r, a, b)
			}
		}
		for _, l := range o.Locations {
			all++
			if seen[l.ID] {
				hit++
			}
		}
	}
	t.Logf("%d of %d clusters load (%v), %d of %d locations are hit, statuses %v", loaded, *clusters, refused, hit, all, statuses)
	if loaded*2 < *clusters || hit*2 < all {
		t.Error("too few")
	}
}

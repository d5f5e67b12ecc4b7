package cluster

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", 0, "the `seed` of random elements; 0 draws one")

// Sets of any size have what a map of maps has.
func TestSetsAreThoseOfAMapOfMaps(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 1))
	m, want := Multimap[int, int]{}, map[int]map[int]bool{}
	for range 20_000 {
		a, b := r.IntN(3), r.IntN(3*few)
		// The first set stays small, the last one grows, and all become empty now and then.
		if r.IntN(5) <= 1+a {
			m.Add(a, b)
			if want[a] == nil {
				want[a] = map[int]bool{}
			}
			want[a][b] = true
		} else {
			for range r.IntN(3 * few) {
				m.Remove(a, b)
				if delete(want[a], b); len(want[a]) == 0 {
					delete(want, a)
				}
				b = r.IntN(3 * few)
			}
		}
		if len(m) != len(want) {
			t.Fatalf("%d keys, want %d", len(m), len(want))
		}
		for a := range 3 {
			got := slices.Sorted(m.All(a))
			if !slices.Equal(got, slices.Sorted(maps.Keys(want[a]))) || m.Len(a) != len(want[a]) {
				t.Fatalf("set %d of %d has %v, want %v", a, m.Len(a), got, want[a])
			}
		}
	}
}

// Elements can be removed while the set is looked through.
func TestASetChangesWhileItIsLookedThrough(t *testing.T) {
	for _, n := range []int{3, 3 * few} {
		m := Multimap[string, int]{}
		for b := range n {
			m.Add("a", b)
		}
		seen := 0
		for b := range m.All("a") {
			m.Remove("a", b)
			seen++
		}
		if seen != n || len(m) > 0 {
			t.Errorf("%d of %d elements were seen, and there are %v", seen, n, m)
		}
	}
}

// Few elements are held without a map, and more of them with one.
func TestASetIsAMapOnlyAboveFew(t *testing.T) {
	for n, table := range map[int]bool{1: false, few: false, few + 1: true} {
		m := Multimap[string, int]{}
		for b := range n {
			m.Add("a", b)
		}
		if got := m["a"].table != nil; got != table {
			t.Errorf("%d elements are held in a map: %v, want %v", n, got, table)
		}
	}
}

// A set of one element takes little memory.
func TestSmallSetsAreSmall(t *testing.T) {
	const keys = 10_000
	per := testing.AllocsPerRun(3, func() {
		m := make(Multimap[int, int], keys)
		for a := range keys {
			m.Add(a, a)
		}
	}) / keys
	if per > 1.1 {
		t.Errorf("a set of one element makes %.1f allocations", per)
	}
}

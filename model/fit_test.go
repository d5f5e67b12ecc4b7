package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/routing"
)

// leastOneByOne is least with each concession given back by itself, however often that takes
// compiling.
func leastOneByOne(possible []concession, suffice func([]int) bool) []int {
	made := firstOnes(sort.Search(len(possible), func(n int) bool { return suffice(firstOnes(n)) }))
	for again := true; again; {
		again = false
		for i := len(made) - 1; i >= 0; i-- {
			if others := slices.Delete(slices.Clone(made), i, i+1); suffice(others) {
				made, again = others, true
			}
		}
	}
	return made
}

// quota is a load balancer with room for so many rules, and changes that each need some, the newest
// first.
type quota struct {
	room, tries int
	rules       map[string]int
	possible    []concession
}

func newQuota(room int, rules ...int) *quota {
	q := &quota{room: room, rules: map[string]int{}}
	for i, n := range rules {
		ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%04d", i)}}
		m := concession{Member: ingress.Member{Ingress: ing, Owner: routing.Owner{Namespace: "shop", Name: ing.Name}}}
		q.rules[m.Name], q.possible = n, append(q.possible, m)
	}
	return q
}

// suffice is whether the rest fits once these concessions are made.
func (q *quota) suffice(made []int) bool {
	q.tries++
	sum := 0
	for _, n := range q.rules {
		sum += n
	}
	for _, i := range made {
		sum -= q.rules[q.possible[i].Name]
	}
	return sum <= q.room
}

func (q *quota) names(made []int) (out []string) {
	for _, i := range made {
		out = append(out, q.possible[i].Name)
	}
	return out
}

// Blocks give back what one by one would.
func TestLeastGivesBackAsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 3000 {
		var rules []int
		for range 1 + rng.IntN(40) {
			rules = append(rules, 1+rng.IntN(1+rng.IntN(30)))
		}
		q := newQuota(rng.IntN(150), rules...)
		want := q.names(leastOneByOne(q.possible, q.suffice))
		if got := q.names(least(q.possible, effort{1000, inTurns}, nil, q.suffice)); !slices.Equal(got, want) {
			t.Fatalf("%d rules have room, of %v: refused %v, want %v", q.room, rules, got, want)
		}
	}
}

// One Ingress that is too large, and older than hundreds of small ones, costs little work and none
// of them.
func TestLeastIsBounded(t *testing.T) {
	for _, n := range []int{10, 400, 5000} {
		q := newQuota(n+50, append(slices.Repeat([]int{1}, n), 2*n+4000)...)
		got := least(q.possible, effortFor(0), nil, q.suffice)
		if want := fmt.Sprintf("web-%04d", n); len(got) != 1 || q.possible[got[0]].Name != want {
			t.Errorf("of %d small ones and a large one %d are refused, want %s alone", n, len(got), want)
		}
		if q.tries > 64 {
			t.Errorf("of %d small ones and a large one: %d attempts", n, q.tries)
		}
	}
	q := newQuota(100, slices.Repeat([]int{101, 1}, 1000)...)
	made := least(q.possible, effortFor(0), nil, q.suffice)
	if q.tries > 64+mostTurn {
		t.Errorf("of a thousand that are too large: %d attempts", q.tries)
	}
	if !q.suffice(made) {
		t.Errorf("what is left after %d refusals does not fit", len(made))
	}
}

// The refused Ingresses of one namespace use up its own attempts, not those of others.
func TestLeastGivesEachNamespaceItsTurn(t *testing.T) {
	for _, others := range []int{1, 10, 100} {
		// From the newest on: small Ingresses of others, two each, and a thousand of bob that are too
		// large.
		q := newQuota(2*others, append(slices.Repeat([]int{1}, 2*others), slices.Repeat([]int{4 * others}, 1000)...)...)
		for i := range q.possible {
			q.possible[i].Owner.Namespace = "bob"
			if i < 2*others {
				q.possible[i].Owner.Namespace = fmt.Sprintf("alice-%d", i%others)
			}
		}
		made := least(q.possible, effortFor(0), nil, q.suffice)
		for _, i := range made {
			if m := q.possible[i]; m.Owner.Namespace != "bob" {
				t.Errorf("of %d namespaces, %s of %s is refused, and has room", others, m.Name, m.Owner.Namespace)
			}
		}
		if !q.suffice(made) {
			t.Errorf("of %d namespaces, what is left does not fit", others)
		}
		if q.tries > 64+1+max(inTurns, others+1) {
			t.Errorf("of %d namespaces: %d attempts", others, q.tries)
		}
	}
}

// Where the rest of a namespace has no room at once, some of it is given back.
func TestInTurnHalves(t *testing.T) {
	q := newQuota(10, 5, 5, 30, 5) // the newest first
	made := inTurn(q.possible, firstOnes(len(q.possible)), len(q.possible), inTurns, nil, q.suffice)
	if got, want := q.names(made), []string{"web-0000", "web-0001", "web-0002"}; !slices.Equal(got, want) || !q.suffice(made) {
		t.Errorf("refused %v, want %v", got, want)
	}
}

// TestEffortHasABound: the more routes there are, the less often they are compiled, but at least a
// few times.
func TestEffortHasABound(t *testing.T) {
	for routes, want := range map[int]effort{0: {50, 64}, 100: {50, 64}, 4000: {50, 64}, 11_000: {18, 23}, 25_000: {8, 10}, 1_000_000: {8, 10}} {
		if got := effortFor(routes); got != want {
			t.Errorf("for %d routes: %v, want %v", routes, got, want)
		}
	}
}

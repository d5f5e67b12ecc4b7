package lowering

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// TestAnyOverlapComparesAll compares random lists of paths by their indices and one by one.
func TestAnyOverlapComparesAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []routing.PathType{routing.Exact, routing.Prefix, routing.Exact, routing.Prefix, routing.Glob}
	values := []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/b/c", "/b//c", "/c"}
	globs := []string{"/a*", "/*b", "/?", "/b/*"}
	list := func() []routing.Path {
		var out []routing.Path
		for range random.IntN(4) {
			p := routing.Path{Type: kinds[random.IntN(len(kinds))], Value: values[random.IntN(len(values))]}
			switch {
			case p.Type == routing.Glob:
				p.Value = globs[random.IntN(len(globs))]
			case p.Type == routing.Prefix && len(p.Value) > 1 && p.Value[len(p.Value)-1] == '/':
				continue // prefixes have none
			}
			out = append(out, p)
		}
		return out
	}
	same, both := 0, 0
	for range 20_000 {
		sets := &pathSets{Comparer: precedence.New(routing.Config{}).Comparer()}
		a, b := list(), list()
		want := slices.ContainsFunc(a, func(p routing.Path) bool {
			return slices.ContainsFunc(b, func(q routing.Path) bool { return sets.overlap("x", p, q) })
		})
		if got := sets.anyOverlap("x", newPathIndex(a), newPathIndex(b)); got != want {
			t.Fatalf("%v and %v overlap: %v, and one by one: %v", a, b, got, want)
		}
		both++
		if want {
			same++
		}
	}
	if same < both/10 || same > both*9/10 {
		t.Errorf("%d of %d lists overlap", same, both)
	}
}

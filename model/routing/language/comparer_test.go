package language

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/routing"
)

// shortPaths are all paths of up to five characters of a small alphabet.
func shortPaths() []string {
	out, last := []string{"/"}, []string{"/"}
	for range 4 {
		var next []string
		for _, p := range last {
			for _, c := range "ab/" {
				next = append(next, p+string(c))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

// randomPath is a path of any type over the same alphabet.
func randomPath(rng *rand.Rand) routing.Path {
	text := func(parts ...string) string {
		var b strings.Builder
		for range rng.IntN(4) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		return "/" + b.String()
	}
	switch rng.IntN(5) {
	case 0:
		return routing.NewPath(routing.Exact, text("a", "b", "/"))
	case 1:
		return routing.NewPath(routing.Prefix, text("a", "b", "/"))
	case 2:
		return routing.NewPath(routing.Regex, text("a", "b", "/", ".*", "[ab]", "(a|b/)?", "a{2}", "[^/]+", "(?i)B", "$"))
	default:
		return routing.NewPath(routing.Glob, text("a", "b", "/", "*", "?"))
	}
}

func TestLanguagesAreWhatPathsMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	paths := shortPaths()
	for range 2000 {
		p := randomPath(rng)
		re := regexp.MustCompile(`\A(?:` + p.Pattern() + `)\z`)
		language := OfPath(p)
		for _, path := range paths {
			has, told := language.Has(path)
			if !told || has != re.MatchString(path) || p.Matches(path) != has {
				t.Fatalf("%s: Has(%q) = %v, %v; Matches %v, the expression %v", p, path, has, told, p.Matches(path), re.MatchString(path))
			}
		}
	}
}

func TestQuestionsAreAnsweredForEveryPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	paths := shortPaths()
	for range 2000 {
		a, b, c := randomPath(rng), randomPath(rng), randomPath(rng)
		compare := NewComparer(NewCache(), nil)
		text, verdict := compare.Find("", []routing.Path{a}, []routing.Path{b, c})
		for _, path := range paths {
			if a.Matches(path) && !b.Matches(path) && !c.Matches(path) && verdict != Some {
				t.Fatalf("%s without %s and %s has %q, and Find says %v", a, b, c, path, verdict)
			}
		}
		if verdict == Some && (!a.Matches(text) || b.Matches(text) || c.Matches(text)) {
			t.Fatalf("%s without %s and %s does not have %q", a, b, c, text)
		}
		prefix := routing.NewPath(routing.Prefix, a.Value)
		if a.Type == routing.Regex || a.Type == routing.Glob {
			prefix = routing.Root
		}
		some, all, told := compare.Under("", c, prefix)
		for _, path := range paths {
			if told && prefix.Matches(path) && (c.Matches(path) && !some || !c.Matches(path) && all) {
				t.Fatalf("%s under %s: some %v, all %v, but %q", c, prefix, some, all, path)
			}
		}
	}
}

// TestAnswersDoNotDependOnWhatIsKnown asks the same with and without the answers of before: what is
// left of a budget decides what is answered.
func TestAnswersDoNotDependOnWhatIsKnown(t *testing.T) {
	ask := func(c *Comparer) string {
		rng := rand.New(rand.NewPCG(3, 3))
		var said strings.Builder
		for range 500 {
			in, out := []routing.Path{randomPath(rng)}, []routing.Path{randomPath(rng), randomPath(rng)}
			if rng.IntN(10) == 0 { // one that is remembered
				in, out = tangled(2), tangled(20)[2+rng.IntN(5):10]
			}
			text, verdict := c.Find("shop/web", in, out)
			fmt.Fprintln(&said, text, verdict, c.spent["shop/web"])
		}
		return said.String()
	}
	languages := NewCache()
	first, second := ask(NewComparer(languages, nil)), ask(NewComparer(languages, nil))
	if first != second {
		t.Error("the answers differ once they are known")
	}
}

// tangled are globs that together are far beyond any search: a text can be in the middle of each.
func tangled(n int) []routing.Path {
	var out []routing.Path
	for i := range n {
		out = append(out, routing.Path{Type: routing.Glob, Value: fmt.Sprintf("/*%c????????%c", 'a'+i%20, 'b'+i%20)})
	}
	return out
}

func TestOneSearchEnds(t *testing.T) {
	c := NewComparer(NewCache(), nil)
	all := tangled(20)
	if _, verdict := c.Find("shop/web", []routing.Path{routing.Root}, all); verdict == None {
		t.Errorf("globs that begin with a star cover everything: %v", verdict)
	}
	if _, verdict := c.Find("shop/web", all, nil); verdict != Unsure {
		t.Errorf("what all globs have is found: %v", verdict)
	}
	if spent := c.Spent("shop/web"); spent > 2*searchSteps+1000 {
		t.Errorf("%d steps for two searches, each of which ends after %d", spent, searchSteps)
	}
}

func TestBudgetIsThatOfTheIngress(t *testing.T) {
	c := NewComparer(NewCache(), nil)
	for i := range 1000 {
		all := tangled(20)
		c.Find("bob/hostile", all[:2+i%18], all[i%20:])
		c.Has("bob/hostile", all[0], "/abc")
	}
	if spent := c.Spent("bob/hostile"); spent <= MemberSteps || spent > MemberSteps+2*searchSteps {
		t.Errorf("%d steps were taken, and there are %d", spent, MemberSteps)
	}
	if _, verdict := c.Find("bob/hostile", []routing.Path{{Type: routing.Glob, Value: "/a*"}}, nil); verdict != Unsure {
		t.Errorf("a question beyond the budget is answered: %v", verdict)
	}
	if text, verdict := c.Find("alice/web", []routing.Path{{Type: routing.Glob, Value: "/a*"}}, nil); text != "/a" || verdict != Some {
		t.Errorf("the neighbour's question: %q, %v", text, verdict)
	}
}

// However many Ingresses a namespace has, together they take no more than what is for it; each has
// its share of that when the others have taken all they can, and other namespaces have what they
// have without them.
func TestBudgetOfANamespace(t *testing.T) {
	const n = 100
	var members []routing.Owner
	for i := range n {
		members = append(members, routing.Owner{Namespace: "bob", Name: fmt.Sprint("web", i)})
	}
	members = append(members, routing.Owner{Namespace: "alice", Name: "web"})
	c := NewComparer(NewCache(), members)
	all, sum := tangled(20), 0
	drain := func(asker string) int {
		for i := range 60 {
			c.Find(asker, all[:2+i%18], all[i%20:])
		}
		return c.Spent(asker)
	}
	for i := range n {
		spent := drain(fmt.Sprint("bob/web", i))
		if sum += spent; spent < NamespaceSteps/n {
			t.Errorf("Ingress %d has %d steps, and its share is %d", i, spent, NamespaceSteps/n)
		}
	}
	if sum > 2*NamespaceSteps+n*1000 {
		t.Errorf("%d steps were taken, and there are %d", sum, 2*NamespaceSteps)
	}
	if spent := drain("alice/web"); spent < MemberSteps {
		t.Errorf("the only Ingress of another namespace has %d steps, and there are %d", spent, MemberSteps)
	}
}

// A search with fewer steps than one that is remembered, or more, comes to what it comes to alone.
func TestRememberedSearchesOfOtherBudgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	all := tangled(6)
	languages := NewCache()
	for range 300 {
		in, out, most := all[:1+rng.IntN(2)], all[2+rng.IntN(3):5], 1+rng.IntN(1+rng.IntN(200_000))
		got, want := languages.find(in, out, most), NewCache().find(in, out, most)
		if got != want || got.steps > most {
			t.Fatalf("%v without %v in %d steps: %v, alone %v", in, out, most, got, want)
		}
	}
}

func TestStepsOf(t *testing.T) {
	for _, c := range []struct {
		path     routing.Path
		ordinary bool
	}{
		{routing.Path{Type: routing.Glob, Value: "/api/*/v1/*/edit"}, true},
		{routing.Path{Type: routing.Glob, Value: "/static/*.jpg"}, true},
		{routing.Path{Type: routing.Regex, Value: `/users/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/.*`}, true},
		{routing.Path{Type: routing.Regex, Value: `/(?i)(foo|bar)/.*\.(jpg|png|gif|jpeg|webp)`}, true},
		{routing.Path{Type: routing.Regex, Value: `/(`}, true}, // refused for what it is
		{routing.Path{Type: routing.Glob, Value: "/*ab????????????c1"}, false},
		{routing.Path{Type: routing.Glob, Value: "/" + strings.Repeat("*a", 500)}, false},
		{routing.Path{Type: routing.Glob, Value: "/" + strings.Repeat("a*", 100_000)}, false},
		{routing.Path{Type: routing.Regex, Value: "/(?:" + strings.Repeat("x", 1000) + "){1000}"}, false},
		{routing.Path{Type: routing.Regex, Value: `/\b(?:` + strings.Repeat("x", 19) + "){1000}"}, false},
		{routing.Path{Type: routing.Regex, Value: "/" + strings.Repeat(`\pL`, 600)}, false},
		{routing.Path{Type: routing.Regex, Value: "/.*a.{12}b"}, false},
	} {
		steps := StepsOf(c.path)
		if c.ordinary && steps > MostSteps/100 {
			t.Errorf("%s takes %d steps, more than a hundredth of what an Ingress has", c.path, steps)
		}
		if !c.ordinary && steps < MostSteps/10 {
			t.Errorf("%s takes %d steps, less than a tenth of what an Ingress has", c.path, steps)
		}
		if steps > 2*MostSteps {
			t.Errorf("%s is looked at for %d steps", c.path, steps)
		}
	}
}

package golden

import (
	"testing"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// TestStoriesAreFarFromTooComplex counts what the paths of every story take: no Ingress comes near
// what it has.
func TestStoriesAreFarFromTooComplex(t *testing.T) {
	const margin = 20
	mostRead, mostAsked := 0, 0
	for _, s := range stories(t) {
		tellings, err := tell(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, told := range tellings {
			for _, c := range told.loadBalancers {
				if c.table == nil {
					continue
				}
				read := map[string]int{}
				counted := map[string]map[routing.Path]bool{}
				for _, r := range c.table.Routes {
					owner := r.Owner.String()
					if counted[owner] == nil {
						counted[owner] = map[routing.Path]bool{}
					}
					if (r.Path.Type == routing.Glob || r.Path.Type == routing.Regex) && !counted[owner][r.Path] {
						counted[owner][r.Path] = true
						read[owner] += language.StepsOf(r.Path)
					}
				}
				for _, m := range c.table.Members {
					mostRead = max(mostRead, read[m.String()])
					mostAsked = max(mostAsked, c.table.Comparer().Spent(m.String()))
				}
			}
		}
	}
	t.Logf("at most %d of %d steps to read an Ingress, %d of %d to compare it", mostRead, language.MostSteps, mostAsked, language.MemberSteps)
	if mostRead > language.MostSteps/margin || mostAsked > language.MemberSteps/margin {
		t.Errorf("less than %d times as many steps as an ordinary Ingress takes", margin)
	}
}

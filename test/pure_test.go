// Package test holds what is true of the whole tree: which packages are pure, the modules that the
// binary links, and links between documents.
package test

import (
	"slices"
	"strings"
	"testing"
)

// TestTheModelIsPure looks at all that a package links, which the rules of depguard in
// .golangci.yml cannot see: they look at the imports of one file.
func TestTheModelIsPure(t *testing.T) {
	for _, c := range []struct {
		packages []string
		alone    bool // they link the standard library and each other
	}{
		{
			// What is proven: rules, plans, and the provers themselves.
			packages: []string{
				"./model/routing/...", "./model/lb", "./model/lowering", "./model/planner/...", "./model/proof/...", "./model/compare",
			},
			alone: true,
		},
		{
			// The compiler knows the types of Kubernetes, and no client.
			packages: []string{"./model/..."},
		},
	} {
		format := "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}"
		listed := goCommand(t, append([]string{"list", "-deps", "-f", format}, c.packages...)...)
		lines := strings.Split(strings.TrimSpace(listed), "\n")
		if len(lines) < 100 {
			t.Fatalf("%v link %d packages: the test reads too little", c.packages, len(lines))
		}
		for _, line := range lines {
			imported, from, _ := strings.Cut(line, " ")
			ours, isOurs := strings.CutPrefix(imported, "fairlead.dev/fairlead/")
			switch {
			case isOurs && !strings.HasPrefix(ours, "model/") && ours != "model" && !strings.HasPrefix(ours, "api/"):
				t.Errorf("%v link %s: the model knows neither clouds nor controllers", c.packages, ours)
			case c.alone && (from != "" && !isOurs || imported == "net/http" || imported == "os/exec"):
				t.Errorf("%v link %s: they need the standard library alone, without clients", c.packages, imported)
			case slices.Contains([]string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}, from),
				strings.HasPrefix(from, "github.com/aws/"):
				t.Errorf("%v link %s: the model calls nothing", c.packages, imported)
			}
		}
	}
}

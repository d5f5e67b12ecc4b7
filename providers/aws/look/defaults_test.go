package look

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// The name of an attribute is typed once for each kind of resource that has it: in its row, or as a
// constant. The row of an annotation that asks for it has it once more, and is compared with it by
// TestAnnotationsOfAttributesHaveTheBoundsOfAWS. Package test/albsim, which plays AWS, has its own.
func TestNamesOfAttributesAreTypedOnce(t *testing.T) {
	alb := lb.ALB()
	kinds := map[string]int{}
	for name := range alb.BalancerAttributes {
		kinds[name]++
	}
	for name := range alb.GroupAttributes {
		kinds[name]++
	}
	for name := range ListenerDefaults {
		kinds[name]++
	}
	for _, row := range settings.Table {
		for _, name := range []string{row.BalancerAttribute, row.GroupAttribute} {
			if name != "" {
				kinds[name]++
			}
		}
	}
	typed := map[string][]string{}
	for _, folder := range []string{"api", "cli", "controllers", "model", "providers"} {
		for place, text := range textsIn(t, filepath.Join("../../..", folder)) {
			if kinds[text] > 0 {
				typed[text] = append(typed[text], place)
			}
		}
	}
	for name, places := range typed {
		if len(places) > kinds[name] {
			t.Errorf("%s is typed at %s: once in model/lb/alb.go and once in model/settings/table.go is enough; "+
				"a constant for other uses belongs to model/routing", name, strings.Join(places, ", "))
		}
	}
	if len(typed) < len(kinds)/2 {
		t.Errorf("%d of %d names are found: does the test read the tables?", len(typed), len(kinds))
	}
}

// textsIn returns the string literals of a folder, without those of tests, by their places.
func textsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					out[set.Position(literal.Pos()).String()] = text
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

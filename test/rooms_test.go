package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This file counts the files of each package, and the uses between files of a package that run
// backwards: against the order of its files in which the fewest do. Counts may only fall.

// A room is a package with more files, or more uses that run backwards, than any other may have.
type room struct{ files, backwards int }

// The limits of packages that are not in rooms.
const (
	mostFiles     = 13
	mostBackwards = 3
)

// rooms are the packages that are larger, with today's numbers.
var rooms = map[string]room{
	"cli":                        {14, 0}, // a file for each command
	"cli/manifests":              {8, 5},  // a loader has the problems of all its files
	"controllers/loadbalancer":   {16, 4},
	"model/endpoints":            {8, 5},
	"model/ingress/foreign":      {19, 0},
	"model/settings":             {14, 4},
	"providers":                  {14, 1},
	"providers/aws/certificates": {6, 5},
}

// TestPackagesAreSmallAndUseOneWay fails where a count has grown, and where one has fallen below
// the number here.
func TestPackagesAreSmallAndUseOneWay(t *testing.T) {
	for _, p := range listed(t) {
		files, backwards := len(p.GoFiles), backwardUses(t, p)
		limit, larger := rooms[p.name]
		switch {
		case !larger && files <= mostFiles && backwards <= mostBackwards:
		case !larger:
			t.Errorf("%s has %d files and %d uses that run backwards: %d and %d are the most; divide it", p.name, files, backwards, mostFiles, mostBackwards)
		case files > limit.files || backwards > limit.backwards:
			t.Errorf("%s has %d files and %d uses that run backwards; it had %d and %d", p.name, files, backwards, limit.files, limit.backwards)
		case limit != room{files, backwards}:
			t.Errorf("%s has %d files and %d uses that run backwards by now: write that here, in place of %d and %d", p.name, files, backwards, limit.files, limit.backwards)
		}
	}
}

// A listedPackage is a package as go list describes it.
type listedPackage struct {
	name       string // within the module
	Dir        string
	ImportPath string
	Export     string
	GoFiles    []string
	Imports    []string
	Doc        string            // its first sentence
	imports    map[string]string // the export data of packages
}

// listed are the packages of the module, but those of tests, with the export data of all that they
// import.
func listed(t *testing.T) []listedPackage {
	list := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,Imports,Doc", "./...")
	list.Dir = ".."
	text, err := list.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	exports := map[string]string{}
	var out []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(text))); ; {
		p := listedPackage{imports: exports}
		if err := decoder.Decode(&p); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if name, ours := within(p.ImportPath, module); ours && !strings.HasPrefix(name, "test") {
			p.name = name
			out = append(out, p)
		}
	}
}

// uses are the files whose declarations a file uses.
type uses map[string]map[string]bool

// backwardUses is how many arrows between files run against their best order.
func backwardUses(t *testing.T, p listedPackage) int {
	found := usesWithin(t, p)
	place := map[string]int{}
	for i, file := range ordered(found) {
		place[file] = i
	}
	count := 0
	for from, to := range found {
		for file := range to {
			if place[file] < place[from] {
				count++
			}
		}
	}
	return count
}

// usesWithin checks the types of a package and returns which of its files use which.
func usesWithin(t *testing.T, p listedPackage) uses {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(p.imports[path]) })}
	pkg, err := config.Check(p.ImportPath, set, files, info)
	if err != nil {
		t.Fatal(err)
	}
	out := uses{}
	for _, name := range p.GoFiles {
		out[name] = map[string]bool{}
	}
	for ident, object := range info.Uses {
		from := filepath.Base(set.Position(ident.Pos()).Filename)
		to := filepath.Base(set.Position(object.Pos()).Filename)
		if object.Pkg() == pkg && from != to {
			out[from][to] = true
		}
	}
	return out
}

// ordered returns files so that few use an earlier one: P. Eades, X. Lin, W. F. Smyth, "A fast and
// effective heuristic for the feedback arc set problem", 1993. A file that uses none of the others
// goes last, one that none of the others uses goes first, and among the rest the one goes first
// that uses the most files beyond those that use it.
func ordered(all uses) []string {
	left := map[string]bool{}
	for file := range all {
		left[file] = true
	}
	degrees := func(file string) (out, in int) {
		for other := range left {
			if all[file][other] {
				out++
			}
			if all[other][file] {
				in++
			}
		}
		return out, in
	}
	var first, last []string
	for len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		at := slices.IndexFunc(names, func(file string) bool { out, _ := degrees(file); return out == 0 })
		if at >= 0 {
			last = append(last, names[at])
			delete(left, names[at])
			continue
		}
		best := slices.MaxFunc(names, func(a, b string) int {
			outA, inA := degrees(a)
			outB, inB := degrees(b)
			return cmp.Or(cmp.Compare(outA-inA, outB-inB), cmp.Compare(b, a))
		})
		if at = slices.IndexFunc(names, func(file string) bool { _, in := degrees(file); return in == 0 }); at >= 0 {
			best = names[at]
		}
		first = append(first, best)
		delete(left, best)
	}
	slices.Reverse(last)
	return append(first, last...)
}

// TestTheOrderOfFilesIsTheBest tries the order on graphs whose best one is plain.
func TestTheOrderOfFilesIsTheBest(t *testing.T) {
	graph := func(arrows ...string) uses {
		out := uses{}
		for _, arrow := range arrows {
			from, to, _ := strings.Cut(arrow, ">")
			for _, file := range []string{from, to} {
				if out[file] == nil {
					out[file] = map[string]bool{}
				}
			}
			out[from][to] = true
		}
		return out
	}
	for _, c := range []struct {
		arrows []string
		want   string
	}{
		{[]string{"a>b", "b>c", "a>c"}, "[a b c]"},
		{[]string{"c>b", "b>a"}, "[c b a]"},
		{[]string{"a>b", "b>a", "a>c", "a>d"}, "[a b d c]"},
	} {
		if got := fmt.Sprint(ordered(graph(c.arrows...))); got != c.want {
			t.Errorf("%v: %s, want %s", c.arrows, got, c.want)
		}
	}
}

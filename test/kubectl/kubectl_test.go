// Package kubectl compares the objects that the command line reads with those that kubectl reads, in
// trees of files that are drawn at random.
package kubectl

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/ingress"
)

var (
	seed  = flag.Uint64("seed", 0, "of the first tree; 0: another one in each run")
	trees = flag.Int("trees", 4000, "how many trees are compared")
)

// compared are the kinds of objects that are compared, of those that are drawn.
var compared = []string{"Ingress", "Service", "Backend"}

// byKubectl returns the objects that kubectl finds in a directory. Like kubectl apply, it goes on
// after an error.
func byKubectl(dir string, recursive bool) (names []string, err error) {
	files := resource.FilenameOptions{Filenames: []string{dir}, Recursive: recursive}
	err = resource.NewLocalBuilder().Unstructured().ContinueOnError().FilenameParam(false, &files).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			is := info.Object.GetObjectKind().GroupVersionKind()
			if slices.Contains(compared, is.Kind) && (is.Kind != "Backend" || is.Group == v1alpha1.Group) { // v1 has none
				names = append(names, is.Kind+" "+info.Name)
			}
			return nil
		})
	slices.Sort(names)
	return names, err
}

// byFairlead returns the objects that the command line finds in a directory; the error has what it
// did not read.
func byFairlead(t *testing.T, dir string, recursive bool) ([]string, error) {
	t.Helper()
	found, _, err := manifests.Files{Paths: []string{dir}, Recursive: recursive}.Load(t.Context())
	if errors.Is(err, manifests.ErrNoIngress) {
		err = nil
	}
	return namesOf(found), err
}

func namesOf(found ingress.Objects) (names []string) {
	add := func(kind string, o metav1.Object) { names = append(names, kind+" "+o.GetName()) }
	for _, o := range found.Ingresses {
		add("Ingress", o)
	}
	for _, o := range found.Services {
		add("Service", o)
	}
	for _, o := range found.Backends {
		add("Backend", o)
	}
	slices.Sort(names)
	return names
}

// TestObjectsAreThoseOfKubectl holds the reader to its promise: where it tells of no problem, it has
// read the objects that kubectl reads. It reads no more than those unless kubectl tells of a problem.
func TestObjectsAreThoseOfKubectl(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d -trees %d", *seed, *trees)
	silent, both, several := 0, 0, 0
	for i := range *trees {
		at := *seed + uint64(i)
		dir := t.TempDir()
		g := newGenerator(at)
		if err := g.tree(dir); err != nil {
			t.Fatal(err)
		}
		recursive := g.IntN(2) == 0
		theirs, wrong := byKubectl(dir, recursive)
		ours, problem := byFairlead(t, dir, recursive)
		if problem == nil {
			silent++
		}
		if problem == nil && wrong == nil {
			both++
		}
		if len(theirs) > 1 && problem == nil {
			several++
		}
		missing := slices.ContainsFunc(theirs, func(name string) bool { return !slices.Contains(ours, name) })
		if problem == nil && (missing || wrong == nil && !slices.Equal(ours, theirs)) {
			t.Errorf("-seed %d -trees 1, recursive %t: kubectl finds %q (%v), and the command line %q\n%s",
				at, recursive, theirs, wrong, ours, contents(t, dir))
		}
		unsearched := problem != nil && strings.Contains(problem.Error(), "not searched, as -R is not given")
		if problem != nil && !unsearched && wrong == nil && g.harmless {
			t.Errorf("-seed %d -trees 1: kubectl reads %q, and the command line says %v\n%s", at, theirs, problem, contents(t, dir))
		}
		if t.Failed() && i > 20 {
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d without a problem, %d of them for kubectl too, %d with several objects", silent, both, several)
	if *trees >= 100 && (both < *trees/10 || several < *trees/20) {
		t.Error("too few trees are read by both to show anything")
	}
}

// contents has the files of a directory, to be read.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, _ := filepath.Rel(dir, path)
		b.WriteString("-- " + inside + " --\n")
		if text, err := os.ReadFile(path); err == nil {
			b.WriteString(strings.ReplaceAll(string(text), "\r", "\\r") + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

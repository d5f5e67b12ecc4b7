package expect

import (
	"testing"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file tests the spellings of paths.

func TestDecodedPaths(t *testing.T) {
	for _, c := range []struct {
		path   Path
		has    []string
		lacks  []string
		reason string
	}{
		{Path{routing.NewPath(routing.Prefix, "/admin"), true},
			[]string{"/admin", "/admin/", "/admin/x", "/Admin", "/ADMIN/x", "/%61dmin", "/%41dmin", "//admin", "/./admin", "/%2e/admin", "/%2Fadmin", "/admin%2fx", "/a%44min", "/admin//x"},
			[]string{"/", "/administrator", "/x/admin", "/adm", "/admin.html", "/%62dmin", "/x/../admin", "/../admin"}, "spellings of a prefix"},
		{Path{routing.NewPath(routing.Exact, "/a/b/c"), true},
			[]string{"/a/b/c", "/a//b/./c", "/A/%62/c", "/a%2Fb/c", "/a/b/c/", "/a/b/c//", "/a/b/c%2f", "/a/b/c/.", "/a/b/c/./%2E"}, []string{"/a/b/c/d", "/a/b/c/..", "/a/b/c.", "/a/b", "/ab/c"}, "spellings of an exact path"},
		{Path{routing.NewPath(routing.Exact, "/"), true}, []string{"/", "//", "/.", "/./", "/%2f"}, []string{"/..", "/x", "/.x"}, "spellings of the exact root"},
		{Path{routing.NewPath(routing.Exact, "/a-b.c/"), true}, []string{"/a-b.c/", "/a%2Db%2ec//", "/a-b.c"}, []string{"/axb.c/", "/a-b.c/d"}, "a trailing slash makes no difference"},
		{Path{routing.Root, true}, []string{"/", "/x", "//"}, nil, "the root has all"},
		{Path{routing.NewPath(routing.Prefix, "/admin"), false}, []string{"/admin", "/admin/x"}, []string{"/Admin", "//admin", "/%61dmin"}, "as a load balancer compares them"},
	} {
		p := c.path.pattern()
		for _, text := range c.has {
			if !p.Matches(text) {
				t.Errorf("%s: %s does not have %q", c.reason, c.path, text)
			}
		}
		for _, text := range c.lacks {
			if p.Matches(text) {
				t.Errorf("%s: %s has %q", c.reason, c.path, text)
			}
		}
	}
}

// TestDecodedPathsHaveAutomata has the longest paths that are decided.
func TestDecodedPathsHaveAutomata(t *testing.T) {
	for _, path := range []string{"/", "/a/b/c", "/api/v1/internal/administration/users", "/wp-login.php", "/.well-known/acme-challenge"} {
		for _, kind := range []routing.PathType{routing.Prefix, routing.Exact} {
			if l := language.OfPath(Path{routing.NewPath(kind, path), true}.pattern()); !l.Known() {
				t.Errorf("%s %s takes too many states", kind, path)
			}
		}
	}
}

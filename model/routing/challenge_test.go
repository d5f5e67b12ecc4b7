package routing

import (
	"slices"
	"strings"
	"testing"
)

// What is let through of a path matches a request if the path does and the request is a challenge, for all short globs.
func TestChallengesOfAPath(t *testing.T) {
	const at = "/.well-known/acme-challenge"
	paths := []Path{Root, {Prefix, "/.well-known"}, {Prefix, "/.well"}, {Prefix, at}, {Prefix, at + "/a"}, {Prefix, at + "s"}, {Exact, at}, {Exact, at + "/"}, {Exact, at + "/a"}, {Exact, "/"}}
	pieces := []string{"", "*", "?", "/", "a", ".well-known", "acme-challenge", "*e", "/.w", "*/?", "?/*", "**"}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				paths = append(paths, Path{Glob, "/" + a + b + c}, Path{Glob, at + "/" + a + b + c}, Path{Glob, at[:14] + a + b + c})
			}
		}
	}
	requests := []string{"/", "/a", "/.well-known", "/.well-known/", "/.well-known/a", at + "s", at + "s/a", at[:len(at)-1], "/x" + at + "/a"}
	for _, below := range []string{"", "/", "/a", "/ae", "/e", "/a/e", "//", "/*", "/?", "/.well-known", "/acme-challenge", "/aaa", "/a/.w", "/x/acme-challenge/a"} {
		requests = append(requests, at+below)
	}
	for _, p := range paths {
		through, rest, told := p.Challenges()
		if !told {
			t.Errorf("%s: not told", p)
		}
		left := false
		for _, r := range requests {
			is := slices.ContainsFunc(through, func(q Path) bool { return q.Matches(r) })
			if want := p.Matches(r) && ChallengePath.Matches(r); is != want {
				t.Errorf("%s lets %s through: %v, want %v: %v", p, r, is, want, through)
			}
			left = left || p.Matches(r) && !ChallengePath.Matches(r)
		}
		if left && !rest {
			t.Errorf("%s matches other requests, too", p)
		}
		if below := strings.HasPrefix(p.Text(), at+"/"); below && rest {
			t.Errorf("%s matches no other requests", p)
		}
	}
}

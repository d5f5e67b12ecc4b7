package matching

import "testing"

func TestNormalisedPaths(t *testing.T) {
	all := Reading{Decoded: true, Resolved: true, Merged: true}
	for _, c := range []struct {
		how        Reading
		path, want string
	}{
		{Reading{}, "/a//b/../c%2f.", "/a//b/../c%2f."},
		{Reading{Merged: true}, "//a///b//", "/a/b/"},
		{Reading{Resolved: true}, "/a/./b/../c", "/a/c"},
		{Reading{Resolved: true}, "/../../a", "/a"},
		{Reading{Resolved: true}, "/a/b/..", "/a/"},
		{Reading{Resolved: true}, "/a/.", "/a/"},
		{Reading{Resolved: true}, "/..", "/"},
		{Reading{Resolved: true}, "/a//../b", "/a/b"},
		{Reading{Resolved: true}, "/a/%2e%2e/b", "/a/%2e%2e/b"},
		{Reading{Decoded: true}, "/a/%2e%2e/b", "/a/../b"},
		{all, "/a/%2e%2e//b%2Fc", "/b/c"},
		{all, "/%zz/../a", "/a"},
	} {
		if got := c.how.Normalised(c.path); got != c.want {
			t.Errorf("%+v: %s is %s, want %s", c.how, c.path, got, c.want)
		}
	}
}

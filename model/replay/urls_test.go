package replay

import (
	"slices"
	"testing"
)

func TestReadings(t *testing.T) {
	for path, want := range map[string][]string{
		"/a":      {"/a"},
		"":        {"", "/"},
		"/a%20b":  {"/a%20b", "/a b"},
		"/a%zz":   {"/a%zz"},
		"//a///b": {"//a///b", "/a/b"},
		"/a/../b": {"/a/../b", "/b"},
		"/../a":   {"/../a", "/a"},
		"/a/.":    {"/a/.", "/a/"},
		"/a/..":   {"/a/..", "/"},
		"/%2e%2e/": {
			"/%2e%2e/", "/../", "/",
		},
		"/a%2f/b": {"/a%2f/b", "/a//b", "/a/b"},
	} {
		if got := readings(nil, path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := readings([]string{"/x"}, "/a"); !slices.Equal(got, []string{"/x", "/a"}) {
		t.Errorf("what is there already is %q", got)
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://a.com/", "https://a.com/", true},
		{"https://a.com", "https://A.com:443/", true},
		{"http://a.com:80/x", "HTTP://a.com/x", true},
		{"http://a.com:443/x", "http://a.com/x", false},
		{"http://a.com/x", "https://a.com/x", false},
		{"http://a.com/x", "http://b.com/x", false},
		{"http://a.com/x", "http://a.com/y", false},
		{"http://a.com/a%20b", "http://a.com/a b", true},
		{"http://a.com/a/../b", "http://a.com//b", true},
		{"http://a.com/?q=a%20b", "http://a.com/?q=a+b", true},
		{"http://a.com/?q=a", "http://a.com/?q=b", false},
		{"http://a.com/?q=%zz", "http://a.com/?q=a", false},
		{"http://a.com/x#there", "http://a.com/x", true},
		{"/x", "http://a.com/y", true}, // one without a scheme may be any
	} {
		if Same(c.a, c.b) != c.same || Same(c.b, c.a) != c.same {
			t.Errorf("%s and %s: want the same: %v", c.a, c.b, c.same)
		}
	}
}

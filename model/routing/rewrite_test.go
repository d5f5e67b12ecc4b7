package routing

import "testing"

func TestRewrite(t *testing.T) {
	cases := map[string]struct{ pattern, replacement, text, want string }{
		"a prefix goes":               {"^/api", "", "/api/x", "/x"},
		"groups":                      {"^/([^/]*)/(.*)$", "/$2/$1", "/a/b", "/b/a"},
		"a digit behind a group":      {"^/(v)(.*)$", "/$10$2", "/v/x", "/v0/x"},
		"a letter behind a group":     {"^/(v)$", "/$1x", "/v", "/vx"},
		"a query is part of it":       {`^([^?]*)\?(.*)$`, "$1/q?$2", "/a?b=c", "/a/q?b=c"},
		"what does not match stays":   {"^/b", "/c", "/a", "/a"},
		"what is behind it stays too": {"^/a", "/b", "/a/a?a", "/b/a?a"},
		"no pattern":                  {"", "/b", "/a", "/a"},
	}
	for name, c := range cases {
		if _, got := (Rewrite{URL: c.pattern, URLReplacement: c.replacement}).Apply("h", c.text); got != c.want {
			t.Errorf("%s: %s becomes %s, want %s", name, c.text, got, c.want)
		}
		if got, _ := (Rewrite{Host: c.pattern, HostReplacement: c.replacement}).Apply(c.text, "/"); got != c.want {
			t.Errorf("%s: host %s becomes %s, want %s", name, c.text, got, c.want)
		}
	}
}

func TestCheckReplacement(t *testing.T) {
	cases := map[string]struct {
		pattern, replacement string
		refused              bool
	}{
		"a prefix":                        {"^/a", "", false},
		"a group":                         {"^(/.*)$", "/b$1", false},
		"alternatives in a group":         {"^/(a|b)", "/c", false},
		"no beginning":                    {"/a", "/b", true},
		"a beginning of some of it":       {"^/a|/b", "/c", true},
		"no expression":                   {"^(", "/", true},
		"a class of Unicode":              {`^\pL`, "/", true},
		"what needs backtracking":         {"^/(?=a)", "/", true},
		"a group that there is not":       {"^/a$", "/$1", true},
		"the whole match, which is not 1": {"^/(a)$", "/$0", true},
		"a name":                          {"^/(a)", "$x", true},
		"a dollar at the end":             {"^/(b)", "/$", true},
	}
	for name, c := range cases {
		if err := CheckReplacement(c.pattern, c.replacement); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package language

import (
	"testing"
)

func TestFindGivesShortestWitness(t *testing.T) {
	cases := map[string]struct {
		in, out []string
		want    string
		verdict Verdict
	}{
		"a prefix behind a glob that covers it":         {[]string{`/a(/.*)?`}, []string{`/a.*`}, "", None},
		"a prefix behind an exact and a glob, together": {[]string{`/a(/.*)?`}, []string{`/a|/a..*`}, "", None},
		"a glob that leaves the trailing slash":         {[]string{`/a(/.*)?`}, []string{`/a|/a/..*`}, "/a/", Some},
		"two globs that meet":                           {[]string{`/.*b`, `/a.*`}, nil, "/ab", Some},
		"two globs that do not":                         {[]string{`/.*b`, `/.*c`}, nil, "", None},
		"a word boundary is beyond this":                {[]string{`\ba`}, nil, "", Unsure},
		"anchors inside a pattern":                      {[]string{`^/a$`, `/.*`}, nil, "/a", Some},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, verdict := Find(append(c.in, `[!-~]*`), c.out)
			if got != c.want || verdict != c.verdict {
				t.Errorf("Find = %q, %v; want %q, %v", got, verdict, c.want, c.verdict)
			}
		})
	}
}

package request

import "testing"

func TestMalformedRequestsAreRefused(t *testing.T) {
	for name, line := range map[string]string{
		"no answer":                  "GET http://a.com/x",
		"no URL":                     "GET /x -> 404",
		"words behind the URL":       "GET http://a.com/x X-Canary=always -> 404",
		"a header without a colon":   "GET http://a.com/x with X-Canary=always -> 404",
		"a source that is a name":    "GET http://a.com/x from home -> 404",
		"a port that is no number":   "GET http://a.com:web/x -> 404",
		"the parts in another order": "GET http://a.com/x from 10.0.0.1 with X-Canary: always -> 404",
	} {
		if r, err := Parse(line); err == nil {
			t.Errorf("%s: %q is read as %+v", name, line, r)
		}
	}
}

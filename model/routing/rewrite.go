package routing

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// A Rewrite changes requests on their way to a backend. Text that a pattern does not match stays
// unchanged. An empty pattern changes nothing.
type Rewrite struct {
	// URL applies to the path and, after a question mark, the query.
	URL             string `json:"url,omitempty"`
	URLReplacement  string `json:"urlReplacement,omitempty"`
	Host            string `json:"host,omitempty"`
	HostReplacement string `json:"hostReplacement,omitempty"`
}

// Apply returns the host and the URL, without scheme and authority, that a backend gets.
func (r Rewrite) Apply(host, url string) (newHost, newURL string) { return r.Compile()(host, url) }

// Compile returns Apply, for many requests.
func (r Rewrite) Compile() func(host, url string) (newHost, newURL string) {
	newHost, newURL := replacer(r.Host, r.HostReplacement), replacer(r.URL, r.URLReplacement)
	return func(host, url string) (string, string) { return newHost(host), newURL(url) }
}

// groupNumber matches a group in a replacement. A cloud ends the number after one digit, which
// needs braces in Go.
var groupNumber = regexp.MustCompile(`\$([0-9])`)

// replacer replaces the first match. A pattern that does not compile matches nothing.
func replacer(pattern, replacement string) func(text string) string {
	re, err := regexp.Compile(pattern)
	if pattern == "" || err != nil {
		return func(text string) string { return text }
	}
	replacement = groupNumber.ReplaceAllString(replacement, "$${$1}")
	return func(text string) string {
		at := re.FindStringSubmatchIndex(text)
		if at == nil {
			return text
		}
		return text[:at[0]] + string(re.ExpandString(nil, replacement, text, at)) + text[at[1]:]
	}
}

// CheckReplacement returns the error in a pattern and its replacement. A pattern has to begin with
// ^, so that it cannot match twice, for which the behaviour of clouds is undocumented.
func CheckReplacement(pattern, replacement string) error {
	re, err := regexp.Compile(pattern)
	switch {
	case err != nil:
		return fmt.Errorf("reading %q as a regular expression: %w", pattern, err)
	case !strings.HasPrefix(pattern, "^") || alternatives(pattern):
		return fmt.Errorf("%q has to begin with ^ and to have no alternatives outside of groups", pattern)
	case unicodeClass.MatchString(pattern):
		return fmt.Errorf(`%q has a class such as \pL, which clouds do not know`, pattern)
	}
	for rest := replacement; ; {
		at := strings.IndexByte(rest, '$')
		if at < 0 {
			return nil
		}
		rest = rest[at+1:]
		if rest == "" || rest[0] < '1' || rest[0] > '9' {
			return fmt.Errorf("a dollar in %q is not followed by the number of a group", replacement)
		}
		if n := int(rest[0] - '0'); n > re.NumSubexp() {
			return fmt.Errorf("%q has group %d, and %q has %d", replacement, n, pattern, re.NumSubexp())
		}
	}
}

var unicodeClass = regexp.MustCompile(`\\[pP]`)

// alternatives reports whether a pattern has alternatives outside of groups, of which some may not
// begin with ^.
func alternatives(pattern string) bool {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && tree.Op == syntax.OpAlternate
}

func (r Rewrite) String() string {
	var said []string
	if r.URL != "" {
		said = append(said, fmt.Sprintf("url %s to %s", printable.Word(r.URL),
			printable.Word(r.URLReplacement)))
	}
	if r.Host != "" {
		said = append(said, fmt.Sprintf("host %s to %s", printable.Word(r.Host),
			printable.Word(r.HostReplacement)))
	}
	return strings.Join(said, ", ")
}

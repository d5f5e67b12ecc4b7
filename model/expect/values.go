package expect

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
)

// This file checks the values of fields.

func checkNotEmpty(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	return nil
}

func oneOf(values ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(values, value) {
			return fmt.Errorf("%s is none of %s", diag.Quote(value), strings.Join(values, ", "))
		}
		return nil
	}
}

// hostForm matches hosts: labels, with or without a wildcard in front.
var hostForm = regexp.MustCompile(`^(\*|(\*\*?\.)?` + label + `(\.` + label + `)*)$`)

const label = `[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?`

func (h Host) check() error {
	if !hostForm.MatchString(string(h)) {
		return fmt.Errorf("%s is neither a host name, nor one behind \"*.\" or \"**.\", nor \"*\"",
			diag.Quote(string(h)))
	}
	return nil
}

// token matches names of headers and methods (RFC 9110, section 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func method(value string) error {
	if !token.MatchString(value) || value != strings.ToUpper(value) {
		return fmt.Errorf("%s is not a method in capitals", diag.Quote(value))
	}
	return nil
}

func header(name string) error {
	switch {
	case strings.EqualFold(name, "host"):
		return errors.New("the field hosts is for the header Host")
	case !token.MatchString(name):
		return fmt.Errorf("%s is not the name of a header", diag.Quote(name))
	}
	return nil
}

func parameter(name string) error { return checkNotEmpty(name) }

func addressRange(value string) error {
	p, err := netip.ParsePrefix(value)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a range of addresses, such as 10.0.0.0/8", diag.Quote(value))
	case p != p.Masked():
		return fmt.Errorf("%s is not the first address of a range: that is %s",
			diag.Quote(value), p.Masked())
	}
	return nil
}

func rangeOrList(value string) error {
	if strings.Contains(value, "/") {
		return addressRange(value)
	}
	if !strings.HasPrefix(value, "pl-") {
		return fmt.Errorf("%s is neither a range of addresses, such as 10.0.0.0/8, nor a list of "+
			"them, such as pl-0123456789abcdef0", diag.Quote(value))
	}
	return nil
}

func namespacedName(value string) error {
	namespace, name, found := strings.Cut(value, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s is not namespace/name", diag.Quote(value))
	}
	return nil
}

func serviceName(value string) error {
	name, port, withPort := strings.Cut(value, ":")
	if namespacedName(name) != nil || withPort && port == "" {
		return fmt.Errorf("%s is neither namespace/name nor namespace/name:port", diag.Quote(value))
	}
	return nil
}

// toRead is the budget for deciding whether the set of an expectation has a request.
var toRead = requests.Budget{Whole: 1_000_000, Share: 1_000_000}

// checkPath refuses paths that no request has.
func checkPath(p routing.Path) error {
	if p.Type == routing.Regex && p.Expression() == nil {
		return fmt.Errorf("%s is not a regular expression", diag.Quote(p.Value))
	}
	rest := requests.Entry{Paths: requests.Anything, Answer: outSet}
	found, undecided := requests.NewFinder(toRead).Find(
		[]requests.Entry{{Paths: requests.Anything, Answer: wrong}},
		[]requests.Entry{{Paths: []routing.Path{p}, Answer: inSet}, rest}, isWrongInSet)
	if len(found) == 0 && undecided.Why == "" {
		return fmt.Errorf(
			"no request has a path like %s: paths begin with \"/\", and end before \"?\" and \"#\"",
			diag.Quote(p.Value))
	}
	return nil
}

// urlOf reads a URL. It matches requests with any further query parameters.
func urlOf(text string) (URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return URL{}, fmt.Errorf("%s is not a URL", diag.Quote(text))
	}
	out := URL{Text: text, Scheme: u.Scheme, Host: Host(strings.ToLower(u.Hostname()))}
	usual, known := map[string]int32{"http": 80, "https": 443}[u.Scheme]
	if out.Port = usual; u.Port() != "" {
		port, err := strconv.ParseInt(u.Port(), 10, 32)
		if err != nil || port < 1 || port > 65535 {
			return out, fmt.Errorf("%s has no port of a listener", diag.Quote(text))
		}
		out.Port = int32(port)
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	out.Path = routing.Path{Type: routing.Exact, Value: path}
	parameters := u.Query()
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		for _, v := range parameters[name] {
			out.Query = append(out.Query,
				routing.Condition{Field: "query", Name: name, Values: []string{literal(v)}})
		}
	}
	switch {
	case !known:
		return out, fmt.Errorf("%s does not begin with http:// or https://", diag.Quote(text))
	case out.Host.check() != nil || strings.Contains(string(out.Host), "*"):
		return out, fmt.Errorf("%s does not have the name of a host", diag.Quote(text))
	case u.User != nil || u.Fragment != "":
		return out, fmt.Errorf("%s has a user or a fragment, which load balancers do not see",
			diag.Quote(text))
	}
	return out, checkPath(out.Path)
}

// literal returns a text as a glob. A star becomes "?", any one character.
func literal(text string) string { return strings.ReplaceAll(text, "*", "?") }

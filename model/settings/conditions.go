package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plainyaml"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the conditions that requests have to fulfil besides host and path. No condition
// is ever left out: the path would answer requests that its author excludes.

// The limits of conditions.
const (
	mostEntries    = 100 // of the annotation
	mostConditions = 16  // of one path
)

// A conditionsEntry is one entry of the annotation in its original form.
type conditionsEntry struct {
	backend, path   string
	ruleHost        *string
	header, query   map[string][]string
	headerRegex     map[string][]string
	method, source  []string
	host, hostRegex []string
	queryStrings    []string
}

// Conditions holds the entries of the annotation.
type Conditions []narrowing

// A narrowing limits paths to the requests that fulfil conditions: those of a backend, with a text, of
// rules with a host, or all paths.
type narrowing struct {
	backend, path string
	ruleHost      *string
	when          routing.Conditions
}

// ReadConditions reads the annotation.
func ReadConditions(text string) (Conditions, error) {
	entries, err := entriesOf(text, "conditions", mostEntries)
	if err != nil {
		return nil, err
	}
	out := make(Conditions, len(entries))
	for i, n := range entries {
		e, err := readEntry(n)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		when, err := e.conditions()
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out[i] = narrowing{e.backend, e.path, e.ruleHost, when}
	}
	return out, nil
}

// entriesOf returns the entries of a list of things.
func entriesOf(text, things string, most int) ([]*yaml.Node, error) {
	root, err := plainyaml.Read(text)
	if err != nil {
		return nil, err
	}
	entries, err := plainyaml.List(root)
	switch {
	case err != nil:
		return nil, errors.New("it is not a list of " + things)
	case len(entries) == 0:
		return nil, errors.New("it has no entry")
	case len(entries) > most:
		return nil, fmt.Errorf("it has %d entries, and %d are the most", len(entries), most)
	}
	return entries, nil
}

// readEntry reads one entry.
func readEntry(n *yaml.Node) (e conditionsEntry, err error) {
	text := func(to *string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) { *to, err = plainyaml.Text(n); return err }
	}
	texts := func(to *[]string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) { *to, err = plainyaml.Texts(n); return err }
	}
	named := func(to *map[string][]string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) { *to, err = plainyaml.Entries(n); return err }
	}
	err = plainyaml.Fields(n, map[string]func(*yaml.Node) error{
		"backend": text(&e.backend), "path": text(&e.path),
		"ruleHost": func(n *yaml.Node) error { e.ruleHost = new(string); return text(e.ruleHost)(n) },
		"header":   named(&e.header), "headerRegex": named(&e.headerRegex),
		"host": texts(&e.host), "hostRegex": texts(&e.hostRegex),
		"query": named(&e.query), "queryStrings": texts(&e.queryStrings),
		"method": texts(&e.method), "source": texts(&e.source),
	})
	return e, err
}

// conditions returns the conditions of an entry in canonical order and spelling.
func (e conditionsEntry) conditions() (routing.Conditions, error) {
	var out routing.Conditions
	add := func(c routing.Condition, values []string, check func(string) (string, error)) error {
		what := strings.TrimSpace(c.Field + " " + diag.Cut(c.Name))
		if len(values) == 0 {
			return fmt.Errorf("%s has no value", what)
		}
		for _, v := range values {
			v, err := check(v)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			c.Values = append(c.Values, v)
		}
		slices.Sort(c.Values)
		c.Values = slices.Compact(c.Values)
		out = append(out, c)
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.header)) {
		errs = append(errs, checkHeaderName(name),
			add(routing.Condition{Field: "header", Name: strings.ToLower(name)}, e.header[name], headerValue))
	}
	for _, name := range slices.Sorted(maps.Keys(e.headerRegex)) {
		errs = append(errs, checkHeaderName(name), add(routing.Condition{Field: "header",
			Name: strings.ToLower(name), Regex: true}, e.headerRegex[name], headerExpression))
	}
	if e.host != nil {
		errs = append(errs, add(routing.Condition{Field: "host"}, e.host, hostValue))
	}
	if e.hostRegex != nil {
		errs = append(errs, add(routing.Condition{Field: "host", Regex: true}, e.hostRegex, hostExpression))
	}
	if e.method != nil {
		errs = append(errs, add(routing.Condition{Field: "method"}, e.method, methodValue))
	}
	for _, name := range slices.Sorted(maps.Keys(e.query)) {
		errs = append(errs, checkQueryName(name),
			add(routing.Condition{Field: "query", Name: strings.ToLower(name)}, e.query[name], queryValue))
	}
	if e.queryStrings != nil {
		errs = append(errs, add(routing.Condition{Field: "query"}, e.queryStrings, pairValue))
	}
	if e.source != nil {
		errs = append(errs, add(routing.Condition{Field: "source"}, e.source, sourceValue))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	SortConditions(out)
	if len(out) == 0 {
		return nil, errors.New("it has no condition")
	}
	return out, checkOnce(out)
}

// The characters of names and values. Those of a query are never percent-encoded by clients; clouds
// read others in different ways.
var (
	hostGlob     = regexp.MustCompile(`^[a-z0-9._*?-]+$`)
	headerToken  = regexp.MustCompile("^[A-Za-z0-9!#$%&'+.^_`|~-]+$")
	headerText   = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	methodText   = regexp.MustCompile(`^[A-Z_-]+$`)
	queryText    = regexp.MustCompile(`^[A-Za-z0-9._~:/@!$'(),*?-]+$`)
	longestValue = 128
)

func checkHeaderName(name string) error {
	switch {
	case !headerToken.MatchString(name):
		return fmt.Errorf("%s is not the name of a header", diag.Quote(name))
	case strings.EqualFold(name, "host"):
		return errors.New("the host is what rules and the field host are for")
	}
	return nil
}

func checkQueryName(name string) error {
	if !queryText.MatchString(name) || strings.ContainsAny(name, "*?") {
		return fmt.Errorf("%s is not the name of a parameter that every client sends as it is",
			diag.Quote(name))
	}
	return nil
}

func headerValue(v string) (string, error) {
	if !headerText.MatchString(v) || strings.Contains(v, `\`) || len(v) > longestValue {
		return "", fmt.Errorf("%s is not 1 to %d visible characters, the backslash not among them",
			diag.Quote(v), longestValue)
	}
	return strings.ToLower(v), nil
}

// headerExpression returns a regular expression for the values of a header. Spaces are written as they
// are or as \s; the grave accent is not among the characters that expressions are compared with.
func headerExpression(v string) (string, error) {
	if !headerText.MatchString(v) || strings.Contains(v, "`") || len(v) > longestValue {
		return "", fmt.Errorf("%s is not 1 to %d visible characters, the grave accent not among them",
			diag.Quote(v), longestValue)
	}
	return v, checkExpression(v)
}

// hostExpression returns a regular expression of hosts. Rules have it with a port, and so without anchors.
func hostExpression(v string) (string, error) {
	if !headerText.MatchString(v) || len(v) > longestValue {
		return "", fmt.Errorf("%s is not 1 to %d visible characters", diag.Quote(v), longestValue)
	}
	if err := checkExpression(v); err != nil {
		return "", err
	}
	return v, CheckAnchors(v)
}

// CheckAnchors refuses an expression of hosts with anchors elsewhere than at the ends of its branches.
func CheckAnchors(v string) error {
	branches, complete := routing.Branches(v)
	if !complete || slices.ContainsFunc(branches, func(b routing.Branch) bool { return b.Anchored }) {
		return fmt.Errorf("%s: ^ and $ inside of a group are not taken: write each branch outside of groups, or as a value of its own",
			diag.Quote(v))
	}
	return nil
}

// checkExpression refuses what clouds lack or may read in another way: classes of letters beyond ASCII,
// and the ends of words and of parts of a text.
func checkExpression(v string) error {
	if _, err := regexp.Compile(v); err != nil {
		return fmt.Errorf("%s is not a regular expression: %w", diag.Quote(v), err)
	}
	if found := rareSyntax.FindString(v); found != "" {
		return fmt.Errorf("%s: %s is not taken", diag.Quote(v), found)
	}
	return nil
}

// rareSyntax matches syntax that is refused.
var rareSyntax = regexp.MustCompile(`\[\[:|\\[pPbBAzQECaftnrvx0-7]|\(\?[^:]`)

func hostValue(v string) (string, error) {
	v = strings.ToLower(v)
	if !hostGlob.MatchString(v) || len(v) > longestValue {
		return "", fmt.Errorf("%s is not 1 to %d characters of a host name, or * and ?", diag.Quote(v),
			longestValue)
	}
	return v, nil
}

// pairValue returns a parameter with its value, or a value of any parameter.
func pairValue(v string) (string, error) {
	name, value, named := strings.Cut(v, "=")
	if !named {
		return queryValue(v)
	}
	for _, part := range []string{name, value} {
		if _, err := queryValue(part); err != nil {
			return "", err
		}
	}
	return strings.ToLower(v), nil
}

func queryValue(v string) (string, error) {
	if !queryText.MatchString(v) || len(v) > longestValue {
		return "", fmt.Errorf("%s is not 1 to %d characters that every client sends as they are",
			diag.Quote(v), longestValue)
	}
	return strings.ToLower(v), nil
}

func methodValue(v string) (string, error) {
	if !methodText.MatchString(v) || len(v) > 40 {
		return "", fmt.Errorf("%s is not a method in upper case", diag.Quote(v))
	}
	return v, nil
}

// sourceValue returns an address range. A single address is a range, too.
func sourceValue(v string) (string, error) {
	if alone, err := netip.ParseAddr(v); err == nil && alone.Zone() == "" {
		return netip.PrefixFrom(alone, alone.BitLen()).String(), nil
	}
	p, err := netip.ParsePrefix(v)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is neither an address nor a range of addresses", diag.Quote(v))
	case p != p.Masked():
		return "", fmt.Errorf("%s has bits behind its prefix: %s was meant, perhaps", v, p.Masked())
	}
	return p.String(), nil
}

// checkOnce refuses two conditions on one part of a request.
func checkOnce(sorted routing.Conditions) error {
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.Field == b.Field && a.Name == b.Name {
			return fmt.Errorf("it has two conditions on %s", strings.TrimSpace(a.Field+" "+diag.Cut(a.Name)))
		}
	}
	return nil
}

// appliesTo reports whether the narrowing applies to a path of a rule with a host.
func (n narrowing) appliesTo(host string, p *networkingv1.HTTPIngressPath) bool {
	return (n.backend == "" || n.backend == backendName(&p.Backend)) &&
		(n.path == "" || n.path == p.Path) && (n.ruleHost == nil || *n.ruleHost == host)
}

func backendName(b *networkingv1.IngressBackend) string {
	if b.Resource != nil {
		return b.Resource.Name
	}
	return b.Service.Name
}

// Of returns the conditions of a path of a rule with a host, from all entries that apply to it.
func (c Conditions) Of(host string, p *networkingv1.HTTPIngressPath) routing.Conditions {
	var out routing.Conditions
	for _, n := range c {
		if n.appliesTo(host, p) {
			out = append(out, n.when...)
		}
	}
	SortConditions(out)
	return out
}

// SortConditions puts conditions in canonical order.
func SortConditions(all routing.Conditions) {
	slices.SortStableFunc(all, func(a, b routing.Condition) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Name, b.Name))
	})
}

// Check refuses entries that apply to no path, entries that would not apply to the default backend
// although it answers the same requests, and two conditions on one part of a request.
func (c Conditions) Check(spec *networkingv1.IngressSpec) error {
	about := make([]bool, len(c))
	for _, r := range spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for i := range r.HTTP.Paths {
			p := &r.HTTP.Paths[i]
			for j, n := range c {
				about[j] = about[j] || n.appliesTo(r.Host, p)
			}
			when := c.Of(r.Host, p)
			err := checkOnce(when)
			if strings.HasPrefix(r.Host, "*.") && when.Host() != nil {
				err = fmt.Errorf("its rule is for the wildcard %s, and it has a condition on the host, too: write "+
					"all hosts into the condition, under a rule without a host", r.Host)
			}
			if len(when) > mostConditions {
				err = fmt.Errorf("it has %d conditions, and %d are the most", len(when), mostConditions)
			}
			if err != nil {
				return fmt.Errorf("path %s of backend %s: %w", diag.Quote(p.Path), backendName(&p.Backend), err)
			}
		}
	}
	for i, n := range c {
		switch {
		case !about[i]:
			return fmt.Errorf("entry %d is about no path of this Ingress", i+1)
		case spec.DefaultBackend != nil && n.path == "" &&
			(n.backend == "" || n.backend == backendName(spec.DefaultBackend)):
			return fmt.Errorf("entry %d would not hold for spec.defaultBackend, which answers whatever no "+
				"path matches: give it a path, or another backend", i+1)
		}
	}
	return nil
}

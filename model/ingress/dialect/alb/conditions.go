package alb

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads conditions: config_types.go and model_build_listener_rules.go. Hosts and paths of
// conditions are alternatives of those of the rule; all other conditions have to hold besides.

// conditions are those of one annotation.
type conditions struct {
	hosts, hostRegexes []string
	paths, pathRegexes []string
	entry              entry
}

// An entry is one of fairlead.dev/conditions.
type entry struct {
	Backend      string              `json:"backend,omitempty"`
	Path         string              `json:"path,omitempty"`
	RuleHost     *string             `json:"ruleHost,omitempty"`
	Header       map[string][]string `json:"header,omitempty"`
	HeaderRegex  map[string][]string `json:"headerRegex,omitempty"`
	Query        map[string][]string `json:"query,omitempty"`
	QueryStrings []string            `json:"queryStrings,omitempty"`
	Method       []string            `json:"method,omitempty"`
	Source       []string            `json:"source,omitempty"`
	Host         []string            `json:"host,omitempty"`
	HostRegex    []string            `json:"hostRegex,omitempty"`
}

func (e entry) empty() bool {
	return len(e.Header)+len(e.HeaderRegex)+len(e.Query)+len(e.QueryStrings)+len(e.Method)+len(e.Source) == 0
}

// A condition is one of the annotation.
type condition struct {
	Field                                                 string
	HostHeaderConfig, PathPatternConfig, HTTPHeaderConfig *conditionValues
	HTTPRequestMethodConfig, SourceIPConfig               *conditionValues
	QueryStringConfig                                     *struct{ Values []queryPair }
}

type conditionValues struct {
	HTTPHeaderName      string
	Values, RegexValues []string
}

type queryPair struct {
	Key   *string
	Value string
}

// readConditions reads the conditions of a backend.
func readConditions(value string) made {
	var all []condition
	if err := readJSON(value, &all); err != nil {
		return refused("%s is no list of conditions: %s", diag.Quote(value), err)
	}
	out := conditions{}
	for _, c := range all {
		if err := out.add(c); err != nil {
			return refused("%s", err)
		}
	}
	if len(out.hosts) > 0 && len(out.hostRegexes) > 0 || len(out.paths) > 0 && len(out.pathRegexes) > 0 {
		return refused("a field has values and regexValues")
	}
	whole := out.entry
	if _, whole.Host, whole.HostRegex = hostsOf("", out); whole.empty() && len(whole.Host)+len(whole.HostRegex) == 0 {
		return made{extra: out}
	}
	if _, err := settings.ReadConditions(dialect.YAML([]entry{whole})); err != nil {
		return refused("%s", strings.TrimPrefix(err.Error(), "entry 1: "))
	}
	return made{extra: out}
}

// add adds a condition.
func (out *conditions) add(c condition) error {
	if c.Field == "query-string" {
		return out.entry.addQuery(c)
	}
	config := map[string]*conditionValues{
		"host-header": c.HostHeaderConfig, "path-pattern": c.PathPatternConfig, "http-header": c.HTTPHeaderConfig,
		"http-request-method": c.HTTPRequestMethodConfig, "source-ip": c.SourceIPConfig,
	}[c.Field]
	if config == nil || (len(config.Values) == 0) == (len(config.RegexValues) == 0) {
		return fmt.Errorf("%s is not a field of conditions with either values or regexValues", diag.Quote(c.Field))
	}
	switch c.Field {
	case "host-header":
		for _, re := range config.RegexValues {
			if err := settings.CheckAnchors(re); err != nil {
				return err
			}
		}
		out.hosts = append(out.hosts, config.Values...)
		out.hostRegexes = append(out.hostRegexes, config.RegexValues...)
	case "path-pattern":
		for _, glob := range config.Values {
			if glob == "" || !strings.ContainsAny(glob[:1], "/*?") {
				return fmt.Errorf("the path %s matches no request, since paths begin with /: write it with / in front", diag.Quote(glob))
			}
		}
		out.paths = append(out.paths, config.Values...)
		out.pathRegexes = append(out.pathRegexes, config.RegexValues...)
	case "http-header":
		return out.entry.addHeader(strings.ToLower(config.HTTPHeaderName), config.Values, config.RegexValues)
	case "http-request-method":
		return addOnce(&out.entry.Method, c.Field, config.Values)
	case "source-ip":
		var sources []string
		for _, s := range config.Values {
			if p, err := netip.ParsePrefix(s); err == nil {
				s = p.Masked().String()
			}
			sources = append(sources, s)
		}
		return addOnce(&out.entry.Source, c.Field, sources)
	}
	return nil
}

func addOnce(to *[]string, field string, values []string) error {
	if len(*to) > 0 {
		return fmt.Errorf("%s is there twice: write all values in one", field)
	}
	if len(values) == 0 {
		return fmt.Errorf("%s has no values", field)
	}
	*to = values
	return nil
}

func (e *entry) addHeader(name string, globs, regexes []string) error {
	if e.Header[name] != nil || e.HeaderRegex[name] != nil {
		return fmt.Errorf("there are two conditions on the header %s, and a request has to fulfil both, which Fairlead cannot "+
			"ask of one header: write one, with regexValues that stand for both", diag.Quote(name))
	}
	if len(regexes) == 0 {
		e.Header = with(e.Header, name, globs)
		return nil
	}
	for i, re := range regexes {
		regexes[i] = routing.WholeText(re)
	}
	e.HeaderRegex = with(e.HeaderRegex, name, regexes)
	return nil
}

// addQuery adds a condition of the query. One parameter has a condition by its name; several are
// alternatives.
func (e *entry) addQuery(c condition) error {
	if c.QueryStringConfig == nil || len(c.QueryStringConfig.Values) == 0 {
		return errors.New("query-string has no value")
	}
	pairs := c.QueryStringConfig.Values
	name := strings.ToLower(value(pairs[0].Key))
	same := name != "" && !strings.ContainsAny(name, "*?")
	var values, texts []string
	for _, p := range pairs {
		if p.Value == "" {
			return errors.New("query-string has an empty value")
		}
		if strings.Contains(value(p.Key)+p.Value, `\`) {
			return fmt.Errorf("query-string: a backslash, which has %s stand for the character behind it, is not read: write ? in "+
				"its place, which matches any character, if that will do", diag.Quote(p.Value))
		}
		if value(p.Key) == "" && strings.Contains(p.Value, "=") {
			return fmt.Errorf("query-string: %s stands for a value of any parameter, and for no name and value: write the name "+
				"in key", diag.Quote(p.Value))
		}
		same = same && strings.EqualFold(value(p.Key), name)
		values, texts = append(values, p.Value), append(texts, strings.TrimPrefix(value(p.Key)+"="+p.Value, "="))
	}
	switch {
	case same && e.Query[name] == nil:
		e.Query = with(e.Query, name, values)
	case !same && len(e.QueryStrings) == 0:
		e.QueryStrings = texts
	default:
		return errors.New("there are two conditions on the same part of the query, of which one has to be left out")
	}
	return nil
}

func with(m map[string][]string, name string, values []string) map[string][]string {
	if m == nil {
		m = map[string][]string{}
	}
	m[name] = values
	return m
}

// wholePath returns routing.WholeText for a path, which the API server lets begin with a slash only.
func wholePath(pattern string) string {
	out := routing.WholeText(pattern)
	if !strings.HasPrefix(out, "/") {
		out = "/{0}" + out
	}
	return out
}

// rooted returns globs that begin with a slash and match the same paths together: each path begins with one.
func rooted(glob string) []string {
	rest := strings.TrimLeft(glob, "*")
	var out []string
	if len(rest) < len(glob) {
		out = append(out, "/*"+rest)
	}
	switch {
	case strings.HasPrefix(rest, "/"):
		out = append(out, rest)
	case strings.HasPrefix(rest, "?"):
		out = append(out, "/"+rest[1:])
	}
	return out
}

// isHost reports whether the host of a rule can be written so. Others are conditions.
func isHost(h string) bool {
	if strings.HasPrefix(h, "*.") {
		return validation.IsWildcardDNS1123Subdomain(h) == nil
	}
	_, err := netip.ParseAddr(h)
	return err != nil && validation.IsDNS1123Subdomain(h) == nil
}

// ofGlob returns the regular expression of a glob.
func ofGlob(glob string) string {
	var b strings.Builder
	for _, r := range glob {
		switch {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		case strings.ContainsRune(`\.+()[]{}|^$`, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

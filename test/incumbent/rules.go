package incumbent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// A rule is a rule of a listener.
type rule struct {
	conditions []condition
	action     action
	auth       string
	refused    string // a value of auth that AWS refuses
	signs      bool   // requests over HTTPS have to be signed in
	transforms []transform
	answer     Answer
	of         member
	signIn     *signIn // nil for none
	// The controller drops the rule: as a redirect to itself, or behind another one.
	loop, behind bool
}

// A condition is a condition of the annotation conditions.${name}, and of the load balancer. Go reads
// its fields in any case, as the controller does.
type condition struct {
	Field                                                 string
	HostHeaderConfig, PathPatternConfig, HTTPHeaderConfig *values
	HTTPRequestMethodConfig, SourceIPConfig               *values
	QueryStringConfig                                     *struct{ Values []pair }
	name                                                  string // of the header
	globs, regexes                                        []string
	pairs                                                 []pair
	match                                                 matcher
}

type values struct {
	HTTPHeaderName      string
	Values, RegexValues []string
}

type pair struct {
	Key   *string
	Value string
}

// read flattens the config of a condition's field and says whether it is right (config_types.go). A
// field of another name is no error, and the condition is dropped: a misspelt source-ip restricts
// nothing (config_types.go:358-397, model_build_listener_rules.go:153-198).
func (c *condition) read() error {
	config := map[string]*values{
		"host-header": c.HostHeaderConfig, "path-pattern": c.PathPatternConfig, "http-header": c.HTTPHeaderConfig,
		"http-request-method": c.HTTPRequestMethodConfig, "source-ip": c.SourceIPConfig,
	}
	switch c.Field {
	case "query-string":
		if c.QueryStringConfig == nil || len(c.QueryStringConfig.Values) == 0 {
			return errors.New("query-string without values")
		}
		c.pairs = c.QueryStringConfig.Values
		if slices.ContainsFunc(c.pairs, func(p pair) bool { return p.Value == "" }) {
			return errors.New("query-string with an empty value")
		}
	case "http-request-method", "source-ip":
		if config[c.Field] == nil || len(config[c.Field].Values) == 0 {
			return fmt.Errorf("%s without values", c.Field)
		}
		c.globs = config[c.Field].Values
	case "host-header", "path-pattern", "http-header":
		v := config[c.Field]
		if v == nil || (len(v.Values) == 0) == (len(v.RegexValues) == 0) {
			return fmt.Errorf("%s needs either values or regexValues", c.Field)
		}
		c.name, c.globs, c.regexes = v.HTTPHeaderName, v.Values, v.RegexValues
	}
	return nil
}

// readConditions reads the annotation conditions.${name}, whose name is the backend's Service.
func readConditions(annotations map[string]string, name string) ([]condition, error) {
	var read []condition
	if err := readJSON(annotations, "conditions."+name, &read); err != nil {
		return nil, err
	}
	for i := range read {
		if err := read[i].read(); err != nil {
			return nil, err
		}
	}
	return read, nil
}

func readJSON(annotations map[string]string, name string, into any) error {
	raw, has := annotations[prefix+name]
	if !has {
		return nil
	}
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// sorted returns the paths of one rule: Exact, then the longest Prefix, then the others, each as they
// are written (model_build_listener_rules.go:92-104). Other rules and other hosts have no part in it.
func sorted(paths []networkingv1.HTTPIngressPath) []networkingv1.HTTPIngressPath {
	rank := func(p networkingv1.HTTPIngressPath) int {
		switch typeOf(p) {
		case networkingv1.PathTypeExact:
			return -1 << 30
		case networkingv1.PathTypePrefix:
			return -len(p.Path)
		}
		return 1
	}
	out := slices.Clone(paths)
	slices.SortStableFunc(out, func(x, y networkingv1.HTTPIngressPath) int { return rank(x) - rank(y) })
	return out
}

func typeOf(p networkingv1.HTTPIngressPath) networkingv1.PathType {
	if p.PathType == nil {
		return networkingv1.PathTypeImplementationSpecific
	}
	return *p.PathType
}

// patterns returns the path's patterns (model_build_listener_rules.go:230-288).
func (m member) patterns(p networkingv1.HTTPIngressPath) (globs, regexes []string, err error) {
	switch kind := typeOf(p); {
	case kind == networkingv1.PathTypeImplementationSpecific && p.Path != "":
		raw, has := m.Annotations[prefix+"use-regex-path-match"]
		regex, err := strconv.ParseBool(raw)
		if has && err != nil {
			return nil, nil, err
		}
		if has && regex {
			return nil, []string{p.Path[1:]}, nil // the slash that Kubernetes asks for
		}
		return []string{p.Path}, nil, nil
	case kind != networkingv1.PathTypePrefix && kind != networkingv1.PathTypeExact && kind != networkingv1.PathTypeImplementationSpecific:
		return nil, nil, fmt.Errorf("unknown path type %s", kind)
	case p.Path == "":
		return nil, nil, nil
	case kind == networkingv1.PathTypePrefix && p.Path == "/":
		return []string{"/*"}, nil, nil
	case strings.ContainsAny(p.Path, "*?"):
		return nil, nil, fmt.Errorf("a wildcard in path %s of type %s", p.Path, kind)
	case kind == networkingv1.PathTypePrefix:
		trimmed := strings.TrimSuffix(p.Path, "/")
		return []string{trimmed, trimmed + "/*"}, nil, nil
	}
	return []string{p.Path}, nil, nil
}

// conditions adds host and path of a rule to the conditions of its backend. Values of host and path
// are alternatives of those that the Ingress has (model_build_listener_rules.go:130-227).
func (m member) conditions(host string, path networkingv1.HTTPIngressPath, extra []condition) ([]condition, error) {
	hosts, paths := condition{Field: "host-header"}, condition{Field: "path-pattern"}
	if host != "" {
		hosts.globs = []string{host}
	}
	var err error
	if paths.globs, paths.regexes, err = m.patterns(path); err != nil {
		return nil, err
	}
	var out []condition
	for _, c := range extra {
		switch c.Field {
		case "host-header":
			hosts.globs, hosts.regexes = append(hosts.globs, c.globs...), append(hosts.regexes, c.regexes...)
		case "path-pattern":
			paths.globs, paths.regexes = append(paths.globs, c.globs...), append(paths.regexes, c.regexes...)
		case "http-header", "http-request-method", "query-string", "source-ip":
			out = append(out, c)
		}
	}
	for _, c := range []condition{hosts, paths} {
		if len(c.globs) > 0 && len(c.regexes) > 0 {
			return nil, fmt.Errorf("%s has values and regexValues", c.Field)
		}
		if len(c.globs)+len(c.regexes) > 0 {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = []condition{{Field: "path-pattern", globs: []string{"/*"}}}
	}
	for i := range out {
		out[i].match = matcherOf(out[i])
	}
	return out, nil
}

// optimise marks redirects to themselves, and then rules behind a redirect that takes all of their
// requests (rule_optimizer.go:47-85). Both look at hosts and paths as texts.
func optimise(port int32, https bool, rules []rule) {
	for i := range rules {
		r := &rules[i]
		r.loop = r.loops(port, https)
		r.behind = slices.ContainsFunc(rules[:i], func(before rule) bool { return !before.loop && !before.behind && before.shadows(*r) })
	}
}

// hostsAndPaths returns the texts of host and path conditions. Hosts by regexValues are missing, as in
// rule_optimizer.go:98 and 150.
func (r rule) hostsAndPaths() (hosts, paths []string, regexPaths, others bool) {
	for _, c := range r.conditions {
		switch c.Field {
		case "host-header":
			hosts = c.globs
		case "path-pattern":
			paths, regexPaths = append(slices.Clone(c.globs), c.regexes...), len(c.regexes) > 0
		default:
			others = true
		}
	}
	return hosts, paths, regexPaths, others
}

// loops follows rule_optimizer.go:88-142. One of several paths or hosts is enough: a redirect of Prefix
// /a to /a is dropped with its requests for /a/b. Other conditions, such as on headers, do not count.
func (r rule) loops(port int32, https bool) bool {
	if r.action.Type != "redirect" {
		return false
	}
	hosts, paths, regexPaths, _ := r.hostsAndPaths()
	to, protocol := r.action.RedirectConfig, "HTTP"
	if https {
		protocol = "HTTPS"
	}
	stays := func(part *string, same ...string) bool { return part == nil || slices.Contains(same, *part) }
	return !regexPaths && stays(to.Host, append([]string{"#{host}"}, hosts...)...) &&
		stays(to.Path, append([]string{"/#{path}"}, paths...)...) &&
		stays(to.Port, "#{port}", strconv.Itoa(int(port))) && stays(to.Protocol, "#{protocol}", protocol) &&
		stays(to.Query, "#{query}")
}

// shadows follows rule_optimizer.go:64-85 and 145-182. A redirect for hosts by regexValues shadows
// rules of all hosts, since it has no hosts there.
func (r rule) shadows(later rule) bool {
	hosts, paths, _, others := r.hostsAndPaths()
	if r.action.Type != "redirect" || others {
		return false
	}
	laterHosts, laterPaths, _, _ := later.hostsAndPaths()
	within := func(all, some []string) bool {
		return len(all) == 0 || len(some) > 0 && !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	return within(hosts, laterHosts) && (slices.Contains(paths, "/*") || within(paths, laterPaths))
}

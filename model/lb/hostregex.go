package lb

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"fairlead.dev/fairlead/model/routing"
)

// This file writes hosts as regular expressions, and reads such expressions back as hosts.

// HostRegex writes a host as a regular expression, without anchors. With anyCase it matches both
// cases of each letter.
func HostRegex(h routing.Host, anyCase bool) string {
	name, label := string(h), ""
	if h.Wildcard() {
		name, label = strings.TrimPrefix(name, "*."), `[^.]+\.`
	}
	if !anyCase {
		return label + regexp.QuoteMeta(name)
	}
	var b strings.Builder
	for _, r := range name {
		if upper := unicode.ToUpper(r); upper != r {
			b.WriteString("[" + string(r) + string(upper) + "]")
			continue
		}
		b.WriteString(regexp.QuoteMeta(string(r)))
	}
	return label + b.String()
}

// A speltHost is one alternative of a host's regular expression as HostRegex writes it.
var speltHost = regexp.MustCompile(`^(\[\^\.\]\+\\\.)?((?:\[[a-z][A-Z]\]|\\\.|[a-z0-9_-])+)$`)

// hostsOfRegex returns the hosts that HostRegex wrote as this regular expression, or nil if it is
// another one.
func hostsOfRegex(expression string) []routing.Host {
	alternatives, _ := hostAlternatives(expression)
	out := make([]routing.Host, len(alternatives))
	for i, one := range alternatives {
		if out[i] = hostOfRegex(one); out[i] == routing.Any {
			return nil
		}
	}
	return out
}

// hostEnds are the ends of expressions for hosts, of which one allows a port.
var hostEnds = []string{`(:[0-9]+)?$`, `$`}

// hostAlternatives returns the alternatives of an expression for hosts, and its end.
func hostAlternatives(expression string) (alternatives []string, end string) {
	body := strings.TrimPrefix(expression, "^")
	for _, e := range hostEnds {
		if strings.HasSuffix(body, e) {
			body, end = strings.TrimSuffix(body, e), e
			break
		}
	}
	if strings.HasPrefix(body, "(") && strings.HasSuffix(body, ")") {
		body = body[1 : len(body)-1]
	}
	return strings.Split(body, "|"), end
}

// hostOfRegex returns the host that HostRegex wrote as an alternative; "" if it is another one.
func hostOfRegex(alternative string) routing.Host {
	parts := speltHost.FindStringSubmatch(alternative)
	if parts == nil {
		return routing.Any
	}
	var name strings.Builder
	if parts[1] != "" {
		name.WriteString("*.")
	}
	for i := 0; i < len(parts[2]); i++ {
		switch parts[2][i] {
		case '[': // the letter, then its upper case and the bracket
			name.WriteByte(parts[2][i+1])
			i += 3
		case '\\':
		default:
			name.WriteByte(parts[2][i])
		}
	}
	return routing.Host(name.String())
}

// Hosts returns the hosts of a rule, of values and of expressions that HostRegex wrote: Any without
// a condition on them.
func (r Rule) Hosts() (out []routing.Host) {
	c := r.Condition("host")
	if c == nil {
		return []routing.Host{routing.Any}
	}
	for _, v := range c.Values {
		out = append(out, routing.Host(strings.ToLower(v)))
	}
	for _, expression := range c.Regex {
		out = append(out, hostsOfRegex(expression)...)
	}
	return out
}

// ForHosts returns a rule for some of its hosts; is reports whether it has any of these. An expression
// that HostRegex did not write counts as Any.
func (r Rule) ForHosts(keep func(routing.Host) bool) (some Rule, is bool) {
	at := slices.IndexFunc(r.Conditions, func(c Condition) bool { return c.Field == "host" })
	if at < 0 {
		return r, keep(routing.Any)
	}
	c := &r.Conditions[at]
	kept := Condition{Field: c.Field}
	for _, v := range c.Values {
		if keep(routing.Host(strings.ToLower(v))) {
			kept.Values = append(kept.Values, v)
		}
	}
	for _, expression := range c.Regex {
		all, end := hostAlternatives(expression)
		isOther := hostsOfRegex(expression) == nil
		some := slices.DeleteFunc(slices.Clone(all), func(one string) bool {
			if isOther {
				return !keep(routing.Any)
			}
			return !keep(hostOfRegex(one))
		})
		switch len(some) {
		case 0:
		case len(all):
			kept.Regex = append(kept.Regex, expression)
		case 1:
			kept.Regex = append(kept.Regex, "^"+some[0]+end)
		default:
			kept.Regex = append(kept.Regex, "^("+strings.Join(some, "|")+")"+end)
		}
	}
	r.Conditions = slices.Clone(r.Conditions)
	r.Conditions[at] = kept
	return r, len(kept.Values)+len(kept.Regex) > 0
}

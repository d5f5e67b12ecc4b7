package lb

import (
	"regexp"
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
	body := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$"),
		`(:[0-9]+)?`)
	if strings.HasPrefix(body, "(") && strings.HasSuffix(body, ")") {
		body = body[1 : len(body)-1]
	}
	var out []routing.Host
	for _, one := range strings.Split(body, "|") {
		parts := speltHost.FindStringSubmatch(one)
		if parts == nil {
			return nil
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
		out = append(out, routing.Host(name.String()))
	}
	return out
}

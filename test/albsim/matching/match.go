package matching

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file matches requests.

// Match reports whether a request matches all conditions of a rule.
func Match(conditions []elb.RuleCondition, r Request, how Reading) bool {
	for _, c := range conditions {
		if !matches(readCondition(c), r, how) {
			return false
		}
	}
	return true
}

func matches(c condition, r Request, how Reading) bool {
	switch c.field {
	case fieldHost:
		host := r.Host
		if name, port, ok := strings.Cut(host, ":"); ok && (!how.HostWithPort || port == "80" || port == "443") {
			host = name
		}
		sent := host
		if !how.HostAsSent {
			sent = strings.ToLower(host)
		}
		return anyOf(c, strings.ToLower(host), sent, strings.ToLower)
	case fieldPath:
		path := how.Normalised(r.Path)
		return anyOf(c, path, path, nil)
	case fieldHeader:
		value, ok := r.Headers[strings.ToLower(c.name)]
		return ok && anyOf(c, strings.ToLower(value), value, strings.ToLower)
	case fieldMethod:
		return slices.Contains(c.values, cmp.Or(r.Method, "GET"))
	case fieldSource:
		ip, err := netip.ParseAddr(r.Source)
		return err == nil && slices.ContainsFunc(c.values, func(v string) bool { return netip.MustParsePrefix(v).Contains(ip) })
	case fieldQuery:
		return matchesQuery(c.queries, r.Query)
	}
	return false
}

// anyOf reports whether a value matches a text, or an expression what was sent.
func anyOf(c condition, text, sent string, fold func(string) string) bool {
	for _, v := range c.values {
		if fold != nil {
			v = fold(v)
		}
		if Glob(v).MatchString(text) {
			return true
		}
	}
	return slices.ContainsFunc(c.regexes, func(v string) bool { return Expression(v).MatchString(sent) })
}

func matchesQuery(wanted []elb.QueryStringKeyValuePair, query string) bool {
	for _, part := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		for _, w := range wanted {
			keyFits := w.Key == nil || queryGlob(strings.ToLower(*w.Key)).MatchString(strings.ToLower(key))
			if keyFits && queryGlob(strings.ToLower(aws.ToString(w.Value))).MatchString(strings.ToLower(value)) {
				return true
			}
		}
	}
	return false
}

// expressions keeps what was compiled, for the same values are looked at again and again.
var expressions sync.Map

// Expression is a regular expression. It was checked when it was set.
func Expression(text string) *regexp.Regexp {
	if known, ok := expressions.Load(text); ok {
		return known.(*regexp.Regexp)
	}
	compiled := regexp.MustCompile(text)
	expressions.Store(text, compiled)
	return compiled
}

// globs keeps the expressions of values.
var globs sync.Map

// Glob is the expression of a value with * and ?.
func Glob(value string) *regexp.Regexp {
	if known, ok := globs.Load(value); ok {
		return known.(*regexp.Regexp)
	}
	made := Expression(`(?s)^` + globText(value) + "$")
	globs.Store(value, made)
	return made
}

// queryGlob is the same for keys and values of queries, where a backslash makes * and ? characters like others:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_QueryStringConditionConfig.html.
func queryGlob(value string) *regexp.Regexp {
	if !strings.Contains(value, `\`) {
		return Glob(value)
	}
	parts := strings.Split(strings.NewReplacer(`\*`, "\x00*", `\?`, "\x00?").Replace(value), "\x00")
	text := globText(parts[0])
	for _, part := range parts[1:] {
		text += regexp.QuoteMeta(part[:1]) + globText(part[1:])
	}
	return Expression(`(?s)^` + text + "$")
}

func globText(value string) string {
	var b strings.Builder
	for _, c := range value {
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

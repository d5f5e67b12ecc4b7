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
			keyFits := w.Key == nil || Glob(strings.ToLower(*w.Key)).MatchString(strings.ToLower(key))
			if keyFits && Glob(strings.ToLower(aws.ToString(w.Value))).MatchString(strings.ToLower(value)) {
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
	made := Expression(globText(value))
	globs.Store(value, made)
	return made
}

func globText(value string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
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
	b.WriteString("$")
	return b.String()
}

// Package matching has what the conditions of a rule can say, and which requests match them.
package matching

import (
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file refuses what conditions cannot say.

// The fields of conditions.
const (
	fieldHost   = "host-header"
	fieldPath   = "path-pattern"
	fieldHeader = "http-header"
	fieldMethod = "http-request-method"
	fieldQuery  = "query-string"
	fieldSource = "source-ip"
)

// A condition is one of a rule, in whichever of its two forms it was sent.
type condition struct {
	field   string
	name    string // of the header
	values  []string
	regexes []string
	queries []elb.QueryStringKeyValuePair
}

func readCondition(c elb.RuleCondition) condition {
	out := condition{field: aws.ToString(c.Field), values: c.Values, regexes: c.RegexValues}
	switch {
	case c.HostHeaderConfig != nil:
		out.values, out.regexes = slices.Concat(out.values, c.HostHeaderConfig.Values), slices.Concat(out.regexes, c.HostHeaderConfig.RegexValues)
	case c.PathPatternConfig != nil:
		out.values, out.regexes = slices.Concat(out.values, c.PathPatternConfig.Values), slices.Concat(out.regexes, c.PathPatternConfig.RegexValues)
	case c.HttpHeaderConfig != nil:
		out.name = aws.ToString(c.HttpHeaderConfig.HttpHeaderName)
		out.values, out.regexes = c.HttpHeaderConfig.Values, slices.Concat(out.regexes, c.HttpHeaderConfig.RegexValues)
	case c.HttpRequestMethodConfig != nil:
		out.values = c.HttpRequestMethodConfig.Values
	case c.QueryStringConfig != nil:
		out.queries = c.QueryStringConfig.Values
	case c.SourceIpConfig != nil:
		out.values = c.SourceIpConfig.Values
	}
	return out
}

// count is how many values a condition has.
func (c condition) count() int { return len(c.values) + len(c.regexes) + len(c.queries) }

// Limits are the quotas of conditions: values in one, values in all of a rule, and wildcards there.
type Limits struct{ PerCondition, PerRule, Wildcards int }

// Check refuses what the conditions of one rule cannot say.
func Check(conditions []elb.RuleCondition, limits Limits) error {
	seen := map[string]bool{}
	values, wildcards := 0, 0
	for _, sent := range conditions {
		c := readCondition(sent)
		if single := c.field != fieldHeader && c.field != fieldQuery; single && seen[c.field] {
			return refusal.New("ValidationError", "A rule can only have one '%s' condition", c.field)
		}
		seen[c.field] = true
		if c.count() == 0 {
			return refusal.New("ValidationError", "A condition value must be specified")
		}
		if len(c.values) > 0 && len(c.regexes) > 0 {
			return refusal.New("ValidationError", "Values and regular expressions cannot be mixed in one condition")
		}
		if err := checkValues(c); err != nil {
			return err
		}
		if c.count() > limits.PerCondition {
			return refusal.New("ValidationError", "The number of values in a '%s' condition cannot exceed '%d'", c.field, limits.PerCondition)
		}
		values += c.count()
		wildcards += wildcardsIn(c)
	}
	switch {
	case values > limits.PerRule:
		return refusal.New("ValidationError", "The number of condition values in a rule cannot exceed '%d'", limits.PerRule)
	case wildcards > limits.Wildcards:
		return refusal.New("ValidationError", "The number of condition wildcards in a rule cannot exceed '%d'", limits.Wildcards)
	}
	return nil
}

func wildcardsIn(c condition) int {
	n := 0
	switch c.field {
	case fieldHost, fieldPath, fieldHeader:
		for _, v := range c.values {
			n += strings.Count(v, "*") + strings.Count(v, "?")
		}
	case fieldQuery:
		for _, q := range c.queries {
			for _, v := range []string{aws.ToString(q.Key), aws.ToString(q.Value)} {
				v = strings.NewReplacer(`\*`, "", `\?`, "").Replace(v)
				n += strings.Count(v, "*") + strings.Count(v, "?")
			}
		}
	}
	return n
}

var (
	hostCharacters   = regexp.MustCompile(`^[A-Za-z0-9\-_.*?]+$`)
	hostValue        = regexp.MustCompile(`^.+\.[A-Za-z*?]+$`)
	pathCharacters   = regexp.MustCompile(`^[A-Za-z0-9 _\-.$/~"'@:+&*?]+$`)
	methodCharacters = regexp.MustCompile(`^[A-Z_-]+$`)
	headerName       = regexp.MustCompile("^[A-Za-z0-9!#$%&'+.^_`|~-]+$") // wildcards are not supported
)

func checkValues(c condition) error {
	for _, v := range slices.Concat(c.values, c.regexes) {
		if v == "" || len(v) > 128 {
			return refusal.New("ValidationError", "Condition value '%s' must be between 1 and 128 characters long", v)
		}
	}
	for _, v := range c.regexes {
		if c.field != fieldHost && c.field != fieldPath && c.field != fieldHeader {
			return refusal.New("ValidationError", "Regular expressions are not supported for '%s' conditions", c.field)
		}
		if err := CheckExpression(v); err != nil {
			return err
		}
	}
	bad := func(v string) error {
		return refusal.New("ValidationError", "Condition value '%s' contains a character that is not valid", v)
	}
	switch c.field {
	case fieldHost:
		for _, v := range c.values {
			if !hostCharacters.MatchString(v) || !hostValue.MatchString(v) {
				return bad(v)
			}
		}
	case fieldPath:
		for _, v := range c.values {
			if !pathCharacters.MatchString(v) || strings.Contains(v, " ") {
				return bad(v)
			}
		}
	case fieldHeader:
		if len(c.name) > 40 || !headerName.MatchString(c.name) || strings.EqualFold(c.name, "Host") {
			return refusal.New("ValidationError", "HTTP header name '%s' is not valid", c.name)
		}
	case fieldMethod:
		for _, v := range c.values {
			if len(v) > 40 || !methodCharacters.MatchString(v) {
				return bad(v)
			}
		}
	case fieldQuery:
		for _, q := range c.queries {
			if aws.ToString(q.Value) == "" || len(aws.ToString(q.Value)) > 128 || len(aws.ToString(q.Key)) > 128 {
				return bad(aws.ToString(q.Value))
			}
		}
	case fieldSource:
		for _, v := range c.values {
			if p, err := netip.ParsePrefix(v); err != nil || p.Masked() != p {
				return refusal.New("ValidationError", "Condition value '%s' is not a valid CIDR block", v)
			}
			// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html
			if v == "255.255.255.255/32" {
				return refusal.New("ValidationError", "Condition value '%s' cannot be specified", v)
			}
		}
	default:
		return refusal.New("ValidationError", "Condition field '%s' must be one of '[path-pattern, host-header, http-header, http-request-method, query-string, source-ip]'", c.field)
	}
	return nil
}

// CheckExpression refuses what AWS's engine does not know. It knows what Go's does, without \p{…}.
func CheckExpression(text string) error {
	if _, err := syntax.Parse(text, syntax.Perl); err != nil || strings.Contains(text, `\p`) || strings.Contains(text, `\P`) {
		return refusal.New("ValidationError", "Regular expression '%s' is not valid", text)
	}
	return nil
}

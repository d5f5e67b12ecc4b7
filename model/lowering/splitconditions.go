package lowering

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file divides further conditions among rules. A condition holds by any of its values, so one
// with too many values for a rule becomes several rules, each with some of them.

// hostAndPath is the number of values of a rule that are reserved for a host and a path, even if it
// has none: so the division of a route's conditions is the same wherever it is repeated.
const hostAndPath = 2

// splitConditions splits conditions into alternatives that each fit one rule besides its host and
// path. Together they match the same requests.
func splitConditions(c lb.Capabilities, when routing.Conditions) []routing.Conditions {
	if len(when) == 0 {
		return []routing.Conditions{nil}
	}
	out := []routing.Conditions{{}}
	for i, share := range valuesPerRule(c, when) {
		var next []routing.Conditions
		for _, before := range out {
			for part := range slices.Chunk(when[i].Values, share) {
				one := when[i]
				one.Values = part
				next = append(next, append(slices.Clone(before), one))
			}
		}
		out = next
	}
	return out
}

// valuesPerRule returns the number of values of each condition in a rule: one, and each further one
// goes to the condition where it saves the most rules.
func valuesPerRule(c lb.Capabilities, when routing.Conditions) []int {
	shares := make([]int, len(when))
	for i := range shares {
		shares[i] = 1
	}
	for left := c.ValuesPerRule - hostAndPath - len(when); left > 0 || c.ValuesPerRule == 0; left-- {
		most, at := 1, -1
		for i, share := range shares {
			rules := (len(when[i].Values) + share - 1) / share
			if rules > most && (c.ValuesPerCondition == 0 || share < c.ValuesPerCondition) {
				most, at = rules, i
			}
		}
		if at < 0 {
			break
		}
		shares[at]++
	}
	return shares
}

// mostParts is the most rules that one rule becomes because of its conditions. Load balancers have
// one or two hundred rules.
const mostParts = 200

// countParts returns the number of rules that conditions are divided into, at most mostParts+1.
func countParts(c lb.Capabilities, when routing.Conditions) int {
	parts := 1
	for i, share := range valuesPerRule(c, when) {
		parts = min(parts*((len(when[i].Values)+share-1)/share), mostParts+1)
	}
	return parts
}

// wildcardsOf returns the number of wildcards in the values of conditions.
func wildcardsOf(when routing.Conditions) int {
	n := 0
	for _, c := range when {
		if (c.Field == "header" || c.Field == "query") && !c.Regex {
			for _, v := range c.Values {
				n += wildcards(v)
			}
		}
	}
	return n
}

// mostWildcards returns the most wildcards that divided conditions add to a rule.
func mostWildcards(c lb.Capabilities, when routing.Conditions) int {
	most := 0
	for _, part := range splitConditions(c, when) {
		most = max(most, wildcardsOf(part))
	}
	return most
}

// inProse has the part of a request for each field of conditions.
var inProse = map[string]string{"header": "headers", "method": "methods",
	"query": "query parameters", "source": "source addresses"}

// whyNotSplit returns why conditions do not fit into rules with host and path, or "".
func whyNotSplit(c lb.Capabilities, when routing.Conditions) string {
	if room := c.ValuesPerRule - hostAndPath; c.ValuesPerRule > 0 && len(when) > room {
		return fmt.Sprintf("it has %d conditions, and a rule of %s has room for %d besides host and path",
			len(when), c.Name, room)
	}
	if parts := countParts(c, when); parts > mostParts {
		return fmt.Sprintf(
			"its conditions have so many values that each path takes more than the %d rules of %s that "+
				"are made for one: have fewer values, or divide the Ingress", mostParts, c.Name)
	}
	for _, part := range when {
		if slices.Contains(c.FieldsRefused, part.Field) {
			return fmt.Sprintf("a rule of %s has no conditions on %s", c.Name, inProse[part.Field])
		}
		if part.Regex && part.Field == "header" && !(c.Regex && c.HeaderRegex) {
			return fmt.Sprintf("a rule of %s compares headers with no regular expressions", c.Name)
		}
		if part.Field == "query" && part.Name == "" && !c.QueryPairs {
			return fmt.Sprintf("a rule of %s has no conditions on parameters of any name", c.Name)
		}
		if c.NameLength > 0 && part.Field == "header" && len(part.Name) > c.NameLength {
			return fmt.Sprintf("the name of header %s is longer than the %d characters that %s allows",
				diag.Cut(part.Name), c.NameLength, c.Name)
		}
		for _, v := range append([]string{part.Name}, part.Values...) {
			if part.Regex && v != "" {
				v = lb.Anchored(v)
			}
			if c.ValueLength > 0 && len(v) > c.ValueLength {
				return fmt.Sprintf("%s is longer than the %d characters that %s allows", diag.Quote(v),
					c.ValueLength, c.Name)
			}
			if part.Field == "source" && slices.Contains(c.SourcesRefused, v) {
				return fmt.Sprintf(
					"%s takes no condition on the source %s: leave it out, for no request comes from it", c.Name,
					v)
			}
		}
	}
	return ""
}

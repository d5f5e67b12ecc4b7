package incumbent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// This file draws regular expressions, and texts at their edges. They have branches, groups and anchors in
// both, and characters that are syntax elsewhere. Letters are in lower case: whether AWS looks at the case of
// hosts and headers is not documented.

// The parts that expressions are made of, of hosts, paths and values of headers.
var (
	hostParts   = []string{"a", "x", "b", `\.`, `\.`, "example", "com", "org", "[a-x]", "[^.]+", "[^a|x]", "[-a]+"}
	pathParts   = []string{"/", "/", "/a", "/b", "/re", "a", "b", "x", `\.`, "[0-9]+", "[ab|]", "[^/]+", "[^b$]", "[]^]", `\$`, `[$]`, `[x\]]`, `\w`}
	headerParts = []string{"blue", "red", "green", "e", "r", "[0-9]", "[^e]", "[er|]", `\d`, `\^`, `[$^]`}
)

// randomExpression returns an expression of some branches.
func randomExpression(r *rand.Rand, parts []string, depth int) string {
	var b strings.Builder
	for i := range 1 + r.IntN(3)*r.IntN(2) {
		if i > 0 {
			b.WriteByte('|')
		}
		if chance(r, 45-20*depth) {
			b.WriteByte('^')
		}
		for range 1 + r.IntN(3) {
			part := one(r, parts)
			if chance(r, 25) && depth < 2 {
				part = one(r, []string{"(", "(", "(?:"}) + randomExpression(r, parts, depth+1) + ")"
			}
			if b.WriteString(part); chance(r, 15) {
				b.WriteString(one(r, []string{"*", "+", "?", ".*", "{0,2}"}))
			}
		}
		if chance(r, 45-20*depth) {
			b.WriteByte('$')
		}
	}
	if out := b.String(); valid(out) {
		return out
	}
	return randomExpression(r, parts, depth) // such as one that repeats a repetition
}

func valid(expression string) bool {
	_, err := syntax.Parse(expression, syntax.Perl)
	return err == nil && len(expression) < 120
}

// randomConditions returns conditions by expressions on a field, and on others besides.
func randomConditions(r *rand.Rand) string {
	var all []string
	for range 1 + r.IntN(2) {
		field, config, parts := "path-pattern", `"pathPatternConfig":{`, pathParts
		switch r.IntN(3) {
		case 0:
			field, config, parts = "host-header", `"hostHeaderConfig":{`, hostParts
		case 1:
			field, config, parts = "http-header", `"httpHeaderConfig":{"httpHeaderName":"X-Team",`, headerParts
		}
		var values []string
		for range 1 + r.IntN(2) {
			values = append(values, randomExpression(r, parts, 0))
		}
		all = append(all, fmt.Sprintf(`{"field":%q,%s"regexValues":%s}}`, field, config, inJSON(values)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// randomTransforms returns a rewrite by an expression. Most begin where AWS says that they do.
func randomTransforms(r *rand.Rand) string {
	kind, config, parts := "url-rewrite", "urlRewriteConfig", pathParts
	if chance(r, 40) {
		kind, config, parts = "host-header-rewrite", "hostHeaderRewriteConfig", hostParts
	}
	expression := randomExpression(r, parts, 0)
	if chance(r, 70) {
		expression = "^(" + strings.TrimPrefix(expression, "^") + ")"
	}
	return fmt.Sprintf(`[{"type":%q,%q:{"rewrites":[{"regex":%s,"replace":"/$1"}]}}]`, kind, config, inJSON(expression))
}

func inJSON(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts alone are drawn
	}
	return string(out)
}

// findable returns a text in which an expression finds itself, most of the time: a branch may have other
// anchors than at its ends, and what is around it may begin or end the text.
func findable(r *rand.Rand, expression string) string {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return expression
	}
	var b strings.Builder
	sample(r, &b, tree)
	around := []string{"", "", "", "x", "/", "/a", "a", ".", "b/x"}
	return one(r, around) + b.String() + one(r, around)
}

// sample writes a text that a tree takes, without its anchors.
func sample(r *rand.Rand, b *strings.Builder, tree *syntax.Regexp) {
	most := 1
	switch tree.Op {
	case syntax.OpLiteral:
		b.WriteString(string(tree.Rune))
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		b.WriteString(one(r, []string{"a", "x", "/", "."}))
	case syntax.OpCharClass:
		b.WriteRune(ofClass(r, tree.Rune))
	case syntax.OpAlternate:
		sample(r, b, one(r, tree.Sub))
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		most = tree.Min + r.IntN(2)
		if tree.Op == syntax.OpPlus {
			most = 1 + r.IntN(2)
		}
		fallthrough
	case syntax.OpConcat, syntax.OpCapture:
		for range most {
			for _, sub := range tree.Sub {
				sample(r, b, sub)
			}
		}
	}
}

// ofClass returns a character of the ranges of a class, one that clients send if there is any.
func ofClass(r *rand.Rand, ranges []rune) rune {
	var all []rune
	for i := 0; i < len(ranges); i += 2 {
		for c := max(ranges[i], '!'); c <= min(ranges[i+1], '~'); c++ {
			if !strings.ContainsRune(`"#%<>?`+"\\`", c) && (c < 'A' || c > 'Z') {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return 'x'
	}
	return one(r, all)
}

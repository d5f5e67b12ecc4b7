package nginx

import (
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file writes rewrites for an ALB. Its expression sees the path with the query behind it, and replaces what it matches; that
// of nginx sees the path alone, decoded, and replaces all of it.

// rewriteOf returns the replacement of a location that rewrites, or why there is none.
func (w *World) rewriteOf(text, target string) (*v1alpha1.Replacement, string) {
	body, why := w.beforeQuery(strings.ReplaceAll(text, "($|/)", "(/|$)")) // of the two, one matches
	if why != "" {
		return nil, why
	}
	folded, ok := routing.SpellCases("(?:" + w.folded(body) + ")")
	if !ok {
		return nil, "the path has syntax whose letters cannot be written in both cases: escapes by number, or classes such as [:lower:]"
	}
	folded = strings.TrimSuffix(strings.TrimPrefix(folded, "(?:"), ")")
	if branches, complete := routing.Branches(folded); !complete || len(branches) > 1 {
		return nil, "the path has alternatives outside of groups: put them into a group"
	}
	pattern := "^" + folded
	if !strings.HasSuffix(pattern, "([^?]*)") {
		pattern += "[^?]*"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Sprintf(w.Config.worded("the path is no expression that {LB} takes: %s"), err)
	}
	if strings.Contains(target, "$0") {
		return nil, "$0 is no group of the path"
	}
	target = digit.ReplaceAllStringFunc(target, func(n string) string {
		if int(n[1]-'0') > re.NumSubexp() {
			return "" // ngx_http_script.c, ngx_http_script_copy_capture_code
		}
		return n
	})
	return &v1alpha1.Replacement{Pattern: pattern, Replacement: target}, ""
}

var (
	digit    = regexp.MustCompile(`\$[0-9]`)
	variable = regexp.MustCompile(`\$([^0-9]|$)`)
)

// beforeQuery returns an expression that matches a path in front of its query as another one matches the path alone, where it
// does: nothing in it matches a question mark. Without the end anchor, it may match other paths, which the rule's condition keeps
// out.
func (w *World) beforeQuery(text string) (string, string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i+1 == len(text) {
				return "", "the path ends with a backslash"
			}
			i++
			switch text[i] {
			case 'S', 'D', 'W':
				b.WriteString(`[^\` + strings.ToLower(text[i:i+1]) + `?]`)
			case 'b', 'B', 'A', 'z', 'Z', 'Q', 'E', 'K', 'G', 'R', 'X', 'p', 'P':
				return "", `the path has \` + text[i:i+1] + w.Config.worded(", which {LB} may read in another way")
			default:
				b.WriteString(text[i-1 : i+1])
			}
		case '.':
			b.WriteString("[^?]")
		case '[':
			end, posix := routing.ClassLength(text[i:])
			if end == 0 || posix {
				return "", "the path has a class that is not read: [:…:], or one without an end"
			}
			class := text[i : i+end]
			if strings.HasPrefix(class, "[^") {
				class = class[:len(class)-1] + "?]"
			} else if strings.ContainsAny(class, `?`) || strings.Contains(class, `\S`) || strings.Contains(class, `\D`) ||
				strings.Contains(class, `\W`) || spansQuestion(class) {
				return "", "the path has a class that matches a question mark"
			}
			b.WriteString(class)
			i += end - 1
		case '$':
			if i+1 < len(text) && text[i+1] != ')' {
				return "", "the path has an end anchor in front of other text"
			}
		case '^':
			return "", "the path has a start anchor"
		case '(':
			if strings.HasPrefix(text[i:], "(?") && !strings.HasPrefix(text[i:], "(?:") {
				return "", "the path has a group with flags, or one that looks ahead or back"
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// spansQuestion reports whether a range of a class has a question mark in it.
func spansQuestion(class string) bool {
	re, err := regexp.Compile(`\A` + class + `\z`)
	return err != nil || re.MatchString("?")
}

// isExpression reports whether a path of a host with expressions can be read: by Go, and with the meaning that PCRE gives it.
func (w *World) isExpression(text string) string {
	if _, err := regexp.Compile("(?i)^" + text); err != nil {
		return err.Error()
	}
	for _, r := range text {
		if r > 0x7e || r <= ' ' {
			return "it has characters that are no visible ASCII"
		}
	}
	if strings.Contains(text, `\p`) || strings.Contains(text, `\P`) || strings.Contains(text, `\Q`) || strings.Contains(text, `\C`) ||
		strings.Contains(text, `\z`) || strings.Contains(text, "[:") || strings.Contains(text, "(?") && !onlyPlainGroups(text) {
		return w.Config.worded("it has syntax that {LB} may read in another way")
	}
	return ""
}

func onlyPlainGroups(text string) bool {
	return !strings.Contains(strings.ReplaceAll(text, "(?:", ""), "(?")
}

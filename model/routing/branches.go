package routing

import "strings"

// This file reads the branches of a regular expression: what its anchors are of.

// A Branch is one of the alternatives of a regular expression that are outside of its groups.
type Branch struct {
	Text         string // without the anchors at its ends
	Begins, Ends bool   // it has the anchor
	// Anchored: there are anchors elsewhere in the text.
	Anchored bool
}

// Branches divides a regular expression at each | outside of groups and classes. It reports false for one
// that is not complete, for quotes, and for flags that are of the branches behind them, too.
func Branches(expression string) (all []Branch, complete bool) {
	s := branchScanner{text: expression, complete: true}
	for s.at < len(expression) {
		s.step()
	}
	s.end()
	return s.all, s.complete && s.depth == 0 && (len(s.all) == 1 || !s.flags)
}

type branchScanner struct {
	text     string
	at, from int // the character, and where its branch begins
	depth    int // of groups
	anchored bool
	flags    bool // for what comes behind them
	all      []Branch
	complete bool
}

// step reads a character, or a class.
func (s *branchScanner) step() {
	rest := s.text[s.at:]
	length := 1
	switch rest[0] {
	case '\\':
		length = min(2, len(rest))
		s.complete = s.complete && length == 2 && rest[1] != 'Q'
	case '[':
		if length, _ = ClassLength(rest); length == 0 {
			s.complete, length = false, len(rest)
		}
	case '(':
		s.flags = s.flags || s.depth == 0 && setsFlags(rest)
		s.depth++
	case ')':
		s.depth--
		s.complete = s.complete && s.depth >= 0
	case '|':
		if s.depth == 0 {
			s.end()
			s.from = s.at + 1
		}
	case '^':
		s.anchored = s.anchored || s.depth > 0 || s.at > s.from || repeats(rest[1:])
	case '$':
		s.anchored = s.anchored || s.depth > 0 || len(rest) > 1 && rest[1] != '|'
	}
	s.at += length
}

// end ends the branch in front of a character.
func (s *branchScanner) end() {
	one := Branch{Text: s.text[s.from:s.at], Anchored: s.anchored}
	s.anchored = false
	if rest, begins := strings.CutPrefix(one.Text, "^"); begins && !repeats(rest) {
		one.Begins, one.Text = true, rest
	}
	if rest, ends := strings.CutSuffix(one.Text, "$"); ends && !isEscaped(rest) {
		one.Ends, one.Text = true, rest
	}
	s.all = append(s.all, one)
}

// isEscaped reports whether the character behind a text is escaped.
func isEscaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// repeats reports whether a text begins with a repetition of what is in front of it, and of flags.
func repeats(text string) bool {
	for setsFlags(text) {
		_, text, _ = strings.Cut(text, ")")
	}
	return text != "" && strings.IndexByte("*+?{", text[0]) >= 0
}

// setsFlags reports whether a group sets flags for what comes behind it, such as (?i).
func setsFlags(group string) bool {
	flags, is := strings.CutPrefix(group, "(?")
	flags = strings.TrimLeft(flags, "imsU-")
	return is && strings.HasPrefix(flags, ")")
}

// ClassLength returns the length of the class at the beginning of a text; 0 if it does not end. A bracket
// that is first belongs to it, and so do the classes of POSIX, such as [:alpha:]: posix says that there may be one.
func ClassLength(text string) (length int, posix bool) {
	at := 1
	if strings.HasPrefix(text[at:], "^") {
		at++
	}
	for first := at; at < len(text); at++ {
		switch {
		case text[at] == '\\':
			at++
		case strings.HasPrefix(text[at:], "[:"):
			posix = true
			if end := strings.Index(text[at+2:], ":]"); end >= 0 {
				at += 2 + end + 1
			}
		case text[at] == ']' && at > first:
			return at + 1, posix
		}
	}
	return 0, posix
}

// WholeText turns an expression that may match anywhere in a text, as in an ALB, into one that matches the whole text.
// An anchor at the end of a branch is of that branch alone.
func WholeText(pattern string) string {
	branches, complete := Branches(pattern)
	if !complete {
		branches = []Branch{{Text: pattern}}
	}
	all := make([]string, len(branches))
	for i, b := range branches {
		if all[i] = b.Text; b.Begins && b.Ends {
			continue
		}
		all[i] = "(?:" + b.Text + ")"
		if !b.Begins {
			all[i] = ".*" + all[i]
		}
		if !b.Ends {
			all[i] += ".*"
		}
	}
	return strings.Join(all, "|")
}

// FromStart returns an expression over whole paths for one that is searched for from their beginning.
func FromStart(expression string) string {
	whole := WholeText("^" + expression)
	body, alone := strings.CutSuffix(whole, ").*")
	if body, one := strings.CutPrefix(body, "(?:"); alone && one && body == expression {
		if strings.HasSuffix(body, "(.*)") {
			return body
		}
		return body + ".*"
	}
	return whole
}

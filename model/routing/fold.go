package routing

import "strings"

// This file spells out the letters of regular expressions that ignore case. Whether conditions of a cloud
// understand the flag (?i) is undocumented.

// SpellCases returns a regular expression for the same ASCII texts without the flag i: with both cases of each
// letter. It reports false for syntax that it does not read.
func SpellCases(expression string) (string, bool) {
	if !strings.Contains(expression, "(?") {
		return expression, true
	}
	s := caseSpeller{rest: expression, fold: []bool{false}}
	for s.rest != "" {
		length, known := s.step()
		if !known {
			return "", false
		}
		s.rest = s.rest[length:]
	}
	return s.out.String(), len(s.fold) == 1
}

type caseSpeller struct {
	rest string
	out  strings.Builder
	fold []bool // by group, the innermost last
}

// step writes what the rest begins with, and returns its length.
func (s *caseSpeller) step() (length int, known bool) {
	innermost := &s.fold[len(s.fold)-1]
	length = 1
	switch c := s.rest[0]; {
	case c == '(':
		return s.group(innermost)
	case c == ')':
		if len(s.fold) == 1 {
			return 0, false
		}
		s.fold = s.fold[:len(s.fold)-1]
		s.out.WriteByte(c)
	case c == '\\':
		if len(s.rest) < 2 || s.rest[1] == 'Q' || *innermost && strings.IndexByte("pPx01234567", s.rest[1]) >= 0 {
			return 0, false
		}
		length = 2
		s.out.WriteString(s.rest[:2])
	case c == '[' && *innermost:
		return s.class()
	case c == '[':
		end, posix := ClassLength(s.rest)
		if end == 0 || posix {
			return 0, false
		}
		length = end
		s.out.WriteString(s.rest[:length])
	case *innermost && c >= 0x80:
		return 0, false
	case *innermost && isLetter(c):
		s.out.WriteString("[" + string(lower(c)) + string(upper(c)) + "]")
	default:
		s.out.WriteByte(c)
	}
	return length, true
}

// group writes the beginning of a group.
func (s *caseSpeller) group(innermost *bool) (length int, known bool) {
	inside := *innermost
	switch {
	case strings.HasPrefix(s.rest, "(?i)"):
		*innermost = true
		return len("(?i)"), !repeats(strings.TrimPrefix(s.rest, "(?i)"))
	case strings.HasPrefix(s.rest, "(?i:"):
		inside, length = true, len("(?i:")
		s.out.WriteString("(?:")
	case strings.HasPrefix(s.rest, "(?:"):
		length = len("(?:")
		s.out.WriteString("(?:")
	case strings.HasPrefix(s.rest, "(?"):
		return 0, false
	default:
		length = 1
		s.out.WriteByte('(')
	}
	s.fold = append(s.fold, inside)
	return length, true
}

// class writes a class with both cases of its letters.
func (s *caseSpeller) class() (length int, known bool) {
	length, posix := ClassLength(s.rest)
	if length == 0 || posix {
		return 0, false
	}
	body := s.rest[1 : length-1]
	s.out.WriteByte('[')
	if strings.HasPrefix(body, "^") {
		s.out.WriteByte('^')
		body = body[1:]
	}
	var other strings.Builder
	for body != "" {
		one := 1
		if body[0] == '\\' {
			if one = 2; strings.IndexByte("QpPx01234567", body[1]) >= 0 {
				return 0, false
			}
		}
		first, last := body[one-1], body[one-1]
		if one == 1 && len(body) > 2 && body[1] == '-' {
			if one, last = 3, body[2]; last == '\\' {
				return 0, false
			}
		} else if one == 2 && isLetter(first) {
			first, last = 0, 0 // a class such as \w has both cases
		}
		s.out.WriteString(body[:one])
		addOtherCase(&other, first, last)
		body = body[one:]
	}
	s.out.WriteString(other.String() + "]")
	return length, true
}

// addOtherCase adds the other case of the letters of a range.
func addOtherCase(to *strings.Builder, first, last byte) {
	for _, letters := range []struct {
		from, to byte
		other    func(byte) byte
	}{{'a', 'z', upper}, {'A', 'Z', lower}} {
		from, until := max(first, letters.from), min(last, letters.to)
		switch {
		case from > until:
		case from == until:
			to.WriteByte(letters.other(from))
		default:
			to.WriteString(string(letters.other(from)) + "-" + string(letters.other(until)))
		}
	}
}

func isLetter(c byte) bool { return lower(c) >= 'a' && lower(c) <= 'z' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

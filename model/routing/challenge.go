package routing

import "strings"

// This file finds the requests of a path that a redirect to HTTPS lets through: those by which
// certificate authorities verify a host over HTTP, as RFC 8555 section 8.3 says.

// ChallengePath has the requests that are let through.
var ChallengePath = Path{Prefix, "/.well-known/acme-challenge"}

// Challenges returns the paths of ACME challenges that a path matches: these are not redirected. Rest
// reports whether the path matches others. Sure is false for a regular expression, whose text does not tell.
func (p Path) Challenges() (through []Path, rest, sure bool) {
	switch p.Type {
	case Exact, Prefix:
		switch {
		case ChallengePath.Matches(p.Value):
			return []Path{p}, false, true
		case p.Type == Prefix && p.Matches(ChallengePath.Value):
			return []Path{ChallengePath}, true, true
		}
		return nil, true, true
	case Glob:
		if strings.HasPrefix(p.Text(), ChallengePath.Value+"/") || p.Value == ChallengePath.Value {
			return []Path{p}, false, true
		}
		return globChallenges(p.Value), true, true
	}
	return nil, true, false
}

// globChallenges returns the paths that match what a glob and ChallengePath both match.
func globChallenges(glob string) []Path {
	below := ChallengePath.Value + "/"
	var out []Path
	all, itself := false, GlobMatch(glob, ChallengePath.Value)
	for _, rest := range globRests(glob, below) {
		switch {
		case rest != "" && strings.Trim(rest, "*") == "":
			all = true
		case strings.ContainsAny(rest, "*?"):
			out = append(out, Path{Glob, below + rest})
		default:
			out = append(out, Path{Exact, below + rest})
		}
	}
	switch {
	case all && itself:
		return []Path{ChallengePath}
	case all:
		return []Path{{Glob, below + "*"}}
	case itself:
		return append(out, Path{Exact, ChallengePath.Value})
	}
	return out
}

// globRests returns the globs of what may follow a text in the matches of a glob.
func globRests(glob, text string) []string {
	at := map[int]bool{0: true} // positions in the glob
	skipStars := func() {
		for i := range len(glob) {
			if at[i] && glob[i] == '*' {
				at[i+1] = true // the star stands for nothing
			}
		}
	}
	skipStars()
	for _, c := range []byte(text) {
		next := map[int]bool{}
		for i := range at {
			switch {
			case i == len(glob):
			case glob[i] == '*':
				next[i] = true
			case glob[i] == '?' || glob[i] == c:
				next[i+1] = true
			}
		}
		at = next
		skipStars()
	}
	var out []string
	for i := len(glob); i >= 0; i-- {
		if !at[i] || i > 0 && at[i-1] && glob[i-1] == '*' {
			continue // of the second, the star before it matches what it matches
		}
		out = append(out, glob[i:])
		if i < len(glob) && glob[i] == '*' {
			break // this star matches what the positions before it match
		}
	}
	return out
}

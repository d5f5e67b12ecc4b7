package precedence

import (
	"cmp"

	"fairlead.dev/fairlead/model/routing"
)

// A rank is the order of a route among the routes of its host, the lowest first. It is computed
// once, because sorting needs it often.
type rank struct {
	// for a listed host, how specific the host of the rule is; 0 if a rule names the host
	by         int
	inexact    bool // rule 2 of the package comment
	text       int  // rule 3, negated so that longer comes first
	prefix     bool // rule 3
	spelling   string
	conditions int // rule 4, negated
}

func rankOf(r *routing.Route) rank {
	by := 0
	if r.Listed != nil {
		by = r.Listed.By.Rank()
	}
	out := rank{
		by:         by,
		inexact:    r.Path.Type != routing.Exact,
		text:       -len(r.Path.Text()),
		prefix:     r.Path.Type == routing.Prefix,
		conditions: -len(r.When),
	}
	if r.BySpelling {
		out.text, out.spelling = -len(r.Spelt), r.Spelt
	}
	return out
}

func (a rank) compare(b rank) int {
	return cmp.Or(
		cmp.Compare(a.by, b.by),
		routing.CompareBool(a.inexact, b.inexact),
		cmp.Compare(a.text, b.text),
		routing.CompareBool(a.prefix, b.prefix),
		cmp.Compare(b.spelling, a.spelling),
		cmp.Compare(a.conditions, b.conditions),
	)
}

// settle decides between two routes of one rank: rule 5 of the package comment. It is the only
// place where a tie is broken.
func settle(a, b *routing.Route) int {
	if a.Owner.Namespace != b.Owner.Namespace || a.Owner.Name != b.Owner.Name {
		return routing.Older(a.Owner, b.Owner)
	}
	return cmp.Or(
		cmp.Compare(len(b.Spelt), len(a.Spelt)),
		cmp.Compare(a.Index, b.Index),
	)
}

// identical reports whether two routes of one host claim the same requests.
func identical(a, b *routing.Route) bool {
	return a.Path == b.Path && len(a.When) == len(b.When) && a.When.Key() == b.When.Key()
}

package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file has the types of the table, and finds the row of an annotation.

// A controller has the annotations of one or several prefixes.
type controller struct {
	name     string
	prefixes []string
	// onServices has the names that are also read on Services, separated by spaces, with a star as in
	// settings; "" for none.
	onServices string
	// guessed: it has no table, so the words of a name tell its effect.
	guessed bool
	// others: other programs use the prefixes, too, so a name that is not in the table may be theirs.
	others   bool
	settings []settings
	// stem is the beginning of all names, after which names of other controllers are looked up; "" for
	// none.
	stem string

	// These are made from settings: the rows in the order of their names, and by name.
	rows  []row
	named map[string]*row
}

// settings has annotations with the same effect.
type settings struct {
	effect  Effect
	instead equivalent
	// judge decides the effect by the value. If it is nil, the effect is effect, unless the value is
	// empty: a value such as none or off can be the name of a Secret or of a policy, or the controller
	// refuses it.
	judge *judgement
	// names has the names after the prefix, separated by spaces. A star at the end matches any rest.
	names string
}

// A judgement decides the effect of an annotation by its value.
type judgement struct {
	says string // the case in which it has the effect
	of   func(use) Effect
}

// A use is an annotation on an object.
type use struct {
	value       string
	stem        string            // the text before the name
	annotations map[string]string // all of the object
	served      Served
}

// sibling returns the value of another annotation with the same prefix; "" for none.
func (u use) sibling(name string) string { return u.annotations[u.stem+name] }

// useOf returns an annotation of the controller on an object. Its siblings are read with a slash.
func (c *controller) useOf(key, prefix, name string, annotations map[string]string, as Served) use {
	return use{annotations[key], prefix + "/" + name[:min(len(c.stem), len(name))], annotations, as}
}

// A row is one name.
type row struct {
	name, squeezed string
	effect         Effect
	instead        equivalent
	judge          *judgement
}

// pattern reports whether the row matches all names with its beginning.
func (r *row) pattern() bool { return strings.HasSuffix(r.name, "*") }

// secures reports whether the row restricts because its author asks for HTTPS, and not since more
// clients would be admitted.
func (r *row) secures() bool { return r.effect == Restricts && r.instead.secures() }

// effectOf returns the effect of the annotation with a value.
func (r *row) effectOf(u use) Effect {
	effect := r.effect
	switch {
	case r.judge != nil:
		effect = r.judge.of(u)
	case strings.TrimSpace(u.value) == "":
		effect = Harmless
	}
	if _, said := u.served.Annotations[r.instead.annotation]; said && effect == Changes {
		return Harmless // the Ingress has the equivalent annotation of Fairlead
	}
	return effect
}

// readsOnServices reports whether the controller reads an annotation on Services.
func (c *controller) readsOnServices(name string) bool {
	for pattern := range strings.FieldsSeq(c.onServices) {
		if start, all := strings.CutSuffix(pattern, "*"); name == pattern ||
			all && strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// find returns the row of a name, or nil. A row of the exact name precedes patterns, and longer
// patterns precede shorter ones.
func (c *controller) find(name string) *row {
	if r := c.named[name]; r != nil {
		return r
	}
	var found *row
	for i := range c.rows {
		r := &c.rows[i]
		if r.pattern() && strings.HasPrefix(name, strings.TrimSuffix(r.name, "*")) &&
			(found == nil || len(r.name) > len(found.name)) {
			found = r
		}
	}
	return found
}

// indexed completes controllers. Of two rows with one name the more restrictive counts, so that the
// settings of several controllers with one prefix can be combined.
func indexed(all []*controller) []*controller {
	for _, c := range all {
		seen := map[string]int{}
		for _, s := range c.settings {
			for name := range strings.FieldsSeq(s.names) {
				r := row{name, spelling.Squeeze(name), s.effect, s.instead, s.judge}
				if at, twice := seen[name]; !twice {
					seen[name] = len(c.rows)
					c.rows = append(c.rows, r)
				} else if r.effect > c.rows[at].effect {
					c.rows[at] = r
				}
			}
		}
		slices.SortFunc(c.rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
		c.named = make(map[string]*row, len(c.rows))
		for i := range c.rows {
			if !c.rows[i].pattern() {
				c.named[c.rows[i].name] = &c.rows[i]
			}
		}
	}
	return all
}

// A Table has the annotations of one controller, for the reference page and for people who ask.
type Table struct {
	Name       string
	Prefixes   []string
	OnServices string // the names that are also read on Services; "" for none
	Rows       []Row
}

// A Row is one annotation of a controller.
type Row struct {
	Name    string
	Effect  Effect
	When    string // the case in which it has the effect; "" for always
	Instead string
	Example string
}

// Tables returns the tables of the controllers that have one.
func Tables() []Table {
	var out []Table
	for _, c := range controllers {
		if c.guessed || c.others {
			continue
		}
		t := Table{Name: c.name, Prefixes: c.prefixes, OnServices: c.onServices}
		for _, r := range c.rows {
			row := Row{Name: r.name, Effect: r.effect, Instead: r.instead.String(), Example: r.instead.example}
			switch {
			case r.judge != nil:
				row.When = r.judge.says
			case r.effect == Restricts:
				row.When = "unless it is empty"
			}
			t.Rows = append(t.Rows, row)
		}
		out = append(out, t)
	}
	return out
}

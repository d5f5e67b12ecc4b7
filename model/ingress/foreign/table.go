package foreign

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file has the types of the table, and finds the row of an annotation.

// A controller is the annotations of one prefix or several.
type controller struct {
	name     string
	prefixes []string
	sources  []string // the documents and files that the annotations are taken from
	// onServices are the names that are read on Services, too, separated by spaces, with a star as in
	// settings; "" for none.
	onServices string
	// others says that many kinds of programs use the prefixes, so that a name that is not in the
	// table is none of the controller's.
	others   bool
	settings []settings
	// stem is what all names begin with, where the names of another annotation are looked up behind
	// it; "" for nothing.
	stem string

	// Made of settings: the rows in the order of their names, and where each is.
	rows  []row
	named map[string]*row
}

// settings are annotations that do the same.
type settings struct {
	effect  Effect
	instead equivalent
	// judge is the effect where the value matters. Nil: it is effect, unless the value is empty. A
	// value such as none or off can be the name of a Secret or of a policy, or is refused by the
	// controller.
	judge *judgement
	// names are what stands behind the prefix, separated by spaces. One that ends with a star stands
	// for all names that begin so.
	names string
}

// A judgement is how a value decides what an annotation does.
type judgement struct {
	says string // in which case it does something, for the reference
	of   func(use) Effect
}

// A use is an annotation on an object.
type use struct {
	value       string
	stem        string            // what stands before the name
	annotations map[string]string // all of the object
	served      Served
}

// sibling is the value of another annotation of the same prefix; "" for none.
func (u use) sibling(name string) string { return u.annotations[u.stem+name] }

// used is an annotation of the controller on an object. What others it looks at beside have a
// slash.
func (c *controller) used(key, prefix, name string, annotations map[string]string, as Served) use {
	return use{annotations[key], prefix + "/" + name[:min(len(c.stem), len(name))], annotations, as}
}

// A row is one name.
type row struct {
	name, squeezed string
	effect         Effect
	instead        equivalent
	judge          *judgement
}

// pattern reports whether the row is about all names that begin like it.
func (r *row) pattern() bool { return strings.HasSuffix(r.name, "*") }

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
		return Harmless // the author has said the same to Fairlead
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

// find is the row of a name, or nil. A row of the name itself goes before patterns, and of these
// the longest.
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

// indexed completes controllers. Of two rows of one name the one that restricts more counts, so
// that a prefix that several controllers share can be made of the settings of each.
func indexed(all []*controller) []*controller {
	for _, c := range all {
		seen := map[string]int{}
		for _, s := range c.settings {
			for name := range strings.FieldsSeq(s.names) {
				r := row{name, spelling.Squeezed(name), s.effect, s.instead, s.judge}
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

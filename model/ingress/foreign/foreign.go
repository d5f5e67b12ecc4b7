// Package foreign says what the annotations of other Ingress controllers mean. Fairlead does not
// read them. An Ingress without an annotation that restricts access would expose more than
// its author asked for, so Fairlead has to know these.
//
// The package has a table, with a file for each kind of controllers (nginx.go, haproxy.go,
// clouds.go ...), and functions that look annotations up in it. Each entry names the documents that
// its annotations are taken from.
package foreign

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// A Setting is what one annotation of another controller does on an object.
type Setting struct {
	Prefix     string // the part of the key before the slash
	Name       string // the part of the key behind it
	Controller string // the controllers that the prefix belongs to
	Effect     Effect // Changes or Restricts
	// Instead is the setting of Fairlead that does the same; "" if there is none.
	Instead string
	// Known says that the name is in the table. Meant is the name in the table that restricts and that
	// an unknown one resembles.
	Known bool
	Meant string
	// More is of how many annotations that are not looked up the setting is the first: any of them may
	// restrict, so it does. It is 0 for all others.
	More int

	key string // the annotation as it is written
}

// Key is the name of the annotation.
func (s Setting) Key() string { return s.key }

// OnIngress are the settings of the annotations of an Ingress, sorted by key, without harmless
// ones.
func OnIngress(annotations map[string]string, as Served) []Setting {
	return read(annotations, len(annotations), func(*controller, string) bool {
		return true
	}).Settings(as)
}

// MostOnService is how many annotations of other controllers are looked up on a Service. It may
// have thousands, and thousands of Ingresses may name it.
const MostOnService = 200

// Annotations are those of an object that other controllers read there, looked up: what they do
// depends on how it is served.
type Annotations struct {
	all  map[string]string
	rows []looked
	more []looked // what is beyond the most, at most one
	rest int      // how many these are
}

// OfService are the annotations of a Service that Ingress controllers read there.
func OfService(annotations map[string]string) *Annotations {
	return read(annotations, MostOnService, (*controller).readsOnServices)
}

// OnService are the settings of the annotations of a Service that Ingress controllers read there.
func OnService(annotations map[string]string, as Served) []Setting {
	return OfService(annotations).Settings(as)
}

func read(annotations map[string]string, most int,
	reads func(c *controller, name string) bool) *Annotations {
	a := &Annotations{all: annotations}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		c, prefix, name := controllerOf(key)
		switch {
		case c == nil || !reads(c, strings.ToLower(name)):
		case len(a.rows) < most:
			a.rows = append(a.rows, c.lookUp(key, prefix, name, annotations[key]))
		default:
			if a.rest++; a.rest == 1 {
				a.more = append(a.more, looked{controller: c, key: key, prefix: prefix, name: name})
			}
		}
	}
	return a
}

// Settings returns the effects of annotations, sorted by key, without harmless ones.
func (a *Annotations) Settings(as Served) []Setting {
	var out []Setting
	for _, l := range a.rows {
		if s := l.setting(l.used(l.key, l.prefix, l.name, a.all, as)); s.Effect != Harmless {
			out = append(out, s)
		}
	}
	for _, l := range a.more {
		out = append(out, Setting{
			Prefix: l.prefix, Name: l.name, Controller: l.controller.name, Effect: Restricts,
			More: a.rest, key: l.key,
		})
	}
	return out
}

// Matters reports whether an annotation is one of another controller that is not always harmless: a
// change of it can change what the owner of the object is told.
func Matters(key string) bool {
	c, _, name := controllerOf(key)
	if c == nil {
		return false
	}
	r := c.find(strings.ToLower(name))
	return r == nil && !c.others || r != nil && (r.effect != Harmless || r.judge != nil)
}

// Restricting reports whether an annotation with a value can restrict, whatever Fairlead serves.
func Restricting(key string, annotations map[string]string) bool {
	c, prefix, name := controllerOf(key)
	// Nothing is exposed more widely than this.
	widest := Served{DualStack: true, Ports: []Port{{"HTTP", 80}}, Wider: true}
	return c != nil && c.lookUp(key, prefix, name,
		annotations[key]).setting(c.used(key, prefix, name, annotations, widest)).Effect == Restricts
}

// Find is what an annotation of any other controller by this name does, if there is one: the one of
// the controller that comes first in the table. Patterns count where they restrict, after the
// names.
func Find(name string) (Setting, bool) {
	for _, c := range controllers {
		if r := c.named[strings.ToLower(name)]; r != nil && !c.others {
			return Setting{
				Prefix: c.prefixes[0], Name: name, Controller: c.name, Effect: r.effect,
				Instead: r.instead.String(), Known: true,
			}, true
		}
	}
	if r := unlisted.find(strings.ToLower(name)); r != nil && r.effect == Restricts {
		return Setting{
			Name: name, Controller: unlisted.name, Effect: Restricts, Instead: r.instead.String(),
			Known: true,
		}, true
	}
	return Setting{}, false
}

// A looked is an annotation with what the table has for its name: its row, or else the row that was
// meant, or whether it sounds as if it restricted.
type looked struct {
	*controller

	key, prefix, name string
	row, meant        *row
	sounds, hides     bool // it restricts, or it does where the load balancer faces the internet
}

// lookUp looks up an annotation with a value.
func (c *controller) lookUp(key, prefix, name, value string) looked {
	l := looked{
		controller: c, key: key, prefix: prefix, name: name, row: c.find(strings.ToLower(name)),
	}
	if l.row == nil && !c.others || l.row != nil && l.row.judge == byItsName {
		l.meant = c.meant(name)
		l.sounds = l.meant == nil && SoundsRestricting(name, value)
		l.hides = l.meant == nil && SoundsInternal(name, value)
	}
	return l
}

// setting returns the effect of the annotation.
func (l looked) setting(u use) Setting {
	s := Setting{Prefix: l.prefix, Name: l.name, Controller: l.controller.name, key: l.key}
	restricts := l.meant != nil && l.meant.effectOf(u) == Restricts || l.sounds ||
		l.hides && !u.served.Internal
	if r := l.row; r != nil && !(restricts && r.judge == byItsName) {
		s.Known, s.Effect, s.Instead = true, r.effectOf(u), r.instead.String()
		return s
	}
	switch {
	case l.others && l.row == nil:
		return s
	case restricts && l.meant != nil:
		s.Effect, s.Instead, s.Meant = Restricts, l.meant.instead.String(), l.meant.name
	case restricts:
		s.Effect = Restricts
	default:
		s.Effect = Changes
	}
	return s
}

// meant is the row that restricts and that a name resembles, or nil.
func (c *controller) meant(name string) *row {
	squeezed := spelling.Squeezed(name)
	for _, patterns := range []bool{false, true} {
		for i := range c.rows {
			if r := &c.rows[i]; r.effect == Restricts && r.pattern() == patterns &&
				r.resembledBy(name, squeezed) {
				return r
			}
		}
	}
	return nil
}

// resembledBy reports whether a name is the row's, misspelt. Of a pattern its beginning is compared
// with as many words of the name.
func (r *row) resembledBy(name, squeezed string) bool {
	if !r.pattern() {
		return spelling.Resembles(squeezed, r.squeezed)
	}
	start := strings.TrimSuffix(r.name, "*")
	end := strings.TrimRight(start, ".-")
	if start == end {
		return false
	}
	at := 0
	for range len(strings.FieldsFunc(start, parts)) {
		next := strings.IndexFunc(name[at:], parts)
		if next < 0 {
			return false
		}
		at += next + 1
	}
	return spelling.Resembles(spelling.Squeezed(name[:at]), spelling.Squeezed(end))
}

// parts reports whether a character stands between words of a name.
func parts(r rune) bool { return r == '.' || r == '-' || r == '_' }

// Package foreign has the effects of annotations of other Ingress controllers, which Fairlead does
// not follow. An Ingress without the effect of an annotation that restricts access would expose
// more than its author wants, so Fairlead has to know these.
//
// The controllers that people move from most have a table each, of all their annotations (aws.go,
// nginx.go). All others have one rule: the words of a name tell whether it restricts (others.go).
package foreign

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/spelling"
)

// A Setting is the effect of one annotation of another controller on an object.
type Setting struct {
	Prefix     string // the part of the key before the slash
	Name       string // the part of the key after it
	Controller string // the controllers that the prefix belongs to
	Effect     Effect // Changes or Restricts
	// Instead is the equivalent setting of Fairlead; "" if there is none.
	Instead string
	// Secures: it restricts because its author asks for HTTPS.
	Secures bool
	// Known: the name is in the table of the controller. Guessed: it has no table. Meant is the restricting name in the table that an unknown one
	// resembles.
	Known, Guessed bool
	Meant          string
	// More is the number of annotations that were not looked up, if the setting is the first of these:
	// any of them may restrict, so it does. It is 0 for all others.
	More int

	key string // the annotation in its original spelling
}

// Key returns the name of the annotation.
func (s Setting) Key() string { return s.key }

// OnIngress returns the settings of the annotations of an Ingress, sorted by key, without harmless
// ones.
func OnIngress(annotations map[string]string, as Served) []Setting {
	return read(annotations, len(annotations), func(*controller, string) bool {
		return true
	}).Settings(as)
}

// MostOnService is the most annotations of other controllers that are looked up on a Service. It
// may have thousands, and thousands of Ingresses may name it.
const MostOnService = 200

// Annotations holds an object's annotations of other controllers with their rows. Their effects
// depend on how the object is served.
type Annotations struct {
	all  map[string]string
	rows []lookedUp
	more []lookedUp // the first annotation beyond the limit, if any
	rest int        // number of annotations beyond the limit
}

// OfService returns the annotations of a Service that Ingress controllers read there.
func OfService(annotations map[string]string) *Annotations {
	return read(annotations, MostOnService, (*controller).readsOnServices)
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
				a.more = append(a.more, lookedUp{controller: c, key: key, prefix: prefix, name: name})
			}
		}
	}
	return a
}

// Settings returns the effects of annotations, sorted by key, without harmless ones.
func (a *Annotations) Settings(as Served) []Setting {
	var out []Setting
	for _, l := range a.rows {
		if s := l.setting(l.useOf(l.key, l.prefix, l.name, a.all, as)); s.Effect != Harmless {
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

// Matters reports whether an annotation belongs to another controller and is not always harmless: a
// change of it can change diagnostics.
func Matters(key string) bool {
	c, _, name := controllerOf(key)
	if c == nil {
		return false
	}
	r := c.find(strings.ToLower(name))
	return r == nil && !c.others || r != nil && (r.effect != Harmless || r.judge != nil)
}

// widest is how an Ingress is exposed the most.
var widest = Served{DualStack: true, Ports: []Port{{"HTTP", 80}}, Wider: true}

// Restricting reports whether an annotation with its value can restrict anything that Fairlead may
// serve.
func Restricting(key string, annotations map[string]string) bool {
	c, prefix, name := controllerOf(key)
	return c != nil && c.lookUp(key, prefix, name,
		annotations[key]).setting(c.useOf(key, prefix, name, annotations, widest)).Effect == Restricts
}

// An Explanation is what is known of one annotation of another controller.
type Explanation struct {
	Controller string
	Effect     Effect // where the Ingress is exposed the most
	When       string // the case in which it has the effect; "" for always
	Instead    string // the equivalent setting of Fairlead; "" for none
	Example    string
	ByWords    bool // the words of the name tell the effect
}

// Explain returns what is known of an annotation with a value, and whether it belongs to another
// controller.
func Explain(key, value string) (Explanation, bool) {
	c, prefix, name := controllerOf(key)
	if c == nil {
		return Explanation{}, false
	}
	l := c.lookUp(key, prefix, name, value)
	s := l.setting(c.useOf(key, prefix, name, map[string]string{key: value}, widest))
	out := Explanation{Controller: s.Controller, Effect: s.Effect, Instead: s.Instead, ByWords: l.row == nil}
	if l.row != nil {
		out.Example = l.row.instead.example
		if l.row.judge != nil {
			out.When = l.row.judge.says
		}
	}
	return out, l.row != nil || !c.others
}

// Find returns the setting for a name without prefix, from the first controller in the table that
// has it. Patterns come after names, and only if they restrict.
func Find(name string) (Setting, bool) {
	for _, c := range controllers {
		if r := c.named[strings.ToLower(name)]; r != nil && !c.others {
			return Setting{
				Prefix: c.prefixes[0], Name: name, Controller: c.name, Effect: r.effect,
				Instead: r.instead.String(), Known: true, Secures: r.secures(),
			}, true
		}
	}
	if r := unlisted.find(strings.ToLower(name)); r != nil && r.effect == Restricts {
		return Setting{
			Name: name, Controller: unlisted.name, Effect: Restricts, Instead: r.instead.String(),
			Known: true, Secures: r.secures(),
		}, true
	}
	return Setting{}, false
}

// A lookedUp is an annotation with the row of its name, or else the row that was meant, or whether
// its words look restrictive.
type lookedUp struct {
	*controller

	key, prefix, name string
	row, meant        *row
	sounds, hides     bool // its words restrict: always, or on an internet-facing load balancer
	secures           bool // its words ask for HTTPS
	off               bool // its words restrict, and its value is off
}

// lookUp looks up an annotation with a value.
func (c *controller) lookUp(key, prefix, name, value string) lookedUp {
	l := lookedUp{
		controller: c, key: key, prefix: prefix, name: name, row: c.find(strings.ToLower(name)),
	}
	if l.row == nil && !c.others || l.row != nil && l.row.judge == byItsName {
		l.readWords(value)
	}
	return l
}

// readWords sets what the words of the name say.
func (l *lookedUp) readWords(value string) {
	if l.guessed && strings.EqualFold(strings.TrimSpace(value), "none") {
		value = "x" // none can be the name of an object
	}
	l.sounds = LooksRestrictive(l.name, value) || looksRestrictiveOfController(l.name, value)
	if !l.sounds || !l.guessed {
		l.meant = l.resemblingRow(l.name)
	}
	if l.meant != nil {
		l.sounds = false
		return
	}
	l.hides = LooksInternal(l.name, value)
	l.secures = !l.sounds && LooksSecure(l.name, value)
	l.off = l.guessed && off(value) && (LooksRestrictive(l.name, "x") || looksRestrictiveOfController(l.name, "x") ||
		LooksInternal(l.name, "x") || LooksSecure(l.name, "x"))
}

// setting returns the setting of the annotation.
func (l lookedUp) setting(u use) Setting {
	s := Setting{Prefix: l.prefix, Name: l.name, Controller: l.controller.name, Guessed: l.guessed, key: l.key}
	restricts := l.meant != nil && l.meant.effectOf(u) == Restricts || l.sounds ||
		l.hides && !u.served.Internal || l.secures && u.served.plain()
	if r := l.row; r != nil && !(restricts && r.judge == byItsName) {
		s.Known, s.Effect, s.Instead = true, r.effectOf(u), r.instead.String()
		s.Secures = r.secures()
		return s
	}
	switch {
	case l.others && l.row == nil:
		return s
	case restricts && l.meant != nil:
		s.Effect, s.Instead, s.Meant = Restricts, l.meant.instead.String(), l.meant.name
		s.Secures = l.meant.secures()
	case restricts:
		s.Effect = Restricts
		if s.Secures = l.secures; l.secures {
			s.Instead = asSecurePorts.String()
		}
	case !l.off:
		s.Effect = Changes
	}
	return s
}

// resemblingRow returns the restricting row that a name resembles, or nil.
func (c *controller) resemblingRow(name string) *row {
	squeezed := spelling.Squeeze(name)
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

// resembledBy reports whether a name is a misspelling of the row's. The beginning of a pattern is
// compared with as many words of the name.
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
	for range len(strings.FieldsFunc(start, isSeparator)) {
		next := strings.IndexFunc(name[at:], isSeparator)
		if next < 0 {
			return false
		}
		at += next + 1
	}
	return spelling.Resembles(spelling.Squeeze(name[:at]), spelling.Squeeze(end))
}

// isSeparator reports whether a character separates words of a name.
func isSeparator(r rune) bool { return r == '.' || r == '-' || r == '_' }

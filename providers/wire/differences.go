package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
)

// This file compares observations, in the words of their messages.

// Differences returns a line for each field of an observation that is not the wanted one, such as
// `listeners[80].rules[100].handle: reported "b", want "a"`. Conditions count by their meaning.
// It does not compare settings that were read: their digests are those of the observation.
func Differences(want, got *lb.Observed) []string {
	wanted, reported := unread(want), unread(got)
	for i := range reported.Listeners {
		l := &reported.Listeners[i]
		if at := find(wanted.Listeners, portOf, l.Port); at != nil {
			alike(at, l)
		}
	}
	return differ("", "%s", fieldsOf(wanted), fieldsOf(reported))
}

// unread returns the message of an observation without the settings that were read.
func unread(o *lb.Observed) v1.Observed {
	o = o.Clone()
	o.Read = nil
	return EncodeObserved(o)
}

func portOf(l v1.ObservedListener) int32   { return l.Port }
func priorityOf(r v1.ObservedRule) int     { return r.Priority }
func idOf(g v1.ObservedTargetGroup) string { return g.ID }

// find returns the element with a name, or nil.
func find[E any, N cmp.Ordered](all []E, name func(E) N, wanted N) *E {
	at := slices.IndexFunc(all, func(e E) bool { return name(e) == wanted })
	if at < 0 {
		return nil
	}
	return &all[at]
}

// alike gives rules of the reported listener the words of the wanted ones where both mean the same.
func alike(want, got *v1.ObservedListener) {
	if decodeAction(want.Default).Key() == decodeAction(got.Default).Key() {
		got.Default = want.Default
	}
	for i := range got.Rules {
		r := &got.Rules[i]
		at := find(want.Rules, priorityOf, r.Priority)
		if at == nil {
			continue
		}
		wanted, reported := decodeRule(at.Rule), decodeRule(r.Rule)
		if wanted.MatchKey() == reported.MatchKey() {
			r.Rule.Conditions = at.Rule.Conditions
		}
		if wanted.Action.Key() == reported.Action.Key() {
			r.Rule.Action = at.Rule.Action
		}
	}
}

// fieldsOf returns a message as JSON values. Lists whose elements have names are objects.
func fieldsOf(o v1.Observed) map[string]any {
	out := plain(o)
	listeners := map[string]any{}
	for _, l := range o.Listeners {
		fields := plain(l)
		if len(l.Rules) > 0 {
			fields["rules"] = named(l.Rules, priorityOf)
		}
		listeners[fmt.Sprint(l.Port)] = fields
	}
	for name, list := range map[string]map[string]any{
		"listeners": listeners, "targetGroups": named(o.TargetGroups, idOf),
		"certificates": named(o.Certificates, func(c v1.ObservedCertificate) string { return c.ID }),
	} {
		if len(list) > 0 {
			out[name] = list
		}
	}
	return out
}

func named[E any, N cmp.Ordered](all []E, name func(E) N) map[string]any {
	out := map[string]any{}
	for _, e := range all {
		out[fmt.Sprint(name(e))] = plain(e)
	}
	return out
}

// plain returns a message as JSON values.
func plain(message any) map[string]any {
	out := map[string]any{}
	text, err := json.Marshal(message)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil { // the messages of this protocol are JSON objects
		panic(err)
	}
	return out
}

// listed are the fields whose elements have names, which are written in brackets.
var listed = map[string]bool{
	"listeners": true, "rules": true, "targetGroups": true, "certificates": true,
}

// differ returns the differences between two objects. Each path begins with a prefix, and each name
// has a form.
func differ(prefix, form string, want, got map[string]any) []string {
	var out []string
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path := prefix + fmt.Sprintf(form, name)
		w, wanted := want[name]
		g, reported := got[name]
		within, isObject := w.(map[string]any)
		other, areObjects := g.(map[string]any)
		inner := ".%s"
		if listed[name] && form != "[%s]" && (isObject || areObjects) {
			inner, isObject, areObjects = "[%s]", true, true // a missing list has no elements
		}
		switch {
		case isObject && areObjects:
			out = append(out, differ(path, inner, within, other)...)
		case !wanted:
			out = append(out, fmt.Sprintf("%s: reported %s, want none", path, short(g)))
		case !reported:
			out = append(out, fmt.Sprintf("%s: not reported, want %s", path, short(w)))
		case jsonOf(w) != jsonOf(g):
			out = append(out, fmt.Sprintf("%s: reported %s, want %s", path, short(g), short(w)))
		}
	}
	return out
}

// longestValue is the longest text of a value; the rest is cut off.
const longestValue = 200

func short(value any) string {
	text := jsonOf(value)
	if len(text) > longestValue {
		text = text[:longestValue] + "…"
	}
	return text
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // it comes from JSON
		panic(err)
	}
	return string(text)
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file reads bodies strictly. encoding/json passes over fields that it does not know, names in
// other letters, names that are there twice, and null. The protocol has all of these refused.

// decode reads a body, or returns what is wrong with it.
func decode(body []byte, into any) *v1.Problem {
	if !utf8.Valid(body) {
		return malformed("the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if p := walk(d, reflect.TypeOf(into).Elem(), "", "the body"); p != nil {
		return p
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed("there is something behind the end of the body")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return malformed("the body cannot be read: %v", err)
	}
	return nil
}

// walk reads a value that is to become a type. The values that a text can have stand in the tag
// enum of its field.
func walk(d *json.Decoder, t reflect.Type, enum, place string) *v1.Problem {
	if t == reflect.TypeFor[json.RawMessage]() {
		return unknown("%s is not known: Caddy has no settings of its own", place)
	}
	token, err := d.Token()
	if err != nil {
		return malformed("%s: %v", place, err)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := token.(type) {
	case nil:
		return malformed("%s is null; a field without a value is left out", place)
	case json.Delim:
		switch {
		case value == '{' && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
			return members(d, t, place)
		case value == '[' && t.Kind() == reflect.Slice:
			for i := 0; d.More(); i++ {
				if p := walk(d, t.Elem(), "", fmt.Sprintf("%s[%d]", place, i)); p != nil {
					return p
				}
			}
			return end(d, place)
		}
	case string:
		if t.Kind() == reflect.String {
			if enum != "" && !slices.Contains(strings.Split(enum, ","), value) {
				return unknown("%s is %.100q, which is not known; it can be %s", place, value, enum)
			}
			return nil
		}
	case json.Number:
		if t.Kind() == reflect.Int || t.Kind() == reflect.Int32 {
			return nil
		}
	case bool:
		if t.Kind() == reflect.Bool {
			return nil
		}
	}
	return malformed("%s should be of the kind %s, and is %.100v", place, t.Kind(), token)
}

// members reads a struct or a map, whose brace has been read.
func members(d *json.Decoder, t reflect.Type, place string) *v1.Problem {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return malformed("%s: %v", place, err)
		}
		if seen[name] {
			return malformed("%s has the field %.100q twice", place, name)
		}
		seen[name] = true
		inner, enum := t.Elem, ""
		if t.Kind() == reflect.Struct {
			at := slices.IndexFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return nameOf(f) == name })
			if at < 0 {
				return unknown("%s has the field %.100q, which is not known", place, name)
			}
			inner, enum = func() reflect.Type { return t.Field(at).Type }, t.Field(at).Tag.Get("enum")
		}
		if p := walk(d, inner(), enum, strings.TrimPrefix(place+"."+name, "the body.")); p != nil {
			return p
		}
	}
	return end(d, place)
}

func end(d *json.Decoder, place string) *v1.Problem {
	if _, err := d.Token(); err != nil {
		return malformed("%s: %v", place, err)
	}
	return nil
}

// nameOf is a field's name on the wire.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldsOf are the fields that each op needs, with a question mark behind those that can be
// missing.
var fieldsOf = map[v1.Op]string{
	v1.CreateLoadBalancer: "loadBalancer", v1.ModifyLoadBalancer: "loadBalancer", v1.DeleteLoadBalancer: "",
	v1.SetWebACL: "webACL?", v1.SetShield: "shield?", v1.DeleteFirewall: "",
	v1.ImportCertificate: "certificate", v1.ReplaceCertificate: "certificateID certificate",
	v1.ModifyCertificate: "certificate", v1.DeleteCertificate: "certificateID",
	v1.CreateTargetGroup: "targetGroup", v1.ModifyTargetGroup: "targetGroup",
	v1.RegisterTargets: "targetGroupID targets?", v1.AwaitTargets: "targetGroupID", v1.DeleteTargetGroup: "targetGroupID",
	v1.CreateListener: "listener", v1.ModifyListener: "listener", v1.DeleteListener: "port",
	v1.AttachCertificate: "port certificateID", v1.DetachCertificate: "port certificateID",
	v1.CreateRule: "port priority rule", v1.ModifyRule: "port priority rule", v1.DeleteRule: "port priority rule",
	v1.RenumberRules: "port priorities?",
}

// understand finds what is wrong with a step that can be read: its op, and the fields beside it.
func understand(s v1.Requested) *v1.Problem {
	if s.ID == "" || len(s.ID) > 256 {
		return malformed("its id has to have 1 to 256 bytes")
	}
	list, known := fieldsOf[s.Step.Op]
	if !known {
		return unknown("its op is %.100q, which is not known", s.Step.Op)
	}
	named, fields := strings.Fields(list), reflect.ValueOf(s.Step)
	for i := 1; i < fields.NumField(); i++ { // the first one is op
		name := nameOf(fields.Type().Field(i))
		switch needed := slices.Contains(named, name); {
		case needed && fields.Field(i).IsZero():
			return malformed("%s needs the field %q", s.Step.Op, name)
		case !needed && !slices.Contains(named, name+"?") && !fields.Field(i).IsZero():
			return unknown("%s has no field %q", s.Step.Op, name)
		}
	}
	if l := s.Step.Listener; l != nil {
		return understandAction(l.Default)
	}
	if r := s.Step.Rule; r != nil && s.Step.Op != v1.DeleteRule {
		return understandAction(r.Action)
	}
	return nil
}

func understandAction(a v1.Action) *v1.Problem {
	has := map[string]bool{"forward": a.Forward != nil, "fixed": a.Fixed != nil, "redirect": a.Redirect != nil}
	for kind, is := range has {
		if is != (kind == a.Kind) {
			return malformed("its action is of the kind %q, and has to have that field and no other one of forward, fixed and redirect", a.Kind)
		}
	}
	return nil
}

package settings

import (
	"reflect"
	"strconv"
)

// This file stores the defaults. The API server stores the same ones, but objects in files lack
// them.

// Complete stores the default in each field of an object that is empty and has one.
func (t Fields) Complete(object any) { t.complete(reflect.ValueOf(object).Elem(), "") }

// complete stores the defaults in a field and its parts.
func (t Fields) complete(v reflect.Value, path string) {
	switch {
	case t[path].Default != "":
		if v.IsZero() {
			set(v, t[path].Default)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		t.complete(v.Elem(), path)
	case v.Kind() == reflect.Struct:
		eachField(v, func(f reflect.Value, name string, _ bool) { t.complete(f, join(path, name)) })
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			t.complete(v.Index(i), path+"[]")
		}
	}
}

// set stores the value of a text in a text, an integer, or a pointer to one.
func set(v reflect.Value, text string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		v.SetString(text)
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("a default of the table is not an integer: " + err.Error()) // a test stores all of them
	}
	v.SetInt(n)
}

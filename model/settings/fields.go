package settings

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file has the bounds and defaults of fields of Backends and classes within objects and lists.
// The table has those of annotations, and of fields of classes with a single value.

// A Bound limits the values of a field. Zero is no bound.
type Bound struct {
	Known             []string       // the only texts
	Numbers           []int          // the only integers
	Least, Most       int            // of an integer
	Shortest, Longest int            // characters of a text
	FewestItems       int            // of a list
	MostItems         int            // of a list or a map
	Pattern           *regexp.Regexp // of a text
	Unlike            string         // the message about a text that does not match

	Default string // the value of an empty field; "" if the code decides
}

// Fields has bounds by the path of a field: a dot before a part of an object, and [] for each item
// of a list.
type Fields map[string]Bound

// Validate returns the errors in the fields of an object. Empty optional fields have none.
func (t Fields) Validate(object any, at *field.Path) field.ErrorList {
	return t.inStruct(reflect.Indirect(reflect.ValueOf(object)), "", at)
}

// inStruct returns the errors in the fields of a struct.
func (t Fields) inStruct(v reflect.Value, path string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	eachField(v, func(f reflect.Value, name string, optional bool) {
		if !optional || !f.IsZero() {
			errs = append(errs, t.inValue(f, join(path, name), at.Child(name))...)
		}
	})
	return errs
}

// eachField calls a function for the fields of a struct, with their names and whether they are
// optional. The fields of an inlined struct count as fields of the outer one.
func eachField(v reflect.Value, do func(f reflect.Value, name string, optional bool)) {
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch {
		case options == "inline":
			eachField(v.Field(i), do)
		case name != "" && name != "-":
			do(v.Field(i), name, strings.HasPrefix(options, "omit"))
		}
	}
}

// join returns the path of a part of an object.
func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// inValue returns the errors in a field, or in an item of a list.
func (t Fields) inValue(v reflect.Value, path string, at *field.Path) field.ErrorList {
	bound := t[path]
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return t.inValue(v.Elem(), path, at)
	case reflect.Struct:
		return t.inStruct(v, path, at)
	case reflect.Slice:
		errs := bound.ofLength(v.Len(), at)
		for i := range v.Len() {
			errs = append(errs, t.inValue(v.Index(i), path+"[]", at.Index(i))...)
		}
		return errs
	case reflect.Map:
		return bound.ofLength(v.Len(), at)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return bound.ofNumber(int(v.Int()), at)
	case reflect.String:
		return bound.ofText(v.String(), at)
	default: // booleans, and bytes of other kinds
		return nil
	}
}

// ofLength returns the error in the length of a list or a map.
func (b Bound) ofLength(items int, at *field.Path) field.ErrorList {
	switch {
	case items < b.FewestItems:
		return field.ErrorList{field.Required(at, "name at least one, or leave the field out")}
	case b.MostItems > 0 && items > b.MostItems:
		return field.ErrorList{field.TooMany(at, items, b.MostItems)}
	}
	return nil
}

// ofNumber returns the error in an integer.
func (b Bound) ofNumber(n int, at *field.Path) field.ErrorList {
	switch {
	case b.Numbers != nil && !slices.Contains(b.Numbers, n):
		return field.ErrorList{field.NotSupported(at, n, b.numbers())}
	case b.Most > 0 && (n < b.Least || n > b.Most):
		return field.ErrorList{field.Invalid(at, n, validation.InclusiveRangeError(b.Least, b.Most))}
	}
	return nil
}

// numbers returns the only integers as texts.
func (b Bound) numbers() []string {
	var out []string
	for _, n := range b.Numbers {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// ofText returns the error in a text.
func (b Bound) ofText(text string, at *field.Path) field.ErrorList {
	length := utf8.RuneCountInString(text)
	switch {
	case b.Known != nil && !slices.Contains(b.Known, text):
		return field.ErrorList{field.NotSupported(at, text, b.Known)}
	case text == "" && (b.Shortest > 0 || b.Pattern != nil):
		return field.ErrorList{field.Required(at, "")}
	case b.Longest > 0 && length > b.Longest:
		return field.ErrorList{field.TooLong(at, "", b.Longest)}
	case b.Pattern != nil && !b.Pattern.MatchString(text):
		return field.ErrorList{field.Invalid(at, text, b.Unlike)}
	}
	return nil
}

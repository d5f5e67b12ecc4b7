package kit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file finds values that a field's tag enum does not list. "" stands for a missing field.

// checkValues returns the first such value in a message.
func checkValues(message any) *fault { return valuesIn(reflect.ValueOf(message)) }

func valuesIn(v reflect.Value) *fault {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return valuesIn(v.Elem())
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return nil // settings that only the provider understands
		}
		for i := range v.Len() {
			if f := valuesIn(v.Index(i)); f != nil {
				return f.in(fmt.Sprintf("[%d]", i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := valueOf(v.Field(i), v.Type().Field(i).Tag.Get("enum")); f != nil {
				return f.in("." + v1.FieldName(v.Type().Field(i)))
			}
		}
	default: // anything
	}
	return nil
}

// valueOf returns a value if the tag has a list and it is not in that.
func valueOf(v reflect.Value, listed string) *fault {
	if listed == "" {
		return valuesIn(v)
	}
	if text := v.String(); text != "" && !slices.Contains(strings.Split(listed, ","), text) {
		return unknown("is %q; it can be %s", clip(text), strings.ReplaceAll(listed, ",", ", "))
	}
	return nil
}

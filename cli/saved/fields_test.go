package saved

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// notSaved are the fields that are not compared, and secrets. A new field of routing.Config is saved
// or has its place here.
var notSaved = map[string]string{
	"Backends":                               "targets and health checks are not compared",
	"Certificates.Kind":                      "it follows from the ID",
	"Certificates.Origin":                    "only for messages",
	"Certificates.Pair":                      "a secret",
	"Defaults.Action.Auth.ClientSecret":      "a secret",
	"Defaults.Action.Auth.KeepsClientSecret": "a secret",
	"Routes.Action.Auth.ClientSecret":        "a secret",
	"Routes.Action.Auth.KeepsClientSecret":   "a secret",
	"Routes.Through":                         "only routes of levels have it, and levels are made anew",
	"Listeners.Asked":                        "attributes are not compared",
	"Listeners.Attributes":                   "attributes are not compared",
	"Listeners.Decided":                      "only for refusals",
	"Members":                                "only for status",
	"Settings.Attributes":                    "attributes are not compared",
	"Settings.IPFamily":                      "families of addresses are not compared",
	"Settings.Provider":                      "only the provider understands it",
	"Settings.Subnets":                       "they decide no answer",
	"Settings.Tags":                          "they decide no answer",
	"Yielding":                               "only for status",
}

func TestEachFieldIsSavedOrLeftOutForAReason(t *testing.T) {
	var full routing.Config
	fill(reflect.ValueOf(&full).Elem())
	before := leaves(reflect.ValueOf(full))
	after := leaves(reflect.ValueOf(again(t, &precedence.Table{Config: full}).Config))
	lost := map[string]bool{}
	for path, value := range before {
		if reflect.DeepEqual(after[path], value) {
			continue
		}
		reason := false
		for left := range notSaved {
			if path == left || strings.HasPrefix(path, left+".") {
				reason, lost[left] = true, true
			}
		}
		if !reason {
			t.Errorf("%s is %v before and %v after: save it, or say in notSaved why not", path, value, after[path])
		}
	}
	want := slices.Sorted(maps.Keys(notSaved))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(lost))); diff != "" {
		t.Errorf("fields that are lost (-listed +found):\n%s", diff)
	}
}

// fill sets each exported field to a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}

// leaves returns the values of exported fields by their paths. Elements of lists have the path of
// the list.
func leaves(v reflect.Value) map[string]any {
	out := map[string]any{}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch {
		case v.Kind() == reflect.Pointer && !v.IsNil():
			walk(path, v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				walk(path, v.Index(i))
			}
		case v.Kind() == reflect.Map:
			for _, key := range v.MapKeys() {
				walk(path, v.MapIndex(key))
			}
		case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					walk(strings.TrimPrefix(path+"."+f.Name, "."), v.Field(i))
				}
			}
		default:
			out[path] = v.Interface()
		}
	}
	walk("", v)
	return out
}

package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file makes patches of records without client.MergeFrom, which marshals a whole record twice
// and parses it again. Most writes change few fields, and what is recorded of the members is most of a
// record.

// mergePatch returns a JSON merge patch (RFC 7386) that replaces the status of an object. The API
// server refuses it if the object has another version by then.
func mergePatch(stored *v1alpha1.LoadBalancer, r Record) ([]byte, error) {
	before := stored.Status
	before.Memory, r.Memory = before.Memory.Stored(), r.Memory.Stored()
	status, err := changedFields(reflect.ValueOf(before), reflect.ValueOf(r))
	if err != nil {
		return nil, fmt.Errorf("making a patch of LoadBalancer %s: %w", stored.Name, err)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": stored.ResourceVersion},
		"status":   status,
	})
}

// changedFields returns the fields in which two structs differ, by their names in JSON. A field
// that JSON leaves out now is nil. A field that JSON never leaves out is always among them: an
// object without a status does not have it yet, and the API server requires it.
func changedFields(before, now reflect.Value) (map[string]any, error) {
	out := map[string]any{}
	for i := range now.NumField() {
		name, omitted := tagOf(now.Type().Field(i))
		was, is := before.Field(i), now.Field(i)
		if omitted && equality.Semantic.DeepEqual(was.Interface(), is.Interface()) {
			continue
		}
		var err error
		if omitted && isEmpty(is) {
			out[name] = nil
		} else if is.Type() == reflect.TypeFor[v1alpha1.Memory]() {
			out[name], err = changedFields(was, is)
		} else {
			out[name], err = changedValue(was.Interface(), is.Interface())
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tagOf returns the name of a field in JSON, and reports whether JSON leaves it out if it is empty.
func tagOf(f reflect.StructField) (name string, omitted bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, options == "omitempty" || options == "omitzero"
}

// isEmpty reports whether a value is zero, or a list or map without entries.
func isEmpty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// changedValue returns a value as a merge patch of the value before. The patch of an object has
// only the fields that differ: a merge patch keeps all others.
func changedValue(before, now any) (json.RawMessage, error) {
	was, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(now)
	if err != nil || !bytes.HasPrefix(was, []byte("{")) || !bytes.HasPrefix(is, []byte("{")) {
		return is, err
	}
	return jsonpatch.CreateMergePatch(was, is)
}

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plainyaml"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads the Backends that an Ingress brings in an annotation.

// mostBackends is the most Backends of an annotation.
const mostBackends = 100

// ReadBackends reads the annotation. Whether a spec is one that can be served is checked as that of
// an object is.
func ReadBackends(text string) (map[string]*v1alpha1.BackendSpec, error) {
	root, err := plainyaml.Read(text)
	if err != nil {
		return nil, err
	}
	var values any
	if err := root.Decode(&values); err != nil {
		return nil, errors.New(diag.Cut(err.Error()))
	}
	object, err := json.Marshal(values)
	if err != nil {
		return nil, errors.New(diag.Cut(err.Error()))
	}
	var out map[string]*v1alpha1.BackendSpec
	wrong, err := kjson.UnmarshalStrict(object, &out)
	if err := errors.Join(append(wrong, err)...); err != nil {
		return nil, errors.New(diag.Cut(strings.TrimPrefix(err.Error(), "json: ")))
	}
	if len(out) == 0 || len(out) > mostBackends {
		return nil, fmt.Errorf("it has %d Backends, and 1 to %d are possible", len(out), mostBackends)
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
			return nil, fmt.Errorf("%s is not the name of a Backend: %s", diag.Quote(name), strings.Join(why, "; "))
		}
		if out[name] == nil {
			return nil, fmt.Errorf("%s has no spec", diag.Quote(name))
		}
	}
	return out, nil
}

// BackendsOf returns the Backends that the annotations of an Ingress bring; nil if there are none, or
// they cannot be read.
func BackendsOf(annotations map[string]string) map[string]*v1alpha1.BackendSpec {
	text, is := annotations[Backends]
	if !is || len(text) > LongestBackends {
		return nil
	}
	out, _ := ReadBackends(text)
	return out
}

// RewriteOf returns the rewrite of a Backend as routes have it; nil for none.
func RewriteOf(r *v1alpha1.Rewrite) *routing.Rewrite {
	if r == nil {
		return nil
	}
	out := &routing.Rewrite{}
	if r.URL != nil {
		out.URL, out.URLReplacement = r.URL.Pattern, r.URL.Replacement
	}
	if r.Host != nil {
		out.Host, out.HostReplacement = r.Host.Pattern, r.Host.Replacement
	}
	return out
}

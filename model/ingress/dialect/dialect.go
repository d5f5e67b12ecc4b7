// Package dialect has the form in which Ingresses that were written for another controller are read:
// as what their authors would have written for Fairlead, with what becomes of each annotation. A
// package for each dialect makes a Reading of an Ingress; everything behind it knows Fairlead's own
// annotations alone.
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
)

// An Input is an Ingress of a class with a dialect, and what its meaning depends on.
type Input struct {
	*networkingv1.Ingress
	Class *v1alpha1.LoadBalancerClassSpec
	// Service returns a Service of the Ingress's namespace; nil if there is none.
	Service func(name string) *corev1.Service
	// Parameters are what an object beside the class says; nil for none.
	Parameters *Parameters
	// Beside are the other Ingresses of the class in the Ingress's namespace, oldest first; none where there is a World.
	Beside []*networkingv1.Ingress
	// Everywhere are all Ingresses of a class with groups across namespaces, oldest first.
	Everywhere []*networkingv1.Ingress
	// World is what the front end makes of all Ingresses of the class that one means something for; nil if it makes nothing.
	World any
}

// Parameters has the settings for all Ingresses of a class that an object of the other controller has, and
// for which the class has no field.
type Parameters struct {
	Object string // such as "IngressClassParams edge"
	// Instead has the annotations that are not read, of Ingresses and Services.
	Instead map[string]Instead
	// Verdicts are about the fields of the object.
	Verdicts []Verdict
}

// Instead is what holds in place of an annotation.
type Instead struct {
	By    string // what decides, such as "spec.scheme of IngressClassParams edge"
	Value string // the annotation that every Ingress has then; "" if the class has a field for it
	Loses string // what an Ingress with the annotation loses, unlike with the other controller; "" for nothing
}

// A Reading is an Ingress as its author would have written it for Fairlead.
type Reading struct {
	*networkingv1.Ingress
	// Of is the Ingress as its author wrote it.
	Of *networkingv1.Ingress
	// Origins has the author's annotation that an annotation of Fairlead was made of.
	Origins map[string]string
	// Fields has the author's field that a field of the spec was made of, where they differ.
	Fields   map[string]string
	Verdicts []Verdict
	// Classes counts the classes of requests of a path, by the author's field.
	Classes map[string]Classes
	// Example returns a request that a path is about, by the author's field, or one about the Ingress for ""; nil if none is known.
	Example func(field string) (request compare.Request, is bool)
}

// Classes counts classes of requests: a path of an Ingress on its host is one over HTTP, and another one over HTTPS.
type Classes struct {
	Same    int `json:"same"`
	Changed int `json:"changed"` // some requests of it are answered in another way
	Refused int `json:"refused"` // they are not served
}

// Plus returns the sum of counts.
func (c Classes) Plus(o Classes) Classes {
	return Classes{c.Same + o.Same, c.Changed + o.Changed, c.Refused + o.Refused}
}

// A Verdict is what becomes of an annotation or a field of an Ingress or a Service.
type Verdict struct {
	Service string // that has the annotation; "" for the Ingress
	Beside  string // the other Ingress that has it; "" for none
	Key     string // the annotation, or the field
	Outcome Outcome
	// Message says what happens, and what to write; "" if there is nothing to say.
	Message string
	// Request is one that shows the difference, of Changed, or one that is not served, of Refused.
	Request compare.Request
	// Before and After are the answers to it of the other controller and of Fairlead; "" if they are not known.
	Before, After string
	// ByItself: the other controller does it for all Ingresses, which have nothing about it.
	ByItself bool
}

// DueToOthers reports whether an object beside the Ingress leads to the verdict. It can change while the
// Ingress stays as it is.
func (v Verdict) DueToOthers() bool { return v.Service != "" || v.Beside != "" }

// An Outcome is what becomes of an annotation or a field.
type Outcome string

const (
	Same    Outcome = "same"    // requests are answered as by the other controller
	Changed Outcome = "changed" // some are answered in another way
	Dropped Outcome = "dropped" // it, or a part of it, has no effect, and that opens nothing
	Refused Outcome = "refused" // the Ingress is not served, as it would be less protected without it
)

// Author returns the author's field of a field of the reading.
func (r *Reading) Author(field string) string {
	if key, is := strings.CutPrefix(field, "metadata.annotations["); is {
		key = strings.TrimSuffix(key, "]")
		if origin, known := r.Origins[key]; known {
			return "metadata.annotations[" + origin + "]"
		}
		return field
	}
	for end := len(field); end > 0; end = strings.LastIndexByte(field[:end], '.') {
		if origin, known := r.Fields[field[:end]]; known {
			return r.written(origin, field[end:])
		}
	}
	if part, is := strings.CutPrefix(field, defaultBackend); is {
		return r.written(defaultBackend, part)
	}
	return field
}

const defaultBackend = "spec.defaultBackend"

// written returns the author's field of a part of one. A Backend may stand for the Service that the author wrote, and a path for
// the default backend, or for what has no backend.
func (r *Reading) written(origin, part string) string {
	of, is := strings.CutPrefix(part, ".backend")
	if !is && origin != defaultBackend {
		return origin + part
	}
	var b *networkingv1.IngressBackend
	var rule, path int
	if origin == defaultBackend {
		b = r.Of.Spec.DefaultBackend
	} else if n, _ := fmt.Sscanf(origin, "spec.rules[%d].http.paths[%d]", &rule, &path); n == 2 {
		b, origin = &r.Of.Spec.Rules[rule].HTTP.Paths[path].Backend, origin+".backend"
	}
	if b == nil {
		return origin
	}
	if more, is := strings.CutPrefix(of, ".resource"); is && b.Service != nil {
		of = ".service" + more
	}
	return origin + of
}

// Refuses reports whether the Ingress is not served.
func (r *Reading) Refuses() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Outcome == Refused })
}

// JSON encodes a value that was read from annotations. It always can be.
func JSON(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// YAML returns such a value for people to read, with the names that it has in JSON.
func YAML(value any) string {
	var plain any
	err := json.Unmarshal([]byte(JSON(value)), &plain)
	out, wrong := yaml.Marshal(plain)
	if err := errors.Join(err, wrong); err != nil {
		panic(err)
	}
	return string(out)
}

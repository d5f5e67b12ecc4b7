package manifests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/spelling"
)

// This file lists the kinds that are read from manifests. Other kinds in the same files, such as a
// Deployment, are skipped.

// A Kind is a kind of objects that the compiler reads.
type Kind struct {
	APIVersion, Name string
	Namespaced       bool
	// strict refuses unknown fields, as the API server does. Kinds of which the compiler needs a part
	// are not strict.
	strict bool
	Empty  func() metav1.Object
	Add    func(*ingress.Objects, metav1.Object)
}

const ours = "fairlead.dev/v1alpha1"

// Kinds are all of them, in the order in which they are read from a cluster.
var Kinds = []Kind{
	kindOf("networking.k8s.io/v1", "Ingress", func(o *ingress.Objects) *[]*networkingv1.Ingress { return &o.Ingresses }).inNamespaces().strictly(),
	kindOf("networking.k8s.io/v1", "IngressClass", func(o *ingress.Objects) *[]*networkingv1.IngressClass { return &o.IngressClasses }).strictly(),
	kindOf(ours, "LoadBalancerClass", func(o *ingress.Objects) *[]*v1alpha1.LoadBalancerClass { return &o.LoadBalancerClasses }).inNamespaces().strictly(),
	kindOf(ours, "ClusterLoadBalancerClass",
		func(o *ingress.Objects) *[]*v1alpha1.ClusterLoadBalancerClass {
			return &o.ClusterLoadBalancerClasses
		}).strictly(),
	kindOf(alb.ParamsVersion.String(), alb.ParamsKind,
		func(o *ingress.Objects) *[]*alb.IngressClassParams { return &o.IngressClassParams }),
	kindOf(alb.ParamsVersion.String(), alb.BindingKind,
		func(o *ingress.Objects) *[]*alb.TargetGroupBinding { return &o.TargetGroupBindings }).inNamespaces(),
	kindOf(ours, "Backend", func(o *ingress.Objects) *[]*v1alpha1.Backend { return &o.Backends }).inNamespaces().strictly(),
	kindOf("v1", "Service", func(o *ingress.Objects) *[]*corev1.Service { return &o.Services }).inNamespaces(),
	kindOf("v1", "Secret", func(o *ingress.Objects) *[]*corev1.Secret { return &o.Secrets }).inNamespaces(),
	kindOf("v1", "Namespace", func(o *ingress.Objects) *[]*corev1.Namespace { return &o.Namespaces }),
	kindOf("v1", "Node", func(o *ingress.Objects) *[]*corev1.Node { return &o.Nodes }),
	kindOf("v1", "Pod", func(o *ingress.Objects) *[]*corev1.Pod { return &o.Pods }).inNamespaces(),
	kindOf("discovery.k8s.io/v1", "EndpointSlice", func(o *ingress.Objects) *[]*discoveryv1.EndpointSlice { return &o.EndpointSlices }).inNamespaces(),
}

func kindOf[T any, P interface {
	*T
	metav1.Object
}](apiVersion, name string, list func(*ingress.Objects) *[]P) Kind {
	return Kind{
		APIVersion: apiVersion,
		Name:       name,
		Empty:      func() metav1.Object { return P(new(T)) },
		Add: func(o *ingress.Objects, object metav1.Object) {
			all := list(o)
			*all = append(*all, object.(P))
		},
	}
}

func (k Kind) inNamespaces() Kind { k.Namespaced = true; return k }
func (k Kind) strictly() Kind     { k.strict = true; return k }

// identity is the kind and the name in a document.
type identity struct {
	APIVersion string
	Kind       string
	Metadata   metadata
}

type metadata struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// identityOf returns what the fields of a document say of its kind and name. Names of another type
// than text are left to the decoder of the kind.
func identityOf(fields map[string]json.RawMessage) (id identity, err error) {
	text := func(name string) (value string) {
		if raw, there := fields[name]; there && err == nil &&
			sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &value) != nil {
			err = fieldError{name, "must be of type string"}
		}
		return value
	}
	id.APIVersion, id.Kind = text("apiVersion"), text("kind")
	if raw, there := fields["metadata"]; there {
		_ = sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &id.Metadata)
	}
	return id, err
}

// String returns the object as diagnostics name it.
func (i identity) String() string {
	switch {
	case i.Metadata.Name == "":
		return i.Kind
	case i.Metadata.Namespace == "":
		return i.Kind + " " + i.Metadata.Name
	}
	return i.Kind + " " + i.Metadata.Namespace + "/" + i.Metadata.Name
}

// kind returns the kind of a document; ok is false if it is skipped.
func (i identity) kind() (k Kind, ok bool, err error) {
	at := slices.IndexFunc(Kinds, func(k Kind) bool {
		return k.APIVersion == i.APIVersion && k.Name == i.Kind
	})
	if at >= 0 {
		return Kinds[at], true, nil
	}
	group, _, versioned := strings.Cut(i.APIVersion, "/")
	switch {
	case i.Kind == "Ingress" &&
		(group == "extensions" || group == networkingv1.GroupName || !versioned):
		return Kind{}, false, fieldError{"apiVersion", i.APIVersion +
			" is not an API that Kubernetes serves Ingresses under; write networking.k8s.io/v1"}
	case group == v1alpha1.Group && (i.APIVersion != ours || i.Kind != "LoadBalancer"):
		return Kind{}, false, fieldError{"kind", i.APIVersion + " has no kind " + i.Kind + i.meant()}
	}
	if meant := i.meant(); meant != "" {
		return Kind{}, false, fieldError{"kind", i.APIVersion + " has no kind " + i.Kind + meant}
	}
	for _, k := range Kinds {
		its, _, grouped := strings.Cut(k.APIVersion, "/")
		if grouped && k.Name == i.Kind && its != group && spelling.Resembles(its, group) {
			return Kind{}, false, fieldError{"apiVersion", "did you mean " + k.APIVersion + "?"}
		}
	}
	return Kind{}, false, nil
}

// served has the kinds of the groups whose misspelt kinds are reported.
var served = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, networkingv1.AddToScheme,
		discoveryv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two types have one name
		}
	}
	return scheme
}()

// meant asks whether another kind of the same API was meant, if one is similar. It is empty for a
// kind that exists.
func (i identity) meant() string {
	known := served.KnownTypes(schema.FromAPIVersionAndKind(i.APIVersion, i.Kind).GroupVersion())
	if _, exists := known[i.Kind]; exists {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if spelling.Resembles(name, i.Kind) {
			return "; did you mean " + name + "?"
		}
	}
	return ""
}

// A fieldError is what is wrong with a field of an object.
type fieldError struct{ field, text string }

// Error returns the problem with its field.
func (e fieldError) Error() string { return e.field + ": " + e.text }

// duplicateField is how the error of a key that is written twice begins
// (https://pkg.go.dev/sigs.k8s.io/json#UnmarshalStrict).
const duplicateField = "duplicate field "

// decode reads a document of this kind, and puts it into a namespace if it names none. It returns
// all errors. Kinds that are not strict may have unknown fields, and no field twice.
func (k Kind) decode(data []byte, namespace string) (metav1.Object, []error) {
	object := k.Empty()
	strict, err := sigsjson.UnmarshalStrict(data, object)
	if err != nil {
		var document map[string]any
		if sigsjson.UnmarshalCaseSensitivePreserveInts(data, &document) == nil {
			err = cmp.Or(k.wrong("", document, 0, func(whole any) any { return whole }), err)
		}
		if _, located := errors.AsType[fieldError](err); !located {
			err = errors.New(strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil, []error{err}
	}
	strict = slices.DeleteFunc(strict, func(err error) bool {
		return !k.strict && !strings.HasPrefix(err.Error(), duplicateField)
	})
	if len(strict) > 0 {
		return nil, strict
	}
	if k.Namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	if secret, ok := object.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	return object, nil
}

// deepest is how many levels of a document wrong descends. No kind has so many, and each level is
// decoded with all that is below it.
const deepest = 20

// wrong names the first invalid value of a document, and the reason. A decoder loses the indices of
// lists, and the whole path of types that decode themselves, such as times. Therefore wrong decodes
// each value by itself, from the top down. The function alone puts a value at its place in a
// document; wrong returns nil if no value is invalid.
func (k Kind) wrong(path string, value any, level int, alone func(any) any) error {
	data, err := json.Marshal(alone(value))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err = sigsjson.UnmarshalCaseSensitivePreserveInts(data, k.Empty()); err == nil {
		return nil
	}
	if level == deepest {
		value = nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			field := func(v any) any { return alone(map[string]any{key: v}) }
			below := strings.TrimPrefix(path+"."+key, ".")
			if inside := k.wrong(below, value[key], level+1, field); inside != nil {
				return inside
			}
		}
	case []any:
		for i, item := range value {
			element := func(v any) any { return alone([]any{v}) }
			inside := k.wrong(fmt.Sprintf("%s[%d]", path, i), item, level+1, element)
			if inside != nil {
				return inside
			}
		}
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fieldError{path, fmt.Sprintf("must be of type %s, not %s", mismatch.Type, mismatch.Value)}
	}
	return fieldError{path, err.Error()}
}

// mergeStringData merges stringData of a Secret into data, as the API server does.
func mergeStringData(s *corev1.Secret) {
	for key, text := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

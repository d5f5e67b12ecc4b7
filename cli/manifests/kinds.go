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
	sigsjson "sigs.k8s.io/json"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/objects"
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
	Add    func(*objects.Objects, metav1.Object)
}

const ours = "fairlead.dev/v1alpha1"

// Kinds are all of them, in the order in which they are read from a cluster.
var Kinds = []Kind{
	kindOf("networking.k8s.io/v1", "Ingress", func(o *objects.Objects) *[]*networkingv1.Ingress { return &o.Ingresses }).inNamespaces().strictly(),
	kindOf("networking.k8s.io/v1", "IngressClass", func(o *objects.Objects) *[]*networkingv1.IngressClass { return &o.IngressClasses }).strictly(),
	kindOf(ours, "LoadBalancerClass", func(o *objects.Objects) *[]*v1alpha1.LoadBalancerClass { return &o.LoadBalancerClasses }).inNamespaces().strictly(),
	kindOf(ours, "ClusterLoadBalancerClass",
		func(o *objects.Objects) *[]*v1alpha1.ClusterLoadBalancerClass {
			return &o.ClusterLoadBalancerClasses
		}).strictly(),
	kindOf(ours, "Backend", func(o *objects.Objects) *[]*v1alpha1.Backend { return &o.Backends }).inNamespaces().strictly(),
	kindOf("v1", "Service", func(o *objects.Objects) *[]*corev1.Service { return &o.Services }).inNamespaces(),
	kindOf("v1", "Secret", func(o *objects.Objects) *[]*corev1.Secret { return &o.Secrets }).inNamespaces(),
	kindOf("v1", "Namespace", func(o *objects.Objects) *[]*corev1.Namespace { return &o.Namespaces }),
	kindOf("v1", "Node", func(o *objects.Objects) *[]*corev1.Node { return &o.Nodes }),
	kindOf("v1", "Pod", func(o *objects.Objects) *[]*corev1.Pod { return &o.Pods }).inNamespaces(),
	kindOf("discovery.k8s.io/v1", "EndpointSlice", func(o *objects.Objects) *[]*discoveryv1.EndpointSlice { return &o.EndpointSlices }).inNamespaces(),
}

func kindOf[T any, P interface {
	*T
	metav1.Object
}](apiVersion, name string, list func(*objects.Objects) *[]P) Kind {
	return Kind{
		APIVersion: apiVersion,
		Name:       name,
		Empty:      func() metav1.Object { return P(new(T)) },
		Add: func(o *objects.Objects, object metav1.Object) {
			all := list(o)
			*all = append(*all, object.(P))
		},
	}
}

func (k Kind) inNamespaces() Kind { k.Namespaced = true; return k }
func (k Kind) strictly() Kind     { k.strict = true; return k }

// identity is the kind and the name in a document.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
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
	case i.Kind == "Ingress" && (group == "extensions" || group == "networking.k8s.io" || !versioned):
		return Kind{}, false, fmt.Errorf("apiVersion: %s is not an API that Kubernetes serves "+
			"Ingresses under; write networking.k8s.io/v1", i.APIVersion)
	case group == "fairlead.dev" && (i.APIVersion != ours || i.Kind != "LoadBalancer"):
		return Kind{}, false, fmt.Errorf("kind: %s has no kind %s", i.APIVersion, i.Kind)
	}
	return Kind{}, false, nil
}

// decode reads a document of this kind, and puts it into a namespace if it names none. It returns
// all errors.
func (k Kind) decode(data []byte, namespace string) (metav1.Object, []error) {
	object := k.Empty()
	unknown, err := sigsjson.UnmarshalStrict(data, object)
	if err != nil {
		var document map[string]any
		if json.Unmarshal(data, &document) == nil {
			err = cmp.Or(k.wrong("", document, func(whole any) any { return whole }), err)
		}
		return nil, []error{errors.New(strings.TrimPrefix(err.Error(), "json: "))}
	}
	if k.strict && len(unknown) > 0 {
		return nil, unknown
	}
	if k.Namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	if secret, ok := object.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	return object, nil
}

// wrong names the first invalid value of a document, and the reason. A decoder loses the indices of
// lists, and the whole path of types that decode themselves, such as times. Therefore wrong decodes
// each value by itself, from the top down. The function alone puts a value at its place in a
// document; wrong returns nil if no value is invalid.
func (k Kind) wrong(path string, value any, alone func(any) any) error {
	data, err := json.Marshal(alone(value))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err = json.Unmarshal(data, k.Empty()); err == nil {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			field := func(v any) any { return alone(map[string]any{key: v}) }
			if inside := k.wrong(strings.TrimPrefix(path+"."+key, "."), value[key], field); inside != nil {
				return inside
			}
		}
	case []any:
		for i, item := range value {
			element := func(v any) any { return alone([]any{v}) }
			if inside := k.wrong(fmt.Sprintf("%s[%d]", path, i), item, element); inside != nil {
				return inside
			}
		}
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("%s: must be of type %s, not %s", path, mismatch.Type, mismatch.Value)
	}
	return fmt.Errorf("%s: %w", path, err)
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

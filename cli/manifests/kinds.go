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
	"fairlead.dev/fairlead/model/ingress"
)

// This file is the list of Kinds that are read from manifests. Everything else that may lie in
// the same directory, such as a Deployment, is none of our business and passed over.

// A Kind is one that a snapshot can hold.
type Kind struct {
	APIVersion, Name string
	Namespaced       bool
	// strict refuses fields that do not exist, as the API server does. The Kinds of which a
	// snapshot needs a part only are read as far as they are understood.
	strict bool
	Empty  func() metav1.Object
	Add    func(*ingress.Objects, metav1.Object)
}

const ours = "fairlead.dev/v1alpha1"

// Kinds are those that are read, in the order in which they are read from a cluster.
var Kinds = []Kind{
	kindOf("networking.k8s.io/v1", "Ingress", func(o *ingress.Objects) *[]*networkingv1.Ingress { return &o.Ingresses }).inNamespaces().strictly(),
	kindOf("networking.k8s.io/v1", "IngressClass", func(o *ingress.Objects) *[]*networkingv1.IngressClass { return &o.IngressClasses }).strictly(),
	kindOf(ours, "LoadBalancerClass", func(o *ingress.Objects) *[]*v1alpha1.LoadBalancerClass { return &o.LoadBalancerClasses }).inNamespaces().strictly(),
	kindOf(ours, "ClusterLoadBalancerClass", func(o *ingress.Objects) *[]*v1alpha1.ClusterLoadBalancerClass {
		return &o.ClusterLoadBalancerClasses
	}).strictly(),
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

// identity is what a document says of itself.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
}

// String is the object as diagnostics name it.
func (i identity) String() string {
	switch {
	case i.Metadata.Name == "":
		return i.Kind
	case i.Metadata.Namespace == "":
		return i.Kind + " " + i.Metadata.Name
	}
	return i.Kind + " " + i.Metadata.Namespace + "/" + i.Metadata.Name
}

// kind is what a document is to be read as; ok is false for one that is passed over.
func (i identity) kind() (k Kind, ok bool, err error) {
	at := slices.IndexFunc(Kinds, func(k Kind) bool { return k.APIVersion == i.APIVersion && k.Name == i.Kind })
	if at >= 0 {
		return Kinds[at], true, nil
	}
	group, _, versioned := strings.Cut(i.APIVersion, "/")
	switch {
	case i.Kind == "Ingress" && (group == "extensions" || group == "networking.k8s.io" || !versioned):
		return Kind{}, false, fmt.Errorf("apiVersion: %s is not an API that Kubernetes serves Ingresses under; write networking.k8s.io/v1", i.APIVersion)
	case group == "fairlead.dev" && (i.APIVersion != ours || i.Kind != "LoadBalancer"):
		return Kind{}, false, fmt.Errorf("kind: %s has no kind %s", i.APIVersion, i.Kind)
	}
	return Kind{}, false, nil
}

// decode reads a document as this kind. There may be several things wrong with it.
func (k Kind) decode(data []byte) (metav1.Object, []error) {
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
		object.SetNamespace(metav1.NamespaceDefault)
	}
	if secret, ok := object.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	return object, nil
}

// wrong names the first value that keeps a document from being read, and says why. A decoder
// forgets the indices of lists, and all of the path where a type reads itself, as times do: so
// each value is tried alone, from the top down. Alone puts a value where it stands in the
// document; nil is returned if nothing is wrong with it.
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

// mergeStringData does what the API server does to a Secret when it stores it.
func mergeStringData(s *corev1.Secret) {
	for key, text := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// This file is what a path of an Ingress can refer to besides a Service:
//
//	backend:
//	  resource: {apiGroup: fairlead.dev, kind: Backend, name: to-https}

// BackendSpec is exactly one of its fields.
type BackendSpec struct {
	// Redirect sends the client elsewhere.
	Redirect *Redirect `json:"redirect,omitempty"`
	// FixedResponse is an answer that the load balancer gives itself.
	FixedResponse *FixedResponse `json:"fixedResponse,omitempty"`
	// Services share the requests by their weights.
	Services []WeightedService `json:"services,omitempty"`
}

// Redirect says where to. Each part left out keeps that of the request, but a scheme without a
// port means the scheme's usual port; the placeholders #{protocol}, #{host}, #{port}, #{path} and
// #{query} stand for the request's parts too. At least one part has to change.
type Redirect struct {
	// Scheme is http or https.
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	Host   string `json:"host,omitempty"`
	Port   string `json:"port,omitempty"`
	// Path starts with a slash.
	Path string `json:"path,omitempty"`
	// Query is without its question mark.
	Query string `json:"query,omitempty"`
	// StatusCode is 301 or 302, the default.
	// +kubebuilder:validation:Enum=301;302
	StatusCode int `json:"statusCode,omitempty"`
}

// FixedResponse is a whole answer.
type FixedResponse struct {
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	StatusCode int `json:"statusCode"`
	// ContentType of the body; text/plain if there is a body and none is given.
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
}

// WeightedService is a Service of the Backend's namespace and its share of the requests.
type WeightedService struct {
	Name string      `json:"name"`
	Port ServicePort `json:"port"`
	// Weight is this Service's share, over the sum of all weights. Unset: 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999
	Weight *int32 `json:"weight,omitempty"`
}

// ServicePort is either the name or the number of a Service's port.
type ServicePort struct {
	Name   string `json:"name,omitempty"`
	Number int32  `json:"number,omitempty"`
}

// Backend is a redirect, a fixed response, or several Services.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendSpec `json:"spec,omitempty"`
}

// BackendList is a list of them.
//
// +kubebuilder:object:root=true
type BackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Backend `json:"items"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// This file has Backend, to which a path of an Ingress can refer in place of a Service:
//
//	backend:
//	  resource: {apiGroup: fairlead.dev, kind: Backend, name: maintenance}

// BackendSpec is the answer to requests: exactly one of redirect, fixedResponse and services. Other fields change
// requests, or sign users in.
//
// +kubebuilder:validation:XValidation:rule="[has(self.redirect), has(self.fixedResponse), has(self.services)].filter(set, set).size() == 1",message="exactly one of `redirect`, `fixedResponse` and `services` must be specified"
// +kubebuilder:validation:XValidation:rule="has(self.services) || !has(self.stickiness)",message="`stickiness` needs `services`"
// +kubebuilder:validation:XValidation:rule="has(self.services) || has(self.redirect) || !has(self.rewrite)",message="`rewrite` needs `services` or a `redirect`"
// +kubebuilder:validation:XValidation:rule="!has(self.redirect) || !has(self.rewrite) || !has(self.rewrite.host) && (has(self.redirect.scheme) || has(self.redirect.host) || has(self.redirect.port))",message="with a `redirect`, `rewrite` changes the URL alone, and the redirect has a scheme, a host or a port"
// +kubebuilder:validation:XValidation:rule="has(self.services) || !has(self.provider)",message="`provider` needs `services`"
type BackendSpec struct {
	// Redirect sends the client elsewhere.
	Redirect *Redirect `json:"redirect,omitempty"`
	// FixedResponse is an answer of the load balancer itself.
	FixedResponse *FixedResponse `json:"fixedResponse,omitempty"`
	// Services share the requests by their weights.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.exists(service, service.weight > 0)",message="at least one weight must be above 0"
	Services []WeightedService `json:"services,omitempty"`
	// Stickiness keeps a client at the Service that answered it first.
	Stickiness *Stickiness `json:"stickiness,omitempty"`
	// Rewrite changes requests on their way to the Services. With a redirect, it makes the path that #{path} stands for,
	// and the query; the class has to have `undocumented: Accept`.
	Rewrite *Rewrite `json:"rewrite,omitempty"`
	// Provider has settings of target groups that only the provider of the load balancer understands. The provider
	// publishes a JSON Schema for them. A Service has a target group of its own for each of its settings. Settings
	// that the provider refuses are reported, and requests are answered 503 until they are corrected.
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// Authenticate admits only users who have signed in. It needs HTTPS: on other ports, requests are redirected to
	// the HTTPS port of their host, or answered 503 if there is none. If sign-in is impossible, such as for a missing
	// Secret, requests are answered 503.
	Authenticate *Authenticate `json:"authenticate,omitempty"`
}

// Stickiness says how long a client stays with a Service.
type Stickiness struct {
	// DurationSeconds is how long a client stays with a Service, by a cookie: at most a week.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	DurationSeconds int32 `json:"durationSeconds"`
}

// Rewrite changes the URL and the host of requests, after a rule has been chosen for them.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) || has(self.host)",message="must change the URL or the host"
type Rewrite struct {
	// URL changes the path and, behind a question mark, the query.
	URL *Replacement `json:"url,omitempty"`
	// Host changes the Host header.
	Host *Replacement `json:"host,omitempty"`
}

// Replacement replaces what a regular expression matches. A text that it does not match stays as it
// is.
type Replacement struct {
	// Pattern is a regular expression in RE2's syntax, without classes such as \pL. It begins with ^.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\^`
	Pattern string `json:"pattern"`
	// Replacement replaces the text that matches; $1 to $9 are the groups of the pattern. That of a
	// URL begins with a slash or with a group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Replacement string `json:"replacement"`
}

// Redirect sends clients to another URL. A part that is left out is that of the request, but a scheme without a port
// means the scheme's usual port; the placeholders #{protocol}, #{host}, #{port}, #{path} and
// #{query} stand for the request's parts too. At least one part has to change.
//
// +kubebuilder:validation:XValidation:rule="has(self.scheme) || has(self.host) || has(self.port) || has(self.path) || has(self.query)",message="must change a part of the URL, or it redirects to itself"
type Redirect struct {
	// Scheme is http or https.
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// Host is a host name, without a port.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// Port is a number from 1 to 65535, as text, or #{port}.
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:XValidation:rule="self == '#{port}' || self.matches('^[0-9]+$') && int(self) >= 1 && int(self) <= 65535",message="must be a port from 1 to 65535, or #{port}"
	Port string `json:"port,omitempty"`
	// Path starts with a slash.
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`
	// Query is without its question mark.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Query string `json:"query,omitempty"`
	// StatusCode is 301 or 302, the default.
	// +kubebuilder:validation:Enum=301;302
	// +kubebuilder:default=302
	StatusCode int `json:"statusCode,omitempty"`
}

// FixedResponse is a response of the load balancer itself.
type FixedResponse struct {
	// StatusCode of the answer.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	StatusCode int `json:"statusCode"`
	// ContentType of the body; text/plain if there is a body and none is given.
	// +kubebuilder:validation:MaxLength=255
	ContentType string `json:"contentType,omitempty"`
	// Body of at most as many bytes as the cloud allows.
	// +kubebuilder:validation:MaxLength=8192
	Body string `json:"body,omitempty"`
}

// WeightedService is a Service of the Backend's namespace, or a target group of the cloud, and its
// share of the requests.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetGroupARN) ? !has(self.name) && !has(self.port) : has(self.name) && has(self.port)",message="either `name` and `port`, or `targetGroupARN` must be specified"
type WeightedService struct {
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Port of the Service.
	// +optional
	Port ServicePort `json:"port,omitzero"`
	// TargetGroupARN is a target group that others made, in place of a Service. Requests are sent to
	// its targets. It is never changed, tagged or deleted, and no target is registered or removed. The
	// class has to allow it with `allowedTargetGroups`, and it has to be one that the load balancer can
	// forward to: of the same account, region and VPC.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^arn:[a-z0-9-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[a-zA-Z0-9-]{1,32}/[a-zA-Z0-9]+$`
	TargetGroupARN string `json:"targetGroupARN,omitempty"`
	// Weight is the weight of this Service: its share of the requests is the weight over the sum of all weights.
	// Unset: 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=999
	// +kubebuilder:default=1
	Weight *int32 `json:"weight,omitempty"`
}

// ServicePort is either the name or the number of a Service's port.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.number)",message="exactly one of `name` and `number` must be specified"
type ServicePort struct {
	// Name of the port, as the Service has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Number of the port, as the Service has it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Number int32 `json:"number,omitempty"`
}

// Backend is a redirect, a fixed response, or several Services.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=be,categories=fairlead
// +kubebuilder:printcolumn:name="Redirect",type=string,JSONPath=`.spec.redirect.host`,description="The host that clients are sent to, where the Backend names one"
// +kubebuilder:printcolumn:name="Scheme",type=string,JSONPath=`.spec.redirect.scheme`,description="The scheme that clients are sent to, where the Backend names one"
// +kubebuilder:printcolumn:name="Status",type=integer,JSONPath=`.spec.fixedResponse.statusCode`,description="The status of a fixed response"
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.services[0].name`,description="The first of several Services"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Backend struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackendSpec `json:"spec"`
}

// BackendList is a list of Backends.
//
// +kubebuilder:object:root=true
type BackendList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Backend `json:"items"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// This file is the parameters of an IngressClass: what the owner of a class decides about every
// load balancer of it, and what is left to the authors of Ingresses.

// LoadBalancerClassSpec is shared by both kinds of class parameters. Everything is optional: a
// class without parameters is one with an empty spec.
type LoadBalancerClassSpec struct {
	// Scheme pins where load balancers are reachable from. Unset, the annotation
	// fairlead.dev/scheme decides, and without it a load balancer is internal.
	// +kubebuilder:validation:Enum=internal;internet-facing
	Scheme string `json:"scheme,omitempty"`

	// IPFamily is ipv4 or dualstack. Unset, it is the cloud's default.
	// +kubebuilder:validation:Enum=ipv4;dualstack
	IPFamily string `json:"ipFamily,omitempty"`

	// Subnets that load balancers stand in. Unset, the cloud is searched for suitable ones.
	Subnets []string `json:"subnets,omitempty"`

	// TargetType is ip (the default) or instance, for Ingresses that do not say.
	// +kubebuilder:validation:Enum=ip;instance
	TargetType string `json:"targetType,omitempty"`

	// ListenPorts are the ports of Ingresses that do not say. Unset, it is HTTP 80.
	ListenPorts []ListenPort `json:"listenPorts,omitempty"`

	// Groups are those that Ingresses of several namespaces may join.
	// +listType=map
	// +listMapKey=name
	Groups []SharedGroup `json:"groups,omitempty"`

	// AllowedHosts are the hosts that each namespace may serve: those of every entry that selects
	// it. Unset, every namespace may serve every host.
	AllowedHosts []AllowedHosts `json:"allowedHosts,omitempty"`

	// Annotations are the names, with or without their prefix, that authors of Ingresses may
	// use. Unset, they may use all of them; an empty list allows none.
	Annotations *[]string `json:"annotations,omitempty"`

	// Order permits the annotation fairlead.dev/order, with which an Ingress can go before an
	// older one.
	Order bool `json:"order,omitempty"`

	// HostMiss says what becomes of a request whose host a rule names but whose path matches
	// nothing there. Answer (the default) lets the host's own default backend answer, or 404;
	// LessSpecific goes on to the wildcard and then to the rules without a host.
	// +kubebuilder:validation:Enum=Answer;LessSpecific
	HostMiss string `json:"hostMiss,omitempty"`

	// ImplementationSpecific is how paths of that type are read. Fairlead (the default): a glob
	// if there is a * or ? in it, else a Prefix. Glob: always a glob over the whole path, so
	// that /a stands for itself only. Regex: a regular expression over the whole path.
	// +kubebuilder:validation:Enum=Fairlead;Glob;Regex
	ImplementationSpecific string `json:"implementationSpecific,omitempty"`

	// AllowExternalNames lets Services of type ExternalName be backends.
	AllowExternalNames bool `json:"allowExternalNames,omitempty"`

	// RegularExpressions set to false keeps regular expressions out of the cloud's rules, at the
	// price of more of them.
	RegularExpressions *bool `json:"regularExpressions,omitempty"`

	// ValuesPerCondition lowers how many values share a condition, for clouds where that
	// matters. Unset, it is the cloud's limit.
	// +kubebuilder:validation:Minimum=0
	ValuesPerCondition int `json:"valuesPerCondition,omitempty"`

	// TLSPolicy is the cloud's name of the protocols and ciphers that HTTPS ports accept.
	TLSPolicy string `json:"tlsPolicy,omitempty"`

	// Attributes of load balancers, in the cloud's own terms.
	Attributes map[string]string `json:"attributes,omitempty"`

	// Tags for everything that is made in the cloud.
	Tags map[string]string `json:"tags,omitempty"`

	// HealthCheck is how targets are checked for Ingresses that do not say.
	HealthCheck HealthCheck `json:"healthCheck,omitzero"`

	// WarmTimeout is how long a plan waits for new targets to be healthy. Unset: 5 minutes.
	WarmTimeout *metav1.Duration `json:"warmTimeout,omitempty"`

	// MoveGrace is how long an Ingress that moves to another load balancer is served by both,
	// counted from when the new address is published. Unset: 10 minutes.
	MoveGrace *metav1.Duration `json:"moveGrace,omitempty"`

	// DeletionPolicy is Delete (the default), or Retain to leave a load balancer working when
	// its last Ingress is deleted.
	// +kubebuilder:validation:Enum=Delete;Retain
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// ListenPort is a port and what is spoken on it.
type ListenPort struct {
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Protocol string `json:"protocol"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// SharedGroup is a load balancer that several namespaces share.
type SharedGroup struct {
	// Name is what Ingresses say in the annotation fairlead.dev/group.
	Name string `json:"name"`
	// NamespaceSelector selects the namespaces that may join; an empty selector selects all.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
}

// AllowedHosts are hosts that some namespaces may serve.
type AllowedHosts struct {
	// NamespaceSelector selects the namespaces; an empty selector selects all.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector,omitzero"`
	// Hosts are precise ("shop.example.com"), stand for one label and themselves
	// ("*.example.com"), or, as "*", for every host, rules without one and default backends
	// included.
	Hosts []string `json:"hosts"`
}

// HealthCheck is how a cloud finds out whether a target can serve. Each field left out has a
// default of its own.
type HealthCheck struct {
	Path               string `json:"path,omitempty"`
	Port               string `json:"port,omitempty"`
	Protocol           string `json:"protocol,omitempty"`
	IntervalSeconds    int    `json:"intervalSeconds,omitempty"`
	TimeoutSeconds     int    `json:"timeoutSeconds,omitempty"`
	HealthyThreshold   int    `json:"healthyThreshold,omitempty"`
	UnhealthyThreshold int    `json:"unhealthyThreshold,omitempty"`
	SuccessCodes       string `json:"successCodes,omitempty"`
}

// The values of the enumerations above.
const (
	SchemeInternal       = "internal"
	SchemeInternetFacing = "internet-facing"

	TargetTypeIP       = "ip"
	TargetTypeInstance = "instance"

	ProtocolHTTP  = "HTTP"
	ProtocolHTTPS = "HTTPS"

	HostMissAnswer       = "Answer"
	HostMissLessSpecific = "LessSpecific"

	ReadFairlead = "Fairlead"
	ReadGlob     = "Glob"
	ReadRegex    = "Regex"

	DeletionPolicyDelete = "Delete"
	DeletionPolicyRetain = "Retain"
)

// LoadBalancerClass is the parameters of an IngressClass, kept in a namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced
type LoadBalancerClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LoadBalancerClassSpec `json:"spec,omitempty"`
}

// LoadBalancerClassList is a list of them.
//
// +kubebuilder:object:root=true
type LoadBalancerClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LoadBalancerClass `json:"items"`
}

// ClusterLoadBalancerClass is the parameters of an IngressClass, for the whole cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type ClusterLoadBalancerClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec LoadBalancerClassSpec `json:"spec,omitempty"`
}

// ClusterLoadBalancerClassList is a list of them.
//
// +kubebuilder:object:root=true
type ClusterLoadBalancerClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterLoadBalancerClass `json:"items"`
}

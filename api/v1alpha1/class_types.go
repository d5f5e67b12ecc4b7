package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// This file is the parameters of an IngressClass: what the owner of a class decides about every
// load balancer of it, and what is left to the authors of Ingresses.

// LoadBalancerClassSpec is shared by both kinds of class parameters. Everything is optional: a
// class without parameters is one with an empty spec.
//
// +kubebuilder:validation:XValidation:rule="!has(self.subnets) || !has(self.subnetTags)",message="subnets are either named or selected by tags"
// +kubebuilder:validation:XValidation:rule="!has(self.wildcardHosts) || self.wildcardHosts != 'AnyLabels' || has(self.precedence) && self.precedence == 'Order'",message="`wildcardHosts: AnyLabels` needs `precedence: Order`"
// +kubebuilder:validation:XValidation:rule="!has(self.wildcardHosts) || self.wildcardHosts != 'AnyLabels' || !has(self.groups) || has(self.hosts) && self.hosts == 'Shared'",message="`wildcardHosts: AnyLabels` of a class with groups needs `hosts: Shared`"
// +kubebuilder:validation:XValidation:rule="!has(self.securityGroups) || !has(self.inbound)",message="security groups of one's own say themselves who may connect"
// +kubebuilder:validation:XValidation:rule="!has(self.adoption) || has(self.dialect) && self.dialect == 'alb'",message="`adoption` needs `dialect: alb`"
// +kubebuilder:validation:XValidation:rule="!has(self.nginx) || has(self.dialect) && self.dialect == 'nginx'",message="`nginx` needs `dialect: nginx`"
// +kubebuilder:validation:XValidation:rule="has(self.adoption) == has(oldSelf.adoption)",message="`adoption` is added to no class and taken from none, as its Ingresses would move to other load balancers: make another class"
type LoadBalancerClassSpec struct {
	// ProviderName names the provider that makes the load balancers: one of those that the operator was started with.
	// Unset, it is the first of these. A class that changes it has its load balancers made anew by the other provider,
	// and Ingresses move to them as they do when their scheme changes.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ProviderName string `json:"providerName,omitempty"`

	// Provider has settings of load balancers that only their provider understands. The provider publishes a JSON
	// Schema for them (docs/how-to/provider.md). Settings that it refuses are reported, and nothing changes until they
	// are corrected.
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider *runtime.RawExtension `json:"provider,omitempty"`

	// Scheme says from where load balancers can be reached. Unset, the annotation fairlead.dev/scheme decides, and
	// without it a load balancer is internal.
	// +kubebuilder:validation:Enum=internal;internet-facing
	Scheme string `json:"scheme,omitempty"`

	// LoadBalancerName is the name of the load balancer in the cloud. It is for classes with one load balancer, since
	// names are unique. Unset, the annotation fairlead.dev/load-balancer-name decides, and without it the name is made
	// of the class, the group or the Ingress, and the scheme.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([0-9A-Za-z-]{0,30}[0-9A-Za-z])?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(?i)(fl|internal)-')",message="names that begin with fl- are those that Fairlead gives, and with internal- AWS lets names of its own begin"
	LoadBalancerName string `json:"loadBalancerName,omitempty"`

	// IPFamily is ipv4, dualstack, or dualstack-without-public-ipv4 for load balancers that face the
	// internet over IPv6 only. Unset, it is the cloud's default.
	// +kubebuilder:validation:Enum=ipv4;dualstack;dualstack-without-public-ipv4
	IPFamily string `json:"ipFamily,omitempty"`

	// Subnets of load balancers, by ID or name. Unset, the cloud is searched for suitable ones. A load
	// balancer keeps its subnets as long as they are suitable.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Subnets []string `json:"subnets,omitempty"`

	// SubnetTags select subnets that have all of these tags, one in each zone. An empty value selects
	// any value. A class that names its subnets cannot have it.
	// +kubebuilder:validation:MaxProperties=20
	SubnetTags map[string]string `json:"subnetTags,omitempty"`

	// SecurityGroups that load balancers have instead of one that Fairlead keeps, by ID or name. Their
	// owner then decides which clients may connect, and lets load balancers reach targets.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// Inbound says which clients may connect: ranges of addresses (10.0.0.0/8), and lists of them that the cloud keeps
	// (pl-0123456789abcdef0). Unset, the annotation fairlead.dev/inbound decides, and without it all clients may. It
	// is not for classes that bring security groups of their own.
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^(pl-[0-9a-f]{8,17}|[0-9a-f.:]+/[0-9]{1,3})$`
	Inbound []string `json:"inbound,omitempty"`

	// WAFv2ACL is the web ACL of load balancers: the name or the ARN of one of their region, or none. Unset, the
	// annotation fairlead.dev/wafv2-acl decides; without it, Fairlead leaves that to others.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([0-9A-Za-z_-]{1,128}|arn:aws[a-z-]*:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[0-9A-Za-z_-]{1,128}/[0-9a-f-]{36})$`
	WAFv2ACL string `json:"wafv2ACL,omitempty"`

	// ShieldAdvanced says whether load balancers have the protection of AWS Shield Advanced. Unset, the annotation
	// fairlead.dev/shield-advanced decides; without it, Fairlead leaves that to others.
	ShieldAdvanced *bool `json:"shieldAdvanced,omitempty"`

	// TargetType is ip (the default) or instance, for Ingresses without the annotation.
	// +kubebuilder:validation:Enum=ip;instance
	TargetType string `json:"targetType,omitempty"`

	// ListenPorts are the ports of Ingresses without the annotation. Unset, they are HTTP 80.
	// +listType=map
	// +listMapKey=port
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	ListenPorts []ListenPort `json:"listenPorts,omitempty"`

	// SSLRedirect is the HTTPS port, such as "443", to which requests over HTTP are redirected, for Ingresses without
	// the annotation and on the hosts that they serve there. "443,all" redirects what no rule matches, and ACME
	// challenges, too.
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])(,all)?$`
	SSLRedirect string `json:"sslRedirect,omitempty"`

	// Groups are the groups that Ingresses of several namespaces may join.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Groups []SharedGroup `json:"groups,omitempty"`

	// AllowedHosts are the hosts that each namespace may serve: those of every entry that selects
	// it. Unset, every namespace may serve every host. All names in a certificate that an Ingress
	// brings or names have to be allowed, too.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	AllowedHosts []AllowedHosts `json:"allowedHosts,omitempty"`

	// Hosts says whether the hosts of a group across namespaces have owners. Owned (the default): a
	// host belongs to the namespace whose Ingress named it first, a wildcard to the one that named
	// this wildcard first, and other namespaces are not served on it. An entry of allowedHosts that
	// grants a host by its name goes before that. Shared: every namespace of the group may serve every
	// host that it is allowed, and of identical routes the older Ingress's answers.
	// +kubebuilder:validation:Enum=Owned;Shared
	// +kubebuilder:default=Owned
	Hosts string `json:"hosts,omitempty"`

	// Annotations are the names, with or without their prefix, that authors of Ingresses may
	// use. Unset, they may use all of them; an empty list allows none.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Annotations *[]string `json:"annotations,omitempty"`

	// ForeignAnnotations says how Ingresses with annotations of other controllers are served, which
	// Fairlead does not read. Refuse (the default) does not serve an Ingress that such an annotation
	// restricts: without it more would be exposed than its author asked for. An annotation that only
	// changes how requests are answered gets a warning. Warn serves both, with a warning. Ignore
	// reports nothing, which is for Ingresses that two controllers serve on purpose. It applies to
	// annotations of the Services to which Ingresses refer, too.
	// +kubebuilder:validation:Enum=Refuse;Warn;Ignore
	// +kubebuilder:default=Refuse
	ForeignAnnotations string `json:"foreignAnnotations,omitempty"`

	// Order permits the annotation fairlead.dev/order, with which an Ingress can go before an
	// older one.
	Order bool `json:"order,omitempty"`

	// HostMiss says how a request is answered whose host a rule names but whose path matches nothing
	// there. Answer (the default) lets the host's own default backend answer, or 404; LessSpecific
	// goes on to the wildcard and then to the rules without a host. Where hosts have owners, it passes
	// over those of other namespaces than the host's.
	// +kubebuilder:validation:Enum=Answer;LessSpecific
	// +kubebuilder:default=Answer
	HostMiss string `json:"hostMiss,omitempty"`

	// Dialect is the controller for which the Ingresses of the class were written. alb reads the
	// annotations of the AWS Load Balancer Controller, on Ingresses and Services, in place of Fairlead's
	// own, and has its defaults where the class says nothing: precedence Order, implementationSpecific
	// Glob, targetType instance, order, and wildcardHosts AnyLabels unless the class has groups whose
	// hosts have owners. nginx reads those of ingress-nginx. Ingresses of a namespace share a load balancer, that of the group
	// nginx or of the only one in groups.
	// +kubebuilder:validation:Enum=alb;nginx
	Dialect string `json:"dialect,omitempty"`

	// NGINX says how ingress-nginx was configured, for the dialect nginx.
	NGINX *NGINX `json:"nginx,omitempty"`

	// Adoption has the load balancers taken over that another controller made for the Ingresses of the class: they keep
	// their addresses. It needs the dialect of that controller. A class has it from the start or never: without it, the
	// same Ingresses have other load balancers.
	Adoption *Adoption `json:"adoption,omitempty"`

	// Precedence says which of several paths answers a request that all of them match. Specification
	// (the default) takes the more specific host, then the more specific path. Order takes the first
	// one, whatever its host: Ingresses by their fairlead.dev/order, then by namespace/name, and in
	// each the paths as they are written. With Order, misses of a host go on to less specific hosts,
	// and the default backend of the port answers what nothing matches.
	// +kubebuilder:validation:Enum=Specification;Order
	Precedence string `json:"precedence,omitempty"`

	// WildcardHosts says what the star in the host of a rule stands for. OneLabel (the default): one
	// label, as the specification has it. AnyLabels: any number of labels, as in AWS; then the rules of
	// a wildcard are in order with those without a host. It needs precedence Order and, in a class with
	// groups, hosts Shared. To allowedHosts and certificates, a wildcard stands for one label.
	// +kubebuilder:validation:Enum=OneLabel;AnyLabels
	WildcardHosts string `json:"wildcardHosts,omitempty"`

	// ImplementationSpecific is how paths of that type are read, for Ingresses without the annotation. Fairlead (the
	// default): a glob if there is a * or ? in it, else a Prefix. Glob: always a glob over the whole path, so that /a
	// matches only itself. Regex: a regular expression over the whole path.
	// RegexPrefix: one over the beginning of the path; of several, the longest text answers, then the one that sorts last.
	// +kubebuilder:validation:Enum=Fairlead;Glob;Regex;RegexPrefix
	ImplementationSpecific string `json:"implementationSpecific,omitempty"`

	// AllowExternalNames lets Services of type ExternalName be backends.
	AllowExternalNames bool `json:"allowExternalNames,omitempty"`

	// ForeignEndpoints lets endpoints be targets that are not Pods of the Service's namespace, as in
	// a Service without a selector, whose endpoints its author writes. Unset, such endpoints are left
	// out, and reported: the author of an EndpointSlice could have load balancers send requests to
	// nodes, to the Pods of other namespaces and to all else that they reach.
	ForeignEndpoints bool `json:"foreignEndpoints,omitempty"`

	// TargetPorts are the ports on which load balancers may reach targets, to send requests and to
	// check health: single ones (8080) and ranges (8000-8999). Node ports count as the ports that they
	// are. The firewalls of nodes are opened for no other port. Unset, they are 80, 443 and
	// 1024-65535. The port of healthCheck is allowed besides.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=11
	// +kubebuilder:validation:items:Pattern=`^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$`
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.split('-').all(n, int(n) <= 65535) && int(p.split('-')[0]) <= int(p.split('-')[p.split('-').size() - 1]))",message="ports are 1 to 65535, and a range has to go up"
	TargetPorts []string `json:"targetPorts,omitempty"`

	// AllowedTargetGroups are the target groups that others made and to which Backends may forward with
	// `targetGroupARN`, by their ARNs, in which * stands for any text. Unset, there are none. With dialect alb, actions can
	// name those whose ARN is written in full by their names, too.
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^arn:[!-~]*$`
	AllowedTargetGroups []string `json:"allowedTargetGroups,omitempty"`

	// TargetGroupBindings are the target groups in which TargetGroupBindings of the AWS Load Balancer
	// Controller may have the endpoints of Services registered: those of every entry that selects the
	// namespace. Endpoints get requests of load balancers that others made, and other targets are
	// removed. Unset, Fairlead serves no TargetGroupBinding.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	TargetGroupBindings []BoundTargetGroups `json:"targetGroupBindings,omitempty"`

	// RegularExpressions set to false keeps regular expressions out of the cloud's rules, at the
	// price of more of them.
	// +kubebuilder:default=true
	RegularExpressions *bool `json:"regularExpressions,omitempty"`

	// UnknownRules says what happens to rules that other writers create in the listeners of load balancers: Remove
	// reports and removes them, Keep reports them and leaves them as they are. Target groups to which they forward are
	// never changed. Unset, it is Remove.
	// +kubebuilder:validation:Enum=Remove;Keep
	UnknownRules string `json:"unknownRules,omitempty"`

	// UnknownListeners says what happens to listeners that others made, in load balancers that were taken over from them,
	// if no Ingress asks for their ports: Keep leaves them as they are, with their rules, target groups and certificates,
	// and the load balancer with them; Remove deletes them. Unset, it is Keep.
	// +kubebuilder:validation:Enum=Keep;Remove
	UnknownListeners string `json:"unknownListeners,omitempty"`

	// UnprovenPlans says what happens to a plan that fails the check of its steps: after each step, every request has
	// to be answered as before the plan or as wanted. The steps are carried out one after the other if that passes the
	// check. Otherwise nothing changes, or with CarryOut the plan is carried out as it is. Unset, it is Withhold.
	// +kubebuilder:validation:Enum=Withhold;CarryOut
	UnprovenPlans string `json:"unprovenPlans,omitempty"`

	// Undocumented says whether Backends may ask for what the cloud does not document: a `rewrite` in front of a
	// `redirect`, for its path. Of dialect nginx, a rewrite-target with a URL and groups asks for that, and paths whose
	// case is ignored have (?i) in expressions of rules. Refuse answers such requests 503, or refuses the Ingress.
	// Unset, it is Refuse.
	// +kubebuilder:validation:Enum=Refuse;Accept
	Undocumented string `json:"undocumented,omitempty"`

	// ValuesPerCondition is the most values in a condition of a rule, below the cloud's limit. Unset, it is the
	// cloud's limit.
	// +kubebuilder:validation:Minimum=0
	ValuesPerCondition int `json:"valuesPerCondition,omitempty"`

	// TLSPolicy is the policy of HTTPS ports, by its name in the cloud: the protocols and ciphers that they accept.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]{1,128}$`
	TLSPolicy string `json:"tlsPolicy,omitempty"`

	// Ports are settings of single ports, for all Ingresses that are served there.
	// +listType=map
	// +listMapKey=port
	// +kubebuilder:validation:MaxItems=50
	Ports []PortSettings `json:"ports,omitempty"`

	// CertificateDiscovery set to false keeps the cloud from being searched for certificates. Hosts
	// without a Secret are then not served over HTTPS, unless an Ingress names a certificate.
	// +kubebuilder:default=true
	CertificateDiscovery *bool `json:"certificateDiscovery,omitempty"`

	// Attributes of load balancers, in the cloud's own terms. One that is removed here goes back to
	// the cloud's default. Ingresses can set others.
	Attributes map[string]string `json:"attributes,omitempty"`

	// Tags of load balancers and of the objects that are made for one of them alone: its listeners, target groups,
	// security group and imported certificates. Names that start with fairlead.dev/ are Fairlead's own, those that
	// start with aws: are the cloud's. Ingresses can add others.
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.startsWith('fairlead.dev/'))",message="names that start with fairlead.dev/ are Fairlead's own"
	// +kubebuilder:validation:XValidation:rule="self.all(name, !name.matches('^(?i)aws:'))",message="names that start with aws: are the cloud's own"
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) > 0 && size(name) <= 128)",message="names have 1 to 128 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(self[name]) <= 256)",message="values have at most 256 characters"
	Tags map[string]string `json:"tags,omitempty"`

	// HealthCheck is how targets are checked, for Ingresses without annotations for it.
	HealthCheck HealthCheck `json:"healthCheck,omitzero"`

	// WarmTimeout is how long a plan waits for new targets to be healthy. Unset: 5 minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	// +kubebuilder:default="5m"
	WarmTimeout *metav1.Duration `json:"warmTimeout,omitempty"`

	// MoveGrace is how long an Ingress that moves to another load balancer is served by both, counted
	// from when the new address is published; and how long one is served that names no class of
	// Fairlead's any more. Unset: 10 minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	// +kubebuilder:default="10m"
	MoveGrace *metav1.Duration `json:"moveGrace,omitempty"`

	// Expectations names a ConfigMap that says what must be true of all requests, in each value of its data
	// (docs/how-to/verify.md). Changes that would violate an expectation are not carried out. If the ConfigMap is
	// missing or cannot be read, changes that answer requests which had no answer are not carried out.
	Expectations *ConfigMapReference `json:"expectations,omitempty"`

	// DeletionPolicy is Delete (the default), or Retain to leave a load balancer working when
	// its last Ingress is deleted.
	// +kubebuilder:validation:Enum=Delete;Retain
	// +kubebuilder:default=Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`

	// LoadBalancers bounds the load balancers of the class, and their certificates.
	LoadBalancers LoadBalancerBounds `json:"loadBalancers,omitzero"`
}

// LoadBalancerBounds are bounds on the load balancers of a class, and on their certificates.
type LoadBalancerBounds struct {
	// PerNamespace is how many load balancers of the class a namespace may have, those included that
	// are kept without Ingresses (deletionPolicy), that Ingresses are moving away from, or whose
	// Ingresses vanished. A group across namespaces counts for none of them, and has this bound
	// itself. An Ingress that needs one more is refused; load balancers that exist stay. Unset, it is
	// 10 with deletionPolicy Retain, and otherwise there is no bound.
	// +kubebuilder:validation:Minimum=0
	PerNamespace int `json:"perNamespace,omitempty"`

	// CertificatesPerNamespace is how many certificates of Secrets a namespace may have in the cloud,
	// those of all its load balancers together. One more is not imported, so its host is left out of
	// HTTPS; certificates that are there stay, and are renewed. In AWS, a namespace imports as many
	// new ones at once, and as many again within 30 days. Unset, it is 100.
	// +kubebuilder:validation:Minimum=0
	CertificatesPerNamespace int `json:"certificatesPerNamespace,omitempty"`
}

// NGINX says how ingress-nginx was configured.
type NGINX struct {
	// Config is the data of its ConfigMap. It stands here, and not the name of the ConfigMap, since that is deleted with
	// ingress-nginx. A key that refuses requests, and that no load balancer follows, refuses all Ingresses of the class.
	// +kubebuilder:validation:MaxProperties=200
	Config map[string]string `json:"config,omitempty"`

	// Service has the annotations of its Service of type LoadBalancer. They say whether TLS ends at that load balancer, and
	// with which certificates, which the Ingresses of the class have then. One that keeps clients away refuses all
	// Ingresses, unless the class does it, too.
	// +kubebuilder:validation:MaxProperties=200
	Service map[string]string `json:"service,omitempty"`

	// Changed says what becomes of an Ingress with requests that are answered otherwise than by ingress-nginx. Serve (the
	// default) serves it, with a warning that has such a request. Refuse does not serve it, unless only what all Ingresses
	// have in common is changed, such as paths with repeated slashes.
	// +kubebuilder:validation:Enum=Serve;Refuse
	Changed string `json:"changed,omitempty"`

	// CaseFolding says how letters of paths are compared that are expressions to ingress-nginx, which ignores their case. exact
	// (the default) ignores it, too: each letter takes four of the 128 characters of an expression. lower compares with
	// the path in lower case, and off, which needs quotes in YAML, with the path as it is written.
	// +kubebuilder:validation:Enum=exact;lower;off
	CaseFolding string `json:"caseFolding,omitempty"`
}

// Adoption says which load balancers of another controller are taken over. Each is found by its name. Until it is taken
// over, its Ingresses are not served by Fairlead, and no other load balancer is made for them.
type Adoption struct {
	// From is the controller that made the load balancers: alb is the AWS Load Balancer Controller.
	// +kubebuilder:validation:Enum=alb
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="it cannot change, as Ingresses would move to other load balancers: make another class"
	From string `json:"from"`
	// ClusterName is the name that the other controller has for this cluster, its own --cluster-name. The names of its
	// load balancers are made of it.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z+=._:/@-]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="it cannot change, as Ingresses would move to other load balancers: make another class"
	ClusterName string `json:"clusterName"`
	// KeepOld is how long target groups and security groups of the other controller that are no longer used stay after a
	// load balancer was taken over. Unset: a week.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	// +kubebuilder:default="168h"
	KeepOld *metav1.Duration `json:"keepOld,omitempty"`
	// Only are the groups, and the namespace/name of Ingresses without one, whose load balancers the operator begins to
	// take over by itself. Unset: all. What fairlead adopt has begun goes on.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$`
	Only []string `json:"only,omitempty"`
	// Names are those of load balancers that have another name than the other controller would give them now: it was made
	// by an earlier version, or by hand. Ingresses that ask for a name themselves have that one.
	// +listType=map
	// +listMapKey=stack
	// +kubebuilder:validation:MaxItems=1000
	Names []AdoptedName `json:"names,omitempty"`
}

// AdoptedName is the name of a load balancer that is taken over.
type AdoptedName struct {
	// Stack is the group, or the namespace/name of an Ingress without one.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$`
	Stack string `json:"stack"`
	// Name is the name of its load balancer in the cloud.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([0-9A-Za-z-]{0,30}[0-9A-Za-z])?$`
	Name string `json:"name"`
}

// ConfigMapReference names a ConfigMap.
type ConfigMapReference struct {
	// Namespace that the ConfigMap is in.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// Name of the ConfigMap.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ListenPort is a port and its protocol.
type ListenPort struct {
	// Protocol of clients.
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Protocol string `json:"protocol"`
	// Port to which clients connect.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// PortSettings are the settings of one port, on every load balancer that listens there.
type PortSettings struct {
	// Port is the port that the settings apply to.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// TLSPolicy of this port, in place of the class's.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]{1,128}$`
	TLSPolicy string `json:"tlsPolicy,omitempty"`
	// Attributes of listeners, in the cloud's own terms. Ingresses can set others.
	Attributes map[string]string `json:"attributes,omitempty"`
	// MutualAuthentication says how certificates of clients are handled. It is for HTTPS ports.
	MutualAuthentication *MutualAuthentication `json:"mutualAuthentication,omitempty"`
}

// MutualAuthentication says how a port handles certificates of clients.
//
// +kubebuilder:validation:XValidation:rule="(self.mode == 'verify') == has(self.trustStore)",message="`verify` needs a trust store, and no other mode has one"
// +kubebuilder:validation:XValidation:rule="self.mode == 'verify' || !(has(self.ignoreExpiry) && self.ignoreExpiry) && !(has(self.advertiseCANames) && self.advertiseCANames)",message="`ignoreExpiry` and `advertiseCANames` are for `verify`"
type MutualAuthentication struct {
	// Mode is off; passthrough, which hands the client's certificate on to the target; or verify, which admits only
	// clients with a certificate that the trust store has issued.
	// +kubebuilder:validation:Enum=off;passthrough;verify
	Mode string `json:"mode"`
	// TrustStore is the name or the ARN of the trust store.
	// +kubebuilder:validation:MinLength=1
	TrustStore string `json:"trustStore,omitempty"`
	// IgnoreExpiry admits clients whose certificates have expired.
	IgnoreExpiry bool `json:"ignoreExpiry,omitempty"`
	// AdvertiseCANames sends clients the names of the accepted certificate authorities.
	AdvertiseCANames bool `json:"advertiseCANames,omitempty"`
}

// SharedGroup is a group of Ingresses of several namespaces, which share a load balancer.
type SharedGroup struct {
	// Name is the value of the annotation fairlead.dev/group.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// NamespaceSelector selects the namespaces that may join; an empty selector selects all.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
	// Owner is the namespace that decides, besides the class, about whole ports and the whole load balancer: its
	// Ingresses decide which clients may connect, which ports there are besides 80 and 443, and other settings of
	// ports and of the load balancer. Unset, the class alone decides, and the cloud's defaults hold where it says
	// nothing. The owner has to be selected to join, as any other namespace.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Owner string `json:"owner,omitempty"`
}

// AllowedHosts lists hosts that the selected namespaces may serve.
type AllowedHosts struct {
	// NamespaceSelector selects the namespaces; an empty selector selects all.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector,omitzero"`
	// Hosts are precise ("shop.example.com"), stand for one label and themselves
	// ("*.example.com"), or, as "*", for every host, rules without one and default backends
	// included.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$`
	Hosts []string `json:"hosts"`
}

// BoundTargetGroups are target groups in which some namespaces may have endpoints registered.
type BoundTargetGroups struct {
	// NamespaceSelector selects the namespaces; an empty selector selects all. As it lets them have requests of
	// others, it cannot be left out.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	// TargetGroups are the ARNs, in which * stands for any text. A TargetGroupBinding can name a target
	// group by its name if its ARN is written in full.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^arn:[!-~]*$`
	TargetGroups []string `json:"targetGroups"`
}

// HealthCheck says how targets are checked. A field that is left out has the default in the reference of annotations,
// which is not filled in here: an Ingress is compared with what the class says.
//
// +kubebuilder:validation:XValidation:rule="(has(self.timeoutSeconds) ? self.timeoutSeconds : 5) < (has(self.intervalSeconds) ? self.intervalSeconds : 15)",message="the timeout (5 if unset) has to be shorter than the interval (15 if unset)"
type HealthCheck struct {
	// Path starts with a slash and holds neither spaces nor other than ASCII characters.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// Port is a number from 1 to 65535, as text, or traffic-port for the port that requests are sent to.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == 'traffic-port' || self.matches('^[0-9]+$') && int(self) >= 1 && int(self) <= 65535",message="must be a port from 1 to 65535, or traffic-port"
	Port string `json:"port,omitempty"`
	// Protocol of health checks.
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Protocol string `json:"protocol,omitempty"`
	// IntervalSeconds is the time from one check of a target to the next.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=300
	IntervalSeconds int `json:"intervalSeconds,omitempty"`
	// TimeoutSeconds is how long an answer may take.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=120
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// HealthyThreshold is how many checks in a row have to succeed before a target is used.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	HealthyThreshold int `json:"healthyThreshold,omitempty"`
	// UnhealthyThreshold is how many checks in a row have to fail before a target is not used.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=10
	UnhealthyThreshold int `json:"unhealthyThreshold,omitempty"`
	// SuccessCodes is a list of statuses from 200 to 499 and ranges of them (200,204,300-399); for
	// targets that speak gRPC, of codes from 0 to 99.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([234][0-9]{2}(-[234][0-9]{2})?(,[234][0-9]{2}(-[234][0-9]{2})?)*|[0-9]{1,2}(-[0-9]{1,2})?(,[0-9]{1,2}(-[0-9]{1,2})?)*)$`
	// +kubebuilder:validation:XValidation:rule="self.split(',').all(item, !item.contains('-') || int(item.split('-')[0]) <= int(item.split('-')[1]))",message="a range has to go up"
	SuccessCodes string `json:"successCodes,omitempty"`
}

// The values of the enumerations above.
const (
	SchemeInternal       = "internal"
	SchemeInternetFacing = "internet-facing"

	IPFamilyIPv4                 = "ipv4"
	IPFamilyDualStack            = "dualstack"
	IPFamilyDualStackPrivateIPv4 = "dualstack-without-public-ipv4"

	TargetTypeIP       = "ip"
	TargetTypeInstance = "instance"

	ProtocolHTTP  = "HTTP"
	ProtocolHTTPS = "HTTPS"

	MutualOff         = "off"
	MutualPassthrough = "passthrough"
	MutualVerify      = "verify"

	HostsOwned  = "Owned"
	HostsShared = "Shared"

	HostMissAnswer       = "Answer"
	HostMissLessSpecific = "LessSpecific"

	PrecedenceSpecification = "Specification"
	PrecedenceOrder         = "Order"

	WildcardOneLabel  = "OneLabel"
	WildcardAnyLabels = "AnyLabels"

	DialectALB   = "alb"
	DialectNGINX = "nginx"

	UndocumentedRefuse = "Refuse"
	UndocumentedAccept = "Accept"

	NGINXChangedServe  = "Serve"
	NGINXChangedRefuse = "Refuse"

	CaseFoldingExact = "exact"
	CaseFoldingLower = "lower"
	CaseFoldingOff   = "off"

	AdoptALB = DialectALB

	UnknownRulesRemove = "Remove"
	UnknownRulesKeep   = "Keep"

	UnknownListenersKeep   = "Keep"
	UnknownListenersRemove = "Remove"

	UnprovenPlansWithhold = "Withhold"
	UnprovenPlansCarryOut = "CarryOut"

	ReadFairlead = "Fairlead"
	ReadGlob     = "Glob"
	ReadRegex    = "Regex"

	ReadRegexPrefix = "RegexPrefix"

	ForeignRefuse = "Refuse"
	ForeignWarn   = "Warn"
	ForeignIgnore = "Ignore"

	DeletionPolicyDelete = "Delete"
	DeletionPolicyRetain = "Retain"
)

// LoadBalancerClass has the parameters of an IngressClass, in a namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=lbc,categories=fairlead
// +kubebuilder:printcolumn:name="Scheme",type=string,JSONPath=`.spec.scheme`,description="Where load balancers are reachable from, where the class says so"
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.spec.targetType`,description="What load balancers send requests to, where the class says so"
// +kubebuilder:printcolumn:name="Deletion",type=string,JSONPath=`.spec.deletionPolicy`,description="What becomes of a load balancer without Ingresses"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoadBalancerClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	Spec LoadBalancerClassSpec `json:"spec,omitempty"`
}

// LoadBalancerClassList is a list of LoadBalancerClasses.
//
// +kubebuilder:object:root=true
type LoadBalancerClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LoadBalancerClass `json:"items"`
}

// ClusterLoadBalancerClass has the parameters of an IngressClass, for the whole cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=clbc,categories=fairlead
// +kubebuilder:printcolumn:name="Scheme",type=string,JSONPath=`.spec.scheme`,description="Where load balancers are reachable from, where the class says so"
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.spec.targetType`,description="What load balancers send requests to, where the class says so"
// +kubebuilder:printcolumn:name="Deletion",type=string,JSONPath=`.spec.deletionPolicy`,description="What becomes of a load balancer without Ingresses"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterLoadBalancerClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
	Spec LoadBalancerClassSpec `json:"spec,omitempty"`
}

// ClusterLoadBalancerClassList is a list of ClusterLoadBalancerClasses.
//
// +kubebuilder:object:root=true
type ClusterLoadBalancerClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterLoadBalancerClass `json:"items"`
}

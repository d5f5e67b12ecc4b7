package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// This file has LoadBalancer, the operator's report about a load balancer and its record of it.
// People read it, and write only the annotations that pause and confirm. An object that is deleted
// is written again; its record is then lost, but no load balancer is.

// PausedAnnotation leaves a load balancer as it is, if its LoadBalancer or its IngressClass has it
// with the value "true": changes are planned and reported, and not carried out.
const PausedAnnotation = Group + "/paused"

// ConfirmVanishedAnnotation confirms the loss of the Ingresses that had vanished by a time, so that their routes are
// removed. The value is the time, as in RFC 3339. A time that is still to come confirms nothing.
const ConfirmVanishedAnnotation = Group + "/confirm-vanished"

// The types of a load balancer's conditions.
const (
	// ConditionAccepted says whether everything that its Ingresses ask for can be served.
	ConditionAccepted = "Accepted"
	// ConditionProgrammed says whether the cloud has all that was accepted.
	ConditionProgrammed = "Programmed"
	// ConditionDegraded says whether something needs attention, whatever is served meanwhile.
	ConditionDegraded = "Degraded"
	// ConditionWaiting says what the load balancer waits for, once it has waited for 15 s. The last transition is the
	// begin of the wait. A load balancer that has not waited so long has no such condition.
	ConditionWaiting = "Waiting"
)

// The reasons of these conditions.
const (
	ReasonAccepted        = "Accepted"        // every member is
	ReasonMembersRefused  = "MembersRefused"  // some are not, or not wholly: see the diagnostics
	ReasonProgrammed      = "Programmed"      // there is nothing to do
	ReasonProgramming     = "Programming"     // there is, and it goes on
	ReasonPending         = "Pending"         // the cloud, or the health of targets, is waited for
	ReasonPaused          = "Paused"          // there is, but the load balancer is paused
	ReasonReadOnly        = "ReadOnly"        // there is, but this operator only plans
	ReasonProtected       = "Protected"       // no Ingress asks for it, and it is protected from deletion
	ReasonUnconfirmed     = "Unconfirmed"     // there is, but so much would go that it is looked at again
	ReasonDisputed        = "Disputed"        // another writer undoes what this operator writes
	ReasonVanished        = "Vanished"        // Ingresses are gone that were not let go of, and are served on
	ReasonRecordLost      = "RecordLost"      // the LoadBalancer was gone, and with it what people had said on it
	ReasonClassMissing    = "ClassMissing"    // what is served is frozen until its class is back
	ReasonProviderRefused = "ProviderRefused" // the cloud rejected a step: see the diagnostics
	ReasonProviderDenied  = "ProviderDenied"  // the operator's credentials do not suffice
	ReasonProviderFailed  = "ProviderFailed"  // the cloud failed; it is tried again
	ReasonAsExpected      = "AsExpected"      // nothing needs attention
	ReasonQueued          = "Queued"          // other load balancers are worked on
	ReasonRateLimited     = "RateLimited"     // calls wait for their turn
	ReasonThrottled       = "Throttled"       // the cloud refuses calls for their rate
	ReasonTargetHealth    = "TargetHealth"    // targets have to be healthy before they take over
	ReasonCloud           = "Cloud"           // the cloud is not ready
	ReasonQuota           = "Quota"           // a quota is used up
	ReasonNotWaiting      = "NotWaiting"      // nothing is waited for any more

	// ReasonTakingOver and ReasonGivingBack say that the load balancer is on its way from another controller, or to it, and
	// that nothing is changed meanwhile.
	ReasonTakingOver = "TakingOver"
	ReasonGivingBack = "GivingBack"

	// ReasonExpectation says that requests are answered as the expectations of the class rule out, or
	// would be by the plan.
	ReasonExpectation = "ExpectationViolated"
	// ReasonExpectations says that the expectations of the class could not be read.
	ReasonExpectations = "ExpectationsUnread"
	// ReasonPlanUnproven says that a plan would answer requests otherwise on its way, as its check
	// says.
	ReasonPlanUnproven = "PlanUnproven"
)

// LoadBalancerSpec says which load balancer an object is about.
type LoadBalancerSpec struct {
	// Key is class, group or Ingress, and scheme, with slashes between them, and behind an equals sign
	// the name of a load balancer that has one of its own.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="is what the object is about and cannot change"
	Key string `json:"key"`
}

// LoadBalancerStatus is the report on a load balancer, and the operator's record of it.
type LoadBalancerStatus struct {
	// Address is what clients connect to: the host name or, without one, the first IP address.
	Address string `json:"address,omitempty"`
	// IPs are the IP addresses, where the cloud says them.
	// +listType=atomic
	IPs []string `json:"ips,omitempty"`
	// Members are the Ingresses, as namespace/name, oldest first. If there are too many, the newest are left out of
	// the list; memberCount counts all.
	// +listType=atomic
	Members []string `json:"members,omitempty"`
	// MemberCount is the number of members.
	MemberCount int32 `json:"memberCount"`
	// Listeners are the ports, ascending.
	// +listType=map
	// +listMapKey=port
	Listeners []ListenerStatus `json:"listeners,omitempty"`
	// Rules is the number of rules of all listeners.
	Rules int32 `json:"rules"`
	// RuleLimit is the most rules that the load balancer may have; 0 if the cloud has no limit.
	RuleLimit int32 `json:"ruleLimit,omitempty"`
	// Conditions are Accepted, Programmed and Degraded, and Waiting once something has waited for 15
	// s.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Diagnostics are those of the Ingresses, at most 200.
	// +listType=atomic
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	// OmittedDiagnostics is the number of further diagnostics.
	OmittedDiagnostics int32 `json:"omittedDiagnostics,omitempty"`
	// LastError is the reason why the last change of the load balancer failed.
	LastError string `json:"lastError,omitempty"`
	// Term names the replica that last began to carry out a plan, and its term as leader. A replica that does not find
	// its own name here reads the cloud again.
	Term string `json:"term,omitempty"`
	// LastPlan is the last plan that had steps, carried out or not.
	LastPlan *PlanStatus `json:"lastPlan,omitempty"`
	// Memory is the operator's record, which it reads again in the next reconcile.
	Memory Memory `json:"memory,omitzero"`
}

// ListenerStatus is a port that is served.
type ListenerStatus struct {
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
	// Rules is the number of rules of the listener.
	Rules int32 `json:"rules"`
	// Others is true if others made the listener, and Fairlead leaves it as it is; see unknownListeners of the class.
	Others bool `json:"others,omitempty"`
}

// Diagnostic is one finding about one field of one object.
type Diagnostic struct {
	// Severity is error, warning or info.
	Severity string `json:"severity"`
	// Reason is the reason, from the reference of diagnostics.
	Reason string `json:"reason"`
	// Source is the kind, the object and the field, with spaces between them.
	Source  string `json:"source"`
	Message string `json:"message"`
}

// PlanStatus is a plan, and how much of it was carried out.
type PlanStatus struct {
	// At is the end of the run, or the time of a plan that was not carried out.
	At metav1.Time `json:"at,omitzero"`
	// Summary has the number of objects to create, change and delete.
	Summary string `json:"summary"`
	// Done is the number of steps that were done.
	Done int32 `json:"done"`
	// Steps are in the order of the plan, at most 50.
	// +listType=atomic
	Steps []PlanStep `json:"steps,omitempty"`
	// OmittedSteps is the number of further steps.
	OmittedSteps int32 `json:"omittedSteps,omitempty"`
}

// PlanStep is one change to the load balancer, as `fairlead plan` prints it.
type PlanStep struct {
	Op     string `json:"op"`
	ID     string `json:"id"`
	Detail string `json:"detail,omitempty"`
}

// Memory is the operator's record of a load balancer. If it is lost, so are the last accepted
// versions, the overlap of a running move, rejections until the cloud repeats them, and which
// namespace named a host first. Then the age of Ingresses decides.
type Memory struct {
	// Class is the spec of the class when a version was last accepted. It is used if the class disappears. No schema
	// validates it again: a stricter check must not keep the rest of the record from being written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Class *LoadBalancerClassSpec `json:"class,omitempty"`
	// Members has the record of each Ingress, by namespace/name. The list is replaced as a whole: with keys, the
	// metadata of the object would have every name once more.
	// +listType=atomic
	Members []MemberMemory `json:"members,omitempty"`
	// Versions has the last accepted versions of members, if they take too much room in the list of members. Each part
	// is compressed by gzip, and has the versions of some members by namespace/name.
	Versions map[string][]byte `json:"versions,omitempty"`
	// Certificates has the certificates of Secrets that the cloud has. Such a certificate stays in service while its
	// Secret has no valid one.
	// +listType=atomic
	Certificates []SecretCertificate `json:"certificates,omitempty"`
	// CloudCertificates has the certificates on listeners that are not from Secrets, with the hosts that they were
	// chosen for. They stay while the cloud's certificates cannot be looked up.
	// +listType=atomic
	CloudCertificates []CloudCertificate `json:"cloudCertificates,omitempty"`
	// Clients has the sign-in clients of Secrets. Such a client stays in use while its Secret cannot be read.
	// +listType=atomic
	Clients []SecretClient `json:"clients,omitempty"`
	// Hosts has the hosts of a group across namespaces with their owners.
	// +listType=atomic
	Hosts []HostOwner `json:"hosts,omitempty"`
	// ClosedHosts has the hosts that answer 404 unless a rule names them, as an expectation forbids the answer of the
	// Ingress that covers them.
	// +listType=atomic
	ClosedHosts []ClosedHost `json:"closedHosts,omitempty"`
	// Rules has a digest of each rule that Fairlead made, if the class keeps rules of others.
	// +listType=atomic
	Rules []string `json:"rules,omitempty"`
	// LostAt is when the LoadBalancer was found to be missing although the load balancer exists, and was written anew.
	LostAt *metav1.Time `json:"lostAt,omitempty"`
	// Binding is the record of a TargetGroupBinding, if the object is about one, which has no load balancer of
	// Fairlead's.
	Binding *BindingMemory `json:"binding,omitempty"`
	// Adoption is the record of a load balancer that is taken over from another controller, if the object is about
	// that. The load balancer itself has an object of its own.
	Adoption *AdoptionMemory `json:"adoption,omitempty"`
}

// AdoptionMemory is what it takes to give a load balancer back to the controller that it was taken over from, and how
// far that is. The load balancer's own part is in its tags.
type AdoptionMemory struct {
	// From is the controller, as the class says it: alb.
	From string `json:"from"`
	// ClusterName is the name that it has for this cluster.
	ClusterName string `json:"clusterName"`
	// Stack is the group, or the namespace/name of an Ingress without one.
	Stack string `json:"stack"`
	// Key is the key of the load balancer once it is taken over.
	Key string `json:"key"`
	// Handle is what the cloud identifies the load balancer by: its ARN.
	Handle string `json:"handle"`
	// Name is the name of the load balancer in the cloud.
	Name string `json:"name"`
	// State is how far it is. Recorded: nothing is changed yet. Prepared: the bindings of the controller are deleted, and
	// its finalizers removed. Taken: its tags are replaced, and Fairlead serves the load balancer. Releasing: it is being
	// given back. Returned: the tags are the controller's again. Released: it is given back, and nothing else is left of
	// the record; the operator leaves the load balancer alone until fairlead adopt takes it over again, or its Ingresses
	// have a class of Fairlead again.
	// +kubebuilder:validation:Enum=Recorded;Prepared;Taken;Releasing;Returned;Released
	State string `json:"state"`
	// States are the states that it has had, with their times, the last one at the end.
	// +listType=atomic
	States []AdoptionState `json:"states,omitempty"`
	// Left names the security group of Fairlead that a load balancer keeps until the controller, started again, takes it
	// away: until then the nodes admit no other one.
	Left string `json:"left,omitempty"`
	// Finishing is true if deleting what giving it back would need has begun.
	Finishing bool `json:"finishing,omitempty"`
	// Accepted is true if answers that differ were accepted.
	Accepted bool `json:"accepted,omitempty"`
	// Finalizers are those that the controller had on Ingresses.
	// +listType=atomic
	Finalizers []IngressFinalizers `json:"finalizers,omitempty"`
	// Bindings are the TargetGroupBindings that the controller had made: a list in JSON, compressed by gzip.
	Bindings []byte `json:"bindings,omitempty"`
	// IngressClass is the IngressClass as it was.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	IngressClass *runtime.RawExtension `json:"ingressClass,omitempty"`
}

// AdoptionState is when a state began.
type AdoptionState struct {
	State string      `json:"state"`
	At    metav1.Time `json:"at"`
}

// IngressFinalizers are finalizers of an Ingress.
type IngressFinalizers struct {
	// Ingress is its namespace/name.
	Ingress string `json:"ingress"`
	// +listType=atomic
	Finalizers []string `json:"finalizers"`
}

// BindingMemory is the record of a TargetGroupBinding.
type BindingMemory struct {
	// TargetGroup is the ARN of the target group in which its targets are registered.
	TargetGroup string `json:"targetGroup"`
	// Class is the name of the class that has permitted it.
	Class string `json:"class"`
	// Spec is the version that was accepted last.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec *runtime.RawExtension `json:"spec,omitempty"`
	// Targets are the targets that may have been registered for it: addresses with ports, and spaces between them.
	Targets string `json:"targets,omitempty"`
}

// MemberMemory is the record of one Ingress.
type MemberMemory struct {
	// Ingress is the namespace/name of the Ingress.
	Ingress string `json:"ingress"`
	// LastAccepted is the version that is served if a change is refused.
	LastAccepted *AcceptedVersion `json:"lastAccepted,omitempty"`
	// Forgotten is true if there was a last accepted version and it was dropped to make room.
	Forgotten bool `json:"forgotten,omitempty"`
	// Rejections are the versions that the cloud refused, and the certificates of its Secrets.
	// +listType=atomic
	Rejections []Rejection `json:"rejections,omitempty"`
	// Previous is the key of the load balancer from which the Ingress moves to this one.
	Previous string `json:"previous,omitempty"`
	// Earlier has the keys of load balancers that the Ingress was still leaving when it came back to this one.
	// +listType=atomic
	Earlier []string `json:"earlier,omitempty"`
	// Move is the number of the move that brought the Ingress here last. The Ingress belongs to the load balancer
	// whose record has the highest number.
	Move int32 `json:"move,omitempty"`
	// PublishedAt is when this address was first written into the status of the Ingress, after its
	// last move to this load balancer. The grace of a move counts from then.
	PublishedAt *metav1.Time `json:"publishedAt,omitempty"`
	// Served says that routes of the Ingress have been in the cloud.
	Served bool `json:"served,omitempty"`
	// DepartedAt is when the Ingress was first seen without a class of Fairlead's. It is released after the moveGrace
	// of the class.
	DepartedAt *metav1.Time `json:"departedAt,omitempty"`
	// VanishedAt is when the Ingress was first seen to be gone although the operator had not removed its finalizer.
	VanishedAt *metav1.Time `json:"vanishedAt,omitempty"`
	// Unconfirmed is true if several namespaces lost Ingresses, so that its routes are removed only after a
	// confirmation.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// SecretCertificate is the certificate that a Secret held last.
type SecretCertificate struct {
	// Secret is its namespace/name.
	Secret string `json:"secret"`
	// ID is a hash of the certificate and its key.
	ID string `json:"id"`
}

// CloudCertificate is a certificate of the cloud that is not from a Secret.
type CloudCertificate struct {
	// ID is the ID of the certificate in the cloud.
	ID string `json:"id"`
	// Hosts are the hosts that the certificate was chosen for.
	// +listType=atomic
	Hosts []string `json:"hosts,omitempty"`
}

// SecretClient is the client of an identity provider that a Secret held last.
type SecretClient struct {
	// Secret is its namespace/name.
	Secret string `json:"secret"`
	// ID is the ID of the client. It is no secret (RFC 6749, section 2.2).
	ID string `json:"id"`
}

// HostOwner is a host of a group across namespaces with the namespace that owns it.
type HostOwner struct {
	// Host is as Ingresses name it, or * for rules without a host and default backends.
	Host string `json:"host"`
	// Namespace is the owner.
	Namespace string `json:"namespace"`
	// Until is when the host is free for other namespaces. It is set while no Ingress of the owner
	// names the host.
	Until *metav1.Time `json:"until,omitempty"`
	// Yields is true if a certificate of another namespace with a name for the host came first, so that the host is
	// not served over HTTPS.
	Yields bool `json:"yields,omitempty"`
}

// ClosedHost is a host that answers 404 on a port unless a rule names it.
type ClosedHost struct {
	// Host is a precise host.
	Host string `json:"host"`
	// Port is the port of the listener.
	Port int32 `json:"port"`
	// GivenUpBy is the namespace that named the host last, if it is known.
	GivenUpBy string `json:"givenUpBy,omitempty"`
}

// AcceptedVersion is a version of an Ingress that was compiled and programmed.
type AcceptedVersion struct {
	// At is when the version was first accepted.
	At metav1.Time `json:"at,omitzero"`
	// Created is the creation time of the Ingress, which decides about its age also after it has vanished.
	Created metav1.Time `json:"created,omitzero"`
	// Annotations are the annotations that Fairlead reads.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec is the spec of the Ingress. The API server has validated it there, and may know fields that this version
	// does not.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec networkingv1.IngressSpec `json:"spec"`
}

// Rejection is a version of an Ingress that the cloud refused, or a certificate.
type Rejection struct {
	// Version is a hash of the spec and the annotations that Fairlead reads, or the ID of a
	// certificate.
	Version string `json:"version"`
	// Message is the message of the cloud.
	Message string `json:"message"`
	// Capabilities is a digest of the cloud's capabilities at the time. The version is tried again when they change.
	Capabilities string `json:"capabilities,omitempty"`
	// Until is when the version is tried again in any case, if others may have made room by then.
	Until *metav1.Time `json:"until,omitempty"`
}

// LoadBalancer is the report on one load balancer, and the operator's record of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=lb,categories=fairlead
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.memberCount`,description="How many Ingresses share it"
// +kubebuilder:printcolumn:name="Rules",type=integer,JSONPath=`.status.rules`,description="How many rules its listeners have"
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=`.status.ruleLimit`,description="How many rules its listeners may have",priority=1
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether everything that its Ingresses ask for can be served"
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`,description="Whether the cloud has all that was accepted"
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether something needs attention"
// +kubebuilder:printcolumn:name="Missing",type=string,JSONPath=`.status.diagnostics[?(@.severity=="error")].reason`,description="Why something of its Ingresses is not served: the first reason"
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.lastPlan.summary`,description="The last plan that had something to do",priority=1
// +kubebuilder:printcolumn:name="Adoption",type=string,JSONPath=`.status.memory.adoption.state`,description="How far a load balancer is taken over from another controller, or given back",priority=1
// +kubebuilder:printcolumn:name="Error",type=string,JSONPath=`.status.lastError`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoadBalancer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LoadBalancerSpec   `json:"spec"`
	Status LoadBalancerStatus `json:"status,omitzero"`
}

// LoadBalancerList is a list of them.
//
// +kubebuilder:object:root=true
type LoadBalancerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []LoadBalancer `json:"items"`
}

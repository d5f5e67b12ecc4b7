package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file has LoadBalancer, the operator's report about a load balancer and its record of it.
// People read it, and write only the annotations that pause and confirm. An object that is deleted
// is written again; its record is then lost, but no load balancer is.

// PausedAnnotation leaves a load balancer as it is, if its LoadBalancer or its IngressClass has it
// with the value "true": changes are planned and reported, and not carried out.
const PausedAnnotation = Group + "/paused"

// ConfirmVanishedAnnotation has the routes of Ingresses taken away that had vanished by a time,
// which is its value as RFC 3339 has it. A time that is still to come confirms nothing.
const ConfirmVanishedAnnotation = Group + "/confirm-vanished"

// The types of a load balancer's conditions.
const (
	// ConditionAccepted says whether everything that its Ingresses ask for can be served.
	ConditionAccepted = "Accepted"
	// ConditionProgrammed says whether the cloud has all that was accepted.
	ConditionProgrammed = "Programmed"
	// ConditionDegraded says whether something needs attention, whatever is served meanwhile.
	ConditionDegraded = "Degraded"
	// ConditionWaiting says what something waits for that is to be done, once it has waited for 15 s.
	// Its last transition is when the wait began. A load balancer that has not waited so long has no
	// such condition.
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

// LoadBalancerStatus is the report, and the memory.
type LoadBalancerStatus struct {
	// Address is what clients connect to: the host name or, without one, the first IP address.
	Address string `json:"address,omitempty"`
	// IPs are the IP addresses, where the cloud says them.
	// +listType=atomic
	IPs []string `json:"ips,omitempty"`
	// Members are the Ingresses, as namespace/name, oldest first. Where they are too many to be listed
	// here the newest are left out, and memberCount counts them all the same.
	// +listType=atomic
	Members []string `json:"members,omitempty"`
	// MemberCount is how many they are.
	MemberCount int32 `json:"memberCount"`
	// Listeners are the ports, ascending.
	// +listType=map
	// +listMapKey=port
	Listeners []ListenerStatus `json:"listeners,omitempty"`
	// Rules are how many rules all listeners have together.
	Rules int32 `json:"rules"`
	// RuleLimit is how many they may have; 0 if the cloud knows no limit.
	RuleLimit int32 `json:"ruleLimit,omitempty"`
	// Conditions are Accepted, Programmed and Degraded, and Waiting once something has waited for 15
	// s.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Diagnostics are about its Ingresses, at most 200.
	// +listType=atomic
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	// OmittedDiagnostics are how many more there are.
	OmittedDiagnostics int32 `json:"omittedDiagnostics,omitempty"`
	// LastError is the reason why the last change of the load balancer failed.
	LastError string `json:"lastError,omitempty"`
	// Term is the replica that last began to carry out a plan, and which time it had the lease.
	// A replica that does not find its own name here reads the cloud again.
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
	// Rules are how many rules it has.
	Rules int32 `json:"rules"`
}

// Diagnostic is one finding about one field of one object.
type Diagnostic struct {
	// Severity is error, warning or info.
	Severity string `json:"severity"`
	// Reason is one of those that the reference of diagnostics lists.
	Reason string `json:"reason"`
	// Source is the kind, the object and the field, with spaces between them.
	Source  string `json:"source"`
	Message string `json:"message"`
}

// PlanStatus is a plan as its last run left it, if it was run.
type PlanStatus struct {
	// At is when the run ended, or when the plan was made that was not to be run.
	At metav1.Time `json:"at,omitzero"`
	// Summary is how many objects there were to create, change and delete.
	Summary string `json:"summary"`
	// Done is how many of the steps were done.
	Done int32 `json:"done"`
	// Steps are in the order of the plan, at most 50.
	// +listType=atomic
	Steps []PlanStep `json:"steps,omitempty"`
	// OmittedSteps are how many more there were.
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
	// Class is the spec of its class when something was last accepted. It is used if the class
	// disappears. No schema validates it again: a check that is stricter than the one it passed must
	// not keep the rest of the memory from being written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Class *LoadBalancerClassSpec `json:"class,omitempty"`
	// Members are by namespace/name. The list is replaced as a whole: of a list with
	// keys the metadata would have every name once more.
	// +listType=atomic
	Members []MemberMemory `json:"members,omitempty"`
	// Versions are the last accepted versions of members where they take too much room among these:
	// each part is compressed by gzip, and has the versions of some members by namespace/name.
	Versions map[string][]byte `json:"versions,omitempty"`
	// Certificates are those of Secrets that the cloud has. One goes on being served while its Secret
	// holds none that can be.
	// +listType=atomic
	Certificates []SecretCertificate `json:"certificates,omitempty"`
	// CloudCertificates are those that the cloud has of itself and that listeners show, with the hosts
	// that they were chosen for. They go on being shown while the cloud cannot be asked for
	// certificates.
	// +listType=atomic
	CloudCertificates []CloudCertificate `json:"cloudCertificates,omitempty"`
	// Clients are those that users sign in with, of Secrets. One goes on being used while its Secret
	// cannot be read.
	// +listType=atomic
	Clients []SecretClient `json:"clients,omitempty"`
	// Hosts are the owners of the hosts of a group across namespaces.
	// +listType=atomic
	Hosts []HostOwner `json:"hosts,omitempty"`
	// ClosedHosts are hosts for which no wildcard and no rule without a host answers, as an expectation
	// rules the answer out.
	// +listType=atomic
	ClosedHosts []ClosedHost `json:"closedHosts,omitempty"`
	// Rules are those that are ours, each by a digest, where the class has others stay beside them.
	// +listType=atomic
	Rules []string `json:"rules,omitempty"`
	// LostAt is when the LoadBalancer of a load balancer that exists was found to be gone, so that it
	// was written anew.
	LostAt *metav1.Time `json:"lostAt,omitempty"`
}

// MemberMemory is the record of one Ingress.
type MemberMemory struct {
	// Ingress is its namespace/name.
	Ingress string `json:"ingress"`
	// LastAccepted is the version to fall back to.
	LastAccepted *AcceptedVersion `json:"lastAccepted,omitempty"`
	// Forgotten says that there was such a version, and that it was dropped to make room.
	Forgotten bool `json:"forgotten,omitempty"`
	// Rejections are the versions that the cloud refused, and the certificates of its Secrets.
	// +listType=atomic
	Rejections []Rejection `json:"rejections,omitempty"`
	// Previous is the key of the load balancer from which the Ingress moves to this one.
	Previous string `json:"previous,omitempty"`
	// Earlier are the keys of those that it was leaving already, where it has come back to this one.
	// +listType=atomic
	Earlier []string `json:"earlier,omitempty"`
	// Move is the number of the move that brought the Ingress here last: of the load balancers that
	// remember it, it belongs to the one with the highest.
	Move int32 `json:"move,omitempty"`
	// PublishedAt is when this address was first written into the status of the Ingress, after its
	// last move to this load balancer. The grace of a move counts from then.
	PublishedAt *metav1.Time `json:"publishedAt,omitempty"`
	// Served says that routes of the Ingress have been in the cloud.
	Served bool `json:"served,omitempty"`
	// DepartedAt is when the Ingress was first seen to name no class of Fairlead's any more. It is
	// released once the class's moveGrace has passed since then.
	DepartedAt *metav1.Time `json:"departedAt,omitempty"`
	// VanishedAt is when the Ingress was first seen to be gone although it had not been released.
	VanishedAt *metav1.Time `json:"vanishedAt,omitempty"`
	// Unconfirmed says that so many vanished with it that its routes go only once that is confirmed.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// SecretCertificate is the certificate that a Secret held last.
type SecretCertificate struct {
	// Secret is its namespace/name.
	Secret string `json:"secret"`
	// ID is a hash of the certificate and its key.
	ID string `json:"id"`
}

// CloudCertificate is a certificate that the cloud has of itself.
type CloudCertificate struct {
	// ID is its ID in the cloud.
	ID string `json:"id"`
	// Hosts are those that it was chosen for.
	// +listType=atomic
	Hosts []string `json:"hosts,omitempty"`
}

// SecretClient is the client of an identity provider that a Secret held last.
type SecretClient struct {
	// Secret is its namespace/name.
	Secret string `json:"secret"`
	// ID is the client's. It is no secret (RFC 6749, section 2.2).
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
	// Yields says that a certificate of another namespace with a name for the host was there before
	// it, so that the host is not served over HTTPS.
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
	// At is when it was first accepted.
	At metav1.Time `json:"at,omitzero"`
	// Created is when the Ingress was made. Its age counts on where the Ingress has vanished.
	Created metav1.Time `json:"created,omitzero"`
	// Annotations are those that Fairlead reads.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Spec is that of the Ingress. The API server has checked it where it comes from, and may know
	// fields that this version does not.
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
	// Message is in the cloud's words.
	Message string `json:"message"`
	// Capabilities stand for what the cloud was known to be able to do. Once it can do something
	// else the version is tried again.
	Capabilities string `json:"capabilities,omitempty"`
	// Until is when it is tried again in any case, where others may have made room by then.
	Until *metav1.Time `json:"until,omitempty"`
}

// LoadBalancer is the report on one load balancer, and the operator's memory of it.
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

package v1

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Op is the operation of a step.
type Op string

// The ops, in the order in which a new load balancer needs them. A provider refuses one that it
// does not know with ProblemUnknown.
const (
	// CreateLoadBalancer makes a load balancer without listeners.
	CreateLoadBalancer Op = "createLoadBalancer" // loadBalancer
	// ModifyLoadBalancer replaces the settings of a load balancer, and its protection from deletion.
	ModifyLoadBalancer Op = "modifyLoadBalancer" // loadBalancer
	// DeleteLoadBalancer deletes a load balancer with its listeners and rules. Target groups, certificates and the
	// firewall are deleted by steps of their own.
	DeleteLoadBalancer Op = "deleteLoadBalancer"
	// SetWebACL associates a web ACL in place of another one.
	SetWebACL Op = "setWebACL" // webACL
	// SetShield begins or ends the cloud's protection against floods of requests.
	SetShield Op = "setShield" // shield
	// DeleteFirewall deletes the object that limits the clients of a load balancer, such as a security
	// group, once the load balancer is gone.
	DeleteFirewall Op = "deleteFirewall"

	// ImportCertificate stores a certificate with its key.
	ImportCertificate Op = "importCertificate" // certificate
	// ReplaceCertificate replaces the certificate certificateID by another one on all listeners. The handle stays.
	ReplaceCertificate Op = "replaceCertificate" // certificateID, certificate
	// ModifyCertificate replaces the tags of a certificate.
	ModifyCertificate Op = "modifyCertificate" // certificate, without chain and key
	DeleteCertificate Op = "deleteCertificate" // certificateID

	CreateTargetGroup Op = "createTargetGroup" // targetGroup
	ModifyTargetGroup Op = "modifyTargetGroup" // targetGroup
	// RegisterTargets registers the first targets of a target group. It removes none.
	RegisterTargets Op = "registerTargets" // targetGroupID, targets
	// AwaitTargets succeeds once the target group has a healthy target, and is pending until then. It changes nothing.
	AwaitTargets      Op = "awaitTargets"      // targetGroupID
	DeleteTargetGroup Op = "deleteTargetGroup" // targetGroupID

	// CreateListener opens a port. An existing listener of the same protocol stays as it is.
	CreateListener Op = "createListener" // listener
	// ModifyListener changes everything except the rules and the further certificates.
	ModifyListener    Op = "modifyListener"    // listener
	AttachCertificate Op = "attachCertificate" // port, certificateID
	DetachCertificate Op = "detachCertificate" // port, certificateID
	DeleteListener    Op = "deleteListener"    // port

	CreateRule Op = "createRule" // port, priority, rule
	ModifyRule Op = "modifyRule" // port, priority, rule
	// DeleteRule removes the rule at a priority. Rule is what the operator expects there.
	DeleteRule Op = "deleteRule" // port, priority, rule
	// RenumberRules gives rules other priorities, all at once. Their handles stay.
	RenumberRules Op = "renumberRules" // port, priorities
)

// A Step is one change to one load balancer. Of the fields after Op, it has those of its op.
type Step struct {
	Op Op `json:"op"`

	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// its name or ID; "none" removes it, "" leaves it as it is
	WebACL        string       `json:"webACL,omitempty"`
	Shield        string       `json:"shield,omitempty" enum:"on,off"` // "" leaves it as it is
	Certificate   *Certificate `json:"certificate,omitempty"`
	CertificateID string       `json:"certificateID,omitempty"`
	TargetGroup   *TargetGroup `json:"targetGroup,omitempty"`
	TargetGroupID string       `json:"targetGroupID,omitempty"`
	Targets       []Target     `json:"targets,omitempty"`
	Listener      *Listener    `json:"listener,omitempty"`
	Port          int32        `json:"port,omitempty"` // of a listener
	Priority      int          `json:"priority,omitempty"`
	Rule          *Rule        `json:"rule,omitempty"`
	Priorities    []Renumbered `json:"priorities,omitempty"`
}

// fieldsOf are the fields of a step that each op needs, by their names on the wire, with a question
// mark behind those that can be missing.
var fieldsOf = map[Op]string{
	CreateLoadBalancer: "loadBalancer", ModifyLoadBalancer: "loadBalancer", DeleteLoadBalancer: "",
	SetWebACL: "webACL?", SetShield: "shield?", DeleteFirewall: "",
	ImportCertificate: "certificate", ReplaceCertificate: "certificateID certificate",
	ModifyCertificate: "certificate", DeleteCertificate: "certificateID",
	CreateTargetGroup: "targetGroup", ModifyTargetGroup: "targetGroup",
	RegisterTargets: "targetGroupID targets?", AwaitTargets: "targetGroupID", DeleteTargetGroup: "targetGroupID",
	CreateListener: "listener", ModifyListener: "listener", DeleteListener: "port",
	AttachCertificate: "port certificateID", DetachCertificate: "port certificateID",
	CreateRule: "port priority rule", ModifyRule: "port priority rule", DeleteRule: "port priority rule",
	RenumberRules: "port priorities",
}

// Check returns a problem if the op is not known, or if the step lacks a field of its op or has one
// of another op.
func (s Step) Check() *Problem {
	list, known := fieldsOf[s.Op]
	if !known {
		return NewProblem(ProblemUnknown, fmt.Sprintf("op %.200q is not known", string(s.Op)))
	}
	named, fields := strings.Fields(list), reflect.ValueOf(s)
	for i := 1; i < fields.NumField(); i++ { // the first one is op
		name := FieldName(fields.Type().Field(i))
		switch needed := slices.Contains(named, name); {
		case needed && fields.Field(i).IsZero():
			return NewProblem(ProblemMalformed, fmt.Sprintf("step %s has no %s", s.Op, name))
		case !needed && !slices.Contains(named, name+"?") && !fields.Field(i).IsZero():
			return NewProblem(ProblemUnknown, fmt.Sprintf("step %s cannot have %s", s.Op, name))
		}
	}
	return nil
}

// FieldName returns the name of a field on the wire.
func FieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Renumbered is the old and the new priority of a rule.
type Renumbered struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Apply is the request to carry out steps, which do not depend on each other.
type Apply struct {
	Steps []Requested `json:"steps"`
}

// Requested is a step with its ID, which a request has once. A provider carries out the step of an ID once: if the ID
// arrives again, it answers with the same result, for at least ten minutes and as long as its process runs.
type Requested struct {
	ID   string `json:"id"`
	Step Step   `json:"step"`
}

// Applied has the results of steps, each with its ID, in any order.
type Applied struct {
	Results []Result `json:"results"`
}

// A Result is the result of a step: a Problem, or the values that the cloud assigned.
type Result struct {
	ID      string   `json:"id"`
	Problem *Problem `json:"problem,omitempty"`

	Handle   string   `json:"handle,omitempty"`   // the new object's
	Address  *Address `json:"address,omitempty"`  // of a new load balancer, as observations have it
	Active   bool     `json:"active,omitempty"`   // a new load balancer answers already
	Firewall string   `json:"firewall,omitempty"` // the handle of the firewall, where there is one
	// ReachedAt is the port at which clients reach a new listener, if it is another one. Observations have it in
	// address.ports: both are needed.
	ReachedAt int32 `json:"reachedAt,omitempty"`
}

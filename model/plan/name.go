package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/printable"
)

// This file has the name of each step in a printed plan.

func (CreateLoadBalancer) step() {}
func (ModifyLoadBalancer) step() {}
func (DeleteLoadBalancer) step() {}
func (SetWebACL) step()          {}
func (ShieldLoadBalancer) step() {}
func (DeleteFirewall) step()     {}
func (ImportCertificate) step()  {}
func (ReplaceCertificate) step() {}
func (ModifyCertificate) step()  {}
func (DeleteCertificate) step()  {}
func (CreateTargetGroup) step()  {}
func (ModifyTargetGroup) step()  {}
func (RegisterTargets) step()    {}
func (AwaitTargets) step()       {}
func (DeleteTargetGroup) step()  {}
func (CreateListener) step()     {}
func (ModifyListener) step()     {}
func (AttachCertificate) step()  {}
func (DetachCertificate) step()  {}
func (DeleteListener) step()     {}
func (CreateRule) step()         {}
func (ModifyRule) step()         {}
func (DeleteRule) step()         {}
func (RespaceRules) step()       {}

func (CreateLoadBalancer) Op() string { return "create load balancer" }
func (ModifyLoadBalancer) Op() string { return "modify load balancer" }
func (DeleteLoadBalancer) Op() string { return "delete load balancer" }
func (SetWebACL) Op() string          { return "set web ACL of" }
func (ShieldLoadBalancer) Op() string { return "shield load balancer" }
func (DeleteFirewall) Op() string     { return "delete firewall" }
func (ImportCertificate) Op() string  { return "import certificate" }
func (ReplaceCertificate) Op() string { return "replace certificate" }
func (ModifyCertificate) Op() string  { return "modify certificate" }
func (DeleteCertificate) Op() string  { return "delete certificate" }
func (CreateTargetGroup) Op() string  { return "create target group" }
func (ModifyTargetGroup) Op() string  { return "modify target group" }
func (RegisterTargets) Op() string    { return "register targets" }
func (AwaitTargets) Op() string       { return "await targets" }
func (DeleteTargetGroup) Op() string  { return "delete target group" }
func (CreateListener) Op() string     { return "create listener" }
func (ModifyListener) Op() string     { return "modify listener" }
func (AttachCertificate) Op() string  { return "attach certificate" }
func (DetachCertificate) Op() string  { return "detach certificate" }
func (DeleteListener) Op() string     { return "delete listener" }
func (CreateRule) Op() string         { return "create rule" }
func (ModifyRule) Op() string         { return "modify rule" }
func (DeleteRule) Op() string         { return "delete rule" }
func (RespaceRules) Op() string       { return "respace rules" }

func (s CreateLoadBalancer) ID() string { return string(s.LoadBalancer.Key) }
func (s ModifyLoadBalancer) ID() string { return string(s.LoadBalancer.Key) }
func (s DeleteLoadBalancer) ID() string { return string(s.Key) }
func (s SetWebACL) ID() string          { return string(s.Key) }
func (s ShieldLoadBalancer) ID() string { return string(s.Key) }
func (s DeleteFirewall) ID() string     { return string(s.Key) }
func (s ImportCertificate) ID() string  { return string(s.Certificate.ID) }
func (s ReplaceCertificate) ID() string { return string(s.Old) }
func (s ModifyCertificate) ID() string  { return string(s.Certificate.ID) }
func (s DeleteCertificate) ID() string  { return string(s.Certificate) }
func (s CreateTargetGroup) ID() string  { return string(s.Group.ID) }
func (s ModifyTargetGroup) ID() string  { return string(s.Group.ID) }
func (s RegisterTargets) ID() string    { return string(s.Group) }
func (s AwaitTargets) ID() string       { return string(s.Group) }
func (s DeleteTargetGroup) ID() string  { return string(s.Group) }
func (s CreateListener) ID() string     { return fmt.Sprint(s.Listener.Port) }
func (s ModifyListener) ID() string     { return fmt.Sprint(s.Listener.Port) }
func (s AttachCertificate) ID() string  { return fmt.Sprintf("%d %s", s.Port, s.Certificate) }
func (s DetachCertificate) ID() string  { return fmt.Sprintf("%d %s", s.Port, s.Certificate) }
func (s DeleteListener) ID() string     { return fmt.Sprint(s.Port) }
func (s CreateRule) ID() string         { return ruleID(s.Port, s.Priority) }
func (s ModifyRule) ID() string         { return ruleID(s.Port, s.Priority) }
func (s DeleteRule) ID() string         { return ruleID(s.Port, s.Priority) }
func (s RespaceRules) ID() string       { return fmt.Sprint(s.Port) }

func ruleID(port int32, priority int) string { return fmt.Sprintf("%d/%d", port, priority) }

func (s CreateLoadBalancer) Detail() string { return s.LoadBalancer.Settings.Scheme }
func (s ModifyLoadBalancer) Detail() string { return "settings " + string(s.LoadBalancer.Digest) }
func (s DeleteLoadBalancer) Detail() string { return "with its listeners and rules" }
func (s SetWebACL) Detail() string {
	return cmp.Or(s.WebACL, "none of ours any more")
}
func (s ShieldLoadBalancer) Detail() string {
	return cmp.Or(s.Shield, "with no shield of ours any more")
}
func (DeleteFirewall) Detail() string { return "" }
func (s ImportCertificate) Detail() string {
	return strings.Join(printable.Words(s.Certificate.Hosts), ", ") + " from Secret " +
		strings.Join(printable.Words(s.Certificate.Secrets), ", ")
}
func (s ReplaceCertificate) Detail() string {
	return "with " + string(s.New.ID) + ", " + ImportCertificate{s.New}.Detail()
}
func (s ModifyCertificate) Detail() string {
	return strings.TrimSpace("settings " + string(s.Certificate.Digest))
}
func (s DeleteCertificate) Detail() string { return "" }
func (s CreateTargetGroup) Detail() string {
	text := string(s.Group.Protocol) + " " + s.Group.TargetType
	if s.Group.NodeLabels != "" {
		text += " on nodes with " + s.Group.NodeLabels
	}
	return text
}
func (s ModifyTargetGroup) Detail() string { return "settings " + string(s.Group.Digest) }
func (s RegisterTargets) Detail() string {
	const shown = 4
	var names []string
	for _, t := range s.Targets[:min(shown, len(s.Targets))] {
		names = append(names, t.String())
	}
	if more := len(s.Targets) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
func (s AwaitTargets) Detail() string    { return "until a target is healthy" }
func (DeleteTargetGroup) Detail() string { return "" }
func (s CreateListener) Detail() string {
	return string(s.Listener.Protocol) + ", otherwise " + s.Listener.Default.String()
}
func (s ModifyListener) Detail() string {
	return string(s.Listener.Protocol) + ", otherwise " + s.Listener.Default.String()
}
func (s AttachCertificate) Detail() string { return "" }
func (s DetachCertificate) Detail() string { return "" }
func (s DeleteListener) Detail() string    { return "with its rules" }
func (s CreateRule) Detail() string        { return s.Rule.String() }
func (s ModifyRule) Detail() string        { return s.Rule.String() }
func (s DeleteRule) Detail() string        { return s.Rule.String() }
func (s RespaceRules) Detail() string {
	var numbers []string
	for _, from := range slices.Sorted(maps.Keys(s.To)) {
		numbers = append(numbers, fmt.Sprintf("%d→%d", from, s.To[from]))
	}
	return strings.Join(numbers, " ")
}

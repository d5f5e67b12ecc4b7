package wire

import (
	"fmt"
	"maps"
	"slices"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file translates steps and their results.

// EncodeStep converts a step to its message.
func EncodeStep(step plan.Step) v1.Step {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return v1.Step{Op: v1.CreateLoadBalancer, LoadBalancer: encodeLoadBalancer(s.LoadBalancer)}
	case plan.ModifyLoadBalancer:
		return v1.Step{Op: v1.ModifyLoadBalancer, LoadBalancer: encodeLoadBalancer(s.LoadBalancer)}
	case plan.DeleteLoadBalancer:
		return v1.Step{Op: v1.DeleteLoadBalancer}
	case plan.SetWebACL:
		return v1.Step{Op: v1.SetWebACL, WebACL: s.WebACL}
	case plan.ShieldLoadBalancer:
		return v1.Step{Op: v1.SetShield, Shield: s.Shield}
	case plan.DeleteFirewall:
		return v1.Step{Op: v1.DeleteFirewall}
	case plan.ImportCertificate:
		return v1.Step{Op: v1.ImportCertificate, Certificate: encodeCertificate(s.Certificate)}
	case plan.ReplaceCertificate:
		return v1.Step{
			Op: v1.ReplaceCertificate, CertificateID: string(s.Old), Certificate: encodeCertificate(s.New),
		}
	case plan.ModifyCertificate:
		c := encodeCertificate(s.Certificate)
		c.Chain, c.Key = "", ""
		return v1.Step{Op: v1.ModifyCertificate, Certificate: c}
	case plan.DeleteCertificate:
		return v1.Step{Op: v1.DeleteCertificate, CertificateID: string(s.Certificate)}
	case plan.CreateTargetGroup:
		return v1.Step{Op: v1.CreateTargetGroup, TargetGroup: encodeTargetGroup(s.Group)}
	case plan.ModifyTargetGroup:
		return v1.Step{Op: v1.ModifyTargetGroup, TargetGroup: encodeTargetGroup(s.Group)}
	case plan.RegisterTargets:
		return v1.Step{
			Op: v1.RegisterTargets, TargetGroupID: string(s.Group), Targets: encodeMembers(s.Targets),
		}
	case plan.AwaitTargets:
		return v1.Step{Op: v1.AwaitTargets, TargetGroupID: string(s.Group)}
	case plan.DeleteTargetGroup:
		return v1.Step{Op: v1.DeleteTargetGroup, TargetGroupID: string(s.Group)}
	case plan.CreateListener:
		return v1.Step{Op: v1.CreateListener, Listener: encodeListener(s.Listener)}
	case plan.ModifyListener:
		return v1.Step{Op: v1.ModifyListener, Listener: encodeListener(s.Listener)}
	case plan.AttachCertificate:
		return v1.Step{Op: v1.AttachCertificate, Port: s.Port, CertificateID: string(s.Certificate)}
	case plan.DetachCertificate:
		return v1.Step{Op: v1.DetachCertificate, Port: s.Port, CertificateID: string(s.Certificate)}
	case plan.DeleteListener:
		return v1.Step{Op: v1.DeleteListener, Port: s.Port}
	case plan.CreateRule:
		return ruleStep(v1.CreateRule, s.Port, s.Priority, s.Rule)
	case plan.ModifyRule:
		return ruleStep(v1.ModifyRule, s.Port, s.Priority, s.Rule)
	case plan.DeleteRule:
		return ruleStep(v1.DeleteRule, s.Port, s.Priority, s.Rule)
	case plan.RespaceRules:
		out := v1.Step{Op: v1.RenumberRules, Port: s.Port}
		for _, from := range slices.Sorted(maps.Keys(s.To)) {
			out.Priorities = append(out.Priorities, v1.Renumbered{From: from, To: s.To[from]})
		}
		return out
	}
	// the set of steps is closed
	panic(fmt.Sprintf("step %T has no place in the provider protocol", step))
}

func ruleStep(op v1.Op, port int32, priority int, rule lb.Rule) v1.Step {
	r := encodeRule(rule)
	return v1.Step{Op: op, Port: port, Priority: priority, Rule: &r}
}

func encodeMembers(targets []lb.Target) []v1.Target {
	var out []v1.Target
	for _, t := range targets {
		out = append(out, v1.Target{Address: t.Address, Port: t.Port})
	}
	return out
}

// DecodeStep converts the message to a step of a load balancer. A step with missing or surplus
// fields is an error: a *v1.Problem.
func DecodeStep(key lb.Key, s v1.Step) (plan.Step, error) {
	if p := s.Check(); p != nil {
		return nil, p
	}
	switch s.Op {
	case v1.CreateLoadBalancer:
		return plan.CreateLoadBalancer{LoadBalancer: decodeLoadBalancer(key, s.LoadBalancer)}, nil
	case v1.ModifyLoadBalancer:
		return plan.ModifyLoadBalancer{LoadBalancer: decodeLoadBalancer(key, s.LoadBalancer)}, nil
	case v1.DeleteLoadBalancer:
		return plan.DeleteLoadBalancer{Key: key}, nil
	case v1.SetWebACL:
		return plan.SetWebACL{Key: key, WebACL: s.WebACL}, nil
	case v1.SetShield:
		return plan.ShieldLoadBalancer{Key: key, Shield: s.Shield}, nil
	case v1.DeleteFirewall:
		return plan.DeleteFirewall{Key: key}, nil
	case v1.ImportCertificate:
		return plan.ImportCertificate{Certificate: decodeCertificate(*s.Certificate)}, nil
	case v1.ReplaceCertificate:
		return plan.ReplaceCertificate{
			Old: lb.CertificateID(s.CertificateID), New: decodeCertificate(*s.Certificate),
		}, nil
	case v1.ModifyCertificate:
		return plan.ModifyCertificate{Certificate: decodeCertificate(*s.Certificate)}, nil
	case v1.DeleteCertificate:
		return plan.DeleteCertificate{Certificate: lb.CertificateID(s.CertificateID)}, nil
	case v1.CreateTargetGroup:
		return plan.CreateTargetGroup{Group: decodeTargetGroup(*s.TargetGroup)}, nil
	case v1.ModifyTargetGroup:
		return plan.ModifyTargetGroup{Group: decodeTargetGroup(*s.TargetGroup)}, nil
	case v1.RegisterTargets:
		return plan.RegisterTargets{
			Group: lb.GroupID(s.TargetGroupID), Targets: decodeMembers(s.Targets),
		}, nil
	case v1.AwaitTargets:
		return plan.AwaitTargets{Group: lb.GroupID(s.TargetGroupID)}, nil
	case v1.DeleteTargetGroup:
		return plan.DeleteTargetGroup{Group: lb.GroupID(s.TargetGroupID)}, nil
	case v1.CreateListener:
		return plan.CreateListener{Listener: decodeListener(*s.Listener)}, nil
	case v1.ModifyListener:
		return plan.ModifyListener{Listener: decodeListener(*s.Listener)}, nil
	case v1.AttachCertificate:
		return plan.AttachCertificate{Port: s.Port, Certificate: lb.CertificateID(s.CertificateID)}, nil
	case v1.DetachCertificate:
		return plan.DetachCertificate{Port: s.Port, Certificate: lb.CertificateID(s.CertificateID)}, nil
	case v1.DeleteListener:
		return plan.DeleteListener{Port: s.Port}, nil
	case v1.CreateRule:
		return plan.CreateRule{Port: s.Port, Priority: s.Priority, Rule: decodeRule(*s.Rule)}, nil
	case v1.ModifyRule:
		return plan.ModifyRule{Port: s.Port, Priority: s.Priority, Rule: decodeRule(*s.Rule)}, nil
	case v1.DeleteRule:
		return plan.DeleteRule{Port: s.Port, Priority: s.Priority, Rule: decodeRule(*s.Rule)}, nil
	case v1.RenumberRules:
		to := map[int]int{}
		for _, p := range s.Priorities {
			if _, known := to[p.From]; known {
				return nil, v1.NewProblem(v1.ProblemMalformed, duplicateError("priority", p.From).Error())
			}
			to[p.From] = p.To
		}
		return plan.RespaceRules{Port: s.Port, To: to}, nil
	}
	panic(fmt.Sprintf("op %q has fields and no step", s.Op)) // Check knows the others
}

func decodeMembers(targets []v1.Target) []lb.Target {
	var out []lb.Target
	for _, t := range targets {
		out = append(out, lb.Target{Address: t.Address, Port: t.Port})
	}
	return out
}

func decodeLoadBalancer(key lb.Key, l *v1.LoadBalancer) lb.LoadBalancer {
	return lb.LoadBalancer{
		Key: key, Digest: lb.Digest(l.Digest), Settings: decodeSettings(l.Settings),
		Protected: l.Protected,
	}
}

// EncodeResult converts the result of a step to its message.
func EncodeResult(id string, r plan.Result, err error) v1.Result {
	if err != nil {
		return v1.Result{ID: id, Problem: EncodeError(err)}
	}
	return v1.Result{
		ID: id, Handle: r.Handle, Address: encodeAddress(r.Address), Active: r.Active,
		Firewall: r.Firewall, ReachedAt: r.Port,
	}
}

// DecodeResult converts the message to the result of a step.
func DecodeResult(r v1.Result) (plan.Result, error) {
	if r.Problem != nil {
		return plan.Result{}, DecodeError(r.Problem)
	}
	return plan.Result{
		Handle: r.Handle, Address: decodeAddress(r.Address), Active: r.Active, Firewall: r.Firewall,
		Port: r.ReachedAt,
	}, nil
}

package backends

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the backends of one member while they are translated.

// alreadyReported reports whether a problem was already reported for this Ingress.
func (v *MemberBackends) alreadyReported(p endpoints.Problem) bool {
	before := v.problems[p]
	v.problems[p] = true
	return before
}

// MemberBackends holds the backends of one member while they are added to the pool.
type MemberBackends struct {
	*objects.Index
	members.Member
	pool      *Pool
	Found     []diag.Diagnostic
	resources map[objects.Name]routing.Action // the actions of Backends
	problems  map[endpoints.Problem]bool      // reported problems of backends
}

func ForMember(x *objects.Index, p *Pool, m members.Member) *MemberBackends {
	return &MemberBackends{Index: x, Member: m, pool: p, resources: map[objects.Name]routing.Action{},
		problems: map[endpoints.Problem]bool{}}
}

// Tell adds a diagnostic about a field of the member.
func (v *MemberBackends) Tell(severity diag.Severity, reason diag.Reason, field, message string) {
	v.Found = append(v.Found, diag.Diagnostic{Severity: severity, Reason: reason,
		Source: v.Source().At(field), Message: message})
}

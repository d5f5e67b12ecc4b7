package backends

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress/members"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the backends of one member while they are translated.

// told reports whether this Ingress was told of the problem at a path before: once is enough.
func (v *MemberBackends) told(p endpoints.Problem) bool {
	before := v.problems[p]
	v.problems[p] = true
	return before
}

// MemberBackends are the backends of one member, as they are added to the pool.
type MemberBackends struct {
	*objects.Index
	members.Member
	pool      *Pool
	Found     []diag.Diagnostic
	resources map[objects.Name]routing.Action // the actions of Backends
	problems  map[endpoints.Problem]bool      // of backends, that were told
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

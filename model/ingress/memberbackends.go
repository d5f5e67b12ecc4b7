package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
)

// told reports whether this Ingress was told of the problem at a path before: once is enough.
func (v *memberBackends) told(p endpoints.Problem) bool {
	before := v.problems[p]
	v.problems[p] = true
	return before
}

// memberBackends are the backends of one member, as they are added to the pool.
type memberBackends struct {
	*index
	Member
	pool      *pool
	found     []diag.Diagnostic
	resources map[name]routing.Action    // the actions of Backends
	problems  map[endpoints.Problem]bool // of backends, that were told
}

func newMemberBackends(x *index, p *pool, m Member) *memberBackends {
	return &memberBackends{index: x, Member: m, pool: p, resources: map[name]routing.Action{}, problems: map[endpoints.Problem]bool{}}
}

// tell adds a diagnostic about a field of the member.
func (m *memberBackends) tell(severity diag.Severity, reason diag.Reason, field, message string) {
	m.found = append(m.found, diag.Diagnostic{Severity: severity, Reason: reason, Source: m.Source().At(field), Message: message})
}

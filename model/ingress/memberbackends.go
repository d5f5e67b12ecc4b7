package ingress

import (
	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file has the backends of one member while they are translated.

// alreadyReported reports whether a problem was already reported for this Ingress.
func (v *memberBackends) alreadyReported(p endpoints.Problem) bool {
	before := v.problems[p]
	v.problems[p] = true
	return before
}

// memberBackends holds the backends of one member while they are added to the pool.
type memberBackends struct {
	*Index
	Member
	pool      *backendPool
	Found     []diag.Diagnostic
	resources map[Name]routing.Action // the actions of Backends
	// the Ingress's own Backends with their defaults; nil for one that cannot be used
	own      map[string]*v1alpha1.BackendSpec
	problems map[endpoints.Problem]bool // reported problems of backends
	// the settings of Services with annotations of their own
	ofServices map[Name]settings.Values
}

func newMemberBackends(x *Index, p *backendPool, m Member) *memberBackends {
	return &memberBackends{Index: x, Member: m, pool: p, resources: map[Name]routing.Action{},
		problems: map[endpoints.Problem]bool{}, own: map[string]*v1alpha1.BackendSpec{}, ofServices: map[Name]settings.Values{}}
}

// addDiagnostic adds a diagnostic about a field of the member.
func (v *memberBackends) addDiagnostic(severity diag.Severity, reason diag.Reason, field, message string) {
	v.Found = append(v.Found, diag.Diagnostic{Severity: severity, Reason: reason,
		Source: v.Source().At(field), Message: message})
}

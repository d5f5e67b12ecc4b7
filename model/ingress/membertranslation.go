package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the state of a translation, and of the visit of each member.

// A translation is a Config in the making.
type translation struct {
	*index
	snapshot *Snapshot
	class    *Class
	doors    *doors
	pool     *pool
	config   routing.Config
	found    []diag.Diagnostic
	named    map[routing.Host]bool // by rules of members, or as listed hosts that are not answered as any other host
}

// A visit is the translation of one member.
type visit struct {
	*memberBackends
	translation *translation
	rules       []rule
	opening     *opening
	ports       served
	refused     []diag.Diagnostic // about hosts, which are told elsewhere

	permitted  bool // the class permits a rule of it
	forAnyHost bool // its default backend answers for hosts that no rule names
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

// A pool is the backends of a load balancer, shared by all that use them.
type pool struct {
	class    *Class
	clients  map[string]string // the client that each Secret of an identity provider held last
	resolved map[endpoints.Reference]*endpoints.Resolution
	entries  map[routing.BackendID]*pooled
	checked  map[name]bool     // whether Backends are valid
	found    []diag.Diagnostic // about Backends
	ports    portBudget

	endpoints endpointBudget
	blind     bool // whether it was told that endpoints are taken for what they say
}

// pooled is a backend with the settings of its health check, by annotation.
type pooled struct {
	routing.Backend
	health map[string]claim
}

// An endpointBudget is what has been looked at for each namespace. Older Ingresses come first, so
// that their backends keep their targets.
type endpointBudget struct {
	spent map[string]int
	of    map[name]int // what one backend of a Service takes
}

// portBudget is the ports that the targets of each namespace have on a load balancer. Older
// Ingresses come first, so that theirs stay.
type portBudget map[string]map[int32]bool

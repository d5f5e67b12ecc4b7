package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the state of a translation, and of the visit of each member.

// A translation is a Config in the making.
type translation struct {
	*Index
	snapshot  *Snapshot
	class     *Class
	listeners *Builder
	pool      *Pool
	config    routing.Config
	found     []diag.Diagnostic
	named     map[routing.Host]bool // by rules of members, or as listed hosts that are not answered as any other host
}

// A memberTranslation is the translation of one member.
type memberTranslation struct {
	*MemberBackends
	translation *translation
	rules       []Rule
	opening     *MemberListeners
	ports       ServedPorts
	refused     []diag.Diagnostic // about hosts, which are told elsewhere

	permitted  bool // the class permits a rule of it
	forAnyHost bool // its default backend answers for hosts that no rule names
}

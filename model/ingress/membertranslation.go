package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/backends"
	"fairlead.dev/fairlead/model/ingress/classes"
	"fairlead.dev/fairlead/model/ingress/hostrules"
	"fairlead.dev/fairlead/model/ingress/listeners"
	"fairlead.dev/fairlead/model/ingress/objects"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/routing"
)

// This file has a translation while it is made, and the part of each member.

// A translation makes the Config of a load balancer.
type translation struct {
	*objects.Index
	snapshot  *snapshots.Snapshot
	class     *classes.Class
	listeners *listeners.Builder
	pool      *backends.Pool
	config    routing.Config
	found     []diag.Diagnostic
	// by rules of members, or as listed hosts that are not answered as any other host
	named map[routing.Host]bool
}

// A memberTranslation is the translation of one member.
type memberTranslation struct {
	*backends.MemberBackends
	translation *translation
	rules       []hostrules.Rule
	opening     *listeners.MemberListeners
	ports       listeners.ServedPorts
	refused     []diag.Diagnostic // about hosts, which are told elsewhere

	permitted  bool // the class permits a rule of it
	forAnyHost bool // its default backend answers for hosts that no rule names
}

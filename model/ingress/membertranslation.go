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

// This file has a translation while it is built, and the part of each member.

// A translation builds the Config of a load balancer.
type translation struct {
	*objects.Index
	snapshot  *snapshots.Snapshot
	class     *classes.Class
	listeners *listeners.Builder
	pool      *backends.Pool
	config    routing.Config
	found     []diag.Diagnostic
	// neighbours decide which listed hosts need answers of their own
	neighbours *listeners.Neighbours
}

// A memberTranslation is the translation of one member.
type memberTranslation struct {
	*backends.MemberBackends
	translation *translation
	rules       []hostrules.Rule
	opening     *listeners.MemberListeners
	ports       listeners.ServedPorts
	refused     []diag.Diagnostic // about hosts; they replace those about unused certificates

	permitted  bool // the class permits at least one rule
	forAnyHost bool // its default backend answers for hosts that no rule names
}

package ingress

import (
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file has a translation while it is built, and the part of each member.

// A translation builds the Config of a load balancer.
type translation struct {
	*Index
	snapshot  *Snapshot
	class     *Class
	listeners *listenerBuilder
	pool      *backendPool
	config    routing.Config
	found     []diag.Diagnostic
	// neighbours decide which listed hosts need answers of their own
	neighbours *otherIngresses
}

// A memberTranslation is the translation of one member.
type memberTranslation struct {
	*memberBackends
	translation *translation
	rules       []HostRule
	opening     *memberListeners
	ports       servedPorts
	refused     []diag.Diagnostic // about hosts; they replace those about unused certificates
	// hosts whose requests over HTTP are not redirected, since they are not served over HTTPS
	unredirected nameList

	permitted  bool // the class permits at least one rule
	forAnyHost bool // its default backend answers for hosts that no rule names
}

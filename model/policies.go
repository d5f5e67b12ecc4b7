package model

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/policies"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the chain of policies that every snapshot goes through before it is translated. Each
// takes out what cannot be served for one reason, so that its last accepted version is served
// instead, and tells the owners.

// A policy returns a snapshot without what cannot be served, and the diagnostics for the owners.
type policy struct {
	refuses string
	apply   func(snapshots.Snapshot) (snapshots.Snapshot, []diag.Diagnostic)
}

// policyChain is all of them, in order.
func policyChain(f lb.Facts, protection policies.CloudProtection) []policy {
	return []policy{
		{"a name that something else in the account has",
			func(s snapshots.Snapshot) (snapshots.Snapshot, []diag.Diagnostic) {
				return policies.WithoutTakenName(s, f.NameTaken)
			}},
		{"a web ACL that does not exist, or another one than is associated",
			func(s snapshots.Snapshot) (snapshots.Snapshot, []diag.Diagnostic) {
				return policies.WithoutOtherWebACLs(s, protection)
			}},
		{"Services with annotations of other controllers that restrict",
			policies.WithoutForeignRestrictions},
		{"target type instance while Nodes cannot be read", policies.WithoutUnreadNodes},
		{"a class with settings that the provider does not take",
			func(s snapshots.Snapshot) (snapshots.Snapshot, []diag.Diagnostic) {
				return policies.WithoutRefusedSettings(s, f.SettingsRefused)
			}},
	}
}

// servable returns what of a snapshot the policies let through.
func servable(s snapshots.Snapshot, chain []policy) (snapshots.Snapshot, []diag.Diagnostic) {
	var found, told []diag.Diagnostic
	for _, p := range chain {
		s, told = p.apply(s)
		found = slices.Concat(found, told)
	}
	return s, found
}

package model

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/policies"
	"fairlead.dev/fairlead/model/ingress/snapshots"
	"fairlead.dev/fairlead/model/lb"
)

// This file has the policies for every snapshot before its translation. Each removes the changes
// that cannot be served for one reason, so that the last accepted versions are served instead, and
// reports them.

// A policy returns a snapshot without the changes that cannot be served, and diagnostics.
type policy struct {
	refuses string
	apply   func(snapshots.Snapshot) (snapshots.Snapshot, []diag.Diagnostic)
}

// policyChain returns all policies, in order.
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

// applyPolicies returns the snapshot after all policies, with their diagnostics.
func applyPolicies(s snapshots.Snapshot, chain []policy) (snapshots.Snapshot, []diag.Diagnostic) {
	var found, told []diag.Diagnostic
	for _, p := range chain {
		s, told = p.apply(s)
		found = slices.Concat(found, told)
	}
	return s, found
}

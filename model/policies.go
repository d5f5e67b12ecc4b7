package model

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file has the policies for every snapshot before its translation. Each removes the changes
// that cannot be served for one reason, so that the last accepted versions are served instead, and
// reports them.

// A policy returns a snapshot without the changes that cannot be served, and diagnostics.
type policy struct {
	refuses string
	apply   func(ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic)
}

// policyChain returns all policies, in order.
func policyChain(f lb.Facts, protection ingress.CloudProtection,
	network ingress.CloudNetwork) []policy {
	return []policy{
		{"a name that something else in the account has",
			func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
				return ingress.WithoutTakenName(s, f.NameTaken)
			}},
		{"a web ACL that does not exist, or another one than is associated",
			func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
				return ingress.WithoutOtherWebACLs(s, protection)
			}},
		{"Services with annotations of other controllers that restrict",
			ingress.WithoutForeignRestrictions},
		{"target type instance while Nodes cannot be read", ingress.WithoutUnreadNodes},
		{"a class with settings that the provider does not take",
			func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
				return ingress.WithoutRefusedSettings(s, f.SettingsRefused)
			}},
		{"other security groups than those of the load balancer", ingress.WithoutOtherGroups},
		{"security groups that the cloud does not have",
			func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
				return ingress.WithoutMissingGroups(s, network)
			}},
	}
}

// applyPolicies returns the snapshot after all policies, with their diagnostics.
func applyPolicies(s ingress.Snapshot, chain []policy) (ingress.Snapshot, []diag.Diagnostic) {
	var found, notes []diag.Diagnostic
	for _, p := range chain {
		s, notes = p.apply(s)
		found = slices.Concat(found, notes)
	}
	return s, found
}

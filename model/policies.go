package model

import (
	"slices"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file is the chain of policies that every snapshot goes through before it is translated. Each
// takes out what cannot be served for one reason, so that its last accepted version is served
// instead, and tells the owners.

// A policy returns a snapshot without what cannot be served, and the diagnostics for the owners.
type policy struct {
	refuses string
	apply   func(ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic)
}

// policies are all of them, in order.
func policies(f lb.Facts, protection ingress.CloudProtection) []policy {
	return []policy{
		{"a name that something else in the account has", func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
			return ingress.WithoutTakenName(s, f.NameTaken)
		}},
		{"a web ACL that does not exist, or another one than is associated", func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
			return ingress.WithoutOtherWebACLs(s, protection)
		}},
		{"Services with annotations of other controllers that restrict", ingress.WithoutForeignRestrictions},
		{"target type instance while Nodes cannot be read", ingress.WithoutUnreadNodes},
		{"a class with settings that the provider does not take", func(s ingress.Snapshot) (ingress.Snapshot, []diag.Diagnostic) {
			return ingress.WithoutRefusedSettings(s, f.SettingsRefused)
		}},
	}
}

// servable returns what of a snapshot the policies let through.
func servable(s ingress.Snapshot, chain []policy) (ingress.Snapshot, []diag.Diagnostic) {
	var found, told []diag.Diagnostic
	for _, p := range chain {
		s, told = p.apply(s)
		found = slices.Concat(found, told)
	}
	return s, found
}

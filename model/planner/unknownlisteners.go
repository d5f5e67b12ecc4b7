package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file leaves listeners alone that others made and no Ingress asks for, in load balancers that were taken over. Such a
// listener is not compared, so that no step is about it.

// leaveListeners returns the wanted load balancer with what listeners that stay need: the load balancer itself, and those of
// its target groups and certificates that they name. It says which listeners of others there are, and what becomes of them.
func leaveListeners(seen *lb.Observed, want lb.LoadBalancer) (lb.LoadBalancer, []diag.Diagnostic) {
	var told []diag.Diagnostic
	alone := want.Empty()
	for i := range seen.Listeners {
		l := &seen.Listeners[i]
		if !l.Others {
			continue
		}
		stays := want.Leaves(l)
		told = append(told, tellListener(seen, l, want, stays && alone))
		if !stays {
			continue
		}
		if want.Empty() {
			want.Wanted, want.Digest, want.Protection = true, seen.Digest, seen.Protection
		}
		for _, id := range groupsOf(l) {
			g := seen.TargetGroup(id)
			if g != nil && !slices.ContainsFunc(want.TargetGroups, func(w lb.TargetGroup) bool { return w.ID == id }) {
				want.TargetGroups = append(slices.Clip(want.TargetGroups), g.TargetGroup)
			}
		}
		for _, id := range l.Certificates {
			c := seen.Certificate(id)
			if c != nil && !slices.ContainsFunc(want.Certificates, func(w lb.Certificate) bool { return w.ID == id }) {
				want.Certificates = append(slices.Clip(want.Certificates), c.Certificate)
			}
		}
	}
	want.TargetGroups, want.Certificates = slices.Clone(want.TargetGroups), slices.Clone(want.Certificates)
	slices.SortStableFunc(want.TargetGroups, func(a, b lb.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(want.Certificates, func(a, b lb.Certificate) int { return cmp.Compare(a.ID, b.ID) })
	return want, told
}

// groupsOf returns the target groups that a listener names.
func groupsOf(l *lb.ObservedListener) (out []lb.GroupID) {
	for _, a := range append(actionsOf(l.Plain().Rules), l.Default) {
		out = append(out, a.Groups()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changesRequests reports whether a listener redirects to a port of its load balancer with another host, path or query.
// Package proof leaves plans undecided that change such redirects together with that port.
func changesRequests(seen *lb.Observed, l *lb.ObservedListener) bool {
	return slices.ContainsFunc(append(actionsOf(l.Plain().Rules), l.Default), func(a lb.Action) bool {
		r := a.Redirect
		return r != nil && (r.Host != "" || r.Path != "" || r.Query != "") && seen.Listener(r.Target(l.Port, l.Protocol)) != nil
	})
}

// tellListener says what becomes of a listener of others. alone: it is why the load balancer stays.
func tellListener(seen *lb.Observed, l *lb.ObservedListener, want lb.LoadBalancer, alone bool) diag.Diagnostic {
	out := diag.Diagnostic{Severity: diag.Warning, Reason: diag.UnknownListener, Source: plan.SourceOf(seen.Key)}
	what := fmt.Sprintf("Others made the listener of port %d (%s)", l.Port, l.Protocol)
	const remove = "delete it, or set unknownListeners: Remove on the class, if it is to go"
	switch {
	case want.Listener(l.Port) != nil:
		var by []string
		for _, s := range originsOf(*want.Listener(l.Port)) {
			if name := s.At("").String(); !slices.Contains(by, name) {
				by = append(by, name)
			}
		}
		out.Message = fmt.Sprintf("%s, and it gets the rules of the Ingresses, which ask for the port: %s.", what,
			diag.Cut(strings.Join(by, ", ")))
		if changesRequests(seen, l) {
			out.Message += " Of its redirects, some lead to a port of this load balancer with another host, path or query. The answer " +
				"is not proven to clients that follow one while the rules change: delete the rules of these redirects first, if " +
				"that matters."
		}
	case !want.Leaves(l):
		out.Message = what + ", and no Ingress asks for the port: it is deleted, as unknownListeners of the class says."
	case alone:
		out.Message = what + ". No Ingress asks for the load balancer any more: it stays for this listener; " + remove + "."
	default:
		out.Severity = diag.Info
		out.Message = what + ", and no Ingress asks for the port: it stays as it is; " + remove + "."
	}
	return out
}

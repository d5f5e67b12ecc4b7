package ingress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which routes redirect requests over HTTP to HTTPS. The table splits them: see
// challenge.go of package precedence.

// asksForRedirect reports whether a member itself asks for a redirect, and not only its class.
func (m Member) asksForRedirect() bool {
	_, asked := m.Annotations[settings.SSLRedirect]
	return asked && m.Settings.SSLRedirect != 0
}

// checkRedirect returns the diagnostics about the annotation of a member: its port has to be one on
// which the member listens for HTTPS.
func checkRedirect(m Member) []diag.Diagnostic {
	if !m.asksForRedirect() {
		return nil
	}
	port, secure := m.Settings.SSLRedirect, m.securePorts()
	tell := func(severity diag.Severity, reason diag.Reason, why string) []diag.Diagnostic {
		return []diag.Diagnostic{aboutAnnotation(m.Ingress, settings.SSLRedirect, severity, reason, why)}
	}
	switch {
	case len(secure) == 0:
		return tell(diag.Error, diag.AnnotationInvalid, fmt.Sprintf("requests cannot be redirected to "+
			"port %d: the Ingress has no HTTPS port, because it has neither spec.tls nor %s", port,
			settings.CertificateARN))
	case !slices.Contains(secure, port):
		return tell(diag.Error, diag.AnnotationInvalid, fmt.Sprintf("requests cannot be redirected to "+
			"port %d: the Ingress does not listen for HTTPS there, but on %s", port, joinPorts(secure)))
	case len(settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP)) == 0:
		return tell(diag.Warning, diag.SettingConflict,
			"the Ingress has no HTTP port, so no request is redirected")
	}
	return nil
}

// redirectsAll reports whether a member redirects all of its hosts. Of a host whose certificate is
// missing, requests are served over HTTP until there is one, unless the dialect closes HTTP.
func (m Member) redirectsAll() bool {
	if !slices.Contains(m.securePorts(), m.Settings.SSLRedirect) {
		return false
	}
	for _, r := range m.Spec.Rules {
		if !m.isCovered(routing.Host(r.Host)) {
			return false
		}
	}
	return m.Spec.DefaultBackend == nil || m.isCovered(routing.Any)
}

// isCovered reports whether spec.tls covers a host of rules, which may be Any.
func (m Member) isCovered(h routing.Host) bool {
	return slices.ContainsFunc(m.tlsEntries(), func(t networkingv1.IngressTLS) bool {
		return len(t.Hosts) == 0 || slices.ContainsFunc(t.Hosts, func(listed string) bool {
			return routing.Host(listed).Covers(h)
		})
	})
}

func joinPorts(ports []int32) string {
	out := make([]string, len(ports))
	for i, p := range ports {
		out[i] = strconv.Itoa(int(p))
	}
	return strings.Join(out, ", ")
}

// redirected returns the action of a rule with the redirect of its requests over HTTP, if the
// Ingress serves the host on the port that they are redirected to, or would do so with a certificate and a
// dialect that closes HTTP.
func (v *memberTranslation) redirected(a routing.Action, r HostRule) routing.Action {
	to := v.Settings.SSLRedirect
	switch {
	case to == 0 || r.Listed != "" || len(v.ports.plain) == 0:
	case slices.Contains(v.ports.secureOf(r.Host), to),
		frontEnds[v.translation.class.Dialect].closesHTTP && v.isCovered(r.Host):
		a.SSLRedirect = &routing.SSLRedirect{Port: to, Challenges: v.Settings.SSLRedirectAll}
	case !v.isCovered(r.Host): // else what its certificate or its port lacks is reported
		v.unredirected.Add(describeHost(r.Host))
	}
	return a
}

// redirectedDefault is like redirected, for the default backend. The table decides for each host.
func (v *memberTranslation) redirectedDefault(a routing.Action, forAnyHost bool) routing.Action {
	to := v.Settings.SSLRedirect
	if to == 0 || len(v.ports.plain) == 0 {
		return a
	}
	a.SSLRedirect = &routing.SSLRedirect{Port: to, Challenges: v.Settings.SSLRedirectAll}
	if forAnyHost && !v.isCovered(routing.Any) {
		v.unredirected.Add(describeHost(routing.Any))
	}
	return a
}

// addRedirectOfMisses adds the redirect of requests over HTTP that no rule matches, for a member without a default
// backend, whose own requests are redirected. Those for hosts that no rule names need the permission of the class and,
// where hosts have owners, belong to the namespace.
func (v *memberTranslation) addRedirectOfMisses() {
	to := v.Settings.SSLRedirect
	if !v.Settings.SSLRedirectAll || len(v.ports.plain) == 0 || !slices.ContainsFunc(v.rules, func(r HostRule) bool {
		return slices.Contains(v.ports.secureOf(r.Host), to)
	}) {
		return
	}
	d := routing.Default{Action: routing.SSLRedirect{Port: to}.Redirect(), Plain: true, Owner: v.Owner, Source: v.Source().At("spec")}
	if v.asksForRedirect() {
		d.Source = annotationSource(v.Ingress, settings.SSLRedirect)
	}
	why := ""
	switch {
	case !v.opening.Allowance.permits(routing.Any):
		why = notForAnyHost(v.Member)
	case !v.translation.snapshot.Owners.owns(v.Namespace, routing.Any):
		why = fmt.Sprintf("they do not belong to namespace %s, which has no rule without a host and no default backend here",
			v.Namespace)
	default:
		d.Ports = v.ports.plain
	}
	if why != "" && v.asksForRedirect() {
		v.Found = append(v.Found, aboutAnnotation(v.Ingress, settings.SSLRedirect, diag.Warning, diag.HostNotAllowed,
			"requests over HTTP for hosts that no rule names are not redirected: "+why))
	}
	v.translation.config.Defaults = append(v.translation.config.Defaults, d)
}

// reportUnredirected reports the hosts whose requests over HTTP are not redirected although the
// Ingress asks for it.
func (v *memberTranslation) reportUnredirected() {
	if hosts := v.unredirected.List; len(hosts) > 0 && v.asksForRedirect() {
		but := ""
		if v.Settings.SSLRedirectAll {
			but = ", but for those that no rule matches"
		}
		v.Found = append(v.Found, aboutAnnotation(v.Ingress, settings.SSLRedirect, diag.Warning,
			diag.HostNotCovered, "no entry of spec.tls covers these, so their requests over HTTP are not "+
				"redirected"+but+": "+listFirst(hosts)))
	}
}

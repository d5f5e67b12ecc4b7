package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides about attributes of listeners, and about certificates of clients.

// checkPortSettings returns the diagnostics about annotations that name ports: the member has to
// listen there.
func checkPortSettings(m Member) []diag.Diagnostic {
	var found []diag.Diagnostic
	refuse := func(annotation, message string) {
		found = append(found, aboutAnnotation(m.Ingress, annotation, diag.Error,
			diag.AnnotationInvalid, message))
	}
	asked, secure := m.AskedPorts(), m.securePorts()
	attributes, mutual := m.Settings.PortsAsked()
	for _, port := range attributes {
		if !slices.Contains(asked, port) {
			refuse(settings.ListenerAttributes, fmt.Sprintf("the Ingress does not listen on port %d, "+
				"but on %s", port, joinPorts(asked)))
		}
	}
	clients := false
	for _, port := range mutual {
		switch {
		case len(secure) == 0:
			refuse(settings.MutualAuthentication, fmt.Sprintf("clients show no certificates on port %d: "+
				"the Ingress has no HTTPS port, because it has neither spec.tls nor %s", port,
				settings.CertificateARN))
		case !slices.Contains(secure, port):
			refuse(settings.MutualAuthentication, fmt.Sprintf("clients show no certificates on port %d: "+
				"the Ingress does not listen for HTTPS there, but on %s", port, joinPorts(secure)))
		}
		clients = clients || m.Settings.MutualAsked(port).Asks()
	}
	plain := settings.PortsOf(m.Settings.Ports, v1alpha1.ProtocolHTTP)
	_, listed := m.Annotations[settings.ListenPorts]
	if clients && !listed && len(plain) > 0 && m.Settings.SSLRedirect == 0 {
		refuse(settings.MutualAuthentication, fmt.Sprintf("the Ingress would be served over HTTP on "+
			"port %s, too, without certificates of clients: list its ports with %s, without HTTP if it is "+
			"for these clients only, or redirect them with %s", joinPorts(plain), settings.ListenPorts,
			settings.SSLRedirect))
	}
	return found
}

// takeAttributes adds the attributes that a member asks for to a listener, and calls tell for each
// that another member decides.
func (d *listener) takeAttributes(m Member, class v1alpha1.PortSettings,
	tell func(reason diag.Reason, message string)) {
	asked := m.Settings.PortAttributes[class.Port]
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		value := asked[name]
		pinned, is := class.Attributes[name]
		by, decided := d.attributes[name]
		switch {
		case is && pinned != value:
			tell(diag.AnnotationNotAllowed, fmt.Sprintf("the class has %s for %s",
				diag.Quote(pinned), diag.Cut(name)))
		case is:
		case !decided:
			if d.attributes == nil {
				d.attributes = map[string]routing.Attribute{}
			}
			d.attributes[name] = routing.Attribute{Name: name, Value: value, Owner: m.Owner,
				Source: annotationSource(m.Ingress, settings.ListenerAttributes)}
		case by.Value != value:
			tell(diag.SettingConflict, fmt.Sprintf("%s decides about %s: %s", by.Owner,
				diag.Cut(name), diag.Cut(by.Value)))
		}
	}
}

// chooseAttributes adds the attributes that a member asks for to the ports that serve it.
func (o *memberListeners) chooseAttributes(ports []int32) {
	for _, port := range ports {
		at, class := o.ports[port], o.class.portSettings(port)
		class.Port = port
		tell := func(reason diag.Reason, message string) {
			o.found = append(o.found, aboutAnnotation(o.Ingress, settings.ListenerAttributes,
				diag.Warning, reason, message).On(port))
		}
		at.takeAttributes(o.Member, class, tell)
		if o.Settings.Uncounted == nil {
			continue
		}
		uncounted := o.Settings.Uncounted.PortAttributes[port]
		for _, name := range slices.Sorted(maps.Keys(uncounted)) {
			if uncounted[name] != class.Attributes[name] &&
				uncounted[name] != at.attributes[name].Value {
				tell(diag.NotGroupOwner, diag.Cut(name)+
					" does not count: only the class and the owner of the group decide")
			}
		}
	}
}

// agreeOnOrigins takes away the attributes for other origins that a member does not ask for whose port has them, in classes
// where Ingresses ask for these by enable-cors: it answers other origins nothing. A former version, or a member that leaves,
// counts as well.
func (d *listenerBuilder) agreeOnOrigins() (found []diag.Diagnostic) {
	if !frontEnds[d.class.Dialect].agreesOnOrigins {
		return nil
	}
	for port, at := range d.ports {
		told := map[routing.Owner]bool{}
		for _, name := range slices.Sorted(maps.Keys(at.attributes)) {
			value := at.attributes[name].Value
			other := slices.IndexFunc(at.served, func(m Member) bool {
				return m.hasBackends() && m.Settings.PortAttributes[port][name] != value
			})
			if !strings.HasPrefix(name, nginx.ForOrigins) || other < 0 {
				continue
			}
			delete(at.attributes, name)
			for _, m := range at.served {
				if _, asks := m.Settings.PortAttributes[port][name]; !asks || m.Leaving || told[m.Owner] {
					continue
				}
				told[m.Owner] = true
				message := fmt.Sprintf("port %d does not send the headers for other origins, because it would with all answers of %s, "+
					"too, which has not asked for the same: give one of both a load balancer of its own", port, at.served[other].Owner)
				found = append(found, aboutAnnotation(m.Ingress, settings.ListenerAttributes, diag.Warning, diag.SettingConflict,
					message).On(port))
			}
		}
	}
	return found
}

// hasBackends reports whether a member may answer requests: one that is a canary of another one has no paths.
func (m Member) hasBackends() bool {
	return m.Spec.DefaultBackend != nil || slices.ContainsFunc(m.Spec.Rules, func(r networkingv1.IngressRule) bool {
		return r.HTTP != nil && len(r.HTTP.Paths) > 0
	})
}

// mutualOf returns what holds about certificates of clients on a port, and the object that decides;
// nil if none does.
func (o *memberListeners) mutualOf(port int32) (m *routing.MutualAuthentication, by string) {
	if ofClass := o.class.portSettings(port).MutualAuthentication; ofClass != nil {
		return (*routing.MutualAuthentication)(ofClass), "the class"
	}
	return o.ports[port].mutual, o.ports[port].verifier.String()
}

// verifies reports whether a member can be served with what holds about certificates of clients on
// a port: with what it asks for, or with more.
func (o *memberListeners) verifies(port int32, at *listener) bool {
	asked := o.Settings.MutualAsked(port)
	if !asked.Asks() {
		return true
	}
	held, by := o.mutualOf(port)
	counts := o.Settings.Mutual[port] != nil
	why := "clients show no certificates there, and"
	switch {
	case at.protocol != v1alpha1.ProtocolHTTPS:
		why = "over HTTP clients show no certificates, and"
	case held == nil && counts || held != nil && suffices(*held, *asked):
		return true
	case held != nil:
		why = fmt.Sprintf("%s decides, and has %s, and", by, describeMutual(*held))
	}
	if !counts {
		why += " only the class and the owner of the group decide, and"
	}
	o.refuse(port, settings.MutualAuthentication, diag.Exposed,
		fmt.Sprintf("it is not served on port %d: %s it asks for %s", port, why,
			describeMutual(*asked)))
	return false
}

// suffices reports whether a setting admits only clients that another one admits, and hands their
// certificates on in the same way. Trust stores are compared by the text that names them.
func suffices(held, asked routing.MutualAuthentication) bool {
	return held.Mode == asked.Mode && held.TrustStore == asked.TrustStore &&
		(asked.IgnoreExpiry || !held.IgnoreExpiry)
}

func describeMutual(m routing.MutualAuthentication) string {
	out := "the mode " + m.Mode
	if m.Verifies() {
		out += " with the trust store " + diag.Cut(m.TrustStore)
	}
	if m.IgnoreExpiry {
		out += ", which ignores expiry"
	}
	return out
}

// takeMutual sets what a member asks for about certificates of clients, unless an older one
// decides.
func (d *listener) takeMutual(m Member, port int32) {
	if asked := m.Settings.Mutual[port]; asked != nil && d.mutual == nil {
		d.mutual, d.verifier = asked, m.Owner
		d.mutualBy = annotationSource(m.Ingress, settings.MutualAuthentication)
	}
}

// chooseMutual sets what a member asks for about certificates of clients on the ports that serve
// it, and adds diagnostics about ports on which others decide.
func (o *memberListeners) chooseMutual(ports []int32) {
	for _, port := range ports {
		at := o.ports[port]
		at.takeMutual(o.Member, port)
		asked := o.Settings.MutualAsked(port)
		held, by := o.mutualOf(port)
		if asked == nil || held != nil && *held == *asked ||
			held == nil && !asked.Asks() {
			continue
		}
		reason := diag.SettingConflict
		switch {
		case o.class.portSettings(port).MutualAuthentication != nil:
			reason = diag.AnnotationNotAllowed
		case o.Settings.Mutual[port] == nil:
			reason = diag.NotGroupOwner
		}
		o.found = append(o.found, aboutAnnotation(o.Ingress, settings.MutualAuthentication,
			diag.Warning, reason, fmt.Sprintf("%s decides about certificates of clients on port %d: %s",
				by, port, describeMutual(*held))).On(port))
	}
}

// tellVerified returns diagnostics about members that ask for no certificates of clients, and whose
// port verifies these because another member asks for it.
func (d *listener) tellVerified(port int32) []diag.Diagnostic {
	var found []diag.Diagnostic
	if !d.mutual.Verifies() {
		return nil
	}
	for _, m := range d.served {
		if !m.Leaving && m.Settings.MutualAsked(port) == nil {
			found = append(found, aboutAnnotation(m.Ingress, settings.MutualAuthentication, diag.Warning,
				diag.SettingConflict, fmt.Sprintf("%s decides about certificates of clients on port %d: %s",
					d.verifier, port, describeMutual(*d.mutual))).On(port))
		}
	}
	return found
}

package ingress

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides the settings of a whole port: its protocol, the clients that may connect, and
// its TLS policy. It also decides which members are not served on the port because of these.
//
// A port that serves a member never admits clients that the member did not ask for. Members are
// added oldest first. A member that asks for more clients than the port admits is served, and gets
// a diagnostic. A member that asks for fewer clients narrows the port for all members. Any other
// member is not served on the port, because clients that it did not ask for could connect.
//
// In a group across namespaces, the class and the members of the group's owner decide the settings
// first. The other members choose among the ports of the group, which has HTTP on 80 and HTTPS on
// 443 in any case.

func newListener(protocol routing.Protocol, opener string, inbound []string) *listener {
	return &listener{protocol: protocol, opener: opener, inbound: inbound,
		by: map[routing.Host]certificateUse{}, has: map[routing.CertificateID]bool{}}
}

// openSharedPorts opens the ports of a group across namespaces, with the settings of the class and
// of the members of the group's owner.
func (d *listenerBuilder) openSharedPorts(owner string, members []Member) {
	everywhere := settings.CanonicalInbound(d.class.Inbound)
	for _, p := range d.class.ListenPorts {
		d.ports[p.Port] = newListener(routing.Protocol(p.Protocol), "the class", everywhere)
	}
	for _, p := range []v1alpha1.ListenPort{{Protocol: v1alpha1.ProtocolHTTP, Port: 80},
		{Protocol: v1alpha1.ProtocolHTTPS, Port: 443}} {
		if d.ports[p.Port] == nil {
			d.ports[p.Port] = newListener(routing.Protocol(p.Protocol), "the group", everywhere)
		}
	}
	for _, m := range members {
		if m.Namespace != owner {
			continue
		}
		for _, p := range m.askedListeners() {
			at := d.ports[p.Port]
			if at == nil {
				at = newListener(routing.Protocol(p.Protocol), m.Owner.String(), everywhere)
				d.ports[p.Port] = at
			}
			if at.protocol != routing.Protocol(p.Protocol) {
				continue
			}
			at.narrow(m)
			own := d.class.portSettings(p.Port)
			own.Port = p.Port
			at.takeAttributes(m, own, func(diag.Reason, string) {}) // it is reported when it is added
			if p.Protocol == v1alpha1.ProtocolHTTPS {
				at.takePolicy(m)
				at.takeMutual(m, p.Port)
			}
		}
	}
}

// narrow admits only the clients that a member asks for, if the port admits all of these now.
func (d *listener) narrow(m Member) {
	if asked := m.Settings.Inbound; settings.Within(asked, d.inbound) &&
		!settings.Within(d.inbound, asked) {
		d.inbound, d.narrower = asked, m.Owner.String()
	}
}

// claim returns the ports that serve a member, and adds diagnostics about the others.
func (o *memberListeners) claim(ports []int32, protocol routing.Protocol) []int32 {
	var claimed []int32
	for _, port := range ports {
		at := o.ports[port]
		if at == nil && o.group == "" {
			at = newListener(protocol, o.Owner.String(), o.Settings.Inbound)
			at.narrower = o.Owner.String()
			o.ports[port] = at
		}
		switch {
		case at == nil:
			o.refuse(port, settings.ListenPorts, diag.PortUnavailable,
				fmt.Sprintf("it is not served over %s on port %d, which the group does not have: "+
					"the class and the owner of the group decide which ports there are besides HTTP on 80 and "+
					"HTTPS on 443", protocol, port))
		case at.protocol != protocol:
			o.refuse(port, settings.ListenPorts, diag.PortUnavailable,
				fmt.Sprintf("it is not served over %s on port %d, which speaks %s for %s", protocol, port,
					at.protocol, at.opener))
		case o.admits(port, at) && o.accepts(port, at) && o.verifies(port, at):
			at.served = append(at.served, o.Member)
			claimed = append(claimed, port)
		}
	}
	return claimed
}

// leave removes a member from a port.
func (d *listener) leave(m Member) {
	d.served = slices.DeleteFunc(d.served,
		func(o Member) bool { return o.Ingress == m.Ingress })
}

// refuse adds a diagnostic that a member is not served on a port.
func (o *memberListeners) refuse(port int32, annotation string, reason diag.Reason,
	message string) {
	o.found = append(o.found, aboutAnnotation(o.Ingress, annotation, diag.Error, reason,
		message).On(port))
}

// admits reports whether a port admits only clients that a member asks for.
func (o *memberListeners) admits(port int32, at *listener) bool {
	if o.group == "" {
		at.narrow(o.Member)
	}
	if settings.Within(at.inbound, o.Settings.InboundAsked()) {
		return true
	}
	o.refuse(port, settings.Inbound, diag.Exposed,
		fmt.Sprintf("it is not served on port %d, because more clients may connect there than it asks "+
			"for: %s, as %s",
			port, settings.DescribeInbound(at.inbound), at.decision()))
	return false
}

// decision returns the object that decides which clients may connect, in words.
func (d *listener) decision() string {
	if d.narrower == "" {
		return "neither the class nor the owner of the group says otherwise"
	}
	return d.narrower + " decides"
}

// accepts reports whether a member can be served with the TLS policy of a port. A policy of the
// class is accepted, unless it is known to accept older versions of TLS than the one that the
// member asks for. In a group across namespaces, a member that does not decide is served only with
// the policy that it asks for.
func (o *memberListeners) accepts(port int32, at *listener) bool {
	asked := o.Settings.TLSPolicyAsked()
	if fixed := o.class.tlsPolicyOf(port); at.protocol == v1alpha1.ProtocolHTTPS &&
		settings.StricterPolicy(asked, fixed) {
		o.refuse(port, settings.TLSPolicy, diag.Exposed,
			fmt.Sprintf("it is not served on port %d, for which the class has the TLS policy %s: "+
				"that accepts older versions of TLS than the one that it asks for", port, fixed))
		return false
	}
	if o.group == "" || at.protocol != v1alpha1.ProtocolHTTPS ||
		o.class.countsSettingsOf(o.Namespace, o.group) || asked == "" || asked == at.policy ||
		o.class.tlsPolicyOf(port) != "" {
		return true
	}
	o.refuse(port, settings.TLSPolicy, diag.Exposed,
		fmt.Sprintf("it is not served on port %d, which has %s and not the one that it asks for: "+
			"only the class and the owner of the group decide", port, describePolicy(at)))
	return false
}

func describePolicy(at *listener) string {
	if at.policy == "" {
		return "the cloud's default TLS policy"
	}
	return fmt.Sprintf("the TLS policy %s of %s", at.policy, at.decided)
}

// takePolicy sets the TLS policy that a member asks for, unless an older one decides.
func (d *listener) takePolicy(m Member) {
	if asked := m.Settings.TLSPolicy; asked != "" && d.policy == "" {
		d.policy, d.decided = asked, m.Owner.String()
		d.policyBy = annotationSource(m.Ingress, settings.TLSPolicy)
	}
}

// choosePolicy sets the TLS policy that a member asks for on ports where no older member set one.
func (o *memberListeners) choosePolicy(ports []int32) {
	policy := o.Settings.TLSPolicyAsked()
	if policy == "" {
		return
	}
	for _, port := range ports {
		at, fixed := o.ports[port], o.class.tlsPolicyOf(port)
		if fixed == "" {
			at.takePolicy(o.Member)
		}
		switch {
		case fixed != "" && fixed != policy:
			o.found = append(o.found, aboutAnnotation(o.Ingress, settings.TLSPolicy, diag.Warning,
				diag.AnnotationNotAllowed,
				fmt.Sprintf("the class decides about the TLS policy of port %d: %s", port, fixed)).On(port))
		case fixed == "" && at.policy != policy:
			o.found = append(o.found, settingConflict(o.Member, settings.TLSPolicy,
				fmt.Sprintf("port %d has the policy %s of %s already, which is kept", port, at.policy,
					at.decided)).On(port))
		}
	}
}

// clientDiagnostics returns diagnostics about members whose ports admit fewer clients than they ask for,
// by address or by certificate.
func (d *listenerBuilder) clientDiagnostics() []diag.Diagnostic {
	var found []diag.Diagnostic
	for port, at := range d.ports {
		found = append(found, at.reportAdmitted(port)...)
		found = append(found, at.tellVerified(port)...)
	}
	return found
}

func (d *listener) reportAdmitted(port int32) []diag.Diagnostic {
	var found []diag.Diagnostic
	for _, m := range d.served {
		if m.Leaving || settings.Within(m.Settings.InboundAsked(), d.inbound) {
			continue
		}
		reason := diag.SettingConflict
		if m.Settings.Uncounted != nil && m.Settings.Uncounted.Inbound != nil {
			reason = diag.NotGroupOwner
		}
		found = append(found, aboutAnnotation(m.Ingress, settings.Inbound, diag.Warning, reason,
			fmt.Sprintf("%s decides who may connect to port %d: %s", cmp.Or(d.narrower, "the class"), port,
				settings.DescribeInbound(d.inbound))).On(port))
	}
	return found
}

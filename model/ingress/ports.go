package ingress

import (
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds the ports on which an Ingress asks to be served.

// AskedPorts are those on which the Ingress asks to be served, ascending.
func (m Member) AskedPorts() []int32 {
	ports := append(settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTP), m.askedSecurePorts()...)
	slices.Sort(ports)
	return ports
}

// askedSecurePorts are SecurePorts, and without spec.tls those that the Ingress itself lists all
// the same.
func (m Member) askedSecurePorts() []int32 {
	if _, asked := m.Annotations[settings.ListenPorts]; asked && len(m.tls()) == 0 {
		return settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTPS)
	}
	return m.SecurePorts()
}

// SecurePorts are those on which the Ingress asks to be served over HTTPS, whether or not there is
// a certificate.
func (m Member) SecurePorts() []int32 {
	if len(m.tls()) == 0 {
		return nil
	}
	if listed := settings.PortsOf(m.settings.Ports, v1alpha1.ProtocolHTTPS); listed != nil {
		return listed
	}
	return []int32{443}
}

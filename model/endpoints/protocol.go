package endpoints

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds the protocol of targets: that of the Ingress, else the appProtocol of the
// Service's port, else plain HTTP/1.1.

// A TargetProtocol has the protocol and the version of HTTP of targets; "" if neither the Ingress nor the
// Service sets it.
type TargetProtocol struct {
	Protocol routing.Protocol
	Version  routing.Version
}

// appProtocols has the meaning of appProtocol of a Service port. Other values are ignored.
var appProtocols = map[string]TargetProtocol{
	"http":              {v1alpha1.ProtocolHTTP, routing.VersionHTTP1},
	"kubernetes.io/ws":  {v1alpha1.ProtocolHTTP, routing.VersionHTTP1},
	"https":             {v1alpha1.ProtocolHTTPS, routing.VersionHTTP1},
	"kubernetes.io/wss": {v1alpha1.ProtocolHTTPS, routing.VersionHTTP1},
	"kubernetes.io/h2c": {v1alpha1.ProtocolHTTP, routing.VersionHTTP2},
	"grpc":              {v1alpha1.ProtocolHTTP, routing.VersionGRPC},
}

// complete completes the settings of an Ingress with those of a Service port, which may be nil.
func (s TargetProtocol) complete(port *corev1.ServicePort) TargetProtocol {
	var app TargetProtocol
	if port != nil && port.AppProtocol != nil {
		app = appProtocols[*port.AppProtocol]
	}
	return TargetProtocol{
		Protocol: cmp.Or(s.Protocol, app.Protocol, v1alpha1.ProtocolHTTP),
		Version:  cmp.Or(s.Version, app.Version, routing.VersionHTTP1),
	}
}

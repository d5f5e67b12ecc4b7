package ingress

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file finds out what targets speak: what the Ingress says, else what the Service says of its port,
// else plain HTTP/1.1.

// A speech is what targets speak. What is not said is empty.
type speech struct{ protocol, version string }

// appProtocols are what the appProtocol of a Service port says. Any other says nothing of HTTP.
var appProtocols = map[string]speech{
	"http":              {v1alpha1.ProtocolHTTP, routing.VersionHTTP1},
	"kubernetes.io/ws":  {v1alpha1.ProtocolHTTP, routing.VersionHTTP1},
	"https":             {v1alpha1.ProtocolHTTPS, routing.VersionHTTP1},
	"kubernetes.io/wss": {v1alpha1.ProtocolHTTPS, routing.VersionHTTP1},
	"kubernetes.io/h2c": {v1alpha1.ProtocolHTTP, routing.VersionHTTP2},
	"grpc":              {v1alpha1.ProtocolHTTP, routing.VersionGRPC},
}

// to completes what an Ingress says for a port of a Service, which may be missing.
func (s speech) to(port *corev1.ServicePort) speech {
	var app speech
	if port != nil && port.AppProtocol != nil {
		app = appProtocols[*port.AppProtocol]
	}
	return speech{
		protocol: cmp.Or(s.protocol, app.protocol, v1alpha1.ProtocolHTTP),
		version:  cmp.Or(s.version, app.version, routing.VersionHTTP1),
	}
}

package ingress

import (
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file finds out what targets speak: what the Ingress says, else what the Service says of its port,
// else plain HTTP/1.1.

// The versions of HTTP that targets speak.
const (
	versionHTTP1 = "HTTP1"
	versionHTTP2 = "HTTP2"
	versionGRPC  = "GRPC"
)

// A speech is what targets speak. What is not said is empty.
type speech struct{ protocol, version string }

// appProtocols are what the appProtocol of a Service port says. Any other says nothing of HTTP.
var appProtocols = map[string]speech{
	"http":              {v1alpha1.ProtocolHTTP, versionHTTP1},
	"kubernetes.io/ws":  {v1alpha1.ProtocolHTTP, versionHTTP1},
	"https":             {v1alpha1.ProtocolHTTPS, versionHTTP1},
	"kubernetes.io/wss": {v1alpha1.ProtocolHTTPS, versionHTTP1},
	"kubernetes.io/h2c": {v1alpha1.ProtocolHTTP, versionHTTP2},
	"grpc":              {v1alpha1.ProtocolHTTP, versionGRPC},
}

// to completes what an Ingress says for a port of a Service, which may be missing.
func (s speech) to(port *corev1.ServicePort) speech {
	var app speech
	if port != nil && port.AppProtocol != nil {
		app = appProtocols[*port.AppProtocol]
	}
	return speech{
		protocol: first(s.protocol, app.protocol, v1alpha1.ProtocolHTTP),
		version:  first(s.version, app.version, versionHTTP1),
	}
}

// usual is the value of a health check's setting that nobody has set. Targets that speak gRPC are asked for
// a method that none has, and are well if they say so.
func (s speech) usual(a *annotation) string {
	switch {
	case a.name == healthProtocol && s.protocol != "":
		return s.protocol
	case a.name == healthPath && s.version == versionGRPC:
		return "/AWS.ALB/healthcheck"
	case a.name == healthCodes && s.version == versionGRPC:
		return "12"
	}
	return a.fallback
}

// understands reports whether a list of codes is of those that targets answer with: gRPC has codes of its
// own, which are below all statuses.
func (s speech) understands(codes string) bool {
	return (s.version == versionGRPC) == (checkCodes(codes, 0, 99) == nil)
}

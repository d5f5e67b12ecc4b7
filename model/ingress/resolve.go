package ingress

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file resolves a reference to a Service port. A Service that is missing or cannot be used is a backend without
// targets: requests for it are answered 503, and when it comes back no rule changes.

type classSpec = v1alpha1.LoadBalancerClassSpec

// A reference is a Service port as an Ingress refers to it, and what the Ingress says about its targets.
type reference struct {
	service    string // namespace/name
	portName   string
	portNumber int32
	targetType string
	speech     speech
	provider   string // settings that only the provider understands, of a Backend
}

// A resolution is the backend that a reference leads to.
type resolution struct {
	backend  routing.Backend
	awaited  []routing.Target // that may stay if they are there
	doubted  bool             // whether the Pods of endpoints may follow
	disputed bool             // whether there are no targets because nodes would pass requests on to what must not be one
	blind    bool             // whether endpoints are taken for what they say
	problems []problem        // why it has no targets, or not all
}

func (r *resolution) tell(severity diag.Severity, reason diag.Reason, text string) {
	r.problems = append(r.problems, problem{severity, reason, text})
}

// A problem is why a backend has no targets, or not all.
type problem struct {
	severity diag.Severity
	reason   diag.Reason
	text     string
}

// resolve looks a reference up.
func resolve(c *classSpec, ref reference, behind Behind) *resolution {
	r := &resolution{backend: routing.Backend{
		Service:    ref.service,
		Port:       routing.ServicePort(cmp.Or(ref.portName, strconv.Itoa(int(ref.portNumber)))),
		TargetType: ref.targetType,
		Family:     familyOf(behind.Service),
		Provider:   ref.provider,
	}}
	r.lookUp(c, ref, behind)
	spoken := ref.speech.to(portIn(behind.Service, ref))
	r.backend.Protocol, r.backend.Version = spoken.protocol, spoken.version
	r.backend.ID = idOf(r.backend)
	return r
}

// lookUp finds the port and the targets, or the reason why there are none.
func (r *resolution) lookUp(c *classSpec, ref reference, behind Behind) {
	service := behind.Service
	if service == nil {
		r.tell(diag.Error, diag.ServiceMissing, fmt.Sprintf("there is no Service %s", diag.Cut(ref.service)))
		return
	}
	port := portOf(service, ref)
	if port != nil {
		r.backend.Port = routing.ServicePort(strconv.Itoa(int(port.Port)))
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		r.lookUpExternal(c, ref, service)
		return
	}
	switch {
	case port == nil:
		r.tell(diag.Error, diag.ServicePortMissing, fmt.Sprintf("Service %s has no port %s", ref.service, diag.Cut(string(r.backend.Port))))
	case protocolOf(port) != corev1.ProtocolTCP:
		r.tell(diag.Error, diag.ServiceUnusable, fmt.Sprintf("port %d of Service %s speaks %s, and HTTP needs TCP", port.Port, ref.service, port.Protocol))
	case ref.targetType == v1alpha1.TargetTypeInstance && port.NodePort == 0 && !getsNodePort(service):
		r.tell(diag.Error, diag.ServiceUnusable, fmt.Sprintf("port %d of Service %s has no node port, which target type instance needs: make the Service one of type NodePort, or use target type ip", port.Port, ref.service))
	default:
		r.find(c, behind, port)
	}
}

// find finds the targets of a Service port, and warns of a port that nobody serves. What nobody runs
// yet, as the Services of files, needs no warning.
func (r *resolution) find(c *classSpec, behind Behind, port *corev1.ServicePort) {
	screened := screen(c, behind, port, r.backend)
	screened.tell(r)
	listed := len(behind.Slices) > 0
	behind.Slices = screened.passed
	r.awaited, r.doubted = sortedTargets(screened.awaited), screened.doubted
	endpoints := behind.Slices.targets(port, r.backend.Family)
	switch {
	case r.backend.TargetType == v1alpha1.TargetTypeInstance && port.NodePort != 0 && !settings.AllowsTargetPort(c, port.NodePort):
		r.tell(diag.Error, diag.TargetPortNotAllowed, fmt.Sprintf("port %d of Service %s has node port %d, to which nothing is sent: %s",
			port.Port, r.backend.Service, port.NodePort, settings.TargetPortsSay(c)))
		return
	case r.backend.TargetType == v1alpha1.TargetTypeInstance && (screened.refused() > 0 || screened.doubted): // nodes pass requests on to any endpoint
		r.disputed = true
		return
	case r.backend.TargetType == v1alpha1.TargetTypeInstance:
		r.backend.Targets = behind.nodePort(port, r.backend.Family)
	default:
		endpoints = sortedTargets(append(endpoints, behind.knocking(port, r.backend.Family)...))
		r.backend.Targets = endpoints
	}
	runs := !behind.Service.CreationTimestamp.IsZero()
	switch {
	case len(endpoints) == 0 && len(screened.ports) > 0: // which says enough
	case len(endpoints) == 0 && (runs || listed):
		r.tell(diag.Warning, diag.NoEndpoints, fmt.Sprintf("Service %s has no ready endpoint for port %d", r.backend.Service, port.Port))
	case len(r.backend.Targets) == 0 && (runs || len(behind.Nodes) > 0):
		r.tell(diag.Warning, diag.NoNodes, fmt.Sprintf("there is no node on which requests for port %d of Service %s may be sent to node port %d", port.Port, r.backend.Service, port.NodePort))
	}
}

// getsNodePort reports whether the API server gives the ports of a Service node ports, if it has not
// done so yet: in files there may be none.
func getsNodePort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && (s.Spec.AllocateLoadBalancerNodePorts == nil || *s.Spec.AllocateLoadBalancerNodePorts)
}

// lookUpExternal makes a target of the name that an ExternalName Service stands for. Whoever may
// write such a Service can point it anywhere, so the class has to allow it.
func (r *resolution) lookUpExternal(c *classSpec, ref reference, service *corev1.Service) {
	number, err := strconv.ParseInt(string(r.backend.Port), 10, 32)
	switch {
	case !c.AllowExternalNames:
		r.tell(diag.Error, diag.ExternalNameRefused, fmt.Sprintf("Service %s is of type ExternalName, which the class does not allow", ref.service))
	case err != nil:
		r.tell(diag.Error, diag.ServicePortMissing, fmt.Sprintf("Service %s has no port %s", ref.service, diag.Cut(string(r.backend.Port))))
	case isAddress(service.Spec.ExternalName):
		r.tell(diag.Error, diag.ExternalNameRefused, fmt.Sprintf("Service %s has the external name %s, which Kubernetes reads as a name of digits and not as an address", ref.service, service.Spec.ExternalName))
	case !settings.AllowsTargetPort(c, int32(number)):
		r.tell(diag.Error, diag.TargetPortNotAllowed, fmt.Sprintf("Service %s is of type ExternalName, and nothing is sent to its port %d: %s", ref.service, number, settings.TargetPortsSay(c)))
	case ref.targetType == v1alpha1.TargetTypeInstance:
		r.tell(diag.Error, diag.ServiceUnusable, fmt.Sprintf("Service %s is of type ExternalName and has no node port, which target type instance needs", ref.service))
	default:
		r.backend.Targets = []routing.Target{{Address: service.Spec.ExternalName, Port: int32(number)}}
	}
}

// portIn is portOf a Service that may be missing.
func portIn(service *corev1.Service, ref reference) *corev1.ServicePort {
	if service == nil {
		return nil
	}
	return portOf(service, ref)
}

// portOf is the port of a Service that a reference means, TCP before other protocols.
func portOf(service *corev1.Service, ref reference) *corev1.ServicePort {
	var found *corev1.ServicePort
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if ref.portName != "" && p.Name != ref.portName || ref.portName == "" && p.Port != ref.portNumber {
			continue
		}
		if protocolOf(p) == corev1.ProtocolTCP {
			return p
		}
		found = p
	}
	return found
}

func protocolOf(p *corev1.ServicePort) corev1.Protocol {
	return cmp.Or(p.Protocol, corev1.ProtocolTCP)
}

// familyOf is the IP family that a Service is reached over: IPv4 wherever it has it.
func familyOf(service *corev1.Service) string {
	if service != nil && len(service.Spec.IPFamilies) == 1 && service.Spec.IPFamilies[0] == corev1.IPv6Protocol {
		return ipv6
	}
	return ipv4
}

// idOf names a backend by what cannot change in place, and only by what differs from the usual.
func idOf(b routing.Backend) routing.BackendID {
	id := b.Service + ":" + string(b.Port)
	if b.Family != ipv4 {
		id += "/" + b.Family
	}
	if b.TargetType != v1alpha1.TargetTypeIP {
		id += "/" + b.TargetType
	}
	if b.Protocol != v1alpha1.ProtocolHTTP {
		id += "/" + strings.ToLower(b.Protocol)
	}
	if b.Version != routing.VersionHTTP1 {
		id += "/" + strings.ToLower(b.Version)
	}
	if b.Provider != "" {
		id += "/" + digestOf(b.Provider)
	}
	return routing.BackendID(id)
}

// digestOf is a short text that differs for different texts.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// isAddress reports whether a name is spelt as an address.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

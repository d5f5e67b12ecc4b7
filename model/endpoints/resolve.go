package endpoints

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file resolves a reference to a Service port. A Service that does not exist or cannot be used
// is a backend without targets. Requests for it are answered 503, and no rule changes when it can
// be used again.

// A Reference is a Service port as an Ingress refers to it, with the settings of the Ingress for
// its targets.
type Reference struct {
	Service        string // namespace/name
	PortName       string
	PortNumber     int32
	TargetType     string
	NodeLabels     string // of the nodes that are targets, as in routing.Backend
	Family         string // of the target group, where it is there already; "" for that of the Service
	TargetProtocol TargetProtocol
	Provider       string // settings that only the provider understands, of a Backend
}

// A Resolution is the backend of a reference.
type Resolution struct {
	Backend    routing.Backend
	Problems   []Problem // why some or all targets are missing
	Unverified bool      // no Pods are known, so endpoints were not compared with them

	awaited []routing.Target // targets that stay if they are registered
	doubted bool             // the Pods of endpoints may become known later
	// no nodes are targets: they would pass requests on to endpoints that must not be targets
	disputed bool
}

// AddProblem adds a problem.
func (r *Resolution) AddProblem(severity diag.Severity, reason diag.Reason, text string) {
	r.Problems = append(r.Problems, Problem{severity, reason, text})
}

// A Problem is a reason why targets of a backend are missing.
type Problem struct {
	Severity diag.Severity
	Reason   diag.Reason
	Text     string
}

// Resolve returns the backend of a reference, with its targets.
func Resolve(c *classSpec, ref Reference, behind Objects) *Resolution {
	r := &Resolution{Backend: routing.Backend{
		Service:    ref.Service,
		Port:       routing.ServicePort(cmp.Or(ref.PortName, strconv.Itoa(int(ref.PortNumber)))),
		TargetType: ref.TargetType,
		NodeLabels: ref.NodeLabels,
		Family:     cmp.Or(ref.Family, familyOf(behind.Service, behind.Slices)),
		Provider:   ref.Provider,
	}}
	r.lookUp(c, ref, behind)
	spoken := ref.TargetProtocol.complete(portIn(behind.Service, ref))
	r.Backend.Protocol, r.Backend.Version = spoken.Protocol, spoken.Version
	r.Backend.ID = idOf(r.Backend)
	return r
}

// lookUp finds the port and the targets, or adds a problem.
func (r *Resolution) lookUp(c *classSpec, ref Reference, behind Objects) {
	service := behind.Service
	if service == nil {
		r.AddProblem(diag.Error, diag.ServiceMissing,
			fmt.Sprintf("there is no Service %s", diag.Cut(ref.Service)))
		return
	}
	port := PortOf(service, ref)
	if port != nil {
		r.Backend.Port = routing.ServicePort(strconv.Itoa(int(port.Port)))
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		r.lookUpExternal(c, ref, service)
		return
	}
	switch {
	case port == nil:
		r.AddProblem(diag.Error, diag.ServicePortMissing,
			fmt.Sprintf("Service %s has no port %s; it has %s", ref.Service, diag.Cut(string(r.Backend.Port)),
				PortsOf(service)))
	case protocolOf(port) != corev1.ProtocolTCP:
		r.AddProblem(diag.Error, diag.ServiceUnusable,
			fmt.Sprintf("port %d of Service %s speaks %s, and HTTP needs TCP", port.Port, ref.Service,
				port.Protocol))
	case ref.TargetType == v1alpha1.TargetTypeInstance && port.NodePort == 0 && !getsNodePort(service):
		r.AddProblem(diag.Error, diag.ServiceUnusable,
			fmt.Sprintf("port %d of Service %s has no node port, which target type instance needs: make "+
				"the Service one of type NodePort, or use target type ip", port.Port, ref.Service))
	default:
		r.find(c, behind, port)
	}
}

// find finds the targets of a Service port, and adds a warning if there are none. A Service from a
// file, which is not in a cluster yet, needs no warning.
func (r *Resolution) find(c *classSpec, behind Objects, port *corev1.ServicePort) {
	screened := screen(c, behind, port, r.Backend)
	screened.tell(r)
	listed := len(behind.Slices) > 0
	behind.Slices = screened.passed
	r.awaited, r.doubted = sortedTargets(screened.awaited), screened.doubted
	endpoints := behind.Slices.Targets(port, r.Backend.Family)
	switch {
	case r.Backend.TargetType == v1alpha1.TargetTypeInstance && port.NodePort != 0 &&
		!settings.AllowsTargetPort(c, port.NodePort):
		r.AddProblem(diag.Error, diag.TargetPortNotAllowed,
			fmt.Sprintf("port %d of Service %s has node port %d, to which nothing is sent: %s",
				port.Port, r.Backend.Service, port.NodePort, settings.DescribeTargetPorts(c)))
		return
	case r.Backend.TargetType == v1alpha1.TargetTypeInstance && (screened.refused() > 0 ||
		screened.doubted):
		// nodes pass requests on to any endpoint
		r.disputed = true
		return
	case r.Backend.TargetType == v1alpha1.TargetTypeInstance:
		r.Backend.Targets = behind.nodePort(port, r.Backend)
	default:
		endpoints = sortedTargets(append(endpoints, behind.waiting(port, r.Backend.Family)...))
		r.Backend.Targets = endpoints
	}
	runs := !behind.Service.CreationTimestamp.IsZero()
	switch {
	case len(endpoints) == 0 && len(screened.ports) > 0: // with a problem of its own
	case len(endpoints) == 0 && (runs || listed):
		r.AddProblem(diag.Warning, diag.NoEndpoints,
			fmt.Sprintf("Service %s has no ready endpoint for port %d", r.Backend.Service, port.Port))
	case len(r.Backend.Targets) == 0 && (runs || len(behind.Nodes) > 0):
		r.AddProblem(diag.Warning, diag.NoNodes,
			fmt.Sprintf("there is no node%s on which requests for port %d of Service %s may be sent to "+
				"node port %d", labelled(r.Backend.NodeLabels), port.Port, r.Backend.Service, port.NodePort))
	}
}

// getsNodePort reports whether the API server assigns node ports to the ports of a Service. A
// Service from a file may have none yet.
func getsNodePort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort ||
		s.Spec.Type == corev1.ServiceTypeLoadBalancer && (s.Spec.AllocateLoadBalancerNodePorts == nil ||
			*s.Spec.AllocateLoadBalancerNodePorts)
}

// lookUpExternal makes the external name of an ExternalName Service a target. The author of such a
// Service can choose any name, so the class has to allow it.
func (r *Resolution) lookUpExternal(c *classSpec, ref Reference, service *corev1.Service) {
	number, err := strconv.ParseInt(string(r.Backend.Port), 10, 32)
	switch {
	case !c.AllowExternalNames:
		r.AddProblem(diag.Error, diag.ExternalNameRefused,
			fmt.Sprintf("Service %s is of type ExternalName, which the class does not allow", ref.Service))
	case err != nil:
		r.AddProblem(diag.Error, diag.ServicePortMissing,
			fmt.Sprintf("Service %s has no port %s; it has %s", ref.Service, diag.Cut(string(r.Backend.Port)),
				PortsOf(service)))
	case isAddress(service.Spec.ExternalName):
		r.AddProblem(diag.Error, diag.ExternalNameRefused,
			fmt.Sprintf("Service %s has the external name %s, which Kubernetes reads as a name of digits "+
				"and not as an address", ref.Service, service.Spec.ExternalName))
	case !settings.AllowsTargetPort(c, int32(number)):
		r.AddProblem(diag.Error, diag.TargetPortNotAllowed,
			fmt.Sprintf("Service %s is of type ExternalName, and nothing is sent to its port %d: %s",
				ref.Service, number, settings.DescribeTargetPorts(c)))
	case ref.TargetType == v1alpha1.TargetTypeInstance:
		r.AddProblem(diag.Error, diag.ServiceUnusable,
			fmt.Sprintf("Service %s is of type ExternalName and has no node port, which target type "+
				"instance needs", ref.Service))
	default:
		r.Backend.Targets = []routing.Target{{Address: service.Spec.ExternalName, Port: int32(number)}}
	}
}

// portIn returns the port of a reference in a Service, which may be nil; nil if there is none.
func portIn(service *corev1.Service, ref Reference) *corev1.ServicePort {
	if service == nil {
		return nil
	}
	return PortOf(service, ref)
}

// PortOf returns the port of a reference in a Service, TCP before other protocols; nil if there is
// none.
func PortOf(service *corev1.Service, ref Reference) *corev1.ServicePort {
	var found *corev1.ServicePort
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if ref.PortName != "" && p.Name != ref.PortName ||
			ref.PortName == "" && p.Port != ref.PortNumber {
			continue
		}
		if protocolOf(p) == corev1.ProtocolTCP {
			return p
		}
		found = p
	}
	return found
}

// PortsOf lists the ports of a Service, each with its name.
func PortsOf(service *corev1.Service) string {
	const most = 5
	var out []string
	for i, p := range service.Spec.Ports {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(service.Spec.Ports)-most))
			break
		}
		text := strconv.Itoa(int(p.Port))
		if p.Name != "" {
			text += " (" + diag.Cut(p.Name) + ")"
		}
		out = append(out, text)
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

func protocolOf(p *corev1.ServicePort) corev1.Protocol {
	return cmp.Or(p.Protocol, corev1.ProtocolTCP)
}

// familyOf returns the IP family of a Service: IPv4 if it has both. A headless Service without a
// selector has both by default, on clusters of one family, too
// (https://kubernetes.io/docs/concepts/services-networking/dual-stack/), so the EndpointSlices that
// its author made decide, or without any the first family.
func familyOf(service *corev1.Service, slices SliceList) string {
	if service == nil || len(service.Spec.IPFamilies) == 0 {
		return IPv4
	}
	first, has := service.Spec.IPFamilies[0], map[string]bool{}
	for _, s := range slices {
		has[familyOfSlice(s)] = true
	}
	own := service.Spec.ClusterIP == corev1.ClusterIPNone && len(service.Spec.Selector) == 0
	if first == corev1.IPv6Protocol && (len(service.Spec.IPFamilies) == 1 || own && !has[IPv4]) ||
		own && has[ipv6] && !has[IPv4] {
		return ipv6
	}
	return IPv4
}

// MayHaveFamily reports whether a Service can have endpoints of an IP family. Those of a headless Service without a
// selector are what its author writes. An unknown family is "".
func MayHaveFamily(service *corev1.Service, family string) bool {
	if family == "" || service == nil || len(service.Spec.IPFamilies) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName ||
		service.Spec.ClusterIP == corev1.ClusterIPNone && len(service.Spec.Selector) == 0 {
		return true
	}
	return slices.ContainsFunc(service.Spec.IPFamilies, func(f corev1.IPFamily) bool { return strings.EqualFold(string(f), family) })
}

// idOf returns the ID of a backend: Service and port, and the fields that cannot change in place,
// if they differ from the default.
func idOf(b routing.Backend) routing.BackendID {
	id := b.Service + ":" + string(b.Port)
	if b.Family != IPv4 {
		id += "/" + b.Family
	}
	if b.TargetType != v1alpha1.TargetTypeIP {
		id += "/" + b.TargetType
	}
	if b.Protocol != v1alpha1.ProtocolHTTP {
		id += "/" + strings.ToLower(string(b.Protocol))
	}
	if b.Version != routing.VersionHTTP1 {
		id += "/" + strings.ToLower(string(b.Version))
	}
	if b.Provider != "" {
		id += "/" + digestOf(b.Provider)
	}
	if b.NodeLabels != "" {
		id += nodesPart + digestOf(b.NodeLabels)
	}
	return routing.BackendID(id)
}

// nodesPart begins the part of an ID that stands for the labels of nodes.
const nodesPart = "/nodes-"

// ChoosesNodes reports whether the targets of the backend with an ID are nodes with certain labels.
func ChoosesNodes(id routing.BackendID) bool {
	_, properties, _ := strings.Cut(string(id), ":")
	return strings.Contains(properties, nodesPart)
}

// digestOf returns a short text that differs for different texts.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// isAddress reports whether a name is an IP address.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

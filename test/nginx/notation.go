package nginx

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file is a short notation for clusters and requests, so that a table of tests shows nothing else.

// ParseIngress reads an Ingress of lines:
//
//	[namespace/]name[@seconds]           the seconds are its age in order of creation
//	host /path [Exact|Prefix] service[:port]   a rule; `*` is no host, `""` is the empty path
//	default service[:port]               its default backend
//	tls host [secret]
//	key: value                           an annotation of ingress-nginx
func ParseIngress(lines ...string) (networking.Ingress, error) {
	var out networking.Ingress
	name, age, _ := strings.Cut(lines[0], "@")
	out.Namespace = "default"
	if namespace, rest, cut := strings.Cut(name, "/"); cut {
		out.Namespace, name = namespace, rest
	}
	out.Name, out.Annotations = name, map[string]string{}
	seconds, err := strconv.Atoi("0" + age)
	if err != nil {
		return out, err
	}
	out.CreationTimestamp = meta.NewTime(time.Unix(1_700_000_000+int64(seconds), 0))
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		if key, value, cut := strings.Cut(line, ": "); cut && !strings.Contains(key, " ") {
			out.Annotations[prefix+key] = value
		} else if err := parseLine(&out, fields); err != nil {
			return out, fmt.Errorf("%s: %w", line, err)
		}
	}
	return out, nil
}

var errNotation = fmt.Errorf("neither a rule, a default, TLS nor an annotation")

func parseLine(out *networking.Ingress, fields []string) error {
	switch {
	case len(fields) == 2 && fields[0] == "default":
		out.Spec.DefaultBackend = &networking.IngressBackend{Service: backendOf(fields[1])}
		return nil
	case len(fields) >= 2 && fields[0] == "tls":
		entry := networking.IngressTLS{Hosts: []string{fields[1]}}
		if len(fields) == 3 {
			entry.SecretName = fields[2]
		}
		out.Spec.TLS = append(out.Spec.TLS, entry)
		return nil
	case len(fields) < 3 || len(fields) > 4:
		return errNotation
	}
	path := networking.HTTPIngressPath{Path: strings.Trim(fields[1], `"`),
		Backend: networking.IngressBackend{Service: backendOf(fields[len(fields)-1])}}
	if len(fields) == 4 {
		kind := networking.PathType(fields[2])
		path.PathType = &kind
	}
	host := strings.TrimPrefix(fields[0], "*")
	if host != "" && fields[0] != host {
		host = fields[0]
	}
	out.Spec.Rules = append(out.Spec.Rules, networking.IngressRule{Host: host, IngressRuleValue: networking.IngressRuleValue{
		HTTP: &networking.HTTPIngressRuleValue{Paths: []networking.HTTPIngressPath{path}}}})
	return nil
}

func backendOf(text string) *networking.IngressServiceBackend {
	name, port, named := strings.Cut(text, ":")
	backend := &networking.IngressServiceBackend{Name: name, Port: networking.ServiceBackendPort{Number: 80}}
	if named {
		if number, err := strconv.ParseInt(port, 10, 32); err == nil {
			backend.Port.Number = int32(number)
		} else {
			backend.Port = networking.ServiceBackendPort{Name: port}
		}
	}
	return backend
}

// Serve adds Services with port 80 and one pod each; `name-0` has no pods.
func (c *Cluster) Serve(namespace string, names ...string) {
	for _, name := range names {
		port, portName, protocol := int32(8080), "http", core.ProtocolTCP
		object := meta.ObjectMeta{Namespace: namespace, Name: name}
		c.Services = append(c.Services, core.Service{ObjectMeta: object, Spec: core.ServiceSpec{ClusterIP: "10.96.0.1",
			Ports: []core.ServicePort{{Name: portName, Port: 80, TargetPort: intstr.FromInt32(port), Protocol: protocol}}}})
		slice := discovery.EndpointSlice{ObjectMeta: object, AddressType: discovery.AddressTypeIPv4,
			Ports: []discovery.EndpointPort{{Name: &portName, Port: &port, Protocol: &protocol}}}
		slice.Labels = map[string]string{discovery.LabelServiceName: name}
		if !strings.HasSuffix(name, "-0") {
			slice.Endpoints = []discovery.Endpoint{{Addresses: []string{fmt.Sprintf("10.0.0.%d", 1+len(c.Slices)%250)}}}
		}
		c.Slices = append(c.Slices, slice)
	}
}

// ParseRequest reads `[address >] [METHOD] [https://]host/target [| Name: value]…`. A host that is `-` is not sent.
func ParseRequest(text string) (Request, error) {
	var r Request
	if from, rest, cut := strings.Cut(text, " > "); cut {
		address, err := netip.ParseAddr(from)
		if err != nil {
			return r, err
		}
		r.From, text = address, rest
	}
	parts := strings.Split(text, " | ")
	r.Headers = parts[1:]
	text = parts[0]
	if method, rest, cut := strings.Cut(text, " "); cut && !strings.Contains(method, "/") {
		r.Method, text = method, rest
	}
	text, r.TLS = strings.CutPrefix(text, "https://")
	slash := strings.IndexByte(text, '/')
	if slash < 0 {
		return r, fmt.Errorf("%q has no path", text)
	}
	r.Host, r.Target = text[:slash], text[slash:]
	return r, nil
}

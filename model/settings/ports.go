package ingress

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads the ports that an Ingress listens on.

// mostPorts is how many ports one Ingress can listen on, as the field `listenPorts` of a class says too.
// Application Load Balancers have at most 50 listeners: Elastic Load Balancing, Application Load Balancers,
// "Quotas for your Application Load Balancers".
const mostPorts = 50

// brackets turns ports that are written as JSON into the plain list.
var brackets = strings.NewReplacer("[", "", "]", "", "{", "", "}", "", `"`, "", " ", "")

// parsePorts reads "HTTP:80,HTTPS:443", or the same as JSON: [{"HTTP":80},{"HTTPS":443}].
func parsePorts(text string) ([]v1alpha1.ListenPort, error) {
	read := parsePlainPorts
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		read = parseJSONPorts
	}
	ports, err := read(text)
	if err != nil {
		return nil, err
	}
	return ports, checkPorts(ports)
}

func parsePlainPorts(text string) ([]v1alpha1.ListenPort, error) {
	var ports []v1alpha1.ListenPort
	for item := range strings.SplitSeq(text, ",") {
		protocol, port, found := strings.Cut(strings.TrimSpace(item), ":")
		number, err := strconv.ParseInt(port, 10, 32)
		if !found || err != nil {
			return nil, fmt.Errorf("%s is not a protocol and a port, as in HTTP:80", diag.Quote(item))
		}
		ports = append(ports, v1alpha1.ListenPort{Protocol: protocol, Port: int32(number)})
	}
	return ports, nil
}

// parseJSONPorts reads a list of objects with numbers, token by token: nothing else is looked into.
func parseJSONPorts(text string) ([]v1alpha1.ListenPort, error) {
	wrong := errors.New(`it is not a list like [{"HTTP":80},{"HTTPS":443}]`)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	next := func() json.Token {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		return token
	}
	var ports []v1alpha1.ListenPort
	if next() != json.Delim('[') {
		return nil, wrong
	}
	for decoder.More() {
		if next() != json.Delim('{') {
			return nil, wrong
		}
		said := map[string]bool{}
		for decoder.More() {
			protocol, isText := next().(string)
			written, isNumber := next().(json.Number)
			port, err := strconv.ParseInt(string(written), 10, 32)
			if !isText || !isNumber || err != nil {
				return nil, wrong
			}
			if said[protocol] {
				return nil, fmt.Errorf("an object has %s twice", diag.Quote(protocol))
			}
			said[protocol] = true
			ports = append(ports, v1alpha1.ListenPort{Protocol: protocol, Port: int32(port)})
		}
		if next() != json.Delim('}') {
			return nil, wrong
		}
	}
	if next() != json.Delim(']') || next() != nil || decoder.InputOffset() != int64(len(strings.TrimRight(text, " \t\r\n"))) {
		return nil, wrong
	}
	slices.SortFunc(ports, func(a, b v1alpha1.ListenPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return ports, nil
}

func checkPorts(ports []v1alpha1.ListenPort) error {
	if len(ports) == 0 {
		return errors.New("no port is listed")
	}
	if len(ports) > mostPorts {
		return fmt.Errorf("%d ports are listed, and %d are the most that there can be", len(ports), mostPorts)
	}
	seen := map[int32]bool{}
	for _, p := range ports {
		switch {
		case p.Protocol != v1alpha1.ProtocolHTTP && p.Protocol != v1alpha1.ProtocolHTTPS:
			return fmt.Errorf("%s is neither HTTP nor HTTPS", diag.Quote(p.Protocol))
		case p.Port < 1 || p.Port > 65535:
			return fmt.Errorf("%d is not a port: ports are 1 to 65535", p.Port)
		case seen[p.Port]:
			return fmt.Errorf("port %d is listed twice", p.Port)
		}
		seen[p.Port] = true
	}
	return nil
}

// portsOf are the ports of one protocol, ascending.
func portsOf(ports []v1alpha1.ListenPort, protocol string) []int32 {
	var out []int32
	for _, p := range ports {
		if p.Protocol == protocol {
			out = append(out, p.Port)
		}
	}
	slices.Sort(out)
	return out
}

// AskedPorts are those on which the Ingress asks to be served, ascending.
func (m Member) AskedPorts() []int32 {
	ports := append(portsOf(m.settings.ports, v1alpha1.ProtocolHTTP), m.askedSecurePorts()...)
	slices.Sort(ports)
	return ports
}

// askedSecurePorts are SecurePorts, and without spec.tls those that the Ingress itself lists all the same.
func (m Member) askedSecurePorts() []int32 {
	if _, asked := m.Annotations[portsAnnotation]; asked && len(m.tls()) == 0 {
		return portsOf(m.settings.ports, v1alpha1.ProtocolHTTPS)
	}
	return m.SecurePorts()
}

// SecurePorts are those on which the Ingress asks to be served over HTTPS, whether or not there is
// a certificate.
func (m Member) SecurePorts() []int32 {
	if len(m.tls()) == 0 {
		return nil
	}
	if listed := portsOf(m.settings.ports, v1alpha1.ProtocolHTTPS); listed != nil {
		return listed
	}
	return []int32{443}
}

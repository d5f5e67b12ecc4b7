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
)

// This file reads the ports that an Ingress listens on.

// mostPorts is how many ports one Ingress can listen on, as the field `listenPorts` of a class says too.
const mostPorts = 50

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
			return nil, fmt.Errorf("%q is not a protocol and a port, as in HTTP:80", item)
		}
		ports = append(ports, v1alpha1.ListenPort{Protocol: protocol, Port: int32(number)})
	}
	return ports, nil
}

func parseJSONPorts(text string) ([]v1alpha1.ListenPort, error) {
	var items []map[string]int32
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, errors.New(`it is not a list like [{"HTTP":80},{"HTTPS":443}]`)
	}
	var ports []v1alpha1.ListenPort
	for _, item := range items {
		for protocol, port := range item {
			ports = append(ports, v1alpha1.ListenPort{Protocol: protocol, Port: port})
		}
	}
	slices.SortFunc(ports, func(a, b v1alpha1.ListenPort) int { return cmp.Compare(a.Port, b.Port) })
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
			return fmt.Errorf("%q is neither HTTP nor HTTPS", p.Protocol)
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

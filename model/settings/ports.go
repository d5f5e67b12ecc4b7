package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
)

// This file reads lists of ports with their protocols.

// mostPorts is the most ports of one Ingress. Application Load Balancers have at most 50 listeners:
// Elastic Load Balancing, Application Load Balancers, "Quotas for your Application Load Balancers".
const mostPorts = 50

// withoutJSON changes ports in JSON into the plain list.
var withoutJSON = strings.NewReplacer("[", "", "]", "", "{", "", "}", "", `"`, "", " ", "")

// ParsePorts reads "HTTP:80,HTTPS:443", or the same as JSON: [{"HTTP":80},{"HTTPS":443}].
func ParsePorts(text string) ([]v1alpha1.ListenPort, error) {
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

// parseJSONPorts reads a list of objects with numbers, token by token, and stops at any other
// value.
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
	if next() != json.Delim(']') || next() != nil ||
		decoder.InputOffset() != int64(len(strings.TrimRight(text, " \t\r\n"))) {
		return nil, wrong
	}
	slices.SortFunc(ports, func(a, b v1alpha1.ListenPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return ports, nil
}

func checkPortsText(text string) error {
	_, err := ParsePorts(text)
	return err
}

// opensOtherPorts reports whether an Ingress is served on a port that an unchecked list does not
// have.
func opensOtherPorts(text string, served []v1alpha1.ListenPort) bool {
	listed := itemsOf(withoutJSON.Replace(text))
	return slices.ContainsFunc(served, func(p v1alpha1.ListenPort) bool {
		return !slices.Contains(listed, p.Protocol+":"+strconv.Itoa(int(p.Port)))
	})
}

// portsText returns ports as ParsePorts reads them.
func portsText(ports []v1alpha1.ListenPort) string {
	var items []string
	for _, p := range ports {
		items = append(items, p.Protocol+":"+strconv.Itoa(int(p.Port)))
	}
	return strings.Join(items, ",")
}

func checkPorts(ports []v1alpha1.ListenPort) error {
	if len(ports) == 0 {
		return errors.New("no port is listed")
	}
	if len(ports) > mostPorts {
		return fmt.Errorf("%d ports are listed, and %d are the most that there can be",
			len(ports), mostPorts)
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

// PortsOf returns the ports of one protocol, ascending.
func PortsOf(ports []v1alpha1.ListenPort, protocol string) []int32 {
	var out []int32
	for _, p := range ports {
		if p.Protocol == protocol {
			out = append(out, p.Port)
		}
	}
	slices.Sort(out)
	return out
}

// RedirectsAll follows the port of a redirect of all requests.
const RedirectsAll = ",all"

// redirectPort is the type of a port to redirect to.
var redirectPort = Type{
	words: "port, with `,all` for all requests",
	Bound: Bound{
		Pattern: regexp.MustCompile(`^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])(,all)?$`),
		Unlike:  "it is not a port from 1 to 65535, with `,all` behind it for all requests",
	},
}

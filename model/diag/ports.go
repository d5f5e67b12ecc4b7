package diag

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Ports are the ports on which an Ingress is not served as it asks to be, because of what a
// diagnostic says: ascending, with spaces between them. They are a text so that diagnostics can be
// compared.
type Ports string

// PortsOf are some ports.
func PortsOf(ports ...int32) Ports {
	ports = slices.Clone(ports)
	slices.Sort(ports)
	var texts []string
	for _, p := range slices.Compact(ports) {
		texts = append(texts, strconv.Itoa(int(p)))
	}
	return Ports(strings.Join(texts, " "))
}

// List is the ports as numbers.
func (p Ports) List() []int32 {
	var out []int32
	for text := range strings.FieldsSeq(string(p)) {
		number, err := strconv.ParseInt(text, 10, 32)
		if err == nil { // PortsOf writes nothing else
			out = append(out, int32(number))
		}
	}
	return out
}

// MarshalJSON makes a list of numbers of ports.
func (p Ports) MarshalJSON() ([]byte, error) { return json.Marshal(p.List()) }

// On is the diagnostic with the ports on which the Ingress is not served as it asks to be.
func (d Diagnostic) On(ports ...int32) Diagnostic {
	d.Ports = PortsOf(ports...)
	return d
}

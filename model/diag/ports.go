package diag

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Ports lists the ports on which an Ingress is not served as it asks, in ascending order, with
// spaces between them. It is a text so that diagnostics can be compared.
type Ports string

// PortsOf returns some ports as Ports.
func PortsOf(ports ...int32) Ports {
	ports = slices.Clone(ports)
	slices.Sort(ports)
	var texts []string
	for _, p := range slices.Compact(ports) {
		texts = append(texts, strconv.Itoa(int(p)))
	}
	return Ports(strings.Join(texts, " "))
}

// List returns the ports as numbers.
func (p Ports) List() []int32 {
	var out []int32
	for text := range strings.FieldsSeq(string(p)) {
		number, err := strconv.ParseInt(text, 10, 32)
		if err == nil { // PortsOf writes numbers alone
			out = append(out, int32(number))
		}
	}
	return out
}

// MarshalJSON makes ports a list of numbers in JSON.
func (p Ports) MarshalJSON() ([]byte, error) { return json.Marshal(p.List()) }

// On returns the diagnostic with the ports on which the Ingress is not served as it asks.
func (d Diagnostic) On(ports ...int32) Diagnostic {
	d.Ports = PortsOf(ports...)
	return d
}

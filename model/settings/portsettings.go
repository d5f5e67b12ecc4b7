package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plainyaml"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads settings of single ports: attributes of listeners, and certificates of clients.

// mostPortAttributes is the most attributes of listeners that an Ingress sets, on all ports.
const mostPortAttributes = 100

// parsePortAttributes reads "443:name=value,80:name=value".
func parsePortAttributes(text string) (map[int32]map[string]string, error) {
	out := map[int32]map[string]string{}
	items := splitEscaped(text)
	if len(items) > mostPortAttributes {
		return nil, fmt.Errorf("it has %d attributes, and %d are the most", len(items),
			mostPortAttributes)
	}
	for _, item := range items {
		written, rest, _ := strings.Cut(item, ":")
		number, err := integer(strings.TrimSpace(written), 1, 65535)
		if err != nil {
			return nil, fmt.Errorf("%s does not begin with a port and a colon, as in 443:name=value",
				diag.Quote(item))
		}
		name, value, err := parseAttribute(rest)
		if err != nil {
			return nil, err
		}
		at := int32(number)
		if out[at] == nil {
			out[at] = map[string]string{}
		}
		if out[at][name] != "" {
			return nil, fmt.Errorf("%s is set twice for port %d", diag.Quote(name), at)
		}
		out[at][name] = value
	}
	return out, nil
}

// A MutualSetting is the handling of client certificates on the ports that an Ingress names.
type MutualSetting map[int32]*routing.MutualAuthentication

// parseMutual reads a list of ports with what ports[].mutualAuthentication of a class has.
func parseMutual(text string) (MutualSetting, error) {
	entries, err := entriesOf(text, "ports", mostPorts)
	if err != nil {
		return nil, err
	}
	out := MutualSetting{}
	for i, n := range entries {
		at, m, err := readMutual(n)
		if err == nil && out[at] != nil {
			err = fmt.Errorf("port %d is listed twice", at)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out[at] = &m
	}
	return out, nil
}

// readMutual reads one entry.
func readMutual(n *yaml.Node) (at int32, m routing.MutualAuthentication, err error) {
	text := func(to *string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) { *to, err = plainyaml.Text(n); return err }
	}
	toggle := func(to *bool) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			said, err := plainyaml.Text(n)
			if err == nil && said != "true" && said != "false" {
				err = fmt.Errorf("%s is neither true nor false", diag.Quote(said))
			}
			*to = said == "true"
			return err
		}
	}
	number := ""
	err = plainyaml.Fields(n, map[string]func(*yaml.Node) error{
		"port": text(&number), "mode": text(&m.Mode), "trustStore": text(&m.TrustStore),
		"ignoreExpiry": toggle(&m.IgnoreExpiry), "advertiseCANames": toggle(&m.AdvertiseCANames),
	})
	if err != nil {
		return 0, m, err
	}
	port, err := strconv.ParseInt(number, 10, 32)
	modes := ClassFields["ports[].mutualAuthentication.mode"].Known
	switch {
	case err != nil || port < 1 || port > 65535:
		return 0, m, fmt.Errorf("%s is not a port", diag.Quote(number))
	case !slices.Contains(modes, m.Mode):
		return 0, m, fmt.Errorf("the mode %s is none of %s", diag.Quote(m.Mode),
			strings.Join(modes, ", "))
	case len(m.TrustStore) > longestTrustStore:
		return 0, m, fmt.Errorf("a trust store has at most %d characters", longestTrustStore)
	}
	return int32(port), m, checkMutual(m)
}

// longestTrustStore is the most characters of a trust store: that of an ARN
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html).
const longestTrustStore = 2048

// checkMutual returns the error in the fields that only some modes have, or nil.
func checkMutual(m routing.MutualAuthentication) error {
	switch verifies := m.Verifies(); {
	case verifies != (m.TrustStore != ""):
		return errors.New("`verify` needs a trust store, and no other mode has one")
	case !verifies && (m.IgnoreExpiry || m.AdvertiseCANames):
		return errors.New("`ignoreExpiry` and `advertiseCANames` are for `verify`")
	}
	return nil
}

// restrictsClients reports whether an unchecked value may ask for certificates of clients.
func restrictsClients(text string) bool {
	asked, err := parseMutual(text)
	return err != nil || slices.ContainsFunc(slices.Collect(maps.Values(asked)),
		(*routing.MutualAuthentication).Asks)
}

// MutualAsked returns the handling of client certificates that an Ingress asks for on a port, even
// if that does not count; nil for none.
func (v Values) MutualAsked(port int32) *routing.MutualAuthentication {
	if v.Uncounted != nil && v.Uncounted.Mutual[port] != nil {
		return v.Uncounted.Mutual[port]
	}
	return v.Mutual[port]
}

// PortsAsked returns the ports for which an Ingress asks for attributes, and for certificates of
// clients, even if that does not count.
func (v Values) PortsAsked() (attributes, mutual []int32) {
	all := []Values{v}
	if v.Uncounted != nil {
		all = append(all, *v.Uncounted)
	}
	for _, v := range all {
		attributes = slices.AppendSeq(attributes, maps.Keys(v.PortAttributes))
		mutual = slices.AppendSeq(mutual, maps.Keys(v.Mutual))
	}
	slices.Sort(attributes)
	slices.Sort(mutual)
	return attributes, mutual
}

package adopt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file compares settings. All fields of the types that are compared count, by their names in JSON.

// A Difference is a setting that is otherwise than Fairlead would make it.
type Difference struct {
	Of      string `json:"of"` // such as "target group shop/web:80"
	Setting string `json:"setting"`
	Found   string `json:"found"`
	Wanted  string `json:"wanted"`
	// Stays: nothing asks for the setting, so that Fairlead leaves it as it is. Wanted is the cloud's default.
	Stays bool `json:"stays,omitempty"`
}

// level makes settings of exposure equal that do not differ in effect, or that nothing asks for, which differences tells.
func level(found, want *routing.Config, o *lb.Other) {
	read := routing.Settings{}
	if o.Read != nil && o.Read.LoadBalancer != nil {
		read = *o.Read.LoadBalancer
	}
	found.Key, found.HostsOwned = want.Key, false
	found.Settings.Scheme = read.Scheme
	found.Protection = want.Protection
	if want.Protection.WebACL != "" {
		found.Protection.WebACL = o.Protection.WebACL
	}
	if want.Protection.Shield != "" {
		found.Protection.Shield = o.Protection.Shield
	}
	found.Settings.SecurityGroups = groupsBesides(o, read.SecurityGroups, want.Settings.SecurityGroups)
	want.Listeners = slices.Clone(want.Listeners)
	for i := range found.Listeners {
		f := &found.Listeners[i]
		at := slices.IndexFunc(want.Listeners, func(l routing.Listener) bool { return l.Port == f.Port })
		f.Inbound = reachable(f.Inbound, read.IPFamily)
		if at < 0 {
			continue
		}
		w := &want.Listeners[at]
		if w.Inbound = reachable(w.Inbound, read.IPFamily); len(want.Settings.SecurityGroups) > 0 {
			f.Inbound = w.Inbound // their owner decides
		}
		if w.TLSPolicy == "" {
			f.TLSPolicy = ""
		}
		if w.Mutual == nil {
			f.Mutual = nil
		} else {
			f.Mutual = named(f.Mutual, w.Mutual)
		}
	}
}

// reachable returns the ranges of clients that can reach a load balancer of a family; nil for all clients.
func reachable(inbound []string, family string) []string {
	out, all := slices.Clone(inbound), []string{"0.0.0.0/0", "::/0"}
	if family == "ipv4" {
		out = slices.DeleteFunc(out, func(text string) bool { return strings.Contains(text, ":") })
		all = all[:1]
	}
	if len(inbound) > 0 && len(out) == 0 {
		return []string{"nobody"}
	}
	if compare.Within(all, out) {
		return nil
	}
	return out
}

// named returns a found handling of client certificates with the trust store as a wanted one names it.
func named(found, want *routing.MutualAuthentication) *routing.MutualAuthentication {
	if found == nil || want == nil || want.TrustStore == "" || strings.HasPrefix(want.TrustStore, "arn:") {
		return found
	}
	out := *found
	if parts := strings.Split(out.TrustStore, "/"); len(parts) == 3 { // arn:…:truststore/name/id
		out.TrustStore = parts[1]
	}
	return &out
}

// groupsBesides returns what security groups a load balancer has in place of wanted ones, which none stand for the
// operator's own: that is what the controller makes for the load balancer. What it makes for the nodes stays, and does not
// count.
func groupsBesides(o *lb.Other, have, want []string) []string {
	var rest []string
	managed := 0
	for _, g := range have {
		switch {
		case isShared(o, g) && !slices.Contains(want, g):
			continue
		case isManaged(o, g):
			managed++
		}
		rest = append(rest, g)
	}
	slices.Sort(rest)
	if len(want) == 0 && managed == 1 && len(rest) == 1 {
		return nil
	}
	if len(rest) == 0 {
		return []string{"none"}
	}
	return rest
}

// differences returns the settings that differ, besides those of exposure that are asked for. groups maps found target
// groups to wanted ones.
func differences(o *lb.Other, w Wanted, groups map[lb.GroupID]lb.GroupID) (out []Difference) {
	read := readOf(o)
	if name := w.LoadBalancer.Key.Name(); name != "" && name != o.Name {
		out = append(out, Difference{Of: "load balancer", Setting: "name", Found: o.Name, Wanted: name})
	}
	have, want, usual := settingsOf(read), w.LoadBalancer.Settings, settingsOf(o.Usual)
	if w.AnySubnets {
		want.Subnets, have.Subnets = nil, nil
	}
	out = append(out, compareFields("load balancer", have, want, usual, "scheme", "securityGroups")...)
	out = append(out, compareFields("load balancer", o.Protection, w.LoadBalancer.Protection,
		lb.Protection{WebACL: lb.NoWebACL, Shield: lb.ShieldOff})...)
	for _, want := range w.LoadBalancer.Listeners {
		l := o.Listener(want.Port)
		if l == nil {
			continue // compare says so
		}
		name := fmt.Sprintf("listener %d", want.Port)
		if a, b := certificates(l.Certificates), certificates(want.Certificates); a != b {
			out = append(out, Difference{Of: name, Setting: "certificates", Found: a, Wanted: b})
		}
		have := read.Listeners[l.Port]
		have.Mutual = named(have.Mutual, want.Settings.Mutual)
		out = append(out, compareFields(name, have, want.Settings, o.Usual.Listeners[l.Port], "inbound")...)
	}
	for _, g := range o.TargetGroups {
		at := slices.IndexFunc(w.LoadBalancer.TargetGroups, func(want lb.TargetGroup) bool { return want.ID == groups[g.ID] })
		if at < 0 || w.LoadBalancer.TargetGroups[at].ID == g.ID { // one that an Ingress names is not Fairlead's
			continue
		}
		want := w.LoadBalancer.TargetGroups[at]
		if len(want.Targets) > 0 && !g.Registered {
			out = append(out, Difference{Of: "target group " + string(want.ID), Setting: "targets", Found: "none",
				Wanted: fmt.Sprint(len(want.Targets))})
		}
		out = append(out, compareFields("target group "+string(want.ID), read.TargetGroups[g.ID],
			lb.GroupSettings{HealthCheck: want.Health, Attributes: want.Attributes}, o.Usual.TargetGroups[g.ID])...)
	}
	slices.SortStableFunc(out, func(a, b Difference) int { return strings.Compare(a.Of+a.Setting, b.Of+b.Setting) })
	return slices.Compact(out) // of two target groups that become one
}

func settingsOf(r lb.ReadSettings) routing.Settings {
	if r.LoadBalancer == nil {
		return routing.Settings{}
	}
	return *r.LoadBalancer
}

// certificates returns the default certificate, and the others sorted.
func certificates(ids []lb.CertificateID) string {
	if len(ids) == 0 {
		return "none"
	}
	rest := slices.Sorted(slices.Values(ids[1:]))
	var out []string
	for _, id := range append([]lb.CertificateID{ids[0]}, rest...) {
		out = append(out, string(id))
	}
	return strings.Join(out, ", ")
}

// compareFields compares all fields, by their names in JSON, without some: with the wanted ones, or the usual ones where
// nothing is wanted.
func compareFields(of string, found, wanted, usual any, without ...string) (out []Difference) {
	have, want, otherwise := fieldsOf(found), fieldsOf(wanted), fieldsOf(usual)
	names := maps.Clone(have)
	maps.Copy(names, want)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text, asked := want[name]
		if !asked {
			text = otherwise[name]
		}
		if slices.Contains(without, name) || have[name] == text || !asked && have[name] == "" {
			continue
		}
		out = append(out, Difference{Of: of, Setting: name, Found: orNone(have[name]), Wanted: orNone(text), Stays: !asked})
	}
	return out
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// uncompared are fields that have no place in the comparison: tags are added to those that are there, and no cloud
// returns client secrets.
var uncompared = []string{"tags", "clientSecrets"}

// fieldsOf returns the fields that are set, as text. Those of maps and objects count as fields.
func fieldsOf(settings any) map[string]string {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil // plain data always marshals
	}
	var fields map[string]any
	_ = json.Unmarshal(text, &fields)
	out := map[string]string{}
	addFields(out, "", fields)
	return out
}

func addFields(out map[string]string, prefix string, fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case map[string]any:
			switch {
			case slices.Contains(uncompared, name):
			case name == "attributes":
				addFields(out, "", value)
			default:
				addFields(out, prefix+name+".", value)
			}
		case []any:
			var list []string
			for _, v := range value {
				list = append(list, fmt.Sprint(v))
			}
			out[prefix+name] = strings.Join(list, ", ")
		default:
			if !slices.Contains(uncompared, name) {
				out[prefix+name] = fmt.Sprint(value)
			}
		}
	}
}

package adopt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// A Difference is a setting that is wanted otherwise than it is. Settings that nothing asks for stay as they are.
type Difference struct {
	Of      string `json:"of"` // such as "target group shop/web:80"
	Setting string `json:"setting"`
	Found   string `json:"found"`
	Wanted  string `json:"wanted"`
}

// differences returns the settings that differ. groups maps found target groups to wanted ones.
func differences(f lb.Other, w lb.LoadBalancer, groups map[lb.GroupID]lb.GroupID) []Difference {
	read := f.Read
	if read == nil { // there is nothing to compare with
		return []Difference{}
	}
	have := routing.Settings{}
	if read.LoadBalancer != nil {
		have = *read.LoadBalancer
	}
	out := append([]Difference{}, compareFields("load balancer", have, w.Settings)...)
	for _, want := range w.Listeners {
		name := fmt.Sprintf("listener %d", want.Port)
		l := f.Listener(want.Port)
		if l == nil {
			out = append(out, Difference{Of: name, Setting: "listener", Found: "none", Wanted: string(want.Protocol)})
			continue
		}
		if l.Protocol != want.Protocol {
			out = append(out, Difference{Of: name, Setting: "protocol", Found: string(l.Protocol), Wanted: string(want.Protocol)})
		}
		if a, b := certificates(l.Certificates), certificates(want.Certificates); a != b {
			out = append(out, Difference{Of: name, Setting: "certificates", Found: a, Wanted: b})
		}
		out = append(out, compareFields(name, settingsOf(f, l.Port), want.Settings)...)
	}
	for _, l := range f.Listeners {
		if !slices.ContainsFunc(w.Listeners, func(want lb.Listener) bool { return want.Port == l.Port }) {
			out = append(out, Difference{Of: fmt.Sprintf("listener %d", l.Port), Setting: "listener",
				Found: string(l.Protocol), Wanted: "none"})
		}
	}
	for _, g := range f.TargetGroups {
		at := slices.IndexFunc(w.TargetGroups, func(want lb.TargetGroup) bool { return want.ID == groups[g.ID] })
		if at < 0 {
			continue
		}
		want := w.TargetGroups[at]
		out = append(out, compareFields("target group "+string(want.ID), read.TargetGroups[g.ID],
			lb.GroupSettings{HealthCheck: want.Health, Attributes: want.Attributes})...)
	}
	slices.SortStableFunc(out, func(a, b Difference) int { return strings.Compare(a.Of+a.Setting, b.Of+b.Setting) })
	return slices.Compact(out) // of two target groups that become one
}

// settingsOf returns the settings of a listener. Clients that cannot reach it are not listed.
func settingsOf(f lb.Other, port int32) lb.ListenerSettings {
	s := f.Read.Listeners[port]
	l := listenerOf(&f.Observed, *f.Listener(port))
	s.Inbound = l.Inbound
	return s
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

// compareFields compares the fields that are wanted with those that were found, by their names in JSON.
func compareFields(of string, found, wanted any) (out []Difference) {
	have, want := fieldsOf(found), fieldsOf(wanted)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if name == "tags" || name == "clientSecrets" || have[name] == want[name] {
			continue // tags are added, and no cloud returns client secrets
		}
		d := Difference{Of: of, Setting: name, Found: have[name], Wanted: want[name]}
		if d.Found == "" {
			d.Found = "none"
		}
		out = append(out, d)
	}
	return out
}

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
			if name == "attributes" {
				addFields(out, "", value)
			} else if name != "tags" {
				addFields(out, prefix+name+".", value)
			}
		case []any:
			var list []string
			for _, v := range value {
				list = append(list, fmt.Sprint(v))
			}
			out[prefix+name] = strings.Join(list, ", ")
		default:
			out[prefix+name] = fmt.Sprint(value)
		}
	}
}

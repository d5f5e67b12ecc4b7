package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file prints plans: as text for reviewers, and as data for programs.

// A Printed is a step as data for programs.
type Printed struct {
	Op     string `json:"op"`
	ID     string `json:"id"`
	Detail string `json:"detail"`
}

// Print returns the steps of the plan as data for programs.
func (p Plan) Print() []Printed {
	out := []Printed{}
	for _, s := range p.Steps {
		out = append(out, Printed{s.Step.Op(), s.Step.ID(), s.Step.Detail()})
	}
	return out
}

// A Form has the options for printing a plan.
type Form struct {
	Colour     bool
	Priorities bool          // of rules
	Before     KnownSettings // the settings before the plan, as far as they are known
	// HealthCheck returns the health check that targets have by default. What is equal to it is not
	// printed of new target groups. Nil: everything is printed.
	HealthCheck func(routing.Protocol, routing.Version) routing.HealthCheck
}

// Text writes the plan for reviewers: a line of counts, then a line for each step, and one for each
// setting that it writes. Unprintable characters of Ingresses are escaped.
func (p Plan) Text(w io.Writer, f Form) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", printable.Line(string(p.Key)), p.Counts())
	for _, s := range p.Steps {
		m := markOf(s.Step)
		text := printable.Line(fmt.Sprintf("%c %s", m, f.line(s.Step)))
		if f.Colour {
			text = m.colour() + text + "\x1b[0m"
		}
		fmt.Fprintf(&b, "  %s\n", text)
		f.settings(&b, s.Step)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the plan of %s: %w", p.Key, err)
	}
	return nil
}

// line returns a step without its settings.
func (f Form) line(s Step) string {
	id, detail := s.ID(), s.Detail()
	switch s := s.(type) {
	case ModifyLoadBalancer, ModifyTargetGroup, ModifyCertificate:
		detail = "" // the detail is the digest of the settings, which follow
	case CreateRule:
		id = f.ruleID(s.Port, s.Priority)
	case ModifyRule:
		id = f.ruleID(s.Port, s.Priority)
	case DeleteRule:
		id = f.ruleID(s.Port, s.Priority)
	case RespaceRules:
		if !f.Priorities {
			detail = "to make room between them"
		}
	default:
	}
	text := s.Op() + " " + id
	if detail != "" {
		text += "  " + detail
	}
	return text
}

// ruleID returns the port of a rule, and its priority if f.Priorities is set.
func (f Form) ruleID(port int32, priority int) string {
	if f.Priorities {
		return ruleID(port, priority)
	}
	return strconv.Itoa(int(port))
}

// settings prints the settings of a step: a line for each that changes, or for a new object a line
// for each kind.
func (f Form) settings(b *strings.Builder, s Step) {
	all, compared := f.Settings(s)
	if markOf(s) == created {
		for _, line := range newSettings(f.withoutDefaults(s, all)) {
			fmt.Fprintf(b, "      %s\n", printable.Line(line))
		}
		return
	}
	switch s.(type) {
	case SetWebACL, ShieldLoadBalancer: // the line of the step has the new value
		compared = true
		all = slices.DeleteFunc(all, func(one SettingChange) bool { return one.Old == "" })
	default:
	}
	for _, one := range all {
		value := one.New
		switch {
		case one.New == "":
			value = one.Old + " → unset"
		case compared && one.Old != "":
			value = one.Old + " → " + one.New
		}
		fmt.Fprintf(b, "      %s\n", printable.Line(one.Name+": "+value))
	}
	if !compared {
		fmt.Fprintln(b, "      (the settings before are not known: these are all that it has then)")
	}
}

// withoutDefaults returns the settings of a new object without those of its health check that are the
// default.
func (f Form) withoutDefaults(s Step, all []SettingChange) []SettingChange {
	create, is := s.(CreateTargetGroup)
	if !is || f.HealthCheck == nil {
		return all
	}
	defaults := fields(f.HealthCheck(create.Group.Protocol, create.Group.Version))
	return slices.DeleteFunc(all, func(one SettingChange) bool {
		name, of := strings.CutPrefix(one.Name, healthCheckKind+" ")
		return of && one.New == defaults[name]
	})
}

// newSettings returns the settings of a new object, with one line for each kind, such as
// attributes.
func newSettings(all []SettingChange) []string {
	var lines []string
	last := ""
	for _, one := range all {
		kind, rest := "", one.Name
		for _, k := range settingKinds {
			if name, is := strings.CutPrefix(one.Name, k+" "); is {
				kind, rest = k, name
			}
		}
		switch kind {
		case "":
			lines = append(lines, one.Name+": "+one.New)
		case last:
			lines[len(lines)-1] += ", " + rest + " " + one.New
		default:
			lines = append(lines, kind+": "+rest+" "+one.New)
		}
		last = kind
	}
	return lines
}

// Settings returns the settings that a step writes, by name. If the old settings are known,
// compared is true and only changes are returned; a new object has no old settings.
func (f Form) Settings(s Step) (all []SettingChange, compared bool) {
	k := f.Before
	var before, after settingValues
	known := true
	switch s := s.(type) {
	case CreateLoadBalancer:
		after = ofLoadBalancer(s.LoadBalancer)
	case ModifyLoadBalancer:
		before, after = maps.Clone(k.LoadBalancer), ofLoadBalancer(s.LoadBalancer)
		known = before != nil
		delete(before, webACL)
		delete(before, shield)
	case SetWebACL:
		before = protectionSetting(webACL, k.LoadBalancer[webACL])
		after = protectionSetting(webACL, s.WebACL)
		known = k.LoadBalancer != nil
	case ShieldLoadBalancer:
		before = protectionSetting(shield, k.LoadBalancer[shield])
		after = protectionSetting(shield, s.Shield)
		known = k.LoadBalancer != nil
	case CreateListener:
		after = ofListener(s.Listener)
	case ModifyListener:
		before, known = k.Listeners[s.Listener.Port]
		after = ofListener(s.Listener)
	case CreateTargetGroup:
		after = ofTargetGroup(s.Group)
	case ModifyTargetGroup:
		before, known = k.TargetGroups[s.Group.ID]
		after = ofTargetGroup(s.Group)
	case ImportCertificate:
		after = ofCertificate(s.Certificate)
	case ModifyCertificate:
		before, known = k.Certificates[s.Certificate.ID]
		after = ofCertificate(s.Certificate)
	default: // it writes no settings
	}
	return changedSettings(before, after), known
}

// protectionSetting returns the one setting of a step about a web ACL or Shield.
func protectionSetting(name, value string) settingValues {
	if value == "" {
		return nil
	}
	return settingValues{name: value}
}

// Tally counts the steps that create, change and delete.
func (p Plan) Tally() (creates, changes, deletes int) {
	n := map[mark]int{}
	for _, s := range p.Steps {
		n[markOf(s.Step)]++
	}
	return n[created], n[changed], n[deleted]
}

// Counts returns the tally as text: "3 to create, 1 to change, 0 to delete".
func (p Plan) Counts() string {
	if p.Empty() {
		return "nothing to do"
	}
	creates, changes, deletes := p.Tally()
	return fmt.Sprintf("%d to create, %d to change, %d to delete", creates, changes, deletes)
}

// A mark is the character in front of a step: create, change or delete.
type mark rune

const (
	created mark = '+'
	changed mark = '~'
	deleted mark = '-'
)

func markOf(s Step) mark {
	switch s.(type) {
	case CreateLoadBalancer, ImportCertificate, CreateTargetGroup, CreateListener,
		AttachCertificate, CreateRule:
		return created
	case DeleteLoadBalancer, DeleteCertificate, DeleteTargetGroup, DeleteListener,
		DetachCertificate, DeleteRule:
		return deleted
	default:
		return changed
	}
}

// colour returns the terminal's code for the mark's colour.
func (m mark) colour() string {
	return map[mark]string{created: "\x1b[32m", changed: "\x1b[33m", deleted: "\x1b[31m"}[m]
}

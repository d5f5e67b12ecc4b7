package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file says what the load balancers of Ingresses that migrate need of the quotas.

// A needed is what a load balancer needs with all of its Ingresses.
type needed struct {
	Key       lb.Key `json:"key"`
	Provider  string `json:"provider"` // such as alb
	Ingresses int    `json:"ingresses"`
	// Paths are how many rules there would be if each path on each port had one: those before packing.
	Paths        int     `json:"paths"`
	Rules        ofQuota `json:"rules"`
	TargetGroups ofQuota `json:"targetGroups"`
	Certificates ofQuota `json:"certificates"` // default certificates not counted
	codes        lb.Quotas
}

// An ofQuota is how many of a quota are needed.
type ofQuota struct {
	Needed int `json:"needed"`
	// Quota is the one of a new account; 0: there is none.
	Quota int `json:"quota,omitempty"`
}

func (o ofQuota) exceeded() bool { return o.Quota > 0 && o.Needed > o.Quota }

// boundless is a cloud without quotas for a load balancer.
type boundless struct{ clouds.Offline }

func (b boundless) Capabilities(class lb.Class) lb.Capabilities {
	c := b.Offline.Capabilities(class)
	c.Rules, c.TargetGroups, c.Certificates = 0, 0, 0
	return c
}

// programsAssuming compiles Ingresses that migrate with the Secrets that are missing, and returns their names.
func (s side) programsAssuming(
	cmd *cobra.Command, with access.Clouds,
) (programs []program.Program, assumed []string, notes []diag.Diagnostic, err error) {
	known := len(s.objects.Secrets)
	add := func(missing []string) bool {
		before := len(s.objects.Secrets)
		source.AddToBoth(&s.objects, &ingress.Objects{}, missing)
		return len(s.objects.Secrets) > before
	}
	if !s.live { // of a cluster, what cannot be read may be there
		add(nil)
	}
	for again := true; again; {
		programs, notes, err = s.programs(cmd, with)
		missing := program.MissingSecrets(notes)
		again = err == nil && len(missing) > 0 && add(missing)
	}
	return programs, namesOf(s.objects.Secrets[known:]), notes, err
}

// needs returns what each load balancer of Ingresses that migrate needs, with Secrets that are assumed.
func (s side) needs(cmd *cobra.Command, with access.Clouds, programs []program.Program, assumed []string) ([]needed, error) {
	limits := map[lb.Key]lb.Capabilities{}
	for _, p := range programs {
		limits[p.LoadBalancer.Key] = p.Capabilities
	}
	if slices.ContainsFunc(programs, refusesForQuotas) { // compile all of it
		if len(assumed) > 0 {
			source.AddToBoth(&s.objects, &ingress.Objects{}, assumed)
		}
		cloud, err := s.input.Provider.Offline(cmd.Context(), with)
		if err != nil {
			return nil, err
		}
		programs, _, err = program.BuildAll(cmd.Context(), boundless{cloud}, s.objects, s.options)
		if err != nil {
			return nil, err
		}
	}
	out := []needed{}
	for _, p := range programs {
		if s.objects.Dialects[p.LoadBalancer.Key.Class()] == "" {
			continue
		}
		counts, limits := p.LoadBalancer.Counts(), limits[p.LoadBalancer.Key]
		n := needed{Key: p.LoadBalancer.Key, Provider: limits.Name, Ingresses: len(p.Table.Members),
			Rules:        ofQuota{counts.Rules, limits.Rules},
			TargetGroups: ofQuota{counts.TargetGroups, limits.TargetGroups},
			Certificates: ofQuota{counts.Certificates, limits.Certificates},
			codes:        limits.Quotas}
		for _, r := range p.Table.Routes {
			n.Paths += len(r.Ports)
		}
		out = append(out, n)
	}
	return out, nil
}

// refusesForQuotas reports whether a part of a load balancer is left out for want of room.
func refusesForQuotas(p program.Program) bool {
	return slices.ContainsFunc(p.Diagnostics, func(d diag.Diagnostic) bool {
		return d.Reason == diag.QuotaExceeded && d.Severity == diag.Error
	})
}

// onWhat returns the names of what answers once Ingresses have migrated, such as alb.
func onWhat(all []needed) string {
	var names []string
	for _, n := range all {
		if !slices.Contains(names, n.Provider) {
			names = append(names, n.Provider)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "Fairlead")
}

// exceeded reports whether it needs more than a quota.
func (n needed) exceeded() bool {
	return n.Rules.exceeded() || n.TargetGroups.exceeded() || n.Certificates.exceeded()
}

// String returns the needs in a sentence.
func (n needed) String() string {
	of := func(o ofQuota, what, code string) string {
		text := fmt.Sprintf("%d", o.Needed)
		if o.Quota > 0 {
			text += fmt.Sprintf(" of %d", o.Quota)
		}
		text += " " + what
		if o.exceeded() {
			text += " (too many: quota " + code + ")"
		}
		return text
	}
	rules := of(n.Rules, "rules", n.codes.Rules)
	if n.Paths > 0 {
		rules += fmt.Sprintf(", %d before packing", n.Paths)
	}
	return output.Number(n.Ingresses, "Ingress") + ": " + rules + "; " + of(n.TargetGroups, "target groups", n.codes.TargetGroups) + "; " +
		of(n.Certificates, "certificates", n.codes.Certificates)
}

// tooMuch says what to do about load balancers that need more than a quota; "" if none does.
func tooMuch(all []needed) string {
	if !slices.ContainsFunc(all, needed.exceeded) {
		return ""
	}
	return "Where a load balancer needs more than a quota, Ingresses are left out. Raise the quota, or divide the Ingresses " +
		"among more load balancers with the annotation fairlead.dev/group and `groups` of the class."
}

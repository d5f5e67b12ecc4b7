package model

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/lowering"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// A Built is the result of compiling: the load balancer, the table that it implements exactly, and
// diagnostics about both.
type Built struct {
	// Table is the specification of the load balancer, without refused parts.
	Table        *precedence.Table
	LoadBalancer lb.LoadBalancer
	Diagnostics  []diag.Diagnostic
}

// ClassOf returns the parts of the class of a load balancer that its provider needs.
func ClassOf(s ingress.Snapshot) lb.Class {
	return lb.Class{
		Name:                 s.Class.Name,
		NoRegularExpressions: s.Class.RegularExpressions != nil && !*s.Class.RegularExpressions,
		ValuesPerCondition:   s.Class.ValuesPerCondition,
		AcceptsUndocumented:  s.Class.Undocumented == v1alpha1.UndocumentedAccept,
		OwnSecurityGroups:    len(s.Class.SecurityGroups) > 0,
		Provider:             s.Class.ProviderName,
	}
}

// Ask returns the questions to the cloud for compiling a snapshot.
func Ask(s ingress.Snapshot) lb.Questions {
	q := lb.Questions{
		Provider: s.Key.Provider(), CertificateHosts: ingress.CertificateHosts(s),
		NamedCertificates: ingress.NamedCertificates(s), WebACLs: ingress.WebACLs(s),
		Shield: ingress.Shielded(s),
	}
	q.Settings, q.GroupSettings = ingress.ProviderSettings(s)
	if len(s.Members) > 0 { // otherwise it will be deleted, in any network
		q.Network = ingress.NetworkOf(s).Network
	}
	return q
}

// Compile makes the best load balancer of a snapshot. It cannot fail. Members that exceed the
// cloud's quotas are left out, the newest first.
func Compile(s ingress.Snapshot, f lb.Facts, c lb.Capabilities) Built {
	languages := language.NewCache()
	s = s.WithAnnotationCache()
	built := compile(s, f, c, languages)
	for s.FewerCertificates < s.FewestCertificates() && lacksCertificates(built.LoadBalancer, c, f.InUse) {
		s.FewerCertificates++ // before an Ingress is left out
		built = compile(s, f, c, languages)
	}
	if len(built.brokenLimits(c, f.InUse)) > 0 {
		built = fit(s, f, c, built, languages, least)
	}
	languages.Forget() // the table is kept longer than the cache is needed
	built.Diagnostics = diag.Limit(built.Diagnostics)
	return built
}

// protectionOf returns the web ACLs and Shield Advanced of the cloud.
func protectionOf(f lb.Facts, c lb.Capabilities) ingress.CloudProtection {
	g := ingress.CloudProtection{WebACLs: f.WebACLs, NoWebACLs: f.Unguarded, NoShield: f.Unshielded}
	if !c.WebACLs {
		g.WebACLs, g.NoWebACLs = nil, c.Name+" has no web ACLs"
	}
	if !c.Shields {
		g.NoShield = c.Name + " has no shield"
	}
	return g
}

// certificatesOf returns the certificates of the cloud, or earlier choices if the cloud could not
// be asked.
func certificatesOf(f lb.Facts, known record.Record) ingress.Certificates {
	out := ingress.Certificates{
		ByHost: f.Certificates, Names: f.Names, Shown: f.Shown, Unread: f.CertificatesUnread, Now: f.Now,
	}
	if out.Unread != "" {
		out.Recall(known)
	}
	for _, c := range f.Imported {
		out.Imported = append(out.Imported, routing.Certificate{ID: c.ID, Hosts: c.Hosts, Kind: c.Kind})
	}
	return out
}

// compile runs the compiler's stages: policies, translation, table, rules.
func compile(s ingress.Snapshot, f lb.Facts, c lb.Capabilities, languages *language.Cache) Built {
	protection := protectionOf(f, c)
	cloud := ingress.CloudNetwork{Asked: f.Network, Groups: f.SecurityGroups, Unmet: f.Unmet,
		Exists: f.Digest != "" || f.InUse.Listeners > 0}
	s, diagnostics := applyPolicies(s, policyChain(f, protection, cloud))
	network := ingress.NetworkOf(s)
	if len(network.SecurityGroups) > 0 { // their owner limits the sources
		c.Inbound = false
	}
	config, translated := ingress.Translate(s, certificatesOf(f, s.Recorded))
	shielded, protected := ingress.Protect(s, protection)
	config.Protection = shielded
	keeps := cloud.Keeps(network)
	if config.Settings.IPFamily = network.IPFamily; !keeps {
		config.Settings.Subnets = f.Subnets
		if len(network.SecurityGroups) > 0 {
			config.Settings.SecurityGroups = f.SecurityGroups
		}
	}
	refused := refuseSettings(&config, f.SettingsRefused)
	var tagged []diag.Diagnostic
	config.Settings.Tags, tagged = ingress.WithMemberTags(s, config.Settings.Tags)
	refused = slices.Concat(refused, tagged, network.Diagnostics(cloud))
	refused = append(refused, checkAttributes(&config, s, c)...)
	table := precedence.NewWith(config, languages)
	balancer, served, refusals := lowering.Lower(table, c)
	balancer.KeepClientSecrets(f.ClientSecrets)
	for i := range balancer.Certificates {
		balancer.Certificates[i].MostOfNamespace = s.Class.MostCertificates()
	}
	balancer.Decided = network.Decided
	balancer.RemoveOthers = s.Class.RemovesListeners()
	for i := range f.Beside {
		if l := &f.Beside[i]; balancer.Leaves(l) {
			balancer.Beside = balancer.Beside.Plus(l.Counts())
		}
	}
	if keeps && cloud.Exists || ingress.RefusesSettings(s, f.SettingsRefused) && f.Digest != "" {
		balancer.Digest = f.Digest // its settings stay unchanged
	}
	if s.Ends(config) {
		balancer.Withdrawn = true
		balancer.Wanted = balancer.Wanted || s.Class.Retains()
	}
	diagnostics = slices.Concat(diagnostics, translated, protected, reportUnread(s, f), refused,
		served.Diagnostics())
	for _, r := range refusals {
		diagnostics = append(diagnostics, r.Diagnostic())
	}
	diagnostics = append(diagnostics, warnCrowded(balancer, c)...)
	return Built{Table: served, LoadBalancer: balancer, Diagnostics: diag.Sort(diagnostics)}
}

// checkAttributes adds the attributes of Ingresses to those of the class, and leaves out those that
// the cloud does not have, with diagnostics.
func checkAttributes(
	config *routing.Config, s ingress.Snapshot, c lb.Capabilities,
) (found []diag.Diagnostic) {
	tell := func(problems []string, where string) {
		for _, problem := range problems {
			found = append(found, diag.Diagnostic{Severity: diag.Error, Reason: diag.NotExpressible,
				Source: s.Class.Source(), Message: problem + where + "; it is left out"})
		}
	}
	had, problems := lowering.BalancerAttributes(c, config.Settings.Attributes)
	tell(problems, "")
	var ofMembers []diag.Diagnostic
	config.Settings.Attributes, ofMembers = ingress.WithMemberAttributes(s, had,
		func(name, value string) string { return lowering.RefusesAttribute(c, name, value) })
	found = append(found, ofMembers...)
	for i := range config.Listeners {
		l := &config.Listeners[i]
		l.Attributes, problems = lowering.ListenerAttributes(c, l.Protocol, l.Attributes)
		tell(problems, fmt.Sprintf(", for port %d", l.Port))
		if len(l.Asked) > 0 {
			l.Attributes = maps.Clone(l.Attributes)
		}
		for _, asked := range l.Asked {
			had, problems := lowering.ListenerAttributes(c, l.Protocol,
				map[string]string{asked.Name: asked.Value})
			for _, problem := range problems {
				found = append(found, diag.Diagnostic{Severity: diag.Warning, Reason: diag.NotExpressible,
					Source: asked.Source, Message: problem + "; it is left out"}.On(l.Port))
			}
			if l.Attributes == nil && len(had) > 0 {
				l.Attributes = map[string]string{}
			}
			maps.Copy(l.Attributes, had)
		}
		l.Asked = nil
	}
	return found
}

// reportUnread returns the diagnostics about facts of the cloud that could not be looked up, or are
// wrong.
func reportUnread(s ingress.Snapshot, f lb.Facts) []diag.Diagnostic {
	var found []diag.Diagnostic
	for _, missing := range f.Unmet {
		found = append(found, diag.Diagnostic{
			Severity: diag.Warning, Reason: diag.NetworkUnmet, Source: s.Class.Source(), Message: missing,
		})
	}
	stale := f.Stale
	if f.CertificatesUnread != "" {
		stale = append(slices.Clip(stale), f.CertificatesUnread)
	}
	for _, why := range stale {
		found = append(found, diag.Diagnostic{Severity: diag.Warning, Reason: diag.Unread,
			Source:  diag.Source{Kind: "LoadBalancer", Name: string(s.Key)},
			Message: "What is asked for could not be looked up, and is taken for what it was: " + why})
	}
	return found
}

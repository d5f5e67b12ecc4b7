// Package lowering makes listener rules from a table of routes, within the capabilities of a cloud.
// Lower makes an lb.LoadBalancer from a precedence.Table, and returns the parts that the cloud
// cannot express.
package lowering

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// Lower makes rules from a table, within the capabilities of a cloud. It is exact: on every
// listener, every request gets the answer of the table without the refused parts, which are
// returned.
//
// A listener's rules are made in five steps: each level's reachable routes and its catch-all become
// claims (claim.go); the claims of a host are packed into blocks (chain.go); blocks of several
// hosts are joined (join.go); each block becomes as few rules as its values allow (pack.go), in
// the cloud's spelling (spell.go).
func Lower(t *precedence.Table, c lb.Capabilities) (lb.LoadBalancer, *precedence.Table, []Refusal) {
	served, refusals := expressible(t, c)
	out := lb.LoadBalancer{
		Key:          t.Key,
		Digest:       lb.DigestOf(t.Settings),
		Settings:     t.Settings,
		Protection:   t.Protection,
		Protected:    c.DeletionProtection != "" && t.Settings.Attributes[c.DeletionProtection] == "true",
		Wanted:       len(t.Members) > 0,
		Listeners:    []lb.Listener{},
		TargetGroups: []lb.TargetGroup{},
	}
	paths := &pathSets{served.Comparer(), newNarrower()}
	left := mostRules(c)
	for _, l := range served.Listeners {
		lowered := lowerListener(served, l, c, paths, left)
		left -= len(lowered.Rules)
		out.Listeners = append(out.Listeners, lowered)
	}
	slices.SortFunc(out.Listeners, func(a, b lb.Listener) int { return int(a.Port - b.Port) })
	var unheard []Refusal
	out.TargetGroups, unheard = targetGroups(served, out.Listeners, c)
	out.Certificates = certificates(served, out.Listeners)
	return out, served, append(slices.Clip(refusals), unheard...)
}

// mostRules returns the number of rules at which lowering stops. A load balancer has no room for a
// tenth of them, so it is refused anyway.
func mostRules(c lb.Capabilities) int {
	if c.Rules == 0 {
		return math.MaxInt
	}
	return max(10*c.Rules, 2000)
}

func lowerListener(t *precedence.Table, l routing.Listener, c lb.Capabilities, paths *pathSets,
	mostRules int) lb.Listener {
	out := lb.Listener{Port: l.Port, Protocol: l.Protocol, Certificates: l.Certificates,
		Rules: []lb.Rule{}, Decided: l.Decided}
	claims := newClaims(t, l, paths)
	spell := newSpeller(c, l.Port)
	out.Default = claims.fallback.action
	for _, section := range sections(t.Levels(l.Port), spell, t.Precedence == routing.InOrder) {
		if len(out.Rules) > mostRules {
			break
		}
		for _, b := range paths.join(section.chains(claims)) {
			if len(out.Rules) > mostRules {
				break
			}
			out.Rules = append(out.Rules, spell.rules(b)...)
		}
	}
	out.Settings = lb.ListenerSettings{Inbound: l.Inbound, TLSPolicy: l.TLSPolicy,
		Attributes: l.Attributes, Mutual: l.Mutual, Tags: t.Settings.Tags,
		ClientSecrets: clientSecretsDigest(&out)}
	out.Verifies = l.Mutual.Verifies()
	out.Digest = lb.DigestOf(out.Settings)
	return out
}

// A section has levels whose rules are put into one order. catchAll marks the section that keeps names
// with too many labels from the wildcards of the next section, whose star would match them: they
// get the answer for hosts that no rule names.
type section struct {
	levels   []*precedence.Level
	catchAll bool
}

// sections returns a port's levels in the order of their rules: precise hosts and the wildcards
// that can be expressed exactly, the other wildcards from the longest to the shortest, each after
// its catch-all, and last the level for any host. If routes are in order, levels have routes of those
// below them, so that they share a section where that is possible.
func sections(levels []*precedence.Level, s *speller, inOrder bool) []section {
	var exact, rest section
	overlapping := map[int]*section{}
	for _, l := range levels {
		switch {
		case l.Host == routing.Any:
			rest.levels = append(rest.levels, l)
		case !s.needsCatchAll(l.Host):
			exact.levels = append(exact.levels, l)
		default:
			depth := strings.Count(string(l.Host), ".")
			if overlapping[depth] == nil {
				overlapping[depth] = &section{}
			}
			overlapping[depth].levels = append(overlapping[depth].levels, l)
		}
	}
	out := []section{exact}
	for _, depth := range slices.Backward(slices.Sorted(maps.Keys(overlapping))) {
		out = append(out, section{levels: overlapping[depth].levels, catchAll: true}, *overlapping[depth])
	}
	if inOrder && len(out) == 1 {
		out[0].levels = append(out[0].levels, rest.levels...)
		return out
	}
	return append(out, rest)
}

// chains returns the blocks of each of the section's hosts.
func (s section) chains(c *claims) []*chain {
	var chains []*chain
	byHost := map[routing.Host]*chain{}
	for _, l := range s.levels {
		host, own := l.Host, c.level(l)
		if s.catchAll && len(own) > 0 { // without rules, no guard is needed
			host = deeperNames(l.Host)
			own = c.unnamedClaims(host)
		}
		if len(own) > 0 {
			byHost[host] = &chain{blocks: c.paths.blocks(host, own),
				repeats: c.table.Precedence == routing.InOrder}
			chains = append(chains, byHost[host])
		}
	}
	for host, ch := range byHost {
		for _, less := range lessSpecific(host) {
			if under := byHost[less]; under != nil {
				ch.under = append(ch.under, under)
			}
		}
	}
	return chains
}

// lessSpecific returns the other hosts that cover a host.
func lessSpecific(h routing.Host) []routing.Host {
	switch parent, ok := h.Parent(); {
	case h == routing.Any:
		return nil
	case ok && !h.Wildcard():
		return []routing.Host{parent, routing.Any}
	}
	return []routing.Host{routing.Any}
}

// unnamedClaims returns the claims for names that no rule names, and last the default.
func (c *claims) unnamedClaims(names routing.Host) []claim {
	var out []claim
	for _, cl := range c.level(c.table.Level(c.port, routing.Any)) {
		if when, may := c.paths.hosts.onHost(cl.said, names); may {
			cl.when = when
			out = append(out, cl)
		}
	}
	last := c.fallback
	last.path = routing.Root
	return append(out, last)
}

// targetGroups returns the target groups of rules and defaults, and refusals of their attributes.
func targetGroups(t *precedence.Table, listeners []lb.Listener,
	c lb.Capabilities) (groups []lb.TargetGroup, refusals []Refusal) {
	used := map[lb.GroupID]bool{}
	sharers := map[lb.GroupID]string{}
	use := func(a lb.Action, who string) {
		for _, id := range a.Groups() {
			used[id] = true
			if a.Shares() && sharers[id] == "" {
				sharers[id] = who
			}
		}
	}
	for _, l := range listeners {
		for _, r := range l.Rules {
			who := "a rule"
			if len(r.Origin) > 0 {
				who = r.Origin[0].String()
			}
			use(r.Action, who)
		}
		use(l.Default, fmt.Sprintf("the default of port %d", l.Port))
	}
	groups = make([]lb.TargetGroup, 0, len(used))
	for _, id := range slices.Sorted(maps.Keys(used)) {
		b := t.Backends[id]
		if b.TargetGroup != "" { // others made it
			continue
		}
		attributes, refused := attributesOf(c, b, sharers[id])
		refusals = append(refusals, refused...)
		groups = append(groups, lb.TargetGroup{
			ID: id, Service: b.Service, Port: b.Port, TargetType: b.TargetType, Protocol: b.Protocol,
			Version: b.Version, Family: b.Family, Digest: lb.DigestOf(lb.GroupSettings{HealthCheck: b.Health,
				Attributes: attributes, Tags: t.Settings.Tags}),
			Provider: b.Provider, Health: b.Health, Attributes: attributes, Tags: t.Settings.Tags,
			NodeLabels: b.NodeLabels, Targets: c.Targets(b.TargetType, b.Targets),
		})
	}
	return groups, refusals
}

// certificates returns the certificates of the listeners that the provider must import.
func certificates(t *precedence.Table, listeners []lb.Listener) []lb.Certificate {
	used := map[lb.CertificateID]bool{}
	for _, l := range listeners {
		for _, id := range l.Certificates {
			used[id] = true
		}
	}
	var out []lb.Certificate
	for _, c := range t.Certificates {
		if used[c.ID] && len(c.Secrets) > 0 {
			out = append(out, lb.Certificate{
				ID: c.ID, Hosts: c.Hosts, Kind: c.Kind,
				Digest: lb.CertificateSettings{Tags: t.Settings.Tags}.Digest(), Tags: t.Settings.Tags,
				Secrets: c.Secrets, Pair: c.Pair, Origin: c.Origin,
			})
		}
	}
	slices.SortFunc(out, func(a, b lb.Certificate) int {
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out
}

// clientSecretsDigest returns a digest of the client secrets of a listener's actions; "" for none.
func clientSecretsDigest(l *lb.Listener) lb.Digest {
	given := map[string]bool{}
	for a := range l.SignIns() {
		if a.ClientSecret != "" {
			given[a.Key()+a.ClientSecret.Digest()] = true
		}
	}
	if len(given) == 0 {
		return ""
	}
	return lb.DigestOf(slices.Sorted(maps.Keys(given)))
}

package lowering

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file finds the parts of a table that a cloud's rules cannot express, and removes them before
// lowering, so that the rest is exact.

// A Refusal is a part of the table that cannot be served, with the reason.
type Refusal struct {
	Owner  routing.Owner
	Source diag.Source
	Ports  []int32
	Why    string
	Reason diag.Reason // "" is NotExpressible
}

// Diagnostic returns the diagnostic for the owner.
func (r Refusal) Diagnostic() diag.Diagnostic {
	message := r.Why
	if len(r.Ports) > 0 {
		message = fmt.Sprintf("not served on port %s: %s", joinPorts(r.Ports), r.Why)
	}
	return diag.Diagnostic{Severity: diag.Error, Reason: cmp.Or(r.Reason, diag.NotExpressible),
		Source: r.Source, Message: message, Ports: diag.PortsOf(r.Ports...)}
}

func joinPorts(ports []int32) string {
	out := ""
	for i, p := range ports {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprint(p)
	}
	return out
}

// expressible returns the table without the parts that the cloud cannot express, and these as
// refusals.
func expressible(t *precedence.Table, c lb.Capabilities) (*precedence.Table, []Refusal) {
	r := newRefuser(t, c)
	config := t.Config
	config.Listeners = r.open
	config.Routes = r.routes()
	config.Names = r.names()
	config.Defaults = r.defaults()
	config.Closed = r.closedHosts()
	if len(r.refusals) == 0 && len(r.closed) == 0 && !r.changed &&
		len(config.Closed) == len(t.Closed) {
		return t, nil
	}
	return precedence.NewWith(config, t.Comparer().Cache), r.refusals
}

// A refuser removes the parts that the cloud cannot express from a table.
type refuser struct {
	table    *precedence.Table
	caps     lb.Capabilities
	open     []routing.Listener
	closed   map[int32]string // by port, the reason why it is not opened
	spellers map[int32]*speller
	// protocols of the open ports
	protocols map[int32]routing.Protocol
	// by port, the wildcards of hosts that a rule for any host is repeated for
	hostWildcards map[int32]int
	portLimits    portLimits
	// by port, the hosts that a route for any host may be repeated for, apart from precise ones
	repeatedFor map[int32][]routing.Host
	refusals    []Refusal
	changed     bool            // without a refusal
	diagnosed   map[string]bool // by owner and reason
}

func newRefuser(t *precedence.Table, c lb.Capabilities) *refuser {
	r := &refuser{table: t, caps: c, closed: map[int32]string{}, spellers: map[int32]*speller{},
		protocols: map[int32]routing.Protocol{}, hostWildcards: map[int32]int{}, diagnosed: map[string]bool{},
		repeatedFor: map[int32][]routing.Host{}}
	for _, l := range t.Listeners {
		if why := whyNotProtected(c, l); why != "" {
			r.closed[l.Port] = why
			continue
		}
		r.open = append(r.open, l)
		r.spellers[l.Port], r.protocols[l.Port] = newSpeller(c, l.Port), l.Protocol
		r.hostWildcards[l.Port] = r.spellers[l.Port].hostWildcardsOf(t.Levels(l.Port))
		r.repeatedFor[l.Port] = hostsOfRepeats(t, l.Port, r.spellers[l.Port])
	}
	r.portLimits = newPortLimits(t, r.open, c)
	return r
}

// onPorts returns the ports on which a part can be served, and adds refusals for the others.
func (r *refuser) onPorts(ports []int32, owner routing.Owner, at diag.Source,
	cannot func(port int32) string) []int32 {
	kept := ports[:0:0]
	refused := map[string][]int32{} // by reason
	for _, port := range ports {
		why, closed := r.closed[port]
		if !closed {
			why = cannot(port)
		}
		if why != "" {
			refused[why] = append(refused[why], port)
		} else {
			kept = append(kept, port)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		r.refusals = append(r.refusals, Refusal{Owner: owner, Source: at, Ports: refused[why], Why: why})
	}
	return kept
}

// actionOrUnavailable returns an action, or 503 if it needs a sign-in, a version of HTTP or a target
// type that the cloud does not have. It adds refusals for targets that cannot be reached.
func (r *refuser) actionOrUnavailable(a routing.Action, owner routing.Owner,
	at diag.Source) routing.Action {
	if why := whyNotReachable(r.caps, r.table, a); why != "" && !r.diagnosed[owner.String()+why] {
		r.diagnosed[owner.String()+why] = true
		r.refusals = append(r.refusals,
			Refusal{Owner: owner, Source: at, Why: why, Reason: diag.ExternalNameRefused})
	}
	if why := whyNoIPv6(r.caps, r.table, a); why != "" {
		r.refusals = append(r.refusals, Refusal{Owner: owner, Source: at, Why: why + unanswered,
			Reason: diag.IPFamilyRefused})
		return a.Unavailable()
	}
	if why := cmp.Or(whyNoGroup(r.caps, r.table, a), whyNoSignIn(r.caps, r.table, a)); why != "" {
		r.refusals = append(r.refusals, Refusal{Owner: owner, Source: at, Why: why + unanswered})
		return a.Unavailable()
	}
	return a
}

func (r *refuser) routes() []routing.Route {
	out := make([]routing.Route, 0, len(r.table.Routes))
	for _, route := range r.table.Routes {
		route.Action = r.actionOrUnavailable(route.Action, route.Owner, route.Source)
		route.Action.SSLRedirect = r.expressibleRedirect(&route)
		kept := r.onPorts(route.Ports, route.Owner, route.Source, func(port int32) string {
			return r.whyNotServed(&route, port)
		})
		// If the host cannot be expressed, its name is refused.
		route.Ports = slices.DeleteFunc(kept, func(port int32) bool {
			return r.spellers[port].whyNoHost(route.Host) != ""
		})
		if len(route.Ports) > 0 {
			out = append(out, route)
		}
	}
	return out
}

// whyNotServed returns why a route cannot be served on a port, apart from its host, or "".
func (r *refuser) whyNotServed(route *routing.Route, port int32) string {
	for _, part := range r.table.Parts(route, r.protocols[port]) {
		if why := cmp.Or(r.portLimits.whyNot(part.Action, port),
			r.spellers[port].whyNoRule(part, r.hostWildcards[port], r.repeatedFor[port])); why != "" {
			return why
		}
	}
	return ""
}

// expressibleRedirect returns the redirect to HTTPS of a route: for all requests if there can be no
// rule for those that it lets through. It adds a refusal unless their action is the reason, which
// the route would have been refused for.
func (r *refuser) expressibleRedirect(route *routing.Route) *routing.SSLRedirect {
	to := route.Action.SSLRedirect
	if to == nil || to.Challenges {
		return to
	}
	for _, port := range route.Ports {
		if r.protocols[port] != routing.HTTP {
			continue
		}
		for _, part := range r.table.Parts(route, routing.HTTP) {
			if part.Through == nil {
				continue
			}
			action := cmp.Or(r.portLimits.whyNot(part.Action, port), whyNotPossible(r.caps, part.Action))
			rule := r.spellers[port].whyNoRule(part, r.hostWildcards[port], r.repeatedFor[port])
			if action == "" && rule == "" {
				continue
			}
			if action == "" {
				r.refusals = append(r.refusals, Refusal{Owner: route.Owner, Source: route.Source,
					Why: fmt.Sprintf("its requests below %s are redirected to HTTPS, too: %s",
						routing.ChallengePath.Value, rule)})
			}
			r.changed = true
			return &routing.SSLRedirect{Port: to.Port, Challenges: true}
		}
	}
	return to
}

func (r *refuser) names() []routing.Name {
	out := slices.Clone(r.table.Names)
	for i := range out {
		n := &out[i]
		n.Ports = slices.DeleteFunc(slices.Clone(n.Ports), func(port int32) bool {
			return r.closed[port] != ""
		})
		n.Unsaid = nil
		why := ""
		for _, l := range r.open {
			if n.Listed != nil && !slices.Contains(n.Ports, l.Port) {
				continue
			}
			if because := r.spellers[l.Port].whyNoHost(n.Host); because != "" {
				n.Unsaid, why = append(n.Unsaid, l.Port), because
			}
		}
		if why != "" {
			r.refusals = append(r.refusals, Refusal{Owner: n.Owner, Source: n.Source, Ports: n.Unsaid,
				Why: why + "; requests for it are answered as if no rule named it"})
		}
	}
	return out
}

// closedHosts returns the closed hosts that a rule can name. The others are not closed.
func (r *refuser) closedHosts() []routing.ClosedHost {
	return slices.DeleteFunc(slices.Clone(r.table.Closed), func(c routing.ClosedHost) bool {
		speller := r.spellers[c.Port]
		return speller == nil || speller.whyNoHost(c.Host) != ""
	})
}

func (r *refuser) defaults() []routing.Default {
	var out []routing.Default
	repeating := r.repeatingDefaults()
	for _, d := range r.table.Defaults {
		if repeating[d.Owner.String()] {
			r.refusals = append(r.refusals,
				Refusal{Owner: d.Owner, Source: d.Source, Reason: diag.TooComplex,
					Why: fmt.Sprintf(
						"the class lets requests that miss the paths of a host go on to the paths of "+
							"less specific hosts before its default backend, and for the hosts that this one is "+
							"to answer for these are more than %d in all: name fewer hosts, or write fewer paths "+
							"without a host", mostRepeated)})
			continue
		}
		d.Ports = r.onPorts(d.Ports, d.Owner, d.Source, func(int32) string { return "" })
		d.Action = r.actionOrUnavailable(d.Action, d.Owner, d.Source)
		if why := cmp.Or(whyNotPossible(r.caps, d.Action), r.portLimits.whyNoDefault(d)); why != "" {
			r.refusals = append(r.refusals, Refusal{Owner: d.Owner, Source: d.Source, Why: why})
			continue
		}
		out = append(out, d)
	}
	return out
}

// mostRepeated is the most routes of less specific hosts that are repeated because of the default
// backend of one Ingress.
const mostRepeated = 100_000

// repeatingDefaults returns the Ingresses whose default backends would cause more repeated routes:
// before a default, the routes that a host falls through to are repeated for it.
func (r *refuser) repeatingDefaults() map[string]bool {
	t := r.table
	if t.HostMiss != routing.MissFallsThrough || len(t.Defaults) == 0 {
		return nil
	}
	repeated, out := map[string]int{}, map[string]bool{}
	for port := range r.spellers {
		for _, l := range t.Levels(port) {
			if l.Host == routing.Any || l.Miss == nil || l.Closed {
				continue
			}
			owner := l.Miss.Owner.String()
			for _, next := range l.Next {
				repeated[owner] += len(next.Routes)
			}
			out[owner] = out[owner] || repeated[owner] > mostRepeated
		}
	}
	return out
}

// whyNoRule returns why a route can have no rule on this port, apart from its host, or "".
// wildcardsOfHosts is the number of wildcards in the hosts for which a route for any host is
// repeated.
func (s *speller) whyNoRule(r *routing.Route, wildcardsOfHosts int, repeatedFor []routing.Host) string {
	if why := whyNotPossible(s.caps, r.Action); why != "" {
		return why
	}
	when, _ := r.When.OnHost(r.Host)
	onHost, when := when.Host(), besidesHost(when)
	if why := whyNotSplit(s.caps, when); why != "" {
		return why
	}
	hosts := s.hostWildcards(r.Host)
	if r.Host == routing.Any {
		hosts = wildcardsOfHosts
	}
	further := mostWildcards(s.caps, when)
	if onHost != nil {
		all := []routing.Host{r.Host}
		if r.Host == routing.Any {
			all = append(all, repeatedFor...)
		}
		if why := s.whyNoHostCondition(onHost, all, further); why != "" {
			return why
		}
		for _, h := range all {
			atoms, _ := s.conditionAtoms(onHost, h, 0, further)
			hosts = max(hosts, wildcardsOfAtoms(atoms))
		}
	}
	if !allowsWildcards(s.caps, hosts+further) {
		return fmt.Sprintf(
			"its conditions have too many wildcards: a rule of %s has room for %d besides the %d of hosts",
			s.caps.Name, s.caps.WildcardsPerRule-hosts, hosts)
	}
	if r.Path != routing.Root {
		switch said := s.path(r.Path); {
		case said.impossible():
			return fmt.Sprintf("%s has no form that a rule of %s accepts: %s", r.Path, s.caps.Name,
				s.limits())
		case s.withHostWildcards(said, hosts+further).impossible():
			others := "hosts"
			if further > 0 {
				others = "hosts and conditions"
			}
			return fmt.Sprintf(
				"%s has too many wildcards: a rule of %s has room for %d besides the %d of %s, and regular "+
					"expressions are off",
				r.Path, s.caps.Name, s.caps.WildcardsPerRule-hosts-further, hosts+further, others)
		}
	}
	return ""
}

// hostsOfRepeats returns the wildcards of a port that routes for any host may be repeated for.
func hostsOfRepeats(t *precedence.Table, port int32, s *speller) []routing.Host {
	var out []routing.Host
	for _, l := range t.Levels(port) {
		if !l.Host.Wildcard() {
			continue
		}
		if t.HostMiss == routing.MissFallsThrough {
			out = append(out, l.Host)
		}
		if s.needsCatchAll(l.Host) {
			out = append(out, deeperNames(l.Host))
		}
	}
	return out
}

func (s *speller) whyNoHost(h routing.Host) string {
	if h == routing.Any || !s.host(h).impossible() && (!s.needsCatchAll(h) ||
		!s.host(deeperNames(h)).impossible()) {
		return ""
	}
	if s.portInHost() && !s.caps.Regex {
		return fmt.Sprintf(
			"whether %s matches hosts on port %d without their port is undocumented, and regular "+
				"expressions are off", s.caps.Name, s.port)
	}
	return fmt.Sprintf("host %s has no form that a rule of %s accepts: %s", h, s.caps.Name, s.limits())
}

// limits describes the limits that can forbid a spelling.
func (s *speller) limits() string {
	limits := "some character"
	if s.caps.ValueLength > 0 {
		limits += fmt.Sprintf(" or the limit of %d characters is in the way", s.caps.ValueLength)
	} else {
		limits += " is in the way"
	}
	if !s.caps.Regex {
		limits += ", and regular expressions are off"
	}
	return limits
}

// unanswered ends messages about requests that the cloud cannot answer as wanted.
const unanswered = "; requests are answered 503"

// whyNoSignIn returns why users cannot sign in, or "".
func whyNoSignIn(c lb.Capabilities, t *precedence.Table, a routing.Action) string {
	if a.Auth == nil {
		return ""
	}
	if !c.Auth {
		return c.Name + " does not ask users to sign in"
	}
	for _, w := range a.Forward {
		if v := t.Backends[w.Backend].Version; v != "" && v != routing.VersionHTTP1 {
			return fmt.Sprintf("%s does not ask users to sign in on the way to %s, which speaks %s", c.Name,
				w.Backend, v)
		}
	}
	return whyNotPossible(c, a)
}

// whyNotPossible returns why the cloud cannot have an action, or "".
func whyNotPossible(c lb.Capabilities, a routing.Action) string {
	if most := c.TargetsPerForward; most > 0 && len(a.Forward) > most {
		return fmt.Sprintf("it forwards to %d Services, and a rule of %s to at most %d", len(a.Forward),
			c.Name, most)
	}
	if c.NoStickyForward && a.StickySeconds > 0 && len(a.Forward) > 1 {
		return c.Name + " does not keep clients with one of several Services"
	}
	for _, w := range a.Forward {
		if c.MaxWeight > 0 && int(w.Weight) > c.MaxWeight && len(a.Forward) > 1 {
			return fmt.Sprintf("%s has a weight of %d in all, and %s allows %d", w.Backend, w.Weight, c.Name,
				c.MaxWeight)
		}
	}
	if a.Fixed != nil && c.BodyLength > 0 && len(a.Fixed.Body) > c.BodyLength {
		return fmt.Sprintf("its body has %d bytes, and %s allows %d", len(a.Fixed.Body), c.Name,
			c.BodyLength)
	}
	if f := a.Fixed; f != nil && f.Body != "" && len(c.ContentTypes) > 0 &&
		!slices.Contains(c.ContentTypes, f.ContentType) {
		return fmt.Sprintf("a fixed response of %s cannot be %s, but one of %s", c.Name,
			diag.Cut(f.ContentType), strings.Join(c.ContentTypes, ", "))
	}
	if a.Fixed != nil && c.NoFixed3xx && a.Fixed.Status/100 == 3 {
		return fmt.Sprintf("a fixed response of %s cannot have status %d", c.Name, a.Fixed.Status)
	}
	if a.Rewrite != nil && !c.Rewrites {
		return c.Name + " does not rewrite requests"
	}
	if a.Rewrite != nil && a.Redirect != nil && !c.RewritesRedirects {
		if c.Undocumented {
			return c.Name + " is not documented to rewrite requests that it redirects: `undocumented: Accept` of the class tries it"
		}
		return c.Name + " does not rewrite requests that it redirects"
	}
	if r := a.Redirect; r != nil && len(c.RedirectStatuses) > 0 &&
		!slices.Contains(c.RedirectStatuses, r.Status) {
		return fmt.Sprintf("a redirect of %s cannot have status %d, but one of %s", c.Name, r.Status,
			strings.Trim(strings.ReplaceAll(fmt.Sprint(c.RedirectStatuses), " ", ", "), "[]"))
	}
	if r := a.Redirect; r != nil && c.ValueLength > 0 &&
		max(len(r.Host), len(r.Path), len(r.Query)) > c.ValueLength {
		return fmt.Sprintf("a part of its redirect is longer than the %d characters that %s allows",
			c.ValueLength, c.Name)
	}
	return ""
}

// whyNotReachable returns why the cloud cannot reach the targets of an action's backend, or "". Its
// requests get 503, as for one without targets.
func whyNotReachable(c lb.Capabilities, t *precedence.Table, a routing.Action) string {
	for _, w := range a.Forward {
		if b := t.Backends[w.Backend]; c.AddressesOnly && b.TargetType != lb.InstanceTarget &&
			slices.ContainsFunc(b.Targets, lb.IsNamed) {
			return fmt.Sprintf(
				"Service %s is of type ExternalName, and %s sends requests to addresses only%s", b.Service,
				c.Name, unanswered)
		}
	}
	return ""
}

// whyNoGroup returns why the cloud has no target group of the version of HTTP, or of the target
// type, of a backend; "" if it has.
func whyNoGroup(c lb.Capabilities, t *precedence.Table, a routing.Action) string {
	for _, w := range a.Forward {
		b := t.Backends[w.Backend]
		switch {
		case b.TargetGroup != "" && !c.OtherTargetGroups:
			return fmt.Sprintf("it forwards to target group %s, and %s forwards to none that others made",
				b.TargetGroup, c.Name)
		case b.TargetGroup != "":
			continue
		}
		if slices.Contains(c.VersionsRefused, b.Version) {
			return fmt.Sprintf("Service %s speaks %s, and %s does not", b.Service, b.Version, c.Name)
		}
		if kind := cmp.Or(b.TargetType, "ip"); slices.Contains(c.TargetTypesRefused, kind) {
			return fmt.Sprintf("the targets of Service %s are of type %s, and those of %s are not",
				b.Service, kind, c.Name)
		}
	}
	return ""
}

// whyNoIPv6 returns why requests cannot be sent to the IPv6 targets of an action; "" if they can.
func whyNoIPv6(c lb.Capabilities, t *precedence.Table, a routing.Action) string {
	family := cmp.Or(t.Settings.IPFamily, "ipv4")
	if !c.IPv6NeedsDualStack || family != "ipv4" {
		return ""
	}
	for _, w := range a.Forward {
		if b := t.Backends[w.Backend]; b.Family == "ipv6" {
			return fmt.Sprintf("Service %s has IPv6 addresses only, and the `ipFamily` of the class is "+
				"ipv4: set it to dualstack, or give the Service IPv4 addresses", b.Service)
		}
	}
	return ""
}

package foreign

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// This file decides the effects of annotations by their values.

// off reports whether a value switches a setting off.
func off(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "false", "off", "no", "none", "0", "disable", "disabled":
		return true
	}
	return false
}

func harmlessIf(harmless bool, effect Effect) Effect {
	if harmless {
		return Harmless
	}
	return effect
}

// switched is for settings that change answers if they are on.
var switched = &judgement{"unless it is off", func(u use) Effect {
	return harmlessIf(off(u.value), Changes)
}}

// unlessOff is for settings that restrict if they are on: booleans, modes of which one is off, and
// limits, of which 0 is none.
var unlessOff = &judgement{"unless it is empty or off", func(u use) Effect {
	return harmlessIf(off(u.value), Restricts)
}}

// byItsName is for the other names of a prefix, which are not in the table.
var byItsName = &judgement{"unless it resembles a name that restricts, or a word of it says that " +
	"it does; then it **restricts**", func(u use) Effect {
	return harmlessIf(strings.TrimSpace(u.value) == "", Changes)
}}

// allowedRanges is for lists of clients that may connect.
var allowedRanges = &judgement{
	"unless the list is empty, has everybody in it, or has all in it who may connect here",
	func(u use) Effect { return u.allowing(u.value) },
}

// nginxRanges is for the lists of ingress-nginx, which denies a location to all clients if the list
// is empty or invalid: internal/ingress/annotations/ipallowlist/main.go.
var nginxRanges = &judgement{
	"unless the list has everybody in it, or all who may connect here",
	func(u use) Effect {
		listed := strings.Trim(u.value, ", \t\n") != ""
		return harmlessIf(listed && u.allowing(u.value) == Harmless, Restricts)
	},
}

// always is for settings that restrict with any value, even none.
var always = &judgement{"", func(use) Effect { return Restricts }}

// albRanges is for the AWS Load Balancer Controller, which admits clients of either list:
// docs/guide/ingress/annotations.md, inbound-cidrs and security-group-prefix-lists.
var albRanges = &judgement{
	allowedRanges.says,
	func(u use) Effect {
		return u.allowing(u.value + "," + u.sibling("inbound-cidrs") + "," +
			u.sibling("security-group-prefix-lists"))
	},
}

// allowing returns the effect of a list of clients that may connect.
func (u use) allowing(list string) Effect {
	asked := listEntries(list)
	everybody := slices.Contains(asked, "0.0.0.0/0") && (slices.Contains(asked, "::/0") ||
		!u.served.DualStack)
	if slices.ContainsFunc(asked, func(entry string) bool { return !isSource(entry) }) {
		return Restricts // an unknown entry may exclude clients, as !10.0.0.0/8 does
	}
	if len(asked) == 0 || everybody || len(u.served.Inbound) > 0 &&
		!slices.ContainsFunc(u.served.Inbound, func(s string) bool { return !isPartOf(s, asked) }) {
		return Harmless
	}
	return Restricts
}

// listEntries returns the entries of a list, in any of its forms.
func listEntries(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool {
		return r == ',' || r == ';' || r == ' ' || r == '\n' || r == '\t' || r == '"' ||
			r == '[' || r == ']'
	})
}

// isSource reports whether an entry of a list of allowed clients is a range, an address, or a
// prefix list of AWS.
func isSource(entry string) bool {
	_, notRange := netip.ParsePrefix(entry)
	_, notAddress := netip.ParseAddr(entry)
	return notRange == nil || notAddress == nil || strings.HasPrefix(entry, "pl-")
}

// isPartOf reports whether an address range, or a prefix list by name, is part of one of others.
func isPartOf(source string, others []string) bool {
	if slices.Contains(others, source) {
		return true
	}
	p, err := netip.ParsePrefix(source)
	return err == nil && slices.ContainsFunc(others, func(other string) bool {
		o, err := netip.ParsePrefix(other)
		if alone, notRange := netip.ParseAddr(other); notRange == nil {
			o, err = netip.PrefixFrom(alone, alone.BitLen()), nil
		}
		return err == nil && o.Bits() <= p.Bits() && o.Contains(p.Addr())
	})
}

// plain reports whether requests are forwarded that came over HTTP.
func (s Served) plain() bool {
	return !s.ForwardsNothing && !s.Redirected &&
		slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Protocol == "HTTP" })
}

// onlySecure is for settings that permit no HTTP port with some values: without them, requests
// would be answered without encryption.
func onlySecure(says string, of func(use) bool) *judgement {
	return &judgement{says + inTheClear, func(u use) Effect {
		return harmlessIf(!of(u) || !u.served.plain(), Restricts)
	}}
}

const inTheClear = ", and an HTTP port forwards requests here"

// redirecting is for settings that redirect HTTP to HTTPS. On a port without TLS, requests would be
// forwarded in the clear that the other controller redirects.
var redirecting = &judgement{"unless it is off" + securedBy, encrypted}

// certified is for settings that give the Ingress a certificate, so its author expects HTTPS.
var certified = &judgement{"unless it is empty or off" + securedBy, encrypted}

const securedBy = "; where no HTTP port forwards requests here, it is a change"

func encrypted(u use) Effect {
	if u.served.plain() {
		return harmlessIf(off(u.value), Restricts)
	}
	return harmlessIf(off(u.value), Changes)
}

// hasValue returns a function that reports whether the value is one of these.
func hasValue(values ...string) func(use) bool {
	return func(u use) bool {
		return slices.Contains(values, strings.ToLower(strings.TrimSpace(u.value)))
	}
}

// isBool returns a function that reports whether strconv.ParseBool reads the value as want. The
// controllers read their booleans with it: 1, t, T, TRUE, true, True, and 0, f, F, FALSE, false,
// False. That is so in
//   - ingress-nginx, internal/ingress/annotations/parser/main.go, parseBool,
//   - ingress-gce, pkg/annotations/ingress.go, AllowHTTP and SuppressFirewallXPNError,
//   - HAProxy Ingress, pkg/converters/ingress/annotations/mapper.go, Bool,
//   - Traefik, in fields that are booleans: github.com/traefik/paerser parser/element_fill.go.
//
// All of them ignore values that it cannot read.
func isBool(want bool) func(use) bool {
	return func(u use) bool {
		got, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(u.value)))
		return err == nil && got == want
	}
}

// unlessInternal is for settings that make a load balancer internal with one of these values.
func unlessInternal(values ...string) *judgement {
	return &judgement{"if it is " + strings.Join(values, " or ") + ", and the load balancer faces " +
		"the internet here; otherwise it is a change, or nothing", func(u use) Effect {
		isPrivate := hasValue(values...)(u) || slices.Contains(values, "true") && isBool(true)(u)
		switch {
		case strings.TrimSpace(u.value) == "":
			return Harmless
		case isPrivate:
			return harmlessIf(u.served.Internal, Restricts)
		default:
			return harmlessIf(!u.served.Internal || off(u.value), Changes)
		}
	}}
}

// firewallSwitch is for settings that switch a web application firewall on.
var firewallSwitch = &judgement{"unless it is off, or a web ACL stands before the load balancer here",
	func(u use) Effect { return harmlessIf(off(u.value) || u.served.WebACL != "", Restricts) }}

// webACLName is for settings that name a web ACL of AWS. Another one may admit requests that this
// one refuses. Names are unique in an account and a region.
var webACLName = &judgement{"unless it is off, or is the web ACL that stands before the load " +
	"balancer here", func(u use) Effect {
	return harmlessIf(off(u.value) ||
		sameWebACL(strings.TrimSpace(u.value), u.served.WebACL), Restricts)
}}

// sameWebACL reports whether two names, IDs or ARNs are of the same web ACL.
func sameWebACL(a, b string) bool {
	aARN, bARN := strings.HasPrefix(a, "arn:"), strings.HasPrefix(b, "arn:")
	switch {
	case a == b:
		return true
	case aARN && bARN:
		return false
	case aARN:
		return b != "" && slices.Contains(namesInARN(a), b)
	}
	return bARN && slices.Contains(namesInARN(b), a)
}

// namesInARN returns the name and the ID in the ARN of a web ACL:
// arn:aws:wafv2:REGION:ACCOUNT:regional/webacl/NAME/ID.
func namesInARN(arn string) []string {
	if parts := strings.Split(arn, "/"); len(parts) == 4 {
		return parts[2:]
	}
	return nil
}

// policed is for settings that name a policy of a firewall other than AWS WAF.
var policed = &judgement{"unless it is off", func(u use) Effect {
	return harmlessIf(off(u.value), Restricts)
}}

// wallarm is for the mode of Wallarm.
var wallarm = &judgement{"if it is block or safe_blocking, or another that is not off or " +
	"monitoring, and no web ACL stands before the load balancer here", func(u use) Effect {
	return harmlessIf(hasValue("monitoring")(u) || firewallSwitch.of(u) == Harmless, Restricts)
}}

// grouping is for settings that name security groups, each of which admits more clients.
var grouping = &judgement{"unless all security groups of the class are among those that it names",
	func(u use) Effect {
		asked := listEntries(u.value)
		missing := slices.ContainsFunc(u.served.SecurityGroups, func(g string) bool {
			return !slices.Contains(asked, g)
		})
		return harmlessIf(strings.TrimSpace(u.value) == "" || len(u.served.SecurityGroups) > 0 &&
			!missing, Restricts)
	}}

// dependingOn is for settings that have an effect only with another one, which off reports as
// switched off.
func dependingOn(name string, off func(string) bool) *judgement {
	return &judgement{"unless " + name + " is off", func(u use) Effect {
		_, said := u.annotations[u.stem+name]
		return harmlessIf(strings.TrimSpace(u.value) == "" || said && off(u.sibling(name)), Restricts)
	}}
}

// besideVerify is for settings of client certificates of ingress-nginx. It ignores them without
// auth-tls-secret. It reads any auth-tls-verify-client other than on, off, optional and
// optional_no_ca as on, and a missing one, too (internal/ingress/annotations/authtls/main.go,
// authVerifyClientRegex and defaultAuthVerifyClient). With optional a certificate that is sent is
// verified, and with optional_no_ca it is handed to the pods, which decide. HAProxy Ingress reads
// them likewise (pkg/converters/ingress/annotations/host.go, setAuthTLSConfig).
var besideVerify = dependingOn("auth-tls-verify-client", func(value string) bool {
	return value == "off"
})

// list returns the parts of a value with commas between them, in lower case.
func (u use) list() []string {
	out := strings.Split(strings.ToLower(u.value), ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// empty reports whether a JSON value is empty.
func empty(value string) bool {
	switch strings.TrimSpace(value) {
	case "", "[]", "{}", "null":
		return true
	}
	return false
}

var conditional = &judgement{"unless it is empty", func(u use) Effect {
	return harmlessIf(empty(u.value), Restricts)
}}

// albListens is for the ports of the AWS Load Balancer Controller:
// docs/guide/ingress/annotations.md, listen-ports.
var albListens = &judgement{"if the Ingress is served on a port here that is not listed; " +
	"otherwise it is a change, or nothing", func(u use) Effect {
	if strings.TrimSpace(u.value) == "" {
		return Harmless
	}
	var listed []map[string]int32
	if json.Unmarshal([]byte(u.value), &listed) != nil {
		return Restricts
	}
	asked := map[Port]bool{}
	for _, entry := range listed {
		for protocol, number := range entry {
			asked[Port{protocol, number}] = true
		}
	}
	for _, p := range u.served.Ports {
		if !asked[p] {
			return Restricts
		}
		delete(asked, p)
	}
	if u.served.TLS {
		delete(asked, Port{"HTTPS", 443})
	}
	return harmlessIf(len(asked) == 0, Changes)
}}

// exactPaths is for settings that make paths exact with one of these values.
func exactPaths(values ...string) *judgement {
	return &judgement{"if it is " + strings.Join(values, " or ") + ", and a path is served for more " +
		"than itself here; otherwise others are a change", func(u use) Effect {
		switch {
		case strings.TrimSpace(u.value) == "":
			return Harmless
		case hasValue(values...)(u):
			return harmlessIf(!u.served.Wider, Restricts)
		}
		return Changes
	}}
}

// nginxListens is for the HTTP ports of the controller of NGINX, by their numbers:
// docs.nginx.com/nginx-ingress-controller/configuration/ingress-resources/advanced-configuration-with-annotations.
var nginxListens = &judgement{"if the Ingress is served on an HTTP port here that is not listed; " +
	"otherwise it is a change, or nothing", func(u use) Effect {
	asked := listEntries(u.value)
	if len(asked) == 0 {
		return Harmless
	}
	var served []string
	for _, p := range u.served.Ports {
		if p.Protocol == "HTTP" {
			served = append(served, strconv.Itoa(int(p.Number)))
		}
	}
	if slices.ContainsFunc(served, func(number string) bool {
		return !slices.Contains(asked, number)
	}) {
		return Restricts
	}
	return harmlessIf(!slices.ContainsFunc(asked, func(number string) bool {
		return !slices.Contains(served, number)
	}), Changes)
}}

// albCertificate is for a certificate, which without listen-ports means HTTPS 443 only:
// docs/guide/ingress/annotations.md, "defaults to '[{"HTTP": 80}]' or '[{"HTTPS": 443}]' depending
// on whether certificate-arn is specified".
var albCertificate = &judgement{"if listen-ports is not there and the Ingress is served on an " +
	"HTTP port here; otherwise it is a change", func(u use) Effect {
	switch {
	case strings.TrimSpace(u.value) == "":
		return Harmless
	case u.sibling("listen-ports") == "" && u.served.plain():
		return Restricts
	}
	return Changes
}}

// albMutual is for the mutual authentication of ports: off, passthrough or verify.
var albMutual = &judgement{"unless every port has the mode off", func(u use) Effect {
	var ports []struct {
		Mode string `json:"mode"`
	}
	if json.Unmarshal([]byte(u.value), &ports) != nil {
		return harmlessIf(off(u.value), Restricts)
	}
	for _, p := range ports {
		if p.Mode != "off" {
			return Restricts
		}
	}
	return Harmless
}}

// albActions is for actions, which change the backend. Those of Alibaba's controller can limit
// rates.
var albActions = &judgement{"if it limits the rate of requests; otherwise it is a change",
	func(u use) Effect {
		switch {
		case empty(u.value):
			return Harmless
		case strings.Contains(strings.ToLower(u.value), "trafficlimit"):
			return Restricts
		}
		return Changes
	}}

// albTargets is for the type of targets.
var albTargets = &judgement{"unless it is what requests are sent to here", func(u use) Effect {
	return harmlessIf(strings.TrimSpace(u.value) == "" || u.value == u.served.TargetType, Changes)
}}

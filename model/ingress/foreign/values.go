package foreign

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// This file judges annotations by their values, where these decide whether anything is asked for.

// off reports whether a value asks for nothing.
func off(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "false", "off", "no", "none", "0", "disable", "disabled":
		return true
	}
	return false
}

func unless(harmless bool, effect Effect) Effect {
	if harmless {
		return Harmless
	}
	return effect
}

// switched are settings that change something where they are switched on.
var switched = &judgement{"unless it is off", func(u use) Effect {
	return unless(off(u.value), Changes)
}}

// unlessOff are settings that restrict where they are switched on: booleans, modes of which one is
// off, and limits, of which 0 is none.
var unlessOff = &judgement{"unless it is empty or off", func(u use) Effect {
	return unless(off(u.value), Restricts)
}}

// byItsName are the names that are left of a prefix: what they do is not in the table.
var byItsName = &judgement{"unless it resembles a name that restricts, or a word of it says that " +
	"it does; then it **restricts**", func(u use) Effect {
	return unless(strings.TrimSpace(u.value) == "", Changes)
}}

// allowedRanges reads lists of clients that may connect.
var allowedRanges = &judgement{
	"unless the list is empty, has everybody in it, or has all in it who may connect here",
	func(u use) Effect { return u.allowing(u.value) },
}

// nginxRanges are those of ingress-nginx, which denies a location to everybody where the list is
// empty or cannot be read: internal/ingress/annotations/ipallowlist/main.go.
var nginxRanges = &judgement{
	"unless the list has everybody in it, or all who may connect here",
	func(u use) Effect {
		return unless(strings.Trim(u.value, ", \t\n") != "" && u.allowing(u.value) == Harmless, Restricts)
	},
}

// always are settings that restrict without a value, too.
var always = &judgement{"", func(use) Effect { return Restricts }}

// albRanges are those of the AWS Load Balancer Controller, which admits clients of either list:
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
	asked := listed(list)
	everybody := slices.Contains(asked, "0.0.0.0/0") && (slices.Contains(asked, "::/0") ||
		!u.served.DualStack)
	if slices.ContainsFunc(asked, func(entry string) bool { return !isSource(entry) }) {
		return Restricts // what is not understood may exclude clients, as !10.0.0.0/8 does
	}
	if len(asked) == 0 || everybody || len(u.served.Inbound) > 0 &&
		!slices.ContainsFunc(u.served.Inbound, func(s string) bool { return !within(s, asked) }) {
		return Harmless
	}
	return Restricts
}

// listed are the entries of a list, however it is written.
func listed(value string) []string {
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

// within reports whether a range of addresses, or a list of them by name, is part of one of others.
func within(source string, others []string) bool {
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

// plain reports whether requests are answered over HTTP.
func (s Served) plain() bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Protocol == "HTTP" })
}

// onlySecure are settings that leave no HTTP port where their value says so: requests would be
// answered in the clear that their author wanted encrypted.
func onlySecure(says string, of func(use) bool) *judgement {
	return &judgement{says + ", and the Ingress is served on an HTTP port here", func(u use) Effect {
		return unless(!of(u) || !u.served.plain(), Restricts)
	}}
}

// valued are settings that keep to HTTPS with one of some values.
func valued(values ...string) func(use) bool {
	return func(u use) bool {
		return slices.Contains(values, strings.ToLower(strings.TrimSpace(u.value)))
	}
}

// isBool are settings that keep to HTTPS with one of the values that strconv.ParseBool reads as
// want. The controllers read their booleans with it: 1, t, T, TRUE, true, True, and 0, f, F, FALSE,
// false, False. That is so in
//   - ingress-nginx, internal/ingress/annotations/parser/main.go, parseBool,
//   - ingress-gce, pkg/annotations/ingress.go, AllowHTTP and SuppressFirewallXPNError,
//   - HAProxy Ingress, pkg/converters/ingress/annotations/mapper.go, Bool,
//   - Traefik, in fields that are booleans: github.com/traefik/paerser parser/element_fill.go.
//
// All of them take a value that it cannot read as if there were none.
func isBool(want bool) func(use) bool {
	return func(u use) bool {
		got, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(u.value)))
		return err == nil && got == want
	}
}

// private are settings that keep a load balancer from the internet with one of some values.
func private(values ...string) *judgement {
	return &judgement{"if it is " + strings.Join(values, " or ") + ", and the load balancer faces " +
		"the internet here; otherwise it is a change, or nothing", func(u use) Effect {
		isPrivate := valued(values...)(u) || slices.Contains(values, "true") && isBool(true)(u)
		switch {
		case strings.TrimSpace(u.value) == "":
			return Harmless
		case isPrivate:
			return unless(u.served.Internal, Restricts)
		default:
			return unless(!u.served.Internal || off(u.value), Changes)
		}
	}}
}

// guarding are settings that switch a web application firewall on.
var guarding = &judgement{"unless it is off, or a web ACL stands before the load balancer here",
	func(u use) Effect { return unless(off(u.value) || u.served.WebACL != "", Restricts) }}

// guardedBy are settings that name a web ACL of AWS. Another one may let through what this one
// keeps away. In an account and a region no two have the same name.
var guardedBy = &judgement{"unless it is off, or is the web ACL that stands before the load " +
	"balancer here", func(u use) Effect {
	return unless(off(u.value) || sameWebACL(strings.TrimSpace(u.value), u.served.WebACL), Restricts)
}}

// sameWebACL reports whether one web ACL is another, each by its name, its ID or its ARN.
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

// namesInARN are the name and the ID in the ARN of a web ACL:
// arn:aws:wafv2:REGION:ACCOUNT:regional/webacl/NAME/ID.
func namesInARN(arn string) []string {
	if parts := strings.Split(arn, "/"); len(parts) == 4 {
		return parts[2:]
	}
	return nil
}

// policed are settings that name a policy of a firewall that is none of AWS.
var policed = &judgement{"unless it is off", func(u use) Effect {
	return unless(off(u.value), Restricts)
}}

// wallarm is a mode of a firewall.
var wallarm = &judgement{"if it is block or safe_blocking, or another that is not off or " +
	"monitoring, and no web ACL stands before the load balancer here", func(u use) Effect {
	return unless(valued("monitoring")(u) || guarding.of(u) == Harmless, Restricts)
}}

// grouping are settings that name security groups, each of which lets in more clients.
var grouping = &judgement{"unless all security groups of the class are among those that it names",
	func(u use) Effect {
		asked := listed(u.value)
		missing := slices.ContainsFunc(u.served.SecurityGroups, func(g string) bool {
			return !slices.Contains(asked, g)
		})
		return unless(strings.TrimSpace(u.value) == "" || len(u.served.SecurityGroups) > 0 &&
			!missing, Restricts)
	}}

// beside are settings that need another one to do something, which off switches off.
func beside(name string, off func(string) bool) *judgement {
	return &judgement{"unless " + name + " is off", func(u use) Effect {
		_, said := u.annotations[u.stem+name]
		return unless(strings.TrimSpace(u.value) == "" || said && off(u.sibling(name)), Restricts)
	}}
}

// besideVerify are settings of client certificates of ingress-nginx. It reads none of them where
// auth-tls-secret is not there. Of auth-tls-verify-client it reads any value but on, off, optional
// and optional_no_ca as on, and an auth-tls-secret without it, too
// (internal/ingress/annotations/authtls/main.go, authVerifyClientRegex and
// defaultAuthVerifyClient). With optional a certificate that is sent is verified, and with
// optional_no_ca it is handed to the pods, which decide. HAProxy Ingress reads them likewise
// (pkg/converters/ingress/annotations/host.go, setAuthTLSConfig).
var besideVerify = beside("auth-tls-verify-client", func(value string) bool {
	return value == "off"
})

// list are the parts of a value that has commas between them, in lower case.
func (u use) list() []string {
	out := strings.Split(strings.ToLower(u.value), ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// empty reports whether JSON asks for nothing.
func empty(value string) bool {
	switch strings.TrimSpace(value) {
	case "", "[]", "{}", "null":
		return true
	}
	return false
}

var conditional = &judgement{"unless it is empty", func(u use) Effect {
	return unless(empty(u.value), Restricts)
}}

// albListens are the ports of the AWS Load Balancer Controller: docs/guide/ingress/annotations.md,
// listen-ports.
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
	return unless(len(asked) == 0, Changes)
}}

// exactly are settings that have paths stand for themselves alone with one of some values.
func exactly(values ...string) *judgement {
	return &judgement{"if it is " + strings.Join(values, " or ") + ", and a path is served for more " +
		"than itself here; otherwise others are a change", func(u use) Effect {
		switch {
		case strings.TrimSpace(u.value) == "":
			return Harmless
		case valued(values...)(u):
			return unless(!u.served.Wider, Restricts)
		}
		return Changes
	}}
}

// nginxListens are the HTTP ports of the controller of NGINX, by their numbers:
// docs.nginx.com/nginx-ingress-controller/configuration/ingress-resources/advanced-configuration-with-annotations.
var nginxListens = &judgement{"if the Ingress is served on an HTTP port here that is not listed; " +
	"otherwise it is a change, or nothing", func(u use) Effect {
	asked := listed(u.value)
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
	return unless(!slices.ContainsFunc(asked, func(number string) bool {
		return !slices.Contains(served, number)
	}), Changes)
}}

// albCertificate is a certificate, without listen-ports beside it a reason to listen at HTTPS 443
// only: docs/guide/ingress/annotations.md, "defaults to '[{"HTTP": 80}]' or '[{"HTTPS": 443}]'
// depending on whether certificate-arn is specified".
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

// albMutual is the mutual authentication of ports: off, passthrough or verify.
var albMutual = &judgement{"unless every port has the mode off", func(u use) Effect {
	var ports []struct {
		Mode string `json:"mode"`
	}
	if json.Unmarshal([]byte(u.value), &ports) != nil {
		return unless(off(u.value), Restricts)
	}
	for _, p := range ports {
		if p.Mode != "off" {
			return Restricts
		}
	}
	return Harmless
}}

// albActions change the backend that answers. Those of Alibaba's controller can limit rates.
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

// albTargets are the targets of requests.
var albTargets = &judgement{"unless it is what requests are sent to here", func(u use) Effect {
	return unless(strings.TrimSpace(u.value) == "" || u.value == u.served.TargetType, Changes)
}}

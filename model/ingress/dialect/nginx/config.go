package nginx

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file reads the ConfigMap of the controller (internal/ingress/controller/config/config.go has the names and
// the defaults, template/configmap.go reads them).

// A Config has what the ConfigMap says about the answers to requests.
type Config struct {
	SSLRedirect, ForceSSLRedirect, PreserveTrailingSlash, UsePortInRedirects bool
	RedirectCode                                                             int
	// NotRedirected are beginnings of paths: locations below them are not redirected to HTTPS.
	NotRedirected []string
	// UseForwardedHeaders: the scheme, the host and the address of the client are those of X-Forwarded headers.
	UseForwardedHeaders bool
	UseProxyProtocol    bool
	// RejectHandshake: connections over TLS for hosts that no rule names are refused.
	RejectHandshake   bool
	RelativeRedirects bool
	Allow, Deny       []netip.Prefix // for Ingresses without lists of their own
	BlockCIDRs        []netip.Prefix // of all servers
	risk              int            // the most that annotations may have
	HSTS              string         // the header of answers over HTTPS; "" for none
	ToHTTPS           int            // the code with which a server of http-snippet leads requests over HTTP to HTTPS; 0 for none
	LoadBalancer      string         // what messages call a load balancer of the class; "" for an ALB
	// Verdicts of keys, by name.
	Keys []Key
}

// A Key is a key of the ConfigMap, with what becomes of it.
type Key struct {
	Name, Message string
	Refused       bool // no Ingress can be served with it
}

// worded returns a message, or its format, with what a load balancer is called in place of {LB}.
func (c *Config) worded(message string) string {
	return strings.ReplaceAll(message, "{LB}", cmp.Or(c.LoadBalancer, "an ALB"))
}

// DefaultConfig is the configuration without a ConfigMap.
func DefaultConfig() Config { return ReadConfig(nil) }

// ReadConfig reads the data of the ConfigMap.
func ReadConfig(data map[string]string) Config {
	c := Config{SSLRedirect: true, RedirectCode: 308, NotRedirected: []string{"/.well-known/acme-challenge"}, risk: 2}
	flags := map[string]*bool{
		"ssl-redirect": &c.SSLRedirect, "force-ssl-redirect": &c.ForceSSLRedirect,
		"preserve-trailing-slash": &c.PreserveTrailingSlash, "use-port-in-redirects": &c.UsePortInRedirects,
		"use-forwarded-headers": &c.UseForwardedHeaders, "use-proxy-protocol": &c.UseProxyProtocol,
		"relative-redirects": &c.RelativeRedirects, "ssl-reject-handshake": &c.RejectHandshake,
	}
	for name, to := range flags {
		if on, err := strconv.ParseBool(data[name]); err == nil {
			*to = on
		}
	}
	if code, err := strconv.Atoi(data["http-redirect-code"]); err == nil && slices.Contains([]int{301, 302, 307, 308}, code) {
		c.RedirectCode = code
	}
	if list, is := data["no-tls-redirect-locations"]; is {
		c.NotRedirected = listOf(list)
	}
	if level := data["annotations-risk-level"]; level != "" {
		c.risk = max(slices.Index([]string{"low", "medium", "high", "critical"}, strings.ToLower(level)), 0)
	}
	c.Allow, c.Deny = rangesOf(data["whitelist-source-range"]), rangesOf(data["denylist-source-range"])
	c.BlockCIDRs = rangesOf(data["block-cidrs"])
	c.HSTS = hsts(data)
	if found := serverToHTTPS.FindStringSubmatch(strings.TrimSpace(data["http-snippet"])); found != nil {
		c.ToHTTPS, _ = strconv.Atoi(found[1])
	}
	for name := range data {
		if k, told := keyOf(name, data[name]); told {
			c.Keys = append(c.Keys, k)
		}
	}
	slices.SortFunc(c.Keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// serverToHTTPS is the http-snippet of deploy/static/provider/aws/nlb-with-tls-termination/deploy.yaml, where port 80 of the Service,
// which ends TLS, leads there.
var serverToHTTPS = regexp.MustCompile(`^server\s*\{\s*listen\s+\d+\s*;\s*return\s+(30[1278])\s+https://\$host\$request_uri\s*;\s*\}$`)

// hsts returns the header Strict-Transport-Security (rootfs/etc/nginx/lua/lua_ingress.lua).
func hsts(data map[string]string) string {
	is := func(name string, otherwise bool) bool {
		if on, err := strconv.ParseBool(data[name]); err == nil {
			return on
		}
		return otherwise
	}
	if !is("hsts", true) {
		return ""
	}
	age := "31536000"
	if seconds, err := strconv.Atoi(data["hsts-max-age"]); err == nil {
		age = strconv.Itoa(seconds)
	}
	out := "max-age=" + age
	if is("hsts-include-subdomains", true) {
		out += "; includeSubDomains"
	}
	if is("hsts-preload", false) {
		out += "; preload"
	}
	return out
}

// listOf returns the items of a list with commas.
func listOf(text string) (out []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// rangesOf returns the addresses and ranges of a list, without what is neither (internal/net/ipnet.go).
func rangesOf(text string) []netip.Prefix {
	out, _ := rangesIn(text)
	return out
}

// rangesIn returns the addresses and ranges of a list, and whether all of it is such.
func rangesIn(text string) (out []netip.Prefix, all bool) {
	all = true
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if p, err := netip.ParsePrefix(item); err == nil {
			out = append(out, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(item)
		if err != nil {
			all = false
			continue
		}
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out), all
}

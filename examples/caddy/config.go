package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file turns what the operator said into Caddy's configuration
// (https://caddyserver.com/docs/json), as a whole, and gives it to Caddy. Caddy takes it as a whole
// too, or not at all.

type object = map[string]any

// apps is the configuration of Caddy's apps: a server for each listener, and all certificates.
func (p *provider) apps() object {
	servers, pairs, held := object{}, []object{}, map[string]bool{}
	for key, b := range p.state.Balancers {
		for port, l := range b.Listeners {
			servers[nameOfServer(key, port)] = p.server(key, b, l)
		}
		for _, c := range b.Certificates {
			if tag := tagOf(c.Chain); !held[tag] {
				held[tag] = true
				pairs = append(pairs, object{"certificate": c.Chain, "key": c.Key, "tags": []string{tag}})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b object) int { return strings.Compare(a["certificate"].(string), b["certificate"].(string)) })
	return object{
		"http": object{
			"servers":   servers,
			"http_port": 1, // on which Caddy would not speak TLS
			// When another configuration takes over, connections that have just been accepted get their
			// first answer, and clients are told that the others end. Without this, Caddy closes both before
			// it answers.
			"shutdown_delay": p.shutdownDelay.String(),
		},
		"tls": object{
			"certificates":    object{"load_pem": pairs},
			"session_tickets": object{"disabled": true}, // a session that is resumed would not see a new certificate
			// Caddy obtains no certificates here, so it needs neither a storage nor the network.
			"disable_ocsp_stapling": true, "disable_storage_check": true, "disable_storage_clean": true,
		},
	}
}

func nameOfServer(key string, port int32) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%x-%d", sum[:8], port)
}

// tagOf names a certificate in Caddy, which holds equal ones once.
func tagOf(chain string) string {
	sum := sha256.New()
	for block, rest := pem.Decode([]byte(chain)); block != nil; block, rest = pem.Decode(rest) {
		sum.Write(block.Bytes)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// server is a listener. Its routes are its rules, the first one that matches, and the default
// action.
func (p *provider) server(key string, b *balancer, l *listener) object {
	var routes []object
	named := object{}
	add := func(id string, conditions []v1.Condition, a v1.Action) {
		route := object{"terminal": true, "handle": []object{{"handler": "fairlead", "id": nameOfServer(key, l.Port) + id, "port": l.Port, "action": a}}}
		if len(conditions) > 0 {
			route["match"] = []object{{"fairlead": object{"conditions": conditions}}}
		}
		routes = append(routes, route)
		for _, g := range groupsOf(a) {
			named[g] = p.proxy(key, b.Groups[g], l.Port)
		}
	}
	for _, r := range l.Rules {
		add("/"+strconv.Itoa(r.Priority), r.Rule.Conditions, r.Rule.Action)
	}
	add("", nil, l.Default)
	server := object{
		"listen": []string{"fairlead/" + net.JoinHostPort(b.Address, strconv.Itoa(int(l.At)))}, "protocols": []string{"h1", "h2"},
		"routes": routes, "named_routes": named,
		"automatic_https": object{"disable": true},
		// A client's X-Forwarded-For is added to. The other headers of that kind are set by proxy.
		"trusted_proxies":  object{"source": "static", "ranges": []string{"0.0.0.0/0", "::/0"}},
		"max_header_bytes": 1 << 20, "read_idle_timeout": -1, "write_idle_timeout": -1,
		"errors": object{"routes": []object{{"handle": []object{saying("{http.error.status_code}", "{http.error.status_code} {http.error.status_text}\n")}}}},
	}
	if l.Protocol == "HTTPS" {
		server["tls_connection_policies"] = policies(b, l)
	}
	return server
}

func saying(status, body string) object {
	return object{"handler": "static_response", "status_code": status, "headers": http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "body": body}
}

// policies choose the certificate for a server name: one for that name, else one for the wildcard
// above it, else the default one.
func policies(b *balancer, l *listener) []object {
	var exact, wild []object
	seen := map[string]bool{}
	for _, id := range l.Certificates {
		for _, host := range b.Certificates[id].Hosts {
			host = strings.ToLower(host)
			if seen[host] {
				continue
			}
			seen[host] = true
			policy := using(b.Certificates[id])
			policy["match"] = object{"sni": []string{host}}
			if strings.HasPrefix(host, "*.") {
				wild = append(wild, policy)
			} else {
				exact = append(exact, policy)
			}
		}
	}
	return slices.Concat(exact, wild, []object{using(b.Certificates[l.Certificates[0]])})
}

// using is a policy that takes one certificate whatever the name. Caddy looks for certificates of
// the name first, and only where it finds none that it may take, for those of the name that stands
// for no name, which are all.
func using(c *certificate) object {
	const none = "none.fairlead.invalid"
	return object{"certificate_selection": object{"any_tag": []string{tagOf(c.Chain)}}, "default_sni": none, "fallback_sni": none}
}

// proxy is a target group: the targets that are healthy, or all where none is.
func (p *provider) proxy(key string, g *group, port int32) object {
	var upstreams []object
	for _, t := range p.inUse(key, g) {
		upstreams = append(upstreams, object{"dial": net.JoinHostPort(t.Address, strconv.Itoa(int(t.Port)))})
	}
	if len(upstreams) == 0 {
		return object{"handle": []object{saying("503", "503 Service Unavailable\n")}}
	}
	transport := object{"protocol": "http", "compression": false, "dial_timeout": "5s", "versions": []string{"1.1"}}
	two := g.Version == "HTTP2" || g.Version == "GRPC"
	if two {
		transport["versions"] = []string{"h2c"}
	}
	if g.Protocol == "HTTPS" {
		transport["tls"] = object{"insecure_skip_verify": true} // any certificate of a target will do, as with cloud load balancers
		if two {
			transport["versions"] = []string{"2"}
		}
	}
	return object{"handle": []object{{
		"handler": "reverse_proxy", "upstreams": upstreams, "transport": transport,
		"flush_interval":     -1,    // streams pass as they come
		"stream_close_delay": "24h", // and live on when the configuration is replaced
		"load_balancing": object{
			"selection_policy": object{"policy": "round_robin"}, "retries": len(upstreams) - 1,
			// A request that was not sent is sent to another target in any case.
			"retry_match": []object{{"method": []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}}},
		},
		"headers": object{"response": object{ // Caddy signs its own answers only, and load balancers sign all
			"require": object{"headers": object{"Server": nil}}, "set": http.Header{"Server": {"Caddy"}},
		}, "request": object{
			"set": http.Header{
				"Host":              {"{http.vars.fairlead_host}"},
				"X-Forwarded-Proto": {"{http.request.scheme}"}, "X-Forwarded-Port": {strconv.Itoa(int(port))},
			},
			"delete": []string{"X-Forwarded-Host", "Forwarded"},
		}},
	}}}
}

// usable says why a certificate cannot be used.
func usable(c *v1.Certificate) error {
	_, err := tls.X509KeyPair([]byte(c.Chain), []byte(c.Key))
	return err
}

// An admin is Caddy's admin API (https://caddyserver.com/docs/api).
type admin struct {
	client http.Client
	url    string
}

// newAdmin is the API at a URL, or at a socket such as unix//run/caddy.sock.
func newAdmin(at string) (*admin, error) {
	// Caddy opens its API anew with each configuration, so connections are not kept.
	transport := &http.Transport{DisableKeepAlives: true}
	a := &admin{client: http.Client{Transport: transport, Timeout: time.Minute}, url: strings.TrimSuffix(at, "/")}
	if path, ok := strings.CutPrefix(at, "unix/"); ok {
		a.url = "http://caddy"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	} else if u, err := url.Parse(at); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--admin is %q; it has to be a URL, or unix//path/to/socket", at)
	}
	return a, nil
}

// call calls the API, and returns the beginning of its answer. Caddy opens its API anew with each
// configuration, and resets connections that are made meanwhile. Each call can be repeated: it
// gives Caddy the whole of its configuration, or reads.
func (a *admin) call(method, path string, body []byte) (said string, err error) {
	for wait := 10 * time.Millisecond; wait < time.Second; wait *= 3 {
		said, err = a.callOnce(method, path, body)
		if unreached, is := errors.AsType[*url.Error](err); !is || unreached.Timeout() {
			break
		}
		<-time.After(wait)
	}
	return said, err
}

func (a *admin) callOnce(method, path string, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("reaching Caddy: %w", err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("Caddy answered %s: %s", response.Status, bytes.TrimSpace(said))
	}
	return string(said), err
}

// load gives Caddy the configuration, unless it has that already.
func (p *provider) load() error {
	config, err := json.Marshal(p.apps())
	if err != nil || bytes.Equal(config, p.loaded) {
		return err
	}
	p.loaded = nil // until it is known
	if _, err := p.caddy.call(http.MethodPost, "/config/apps", config); err != nil {
		return err
	}
	p.loaded = config
	return nil
}

// forgotten reports whether Caddy has no configuration: it was started anew.
func (p *provider) forgotten() bool {
	servers, err := p.caddy.call(http.MethodGet, "/config/apps/http/http_port", nil)
	return err != nil || strings.TrimSpace(servers) == "null"
}

package precedence

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file makes the example requests of diagnostics.

// Witness returns a short path that p matches and none of others, asked for an Ingress.
func (t *Table) Witness(asker string, p routing.Path, others []*routing.Route) (string, bool) {
	for _, path := range samples(t.comparer, asker, p) {
		if !strings.Contains(path, "~") && !anyHas(t.comparer, asker, others, path) {
			return path, true
		}
	}
	var out []routing.Path
	for _, b := range others {
		if len(b.When) == 0 {
			out = append(out, b.Path)
		}
	}
	path, verdict := t.comparer.Find(asker, []routing.Path{p}, out)
	return path, verdict == language.Some
}

// curl returns the URL of a request as an argument of curl on a command line. The bytes of the path
// that clients always encode are encoded.
func (t *Table) curl(port int32, host routing.Host, path string) string {
	return printable.Shell(t.URL(port, host, routing.Sendable(path)))
}

// curlTo returns the URL of a request as curl does, with --path-as-is if curl would resolve dots.
func (t *Table) curlTo(r routing.Request) string {
	url := printable.Shell(t.urlOf(r.Port, r.Host, routing.Sendable(r.Path)))
	if strings.Contains(r.Path, "/../") {
		return "--path-as-is " + url
	}
	return url
}

// URL returns the URL of a request that a level decides.
func (t *Table) URL(port int32, host routing.Host, path string) string {
	return t.urlOf(port, t.nameFor(port, host), path)
}

// urlOf returns the URL of a request for a host name.
func (t *Table) urlOf(port int32, name, path string) string {
	scheme, at := "http", ""
	for _, l := range t.Listeners {
		if l.Port == port && l.Protocol == routing.HTTPS {
			scheme = "https"
		}
	}
	if port != map[string]int32{"http": 80, "https": 443}[scheme] {
		at = fmt.Sprintf(":%d", port)
	}
	return scheme + "://" + name + at + path
}

// nameFor returns a host name that this level decides.
func (t *Table) nameFor(port int32, host routing.Host) string {
	if !host.Wildcard() && host != routing.Any {
		return string(host)
	}
	domain := ".example"
	if host.Wildcard() {
		domain = strings.TrimPrefix(string(host), "*")
	}
	for host == routing.Any && t.ports[port].levels[routing.Host("*"+domain)] != nil {
		domain = ".any" + domain
	}
	for i := 0; ; i++ {
		name := "any" + strings.Repeat("y", i) + domain
		levels := routing.Levels(name)
		free := true
		for _, l := range levels {
			if l == host {
				break
			}
			if t.ports[port].levels[l] != nil {
				free = false
			}
		}
		if free {
			return name
		}
	}
}

package nginx

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file writes what front.lua knows of a cluster, as a table of Lua.

type table struct{ strings.Builder }

func (t *table) text(key, value string)    { fmt.Fprintf(t, "[%s]=%s,", lua(key), lua(value)) }
func (t *table) raw(key string, value any) { fmt.Fprintf(t, "[%s]=%v,", lua(key), value) }
func (t *table) in(key string, fill func()) {
	fmt.Fprintf(t, "[%s]={", lua(key))
	fill()
	t.WriteString("},")
}

func (t *table) list(key string, values []string) {
	t.in(key, func() {
		for _, value := range values {
			t.WriteString(lua(value) + ",")
		}
	})
}

// lua is a string of Lua, byte for byte.
func lua(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&out, "\\%03d", c)
		} else {
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

func (w *world) lua(seed uint64, owner int) string {
	t := &table{}
	t.WriteString("return {")
	t.raw("seed", seed%1_000_000_007)
	t.raw("owner", owner)
	t.raw("forwarded", w.config.forwarded)
	t.raw("proxy_protocol", w.config.proxyProtocol)
	t.raw("redirect_code", w.config.redirectCode)
	if c := w.config; c.hsts {
		value := "max-age=" + c.hstsAge
		if c.hstsSubdomains {
			value += "; includeSubDomains"
		}
		if c.hstsPreload {
			value += "; preload"
		}
		t.text("hsts", value)
	}
	t.in("certificates", func() {
		for _, host := range w.certified() {
			t.raw(host, true)
		}
	})
	t.in("upstreams", func() {
		for _, name := range slices.Sorted(maps.Keys(w.upstreams)) {
			w.upstreams[name].lua(t, w.config)
		}
		for _, u := range w.defaults {
			u.lua(t, w.config)
		}
	})
	t.WriteString("}\n")
	return t.String()
}

// certified are the hosts with a certificate (controller/nginx.go, configureCertificates). An alias and the other name
// of a from-to-www-redirect have one if that of their host names them.
func (w *world) certified() []string {
	found := map[string]bool{}
	for _, s := range w.servers {
		found[s.host] = s.cert != nil
	}
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		s := w.servers[name]
		for _, alias := range s.aliases {
			found[alias] = s.cert != nil && s.cert.covers(alias)
		}
	}
	for _, r := range w.redirects() {
		cert := w.servers[r.to].cert
		found[r.from] = cert != nil && cert.covers(r.from)
	}
	var hosts []string
	for host, has := range found {
		if has {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func (u *upstream) lua(t *table, config configuration) {
	t.in(u.name, func() {
		t.text("name", u.name)
		endpoints := u.endpoints
		if u.name == noUpstream && len(endpoints) == 0 {
			if endpoints = []string{"404"}; slices.Contains(config.errors, 404) {
				endpoints = []string{"500"} // its own server, too, looks for the page of a 404, and has none
			}
		}
		t.list("endpoints", endpoints)
		t.list("alternatives", u.alternatives)
		if u.canaryOnly {
			c := u.canary
			t.in("policy", func() {
				t.text("header", c.header)
				t.text("value", c.value)
				t.text("pattern", c.pattern)
				t.text("cookie", c.cookie)
				t.raw("weight", c.weight)
				t.raw("total", c.total)
			})
		}
		u.stickyLua(t)
	})
}

func (u *upstream) stickyLua(t *table) {
	a := u.affinity
	if !a.cookie {
		return
	}
	t.in("cookie", func() {
		t.text("name", cmp.Or(a.name, "route"))
		t.text("path", a.path)
		t.text("domain", a.domain)
		t.text("same", a.same)
		t.text("max_age", a.maxAge)
		t.text("expires", a.expires)
		t.raw("secure", a.secure)
		t.in("paths", func() {
			for _, host := range slices.Sorted(maps.Keys(u.cookiePaths)) {
				t.list(host, u.cookiePaths[host])
			}
		})
	})
}

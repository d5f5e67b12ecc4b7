package nginx

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file counts the classes of requests of Ingresses, and puts answers into words.

// A requestClass is a path of an Ingress on a host: over HTTP, or over HTTPS where nginx has a certificate.
type requestClass struct {
	*server
	of     *member
	field  string // of the Ingress
	secure bool
}

// Classes counts the classes of requests of all Ingresses, by namespace/name.
func (w *World) Classes() map[string]dialect.Classes {
	changed := map[requestClass]bool{}
	for _, r := range w.writers {
		if r.m.ignored == "" && !r.out.Refuses() {
			a := asker{World: w, m: r.m, client: anyClient, hosts: map[string]bool{}, seen: map[Cause]bool{}, changed: changed}
			a.askAll()
		}
	}
	out := map[string]dialect.Classes{}
	for key, r := range w.writers {
		out[key] = w.classesOf(r, changed)
	}
	return out
}

// noteChange notes that requests of a class are answered in another way. What nginx does by itself is told apart.
func (w *World) noteChange(c Cause, q Question, changed map[requestClass]bool) {
	uri, ok := normalise(q.Path)
	if c.Ingress == "" || !ok {
		return
	}
	s := w.serverOf(strings.TrimSuffix(q.Hostname(), "."))
	if l, _ := s.find(uri, false); l != nil && l.of != nil {
		changed[requestClass{s, l.of, l.field, q.Secure}] = true
	}
}

// classesOf counts the classes of an Ingress.
func (w *World) classesOf(r *writer, changed map[requestClass]bool) (out dialect.Classes) {
	refused := r.out.Refuses()
	counted := map[requestClass]bool{}
	for _, s := range r.m.at {
		host := exampleHost(s)
		for _, l := range s.locations {
			c := requestClass{s, r.m, l.field, false}
			if l.of != r.m || l.field == "" || counted[c] || !s.regex && !l.reachable || s.before(l) != nil {
				continue // one of another Ingress, or one that no request reaches
			}
			counted[c] = true
			over := []bool{false}
			if s.secure {
				over = append(over, true)
			}
			for _, c.secure = range over {
				switch {
				case refused:
					out.Refused++
				case changed[c] || c.secure && (!w.overTLS(host) || w.onlyInTheClear(r.m.key(), host)):
					out.Changed++
				default:
					out.Same++
				}
			}
		}
	}
	return out
}

// exampleHost returns a host of a server.
func exampleHost(s *server) string {
	return strings.Replace(strings.Replace(s.host, catchAll, "any.example", 1), "*", "any", 1)
}

// showRefused gives the refusals of an Ingress a request that is not served.
func (w *World) showRefused(r *writer) {
	for _, s := range r.m.at {
		at := slices.IndexFunc(s.locations, func(l *location) bool { return l.of == r.m && l.field != "" })
		if at < 0 {
			continue
		}
		q := Question{Request: routing.Request{Port: 80, Host: exampleHost(s), Path: pathsFor(s.locations[at], s.regex)[0], Method: "GET",
			Source: anyClient}}
		if s.secure {
			q.Port, q.Secure = 443, true
		}
		for i := range r.out.Verdicts {
			if v := &r.out.Verdicts[i]; v.Outcome == dialect.Refused && v.Request.URL == "" {
				v.Request, v.After = r.m.requestOf(q), r.textOf(q)
			}
		}
		return
	}
}

// textOf returns what Fairlead answers a request, in words.
func (w *World) textOf(q Question) string {
	if q.Secure && !w.overTLS(q.Hostname()) {
		return "no certificate for the host"
	}
	return w.Result(q).text(q)
}

// text returns an answer in words.
func (r Result) text(q Question) string {
	switch {
	case r.Status < 0:
		return "no connection"
	case r.Location != "":
		return fmt.Sprintf("%d to %s", r.Status, r.Location)
	case r.Status > 0:
		return fmt.Sprint(r.Status)
	}
	whole := 0
	for _, s := range r.To {
		whole += s.Weight
	}
	var shares []string
	for _, s := range r.To {
		text := fmt.Sprintf("Service %s/%s:%s", s.Namespace, s.Service, s.Port)
		if len(r.To) > 1 {
			text += fmt.Sprintf(" (%d of %d)", s.Weight, whole)
		}
		shares = append(shares, text)
	}
	out := strings.Join(shares, ", ")
	if r.Target != strings.TrimSuffix(q.target(), "?") {
		out += ", which sees " + r.Target
	}
	if r.Host != q.Host {
		out += ", as host " + r.Host
	}
	return out
}

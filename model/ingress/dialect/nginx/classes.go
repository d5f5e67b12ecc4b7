package nginx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/routing"
)

// This file counts the classes of requests of Ingresses, and puts answers into words.

// A requestClass is a path of an Ingress on a host: over HTTP, or over HTTPS where nginx has a certificate.
type requestClass struct {
	host   string // of the server
	of     string // the Ingress
	field  string // of the Ingress
	secure bool
}

// Classes counts the classes of requests of all Ingresses, by namespace/name and the field of their path.
func (w *World) Classes() map[string]map[string]dialect.Classes {
	changed := map[requestClass]bool{}
	for key, r := range w.writers {
		if !w.Refuses(key) {
			maps.Copy(changed, r.changed)
		}
	}
	out := map[string]map[string]dialect.Classes{}
	for key, r := range w.writers {
		out[key] = w.classesOf(r, changed)
	}
	return out
}

// noteChange notes that requests of a class are answered in another way. What nginx does by itself is told apart.
func (a *asker) noteChange(c Cause, q Question) {
	uri, ok := normalise(q.Path)
	if c.Ingress == "" || !ok {
		return
	}
	s := a.serverOf(strings.TrimSuffix(q.Hostname(), "."))
	if l, _ := s.find(uri, false); l != nil && l.of != nil {
		a.changed[requestClass{s.host, l.of.key(), l.field, q.Secure}] = true
	}
}

// classesOf counts the classes of an Ingress.
func (w *World) classesOf(r *writer, changed map[requestClass]bool) map[string]dialect.Classes {
	out := map[string]dialect.Classes{}
	refused := r.out.Refuses()
	counted := map[requestClass]bool{}
	for _, s := range r.m.at {
		host := exampleHost(s)
		for _, l := range s.locations {
			c := requestClass{s.host, r.m.key(), l.field, false}
			if l.of != r.m || l.field == "" || counted[c] || !s.regex && !l.reachable || s.before(l) != nil {
				continue // one of another Ingress, or one that no request reaches
			}
			counted[c] = true
			over := []bool{false}
			if s.secure {
				over = append(over, true)
			}
			for _, c.secure = range over {
				one := dialect.Classes{Same: 1}
				switch {
				case refused:
					one = dialect.Classes{Refused: 1}
				case changed[c] || c.secure && (!w.overTLS(host) || w.onlyInTheClear(r.m.key(), host)):
					one = dialect.Classes{Changed: 1}
				}
				out[l.field] = out[l.field].Plus(one)
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
	q, is := w.questionAbout(r.m, "")
	for i := range r.out.Verdicts {
		if v := &r.out.Verdicts[i]; is && v.Outcome == dialect.Refused && v.Request.URL == "" {
			v.Request, v.After = r.m.requestOf(q), r.textOf(q)
		}
	}
}

// questionAbout returns a request that a path of an Ingress is about, by its field; "" for any.
func (w *World) questionAbout(m *member, field string) (q Question, is bool) {
	for _, s := range m.at {
		at := slices.IndexFunc(s.locations, func(l *location) bool {
			return l.of == m && l.field != "" && (field == "" || l.field == field)
		})
		if at < 0 {
			continue
		}
		l := s.locations[at]
		q = Question{Request: routing.Request{Port: 80, Host: exampleHost(s), Path: s.reaching(l, pathsFor(l, s.regex))[0], Method: "GET",
			Source: anyClient}}
		if s.secure {
			q.Port, q.Secure = 443, true
		}
		return q, true
	}
	return q, false
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
	out := r.plainText(q)
	if origin, _, is := strings.Cut(r.CrossOrigin, "\n"); is {
		out += ", with " + origin
	}
	return out
}

// plainText returns an answer without its headers in words.
func (r Result) plainText(q Question) string {
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

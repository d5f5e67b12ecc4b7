package nginx

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	settingsof "fairlead.dev/fairlead/model/settings"
)

// This file answers requests as Fairlead does with what is read, so that verdicts say what is changed.

// tableOf returns the table of what Ingresses are read as.
func (w *World) tableOf(readings map[string]*writer) *precedence.Table {
	c := routing.Config{Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS}}}
	for _, key := range slices.Sorted(maps.Keys(readings)) {
		r := readings[key]
		owner := routing.Owner{Namespace: r.m.Namespace, Name: r.m.Name, Created: r.m.CreationTimestamp.Time}
		c.Members = append(c.Members, owner)
		index := 0
		for _, rule := range r.rules {
			host, ports := routing.Host(rule.Host), []int32{80}
			if r.overHTTPS(rule.Host) {
				ports = append(ports, 443)
				w.onTLS[host] = true
			}
			w.writersAt[host] = append(w.writersAt[host], r)
			if host != routing.Any {
				c.Names = append(c.Names, routing.Name{Host: host, Owner: owner, Ports: ports})
			}
			if rule.HTTP == nil {
				continue
			}
			for i := range rule.HTTP.Paths {
				p := &rule.HTTP.Paths[i]
				route := routing.Route{Host: host, Ports: ports, Owner: owner, Index: index, Spelt: p.Path, Action: r.actionOf(p)}
				switch *p.PathType {
				case networkingv1.PathTypeExact:
					route.Path = routing.NewPath(routing.Exact, p.Path)
				case networkingv1.PathTypePrefix:
					route.Path = routing.NewPath(routing.Prefix, p.Path)
				default:
					route.Path, route.BySpelling = routing.NewPath(routing.Regex, routing.FromStart(p.Path)), true
				}
				route.When = r.conditionsOf(p)
				if r.secure && len(ports) > 1 {
					route.Action.SSLRedirect = &routing.SSLRedirect{Port: 443}
				}
				c.Routes = append(c.Routes, route)
				index++
			}
		}
	}
	return precedence.New(c)
}

func (r *writer) actionOf(p *networkingv1.HTTPIngressPath) routing.Action {
	id := func(name string, port v1alpha1.ServicePort) routing.BackendID {
		number := port.Name
		if port.Number > 0 {
			number = strconv.Itoa(int(port.Number))
		}
		return routing.BackendID(r.m.Namespace + "/" + name + ":" + number)
	}
	if s := p.Backend.Service; s != nil {
		return routing.To(id(s.Name, v1alpha1.ServicePort(s.Port)))
	}
	spec := r.backends[p.Backend.Resource.Name]
	switch {
	case spec.FixedResponse != nil:
		return routing.Status(spec.FixedResponse.StatusCode)
	case spec.Redirect != nil:
		to := &routing.Redirect{Status: spec.Redirect.StatusCode, Scheme: spec.Redirect.Scheme, Host: spec.Redirect.Host,
			Port: spec.Redirect.Port, Path: spec.Redirect.Path, Query: spec.Redirect.Query}
		if to.Port == "" && to.Scheme != "" {
			to.Port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
		}
		return routing.Action{Redirect: to, Rewrite: settingsof.RewriteOf(spec.Rewrite)}
	}
	out := routing.Action{Rewrite: settingsof.RewriteOf(spec.Rewrite)}
	for _, s := range spec.Services {
		weight := int32(1)
		if s.Weight != nil {
			weight = *s.Weight
		}
		out.Forward = append(out.Forward, routing.Weighted{Backend: id(s.Name, s.Port), Weight: weight})
	}
	return out
}

func (r *writer) conditionsOf(p *networkingv1.HTTPIngressPath) (out routing.Conditions) {
	if p.Backend.Resource == nil {
		return nil
	}
	for _, e := range r.when {
		if e.Backend != p.Backend.Resource.Name {
			continue
		}
		if e.Method != nil {
			out = append(out, routing.Condition{Field: "method", Values: e.Method})
		}
		for name, values := range e.Header {
			out = append(out, routing.Condition{Field: "header", Name: strings.ToLower(name), Values: values})
		}
		for name, values := range e.HeaderRegex {
			out = append(out, routing.Condition{Field: "header", Name: strings.ToLower(name), Regex: true, Values: values})
		}
		if e.Source != nil {
			out = append(out, routing.Condition{Field: "source", Values: e.Source})
		}
	}
	return out
}

// A Result is an answer in a form that can be compared.
type Result struct {
	// Status is that of an answer without a Pod: 0 if one is asked, -1 where nothing listens.
	Status   int
	Location string
	To       []Share
	Host     string
	Target   string
	// CrossOrigin has the headers Access-Control-... that answers have, a line for each.
	CrossOrigin string
}

// ResultOf returns what a table of Fairlead answers a request.
func ResultOf(t *precedence.Table, q Question) Result {
	return resultOf(t.Match(q.Request).Action, q, func(r *routing.Rewrite) func(string, string) (string, string) { return r.Compile() })
}

func resultOf(a routing.Action, q Question, compiled func(*routing.Rewrite) func(string, string) (string, string)) Result {
	switch {
	case a.Fixed != nil:
		return Result{Status: a.Fixed.Status}
	case a.Redirect != nil:
		if a.Rewrite != nil {
			_, target := compiled(a.Rewrite)(q.Host, q.target())
			q.Path, q.RawQuery, _ = strings.Cut(target, "?")
		}
		return Result{Status: a.Redirect.Status, Location: plainURL(a.Redirect.Location(q.Request, q.scheme(), q.RawQuery))}
	}
	out := Result{Host: q.Host, Target: q.target()}
	if a.Rewrite != nil {
		out.Host, out.Target = compiled(a.Rewrite)(q.Host, q.target())
	}
	for _, w := range a.Forward {
		service, port, _ := strings.Cut(string(w.Backend), ":")
		namespace, name, _ := strings.Cut(service, "/")
		port, _, _ = strings.Cut(port, "/")
		out.To = append(out.To, Share{namespace, name, port, int(w.Weight)})
	}
	out.To, out.Target = sorted(out.To), strings.TrimSuffix(out.Target, "?")
	return out
}

// Result returns what Fairlead answers a request.
func (w *World) Result(q Question) Result {
	o := w.table.Match(q.Request)
	out := resultOf(o.Action, q, w.compiled)
	if len(w.sent) > 0 && (!q.Secure || w.overTLS(q.Hostname())) {
		if len(q.Header) > 0 { // which another Ingress may be asked for
			q.Header = nil
			o = w.table.Match(q.Request)
		}
		out.CrossOrigin = w.sends(q, o.Owner)
	}
	return out
}

// sends returns the headers that a load balancer sends with all answers: that of the Ingress that a request is answered for.
func (w *World) sends(q Question, of routing.Owner) string {
	if r := w.writers[of.Namespace+"/"+of.Name]; r != nil {
		return w.sent[w.balancerOf(r.m, r.m.Annotations)].sent(q)
	}
	for _, name := range slices.Sorted(maps.Keys(w.sent)) {
		if text := w.sent[name].sent(q); text != "" {
			return text
		}
	}
	return ""
}

// compiled returns a rewrite of the table, which is compiled once.
func (w *World) compiled(r *routing.Rewrite) func(host, target string) (string, string) {
	if w.rewrites[r] == nil {
		w.rewrites[r] = r.Compile()
	}
	return w.rewrites[r]
}

// Result returns the answer of nginx in a form that can be compared.
func (a Answer) Result(q Question) Result {
	if a.Status != 0 {
		out := Result{Status: a.Status, CrossOrigin: a.CrossOrigin}
		if a.Location != "" {
			out.Location = plainURL(resolved(q, a.Location))
		}
		return out
	}
	return Result{To: sorted(a.To), Host: a.Host, Target: strings.TrimSuffix(a.Target, "?"), CrossOrigin: a.CrossOrigin}
}

// sorted returns shares by name, with the smallest weights that have their proportions.
func sorted(all []Share) []Share {
	if len(all) == 1 && all[0].Weight == 1 {
		return all
	}
	out := slices.Clone(all)
	divisor := 0
	for _, s := range out {
		divisor = gcd(divisor, s.Weight)
	}
	for i := range out {
		out[i].Weight /= max(divisor, 1)
	}
	slices.SortFunc(out, func(a, b Share) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// resolved returns the URL to which a Location leads.
func resolved(q Question, location string) string {
	base := q.scheme() + "://" + q.Host
	if strings.HasPrefix(location, "/") {
		return base + location
	}
	return location
}

// plainURL returns a URL without the usual port, and with a path.
func plainURL(location string) string {
	scheme, after, _ := strings.Cut(location, "://")
	name, _, path := strings.Cut(after, "/")
	if (scheme == "http" || scheme == "https") && path && plainName(name) && !strings.HasSuffix(location, "?") {
		return location // as most are
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return location
	}
	host := strings.TrimSuffix(strings.TrimSuffix(u.Host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme]), ".")
	_, rest, _ := strings.Cut(location, "://")
	rest = strings.TrimPrefix(rest, u.Host)
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return u.Scheme + "://" + strings.ToLower(host) + strings.TrimSuffix(rest, "?")
}

// plainName reports whether a name has neither port, capitals, nor a final dot.
func plainName(name string) bool {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' }
	return name != "" && !strings.ContainsFunc(name, odd) && !strings.HasSuffix(name, ".")
}

// sameBut reports whether two results are the same but for the host.
func (r Result) sameBut(o Result) bool {
	o.Host = r.Host
	if r.Location != "" && o.Location != "" {
		o.Location = r.Location
	}
	return r.Equal(o)
}

// Equal reports whether two results are the same.
func (r Result) Equal(o Result) bool {
	return r.CrossOrigin == o.CrossOrigin && r.Status == o.Status && r.Location == o.Location && slices.Equal(r.To, o.To) &&
		(r.Status != 0 || r.Host == o.Host && r.Target == o.Target)
}

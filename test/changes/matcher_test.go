package changes

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// This file answers single requests. It is written from
// https://kubernetes.io/docs/concepts/services-networking/ingress/ for hosts and paths, and from
// docs/reference/routing.md for Ingresses that share a load balancer.

// A request is one to a load balancer.
type request struct {
	port       int32
	host, path string
}

// A reply is how a request is answered: the Service, and the field of the Ingress that says so.
type reply struct{ action, source string }

var (
	notFound = reply{action: "fixed 404"}
	closed   = reply{action: "closed"}
)

// differs reports whether a client notices. What no Ingress answers is the same whether or not the
// port is open.
func (r reply) differs(o reply) bool {
	return r.action != o.action && (r.source != "" || o.source != "")
}

// balancers are the Ingresses of each load balancer.
func (s state) balancers() map[string][]*networkingv1.Ingress {
	out := map[string][]*networkingv1.Ingress{}
	for _, ing := range s.ingresses {
		class := *ing.Spec.IngressClassName
		if class == "nginx" {
			continue // of another controller
		}
		key := fmt.Sprintf("%s/%s/%s/internal", class, ing.Namespace, ing.Name)
		if ing.Annotations[group] != "" {
			key = class + "/@all/internal"
		}
		out[key] = append(out[key], ing)
	}
	for _, all := range out {
		slices.SortFunc(all, older)
	}
	return out
}

// older compares by creation time, and then by namespace and name. What has no time is young.
func older(a, b *networkingv1.Ingress) int {
	switch at, other := a.CreationTimestamp, b.CreationTimestamp; {
	case at.IsZero() && !other.IsZero():
		return 1
	case !at.IsZero() && other.IsZero():
		return -1
	case !at.Equal(&other):
		return at.Compare(other.Time)
	}
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

// covers reports whether a wildcard stands for a host: its star is exactly one label.
func covers(wildcard, host string) bool {
	suffix, is := strings.CutPrefix(wildcard, "*")
	first, _, _ := strings.Cut(host, ".")
	return is && first != "*" && first+suffix == host
}

// owners are the namespaces of hosts, the first that named each; "" stands for any host. None has a
// host where hosts are shared.
func owners(all []*networkingv1.Ingress) map[string]string {
	out := map[string]string{}
	for _, ing := range all {
		take := func(host string) {
			if _, taken := out[host]; taken {
				return
			}
			for wildcard, owner := range out {
				if covers(wildcard, host) && owner != ing.Namespace {
					return
				}
			}
			out[host] = ing.Namespace
		}
		for _, r := range ing.Spec.Rules {
			if strings.HasPrefix(r.Host, "*") {
				take(r.Host)
			}
		}
		for _, r := range ing.Spec.Rules {
			take(r.Host)
		}
		if ing.Spec.DefaultBackend != nil {
			take("")
		}
	}
	return out
}

// A table is the Ingresses of a load balancer, and whose hosts are whose.
type table struct {
	all    []*networkingv1.Ingress // the oldest first
	owner  map[string]string
	shared bool
}

func (t table) may(ing *networkingv1.Ingress, host string) bool {
	return t.shared || t.owner[host] == ing.Namespace
}

// level returns the host, of those that rules name, that decides about a host.
func (t table) level(host string) string {
	named := func(name string) bool {
		return slices.ContainsFunc(t.all, func(ing *networkingv1.Ingress) bool {
			return slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
				return r.Host == name && t.may(ing, name)
			})
		})
	}
	if named(host) {
		return host
	}
	_, rest, _ := strings.Cut(host, ".")
	if wildcard := "*." + rest; named(wildcard) {
		return wildcard
	}
	return ""
}

// serves reports whether an Ingress is on a port for a host of its rules: on 80 always, on 443 where
// spec.tls has it. The cloud has a certificate for each host, with no other name in it. A certificate
// is not served if its name is above a host of another namespace that does not have the same one.
func (t table) serves(ing *networkingv1.Ingress, port int32, host string) bool {
	if port == 80 {
		return true
	}
	for name, owner := range t.owner {
		if !t.shared && owner != ing.Namespace && covers(host, name) && !t.has(owner, host) {
			return false
		}
	}
	return slices.ContainsFunc(ing.Spec.TLS, func(tls networkingv1.IngressTLS) bool {
		return host != "" && slices.Contains(tls.Hosts, host)
	})
}

// has reports whether a namespace has the certificate of a host.
func (t table) has(namespace, host string) bool {
	return slices.ContainsFunc(t.all, func(ing *networkingv1.Ingress) bool {
		return ing.Namespace == namespace && len(ing.Spec.TLS) > 0 &&
			slices.Contains(ing.Spec.TLS[0].Hosts, host)
	})
}

// open reports whether the load balancer has a port.
func (t table) open(port int32) bool {
	return slices.ContainsFunc(t.all, func(ing *networkingv1.Ingress) bool {
		return port == 80 || slices.ContainsFunc(ing.Spec.Rules, func(r networkingv1.IngressRule) bool {
			return t.may(ing, r.Host) && t.serves(ing, port, r.Host)
		})
	})
}

// elements are those of a path. A trailing slash makes no difference.
func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// matches reports whether a path of a rule stands for that of a request.
func matches(p networkingv1.HTTPIngressPath, path string) bool {
	if *p.PathType == exact {
		return p.Path == path
	}
	want, have := elements(p.Path), elements(path)
	return len(want) <= len(have) && slices.Equal(want, have[:len(want)])
}

// better compares two paths that match: Exact first, then the longest Prefix.
func better(a, b networkingv1.HTTPIngressPath) bool {
	if aIs, bIs := *a.PathType == exact, *b.PathType == exact; aIs != bIs {
		return aIs
	}
	return len(elements(a.Path)) > len(elements(b.Path))
}

// answer returns how a request is answered.
func (t table) answer(r request) reply {
	if !t.open(r.port) {
		return closed
	}
	level := t.level(r.host)
	var best *networkingv1.HTTPIngressPath
	var by *networkingv1.Ingress
	var source string
	for _, ing := range t.all {
		for i, rule := range ing.Spec.Rules {
			if rule.Host != level || !t.may(ing, level) || !t.serves(ing, r.port, level) {
				continue
			}
			for j, p := range rule.HTTP.Paths {
				// Within an Ingress, the longer spelling of the same path is first.
				spelt := best != nil && by == ing && !better(*best, p) && len(p.Path) > len(best.Path)
				if matches(p, r.path) && (best == nil || better(p, *best) || spelt) {
					best, by = &rule.HTTP.Paths[j], ing
					source = fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j)
				}
			}
		}
	}
	if best != nil {
		return replyOf(by, best.Backend, source)
	}
	for _, ing := range t.all {
		if ing.Spec.DefaultBackend != nil && t.rest(ing, r.port, level) {
			return replyOf(ing, *ing.Spec.DefaultBackend, "spec.defaultBackend")
		}
	}
	return notFound
}

// rest reports whether a default backend answers what no path of a host matches: that of an Ingress
// that names the host, or of any where no rule does.
func (t table) rest(ing *networkingv1.Ingress, port int32, level string) bool {
	if !t.may(ing, level) || !t.serves(ing, port, level) {
		return false
	}
	return level == "" || slices.ContainsFunc(ing.Spec.Rules,
		func(r networkingv1.IngressRule) bool { return r.Host == level })
}

func replyOf(ing *networkingv1.Ingress, b networkingv1.IngressBackend, source string) reply {
	return reply{
		action: fmt.Sprintf("forward %s/%s:%d", ing.Namespace, b.Service.Name, b.Service.Port.Number),
		source: fmt.Sprintf("Ingress %s/%s %s", ing.Namespace, ing.Name, source),
	}
}

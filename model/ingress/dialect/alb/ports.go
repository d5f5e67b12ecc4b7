package alb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/settings"
)

// This file reads the ports of an Ingress. In the controller, spec.tls opens no port: HTTPS is what
// listen-ports says, or without it 443 alone where a certificate is named (model_build_listener.go).

type ports []v1alpha1.ListenPort

func (p ports) of(protocol string) []int32 { return settings.PortsOf(p, protocol) }

func (p ports) String() string {
	out := make([]string, len(p))
	for i, port := range p {
		out[i] = fmt.Sprintf("%s:%d", port.Protocol, port.Port)
	}
	return strings.Join(out, ",")
}

func readPorts(value string) (ports, error) {
	var entries []map[string]int32
	if err := readJSON(value, &entries); err != nil {
		return nil, fmt.Errorf("%s is no list of ports: %w", diag.Quote(value), err)
	}
	var out ports
	for _, entry := range entries {
		for _, protocol := range []string{v1alpha1.ProtocolHTTP, v1alpha1.ProtocolHTTPS} {
			port, is := entry[protocol]
			if !is {
				continue
			}
			delete(entry, protocol)
			if port < 1 || port > 65535 {
				return nil, fmt.Errorf("%d is not a port", port)
			}
			out = slices.DeleteFunc(out, func(p v1alpha1.ListenPort) bool { return p.Port == port })
			out = append(out, v1alpha1.ListenPort{Protocol: protocol, Port: port})
		}
		for protocol := range entry {
			return nil, fmt.Errorf("%s is neither HTTP nor HTTPS", diag.Quote(protocol))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no port", diag.Quote(value))
	}
	return out, nil
}

// listen decides the ports of the Ingress.
func (r *reader) listen() {
	ing := r.out.Ingress
	_, certified := ing.Annotations[settings.CertificateARN]
	value, listed := r.annotation("listen-ports")
	switch found, err := readPorts(value); {
	case listed && err == nil:
		r.ports = found
	case listed: // it is refused
	case r.isWritten(settings.ListenPorts):
		r.ports, _ = settings.ParsePorts(ing.Annotations[settings.ListenPorts]) // settings refuse a wrong one
	case certified:
		r.ports = ports{{Protocol: v1alpha1.ProtocolHTTPS, Port: 443}}
		r.set(settings.ListenPorts, r.ports.String(), Prefix+"certificate-arn")
	case len(r.Class.ListenPorts) > 0:
		r.ports = r.Class.ListenPorts
	default:
		r.ports = ports{{Protocol: v1alpha1.ProtocolHTTP, Port: 80}}
	}
}

// certificates decides which hosts need certificates, once the rules are written.
func (r *reader) certificates() {
	ing := r.out.Ingress
	_, certified := ing.Annotations[settings.CertificateARN]
	asked := ing.Spec.TLS
	ing.Spec.TLS = nil
	switch secure := len(r.ports.of(v1alpha1.ProtocolHTTPS)) > 0; {
	case !secure && certified && r.isWritten(settings.CertificateARN): // settings tell
	case !secure && certified:
		delete(ing.Annotations, settings.CertificateARN)
		r.judge(Prefix+"certificate-arn", dialect.Dropped, "no HTTPS port is listed in "+Prefix+
			"listen-ports, so requests are served over HTTP, as by the other controller: list {\"HTTPS\": 443}")
	case !secure && len(asked) > 0:
		r.say(dialect.Verdict{Key: "spec.tls", Outcome: dialect.Dropped, Message: "it opens no HTTPS port, so " +
			"requests are served over HTTP, as by the other controller: list {\"HTTPS\": 443} in " + Prefix +
			"listen-ports"})
	case secure && !certified:
		ing.Spec.TLS = r.discovered(asked)
	}
	named := slices.ContainsFunc(asked, func(t networkingv1.IngressTLS) bool { return t.SecretName != "" })
	if named && len(r.ports.of(v1alpha1.ProtocolHTTPS)) > 0 {
		r.say(dialect.Verdict{Key: "spec.tls[].secretName", Outcome: dialect.Dropped, Message: "certificates are found " +
			"in ACM by host, or named by " + Prefix + "certificate-arn, as by the other controller; with Fairlead's own " +
			"annotations, that of the Secret is imported"})
	}
}

// discovered returns the hosts whose certificates are searched for: those of rules and of spec.tls
// (model_build_listener.go). Hosts of conditions, rules without a host and the default backend are served with them.
func (r *reader) discovered(asked []networkingv1.IngressTLS) []networkingv1.IngressTLS {
	var hosts []string
	known := map[string]bool{}
	anyHost := r.Spec.DefaultBackend != nil
	add := func(host string) {
		if host != "" && !known[host] {
			known[host] = true
			hosts = append(hosts, host)
		}
	}
	for _, rule := range r.Spec.Rules {
		add(rule.Host)
	}
	for _, t := range asked {
		for _, host := range t.Hosts {
			add(host)
		}
	}
	for _, rule := range r.out.Ingress.Spec.Rules {
		anyHost = anyHost || !known[rule.Host]
	}
	if len(hosts) == 0 {
		r.say(dialect.Verdict{Key: Prefix + "listen-ports", Outcome: dialect.Refused, Message: "there is no host to find a " +
			"certificate for: name one in " + Prefix + "certificate-arn, or a host in spec.tls"})
	}
	out := []networkingv1.IngressTLS{{Hosts: hosts}}
	if anyHost && len(hosts) > 0 {
		out = append(out, networkingv1.IngressTLS{})
	}
	return out
}

// judge changes the verdict about an annotation.
func (r *reader) judge(key string, outcome dialect.Outcome, message string) {
	for i := range r.out.Verdicts {
		if v := &r.out.Verdicts[i]; v.Key == key && v.Service == "" {
			v.Outcome, v.Message = outcome, message
		}
	}
}

// redirect reads ssl-redirect. In the controller, one Ingress that has it redirects all requests over HTTP of its
// group, those of others too (model_builder.go): listeners of HTTP have no rules then (model_build_listener.go).
func (r *reader) redirect() {
	port, own := r.annotation("ssl-redirect")
	from, beside := Prefix+"ssl-redirect", ""
	if !own && r.isWritten(settings.SSLRedirect) {
		return
	}
	if _, decided := insteadOf(r.Parameters, from); !own && !decided {
		group, grouped := r.annotation("group.name")
		_, all := insteadOf(r.Parameters, Prefix+"group.name") // the parameters put all Ingresses of the class into one group
		for _, other := range r.Beside {
			if value, is := other.Annotations[from]; is && grouped && (all || other.Annotations[Prefix+"group.name"] == group) {
				port, own = value, true
				from, beside = "of Ingress "+other.Name, other.Name
				break // the oldest decides
			}
		}
		if !own && grouped {
			r.tellRedirectElsewhere(group)
		}
	}
	if !own {
		return
	}
	insecure, secure := r.ports.of(v1alpha1.ProtocolHTTP), r.ports.of(v1alpha1.ProtocolHTTPS)
	n, err := strconv.ParseInt(port, 10, 32)
	switch {
	case err == nil && len(insecure) == 0:
		delete(r.out.Ingress.Annotations, settings.SSLRedirect)
		return
	case err != nil || !slices.Contains(secure, int32(n)):
		switch {
		case from != Prefix+"ssl-redirect":
			r.say(dialect.Verdict{Beside: beside, Key: Prefix + "ssl-redirect", Outcome: dialect.Refused, Message: fmt.Sprintf(
				"the one %s redirects all requests over HTTP of the group to port %s, where this Ingress is not served: "+
					"list {\"HTTPS\": %s} "+
					"in %slisten-ports", from, diag.Cut(port), diag.Cut(port), Prefix)})
		case check(settings.SSLRedirect, port) == "":
			r.judge(from, dialect.Refused, fmt.Sprintf("requests cannot be redirected to port %s, where the Ingress does not listen for "+
				"HTTPS: list {\"HTTPS\": %s} in %slisten-ports", diag.Cut(port), diag.Cut(port), Prefix))
		}
		return
	}
	r.set(settings.SSLRedirect, strconv.FormatInt(n, 10)+settings.RedirectsAll, Prefix+"ssl-redirect")
	r.judge(Prefix+"ssl-redirect", dialect.Same, "")
}

// tellRedirectElsewhere says that an Ingress of another namespace has ssl-redirect, if it is in a group across namespaces with this
// one: the controller redirects for all of them. Here, no namespace decides about the requests of another one.
func (r *reader) tellRedirectElsewhere(group string) {
	insecure := r.ports.of(v1alpha1.ProtocolHTTP)
	if len(insecure) == 0 || !slices.ContainsFunc(r.Class.Groups, func(g v1alpha1.SharedGroup) bool { return g.Name == group }) {
		return
	}
	for _, other := range r.Everywhere {
		_, is := other.Annotations[Prefix+"ssl-redirect"]
		if !is || other.Namespace == r.Namespace || other.Annotations[Prefix+"group.name"] != group {
			continue
		}
		name := other.Namespace + "/" + other.Name
		r.say(dialect.Verdict{Beside: name, Key: Prefix + "ssl-redirect", Outcome: dialect.Changed, Message: fmt.Sprintf("the one of "+
			"Ingress %s redirects all requests over HTTP of the group with the other controller, and those of its own namespace here: "+
			"give this Ingress %[2]sssl-redirect, too, and an HTTPS port in %[2]slisten-ports", name, Prefix),
			Request: compare.Request{Method: "GET", URL: fmt.Sprintf("http://%s:%d/", r.anyHost(), insecure[0])}})
		return
	}
}

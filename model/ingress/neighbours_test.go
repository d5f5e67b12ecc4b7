package ingress

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
)

var lives = flag.Int("lives", 60, "how many shared load balancers live in TestNeighbours")

// TestNeighbours has two namespaces share a load balancer. Each changes, adds and removes its
// Ingresses and Secrets as it likes. Then one of them changes nothing any more, and whatever the
// other one does, the requests that the first one answers stay with it. At no time can clients of a
// host be shown a certificate that only the other namespace brings.
func TestNeighbours(t *testing.T) {
	random := drawing(t)
	for life := range *lives {
		n := neighbours{t: t, random: random, cloud: cloud{t: t}, secrets: map[string]any{}, objects: map[string]map[string]any{"alice": {}, "bob": {}}}
		for range 6 {
			n.change([]string{"alice", "bob"}[random.IntN(2)])
			n.step()
		}
		calm := []string{"alice", "bob"}[random.IntN(2)]
		answered := map[visitTo]bool{}
		for range 8 {
			for _, request := range n.answeredBy(calm) {
				answered[request] = true
			}
			n.change(map[string]string{"alice": "bob", "bob": "alice"}[calm])
			n.step()
			table := precedence.New(n.cloud.config)
			for request := range answered {
				if table.Match(request.request()).Owner.Namespace != calm {
					t.Errorf("life %d: %s on %d was answered by %s, which has changed nothing", life, request.host, request.port, calm)
				}
			}
		}
		if t.Failed() {
			n.print()
			return
		}
	}
}

type neighbours struct {
	t       *testing.T
	random  *rand.Rand
	cloud   cloud
	secrets map[string]any            // made so far
	objects map[string]map[string]any // that there are, by namespace
}

// What there is to draw from. Hosts of rules are few, so that namespaces meet.
var (
	hostsThere = []string{"a.test", "b.test", "*.test", "a.wild", "*.wild", "own.example", ""}
	namesThere = []string{"a.test", "b.test", "*.test", "a.wild", "*.wild", "own.example", "*.example", "other.test", "A.TEST"}
	arnsThere  = map[routing.CertificateID][]string{
		"arn:aws:acm:eu-west-1:123456789012:certificate/1": {"a.test", "a.wild"},
		"arn:aws:acm:eu-west-1:123456789012:certificate/2": {"*.test"},
		"arn:aws:acm:eu-west-1:123456789012:certificate/3": {"*.wild", "own.example"},
	}
	foundThere = map[string][]routing.CertificateID{
		"a.test": {"arn:aws:acm:eu-west-1:123456789012:certificate/2", "arn:aws:acm:eu-west-1:123456789012:certificate/1"},
		"b.test": {"arn:aws:acm:eu-west-1:123456789012:certificate/2"}, "*.wild": {"arn:aws:acm:eu-west-1:123456789012:certificate/3"},
	}
)

func (n *neighbours) some(from []string, most int) []string {
	var out []string
	for range 1 + n.random.IntN(most) {
		out = append(out, from[n.random.IntN(len(from))])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// change changes an object of a namespace, adds one, or removes one.
func (n *neighbours) change(namespace string) {
	own := n.objects[namespace]
	name := fmt.Sprintf("%d", n.random.IntN(2))
	switch n.random.IntN(6) {
	case 0:
		delete(own, "ingress "+name)
	case 1:
		delete(own, "secret "+name)
	case 2, 3:
		names := n.some(namesThere, 3)
		from := []string{namespace, namespace, "both"}[n.random.IntN(3)] // some namespaces have copies
		own["secret "+name] = n.secret(namespace, name, from, names)
	default:
		own["ingress "+name] = n.ingress(namespace, name)
	}
}

// secret is one with a certificate for some names, which two namespaces have if it is from both.
func (n *neighbours) secret(namespace, name, from string, names []string) any {
	key := strings.Join(append(names, namespace, name, from), " ")
	if n.secrets[key] == nil {
		s := aSecret(n.t, from+"/s", names...)
		s.Namespace, s.Name = namespace, name
		n.secrets[key] = s
	}
	return n.secrets[key]
}

func (n *neighbours) ingress(namespace, name string) *networkingv1.Ingress {
	ing := inEdge(namespace+"/"+name, aged(int64(n.random.IntN(9))))
	hosts := n.some(hostsThere, 3)
	for _, host := range hosts {
		ruled(host, prefixed("/", "web:80"))(ing)
	}
	if n.random.IntN(4) == 0 {
		defaulted(to("web:80"))(ing)
	}
	switch n.random.IntN(6) {
	case 0:
	case 1:
		ids := slices.Sorted(func(yield func(string) bool) {
			for id := range arnsThere {
				if !yield(string(id)) {
					return
				}
			}
		})
		annotated("certificate-arn", strings.Join(n.some(ids, 2), ","))(ing)
	case 2:
		secured("", slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == "" })...)(ing)
	default:
		for i := range 1 + n.random.IntN(2) {
			listed := n.some(append([]string{"listed.test"}, hosts...), 3)
			listed = slices.DeleteFunc(listed, func(h string) bool { return h == "" })
			secured(fmt.Sprint(i), listed...)(ing)
		}
	}
	return ing
}

// step compiles, and looks at what clients can be shown.
func (n *neighbours) step() {
	given := []any{shared(), aService("alice/web:80"), aService("bob/web:80")}
	for _, own := range n.objects {
		for _, object := range own {
			given = append(given, object)
		}
	}
	if len(n.objects["alice"])+len(n.objects["bob"]) == 0 || !slices.ContainsFunc(given, func(o any) bool { _, is := o.(*networkingv1.Ingress); return is }) {
		n.cloud.config = routing.Config{}
		return
	}
	n.cloud.names, n.cloud.found = arnsThere, nil
	n.cloud.byHost = foundThere
	n.cloud.compile(given...)
	for _, name := range n.cloud.config.Names {
		if !slices.Contains(name.Ports, 443) {
			continue
		}
		for _, c := range n.cloud.config.Certificates {
			if n.brings(name.Owner.Namespace, c) {
				continue
			}
			for _, in := range n.namesIn(c) {
				owner := n.cloud.recorded.Hosts[in] // a name may be a host, or reserved, of its own
				named := slices.ContainsFunc(n.cloud.config.Names, func(other routing.Name) bool { return other.Host == in })
				if in.Covers(name.Host) || name.Host.Covers(in) && !named && (owner == "" || owner == name.Owner.Namespace) {
					n.t.Errorf("clients of %s of namespace %s can be shown %s, which has the name %s and is of %v", name.Host, name.Owner.Namespace, c.ID, in, c.Secrets)
				}
			}
		}
	}
}

// brings reports whether a namespace brings a certificate.
func (n *neighbours) brings(namespace string, c routing.Certificate) bool {
	for _, secret := range c.Secrets {
		if strings.HasPrefix(secret, namespace+"/") {
			return true
		}
	}
	for _, object := range n.objects[namespace] {
		ing, is := object.(*networkingv1.Ingress)
		if !is {
			continue
		}
		named := ing.Annotations[settings.CertificateARN]
		if strings.Contains(named, string(c.ID)) {
			return true
		}
		for _, entry := range ing.Spec.TLS {
			for _, host := range entry.Hosts {
				if named == "" && entry.SecretName == "" && slices.Contains(foundThere[host], c.ID) {
					return true
				}
			}
		}
	}
	return false
}

func (n *neighbours) namesIn(c routing.Certificate) []routing.Host {
	var out []routing.Host
	for _, name := range append(slices.Clone(c.Hosts), arnsThere[c.ID]...) {
		out = append(out, routing.Host(strings.ToLower(name)))
	}
	return out
}

// answeredBy are the requests for named hosts that a namespace answers.
func (n *neighbours) answeredBy(namespace string) []visitTo {
	var out []visitTo
	table := precedence.New(n.cloud.config)
	for _, name := range n.cloud.config.Names {
		if name.Owner.Namespace != namespace {
			continue
		}
		host := strings.Replace(string(name.Host), "*", "never-named", 1)
		for _, port := range name.Ports { // a host that is only listed is for rules without a host elsewhere
			if r := (visitTo{host, port}); table.Match(r.request()).Owner.Namespace == namespace {
				out = append(out, r)
			}
		}
	}
	return out
}

// A visitTo is a request for the root of a host.
type visitTo struct {
	host string
	port int32
}

func (a visitTo) request() routing.Request {
	return routing.Request{Port: a.port, Host: a.host, Path: "/", Method: "GET"}
}

// print prints the objects that there are, and what is remembered.
func (n *neighbours) print() {
	for namespace, own := range n.objects {
		for name, object := range own {
			if ing, is := object.(*networkingv1.Ingress); is {
				n.t.Logf("%s of %s: %v, %v, %v, %v", name, namespace, ing.CreationTimestamp.Unix(), ing.Annotations, ing.Spec.TLS, hostsOfIngress(ing))
			}
		}
	}
	for _, c := range n.cloud.config.Certificates {
		n.t.Logf("certificate %s of %v: %v", c.ID, c.Secrets, n.namesIn(c))
	}
	n.t.Logf("hosts %v, yielding %v, told:\n%s", n.cloud.recorded.Hosts, n.cloud.recorded.Yielding, strings.Join(told(n.cloud.found), "\n"))
}

func hostsOfIngress(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		out = append(out, r.Host)
	}
	return out
}

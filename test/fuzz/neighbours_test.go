package fuzz

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/objects"
)

// This file composes Ingresses of two namespaces in one group. The class permits nothing that lets
// one reach into the other, and the Ingresses of alice are older; misses stay with a host, or go on
// to less specific ones. Whatever bob adds, edits or removes:
//
//   - a request for a host that alice names is answered as without him, over the same protocol, to
//     the same clients;
//   - no certificate that only he brings is on a port for a name that she serves there.

var (
	seed  = flag.Uint64("seed", 0, "the seed of random neighbours; 0 draws one")
	lives = flag.Int("lives", 200, "how many random neighbours there are")
)

func FuzzNeighbours(f *testing.F) {
	for s := range uint64(40) {
		f.Add(drawn(s))
	}
	secrets := neighbourSecrets(f)
	f.Fuzz(func(t *testing.T, choices []byte) { neighbours(t, secrets, choices) })
}

func TestRandomNeighbours(t *testing.T) {
	secrets := neighbourSecrets(t)
	seeds, lives := []uint64{1, 2, firstSeed()}, uint64(*lives)
	if testing.Short() {
		seeds, lives = seeds[2:], min(lives, 40)
	}
	for _, first := range seeds {
		t.Logf("-seed %d", first)
		for life := range lives {
			choices := drawn(first + life)
			if !t.Run(fmt.Sprint(first+life), func(t *testing.T) { neighbours(t, secrets, choices) }) {
				return
			}
		}
	}
}

// firstSeed is that of -seed, or one that is drawn.
func firstSeed() uint64 {
	if *seed != 0 {
		return *seed
	}
	return rand.Uint64() >> 1
}

// drawn are random choices.
func drawn(seed uint64) []byte {
	source := rand.New(rand.NewPCG(seed, seed))
	out := make([]byte, 200)
	for i := range out {
		out[i] = byte(source.Uint32())
	}
	return out
}

// choices are made by the bytes of an input, one after the other; when they are used up, by zeros.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

func one[T any](c *choices, of ...T) T { return of[c.below(len(of))] }

// The names that the neighbours choose among.
var (
	hostNames = []string{"a.example.com", "b.example.com", "*.example.com", "x.a.example.com", "*.a.example.com", "example.com", "c.example.org", ""}
	pathNames = []string{"/", "/a", "/a/b", "/*", "/a/*", "/a?b", "/A"}
	// secretNames are the names in the certificate of each Secret.
	secretNames = map[string][]string{
		"a": {"a.example.com"}, "b": {"b.example.com"}, "wildcard": {"*.example.com"}, "deep": {"*.a.example.com"}, "both": {"b.example.com", "a.example.com"},
		"apex": {"example.com", "*.example.com"}, "org": {"c.example.org"},
	}
)

// neighbourSecrets are those of both namespaces. They are made once: making keys takes time.
func neighbourSecrets(t testing.TB) []*corev1.Secret {
	t.Helper()
	var out []*corev1.Secret
	for _, namespace := range []string{"alice", "bob"} {
		for name, hosts := range secretNames {
			secret, err := objects.Secret(namespace+"/"+name, hosts)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, secret)
		}
	}
	return out
}

// ingresses draws Ingresses of a namespace.
func (c *choices) ingresses(namespace string, made int) []*networkingv1.Ingress {
	var out []*networkingv1.Ingress
	for i := range 1 + c.below(3) {
		ing := newIngress(namespace, one(c, hostNames...), one(c, pathNames...), c.pathType())
		ing.Name, ing.CreationTimestamp = fmt.Sprintf("web%d", i), day(made+i)
		ing.Annotations = map[string]string{"fairlead.dev/group": group}
		for range c.below(3) {
			ing.Spec.Rules = append(ing.Spec.Rules, rule(one(c, hostNames...), networkingv1.HTTPIngressPath{Path: one(c, pathNames...), PathType: new(c.pathType()), Backend: web()}))
		}
		if c.below(3) == 0 {
			ing.Spec.DefaultBackend = new(web())
		}
		for range c.below(3) {
			entry := networkingv1.IngressTLS{SecretName: one(c, "a", "b", "wildcard", "deep", "both", "apex", "org", "missing")}
			for range c.below(3) {
				if host := one(c, hostNames...); host != "" {
					entry.Hosts = append(entry.Hosts, host)
				}
			}
			ing.Spec.TLS = append(ing.Spec.TLS, entry)
		}
		for range c.below(3) {
			key, value, _ := strings.Cut(one(c,
				"conditions=[{header: {User-Agent: ['*']}}]", "conditions=[{source: [0.0.0.0/0, '::/0']}]", "conditions=[{method: [GET]}]",
				"inbound=10.0.0.0/8", "inbound=10.1.0.0/16", "inbound=0.0.0.0/0", "listen-ports=HTTP:443", "listen-ports=HTTP:80,HTTPS:443,HTTP:8080", "listen-ports=HTTP:8080",
				"tls-policy=ELBSecurityPolicy-2016-08", "order=-10", "backend-protocol=HTTPS", "wafv2-acl=none", "shield-advanced=false", "health-check-path=/ping",
			), "=")
			ing.Annotations["fairlead.dev/"+key] = value
		}
		if acceptable(ing) {
			out = append(out, ing)
		}
	}
	return out
}

func (c *choices) pathType() networkingv1.PathType {
	return one(c, networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific)
}

// neighbours composes the two and holds them to the properties, for both readings of a miss.
func neighbours(t *testing.T, secrets []*corev1.Secret, text []byte) {
	for _, miss := range []string{v1alpha1.HostMissAnswer, v1alpha1.HostMissLessSpecific} {
		neighboursUnder(t, miss, secrets, text)
	}
}

func neighboursUnder(t *testing.T, miss string, secrets []*corev1.Secret, text []byte) {
	c := choices(text)
	w := newWorld(t, func(spec *v1alpha1.LoadBalancerClassSpec) { spec.HostMiss = miss })
	w.Secrets = secrets
	alice := c.ingresses("alice", 0)
	w.Ingresses = alice
	alone := w.shared(t)
	for range 2 { // what he adds, and what he makes of it
		w.Ingresses = slices.Concat(alice, c.ingresses("bob", 10))
		within(t, func() {
			together := w.shared(t)
			for _, host := range hostsOf(alice) {
				compareAnswers(t, alone, together, host)
			}
			checkPresented(t, alone, together)
		})
		if t.Failed() {
			t.Logf("hostMiss: %s", miss)
			for _, ing := range w.Ingresses {
				text, err := yaml.Marshal(ing)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("---\n%s", text)
			}
			return
		}
	}
}

// shared is the load balancer of the group; one without listeners where there is none.
func (w *world) shared(t *testing.T) compiled {
	t.Helper()
	built, diagnostics := w.compile()
	check(t, built, diagnostics, nil)
	for _, c := range built {
		if strings.Contains(string(c.key), group) {
			return c
		}
	}
	return compiled{}
}

// hostsOf are hosts that clients can ask for and that Ingresses name: of a wildcard, one below it.
// Those of no name in particular are left out: a host that another namespace names is that
// namespace's.
func hostsOf(ingresses []*networkingv1.Ingress) []string {
	var out []string
	for _, ing := range ingresses {
		for _, r := range ing.Spec.Rules {
			if r.Host != "" {
				out = append(out, strings.Replace(r.Host, "*", "z", 1))
			}
			if r.Host == "*.example.com" {
				out = append(out, "a.example.com", "b.example.com")
			}
		}
		for _, entry := range ing.Spec.TLS {
			for _, host := range entry.Hosts {
				out = append(out, strings.Replace(host, "*", "z", 1))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// compareAnswers compares what requests for a host meet on the ports of alice.
func compareAnswers(t *testing.T, alone, together compiled, host string) {
	t.Helper()
	for _, l := range alone.LoadBalancer.Listeners {
		if !serves(alone, l.Port, host) {
			continue
		}
		i := slices.IndexFunc(together.LoadBalancer.Listeners, func(other lb.Listener) bool { return other.Port == l.Port })
		if i < 0 {
			t.Errorf("port %d, which serves %s, is gone", l.Port, host)
			continue
		}
		now := together.LoadBalancer.Listeners[i]
		if l.Protocol != now.Protocol || !slices.Equal(l.Settings.Inbound, now.Settings.Inbound) || l.Settings.TLSPolicy != now.Settings.TLSPolicy {
			t.Errorf("port %d, which serves %s, is %s %v %q and was %s %v %q", l.Port, host,
				now.Protocol, now.Settings.Inbound, now.Settings.TLSPolicy, l.Protocol, l.Settings.Inbound, l.Settings.TLSPolicy)
		}
		was, is := lb.NewMatcher(l, lb.ALB().Dialect), lb.NewMatcher(now, lb.ALB().Dialect)
		for _, r := range requestsFor([]string{host}, []string{"/", "/a", "/a/b", "/axb", "/A", "/other"}) {
			for _, agent := range []string{"", "curl"} {
				r.Port, r.Header = l.Port, nil
				if agent != "" {
					r.Header = map[string][]string{"User-Agent": {agent}}
				}
				_, before := was.Match(r)
				_, after := is.Match(r)
				if diff := cmp.Diff(before.String(), after.String()); diff != "" {
					t.Errorf("%s:%d%s with %q (-alone +with bob):\n%s", host, l.Port, r.Path, agent, diff)
				}
			}
		}
	}
}

// serves reports whether a host, or the wildcard above it, is named and a port is open.
func serves(c compiled, port int32, host string) bool {
	if c.Table == nil || !slices.ContainsFunc(c.LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port == port }) {
		return false
	}
	levels := slices.DeleteFunc(routing.Levels(host), func(h routing.Host) bool { return h == routing.Any })
	return slices.ContainsFunc(c.Table.Names, func(n routing.Name) bool { return slices.Contains(levels, n.Host) })
}

// checkPresented holds the certificates that only bob brings to names that alice does not serve on
// their port.
func checkPresented(t *testing.T, alone, together compiled) {
	t.Helper()
	for _, l := range together.LoadBalancer.Listeners {
		for _, id := range l.Certificates {
			certificate := together.certificate(id)
			if alone.certificate(id) != nil || certificate == nil {
				continue
			}
			for _, name := range hostNames {
				name = strings.Replace(name, "*", "z", 1)
				if name != "" && serves(alone, l.Port, name) && covers(certificate.Hosts, name) {
					t.Errorf("port %d: the certificate of %v for %v can be presented for %s", l.Port, certificate.Secrets, certificate.Hosts, name)
				}
			}
		}
	}
}

func (c compiled) certificate(id routing.CertificateID) *routing.Certificate {
	if c.Table == nil {
		return nil
	}
	for i := range c.Table.Certificates {
		if c.Table.Certificates[i].ID == id {
			return &c.Table.Certificates[i]
		}
	}
	return nil
}

// covers reports whether a client that asks for a host accepts a certificate for the names.
func covers(names []string, host string) bool {
	_, parent, _ := strings.Cut(host, ".")
	return slices.Contains(names, host) || slices.Contains(names, "*."+parent)
}

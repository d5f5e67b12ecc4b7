package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
	"fairlead.dev/fairlead/test/nightly"
)

// This file puts random Ingresses into the cluster, a group each, and reads the listener rules that
// become of them over the API: request by request they do what the specification says.

// sets is how many groups there are; an account has room for fifty load balancers.
var sets = func() int {
	if nightly.Is() {
		return 40
	}
	return 15
}()

// services is how many Services Ingresses send requests to.
const services = 4

// What random Ingresses are made of. plain is what conditions without regular expressions can say.
var (
	hosts      = []string{"", "a.example.com", "b.example.com", "*.example.com", "*.a.example.com", "x.example.com"}
	plainHosts = []string{"", "a.example.com", "b.example.com", "x.example.com", "example.net"}
	paths      = []string{"/", "/a", "/a/", "/a/b", "/A", "/b", "/c,1", "/d.e/f", "/~u", "/p(1)", "/a/b/c/d/e/f", "/a%20b"}
	plainPaths = []string{"/", "/a", "/a/", "/a/b", "/A", "/b", "/d.e/f", "/~u", "/a/b/c/d/e/f"}
	globs      = []string{"/a*", "/*.php", "/img/*/thumb", "/b?c"}
)

func TestRulesAreTheSpecification(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]func(*testing.T) account{
		"albsim": func(t *testing.T) account { return simulating(t, albsim.Options{}) },
		"moto":   emulated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, account(t))
			w.flags = []string{"--aws-rates=write=1000/1000,modify=1000/1000,targets=1000/1000,ec2-write=1000/1000,acm-write=1000/1000,acm-import=1000/1000"} // it is nobody's account
			for i := range services {
				w.serve(t, backend(i), pods(i, 1)...)
			}
			w.create(t, &v1alpha1.Backend{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "to-https"}, Spec: v1alpha1.BackendSpec{
				Redirect: &v1alpha1.Redirect{Scheme: "https", Port: "443", StatusCode: 301},
			}})
			w.create(t, certificate(t, w.namespace, "a.example.com", "b.example.com", "x.example.com"))
			for set := range sets {
				rng := rand.New(rand.NewPCG(7, uint64(set)))
				for i := range 1 + rng.IntN(4) {
					w.create(t, w.anyIngress(rng, set, i))
				}
			}
			w.replace(t)
			kube.Eventually(t, "every group is served", func() bool {
				for set := range sets {
					if w.address(w.members(t, set)) == "" {
						return false
					}
				}
				return w.proxy.quiet() > rest
			})
			w.compare(t)
		})
	}
}

// compare sends every request to what AWS says of each group, and to the specification.
func (w *world) compare(t *testing.T) {
	t.Helper()
	compared, forwarded, secure := 0, 0, 0
	for set := range sets {
		members := w.members(t, set)
		if w.refused(t, set) {
			continue // what cannot be said is not, and its owner is told so
		}
		compared++
		there := w.listening(t, w.address(members))
		for _, r := range requests() {
			want, got := wanted(r, members), there.answer(r)
			if got != want {
				t.Fatalf("set %d: %+v is answered with %s, not with %s", set, r, got, want)
			}
			if strings.HasPrefix(got, "10.") {
				forwarded++
				if r.port == 443 {
					secure++
				}
			}
		}
	}
	t.Logf("%d sets, %d requests each, of which %d were forwarded, %d of these over TLS", compared, len(requests()), forwarded, secure)
	if compared < sets*3/4 || forwarded < 100*sets || secure < sets {
		t.Errorf("that shows little")
	}
}

// wanted is what the specification says of a request.
func wanted(r request, ingresses []networkingv1.Ingress) string {
	if secure := slices.ContainsFunc(ingresses, func(i networkingv1.Ingress) bool { return len(i.Spec.TLS) > 0 }); r.port == 443 && !secure {
		return "refused"
	}
	switch to := answer(r, ingresses); {
	case to == nil:
		return "404"
	case to.Resource != nil:
		return "HTTP_301 HTTPS 443"
	default:
		var i int
		if _, err := fmt.Sscanf(to.Service.Name, "service-%d", &i); err != nil {
			return err.Error()
		}
		return pods(i, 1)[0]
	}
}

// requests come near what Ingresses ask for.
func requests() []request {
	var out []request
	for _, port := range []int32{80, 443} {
		for _, host := range []string{"a.example.com", "A.Example.COM", "b.example.com", "x.example.com", "y.example.com", "x.a.example.com", "x.y.example.com", "example.com", "example.net", "other.org"} {
			for _, p := range slices.Concat(paths, []string{"/abc", "/b/c", "/bxc", "/x/y.php", "/img/1/thumb", "/img/thumb", "/a/b/c"}) {
				out = append(out, request{port, host, p}, request{port, host, p + "x"}, request{port, host, strings.TrimSuffix(p, "/") + "/x"})
			}
		}
	}
	return out
}

// anyIngress is a member of a set. Those that are served over TLS have no default backend, of which
// the specification does not say whether it is.
func (w *world) anyIngress(rng *rand.Rand, set, i int) *networkingv1.Ingress {
	ing := w.ingress(fmt.Sprintf("set-%02d-%d", set, i), "")
	ing.Annotations["fairlead.dev/group"] = fmt.Sprintf("set-%02d", set)
	ing.Spec.Rules = nil
	least := 0
	if secured(set) {
		least = 1
	}
	for range least + rng.IntN(4-least) {
		ing.Spec.Rules = append(ing.Spec.Rules, w.anyRule(rng, set))
	}
	switch {
	case secured(set):
		var names []string
		for _, r := range ing.Spec.Rules {
			if r.Host != "" && !strings.Contains(r.Host, "*") && r.Host != "example.net" && !slices.Contains(names, r.Host) && rng.IntN(3) > 0 {
				names = append(names, r.Host)
			}
		}
		if len(names) > 0 {
			ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: names, SecretName: "tls"}}
		}
	case len(ing.Spec.Rules) == 0, rng.IntN(3) == 0:
		to := w.anyBackend(rng, set)
		ing.Spec.DefaultBackend = &to
	}
	return ing
}

// secured reports whether the Ingresses of a set may ask for TLS.
func secured(set int) bool { return set%4 == 0 }

func (w *world) anyRule(rng *rand.Rand, set int) networkingv1.IngressRule {
	from, written := hosts, paths
	if w.globs {
		from, written = plainHosts, plainPaths
	}
	rule := networkingv1.IngressRule{Host: from[rng.IntN(len(from))]}
	if rule.Host != "" && rng.IntN(10) == 0 {
		return rule // it names the host, and nothing more
	}
	rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for range 1 + rng.IntN(4) {
		kind := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}[rng.IntN(3)]
		p := written[rng.IntN(len(written))]
		if kind == networkingv1.PathTypeImplementationSpecific && rng.IntN(2) == 0 {
			p = globs[rng.IntN(len(globs))]
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: &kind, Backend: w.anyBackend(rng, set)})
	}
	return rule
}

func (w *world) anyBackend(rng *rand.Rand, set int) networkingv1.IngressBackend {
	if !secured(set) && rng.IntN(8) == 0 { // over TLS it would lead to itself
		group := v1alpha1.Group
		return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: v1alpha1.KindBackend, Name: "to-https"}}
	}
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: backend(rng.IntN(services)), Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

// members are the Ingresses of a set, as the API server has them.
func (w *world) members(t *testing.T, set int) []networkingv1.Ingress {
	t.Helper()
	var list networkingv1.IngressList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(i networkingv1.Ingress) bool {
		return i.Annotations["fairlead.dev/group"] != fmt.Sprintf("set-%02d", set)
	})
}

// address is where the Ingresses of a set are reached; "" as long as one of them does not say.
func (w *world) address(members []networkingv1.Ingress) string {
	address := ""
	for _, m := range members {
		if len(m.Status.LoadBalancer.Ingress) == 0 {
			return ""
		}
		address = m.Status.LoadBalancer.Ingress[0].Hostname
	}
	return address
}

// refused reports whether the members of a set are told that not all can be served.
func (w *world) refused(t *testing.T, set int) bool {
	t.Helper()
	var list v1alpha1.LoadBalancerList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf("%s/%s/@set-%02d/", w.namespace, w.namespace, set)
	for _, b := range list.Items {
		if strings.HasPrefix(b.Spec.Key, key) {
			return slices.ContainsFunc(b.Status.Diagnostics, func(d v1alpha1.Diagnostic) bool { return d.Severity == string(diag.Error) })
		}
	}
	t.Fatalf("nothing is told of %s", key)
	return false
}

// certificate is a Secret for some hosts.
func certificate(t *testing.T, namespace string, names ...string) *corev1.Secret {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(7_000_000_000, 0)}
	leaf, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tls"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}}
}

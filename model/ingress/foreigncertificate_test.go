package ingress

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// A cloud is what has come of the compilations of a shared group so far.
type cloud struct {
	t        *testing.T
	recorded record.Record
	held     []routing.Certificate
	onPort   []routing.CertificateID
	byHost   map[string][]routing.CertificateID
	names    map[routing.CertificateID][]string
	config   routing.Config
	found    []diag.Diagnostic
}

// compile compiles objects, and remembers what the operator does.
func (c *cloud) compile(given ...any) {
	c.t.Helper()
	o := objectsOf(given...)
	o.Records = map[routing.Key]record.Record{edgeKey: c.recorded}
	snapshots, _ := Place(o, ClassOptions{})
	s := snapshotOf(c.t, edgeKey, snapshots)
	c.config, c.found = Translate(*s, Certificates{Imported: c.held, Shown: c.onPort, ByHost: c.byHost, Names: c.names})
	c.held, c.onPort = nil, nil
	for _, l := range c.config.Listeners {
		c.onPort = append(c.onPort, l.Certificates...)
	}
	c.recorded = record.Record{Certificates: map[string]routing.CertificateID{}, Hosts: map[routing.Host]string{}, Yielding: map[routing.Host]bool{}}
	for _, known := range c.config.Certificates {
		c.held = append(c.held, routing.Certificate{ID: known.ID, Hosts: known.Hosts, Kind: known.Kind})
		for _, secret := range known.Secrets {
			c.recorded.Certificates[secret] = known.ID
		}
	}
	for _, h := range s.OwnedHosts() {
		c.recorded.Hosts[h.Host] = h.Namespace
	}
	for _, h := range c.config.Yielding {
		c.recorded.Yielding[h] = true
	}
}

// secure are the hosts that are served on 443.
func (c *cloud) secure() []string {
	var out []string
	for _, n := range c.config.Names {
		if slices.Contains(n.Ports, 443) {
			out = append(out, string(n.Host))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shown are the Secrets of the certificates on 443.
func (c *cloud) shown() []string {
	var out []string
	for _, known := range c.config.Certificates {
		out = append(out, known.Secrets...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foreign is who is told about foreign certificates.
func (c *cloud) foreign() []string {
	var out []string
	for _, d := range c.found {
		if d.Reason == diag.CertificateForeign {
			out = append(out, fmt.Sprintf("%s %s", d.Severity, d.Source.Object()))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *cloud) expect(secure, shown, foreign []string) {
	c.t.Helper()
	compare(c.t, "hosts over HTTPS", c.secure(), secure)
	compare(c.t, "certificates", c.shown(), shown)
	compare(c.t, "told", c.foreign(), foreign)
}

// https is a rule for a host that is served over HTTPS too.
func https(host, secret string) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		ruled(host, prefixed("/", "web:80"))(ing)
		secured(secret, host)(ing)
	}
}

func http(host string) func(*networkingv1.Ingress) { return ruled(host, prefixed("/", "web:80")) }

// A host that is named below a certificate of another namespace yields to it, and goes on to once
// it is remembered itself, though its Ingress is the older one and its namespace serves a
// certificate with its name.
func TestACertificateIsNotTakenAway(t *testing.T) {
	c := cloud{t: t}
	bob := []any{shared(), aSecret(t, "bob/tls", "*.test"), inEdge("bob/b", aged(1), https("b.test", "tls"))}
	own := aSecret(t, "alice/tls", "a.test", "alice.example")
	c.compile(append(bob, own, inEdge("alice/a", aged(2), https("alice.example", "tls")))...)
	c.expect([]string{"alice.example", "b.test"}, []string{"alice/tls", "bob/tls"}, nil)
	for range 3 {
		c.compile(append(bob, own, inEdge("alice/a", aged(2), https("alice.example", "tls"), https("a.test", "tls")))...)
		c.expect([]string{"alice.example", "b.test"}, []string{"alice/tls", "bob/tls"}, []string{"error alice/a", "info bob/b"})
	}
	c.compile(shared(), own, inEdge("alice/a", aged(2), https("alice.example", "tls"), https("a.test", "tls")))
	c.expect([]string{"a.test", "alice.example"}, []string{"alice/tls"}, nil)
	c.compile(append(bob, own, inEdge("alice/a", aged(2), https("alice.example", "tls"), https("a.test", "tls")))...)
	c.expect([]string{"a.test", "alice.example"}, []string{"alice/tls"}, []string{"error bob/b", "info alice/a"})
}

// Nor by a host that comes with a member of another load balancer, where it is remembered.
func TestACertificateIsNotTakenAwayByAMove(t *testing.T) {
	o := objectsOf(shared(), aSecret(t, "bob/tls", "*.test"), inEdge("bob/b", aged(1), https("b.test", "tls")), inEdge("alice/a", aged(2), http("a.test")))
	bobs := ReadCertificate(o.Secrets[0]).Certificate
	o.Records = map[routing.Key]record.Record{
		edgeKey: {Hosts: map[routing.Host]string{"b.test": "bob"}, Certificates: map[string]routing.CertificateID{"bob/tls": bobs.ID}, Members: map[string]record.Member{"bob/b": {Served: true}}},
		"public/@edge/internet-facing": {
			Hosts: map[routing.Host]string{"a.test": "alice"}, Members: map[string]record.Member{"alice/a": {Served: true}},
		},
	}
	snapshots, _ := Place(o, ClassOptions{})
	config, _ := Translate(*snapshotOf(t, edgeKey, snapshots), Certificates{Imported: []routing.Certificate{{ID: bobs.ID, Hosts: bobs.Hosts}}})
	compare(t, "certificates", len(config.Certificates), 1)
	compare(t, "hosts that yield", config.Yielding, []routing.Host{"a.test"})
}

// A certificate with a name for a host of another namespace is refused, in whatever order and at
// whatever time it comes, and the last one of the Secret stays.
func TestAForeignCertificateIsRefused(t *testing.T) {
	alice := []any{shared(), aSecret(t, "alice/tls", "a.test"), inEdge("alice/a", aged(1), https("a.test", "tls"))}
	good := []any{aSecret(t, "bob/tls", "b.test"), inEdge("bob/b", aged(2), https("b.test", "tls"))}
	for _, names := range [][]string{{"b.test", "a.test"}, {"b.test", "*.test"}, {"b.test", "A.TEST"}, {"b.test", "a.test."}, {"b.test", "*"}, {"b.test", "a*.test"}, {"b.test", "*.*.test"}} {
		t.Run(strings.Join(names, ","), func(t *testing.T) {
			evil := []any{aSecret(t, "bob/tls", names...), good[1]}
			told := []string{"error bob/b", "info alice/a"}
			if strings.Contains(strings.TrimPrefix(names[1], "*."), "*") {
				told = told[:1] // nothing says which hosts it is for
			}
			c := cloud{t: t}
			c.compile(alice...)
			for range 2 {
				c.compile(slices.Concat(alice, evil)...)
				c.expect([]string{"a.test"}, []string{"alice/tls"}, told)
			}
			c.compile(slices.Concat(alice, good)...)
			c.expect([]string{"a.test", "b.test"}, []string{"alice/tls", "bob/tls"}, nil)
			last := c.recorded.Certificates["bob/tls"]
			for range 2 {
				c.compile(slices.Concat(alice, evil)...)
				c.expect([]string{"a.test", "b.test"}, []string{"alice/tls", "bob/tls"}, told)
				compare(t, "the certificate of bob", c.recorded.Certificates["bob/tls"], last)
			}
		})
	}
}

// The common name counts beside other names, since a cloud may read it.
func TestTheCommonNameIsAName(t *testing.T) {
	c := cloud{t: t}
	c.compile(shared(), inEdge("alice/a", aged(2), http("common.test")), aSecret(t, "bob/tls", "b.test"), inEdge("bob/b", aged(1), https("b.test", "tls")))
	c.expect(nil, nil, []string{"error bob/b", "info alice/a"})
}

// named is a subject with common names in this order.
func named(common ...string) pkix.Name {
	var subject pkix.Name
	for _, name := range common {
		subject.ExtraNames = append(subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name})
	}
	return subject
}

// A subject may have several common names, and a cloud may read any of them.
func TestEveryCommonNameIsAName(t *testing.T) {
	for _, common := range [][]string{{"a.test", "b.test"}, {"b.test", "a.test"}, {"b.test", "A.Test.", "other.b.test"}} {
		for _, hosts := range [][]string{nil, {"b.test"}} {
			c := cloud{t: t}
			c.compile(shared(), inEdge("alice/a", aged(2), http("a.test")), aSecretOf(t, "bob/tls", named(common...), hosts...), inEdge("bob/b", aged(1), https("b.test", "tls")))
			c.expect(nil, nil, []string{"error bob/b", "info alice/a"})
		}
	}
	got, _, err := readCertificate(aSecretOf(t, "shop/cert", named("a.test", "B.test")))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "names", got.Hosts, []string{"a.test", "b.test"})
}

// A name stands for one label more, however short it is, and one that is spelt in another way than
// hosts are is refused where namespaces share a load balancer.
func TestNamesOfOtherFormsAreForeign(t *testing.T) {
	cases := map[string]struct {
		name   string
		served bool
	}{
		"a name of its own":           {"more.b.test", true},
		"in capitals":                 {"MORE.B.TEST", true},
		"with a dot behind":           {"more.b.test.", true},
		"of another alphabet":         {"xn--bcher-kva.test", true},
		"a wildcard for none of hers": {"*.other", true},
		"hers":                        {"alice.com", false},
		"hers in capitals":            {"Alice.COM", false},
		"hers with a dot behind":      {"alice.com.", false},
		"the wildcard above hers":     {"*.com", false},
		"the same with a dot behind":  {"*.com.", false},
		"above a longer one":          {"*.co.uk", false},
		"any label":                   {"*", false},
		"any label with a dot behind": {"*.", false},
		"two stars":                   {"*.*.b.test", false},
		"a part of a label":           {"f*.b.test", false},
		"a star that is not in front": {"b.*.test", false},
		"an empty label in front":     {".b.test", false},
		"an empty label":              {"b..test", false},
		"a zero byte":                 {"b.test\x00.test", false},
		"a space":                     {"b.test ", false},
	}
	for name, of := range cases {
		t.Run(name, func(t *testing.T) {
			c := cloud{t: t}
			c.compile(shared(), inEdge("alice/a", aged(2), http("alice.com")), inEdge("alice/b", aged(2), http("alice.co.uk")),
				aSecretOf(t, "bob/tls", pkix.Name{}, "b.test", of.name), inEdge("bob/b", aged(1), https("b.test", "tls")))
			if got := len(c.shown()) == 1; got != of.served {
				t.Errorf("a certificate for b.test and %q: served %v, told:\n%s", of.name, got, strings.Join(told(c.found), "\n"))
			}
		})
	}
}

// Copies of one certificate are renewed one after the other, in either order, and no host is off
// HTTPS meanwhile.
func TestCopiesOfACertificateAreRenewed(t *testing.T) {
	before, after := aSecret(t, "alice/tls", "*.test"), aSecret(t, "alice/renewed", "*.test")
	of := func(namespace string, s *corev1.Secret) *corev1.Secret {
		s = s.DeepCopy()
		s.Namespace, s.Name = namespace, "tls"
		return s
	}
	for _, half := range [][]any{{of("alice", after), of("bob", before)}, {of("alice", before), of("bob", after)}} {
		c := cloud{t: t}
		both := []any{shared(), inEdge("alice/a", aged(2), https("a.test", "tls")), inEdge("bob/b", aged(1), https("b.test", "tls"))}
		c.compile(append(both, of("alice", before), of("bob", before))...)
		for range 2 {
			c.compile(append(both, half...)...)
			compare(t, "hosts over HTTPS", c.secure(), []string{"a.test", "b.test"})
			compare(t, "certificates", len(c.config.Certificates), 1)
		}
		c.compile(append(both, of("alice", after), of("bob", after))...)
		c.expect([]string{"a.test", "b.test"}, []string{"alice/tls", "bob/tls"}, nil)
		compare(t, "the certificate", c.recorded.Certificates["bob/tls"], ReadCertificate(after).Certificate.ID)
	}
}

// The names of a certificate have to be allowed wherever the class has hosts that are, not only in
// shared groups.
func TestNamesHaveToBeAllowed(t *testing.T) {
	class := aClass("public", v1alpha1.LoadBalancerClassSpec{AllowedHosts: []v1alpha1.AllowedHosts{
		{NamespaceSelector: metav1.LabelSelector{}, Hosts: []string{"b.test", "*.example", "common.test"}},
	}})
	for names, served := range map[string]bool{"b.test": true, "b.test c.example": true, "b.test *.example": true, "b.test *.test": false, "*.test": false, "b.test a.test": false, "b.test *.b.test": false, "b.test b.b.example": false} {
		o := objectsOf(class, aSecret(t, "bob/tls", strings.Fields(names)...), anIngress("bob/b", ofClass("public"), https("b.test", "tls")))
		snapshots, _ := Place(o, ClassOptions{})
		config, found := Translate(snapshots[0], Certificates{})
		if got := len(config.Certificates) == 1; got != served {
			t.Errorf("a certificate for %s: served %v, want %v: %v", names, got, served, told(found))
		}
	}
}

// The names in certificates of the cloud are asked for where they decide, of what is served
// meanwhile too.
func TestNamesAreAskedFor(t *testing.T) {
	const one, two = "arn:aws:acm:eu-west-1:123456789012:certificate/1", "arn:aws:acm:eu-west-1:123456789012:certificate/2"
	inOwn := anIngress("bob/b", ofClass("public"), annotated("certificate-arn", one), http("b.test"))
	inGroup := inEdge("bob/b", annotated("certificate-arn", one), http("b.test"))
	all := []v1alpha1.AllowedHosts{{Hosts: []string{"*"}}}
	cases := map[string]struct {
		class []any
		ing   *networkingv1.Ingress
		last  string
		want  []routing.CertificateID
	}{
		"in a shared group":                     {shared(), inGroup, "", []routing.CertificateID{one}},
		"of the version that was accepted, too": {shared(), inGroup, two, []routing.CertificateID{one, two}},
		"where the class has hosts":             {aClass("public", v1alpha1.LoadBalancerClassSpec{AllowedHosts: all}), inOwn, "", []routing.CertificateID{one}},
		"not where nothing depends on them":     {aClass("public", v1alpha1.LoadBalancerClassSpec{}), inOwn, "", nil},
		"nor where hosts are shared":            {shared(func(s *v1alpha1.LoadBalancerClassSpec) { s.Hosts = v1alpha1.HostsShared }), inGroup, "", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := objectsOf(c.class, c.ing)
			if c.last != "" {
				before := c.ing.DeepCopy()
				annotated("certificate-arn", c.last)(before)
				o.Records = map[routing.Key]record.Record{edgeKey: {Members: map[string]record.Member{"bob/b": {Served: true, LastAccepted: acceptedAs(before)}}}}
			}
			snapshots, _ := Place(o, ClassOptions{})
			compare(t, "asked", NamedCertificates(snapshots[0]), c.want)
		})
	}
}

// A certificate of the cloud that is refused for one host of another namespace is reported once for
// each host that is left out, and none is served in its place.
func TestAllDiscoveredCertificatesAreForMore(t *testing.T) {
	o := objectsOf(shared(), inEdge("alice/a", aged(2), ruled("a.test")), inEdge("bob/b", aged(1), ruled("b.test"), secured("", "b.test")))
	snapshots, _ := Place(o, ClassOptions{})
	config, found := Translate(*snapshotOf(t, edgeKey, snapshots), Certificates{
		ByHost: map[string][]routing.CertificateID{"b.test": {"wild", "both"}},
		Names:  map[routing.CertificateID][]string{"wild": {"*.test"}, "both": {"a.test", "b.test"}},
	})
	compare(t, "certificates", len(config.Certificates), 0)
	compare(t, "told", told(found), []string{"info CertificateForeign Ingress alice/a spec.rules[0].host", "error CertificateForeign Ingress bob/b spec.tls[0]"})
}

package ingress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/nightly"
)

// edge is a class with the group edge across all namespaces, and its owner, or "".
func edge(owner string) []any {
	return aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge", Owner: owner, NamespaceSelector: metav1.LabelSelector{}}}})
}

// portsInForce prints each port with what holds there, and which namespaces' routes are served.
func portsInForce(c routing.Config) []string {
	var out []string
	for _, l := range c.Listeners {
		line := fmt.Sprintf("%s %d from %s", l.Protocol, l.Port, settings.DescribeInbound(l.Inbound))
		if l.TLSPolicy != "" {
			line += " policy " + l.TLSPolicy
		}
		for _, r := range c.Routes {
			if slices.Contains(r.Ports, l.Port) {
				line += " " + r.Owner.Namespace
			}
		}
		out = append(out, line)
	}
	return out
}

func TestWhoDecidesAboutAPort(t *testing.T) {
	a := func(of string, age int64, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		namespace, _, _ := strings.Cut(of, "/")
		with = append(with, aged(age), ruled(namespace+".test", prefixed("/", "web:80")))
		return anIngress(of, with...)
	}
	in := annotated("group", "edge")
	one := annotated("group", "g")
	tls := func(namespace string) func(*networkingv1.Ingress) { return secured("cert", namespace+".test") }
	cases := map[string]struct {
		given []any
		want  []string
		told  []string
	}{
		"narrower ranges hold for all, whichever Ingress is older": {
			given: []any{a("shop/a", 3, one), a("shop/b", 2, one, annotated("inbound", "10.0.0.0/8")), a("shop/c", 1, one, annotated("inbound", "10.1.0.0/16"))},
			want:  []string{"HTTP 80 from 10.1.0.0/16 shop shop shop"},
			told: []string{
				"warning SettingConflict Ingress shop/a metadata.annotations[fairlead.dev/inbound]",
				"warning SettingConflict Ingress shop/b metadata.annotations[fairlead.dev/inbound]",
			},
		},
		"a member that is not served narrows nothing": {
			given: []any{a("shop/a", 3, one, annotated("inbound", "10.0.0.0/8")), a("shop/b", 2, one, annotated("inbound", "10.1.0.0/16,192.0.2.0/24")), a("shop/c", 1, one, annotated("inbound", "192.0.2.0/24"))},
			want:  []string{"HTTP 80 from 10.0.0.0/8 shop"},
			told: []string{
				"error Exposed Ingress shop/b metadata.annotations[fairlead.dev/inbound]",
				"error Exposed Ingress shop/c metadata.annotations[fairlead.dev/inbound]",
			},
		},
		"the same ranges in other words are told to no Ingress": {
			given: []any{a("shop/a", 2, one, annotated("inbound", "10.0.0.0/24")), a("shop/b", 1, one, annotated("inbound", "10.0.0.0/25,10.0.0.128/25"))},
			want:  []string{"HTTP 80 from 10.0.0.0/24 shop shop"},
		},
		"the owner of a group decides, whatever its age": {
			given: []any{edge("platform"), a("alice/a", 3, in, annotated("inbound", "10.0.0.0/9")), a("bob/b", 2, in), a("platform/p", 1, in, annotated("inbound", "10.0.0.0/8"))},
			want:  []string{"HTTP 80 from 10.0.0.0/8 bob platform"},
			told: []string{
				"error Exposed Ingress alice/a metadata.annotations[fairlead.dev/inbound]",
				"warning SettingConflict Ingress bob/b metadata.annotations[fairlead.dev/inbound]",
			},
		},
		"two Ingresses of the owner are as two of one namespace": {
			given: []any{edge("platform"), a("platform/p", 3, in, annotated("inbound", "10.0.0.0/8")), a("platform/q", 2, in, annotated("inbound", "192.0.2.0/24")), a("bob/b", 1, in)},
			want:  []string{"HTTP 80 from 10.0.0.0/8 platform bob"},
			told: []string{
				"warning SettingConflict Ingress bob/b metadata.annotations[fairlead.dev/inbound]",
				"error Exposed Ingress platform/q metadata.annotations[fairlead.dev/inbound]",
			},
		},
		"the owner decides about a port before it has a certificate for it": {
			given: []any{edge("platform"), a("platform/p", 2, in, annotated("inbound", "10.0.0.0/8"), secured("missing", "platform.test")),
				a("bob/b", 1, in, annotated("listen-ports", "HTTPS:443"), tls("bob")), aSecret(t, "bob/cert", "bob.test")},
			want: []string{"HTTP 80 from 10.0.0.0/8 platform", "HTTPS 443 from 10.0.0.0/8 bob"},
			told: []string{
				"warning SettingConflict Ingress bob/b metadata.annotations[fairlead.dev/inbound]",
				"error CertificateMissing Ingress platform/p spec.tls[0].secretName",
			},
		},
		"a namespace that owns another group owns nothing here": {
			given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}, {Name: "other", Owner: "alice"}}}),
				a("alice/a", 2, in, annotated("inbound", "10.0.0.0/8")), a("bob/b", 1, in)},
			want: []string{"HTTP 80 from all clients bob"},
			told: []string{"error Exposed Ingress alice/a metadata.annotations[fairlead.dev/inbound]"},
		},
		"the class decides about protocols, before the owner does": {
			given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{
				Groups: []v1alpha1.SharedGroup{{Name: "edge", Owner: "platform"}}, ListenPorts: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 8080}},
			}), a("platform/p", 2, in, annotated("listen-ports", "HTTPS:8080"), tls("platform")), aSecret(t, "platform/cert", "platform.test"), a("bob/b", 1, in)},
			want: []string{"HTTP 8080 from all clients bob"},
			told: []string{"error PortUnavailable Ingress platform/p metadata.annotations[fairlead.dev/listen-ports]"},
		},
		"the owner has HTTPS on 443 as all others": {
			given: []any{edge("platform"), a("platform/p", 2, in, annotated("listen-ports", "HTTP:443")), a("bob/b", 1, in, annotated("listen-ports", "HTTPS:443"), tls("bob")), aSecret(t, "bob/cert", "bob.test")},
			want:  []string{"HTTPS 443 from all clients bob"},
			told:  []string{"error PortUnavailable Ingress platform/p metadata.annotations[fairlead.dev/listen-ports]"},
		},
		"a TLS policy of a member that is not the owner": {
			given: []any{edge(""), a("bob/b", 2, in, annotated("tls-policy", "strict"), tls("bob")), aSecret(t, "bob/cert", "bob.test")},
			want:  []string{"HTTP 80 from all clients bob"},
			told:  []string{"error Exposed Ingress bob/b metadata.annotations[fairlead.dev/tls-policy]"},
		},
		"a TLS policy of the class for one port that accepts older versions": {
			given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Ports: []v1alpha1.PortSettings{{Port: 443, TLSPolicy: "ELBSecurityPolicy-2016-08"}}}),
				a("bob/b", 2, annotated("tls-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"), tls("bob")), aSecret(t, "bob/cert", "bob.test")},
			want: []string{"HTTP 80 from all clients bob"},
			told: []string{"error Exposed Ingress bob/b metadata.annotations[fairlead.dev/tls-policy]"},
		},
		"a TLS policy of the class for one port is reported": {
			given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Ports: []v1alpha1.PortSettings{{Port: 443, TLSPolicy: "usual"}}}),
				a("bob/b", 2, annotated("tls-policy", "strict"), tls("bob")), aSecret(t, "bob/cert", "bob.test")},
			want: []string{"HTTP 80 from all clients bob", "HTTPS 443 from all clients policy usual bob"},
			told: []string{"warning AnnotationNotAllowed Ingress bob/b metadata.annotations[fairlead.dev/tls-policy]"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, c.given...)
			found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Reason == diag.ServiceMissing }) // of all
			compare(t, "ports", portsInForce(config), c.want)
			compare(t, "told", sortedStrings(told(found)), sortedStrings(c.told))
			for _, d := range found {
				if (d.Reason == diag.Exposed || d.Reason == diag.PortUnavailable) && d.Ports == "" {
					t.Errorf("%s names no port", d)
				}
			}
		})
	}
}

var (
	drawnSources = []string{"10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/9,10.128.0.0/9", "10.1.0.0/16", "192.0.2.0/24", "0.0.0.0/0", "::/0",
		"0.0.0.0/0,::/0", "0.0.0.0/1,128.0.0.0/1,::/0", "pl-11111111", "pl-11111111,10.0.0.0/8", "2001:db8::/32", "10.0.0.0/8,192.0.2.0/24"}
	drawnPorts    = []string{"HTTP:80", "HTTP:80,HTTP:8080", "HTTPS:443", "HTTP:443", "HTTPS:80", "HTTPS:8443,HTTP:80", "HTTP:8443", "HTTP:8080,HTTP:443"}
	drawnPolicies = []string{"ELBSecurityPolicy-A", "ELBSecurityPolicy-B"}
	drawnACLs     = []string{"weak", "strong", "none"}
	drawnMutual   = []string{`[{"port": 443, "mode": "off"}]`, `[{"port": 443, "mode": "passthrough"}]`, `[{"port": 8443, "mode": "verify", "trustStore": "a"}]`,
		`[{"port": 443, "mode": "verify", "trustStore": "a"}]`, `[{"port": 443, "mode": "verify", "trustStore": "a", "ignoreExpiry": true}]`, `[{"port": 443, "mode": "verify", "trustStore": "b"}]`}
)

// drawMember is an Ingress with settings of whole ports and load balancers, for a host of its own.
func drawMember(rng *rand.Rand, namespace string, n int, group string) *networkingv1.Ingress {
	host := fmt.Sprintf("%s%d.test", namespace, n)
	ing := anIngress(fmt.Sprintf("%s/i%d", namespace, n), annotated("group", group), aged(int64(rng.IntN(3))), ruled(host, prefixed("/", "web:80")))
	drawn := map[string][]string{settings.Inbound: drawnSources, settings.ListenPorts: drawnPorts,
		settings.TLSPolicy: drawnPolicies, settings.WAFv2ACL: drawnACLs, settings.MutualAuthentication: drawnMutual}
	for _, row := range settings.Table {
		values := drawn[row.Annotation]
		if values == nil && row.About.Whole() {
			values = row.Good
		}
		if len(values) == 0 {
			continue
		}
		if i := rng.IntN(2 * len(values)); i < len(values) {
			annotated(strings.TrimPrefix(row.Annotation, settings.Prefix), values[i])(ing)
		}
	}
	if rng.IntN(3) > 0 {
		secured("cert", host)(ing)
	}
	if found := checkPortSettings(NewMember(ing, read(ing))); len(found) > 0 { // of ports that it lacks
		delete(ing.Annotations, settings.ListenerAttributes)
		delete(ing.Annotations, settings.MutualAuthentication)
	}
	if found := checkNetwork(NewMember(ing, read(ing))); len(found) > 0 { // of two that exclude each other
		delete(ing.Annotations, []string{settings.Inbound, settings.SecurityGroups}[rng.IntN(2)])
	}
	return ing
}

// read returns the settings of an Ingress under a class without parameters.
func read(ing *networkingv1.Ingress) settings.Values {
	given, _ := settings.Read(ing.Annotations, &v1alpha1.LoadBalancerClassSpec{}, true)
	return given
}

// cloudHas are the certificates and web ACLs that drawn members ask for.
func cloudHas() CloudProtection {
	return CloudProtection{WebACLs: map[string]string{"weak": "arn:weak", "strong": "arn:strong"}}
}

// compiled is the only load balancer of some objects.
func compiled(t *testing.T, given []any) (Snapshot, routing.Config) {
	t.Helper()
	snapshots, found := Place(objectsOf(given...), ClassOptions{})
	if len(snapshots) != 1 {
		t.Fatalf("%d load balancers: %v", len(snapshots), found)
	}
	s, _ := WithoutOtherWebACLs(snapshots[0], cloudHas())
	s, _ = WithoutOtherGroups(s)
	config, _ := Translate(s, Certificates{})
	n := NetworkOf(s)
	config.Settings.IPFamily, config.Settings.Subnets, config.Settings.SecurityGroups = n.IPFamily, n.Subnets, n.SecurityGroups
	config.Protection, _ = Protect(s, cloudHas())
	config.Settings.Tags, _ = WithMemberTags(s, config.Settings.Tags)
	config.Settings.Attributes, _ = WithMemberAttributes(s, config.Settings.Attributes,
		func(string, string) string { return "" })
	return s, config
}

// obviouslyLess reports whether a port admits clients, or hands on their certificates, in another
// way than an Ingress asks for.
func obviouslyLess(l routing.Listener, asked *routing.MutualAuthentication) bool {
	if asked == nil || asked.Mode == v1alpha1.MutualOff {
		return false
	}
	held := l.Mutual
	return l.Protocol != routing.HTTPS || held == nil || held.Mode != asked.Mode || held.TrustStore != asked.TrustStore || held.IgnoreExpiry && !asked.IgnoreExpiry
}

func TestNoMemberIsServedToMoreClientsThanItAsksFor(t *testing.T) {
	rng := drawing(t)
	namespaces := []string{"alice", "bob", "platform"}
	refused, narrowed, verified, grouped := 0, 0, 0, 0
	for range nightly.Times(800) {
		var given []any
		group := "edge"
		for _, n := range namespaces {
			given = append(given, aSecretOnce(t, n))
		}
		if across := rng.IntN(2) == 0; across {
			given = append(given, edge([]string{"", "platform"}[rng.IntN(2)])...)
		} else {
			group = "g"
			namespaces = []string{"alice"}
			given = append(given, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{}))
		}
		asked, askedMutual, askedGroups := map[string][]string{}, map[string]settings.MutualSetting{}, map[string][]string{}
		for n := range 2 + rng.IntN(5) {
			ing := drawMember(rng, namespaces[rng.IntN(len(namespaces))], n, group)
			askedMutual[ing.Namespace+"/"+ing.Name] = read(ing).Mutual
			askedGroups[ing.Namespace+"/"+ing.Name] = read(ing).SecurityGroups
			if text := ing.Annotations[settings.Inbound]; text != "" {
				asked[ing.Namespace+"/"+ing.Name] = strings.Split(strings.ReplaceAll(text, " ", ""), ",")
			}
			given = append(given, ing)
		}
		namespaces = []string{"alice", "bob", "platform"}
		s, config := compiled(t, given)
		for _, l := range config.Listeners {
			for _, r := range config.Routes {
				who := r.Owner.String()
				switch {
				case !slices.Contains(r.Ports, l.Port):
					refused++
				case askedGroups[who] != nil && !slices.Equal(askedGroups[who], config.Settings.SecurityGroups),
					settings.CanonicalInbound(asked[who]) != nil && config.Settings.SecurityGroups != nil:
					t.Fatalf("%s asks for the groups %v and the clients %v, and is served with the groups %v\n%s", who, askedGroups[who], asked[who], config.Settings.SecurityGroups, drawnAs(s))
				case !settings.Within(l.Inbound, asked[who]):
					t.Fatalf("%s asks for %v and is served on port %d to %s\n%s", who, asked[who], l.Port, settings.DescribeInbound(l.Inbound), drawnAs(s))
				case obviouslyLess(l, askedMutual[who][l.Port]):
					t.Fatalf("%s asks for %+v and is served on port %d with %+v\n%s", who, askedMutual[who][l.Port], l.Port, l.Mutual, drawnAs(s))
				case !settings.Within(asked[who], l.Inbound):
					narrowed++
				}
				if slices.Contains(r.Ports, l.Port) && askedGroups[who] != nil {
					grouped++
				}
				if slices.Contains(r.Ports, l.Port) && askedMutual[who][l.Port].Verifies() {
					verified++
				}
			}
		}
	}
	if refused == 0 || narrowed == 0 || verified == 0 || grouped == 0 {
		t.Errorf("%d were refused, %d narrowed, %d verified and %d had groups: the test tests nothing", refused, narrowed, verified, grouped)
	}
}

// drawnAs are the members of a load balancer that was drawn.
func drawnAs(s Snapshot) string {
	out := string(s.Key)
	for _, m := range s.Members {
		out += fmt.Sprintf("\n%s %v %v", m.Owner, m.Annotations, m.Spec.TLS)
	}
	return out
}

var madeSecrets = map[string]any{}

// aSecretOnce is the Secret cert of a namespace, for all hosts that are drawn; making it takes
// time.
func aSecretOnce(t *testing.T, namespace string) any {
	t.Helper()
	if madeSecrets[namespace] == nil {
		var hosts []string
		for n := range 8 {
			hosts = append(hosts, fmt.Sprintf("%s%d.test", namespace, n))
		}
		madeSecrets[namespace] = aSecret(t, namespace+"/cert", hosts...)
	}
	return madeSecrets[namespace]
}

// othersOf is what a load balancer is to all namespaces but one: what holds for it and for the
// ports on which another namespace is served, and what is served of the others.
func othersOf(c routing.Config, namespace string) []string {
	out := []string{fmt.Sprintf("protection %+v settings %+v", c.Protection, c.Settings)}
	ports := map[int32]bool{}
	for _, r := range c.Routes {
		if r.Owner.Namespace != namespace {
			out = append(out, fmt.Sprintf("route %s of %s on %v", r.Host, r.Owner, r.Ports))
			for _, p := range r.Ports {
				ports[p] = true
			}
		}
	}
	for _, n := range c.Names {
		if n.Owner.Namespace != namespace {
			out = append(out, fmt.Sprintf("name %s of %s on %v", n.Host, n.Owner, n.Ports))
		}
	}
	for _, l := range c.Listeners {
		if ports[l.Port] {
			out = append(out, fmt.Sprintf("%s %d from %v policy %q attributes %v %v mutual %v", l.Protocol, l.Port, l.Inbound, l.TLSPolicy, l.Attributes, l.Asked, l.Mutual))
		}
	}
	return out
}

func TestNoMemberButTheOwnerChangesWhatHoldsForOthers(t *testing.T) {
	rng := drawing(t)
	decided := 0
	for range nightly.Times(600) {
		owner := []string{"", "platform"}[rng.IntN(2)]
		given := slices.Concat([]any{aSecretOnce(t, "alice"), aSecretOnce(t, "bob"), aSecretOnce(t, "platform")}, edge(owner))
		for n := range 2 + rng.IntN(4) {
			given = append(given, drawMember(rng, []string{"alice", "platform"}[rng.IntN(2)], n, "edge"))
		}
		_, before := compiled(t, given)
		want := othersOf(before, "bob")
		for n := range 1 + rng.IntN(3) {
			given = append(given, drawMember(rng, "bob", 4+n, "edge"))
		}
		s, after := compiled(t, given)
		if diff := cmp.Diff(want, othersOf(after, "bob")); diff != "" {
			t.Fatalf("bob changes what holds for others (-without bob +with bob):\n%s\n%s", diff, drawnAs(s))
		}
		if before.Protection != (routing.Protection{}) {
			decided++
		}
	}
	if decided == 0 {
		t.Error("the owner never decided anything: the test tests nothing")
	}
}

func TestWhatTheOwnerDecidesHoldsWithoutRoomForIt(t *testing.T) {
	in := annotated("group", "edge")
	snapshots, _ := Place(objectsOf(edge("platform"),
		anIngress("platform/p", in, aged(1), annotated("inbound", "10.0.0.0/8"), annotated("wafv2-acl", "strong"), ruled("p.test", prefixed("/", "web:80"))),
		anIngress("bob/b", in, aged(2), ruled("b.test", prefixed("/", "web:80"))),
	), ClassOptions{})
	left := snapshots[0].Without(snapshots[0].Members[1:])
	config, _ := Translate(left, Certificates{})
	compare(t, "ports", portsInForce(config), []string{"HTTP 80 from 10.0.0.0/8 bob"})
	if p, _ := Protect(left, cloudHas()); p.WebACL != "arn:strong" {
		t.Errorf("protected by %+v, want the owner's web ACL", p)
	}
	if len(config.Members) != 1 {
		t.Errorf("members %v, want those that are served", config.Members)
	}
}

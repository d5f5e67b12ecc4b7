package ingress

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// sourcesOf are the Secrets of a listener's certificates, or their names in the cloud.
func sourcesOf(c routing.Config, port int32) []string {
	from := map[routing.CertificateID]string{}
	for _, cert := range c.Certificates {
		from[cert.ID] = strings.Join(cert.Secrets, ", ")
		if cert.Secrets == nil {
			from[cert.ID] = string(cert.ID)
		}
	}
	var out []string
	for _, l := range c.Listeners {
		if l.Port == port {
			for _, id := range l.Certificates {
				out = append(out, from[id])
			}
		}
	}
	return out
}

func TestCertificatesOfSeveralIngresses(t *testing.T) {
	group := annotated("group", "g")
	an := func(name string, age int64, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		return anIngress("shop/"+name, append(with, group, aged(age))...)
	}
	secrets := []any{aSecret(t, "shop/a", "a.test"), aSecret(t, "shop/a2", "a.test"), aSecret(t, "shop/b", "b.test"), aSecret(t, "shop/c", "c.test")}
	cases := map[string]struct {
		ingresses []any
		want      []string
		told      []string
	}{
		"the oldest Ingress's is the default": {
			ingresses: []any{an("x", 1, ruled("a.test"), secured("a", "a.test")), an("y", 2, ruled("b.test"), secured("b", "b.test")), an("z", 0, ruled("c.test"), secured("c", "c.test"))},
			want:      []string{"shop/b", "shop/a", "shop/c"},
		},
		"one Secret of two Ingresses is one certificate": {
			ingresses: []any{an("x", 1, ruled("a.test"), secured("a", "a.test")), an("y", 2, ruled("a.test"), secured("a"))},
			want:      []string{"shop/a"},
		},
		"two Secrets for one host: the oldest Ingress's": {
			ingresses: []any{an("x", 1, ruled("a.test"), secured("a", "a.test")), an("y", 2, ruled("a.test"), secured("a2", "a.test"))},
			want:      []string{"shop/a2"},
			told:      []string{"warning SettingConflict Ingress shop/x spec.tls[0].secretName"},
		},
		"two Secrets for one host of an Ingress: the first": {
			ingresses: []any{an("x", 1, ruled("a.test"), secured("a", "a.test"), secured("a2", "a.test"))},
			want:      []string{"shop/a"},
			told:      []string{"warning SettingConflict Ingress shop/x spec.tls[1].secretName"},
		},
		"a Secret that loses one host keeps its others": {
			ingresses: []any{an("y", 2, ruled("a.test"), secured("a", "a.test")), an("x", 1, ruled("a.test"), ruled("b.test"), secured("b"))},
			want:      []string{"shop/a", "shop/b"},
			told:      []string{"warning CertificateInvalid Ingress shop/x spec.tls[0].secretName", "warning SettingConflict Ingress shop/x spec.tls[0].secretName"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, append(c.ingresses, secrets...)...)
			got := sourcesOf(config, 443)
			if len(got) > 1 {
				got = append(got[:1:1], sortedStrings(got[1:])...) // the others are sorted by content
			}
			compare(t, "certificates", got, c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestSecretsThatCannotBeServed(t *testing.T) {
	good, other := aSecret(t, "shop/cert", "a.test"), aSecret(t, "shop/other", "a.test")
	with := func(change func(data map[string][]byte)) *corev1.Secret {
		s := good.DeepCopy()
		change(s.Data)
		return s
	}
	cases := map[string]*corev1.Secret{
		"no certificate": with(func(d map[string][]byte) { delete(d, corev1.TLSCertKey) }),
		"no key":         with(func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = nil }),
		"no PEM":         with(func(d map[string][]byte) { d[corev1.TLSCertKey] = []byte("certificate") }),
		"another key":    with(func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = other.Data[corev1.TLSPrivateKeyKey] }),
		"key and certificate mixed": with(func(d map[string][]byte) {
			d[corev1.TLSCertKey], d[corev1.TLSPrivateKeyKey] = d[corev1.TLSPrivateKeyKey], d[corev1.TLSCertKey]
		}),
	}
	for name, secret := range cases {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, anIngress("shop/web", ruled("a.test"), secured("cert", "a.test")), secret)
			compare(t, "listeners", listening(config), "HTTP 80")
			compare(t, "told", told(found), []string{"error CertificateInvalid Ingress shop/web spec.tls[0].secretName"})
		})
	}
}

func TestSecretsThatAreNotGoodAnyMore(t *testing.T) {
	const key = "fairlead/shop/@g/internal"
	group := annotated("group", "g")
	good := aSecret(t, "shop/cert", "a.test")
	brought, until, err := readCertificate(good)
	if err != nil {
		t.Fatal(err)
	}
	bad, copied := good.DeepCopy(), good.DeepCopy()
	bad.Data[corev1.TLSCertKey] = []byte("certificate")
	copied.Name = "copy"
	web := anIngress("shop/web", group, aged(2), ruled("a.test"), secured("cert", "a.test"))
	young := anIngress("shop/young", group, aged(1), ruled("b.test"), secured("cert", "b.test"))
	served := map[routing.Key]record.Record{key: {Certificates: map[string]routing.CertificateID{"shop/cert": brought.ID}}}
	held := []routing.Certificate{{ID: brought.ID, Hosts: brought.Hosts}}
	has, lacks := Certificates{Imported: held}, Certificates{}
	const invalid, missing, field = " CertificateInvalid Ingress shop/", " CertificateMissing Ingress shop/", " spec.tls[0].secretName"
	late, fresh := until.Add(time.Second), aSecret(t, "shop/cert", "a.test", "more.test")
	cases := map[string]struct {
		given []any
		cloud Certificates
		want  []string // Secrets of the certificates on 443
		told  []string
	}{
		"it holds no certificate: the last one stays": {[]any{web, bad, served}, has, []string{"shop/cert"}, []string{"error" + invalid + "web" + field}},
		"it is gone, and with it the certificate":     {[]any{web, served}, has, nil, []string{"error" + missing + "web" + field}},
		"it was never served":                         {[]any{web, bad}, has, nil, []string{"error" + invalid + "web" + field}},
		"the cloud has lost it":                       {[]any{web, bad, served}, lacks, nil, []string{"error" + invalid + "web" + field}},
		"somebody else names it too: what it held last is the same for both": {[]any{web, young, bad, served}, has, []string{"shop/cert"},
			[]string{"error" + invalid + "web" + field, "error" + invalid + "young" + field, "warning" + invalid + "young" + field}},
		"another Secret is named": {[]any{anIngress("shop/web", group, ruled("a.test"), secured("other")), served}, has, nil, []string{"error" + missing + "web" + field}},
		"another Secret has a copy": {[]any{web, bad, anIngress("shop/young", group, aged(1), ruled("b.test"), secured("copy", "b.test")), copied, served}, has, []string{"shop/cert, shop/copy"},
			[]string{"error" + invalid + "web" + field, "warning" + invalid + "young" + field}},
		"it is good again": {[]any{web, good, served}, has, []string{"shop/cert"}, nil},

		"a new one has expired: the last one stays":     {[]any{web, fresh, served}, Certificates{Imported: held, Now: late}, []string{"shop/cert"}, []string{"error" + invalid + "web" + field}},
		"the first one has expired":                     {[]any{web, fresh}, Certificates{Now: late}, nil, []string{"error" + invalid + "web" + field}},
		"it has expired where the cloud takes such":     {[]any{web, good}, lacks, []string{"shop/cert"}, nil},
		"it expires while it is served, and it is kept": {[]any{web, good}, Certificates{Imported: held, Now: late}, []string{"shop/cert"}, nil},
		"it is about to expire":                         {[]any{web, good}, Certificates{Now: until}, []string{"shop/cert"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Place(objectsOf(c.given...), ClassOptions{AssumeClasses: []string{"fairlead"}})
			config, more := Translate(snapshots[0], c.cloud)
			compare(t, "certificates", sourcesOf(config, 443), c.want)
			compare(t, "told", sortedStrings(told(append(found, more...))), sortedStrings(c.told))
		})
	}
}

func TestCertificateIsNamedByItsContent(t *testing.T) {
	id := func(s *corev1.Secret) routing.CertificateID {
		c, _, err := readCertificate(s)
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	one := aSecret(t, "shop/cert", "a.test")
	renamed := one.DeepCopy()
	renamed.Name = "other"
	if id(one) != id(renamed) {
		t.Error("the same content under another name has another ID")
	}
	if id(one) == id(aSecret(t, "shop/cert", "b.test")) {
		t.Error("another certificate has the same ID")
	}
	// The same key, written otherwise: what the provider was given has changed.
	respelt := one.DeepCopy()
	respelt.Data[corev1.TLSPrivateKeyKey] = append(respelt.Data[corev1.TLSPrivateKeyKey], '\n')
	if id(one) == id(respelt) {
		t.Error("another key has the same ID")
	}
}

func TestNamesInACertificate(t *testing.T) {
	cases := map[string]struct {
		hosts, want []string
	}{
		"its alternative names":          {[]string{"B.test", "*.a.test", "b.test"}, []string{"*.a.test", "b.test"}},
		"the common name if it has none": {nil, []string{"common.test"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := readCertificate(aSecret(t, "shop/cert", c.hosts...))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "names", got.Hosts, c.want)
		})
	}
}

func TestHostsThatAreNotRules(t *testing.T) {
	_, found := translated(t, nil, anIngress("shop/web", ruled("a.test"), secured("cert", "a.test", "b.test", "*.a.test")),
		aService("shop/web:80"), aSecret(t, "shop/cert", "a.test"))
	compare(t, "told", told(found), []string{"warning CertificateUnused Ingress shop/web spec.tls[0].hosts[1]", "warning CertificateUnused Ingress shop/web spec.tls[0].hosts[2]"})
}

func TestCertificatesThatTheCloudHolds(t *testing.T) {
	held := map[string][]routing.CertificateID{"a.test": {"cert-a", "cert-a-old"}, "*.b.test": {"cert-b"}}
	cases := map[string]struct {
		ing  *networkingv1.Ingress
		ask  []string
		want []string // certificates on 443
		any  []int32  // the ports of what is for no host in particular
		told []string
	}{
		"for a listed host":     {ing: anIngress("shop/web", ruled("a.test"), secured("", "a.test")), ask: []string{"a.test"}, want: []string{"cert-a"}},
		"for a listed wildcard": {ing: anIngress("shop/web", ruled("x.b.test"), ruled("y.b.test"), secured("", "*.b.test")), ask: []string{"*.b.test"}, want: []string{"cert-b"}},
		"for every host": {ing: anIngress("shop/web", ruled("a.test"), ruled("*.b.test"), defaulted(to("web:80")), secured("")),
			ask: []string{"*.b.test", "a.test"}, want: []string{"cert-a", "cert-b"}, any: []int32{80, 443}},
		"none for a host": {ing: anIngress("shop/web", ruled("a.test"), ruled("c.test"), secured("", "a.test", "c.test")), ask: []string{"a.test", "c.test"}, want: []string{"cert-a"},
			told: []string{"error CertificateMissing Ingress shop/web spec.tls[0]"}},
		"no host to ask for":                  {ing: anIngress("shop/web", defaulted(to("web:80")), secured("")), any: []int32{80}, told: []string{"error CertificateMissing Ingress shop/web spec.tls[0]"}},
		"none for hosts that a Secret covers": {ing: anIngress("shop/web", ruled("a.test"), secured("cert", "a.test"))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			given := []any{c.ing, aService("shop/web:80"), aSecret(t, "shop/cert", "a.test")}
			snapshots, _ := Place(objectsOf(given...), ClassOptions{AssumeClasses: []string{"fairlead"}})
			compare(t, "asked", CertificateHosts(snapshots[0]), c.ask)
			config, found := translated(t, held, given...)
			compare(t, "told", told(found), c.told)
			if c.ing.Spec.TLS[0].SecretName == "" {
				compare(t, "certificates", sourcesOf(config, 443), c.want)
			}
			if c.any != nil {
				compare(t, "ports of the default", config.Defaults[0].Ports, c.any)
			}
		})
	}
}

func TestHTTPSListenersHaveTheClassesPolicy(t *testing.T) {
	config, _ := translated(t, nil, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{TLSPolicy: "strict"}),
		anIngress("shop/web", ruled("a.test"), secured("cert")), aSecret(t, "shop/cert", "a.test"))
	if config.Listeners[0].TLSPolicy != "" || config.Listeners[1].TLSPolicy != "strict" {
		t.Errorf("policies %q and %q, want it on HTTPS only", config.Listeners[0].TLSPolicy, config.Listeners[1].TLSPolicy)
	}
}

func TestASecretThatIsWithheld(t *testing.T) {
	o := objectsOf(anIngress("shop/web", ruled("a.test", prefixed("/", "web:80")), secured("tls", "a.test")), aService("shop/web:80"))
	o.SecretsWithheld = "the operator reads none"
	snapshots, _ := Place(o, ClassOptions{AssumeClasses: []string{"fairlead"}})
	_, found := Translate(snapshots[0], Certificates{})
	want := "there is no Secret shop/tls that may be served: the operator reads none, so host a.test is left out of HTTPS"
	if len(found) != 1 || found[0].Message != want {
		t.Errorf("told %v, want %q", found, want)
	}
}

func TestCertificatesThatAreNamed(t *testing.T) {
	const one, two = "arn:aws:acm:eu-west-1:123456789012:certificate/1", "arn:aws:iam::123456789012:server-certificate/team/two"
	named := annotated("certificate-arn", one+", "+two)
	held := map[string][]routing.CertificateID{"a.test": {"found"}}
	cases := map[string]struct {
		ing  *networkingv1.Ingress
		want []string // certificates on 443
		told []string
	}{
		"without spec.tls, for everything":    {ing: anIngress("shop/web", named, ruled("a.test"), ruled("b.test")), want: []string{one, two}},
		"for the hosts that an entry covers":  {ing: anIngress("shop/web", named, ruled("a.test"), ruled("b.test"), secured("", "a.test")), want: []string{one, two}},
		"beside an entry that names a Secret": {ing: anIngress("shop/web", named, ruled("a.test"), ruled("b.test"), secured("cert", "b.test"), secured("", "a.test")), want: []string{one, two, "shop/cert"}},
		"not instead of a Secret":             {ing: anIngress("shop/web", named, ruled("a.test"), secured("cert", "a.test")), want: []string{"shop/cert"}},
		"with ports of their own":             {ing: anIngress("shop/web", named, annotated("listen-ports", "HTTPS:443"), ruled("a.test")), want: []string{one, two}},
		"none that is no ARN": {ing: anIngress("shop/web", annotated("certificate-arn", "mine"), ruled("a.test")),
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/certificate-arn]"}},
		"none twice": {ing: anIngress("shop/web", annotated("certificate-arn", one+","+one), ruled("a.test")),
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/certificate-arn]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			given := []any{c.ing, aSecret(t, "shop/cert", "a.test", "b.test")}
			snapshots, found := Place(objectsOf(given...), ClassOptions{AssumeClasses: []string{"fairlead"}})
			for _, s := range snapshots {
				compare(t, "asked", len(CertificateHosts(s)), 0)
				config, more := Translate(s, Certificates{ByHost: held})
				found = append(found, more...)
				compare(t, "certificates", sortedStrings(sourcesOf(config, 443)), c.want)
			}
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestAClassThatDoesNotDiscover(t *testing.T) {
	off := false
	given := []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{CertificateDiscovery: &off}), anIngress("shop/web", ruled("a.test"), secured("", "a.test"))}
	snapshots, _ := Place(objectsOf(given...), ClassOptions{})
	compare(t, "asked", len(CertificateHosts(snapshots[0])), 0)
	_, found := Translate(snapshots[0], Certificates{})
	want := "it names no Secret, and the class does not let the cloud be searched for certificates, so host a.test is left out of HTTPS"
	if len(found) != 1 || found[0].Message != want {
		t.Errorf("told %v, want %q", found, want)
	}
}

func TestSettingsOfPorts(t *testing.T) {
	group := annotated("group", "g")
	an := func(name string, age int64, policy string, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		with = append(with, group, aged(age), ruled(name+".test"), secured("cert"))
		if policy != "" {
			with = append(with, annotated("tls-policy", policy))
		}
		return anIngress("shop/"+name, with...)
	}
	conflict := func(name string) []string {
		return []string{"warning SettingConflict Ingress shop/" + name + " metadata.annotations[fairlead.dev/tls-policy]"}
	}
	for name, c := range map[string]struct {
		class v1alpha1.LoadBalancerClassSpec
		given []any
		want  string
		told  []string
	}{
		"nobody's":            {given: []any{an("a", 1, "")}},
		"an author's":         {given: []any{an("a", 1, ""), an("b", 2, "strict")}, want: "strict"},
		"the oldest author's": {given: []any{an("a", 2, "strict"), an("b", 1, "lax")}, want: "strict", told: conflict("b")},
		"the class's":         {class: v1alpha1.LoadBalancerClassSpec{TLSPolicy: "strict"}, given: []any{an("a", 1, "")}, want: "strict"},
		"the class's of the port": {class: v1alpha1.LoadBalancerClassSpec{TLSPolicy: "strict", Ports: []v1alpha1.PortSettings{{Port: 443, TLSPolicy: "stricter"}}},
			given: []any{an("a", 1, "")}, want: "stricter"},
		"not an author's against the class": {class: v1alpha1.LoadBalancerClassSpec{TLSPolicy: "strict"}, given: []any{an("a", 1, "lax")}, want: "strict",
			told: []string{"warning AnnotationNotAllowed Ingress shop/a metadata.annotations[fairlead.dev/tls-policy]"}},
		"none that is no name": {given: []any{an("a", 1, ""), an("b", 2, "not a name")},
			told: []string{"error AnnotationInvalid Ingress shop/b metadata.annotations[fairlead.dev/tls-policy]"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, found := translated(t, nil, append(c.given, aClass("fairlead", c.class), aSecret(t, "shop/cert", "a.test", "b.test"))...)
			compare(t, "policy", config.Listeners[1].TLSPolicy, c.want)
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestASecretIsParsedOnce(t *testing.T) {
	object := aSecret(t, "shop/cert", "a.test")
	other := SecretCertificate{Certificate: &routing.Certificate{ID: "judged before", Hosts: []string{"a.test"}, Pair: &routing.KeyPair{}}, Until: time.Now()}
	given := objectsOf(anIngress("shop/web", ruled("a.test"), secured("cert", "a.test")), object)
	given.Certificates = map[*corev1.Secret]SecretCertificate{object: other}
	snapshots, _ := Place(given, ClassOptions{AssumeClasses: []string{"fairlead"}})
	config, _ := Translate(snapshots[0], Certificates{})
	if got := config.Certificates[0].ID; got != "judged before" {
		t.Errorf("the Secret is judged again: its certificate is %s", got)
	}
	given.Certificates = nil
	snapshots, _ = Place(given, ClassOptions{AssumeClasses: []string{"fairlead"}})
	if _, judged := snapshots[0].Certificates[object]; !judged {
		t.Error("a snapshot has no judgement of a Secret that it names")
	}
}

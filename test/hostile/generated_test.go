package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file makes what an attacker writes that is too large for a case to hold.

var generators = map[string]func() ([]client.Object, error){
	"alias bomb":       func() ([]client.Object, error) { return with("fairlead.dev/conditions", aliases(20_000, 5_000)), nil },
	"large alias bomb": func() ([]client.Object, error) { return with("fairlead.dev/conditions", aliases(40_000, 10_000)), nil },
	"nested aliases":   func() ([]client.Object, error) { return with("fairlead.dev/conditions", nested(9)), nil },
	"globs":            func() ([]client.Object, error) { return of(globs(20, "/*%c%c????????????c1")), nil },
	"starry globs":     func() ([]client.Object, error) { return of(globs(80, "/*%c*%c*a*b*c")), nil },
	"grouped globs":    groupedGlobs,
	"tangled globs":    tangledGlobs,
	"tenants":          fourTenants,
	"regular expressions": func() ([]client.Object, error) {
		return of(globs(20, "/(a|b)*%c%c(a|b){12}c")), nil
	},
	"reversed chain":               func() ([]client.Object, error) { return chain(80) },
	"missing Secrets":              func() ([]client.Object, error) { return []client.Object{missingSecrets(2_000)}, nil },
	"hosts and paths for any host": func() ([]client.Object, error) { return []client.Object{hostsAndPaths(101, 100)}, nil },
	"tls without hosts":            func() ([]client.Object, error) { return []client.Object{emptyTLS(2_000)}, nil },
}

// generated is what the generators of these names make.
func generated(names []string) ([]client.Object, error) {
	var all []client.Object
	for _, name := range names {
		generate, known := generators[name]
		if !known {
			return nil, fmt.Errorf("nothing is generated under the name %q", name)
		}
		made, err := generate()
		if err != nil {
			return nil, fmt.Errorf("generating %s: %w", name, err)
		}
		all = append(all, made...)
	}
	return all, nil
}

// evil is the attacker's Ingress.
func evil() *networkingv1.Ingress {
	class := "fairlead"
	return &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bob", Name: "evil", CreationTimestamp: metav1.NewTime(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)),
			Annotations: map[string]string{},
		},
		Spec: networkingv1.IngressSpec{IngressClassName: &class},
	}
}

// rule sends paths of a host to bob's Service.
func rule(host string, paths ...string) networkingv1.IngressRule {
	specific := networkingv1.PathTypeImplementationSpecific
	out := networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	for _, p := range paths {
		out.HTTP.Paths = append(out.HTTP.Paths, networkingv1.HTTPIngressPath{Path: p, PathType: &specific, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}})
	}
	return out
}

// hostsAndPaths is an Ingress of alice in a group, with so many hosts of one path and so many paths
// for any host.
func hostsAndPaths(hosts, paths int) client.Object {
	ing := evil()
	ing.Namespace, ing.Name, ing.CreationTimestamp = "alice", "a", metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	ing.Annotations["fairlead.dev/group"] = "public"
	for i := range hosts {
		ing.Spec.Rules = append(ing.Spec.Rules, rule(fmt.Sprintf("h%d.example.com", i), "/shop"))
	}
	var forAny []string
	for i := range paths {
		forAny = append(forAny, fmt.Sprintf("/p%d", i))
	}
	ing.Spec.Rules = append(ing.Spec.Rules, rule("", forAny...))
	return ing
}

// with is an Ingress with one annotation.
func with(annotation, value string) []client.Object {
	ing := evil()
	ing.Annotations[annotation] = value
	ing.Spec.Rules = []networkingv1.IngressRule{rule("b.example.com", "/")}
	return []client.Object{ing}
}

// of is an Ingress with such paths.
func of(paths []string) []client.Object {
	ing := evil()
	ing.Spec.Rules = []networkingv1.IngressRule{rule("b.example.com", paths...)}
	return []client.Object{ing}
}

// aliases is one long text and so many aliases of it: parsers of YAML that count nodes count few.
func aliases(length, times int) string {
	return fmt.Sprintf(`- header: {"x-a": [&a "%s"%s]}`, strings.Repeat("A", length), strings.Repeat(",*a", times))
}

// nested is a list of aliases of a list of aliases, so many levels deep.
func nested(levels int) string {
	var b strings.Builder
	b.WriteString("- header:\n    x-0: &l0 [a,a,a,a,a,a,a,a,a,a]\n")
	for i := range levels {
		fmt.Fprintf(&b, "    x-%d: &l%d [%s*l%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d,", i), 9), i)
	}
	return b.String()
}

// globs are paths of a form that takes two letters, of which many can match the same request.
func globs(n int, form string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(form, 'a'+i%20, 'a'+i/20))
	}
	return all
}

// groupedGlobs are those on a load balancer that the neighbours share.
func groupedGlobs() ([]client.Object, error) {
	all := of(globs(20, "/*%c%c????????????c1"))
	all[0].SetAnnotations(map[string]string{"fairlead.dev/group": "public"})
	return all, nil
}

// tangledGlobs are four Ingresses of 7 KB whose globs and conditions requests can match in any
// combination.
func tangledGlobs() ([]client.Object, error) {
	var all []client.Object
	for n := range 4 {
		ing := evil()
		ing.Name = fmt.Sprint("evil-", n)
		var paths, conditions []string
		for i := range 40 {
			letters := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
			paths = append(paths, "/*"+letters+"*")
			conditions = append(conditions, fmt.Sprintf(`{path: "/*%s*", header: {x-0: ["*h%s*"]}}`, letters, letters))
		}
		ing.Annotations["fairlead.dev/conditions"] = "[" + strings.Join(conditions, ", ") + "]"
		ing.Spec.Rules = []networkingv1.IngressRule{rule(fmt.Sprintf("b%d.example.com", n), paths...)}
		all = append(all, ing)
	}
	return all, nil
}

// fourTenants are the tangled globs of four namespaces: three Ingresses of each on load balancers of their
// own, and one in a group that all share.
func fourTenants() ([]client.Object, error) {
	var all []client.Object
	for _, namespace := range []string{"bob", "carol", "dave", "erin"} {
		made, err := tangledGlobs()
		if err != nil {
			return nil, err
		}
		for i, o := range made {
			ing := o.(*networkingv1.Ingress)
			ing.Namespace, ing.Spec.Rules[0].Host = namespace, namespace+"-"+ing.Spec.Rules[0].Host
			if i == 0 {
				ing.Annotations["fairlead.dev/group"] = "public"
			}
			all = append(all, ing)
		}
	}
	return all, nil
}

// missingSecrets is an Ingress with so many Secrets that do not exist.
func missingSecrets(n int) *networkingv1.Ingress {
	ing := evil()
	ing.Spec.Rules = []networkingv1.IngressRule{rule("b.example.com", "/")}
	for i := range n {
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{"b.example.com"}, SecretName: fmt.Sprintf("missing-%d", i)})
	}
	return ing
}

// emptyTLS is an Ingress with so many hosts, and as many entries of TLS that are for all of them.
func emptyTLS(n int) *networkingv1.Ingress {
	ing := evil()
	for i := range n {
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: fmt.Sprintf("b%d.example.com", i)})
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{})
	}
	ing.Spec.DefaultBackend = &rule("", "/").HTTP.Paths[0].Backend
	return ing
}

// chain is a Secret of so many certificates, each issued by the next, in an order that tries most
// pairs, and an Ingress that is served with it. All issuers have one name.
func chain(n int) ([]client.Object, error) {
	var certificates [][]byte
	var first *ecdsa.PrivateKey
	var issuer *ecdsa.PrivateKey
	for i := range n {
		key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		}
		if i == n-1 {
			template.Subject.CommonName, template.DNSNames, template.IsCA, first = "b.example.com", []string{"b.example.com"}, false, key
			template.KeyUsage = x509.KeyUsageDigitalSignature
		}
		parent, signer := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}}, issuer
		if signer == nil {
			signer = key
		}
		made, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			return nil, err
		}
		certificates, issuer = append(certificates, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})), key
	}
	// The leaf comes first, and then the authorities from the root on.
	leaf := certificates[n-1]
	private, err := x509.MarshalPKCS8PrivateKey(first)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "bob", Name: "chain"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       slices.Concat(append([][]byte{leaf}, certificates[:n-1]...)...),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	}
	ing := evil()
	ing.Spec.Rules = []networkingv1.IngressRule{rule("b.example.com", "/")}
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"b.example.com"}, SecretName: "chain"}}
	return []client.Object{secret, ing}, nil
}

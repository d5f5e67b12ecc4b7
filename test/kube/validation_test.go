package kube

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/ingress/validate"
)

// This file compares what we check in files, which have not been through an API server, with what
// the API server checks: the same fields are refused, in the same words.

var long = strings.Repeat("a", 63) // as long as a label may be

// specs are those of Ingresses, good and bad. Which is which, the API server says.
var specs = map[string]string{
	// What there has to be.
	"nothing":                  `{}`,
	"no rules":                 `{rules: []}`,
	"tls alone":                `{tls: [{hosts: [a.test], secretName: cert}]}`,
	"a default backend alone":  `{defaultBackend: {service: {name: web, port: {number: 80}}}}`,
	"a rule with nothing":      `{rules: [{}]}`,
	"a host and no paths":      `{rules: [{host: a.test}]}`,
	"http and no paths":        `{rules: [{host: a.test, http: {paths: []}}]}`,
	"a rule and a default":     `{defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [{host: a.test}]}`,
	"everything wrong at once": `{ingressClassName: A, defaultBackend: {}, rules: [{host: A, http: {paths: [{path: a, pathType: Exact, backend: {}}, {path: b, pathType: Glob, backend: {}}]}}], tls: [{hosts: [A], secretName: A}]}`,

	// Classes.
	"a class":                   `{ingressClassName: fairlead, rules: [{}]}`,
	"a class with dots":         `{ingressClassName: fair.lead, rules: [{}]}`,
	"an empty class":            `{ingressClassName: "", rules: [{}]}`,
	"a class in upper case":     `{ingressClassName: Fairlead, rules: [{}]}`,
	"a class with a slash":      `{ingressClassName: a/b, rules: [{}]}`,
	"a class of 254 characters": `{ingressClassName: ` + strings.Repeat("a", 254) + `, rules: [{}]}`,

	// Ports of Services.
	"a port's name":                     backend(`service: {name: web, port: {name: http}}`),
	"a port's name with a dash":         backend(`service: {name: web, port: {name: h2-c}}`),
	"a port's name of 15 characters":    backend(`service: {name: web, port: {name: ` + long[:15] + `}}`),
	"a port's name of 16 characters":    backend(`service: {name: web, port: {name: ` + long[:16] + `}}`),
	"a port's name in upper case":       backend(`service: {name: web, port: {name: HTTP}}`),
	"a port's name with two dashes":     backend(`service: {name: web, port: {name: a--b}}`),
	"a port's name that ends in a dash": backend(`service: {name: web, port: {name: a-}}`),
	"a port's name that is a number":    backend(`service: {name: web, port: {name: "80"}}`),
	"a port's name and number":          backend(`service: {name: web, port: {name: http, number: 80}}`),
	"no port":                           backend(`service: {name: web}`),
	"port 0":                            backend(`service: {name: web, port: {number: 0}}`),
	"port 65535":                        backend(`service: {name: web, port: {number: 65535}}`),
	"port 65536":                        backend(`service: {name: web, port: {number: 65536}}`),
	"a negative port":                   backend(`service: {name: web, port: {number: -1}}`),

	// Names of Services.
	"no Service name":                         backend(`service: {port: {number: 80}}`),
	"a Service name with digits":              backend(`service: {name: web-1, port: {number: 80}}`),
	"a Service name that starts with a digit": backend(`service: {name: 1web, port: {number: 80}}`),
	"a Service name in upper case":            backend(`service: {name: Web, port: {number: 80}}`),
	"a Service name with a dot":               backend(`service: {name: a.b, port: {number: 80}}`),
	"a Service name of 63 characters":         backend(`service: {name: ` + long + `, port: {number: 80}}`),
	"a Service name of 64 characters":         backend(`service: {name: ` + long + `a, port: {number: 80}}`),

	// Resources.
	"a resource":                       backend(`resource: {apiGroup: fairlead.dev, kind: Backend, name: shop}`),
	"a resource of the core group":     backend(`resource: {kind: ConfigMap, name: shop}`),
	"a resource of an empty group":     backend(`resource: {apiGroup: "", kind: ConfigMap, name: shop}`),
	"a resource's group in upper case": backend(`resource: {apiGroup: Fairlead.dev, kind: Backend, name: shop}`),
	"a resource's group with a slash":  backend(`resource: {apiGroup: fairlead.dev/v1, kind: Backend, name: shop}`),
	"a resource without a kind":        backend(`resource: {apiGroup: fairlead.dev, name: shop}`),
	"a resource without a name":        backend(`resource: {apiGroup: fairlead.dev, kind: Backend}`),
	"a resource's kind with a percent": backend(`resource: {apiGroup: fairlead.dev, kind: Back%end, name: shop}`),
	"a resource's name with a slash":   backend(`resource: {apiGroup: fairlead.dev, kind: Backend, name: a/b}`),
	"a resource's name of dots":        backend(`resource: {apiGroup: fairlead.dev, kind: Backend, name: ..}`),
	"a resource's name in upper case":  backend(`resource: {apiGroup: fairlead.dev, kind: Backend, name: Shop}`),
	"a resource and a Service":         backend(`resource: {kind: ConfigMap, name: a}, service: {name: web, port: {number: 80}}`),
	"neither resource nor Service":     backend(``),

	// Hosts.
	"a host of one label":                onHost("localhost"),
	"a host with digits and dashes":      onHost("1-a.2.test"),
	"a host of 253 characters":           onHost(strings.Repeat(long+".", 3) + long[:61]),
	"a host of 254 characters":           onHost(strings.Repeat(long+".", 3) + long[:62]),
	"a label of 64 characters":           onHost(long + "a.test"),
	"a host in upper case":               onHost("A.test"),
	"a host with a port":                 onHost("a.test:80"),
	"a host with a scheme":               onHost("http://a.test"),
	"a host with a trailing dot":         onHost("a.test."),
	"a host with a leading dot":          onHost(".a.test"),
	"a host with two dots":               onHost("a..test"),
	"a host with an underscore":          onHost("a_b.test"),
	"a host with a space":                onHost("a b"),
	"a host that starts with a dash":     onHost("-a.test"),
	"a host that ends in a dash":         onHost("a-.test"),
	"a host that is not ASCII":           onHost("bücher.test"),
	"a host that is one in ASCII":        onHost("xn--bcher-kva.test"),
	"an IPv4 address":                    onHost("10.0.0.1"),
	"an IPv4 address with leading zeros": onHost("010.000.0.01"),
	"four numbers that are no address":   onHost("256.1.1.1"),
	"three numbers":                      onHost("1.1.1"),
	"a number":                           onHost("1"),
	"an IPv6 address":                    onHost("2001:db8::1"),
	"an IPv6 address in brackets":        onHost("[::1]"),
	"an IPv6 address that holds an IPv4": onHost("::ffff:10.0.0.1"),
	"a wildcard host":                    onHost("*.a.test"),
	"a wildcard before one label":        onHost("*.test"),
	"a wildcard before an address":       onHost("*.10.0.0.1"),
	"a wildcard of 253 characters":       onHost("*." + strings.Repeat(long+".", 3) + long[:59]),
	"a wildcard of 254 characters":       onHost("*." + strings.Repeat(long+".", 3) + long[:60]),
	"a wildcard in upper case":           onHost("*.A.test"),
	"a star alone":                       onHost("*"),
	"a star before nothing":              onHost("*."),
	"a star in the middle":               onHost("a.*.test"),
	"a star as part of a label":          onHost("*a.test"),
	"two stars":                          onHost("*.*.test"),

	// Paths.
	"no path type":                    `{rules: [{http: {paths: [{path: /, backend: {service: {name: web, port: {number: 80}}}}]}}]}`,
	"an unknown path type":            onPath("Regex", "/"),
	"a path type in lower case":       onPath("prefix", "/"),
	"an empty path type":              onPath("", "/"),
	"an empty Exact path":             onPath("Exact", ""),
	"an empty Prefix":                 onPath("Prefix", ""),
	"an empty glob":                   onPath("ImplementationSpecific", ""),
	"an Exact path":                   onPath("Exact", "/a"),
	"an Exact path without a slash":   onPath("Exact", "a"),
	"a Prefix without a slash":        onPath("Prefix", "a/b"),
	"a glob without a slash":          onPath("ImplementationSpecific", "*"),
	"a glob":                          onPath("ImplementationSpecific", "/a/*.js?"),
	"a regular expression":            onPath("ImplementationSpecific", "/a(/|$)(.*)"),
	"a regular expression as Exact":   onPath("Exact", "/a(/|$)(.*)"),
	"a glob with //":                  onPath("ImplementationSpecific", "//a/../b%2f"),
	"an Exact path with //":           onPath("Exact", "/a//b"),
	"a Prefix with //":                onPath("Prefix", "//"),
	"a path with /./":                 onPath("Exact", "/a/./b"),
	"a path with /../":                onPath("Prefix", "/a/../b"),
	"a path that ends in /.":          onPath("Prefix", "/a/."),
	"a path that ends in /..":         onPath("Exact", "/a/.."),
	"a path with several of these":    onPath("Exact", "//a/./../b%2f%2F/.."),
	"a path with %2f":                 onPath("Exact", "/a%2fb"),
	"a path with %2F":                 onPath("Prefix", "/a%2Fb"),
	"a path with other encodings":     onPath("Exact", "/a%20b"),
	"a path with a broken encoding":   onPath("Exact", "/a%2"),
	"a path with a space":             onPath("Exact", "/a b"),
	"a path with a query":             onPath("Exact", "/a?b=c"),
	"a path with a fragment":          onPath("Prefix", "/a#b"),
	"a path that is not ASCII":        onPath("Prefix", "/ü"),
	"a path with stars":               onPath("Prefix", "/a*b/*"),
	"a path of 5,000 characters":      onPath("Prefix", "/"+strings.Repeat("a", 5000)),
	"dots inside elements":            onPath("Prefix", "/a..b/.c/..."),
	"a URL for a path":                onPath("Prefix", "http://a.test/"),
	"a bad path and a bad backend":    `{rules: [{http: {paths: [{path: a, pathType: Prefix, backend: {service: {name: A, port: {number: 80}}}}]}}]}`,
	"a bad path beside a good one":    `{rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}, {path: b, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}`,
	"the same path twice":             `{rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}, {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 81}}}}]}}]}`,
	"the same host twice":             `{rules: [{host: a.test}, {host: a.test}]}`,
	"a bad host in the second rule":   `{rules: [{host: a.test}, {host: B.test}]}`,
	"an unknown type and bad backend": `{rules: [{http: {paths: [{path: a, pathType: Glob, backend: {}}]}}]}`,

	// TLS.
	"an empty tls entry":                   tls(``),
	"a tls entry without hosts":            tls(`secretName: cert`),
	"a tls entry without a Secret":         tls(`hosts: [a.test]`),
	"a tls host that no rule has":          tls(`hosts: [b.test], secretName: cert`),
	"a tls host twice":                     tls(`hosts: [a.test, a.test], secretName: cert`),
	"a tls host with a wildcard":           tls(`hosts: ["*.a.test"], secretName: cert`),
	"a tls host with a star in the middle": tls(`hosts: [a.*.test], secretName: cert`),
	"a tls host that is a star":            tls(`hosts: ["*"], secretName: cert`),
	"a tls host in upper case":             tls(`hosts: [A.test], secretName: cert`),
	"a tls host that is empty":             tls(`hosts: [a.test, ""], secretName: cert`),
	"a tls host that is an address":        tls(`hosts: [10.0.0.1], secretName: cert`),
	"a tls host that is an IPv6 address":   tls(`hosts: ["::1"], secretName: cert`),
	"a Secret name with dots":              tls(`secretName: a.b`),
	"a Secret name in upper case":          tls(`secretName: Cert`),
	"a Secret name with a slash":           tls(`secretName: ns/cert`),
}

func backend(of string) string { return `{defaultBackend: {` + of + `}}` }

func onHost(host string) string { return fmt.Sprintf(`{rules: [{host: %q}]}`, host) }

func onPath(kind, path string) string {
	return fmt.Sprintf(`{rules: [{http: {paths: [{path: %q, pathType: %q, backend: {service: {name: web, port: {number: 80}}}}]}}]}`, path, kind)
}

func tls(entry string) string { return `{rules: [{host: a.test}], tls: [{` + entry + `}]}` }

// metadata is that of Ingresses whose spec is good.
var metadata = map[string]string{
	"a name with dots":                     `{name: a.b}`,
	"a name in upper case":                 `{name: Web}`,
	"a name with an underscore":            `{name: a_b}`,
	"a name of 254 characters":             `{name: ` + strings.Repeat("a", 254) + `}`,
	"no name":                              `{}`,
	"a label":                              `{name: web, labels: {a.test/b: C}}`,
	"a label whose name has a space":       `{name: web, labels: {a b: ""}}`,
	"a label whose value has a space":      `{name: web, labels: {a: b c}}`,
	"a label whose value is too long":      `{name: web, labels: {a: ` + long + `a}}`,
	"an annotation":                        `{name: web, annotations: {fairlead.dev/group: any text}}`,
	"an annotation that only we refuse":    `{name: web, annotations: {fairlead.dev/scheme: nowhere}}`,
	"an annotation name with two slashes":  `{name: web, annotations: {a/b/c: ""}}`,
	"an annotation name in upper case":     `{name: web, annotations: {A.test/B: ""}}`,
	"annotations beyond 256 KiB":           `{name: web, annotations: {a: ` + strings.Repeat("b", 300_000) + `}}`,
	"a finalizer":                          `{name: web, finalizers: [fairlead.dev/ingress]}`,
	"a finalizer without a domain":         `{name: web, finalizers: [ingress]}`,
	"a finalizer with a space":             `{name: web, finalizers: [a b]}`,
	"an owner":                             `{name: web, ownerReferences: [{apiVersion: v1, kind: Service, name: a, uid: u}]}`,
	"two owners in control":                `{name: web, ownerReferences: [{apiVersion: v1, kind: Service, name: a, uid: u, controller: true}, {apiVersion: v1, kind: Service, name: b, uid: v, controller: true}]}`,
	"a class annotation":                   `{name: web, annotations: {kubernetes.io/ingress.class: fairlead}}`,
	"a class annotation that is no name":   `{name: web, annotations: {kubernetes.io/ingress.class: "Fair lead"}}`,
	"a bad label and a bad annotation too": `{name: web, labels: {a b: ""}, annotations: {a b: ""}}`,
}

// classSpecs are those of IngressClasses.
var classSpecs = map[string]string{
	"a controller":                         `{controller: fairlead.dev/ingress}`,
	"no controller":                        `{}`,
	"a controller without a domain":        `{controller: fairlead}`,
	"a controller without a path":          `{controller: fairlead.dev/}`,
	"a controller in upper case":           `{controller: Fairlead.dev/Ingress}`,
	"a controller of 251 characters":       `{controller: a.test/` + strings.Repeat("b", 244) + `}`,
	"parameters without a scope":           parameters(`apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: p`),
	"parameters of the core group":         parameters(`kind: ConfigMap, name: p`),
	"cluster-wide parameters":              parameters(`apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: p, scope: Cluster`),
	"parameters in a namespace":            parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Namespace, namespace: infra`),
	"parameters without a name":            parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass`),
	"parameters without a kind":            parameters(`apiGroup: fairlead.dev, name: p`),
	"a group that is no domain name":       parameters(`apiGroup: a_b, kind: LoadBalancerClass, name: p`),
	"a name with a slash":                  parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: a/b`),
	"an unknown scope":                     parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Galaxy`),
	"a namespaced scope without one":       parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Namespace`),
	"a namespaced scope with an empty one": parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Namespace, namespace: ""`),
	"a cluster-wide scope with one":        parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Cluster, namespace: infra`),
	"a namespace and no scope":             parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, namespace: infra`),
	"a namespace that cannot exist":        parameters(`apiGroup: fairlead.dev, kind: LoadBalancerClass, name: p, scope: Namespace, namespace: a.b`),
}

func parameters(of string) string {
	return `{controller: fairlead.dev/ingress, parameters: {` + of + `}}`
}

func TestFilesAreRefusedForWhatTheAPIServerRefuses(t *testing.T) {
	c := Shared(t)
	client, namespace := c.Client(t).NetworkingV1().RESTClient(), c.Namespace(t)
	documents := map[string]string{}
	for name, spec := range specs {
		documents[name] = `{metadata: {name: web}, spec: ` + spec + `}`
	}
	for name, meta := range metadata {
		documents["in the metadata: "+name] = `{metadata: ` + meta + `, spec: {rules: [{}]}}`
	}
	good := 0
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			ing := &networkingv1.Ingress{}
			if err := yaml.UnmarshalStrict([]byte(document), ing); err != nil {
				t.Fatal(err)
			}
			ing.Namespace = "shop" // as whoever reads files gives it
			theirs := refusedBy(t, client.Post().Namespace(namespace).Resource("ingresses"), document)
			if theirs == nil {
				good++
			}
			compare(t, theirs, said(validate.Ingress(ing)))
		})
	}
	if bad := len(documents) - good; good < 40 || bad < 60 {
		t.Errorf("%d good objects and %d bad ones: the table has lost its point", good, bad)
	}
}

func TestClassFilesAreRefusedForWhatTheAPIServerRefuses(t *testing.T) {
	client := Shared(t).Client(t).NetworkingV1().RESTClient()
	for name, spec := range classSpecs {
		t.Run(name, func(t *testing.T) {
			document := `{metadata: {name: fairlead}, spec: ` + spec + `}`
			class := &networkingv1.IngressClass{}
			if err := yaml.UnmarshalStrict([]byte(document), class); err != nil {
				t.Fatal(err)
			}
			compare(t, refusedBy(t, client.Post().Resource("ingressclasses"), document), said(validate.Class(class)))
		})
	}
}

// TestClassTwiceIsOursToWarnOf is the one refusal that is left out on purpose: an update reaches
// what a creation cannot, so that what is refused here is stored elsewhere.
func TestClassTwiceIsOursToWarnOf(t *testing.T) {
	c := Shared(t)
	ingresses := c.Client(t).NetworkingV1().Ingresses(c.Namespace(t))
	twice := func(ing *networkingv1.Ingress) {
		ing.Annotations = map[string]string{"kubernetes.io/ingress.class": "fairlead"}
		ing.Spec.IngressClassName = new("other")
	}
	ing := anIngress("web", "web")
	twice(ing)
	if _, err := ingresses.Create(t.Context(), ing, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("created with an annotation and a field: %v, want it to be refused", err)
	}
	stored, err := ingresses.Create(t.Context(), anIngress("web", "web"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twice(stored)
	if stored, err = ingresses.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("updated to an annotation and a field that disagree: %s", err)
	}
	if errs := validate.Ingress(stored); len(errs) > 0 {
		t.Errorf("what is stored is refused: %s", errs.ToAggregate())
	}
}

// TestFilesNeedNames is the one refusal that is ours alone: what is made up on creation cannot be
// applied again, and nobody could say of it what is planned.
func TestFilesNeedNames(t *testing.T) {
	c := Shared(t)
	ing := anIngress("", "web")
	ing.GenerateName = "web-"
	if _, err := c.Client(t).NetworkingV1().Ingresses(c.Namespace(t)).Create(t.Context(), ing, metav1.CreateOptions{}); err != nil {
		t.Errorf("the API server has made up no name: %s", err)
	}
	ing.Namespace = "shop"
	compare(t, []string{"metadata.name: Required value: name or generateName is required"}, said(validate.Ingress(ing)))
}

// refusedBy is what the API server says about the fields of a file, in order. It is sent the file's
// own text, and forgets what it accepts.
func refusedBy(t *testing.T, into *rest.Request, document string) []string {
	t.Helper()
	err := into.
		Param("dryRun", metav1.DryRunAll).
		SetHeader("Content-Type", runtime.ContentTypeYAML).
		Body([]byte(document)).
		Do(t.Context()).Error()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		t.Fatalf("the API server does not judge the object: %s", err)
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return sorted(out)
}

// said is what we say about fields, in order.
func said(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field+": "+e.ErrorBody())
	}
	return sorted(out)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func compare(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused for (-by the API server +by us):\n%s", diff)
	}
}

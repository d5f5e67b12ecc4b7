package ingress

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/validate"
	"fairlead.dev/fairlead/model/settings"
)

const (
	exact    = networkingv1.PathTypeExact
	byPrefix = networkingv1.PathTypePrefix
	specific = networkingv1.PathTypeImplementationSpecific
)

// refusal is the first thing that an Ingress is refused for, with its field; "" if it is
// accepted.
func refusal(ing *networkingv1.Ingress) string {
	errs := validate.Ingress(ing)
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Error()
}

func TestValidateAcceptsWhatTheAPIServerAccepts(t *testing.T) {
	long := strings.Repeat("a", 63)
	cases := map[string]*networkingv1.Ingress{
		"a default backend alone":                    anIngress("shop/web", defaulted(to("web:80"))),
		"a rule alone":                               anIngress("shop/web", ruled("a.test", prefixed("/", "web:80"))),
		"a rule without a host":                      anIngress("shop/web", ruled("", prefixed("/", "web:80"))),
		"a rule with a host and no paths":            anIngress("shop/web", ruled("a.test")),
		"a rule with nothing":                        anIngress("shop/web", ruled("")),
		"a host of one label":                        anIngress("shop/web", ruled("localhost", prefixed("/", "web:80"))),
		"a host with digits and dashes":              anIngress("shop/web", ruled("1-a.2.test", prefixed("/", "web:80"))),
		"a host of 253 characters":                   anIngress("shop/web", ruled(strings.Repeat(long+".", 3)+strings.Repeat("b", 61), prefixed("/", "web:80"))),
		"a wildcard host":                            anIngress("shop/web", ruled("*.a.test", prefixed("/", "web:80"))),
		"a wildcard before one label":                anIngress("shop/web", ruled("*.test", prefixed("/", "web:80"))),
		"four numbers that are no address":           anIngress("shop/web", ruled("256.1.1.1", prefixed("/", "web:80"))),
		"three numbers":                              anIngress("shop/web", ruled("1.1.1", prefixed("/", "web:80"))),
		"an Exact path":                              anIngress("shop/web", ruled("", path(exact, "/a", to("web:80")))),
		"an Exact path with a trailing slash":        anIngress("shop/web", ruled("", path(exact, "/a/", to("web:80")))),
		"a path with wildcard characters":            anIngress("shop/web", ruled("", path(exact, "/a*b?", to("web:80")))),
		"a path with other percent-encodings":        anIngress("shop/web", ruled("", path(exact, "/a%20b", to("web:80")))),
		"a path with dots inside an element":         anIngress("shop/web", ruled("", path(byPrefix, "/a..b/.c", to("web:80")))),
		"the same path twice":                        anIngress("shop/web", ruled("", prefixed("/", "web:80"), prefixed("/", "web:81"))),
		"an empty ImplementationSpecific path":       anIngress("shop/web", ruled("", path(specific, "", to("web:80")))),
		"an ImplementationSpecific path with //":     anIngress("shop/web", ruled("", path(specific, "//a/../b%2f", to("web:80")))),
		"a port's name":                              anIngress("shop/web", ruled("", prefixed("/", "web:http"))),
		"a port's name with a digit and a dash":      anIngress("shop/web", ruled("", prefixed("/", "web:h2-c"))),
		"the highest port":                           anIngress("shop/web", ruled("", prefixed("/", "web:65535"))),
		"a Service name of 63 characters":            anIngress("shop/web", ruled("", prefixed("/", long+":80"))),
		"a resource of another group":                anIngress("shop/web", defaulted(toResource("k8s.example.com/StorageBucket/files"))),
		"a resource of the core group":               anIngress("shop/web", defaulted(networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "a"}})),
		"a tls entry with nothing":                   anIngress("shop/web", defaulted(to("web:80")), secured("")),
		"a tls entry with a wildcard host":           anIngress("shop/web", defaulted(to("web:80")), secured("cert", "*.a.test", "a.test")),
		"a Secret name with dots":                    anIngress("shop/web", defaulted(to("web:80")), secured("a.b")),
		"no class":                                   anIngress("shop/web", defaulted(to("web:80")), ofClass("")),
		"an annotation and a field that disagree":    anIngress("shop/web", defaulted(to("web:80")), annotated(settings.IngressClass, "other")),
		"an annotation that only we refuse":          anIngress("shop/web", defaulted(to("web:80")), annotated("scheme", "nowhere")),
		"a name with dots":                           anIngress("shop/a.b", defaulted(to("web:80"))),
		"a Service name that starts with a digit":    anIngress("shop/web", defaulted(to("1web:80"))),
		"a hundred hosts with the paths of a sample": anIngress("shop/web", manyHosts(100)),
	}
	for name, ing := range cases {
		t.Run(name, func(t *testing.T) {
			if got := refusal(ing); got != "" {
				t.Errorf("refused: %s", got)
			}
		})
	}
}

func manyHosts(n int) func(*networkingv1.Ingress) {
	return func(ing *networkingv1.Ingress) {
		for range n {
			ruled("a.test", prefixed("/", "web:80"), path(exact, "/b", to("web:http")))(ing)
		}
	}
}

func TestValidateRefusesWhatTheAPIServerRefuses(t *testing.T) {
	const at = "spec.rules[0].http.paths[0]"
	backend := func(b networkingv1.IngressBackend) *networkingv1.Ingress { return anIngress("shop/web", defaulted(b)) }
	service := func(s networkingv1.IngressServiceBackend) *networkingv1.Ingress {
		return backend(networkingv1.IngressBackend{Service: &s})
	}
	resource := func(group *string, kind, name string) *networkingv1.Ingress {
		return backend(networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: group, Kind: kind, Name: name}})
	}
	onHost := func(host string) *networkingv1.Ingress {
		return anIngress("shop/web", ruled(host, prefixed("/", "web:80")))
	}
	onPath := func(kind networkingv1.PathType, p string) *networkingv1.Ingress {
		return anIngress("shop/web", ruled("a.test", path(kind, p, to("web:80"))))
	}
	tls := func(secret string, hosts ...string) *networkingv1.Ingress {
		return anIngress("shop/web", defaulted(to("web:80")), secured(secret, hosts...))
	}
	meta := func(change func(*metav1.ObjectMeta)) *networkingv1.Ingress {
		ing := anIngress("shop/web", defaulted(to("web:80")))
		change(&ing.ObjectMeta)
		return ing
	}
	noType := onPath(exact, "/")
	noType.Spec.Rules[0].HTTP.Paths[0].PathType = nil
	noPaths := onPath(exact, "/")
	noPaths.Spec.Rules[0].HTTP.Paths = nil
	both := toResource("fairlead.dev/Backend/b")
	both.Service = to("web:80").Service
	second := anIngress("shop/web", ruled("a.test", prefixed("/", "web:80")), ruled("b.test", prefixed("/", "web:80"), prefixed("b", "web:80")))

	cases := map[string]struct {
		ing  *networkingv1.Ingress
		want string // how the first error starts
	}{
		"no name":                              {meta(func(m *metav1.ObjectMeta) { m.Name = "" }), "metadata.name: Required value"},
		"a name in upper case":                 {meta(func(m *metav1.ObjectMeta) { m.Name = "Web" }), `metadata.name: Invalid value: "Web"`},
		"a name with an underscore":            {meta(func(m *metav1.ObjectMeta) { m.Name = "a_b" }), `metadata.name: Invalid value: "a_b"`},
		"a name of 254 characters":             {meta(func(m *metav1.ObjectMeta) { m.Name = strings.Repeat("a", 254) }), `metadata.name: Invalid value`},
		"no namespace":                         {meta(func(m *metav1.ObjectMeta) { m.Namespace = "" }), "metadata.namespace: Required value"},
		"a namespace with a dot":               {meta(func(m *metav1.ObjectMeta) { m.Namespace = "a.b" }), `metadata.namespace: Invalid value: "a.b"`},
		"a label that is no label":             {meta(func(m *metav1.ObjectMeta) { m.Labels = map[string]string{"a b": ""} }), `metadata.labels: Invalid value: "a b"`},
		"a label value with a space":           {meta(func(m *metav1.ObjectMeta) { m.Labels = map[string]string{"a": "b c"} }), `metadata.labels: Invalid value: "b c"`},
		"an annotation name with two slashes":  {meta(func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a/b/c": ""} }), `metadata.annotations: Invalid value: "a/b/c"`},
		"annotations beyond 256 KiB":           {meta(func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a": strings.Repeat("b", 300_000)} }), `metadata.annotations: Too long`},
		"a finalizer with a space":             {meta(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a b"} }), `metadata.finalizers: Invalid value: "a b"`},
		"a finalizer without a domain":         {meta(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"orphan", "ours"} }), `metadata.finalizers[1]: Invalid value: "ours"`},
		"neither rules nor a default":          {anIngress("shop/web"), "spec: Invalid value"},
		"tls alone":                            {anIngress("shop/web", secured("cert", "a.test")), "spec: Invalid value"},
		"an empty class":                       {anIngress("shop/web", defaulted(to("web:80")), func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("") }), `spec.ingressClassName: Invalid value: ""`},
		"a class in upper case":                {anIngress("shop/web", defaulted(to("web:80")), ofClass("Fairlead")), `spec.ingressClassName: Invalid value: "Fairlead"`},
		"a class with a slash":                 {anIngress("shop/web", defaulted(to("web:80")), ofClass("a/b")), `spec.ingressClassName: Invalid value: "a/b"`},
		"a host in upper case":                 {onHost("Shop.test"), `spec.rules[0].host: Invalid value: "Shop.test"`},
		"a host with a port":                   {onHost("a.test:80"), `spec.rules[0].host: Invalid value: "a.test:80"`},
		"a host with a scheme":                 {onHost("http://a.test"), `spec.rules[0].host: Invalid value: "http://a.test"`},
		"a host with a trailing dot":           {onHost("a.test."), `spec.rules[0].host: Invalid value: "a.test."`},
		"a host with two dots":                 {onHost("a..test"), `spec.rules[0].host: Invalid value: "a..test"`},
		"a host with an underscore":            {onHost("a_b.test"), `spec.rules[0].host: Invalid value: "a_b.test"`},
		"a host with a space":                  {onHost("a b"), `spec.rules[0].host: Invalid value: "a b"`},
		"a host that starts with a dash":       {onHost("-a.test"), `spec.rules[0].host: Invalid value: "-a.test"`},
		"a host that is not ASCII":             {onHost("bücher.test"), `spec.rules[0].host: Invalid value: "bücher.test"`},
		"a host of 254 characters":             {onHost(strings.Repeat("a.", 127)), `spec.rules[0].host: Invalid value`},
		"an IPv4 address":                      {onHost("10.0.0.1"), `spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`},
		"an IPv4 address with leading zeros":   {onHost("010.000.0.01"), `spec.rules[0].host: Invalid value: "010.000.0.01": must be a DNS name, not an IP address`},
		"an IPv6 address":                      {onHost("2001:db8::1"), `spec.rules[0].host: Invalid value: "2001:db8::1": must be a DNS name, not an IP address`},
		"an IPv6 address in brackets":          {onHost("[::1]"), `spec.rules[0].host: Invalid value: "[::1]"`},
		"a star alone":                         {onHost("*"), `spec.rules[0].host: Invalid value: "*": a wildcard`},
		"a star in the middle":                 {onHost("a.*.test"), `spec.rules[0].host: Invalid value: "a.*.test": a wildcard`},
		"a star as part of a label":            {onHost("*a.test"), `spec.rules[0].host: Invalid value: "*a.test": a wildcard`},
		"two stars":                            {onHost("*.*.test"), `spec.rules[0].host: Invalid value: "*.*.test": a wildcard`},
		"a star before nothing":                {onHost("*."), `spec.rules[0].host: Invalid value: "*.": a wildcard`},
		"a wildcard in upper case":             {onHost("*.A.test"), `spec.rules[0].host: Invalid value: "*.A.test": a wildcard`},
		"a wildcard of 254 characters":         {onHost("*." + strings.Repeat("a.", 125) + "bb"), `spec.rules[0].host: Invalid value`},
		"no path type":                         {noType, at + ".pathType: Required value: pathType must be specified"},
		"an unknown path type":                 {onPath("Regex", "/"), at + `.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`},
		"a path type in lower case":            {onPath("prefix", "/"), at + `.pathType: Unsupported value: "prefix"`},
		"no paths":                             {noPaths, "spec.rules[0].http.paths: Required value"},
		"an empty Exact path":                  {onPath(exact, ""), at + `.path: Invalid value: "": must be an absolute path`},
		"an empty Prefix":                      {onPath(byPrefix, ""), at + `.path: Invalid value: "": must be an absolute path`},
		"an Exact path without a slash":        {onPath(exact, "a"), at + `.path: Invalid value: "a": must be an absolute path`},
		"a Prefix without a slash":             {onPath(byPrefix, "a/b"), at + `.path: Invalid value: "a/b": must be an absolute path`},
		"a glob without a slash":               {onPath(specific, "*"), at + `.path: Invalid value: "*": must be an absolute path`},
		"an Exact path with //":                {onPath(exact, "/a//b"), at + `.path: Invalid value: "/a//b": must not contain '//'`},
		"a Prefix with //":                     {onPath(byPrefix, "//"), at + `.path: Invalid value: "//": must not contain '//'`},
		"a path with /./":                      {onPath(exact, "/a/./b"), at + `.path: Invalid value: "/a/./b": must not contain '/./'`},
		"a path with /../":                     {onPath(byPrefix, "/a/../b"), at + `.path: Invalid value: "/a/../b": must not contain '/../'`},
		"a path with %2f":                      {onPath(exact, "/a%2fb"), at + `.path: Invalid value: "/a%2fb": must not contain '%2f'`},
		"a path with %2F":                      {onPath(byPrefix, "/a%2Fb"), at + `.path: Invalid value: "/a%2Fb": must not contain '%2F'`},
		"a path that ends in /..":              {onPath(exact, "/a/.."), at + `.path: Invalid value: "/a/..": cannot end with '/..'`},
		"a path that ends in /.":               {onPath(byPrefix, "/a/."), at + `.path: Invalid value: "/a/.": cannot end with '/.'`},
		"no backend":                           {backend(networkingv1.IngressBackend{}), `spec.defaultBackend: Invalid value: "": resource or service backend is required`},
		"two backends":                         {backend(both), `spec.defaultBackend: Invalid value: "": cannot set both resource and service backends`},
		"no Service name":                      {backend(to(":80")), "spec.defaultBackend.service.name: Required value"},
		"a Service name in upper case":         {backend(to("Web:80")), `spec.defaultBackend.service.name: Invalid value: "Web"`},
		"a Service name with a dot":            {backend(to("a.b:80")), `spec.defaultBackend.service.name: Invalid value: "a.b"`},
		"a Service name that starts a dash":    {backend(to("-web:80")), `spec.defaultBackend.service.name: Invalid value: "-web"`},
		"a Service name of 64 characters":      {backend(to(strings.Repeat("a", 64) + ":80")), "spec.defaultBackend.service.name: Invalid value"},
		"no port":                              {service(networkingv1.IngressServiceBackend{Name: "web"}), "spec.defaultBackend: Required value: port name or number is required"},
		"a port's name and number":             {service(networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http", Number: 80}}), `spec.defaultBackend: Invalid value: "": cannot set both port name & port number`},
		"a negative port":                      {backend(to("web:-1")), "spec.defaultBackend.service.port.number: Invalid value: -1"},
		"port 65536":                           {backend(to("web:65536")), "spec.defaultBackend.service.port.number: Invalid value: 65536"},
		"a port's name of 16 characters":       {backend(to("web:" + strings.Repeat("a", 16))), "spec.defaultBackend.service.port.name: Invalid value"},
		"a port's name in upper case":          {backend(to("web:HTTP")), `spec.defaultBackend.service.port.name: Invalid value: "HTTP"`},
		"a port's name with two dashes":        {backend(to("web:a--b")), `spec.defaultBackend.service.port.name: Invalid value: "a--b"`},
		"a port's name that ends in a dash":    {backend(to("web:a-")), `spec.defaultBackend.service.port.name: Invalid value: "a-"`},
		"a resource without a kind":            {resource(new("a.test"), "", "b"), "spec.defaultBackend.resource.kind: Required value"},
		"a resource without a name":            {resource(new("a.test"), "Kind", ""), "spec.defaultBackend.resource.name: Required value"},
		"a resource's group in upper case":     {resource(new("A.test"), "Kind", "b"), `spec.defaultBackend.resource.apiGroup: Invalid value: "A.test"`},
		"a resource's empty group":             {resource(new(""), "Kind", "b"), `spec.defaultBackend.resource.apiGroup: Invalid value: ""`},
		"a resource's name with a slash":       {resource(new("a.test"), "Kind", "a/b"), `spec.defaultBackend.resource.name: Invalid value: "a/b"`},
		"a resource's kind with a percent":     {resource(new("a.test"), "Ki%nd", "b"), `spec.defaultBackend.resource.kind: Invalid value: "Ki%nd"`},
		"a tls host in upper case":             {tls("cert", "A.test"), `spec.tls[0].hosts[0]: Invalid value: "A.test"`},
		"an empty tls host":                    {tls("cert", "a.test", ""), `spec.tls[0].hosts[1]: Invalid value: ""`},
		"a tls host with a star in the middle": {tls("cert", "a.*.test"), `spec.tls[0].hosts[0]: Invalid value: "a.*.test": a wildcard`},
		"a Secret name in upper case":          {tls("Cert"), `spec.tls[0].secretName: Invalid value: "Cert"`},
		"a Secret name with a slash":           {tls("ns/cert"), `spec.tls[0].secretName: Invalid value: "ns/cert"`},
		"the right one of several paths":       {second, `spec.rules[1].http.paths[1].path: Invalid value: "b": must be an absolute path`},
		"a path's backend":                     {anIngress("shop/web", ruled("", prefixed("/", "web:0"))), at + ".backend: Required value: port name or number is required"},
		"a path without a backend":             {anIngress("shop/web", ruled("", path(exact, "/", networkingv1.IngressBackend{}))), at + `.backend: Invalid value: ""`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := refusal(c.ing); !strings.HasPrefix(got, c.want) {
				t.Errorf("refused for %q\nwant        %q", got, c.want)
			}
		})
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	ing := anIngress("shop/web", ruled("A.test", prefixed("a", "web:80"), prefixed("/b//", "Web:80")))
	var fields []string
	for _, e := range validate.Ingress(ing) {
		fields = append(fields, e.Field)
	}
	compare(t, "fields", fields, []string{
		"spec.rules[0].host", "spec.rules[0].http.paths[0].path", "spec.rules[0].http.paths[1].path", "spec.rules[0].http.paths[1].backend.service.name",
	})
}

func TestValidateClass(t *testing.T) {
	class := func(controller string, p *networkingv1.IngressClassParametersReference) *networkingv1.IngressClass {
		return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: controller, Parameters: p}}
	}
	ref := func(group, kind, name string, scope, namespace *string) *networkingv1.IngressClassParametersReference {
		return &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: kind, Name: name, Scope: scope, Namespace: namespace}
	}
	const group, kind = v1alpha1.Group, v1alpha1.KindLoadBalancerClass
	cases := map[string]struct {
		class *networkingv1.IngressClass
		want  string
	}{
		"no parameters":                     {class(ControllerName, nil), ""},
		"cluster-wide parameters":           {class(ControllerName, ref(group, kind, "p", new("Cluster"), nil)), ""},
		"parameters without a scope":        {class(ControllerName, ref(group, kind, "p", nil, nil)), ""},
		"parameters in a namespace":         {class(ControllerName, ref(group, kind, "p", new("Namespace"), new("infra"))), ""},
		"no controller":                     {class("", nil), "spec.controller: Required value"},
		"a controller without a domain":     {class("fairlead", nil), "spec.controller: Invalid value"},
		"a controller of 251 characters":    {class("a.test/"+strings.Repeat("b", 244), nil), "spec.controller: Too long"},
		"parameters without a name":         {class(ControllerName, ref(group, kind, "", nil, nil)), "spec.parameters.name: Required value"},
		"parameters without a kind":         {class(ControllerName, ref(group, "", "p", nil, nil)), "spec.parameters.kind: Required value"},
		"an unknown scope":                  {class(ControllerName, ref(group, kind, "p", new("Galaxy"), nil)), "spec.parameters.scope: Unsupported value"},
		"a namespaced scope without one":    {class(ControllerName, ref(group, kind, "p", new("Namespace"), nil)), "spec.parameters.namespace: Required value"},
		"a cluster-wide scope with one":     {class(ControllerName, ref(group, kind, "p", new("Cluster"), new("infra"))), "spec.parameters.namespace: Forbidden"},
		"a namespace that cannot exist":     {class(ControllerName, ref(group, kind, "p", new("Namespace"), new("a.b"))), "spec.parameters.namespace: Invalid value"},
		"a group that is not a domain name": {class(ControllerName, ref("a_b", kind, "p", nil, nil)), "spec.parameters.apiGroup: Invalid value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if errs := validate.Class(c.class); len(errs) > 0 {
				got = errs[0].Error()
			}
			if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("refused for %q, want %q", got, c.want)
			}
		})
	}
}

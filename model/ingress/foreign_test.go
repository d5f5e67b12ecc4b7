package ingress

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// facingInternet is a class whose load balancers serve everybody.
func facingInternet(policy string) *Class {
	return &Class{Name: "fairlead", LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{Scheme: v1alpha1.SchemeInternetFacing, ForeignAnnotations: policy}}
}

// TestManifestsOfOtherControllers reads a manifest for each controller, whose annotations say
// behind them what they do.
func TestManifestsOfOtherControllers(t *testing.T) {
	files, err := filepath.Glob("testdata/foreign/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding manifests: %v, found %d", err, len(files))
	}
	said := regexp.MustCompile(`(?m)^    (\S+/\S+): .* # (restricts|changes|harmless)$`)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var ing networkingv1.Ingress
			if err := yaml.UnmarshalStrict(text, &ing); err != nil {
				t.Fatal(err)
			}
			marked := said.FindAllStringSubmatch(string(text), -1)
			if len(marked) != len(ing.Annotations) {
				t.Fatalf("%d of %d annotations say what they do", len(marked), len(ing.Annotations))
			}
			for _, policy := range []string{"", v1alpha1.ForeignRefuse, v1alpha1.ForeignWarn, v1alpha1.ForeignIgnore} {
				_, found := readAnnotations(&ing, facingInternet(policy))
				refused := false
				for _, m := range marked {
					refused = refused || m[2] == "restricts"
					checkTold(t, policy, m[1], m[2], found)
				}
				if want := refused && (policy == "" || policy == v1alpha1.ForeignRefuse); hasError(found) != want {
					t.Errorf("with foreignAnnotations %q it is refused: %v", policy, hasError(found))
				}
			}
		})
	}
}

// checkTold checks that an annotation is reported as what it does, once, and by a class that ignores it
// never.
func checkTold(t *testing.T, policy, key, effect string, found []diag.Diagnostic) {
	t.Helper()
	_, name, _ := strings.Cut(key, "/")
	var by []diag.Diagnostic
	for _, d := range found {
		prefix, _, _ := strings.Cut(key, "/")
		list := regexp.MustCompile(`(^|[ /])` + regexp.QuoteMeta(name) + `([ ,;(.]|$)`)
		if d.Reason == diag.AnnotationForeign && strings.Contains(d.Message, prefix) && list.MatchString(d.Message) {
			by = append(by, d)
		}
	}
	switch {
	case effect == "harmless" || policy == v1alpha1.ForeignIgnore:
		if len(by) > 0 {
			t.Errorf("with foreignAnnotations %q %s is told: %v", policy, key, by[0])
		}
	case len(by) != 1:
		t.Errorf("with foreignAnnotations %q %s is told %d times: %v", policy, key, len(by), found)
	case (by[0].Severity == diag.Error) != (effect == "restricts" && policy != v1alpha1.ForeignWarn):
		t.Errorf("with foreignAnnotations %q %s, which %s, is reported as %s", policy, key, effect, by[0].Severity)
	}
}

func TestThousandsOfForeignAnnotationsAreToldInFewWords(t *testing.T) {
	ing := carrying(map[string]string{})
	for i := range 5000 {
		ing.Annotations[fmt.Sprintf("nginx.ingress.kubernetes.io/auth-type-%d", i)] = "x"
		ing.Annotations[fmt.Sprintf("alb.ingress.kubernetes.io/made-up-%d", i)] = "x"
		ing.Annotations[fmt.Sprintf("fairlead.dev/made-up-%d", i)] = "x"
	}
	_, found := readAnnotations(ing, facingInternet(""))
	if len(found) > 2*mostForeignMessages+mostUnknown+1 {
		t.Errorf("%d diagnostics", len(found))
	}
	for _, d := range found {
		if len(d.Message) > 1000 {
			t.Errorf("%d characters: %s", len(d.Message), d.Message)
		}
	}
	all := fmt.Sprint(found)
	for _, counted := range []string{"4990 more annotations", ", and 48"} {
		if !strings.Contains(all, counted) {
			t.Errorf("nothing says %q", counted)
		}
	}
	if !hasError(found) {
		t.Error("it is served")
	}
}

// carrying is an Ingress with annotations.
func carrying(annotations map[string]string) *networkingv1.Ingress {
	ing := new(networkingv1.Ingress)
	ing.Namespace, ing.Name, ing.Annotations = "shop", "web", annotations
	class := "fairlead"
	ing.Spec.IngressClassName = &class
	ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return ing
}

const authURL = "nginx.ingress.kubernetes.io/auth-url"

// What is served stays when a version with a foreign annotation is refused, unless that version was
// let pass by a class that does not let it pass any more.
func TestLastGoodOfForeignAnnotations(t *testing.T) {
	const key = routing.Key("fairlead/shop/web/internet-facing")
	params := &v1alpha1.ClusterLoadBalancerClass{Spec: v1alpha1.LoadBalancerClassSpec{Scheme: v1alpha1.SchemeInternetFacing}}
	params.Name = "params"
	class := classOfParameters("fairlead", params)
	cases := map[string]struct {
		policy string
		before map[string]string // annotations of the version that was accepted
		kept   bool              // and served
	}{
		"served before it had the annotation":                    {"", nil, true},
		"served before foreign annotations were looked at":       {v1alpha1.ForeignRefuse, map[string]string{"fairlead.dev/target-type": "ip"}, true},
		"let pass by the class as it was":                        {"", map[string]string{authURL: "https://login.example.com"}, false},
		"let pass by the class as it was, which refuses by name": {v1alpha1.ForeignRefuse, map[string]string{authURL: "https://login.example.com"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			params.Spec.ForeignAnnotations = c.policy
			accepted := record.Accept(carrying(c.before))
			o := Objects{
				Ingresses:                  []*networkingv1.Ingress{carrying(map[string]string{authURL: "https://login.example.com"})},
				IngressClasses:             []*networkingv1.IngressClass{class},
				ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{params},
				Records:                    map[routing.Key]record.Record{key: {Members: map[string]record.Member{"shop/web": {LastAccepted: &accepted, Served: true}}}},
			}
			snapshots, unplaced := Place(o, ClassOptions{})
			if kept := len(snapshots) == 1 && len(snapshots[0].Members) == 1; kept != c.kept {
				t.Fatalf("kept: %v", kept)
			}
			told := unplaced
			for _, s := range snapshots {
				told = append(told, s.Diagnostics...)
			}
			if !hasError(told) {
				t.Errorf("nobody is told: %v", told)
			}
		})
	}
}

func classOfParameters(name string, params *v1alpha1.ClusterLoadBalancerClass) *networkingv1.IngressClass {
	group := v1alpha1.Group
	class := new(networkingv1.IngressClass)
	class.Name, class.Spec.Controller = name, ControllerName
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: &group, Kind: v1alpha1.KindClusterLoadBalancerClass, Name: params.Name}
	return class
}

// A Service that gets an annotation that restricts keeps new Ingresses from being served, and those
// that are served stay.
func TestServicesThatAreRestricted(t *testing.T) {
	service := new(corev1.Service)
	service.Namespace, service.Name = "shop", "web"
	service.Annotations = map[string]string{"konghq.com/plugins": "key-auth"}
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served before: %v", served), func(t *testing.T) {
			ing := carrying(nil)
			accepted := record.Accept(ing)
			known := record.Member{Served: served}
			if served {
				known.LastAccepted = &accepted
			}
			s := Snapshot{
				Class: *facingInternet(""), Members: []Member{NewMember(ing, settings.Values{})},
				Recorded: record.Record{Members: map[string]record.Member{"shop/web": known}},
				Objects:  Objects{Services: []*corev1.Service{service}},
			}
			left, found := WithoutForeignRestrictions(s)
			if (len(left.Members) == 1) != served {
				t.Errorf("%d members are left", len(left.Members))
			}
			if !hasError(found) {
				t.Errorf("nobody is told: %v", found)
			}
		})
	}
}

func TestWhatIsMeant(t *testing.T) {
	given := settings.Values{Scheme: v1alpha1.SchemeInternetFacing, Ports: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}}}
	cases := map[string]struct {
		key, value string
		says       string // "" for nothing
		severity   diag.Severity
	}{
		"a letter is missing":                    {"fairlead.dev/listen-port", "HTTP:80", "did you mean fairlead.dev/listen-ports?", diag.Warning},
		"two edits":                              {"fairlead.dev/tarrget-typ", "ip", "did you mean fairlead.dev/target-type?", diag.Warning},
		"punctuation":                            {"fairlead.dev/healthcheck_path", "/", "did you mean fairlead.dev/health-check-path?", diag.Warning},
		"a field of the class":                   {"fairlead.dev/subnet-tags", "team", "it is subnetTags of the class", diag.Warning},
		"a field of the class, in its spelling":  {"fairlead.dev/subnetTags", "team", "it is subnetTags of the class", diag.Warning},
		"a field of a Backend":                   {"fairlead.dev/rewrite", "/", "it is rewrite of a Backend", diag.Warning},
		"an annotation of another controller":    {"fairlead.dev/ssl-passthrough", "true", "instead: fairlead.dev/listen-ports", diag.Error},
		"that of another controller, off":        {"fairlead.dev/ssl-passthrough", "false", "instead: fairlead.dev/listen-ports", diag.Warning},
		"a redirect to HTTPS, misspelt":          {"fairlead.dev/ssl-redirct", "443", "did you mean fairlead.dev/ssl-redirect?", diag.Error},
		"a redirect to HTTPS, by another name":   {"fairlead.dev/force-ssl-redirect", "true", "did you mean fairlead.dev/ssl-redirect?", diag.Error},
		"a redirect to HTTPS, of the class":      {"fairlead.dev/sslRedirect", "443", "did you mean fairlead.dev/ssl-redirect?", diag.Error},
		"one that restricts":                     {"fairlead.dev/auth-type", "oidc", "instead: authenticate of a Backend", diag.Error},
		"one that restricts, off":                {"fairlead.dev/auth-type", "none", "instead: authenticate of a Backend", diag.Warning},
		"who may connect, misspelt":              {"fairlead.dev/inbuond", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"everybody may connect, misspelt":        {"fairlead.dev/inbuond", "0.0.0.0/0", "did you mean fairlead.dev/inbound?", diag.Error},
		"HTTPS alone, misspelt":                  {"fairlead.dev/listen-port", "HTTPS:443", "did you mean fairlead.dev/listen-ports?", diag.Error},
		"mtls":                                   {"fairlead.dev/mtls", "true", "no annotation has this name", diag.Error},
		"mtls, off":                              {"fairlead.dev/mtls", "false", "no annotation has this name", diag.Warning},
		"auth":                                   {"fairlead.dev/auth", "basic", "no annotation has this name", diag.Error},
		"source-ranges":                          {"fairlead.dev/source-ranges", "10.0.0.0/8", "no annotation has this name", diag.Error},
		"allowed-ips":                            {"fairlead.dev/allowed-ips", "10.0.0.0/8", "no annotation has this name", diag.Error},
		"firewall":                               {"fairlead.dev/firewall", "office", "no annotation has this name", diag.Error},
		"camelCase":                              {"fairlead.dev/ipWhitelist", "10.0.0.0/8", "no annotation has this name", diag.Error},
		"ssl-only":                               {"fairlead.dev/ssl-only", "true", "no annotation has this name", diag.Error},
		"another prefix":                         {"fairlead.io/target-type", "ip", "did you mean fairlead.dev/target-type?", diag.Warning},
		"a prefix that is misspelt":              {"fairlaed.dev/target-type", "ip", "did you mean fairlead.dev/target-type?", diag.Warning},
		"a prefix with the name in it":           {"ingress.fairlead.dev/scheme", "internal", "did you mean fairlead.dev/scheme?", diag.Error},
		"our prefix in another case":             {"Fairlead.dev/inbound", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"our prefix in capitals":                 {"FAIRLEAD.DEV/conditions", "[]", "did you mean fairlead.dev/conditions?", diag.Error},
		"our prefix in another case, harmless":   {"Fairlead.dev/target-type", "ip", "did you mean fairlead.dev/target-type?", diag.Warning},
		"no prefix":                              {"listen-ports", "HTTP:80", "did you mean fairlead.dev/listen-ports?", diag.Warning},
		"no prefix, and who may connect":         {"inbound", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"no prefix, and no value of ours":        {"order", "first come, first served", "", ""},
		"no prefix, and resembling":              {"listen-port", "HTTP:80", "", ""},
		"a dot for the slash":                    {"fairlead.dev.inbound", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"a hyphen for the slash":                 {"fairlead.dev-inbound", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"an underscore, and no domain":           {"Fairlead_inbound", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"a hyphen for the slash, harmless":       {"fairlead-target-type", "ip", "did you mean fairlead.dev/target-type?", diag.Warning},
		"a condition of the AWS controller":      {"fairlead.dev/conditions.web", "[{}]", "instead: ", diag.Error},
		"a header of Kong":                       {"fairlead.dev/headers.x-key", "secret", "no annotation has this name", diag.Error},
		"a scheme in other words":                {"fairlead.dev/load-balancer-scheme", "internal", "did you mean fairlead.dev/scheme?", diag.Error},
		"a scheme of all in other words":         {"fairlead.dev/visibility", "public", "did you mean fairlead.dev/scheme?", diag.Warning},
		"who may connect in other words":         {"fairlead.dev/allow-from", "10.0.0.0/8", "did you mean fairlead.dev/inbound?", diag.Error},
		"the same, not understood":               {"fairlead.dev/source-ip", "office", "did you mean fairlead.dev/inbound?", diag.Error},
		"the same, off":                          {"fairlead.dev/allow", "false", "did you mean fairlead.dev/inbound?", diag.Warning},
		"private, by its value":                  {"fairlead.dev/facing", "private", "no annotation has this name", diag.Error},
		"HTTP not allowed":                       {"fairlead.dev/allow-http", "false", "instead: ", diag.Error},
		"HTTP allowed":                           {"fairlead.dev/allow-http", "true", "instead: ", diag.Warning},
		"HTTPS alone, of another name":           {"fairlead.dev/ports", "HTTPS:443", "it is ports of the class", diag.Error},
		"HTTP too, of another name":              {"fairlead.dev/ports", "HTTP:80,HTTPS:443", "it is ports of the class", diag.Warning},
		"internal":                               {"fairlead.dev/internal", "true", "no annotation has this name", diag.Error},
		"internal, off":                          {"fairlead.dev/internal", "false", "no annotation has this name", diag.Warning},
		"private":                                {"fairlead.dev/private", "true", "no annotation has this name", diag.Error},
		"methods":                                {"fairlead.dev/http-methods", "GET", "no annotation has this name", diag.Error},
		"a TLS policy":                           {"fairlead.dev/ssl-policy", "ELBSecurityPolicy-TLS13-1-3-2021-06", "instead: ", diag.Error},
		"a version of TLS":                       {"fairlead.dev/tls-min-version", "1.3", "no annotation has this name", diag.Error},
		"a restriction":                          {"fairlead.dev/ip-restriction", "10.0.0.0/8", "no annotation has this name", diag.Error},
		"countries":                              {"fairlead.dev/geoip-countries", "DE", "no annotation has this name", diag.Error},
		"nothing like it":                        {"fairlead.dev/colour", "red", "no annotation has this name", diag.Warning},
		"of somebody else":                       {"example.com/listen-ports", "HTTP:80", "", ""},
		"the length of a name that is no prefix": {strings.Repeat("a", 253) + "/" + strings.Repeat("b", 63), "x", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := unknownAnnotations(carrying(map[string]string{c.key: c.value}), given)
			switch {
			case c.says == "":
				if len(found) > 0 {
					t.Errorf("%v", found)
				}
			case len(found) != 1 || !strings.Contains(found[0].Message, c.says) || found[0].Severity != c.severity:
				t.Errorf("%v, and not %s: %s", found, c.severity, c.says)
			}
		})
	}
}

// Annotations of a Service count with our prefix in any case, as those of an Ingress do.
func TestMisplacedInAnotherCase(t *testing.T) {
	given := settings.Values{Scheme: v1alpha1.SchemeInternetFacing}
	for key, want := range map[string]diag.Severity{"Fairlead.dev/inbound": diag.Error, "FAIRLEAD.DEV/target-type": diag.Warning, "fairlead.dev/source-ranges": diag.Error} {
		found := misplacedAnnotations(diag.Source{}, Name{Namespace: "shop", Name: "web"}, map[string]string{key: "10.0.0.0/8"}, given)
		if len(found) != 1 || found[0].Severity != want || !strings.Contains(found[0].Message, key) {
			t.Errorf("%s on a Service: %v, and not %s", key, found, want)
		}
	}
}

// Annotations of a Service whose prefix was meant as ours are reported as those with ours are.
func TestMisplacedWithAMisspeltPrefix(t *testing.T) {
	given := settings.Values{Scheme: v1alpha1.SchemeInternetFacing}
	for key, want := range map[string]diag.Severity{
		"fairlaed.dev/inbound": diag.Error, "ingress.fairlead.dev/target-type": diag.Warning, "fairlead.io/ipWhitelist": diag.Error,
		"inbound": "", "example.com/inbound": "",
	} {
		found := misplacedAnnotations(diag.Source{}, Name{Namespace: "shop", Name: "web"}, map[string]string{key: "10.0.0.0/8"}, given)
		switch {
		case want == "":
			if len(found) > 0 {
				t.Errorf("%s on a Service: %v", key, found)
			}
		case len(found) != 1 || found[0].Severity != want || !strings.Contains(found[0].Message, key):
			t.Errorf("%s on a Service: %v, and not %s", key, found, want)
		}
	}
}

func TestPathsThatLookLikeExpressions(t *testing.T) {
	for path, want := range map[string]bool{
		"/foo(/|$)(.*)": true, "/^/api": true, "/api\\.v1": true, "/[a-z]+": true, "/v1/.*": true, "/api/(v1|v2)/x": true, "/x+$": true, "/foo$": true,
		"/api/(.+)": true, "/users/{id}": true, "/(foo)": true, "/a(b)?": true,
		"/": false, "/foo": false, "/foo/*": false, "/f?o": false, "/Users(1)": false, "/odata/$metadata": false, "/a+b": false, "/a.b": false, "/a,b;c=d": false, "/~user/@x:y!z'": false, "/%7Bid%7D": false, "/*.html": false,
	} {
		if got := expression.MatchString(path); got != want {
			t.Errorf("%s looks like an expression: %v", path, got)
		}
	}
}

// TestNoPlainHTTPThatWasNotAskedFor: an Ingress whose annotations ask for HTTPS is refused while a
// port without TLS would forward its requests, and only then. spec.tls asks for no such thing
// (docs/contributing/decisions/0040-spec-tls-says-nothing-about-http.md).
func TestNoPlainHTTPThatWasNotAskedFor(t *testing.T) {
	service, backend := defaulted(to("web:80")), func(ing *networkingv1.Ingress) {
		ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: new(v1alpha1.Group), Kind: "Backend", Name: "redirect"}}
	}
	asks := func(ing *networkingv1.Ingress) {
		ing.Annotations = map[string]string{"nginx.ingress.kubernetes.io/ssl-redirect": "true"}
	}
	secured := func(ing *networkingv1.Ingress) {
		ing.Annotations["fairlead.dev/listen-ports"] = "HTTPS:443"
	}
	withTLS := func(ing *networkingv1.Ingress) {
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}, SecretName: "tls"}}
	}
	for name, c := range map[string]struct {
		with    []func(*networkingv1.Ingress)
		refused bool
	}{
		"a redirect is asked for":                   {[]func(*networkingv1.Ingress){service, asks}, true},
		"and there is a certificate":                {[]func(*networkingv1.Ingress){service, asks, withTLS}, true},
		"and the only port has TLS":                 {[]func(*networkingv1.Ingress){service, asks, secured}, false},
		"and there is nothing but a Backend":        {[]func(*networkingv1.Ingress){backend, asks}, false},
		"spec.tls alone says nothing of plain HTTP": {[]func(*networkingv1.Ingress){service, withTLS}, false},
	} {
		_, found := readAnnotations(anIngress("shop/web", c.with...), facingInternet(""))
		if refused := hasError(found); refused != c.refused {
			t.Errorf("%s: refused %t, want %t: %v", name, refused, c.refused, found)
		}
	}
}

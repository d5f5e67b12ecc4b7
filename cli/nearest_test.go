package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/answer"
)

// This file asks explain about requests that are answered 404 or 503.

// explained are the lines of explain about one URL, by label.
func explained(t *testing.T, dir, url string) map[string]string {
	t.Helper()
	got := fairlead(t, "explain", url, "-f", dir)
	if got.code != exitDone {
		t.Fatalf("%s: exit code %d: %s", url, got.code, got.err)
	}
	out := map[string]string{}
	for line := range strings.Lines(got.out) {
		if label, text := line[:min(15, len(line))], line[min(15, len(line)):]; strings.HasPrefix(label, "  ") {
			out[strings.TrimSpace(label)] += strings.TrimSpace(text)
		}
	}
	return out
}

// withPaths is an Ingress with rules for a host; each path has its type before it.
func withPaths(name, host string, paths ...string) string {
	text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name +
		", namespace: shop}\nspec:\n  ingressClassName: fairlead\n  rules:\n  - host: \"" + host +
		"\"\n    http:\n      paths:\n"
	for _, p := range paths {
		kind, path, _ := strings.Cut(p, " ")
		text += "      - {path: " + path + ", pathType: " + kind +
			", backend: {service: {name: web, port: {number: 80}}}}\n"
	}
	return text
}

func TestExplainAHostThatNoRuleNames(t *testing.T) {
	dir := directory(t, map[string]string{"service.yaml": serviceYAML,
		"a.yaml": withPaths("a", "app1.example.com", "Prefix /"),
		"b.yaml": withPaths("b", "*.shop.example.org", "Prefix /")})
	cases := map[string]struct {
		url  string
		want map[string]string
	}{
		"one letter is wrong": {"app7.example.com/", map[string]string{
			"answered by":  "fixed response 404",
			"because":      "no rule names the host, and port 80 has no default backend for it",
			"rule":         "80/default",
			"of":           "fairlead/shop/a/internal, if the DNS name of the host leads there",
			"also on":      "fairlead/shop/b/internal: fixed response 404, if the DNS name leads there",
			"did you mean": "app1.example.com?"}},
		"letters are exchanged": {"ap1p.example.com/", map[string]string{"did you mean": "app1.example.com?"}},
		"the case is another":   {"APP7.example.com/", map[string]string{"did you mean": "app1.example.com?"}},
		"a star stands for one label": {"x.y.shop.example.org/", map[string]string{
			"answered by": "fixed response 404",
			"named hosts": "*.shop.example.org; the star stands for one label"}},
		"and not for none":            {"shop.example.org/", map[string]string{"named hosts": "*.shop.example.org; the star stands for one label"}},
		"below a misspelt wildcard":   {"x.shpo.example.org/", map[string]string{"did you mean": "*.shop.example.org?"}},
		"a neighbour":                 {"typo.example.com/", map[string]string{"named hosts": "app1.example.com"}},
		"none is near":                {"elsewhere.net/", map[string]string{"named hosts": "", "did you mean": ""}},
		"a port without any listener": {"https://app7.example.com/", map[string]string{"answered by": "nothing: no load balancer accepts such a connection", "because": "no load balancer names the host, and none has a listener on port 443; there are listeners on 80", "of": "", "did you mean": "app1.example.com?"}},
	}
	for name, c := range cases {
		got := explained(t, dir, c.url)
		for label, want := range c.want {
			if got[label] != want {
				t.Errorf("%s: %s: %q is %q, want %q", name, c.url, label, got[label], want)
			}
		}
	}
}

// TestNearestHostsAreFew, whatever their number.
func TestNearestHostsAreFew(t *testing.T) {
	dir := directory(t, map[string]string{"service.yaml": serviceYAML})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		write(t, dir+"/"+name+".yaml", withPaths(name, "app"+name+".example.com", "Prefix /"))
	}
	got := explained(t, dir, "appx.example.com/")
	if got["did you mean"] != "appa.example.com, appb.example.com, appc.example.com?" ||
		got["also on"] != "fairlead/shop/b/internal, fairlead/shop/c/internal, fairlead/shop/d/internal "+
			"and 1 other: fixed response 404, if the DNS name leads there" {
		t.Errorf("%q", got)
	}
}

func TestExplainAPathThatNoRuleHas(t *testing.T) {
	conditional := strings.Replace(withPaths("c", "c.example.com", "Prefix /x"), "namespace: shop}",
		`namespace: shop, annotations: {fairlead.dev/conditions: '[{"path": "/x", "method": ["POST"]}]'}}`, 1)
	dir := directory(t, map[string]string{"service.yaml": serviceYAML, "c.yaml": conditional,
		"a.yaml": withPaths("a", "app.example.com", "Exact /api", "Prefix /app", "Exact /cart/", "Prefix /cartoons"),
		"w.yaml": withPaths("w", "*.example.org", "Exact /api"),
		"e.yaml": withPaths("e", "e.example.com", "Exact /a-long-path/bb", "Exact /a-long-path/b", "Exact /", "Exact /a-long-path"),
		"d.yaml": strings.Replace(withPaths("d", "d.example.com", "Exact /api"), "  rules:",
			"  defaultBackend: {service: {name: web, port: {number: 80}}}\n  rules:", 1)})
	for url, want := range map[string]string{
		"app.example.com/api/":    "Exact /api, Prefix /app, Exact /cart/ and 1 more; Exact /api does not cover /api/",
		"app.example.com/api/v1":  "Exact /api, Prefix /app, Exact /cart/ and 1 more; Exact /api does not cover /api/v1",
		"app.example.com/apple":   "Prefix /app, Exact /api, Exact /cart/ and 1 more; Prefix /app covers /app and /app/…, not /apple",
		"app.example.com/cart":    "Exact /cart/, Prefix /cartoons, Exact /api and 1 more; Exact /cart/ does not cover /cart",
		"app.example.com/API":     "Exact /api, Prefix /app, Exact /cart/ and 1 more; the case of Exact /api counts",
		"app.example.com/cartons": "Prefix /cartoons, Exact /cart/, Exact /api and 1 more",
		"x.example.org/api/":      "Exact /api; Exact /api does not cover /api/",
		"c.example.com/x":         "Prefix /x; Prefix /x needs method = POST",
		"d.example.com/api/":      "Exact /api; Exact /api does not cover /api/",
		"app.example.com/app/1":   "",
		"e.example.com/a-long-path/c": "Exact /a-long-path, Exact /, Exact /a-long-path/bb and 1 more; " +
			"Exact /a-long-path does not cover /a-long-path/c; Exact / does not cover /a-long-path/c",
	} {
		if got := explained(t, dir, url)["its paths"]; got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	e := explainJSON(t, "http://app.example.com/api/", "-f", dir)
	if len(e.Paths) != 3 || e.Paths[0].Path != "Exact /api" || e.Paths[0].Source != "Ingress shop/a spec.rules[0].http.paths[0]" ||
		e.Paths[0].Why != "Exact /api does not cover /api/" || e.Paths[1].Why != "" {
		t.Errorf("%+v", e.Paths)
	}
}

// TestExplainServicesWithoutEndpoints: where they are known, requests get 503.
func TestExplainServicesWithoutEndpoints(t *testing.T) {
	const backend = "---\napiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: split, namespace: shop}\n" +
		"spec: {services: [{name: web, port: {number: 80}, weight: 90}, {name: api, port: {number: 80}, weight: 10}]}\n"
	split := strings.Replace(withPaths("split", "split.example.com", "Prefix /"),
		"{service: {name: web, port: {number: 80}}}", "{resource: {apiGroup: fairlead.dev, kind: Backend, name: split}}", 1)
	endpoint := strings.Replace(emptySlice("api"), "endpoints: []", "endpoints: [{addresses: [10.0.0.1], targetRef: {kind: Pod, name: p, namespace: shop}}]", 1)
	ready := strings.ReplaceAll(emptySlice("web"), "endpoints: []", "endpoints: [{addresses: [10.0.0.2], targetRef: {kind: Pod, name: p, namespace: shop}}]")
	unready := strings.ReplaceAll(emptySlice("web"), "endpoints: []", "endpoints: [{addresses: [10.0.0.2], targetRef: {kind: Pod, name: p, namespace: shop}, conditions: {ready: false}}]")
	api := strings.ReplaceAll(serviceYAML, "name: web", "name: api")
	base := map[string]string{"a.yaml": withPaths("a", "a.example.com", "Prefix /"), "split.yaml": split + backend,
		"web.yaml": serviceYAML, "api.yaml": api}
	cases := map[string]struct {
		slices      string
		single, two string
		note        string
	}{
		"unknown": {"", "Service shop/web port 80", "Services shop/api port 80 (weight 10), shop/web port 80 (weight 90)", ""},
		"ready":   {ready + endpoint, "Service shop/web port 80", "Services shop/api port 80 (weight 10), shop/web port 80 (weight 90)", ""},
		"unready": {unready + endpoint, "503, because Service shop/web port 80 has no targets",
			"Services shop/api port 80 (weight 10), shop/web port 80 (weight 90, answered 503: it has no targets)",
			"Ingress shop/a spec.rules[0].http.paths[0].backend.service: NoEndpoints: Service shop/web has no ready endpoint for port 80"},
		"both are empty": {emptySlice("web") + emptySlice("api"), "503, because Service shop/web port 80 has no targets",
			"503, because none has targets of the Services shop/api port 80 (weight 10), shop/web port 80 (weight 90)",
			"Ingress shop/a spec.rules[0].http.paths[0].backend.service: NoEndpoints: Service shop/web has no ready endpoint for port 80"},
	}
	for name, c := range cases {
		dir := directory(t, base)
		write(t, dir+"/slices.yaml", c.slices)
		one, two := explained(t, dir, "http://a.example.com/"), explained(t, dir, "http://split.example.com/")
		if one["answered by"] != c.single || one["note"] != c.note || two["answered by"] != c.two {
			t.Errorf("%s: %q, note %q, and of two %q", name, one["answered by"], one["note"], two["answered by"])
		}
		got := fairlead(t, "explain", "http://a.example.com/", "-f", dir)
		if strings.Contains(got.out, "1 of these lacks targets (503)") != (c.note != "") {
			t.Errorf("%s: %s", name, got.out)
		}
	}
}

// TestExplainAPortThatTheServiceLacks: requests get 503, whatever endpoints the Service has. The reason comes before those of others.
func TestExplainAPortThatTheServiceLacks(t *testing.T) {
	named := strings.Replace(serviceYAML, "[{port: 80}]", "[{port: 80, name: http}]", 1)
	other := strings.Replace(annotated("fairlead.dev/scheme: public"), "name: web", "name: another", 1)
	for port, want := range map[string]string{"number: 81": "503, because Service shop/web port 81 has no targets", "name: web": "503, because Service shop/web port web has no targets",
		"name: http": "Service shop/web port 80", "number: 80": "Service shop/web port 80"} {
		dir := directory(t, map[string]string{"service.yaml": named, "other.yaml": other,
			"a.yaml": strings.Replace(withPaths("b", "a.example.com", "Prefix /"), "number: 80", port, 1)})
		e := explainJSON(t, "http://a.example.com/", "-f", dir)
		if got := explained(t, dir, "http://a.example.com/")["answered by"]; got != want {
			t.Errorf("%s: %q, want %q", port, got, want)
		}
		var said []string
		for _, r := range e.Refused {
			said = append(said, r.State+" "+string(r.Reason))
		}
		told := []string{"problem ServicePortMissing", "refused AnnotationInvalid"}
		if e.Outcome.Status == 0 {
			told = told[1:]
		}
		if !slices.Equal(said, told) {
			t.Errorf("%s: %q, want %q", port, said, told)
		}
	}
}

// TestAnIngressThatAnswersIsNotRefused, though another part of it is.
func TestAnIngressThatAnswersIsNotRefused(t *testing.T) {
	secure := strings.Replace(ingressYAML("one", "a.example.com", "/"), "spec:", "spec:\n  tls: [{hosts: [a.example.com], secretName: missing}]", 1)
	refused := strings.Replace(annotated("fairlead.dev/scheme: public"), "name: web", "name: two", 1)
	dir := directory(t, map[string]string{"a.yaml": secure, "service.yaml": serviceYAML, "b.yaml": refused,
		"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: missing, namespace: shop}\n"})
	got := explained(t, dir, "http://a.example.com/")
	if !strings.HasPrefix(got["problem"], "Ingress shop/one spec.tls[0].secretName: CertificateInvalid") ||
		!strings.HasPrefix(got["refused"], "Ingress shop/two ") || strings.Contains(got["because"], "refused") {
		t.Errorf("%q", got)
	}
	if got := explained(t, dir, "https://a.example.com/"); !strings.Contains(got["refused"], "Ingress shop/one spec.tls[0]") || got["problem"] != "" {
		t.Errorf("over HTTPS, where it is not served: %q", got)
	}
}

// TestExplainSaysWhichOfTwoLoadBalancers it is about, and why.
func TestExplainSaysWhichOfTwoLoadBalancers(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": withPaths("a", "app.example.com", "Exact /x"),
		"b.yaml":       withPaths("b", "app.example.com", "Prefix /"),
		"service.yaml": serviceYAML})
	got := explained(t, dir, "http://app.example.com/")
	if got["of"] != "fairlead/shop/a/internal, of the oldest Ingress that names app.example.com" ||
		got["also on"] != "fairlead/shop/b/internal: Service shop/web port 80, if the DNS name leads there" {
		t.Errorf("%q", got)
	}
	e := explainJSON(t, "http://app.example.com/", "-f", dir)
	if !e.Named || len(e.Others) != 1 || e.Others[0].Source != "Ingress shop/b spec.rules[0].http.paths[0]" {
		t.Errorf("%+v", e)
	}
}

// TestExplainAssumesSecrets as verify does: the cluster has those that are not among the files.
func TestExplainAssumesSecrets(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": strings.Replace(ingressYAML("web", "a.example.com", "/"), "spec:",
		"spec:\n  tls: [{hosts: [a.example.com], secretName: there}]", 1), "service.yaml": serviceYAML})
	expectations := filepath.Join(t.TempDir(), "e.yaml")
	write(t, expectations, "expectations: [{name: a, requests: {hosts: [a.example.com], ports: [443]}, must: {forwarded: true}}]")
	got := explained(t, dir, "https://a.example.com/")
	if got["answered by"] != "Service shop/web port 80" ||
		got["note"] != "Ingress shop/web spec.tls[0].secretName: CertificateMissing: Secret shop/there is not among the files, so it is assumed to be there" {
		t.Errorf("%q", got)
	}
	if got := fairlead(t, "verify", dir, "--expect", expectations); got.code != exitDone || !strings.Contains(got.out, "1 of 1 expectations hold\n") {
		t.Errorf("verify: %+v", got)
	}
}

// TestExplainTellsNothingOfOtherPaths than that of the request.
func TestExplainTellsNothingOfOtherPaths(t *testing.T) {
	text := withPaths("a", "app.example.com", "Prefix /a", "Prefix /cart", "Exact /x", "Prefix /last")
	for _, name := range []string{"one", "two", "three", "one"} {
		text = strings.Replace(text, "{name: web,", "{name: "+name+",", 1)
	}
	dir := directory(t, map[string]string{"a.yaml": text})
	for path, want := range map[string]string{"a": "one", "cart": "two", "cart/1": "two", "cartoons": "", "x": "three", "x/": "", "last": "one"} {
		got := fairlead(t, "explain", "http://app.example.com/"+path, "-f", dir)
		if n := strings.Count(got.out, "ServiceMissing"); n > 1 || (n == 1) != (want != "") || want != "" && !strings.Contains(got.out, "Service shop/"+want+" is not among") {
			t.Errorf("/%s: %d notes, want one about %q: %s", path, n, want, got.out)
		}
	}
}

// TestExplainBeginsWithTheNearestName of a host: age counts only among Ingresses with the same.
func TestExplainBeginsWithTheNearestName(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("a", "*.example.com", "/"),
		"z.yaml": ingressYAML("z", "web.example.com", "/foo"), "service.yaml": serviceYAML})
	got := explained(t, dir, "http://web.example.com/")
	if got["of"] != "fairlead/shop/z/internal, which alone names web.example.com" || got["answered by"] != "fixed response 404" ||
		got["also on"] != "fairlead/shop/a/internal: Service shop/web port 80, if the DNS name leads there" {
		t.Errorf("%q", got)
	}
	if got := explained(t, dir, "http://other.example.com/"); got["of"] != "fairlead/shop/a/internal" {
		t.Errorf("%q", got)
	}
}

// TestExplainOfWhatIsNoRequest says so, and what to ask.
func TestExplainOfWhatIsNoRequest(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("a", "*.shop.example.com", "/a/"),
		"b.yaml": ingressYAML("b", "xn--bcher-kva.example", "/"), "service.yaml": serviceYAML})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a wildcard":  {[]string{"http://*.shop.example.com/a/"}, "*.shop.example.com is not the name of a host, but many: ask for one of them, such as www.shop.example.com"},
		"no name":     {[]string{"http://b\u2000cher.example/"}, "is not the name of a host: idna: "},
		"Host beside": {[]string{"http://x.shop.example.com/", "-H", "host: a.example.com"}, `--header: "host: a.example.com": the URL has the host, so write it there`},
	} {
		got := fairlead(t, append([]string{"explain", "-f", dir}, c.args...)...)
		if got.code != exitFail || !strings.Contains(got.err, c.want) || strings.Contains(got.err, "disagree") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := fairlead(t, "explain", "http://B\u00fccher.example:80/x", "-f", dir)
	if got.code != exitDone || !strings.HasPrefix(got.out, "http://xn--bcher-kva.example/x\n  answered by  Service shop/web port 80\n") {
		t.Errorf("%+v", got)
	}
}

// TestExplainSaysWhatAPortTakes: no other request is answered there.
func TestExplainSaysWhatAPortTakes(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": strings.Replace(annotated("fairlead.dev/listen-ports: '[{\"HTTP\": 80}, {\"HTTPS\": 443}]'"), "spec:",
		"spec:\n  tls: [{hosts: [a.example.com], secretName: there}]", 1), "service.yaml": serviceYAML})
	for url, want := range map[string]string{
		"http://a.example.com:443/":  "port 443 speaks HTTPS, so ask for https://",
		"https://a.example.com:80/":  "port 80 speaks HTTP, so ask for http://",
		"http://a.example.com:8080/": "there is no listener on port 8080; it listens on 80, 443",
	} {
		got := fairlead(t, "explain", url, "-f", dir)
		if got.code != exitDone || !strings.Contains(got.out, "because      "+want+"\n") || !strings.Contains(got.out, " 0 to Services") ||
			!strings.Contains(got.out, ", 1 not answered") {
			t.Errorf("%s: %+v", url, got)
		}
	}
}

// TestAHostThatNoRuleNamesIsOfThoseThatAnswerForAny on its port, before others that listen there.
func TestAHostThatNoRuleNamesIsOfThoseThatAnswerForAny(t *testing.T) {
	of := func(name, annotations, spec string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + ", namespace: shop, annotations: {" +
			annotations + "}}\nspec:\n  ingressClassName: fairlead\n  " + spec + "\n"
	}
	const web = "{service: {name: web, port: {number: 80}}}"
	elsewhere := map[string]string{"default": "defaultBackend: " + web,
		"rule": "rules: [{http: {paths: [{path: /, pathType: Prefix, backend: " + web + "}]}}]"}
	for name, spec := range elsewhere {
		dir := directory(t, map[string]string{"service.yaml": serviceYAML,
			"a.yaml": of("a", "fairlead.dev/group: g, fairlead.dev/listen-ports: \"HTTP:8080\"", spec),
			"b.yaml": of("b", "fairlead.dev/group: g", "rules: [{host: b.example.com}]"),
			"c.yaml": of("c", "", "defaultBackend: "+web)})
		got := explained(t, dir, "http://any.example.org/")
		if got["answered by"] != "Service shop/web port 80" || !strings.HasPrefix(got["of"], "fairlead/shop/c/internal,") ||
			!strings.HasPrefix(got["also on"], "fairlead/shop/@g/internal: fixed response 404") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAShareOfNothingServesNothing: a Service of weight 0 does not help one without targets.
func TestAShareOfNothingServesNothing(t *testing.T) {
	const backend = "apiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: split, namespace: shop}\n" +
		"spec: {services: [{name: web, port: {number: 80}, weight: 1}, {name: api, port: {number: 80}, weight: 0}]}\n"
	dir := directory(t, map[string]string{"web.yaml": serviceYAML + emptySlice("web"), "backend.yaml": backend,
		"api.yaml": strings.ReplaceAll(serviceYAML, "name: web", "name: api"),
		"split.yaml": strings.Replace(withPaths("split", "split.example.com", "Prefix /"),
			"{service: {name: web, port: {number: 80}}}", "{resource: {apiGroup: fairlead.dev, kind: Backend, name: split}}", 1)})
	if got := explained(t, dir, "http://split.example.com/")["answered by"]; !strings.HasPrefix(got, "503") {
		t.Errorf("%q", got)
	}
}

// TestAMissingServiceThatIsMisspelt: the one that was meant is named, in its namespace alone.
func TestAMissingServiceThatIsMisspelt(t *testing.T) {
	service := func(namespace, name string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {ports: [{name: http, port: 80}, {port: 8080}]}\n---\n"
	}
	services := service("shop", "checkout") + service("shop", "checkouts-2") + service("other", "checkout-api") + service("shop", "worker-2") +
		service("shop", "cart-api") + service("shop", "cart-apl")
	for name, want := range map[string]string{
		"chekout":     "; did you mean shop/checkout?",
		"check-out":   "; did you mean shop/checkout?",
		"checkouts2":  "; did you mean shop/checkouts-2?",
		"cart-app":    "; did you mean shop/cart-api?", // the first of two
		"chekout-api": "",                              // of another namespace
		"worker-3":    "",                              // one of many
		"billing":     "",
	} {
		dir := directory(t, map[string]string{"services.yaml": services, "a.yaml": strings.ReplaceAll(ingressYAML("a", "a.example.com", "/"), "name: web", "name: "+name)})
		for _, command := range [][]string{{"plan", "-f", dir}, {"validate", "-f", dir}, {"explain", "a.example.com/", "-f", dir}, {"status", "-f", dir, "-o", "json"}} {
			got := fairlead(t, command...)
			if text := "Service shop/" + name + " is not among the files" + want; !strings.Contains(got.out, text) || want == "" && strings.Contains(got.out, "did you mean") {
				t.Errorf("%s: %s lacks %q:\n%s%s", name, command[0], text, got.out, got.err)
			}
		}
	}
	for ports, want := range map[string]string{
		"[{name: http, port: 80}, {port: 8080}]": "80 (http), 8080",
		"[{name: a, port: 1}, {name: b, port: 2}, {name: c, port: 3}, {name: d, port: 4}, {name: e, port: 5}, {name: f, port: 6}]": "1 (a), 2 (b), 3 (c), 4 (d), 5 (e), and 1 more",
	} {
		dir := directory(t, map[string]string{"services.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: " + ports + "}\n",
			"a.yaml": strings.ReplaceAll(ingressYAML("a", "a.example.com", "/"), "port: {number: 80}", "port: {name: htpp}")})
		if got := fairlead(t, "plan", "-f", dir); !strings.Contains(got.out, "Service shop/web has no port htpp; it has "+want+"\n") {
			t.Errorf("a port that is misspelt:\n%s%s", got.out, got.err)
		}
	}
}

// TestAnotherPortHasThePath: a route that HTTP or HTTPS alone has is told, but no redirect back to what was asked.
func TestAnotherPortHasThePath(t *testing.T) {
	both := func(name, ports, path, more string) string {
		return strings.Replace(ingressYAML(name, "a.example.com", path), "namespace: shop}", `namespace: shop, annotations: {fairlead.dev/group: g, fairlead.dev/listen-ports: "`+
			ports+`"`+more+"}}", 1)
	}
	tls := func(ingress string) string { return ingress + "  tls: [{hosts: [a.example.com], secretName: tls}]\n" }
	dir := directory(t, map[string]string{"service.yaml": serviceYAML, "web.yaml": tls(both("web", "HTTP:80,HTTPS:443", "/shop", `, fairlead.dev/ssl-redirect: "443"`)),
		"plain.yaml": both("plain", "HTTP:80,HTTP:8080", "/api", ""), "secure.yaml": tls(both("secure", "HTTPS:443", "/admin", "")),
		"away.yaml": strings.Replace(both("away", "HTTP:80", "/away", ""), "{service: {name: web, port: {number: 80}}}", "{resource: {apiGroup: fairlead.dev, kind: Backend, name: away}}", 1) +
			"---\napiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: away, namespace: shop}\nspec: {redirect: {scheme: https, statusCode: 301}}\n"})
	for url, want := range map[string][]string{
		"https://a.example.com/api/x?y=1": {"80 http://a.example.com/api/x?y=1 Service shop/web port 80", "8080 http://a.example.com:8080/api/x?y=1 Service shop/web port 80"},
		"a.example.com/admin":             {"443 https://a.example.com/admin Service shop/web port 80"},
		"a.example.com:8080/shop":         {"80 http://a.example.com/shop redirect 301 to https://a.example.com/shop", "443 https://a.example.com/shop Service shop/web port 80"},
		"a.example.com:81/api":            {"80 http://a.example.com/api Service shop/web port 80", "8080 http://a.example.com:8080/api Service shop/web port 80"},
		"https://a.example.com/shop":      nil, // it has it
		"https://a.example.com/none":      nil,
		"https://a.example.com/away":      nil, // port 80 redirects to it
	} {
		var found answer.Explanation
		if err := json.Unmarshal([]byte(fairlead(t, "explain", url, "-f", dir, "-o", "json").out), &found); err != nil {
			t.Fatal(err)
		}
		text := fairlead(t, "explain", url, "-f", dir).out
		var ports []string
		for _, o := range found.Ports {
			ports = append(ports, fmt.Sprintf("%d %s %s", o.Port, o.URL, o.Outcome))
			if line := fmt.Sprintf("port %d ", o.Port); !strings.Contains(text, line) || !strings.Contains(text, "has it: "+o.URL+" is answered by "+o.Outcome.String()+"\n") {
				t.Errorf("%s: the text lacks %s:\n%s", url, line, text)
			}
		}
		if found.Ports == nil || !slices.Equal(ports, want) || len(want) == 0 && strings.Contains(text, "has it") {
			t.Errorf("%s: other ports are %q, want %q\n%s", url, ports, want, text)
		}
	}
}

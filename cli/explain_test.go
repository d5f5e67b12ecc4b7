package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/routing"
)

// explainJSON asks about one URL.
func explainJSON(t *testing.T, url string, args ...string) answer.Explanation {
	t.Helper()
	got := fairlead(t, append([]string{"explain", url, "-o", "json"}, args...)...)
	if got.code != exitDone {
		t.Fatal(got.err)
	}
	var e answer.Explanation
	decoder := json.NewDecoder(strings.NewReader(got.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		t.Fatalf("%v in\n%s", err, got.out)
	}
	return e
}

func service(name string, port routing.ServicePort) answer.Outcome {
	return answer.Outcome{Kind: "service", Service: name, Port: port}
}

func TestExplainTheSamples(t *testing.T) {
	const (
		shop  = "Ingress shop/shop spec."
		paths = shop + "rules[0].http.paths"
	)
	closed := answer.Outcome{Kind: "none"}
	cases := map[string]struct {
		url     string
		outcome answer.Outcome
		ingress string
		source  string
		over    []string
		why     string // a part of it
	}{
		"a prefix covers what is below it": {
			url: "http://shop.example.com/cart/1", outcome: service("shop/cart", "8080"), ingress: "shop/shop",
			source: paths + "[1]", over: []string{paths + "[0]"}, why: "longest match Prefix /cart",
		},
		"and not what only begins like it": {
			url: "http://shop.example.com/cartoon", outcome: service("shop/storefront", "80"), ingress: "shop/shop",
			source: paths + "[0]",
		},
		"exact wins over the prefixes that match too": {
			url: "http://shop.example.com/cart/ping", outcome: service("shop/storefront", "80"), ingress: "shop/shop",
			source: paths + "[2]", over: []string{paths + "[1]", paths + "[0]"}, why: "Exact",
		},
		"a glob with more text before its star": {
			url: "http://shop.example.com/cart/a.css", outcome: service("shop/storefront", "80"), ingress: "shop/shop",
			source: paths + "[3]", over: []string{paths + "[1]", paths + "[0]"},
		},
		"one label in place of the star": {
			url: "lamps.shop.example.com", outcome: service("shop/tenants", "80"), ingress: "shop/shop",
			source: shop + "rules[1].http.paths[0]",
		},
		"not two": {
			url: "http://a.b.shop.example.com/", outcome: service("shop/storefront", "80"), ingress: "shop/shop",
			source: shop + "defaultBackend",
		},
		"a host whose certificate is not among the files": {
			url: "https://shop.example.com/", outcome: service("shop/storefront", "80"), ingress: "shop/shop",
			source: paths + "[0]",
		},
		"a redirect keeps the path and the query": {
			url:     "http://pay.example.com/card?id=7",
			outcome: answer.Outcome{Kind: "redirect", Status: 301, Location: "https://pay.example.com/card?id=7"},
			ingress: "pay/pages", source: "Ingress pay/pages spec.rules[0].http.paths[0]", why: "longest match Prefix /",
		},
		"a redirect lets challenges through": {
			url: "http://pay.example.com/.well-known/acme-challenge/token", outcome: service("pay/payments", "80"), ingress: "pay/pages",
			source: "Ingress pay/pages spec.rules[0].http.paths[0]", over: []string{"Ingress pay/pages spec.rules[0].http.paths[0]"},
			why: "longest match Prefix /; redirects to HTTPS let ACME challenges through",
		},
		"over HTTPS nothing is redirected": {
			url: "https://pay.example.com/card", outcome: service("pay/payments", "80"), ingress: "pay/pages",
			source: "Ingress pay/pages spec.rules[0].http.paths[0]",
		},
		"a port that nobody asked for": {
			url: "http://pay.example.com:8080/card", outcome: closed, why: "no listener on port 8080",
		},
	}
	for name, c := range cases {
		for _, provider := range []string{"fake", "aws"} {
			t.Run(name+" on "+provider, func(t *testing.T) {
				got := explainJSON(t, c.url, "-f", sampleFiles, "--provider", provider)
				over := []string{}
				for _, o := range got.Over {
					over = append(over, o.Source)
				}
				type served struct {
					Outcome         answer.Outcome
					Ingress, Source string
					Over            []string
				}
				want := served{c.outcome, c.ingress, c.source, append([]string{}, c.over...)}
				if diff := cmp.Diff(want, served{got.Outcome, got.Ingress, got.Source, over}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if !strings.Contains(got.Why, c.why) {
					t.Errorf("why is %q, want something about %q", got.Why, c.why)
				}
			})
		}
	}
}

func TestExplainChoosesTheOldestClaim(t *testing.T) {
	aged := func(name, host, created string) string {
		return strings.Replace(ingressYAML(name, host, "/"), "namespace: shop", `namespace: shop, creationTimestamp: "`+created+`"`, 1)
	}
	files := map[string]string{
		"a.yaml": aged("a", "www.example.com", "2024-03-01T00:00:00Z"),
		"b.yaml": aged("b", "www.example.com", "2024-01-01T00:00:00Z"),
		"c.yaml": aged("c", "*.example.com", "2024-02-01T00:00:00Z"),
		"d.yaml": strings.Replace(ingressYAML("d", "x", "/"), `  - host: "x"`+"\n    http", "  - http", 1),
	}
	cases := map[string]struct {
		url      string
		ingress  string
		claimant []string // name of each load balancer's Ingress, in order
	}{
		"three name the host":                   {"http://www.example.com/", "shop/b", []string{"b", "a", "c"}},
		"only the wildcard stands for the host": {"http://api.example.com/", "shop/c", []string{"c"}},
		"nobody names the host":                 {"http://example.org/", "shop/d", []string{"d", "b", "c", "a"}},
	}
	dir := directory(t, files)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := explainJSON(t, c.url, "-f", dir)
			var names []string
			for _, key := range got.LoadBalancers {
				names = append(names, strings.Split(string(key), "/")[2])
			}
			if diff := cmp.Diff(c.claimant, names); diff != "" || got.LoadBalancer != got.LoadBalancers[0] || got.Ingress != c.ingress {
				t.Errorf("answered by %s of %s; load balancers (-want +got):\n%s", got.Ingress, got.LoadBalancer, diff)
			}
		})
	}
}

func TestExplainSeveralURLsIsAnArray(t *testing.T) {
	got := fairlead(t, "explain", "http://shop.example.com/", "https://pay.example.com/", "-o", "json", "-f", sampleFiles)
	var all []answer.Explanation
	if err := json.Unmarshal([]byte(got.out), &all); err != nil || len(all) != 2 {
		t.Errorf("%d answers, error %v, in\n%s%s", len(all), err, got.out, got.err)
	}
}

func TestExplainTextNamesEveryReason(t *testing.T) {
	got := fairlead(t, "explain", "http://shop.example.com/cart/ping", "-f", sampleFiles)
	for _, want := range []string{"Service shop/storefront port 80", "spec.rules[0].http.paths[2]", "instead of", "paths[1]", "rule "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
}

func TestExplainFailsLoudlyWhereTheRulesAreWrong(t *testing.T) {
	objects, err := manifests.Load([]string{sampleFiles}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := testProviders().Clouds["fake"].Offline()
	if err != nil {
		t.Fatal(err)
	}
	programs, _, err := program.CompileAll(t.Context(), cloud, objects, (&source.Input{}).Options(objects), nil)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := answer.Questions([]string{"http://shop.example.com/cart"}, "GET", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range programs {
		for j := range programs[i].After.Listeners {
			programs[i].After.Listeners[j].Rules = nil
		}
	}
	_, err = answer.Explain(programs, asked[0], func(string, routing.ServicePort) bool { return false })
	if err == nil {
		t.Fatal("rules that are missing went unnoticed")
	}
	for _, want := range []string{"disagree", "forward shop/cart:8080", "paths[1]", "80/default"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestExplainAll(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": grouped("one", "/"), "b.yaml": grouped("two", "/"), "service.yaml": serviceYAML})
	got := fairlead(t, "explain", "--all", "-f", dir, "-o", "json")
	var found []struct{ Reason, Source, Message string }
	if err := json.Unmarshal([]byte(got.out), &found); err != nil {
		t.Fatalf("%v in %+v", err, got)
	}
	if len(found) != 1 || found[0].Reason != "Conflict" || !strings.Contains(found[0].Source, "shop/two") {
		t.Errorf("%+v, want the conflict that shop/two loses", found)
	}
	if text := fairlead(t, "explain", "--all", "-f", dir); !strings.Contains(text.out, "Conflict Ingress shop/two") {
		t.Errorf("text: %+v", text)
	}
	samples := fairlead(t, "explain", "--all", "-f", sampleFiles, "-o", "json")
	if err := json.Unmarshal([]byte(samples.out), &found); err != nil {
		t.Fatalf("%v in %+v", err, samples)
	}
	if len(found) != 1 || found[0].Reason != "CertificateMissing" { // the guide has the reader make the Secret
		t.Errorf("the samples contradict themselves: %+v", found)
	}
}

// grouped is an Ingress that shares its load balancer.
func grouped(name, path string) string {
	return strings.Replace(ingressYAML(name, "a.example.com", path), "namespace: shop", "namespace: shop, annotations: {fairlead.dev/group: g}", 1)
}

func TestQuestionsKeepWhatIsWritten(t *testing.T) {
	cases := map[string]struct {
		text string
		url  string
		host string
		path string
		port int32
	}{
		"no scheme":                     {"a.com", "http://a.com/", "a.com", "/", 80},
		"https":                         {"https://a.com/x", "https://a.com/x", "a.com", "/x", 443},
		"the usual port is not sent":    {"http://a.com:80/", "http://a.com/", "a.com", "/", 80},
		"another port is":               {"a.com:8080/x", "http://a.com:8080/x", "a.com:8080", "/x", 8080},
		"the case of the host":          {"http://A.com/X", "http://A.com/X", "A.com", "/X", 80},
		"an encoded slash":              {"http://a.com/a%2fb", "http://a.com/a%2fb", "a.com", "/a%2fb", 80},
		"characters that need no code":  {"http://a.com/{id}/*", "http://a.com/{id}/*", "a.com", "/{id}/*", 80},
		"those that cannot be sent":     {"http://a.com/ä b", "http://a.com/%C3%A4%20b", "a.com", "/%C3%A4%20b", 80},
		"a query and a fragment":        {"http://a.com?x=/y#z", "http://a.com/?x=/y", "a.com", "/", 80},
		"several slashes after another": {"http://a.com//x", "http://a.com//x", "a.com", "//x", 80},
		"an IPv6 address":               {"http://[::1]:80/", "http://[::1]/", "[::1]", "/", 80},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := answer.Ask(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.Asked != c.url || got.Request.Host != c.host || got.Request.Path != c.path || got.Request.Port != c.port {
				t.Errorf("%s asks port %d of %s for %s", got.Asked, got.Request.Port, got.Request.Host, got.Request.Path)
			}
		})
	}
}

func TestQuestionsThatAreNone(t *testing.T) {
	cases := map[string]string{
		"ftp://a.com/":        "neither http nor https",
		"http:///x":           "it has no host",
		"http://a.com:0/":     "0 is not a port",
		"http://a.com:99999/": "99999 is not a port",
		"http://a.com/%zz":    "invalid URL escape",
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			got := fairlead(t, "explain", text, "-f", sampleFiles)
			if got.code != exitFail || !strings.HasPrefix(got.err, "error: "+text+": ") || !strings.Contains(got.err, want) {
				t.Errorf("%+v, want an error about %q", got, want)
			}
		})
	}
}

// TestExplainTellsWhatIsRefused asks about an Ingress that is served on HTTP and refused on HTTPS,
// because its Secret holds no certificate.
func TestExplainTellsWhatIsRefused(t *testing.T) {
	secure := strings.Replace(ingressYAML("one", "a.example.com", "/"), "spec:", "spec:\n  tls: [{hosts: [a.example.com], secretName: missing}]", 1)
	const empty = "apiVersion: v1\nkind: Secret\nmetadata: {name: missing, namespace: shop}\n"
	dir := directory(t, map[string]string{"a.yaml": secure, "service.yaml": serviceYAML,
		"secret.yaml": empty})

	all := fairlead(t, "explain", "--all", "-f", dir)
	if all.code != exitToDo || all.err != "" {
		t.Errorf("explain --all of what is not served as asked: exit code %d, %q", all.code, all.err)
	}
	if !strings.Contains(all.out, "CertificateInvalid Ingress shop/one") ||
		!strings.Contains(all.out, "Not served as asked: Ingress shop/one.\nSummary: 1 error,") {
		t.Errorf("explain --all: %+v", all)
	}
	one := fairlead(t, "explain", "https://a.example.com/", "-f", dir)
	if !strings.Contains(one.out, "refused") || !strings.Contains(one.out, "CertificateInvalid") {
		t.Errorf("explain URL does not tell the refusal: %+v", one)
	}
	if other := fairlead(t, "explain", "https://b.example.com/", "-f", dir); strings.Contains(other.out, "refused") {
		t.Errorf("explain tells about a host that was not asked for: %+v", other)
	}
}

func TestExplainAllWithoutAnIngressOfOurs(t *testing.T) {
	foreign := strings.Replace(ingressYAML("one", "a.example.com", "/"), "spec:", "spec:\n  ingressClassName: other", 1)
	foreign = strings.Replace(foreign, "  ingressClassName: fairlead\n", "", 1)
	got := fairlead(t, "explain", "--all", "-f", directory(t, map[string]string{"a.yaml": foreign}))
	if strings.Contains(got.out, "every route") {
		t.Errorf("nothing is served: %+v", got)
	}
}

// A target group that others made answers in place of a Service.
func TestExplainTargetGroups(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vms/0123456789abcdef"
	file := filepath.Join(t.TempDir(), "objects.yaml")
	write(t, file, `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec: {controller: fairlead.dev/ingress, parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: edge}}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: edge}
spec: {allowedTargetGroups: ["`+arn+`"]}
---
apiVersion: fairlead.dev/v1alpha1
kind: Backend
metadata: {namespace: shop, name: vms}
spec: {services: [{targetGroupARN: "`+arn+`"}]}
---
apiVersion: fairlead.dev/v1alpha1
kind: Backend
metadata: {namespace: shop, name: both}
spec: {services: [{targetGroupARN: "`+arn+`", weight: 9}, {name: web, port: {number: 80}}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web}
spec:
  ingressClassName: fairlead
  rules:
  - host: a.test
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {resource: {apiGroup: fairlead.dev, kind: Backend, name: vms}}}
      - {path: /both, pathType: Prefix, backend: {resource: {apiGroup: fairlead.dev, kind: Backend, name: both}}}
`)
	for url, want := range map[string]answer.Outcome{
		"http://a.test/": {Kind: "service", TargetGroup: arn},
		"http://a.test/both": {Kind: "service", TargetGroup: arn,
			Services: []answer.Share{{TargetGroup: arn, Weight: 9}, {Service: "shop/web", Port: "80", Weight: 1}}},
	} {
		got := explainJSON(t, url, "-f", file, "--provider", "aws").Outcome
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
	text := fairlead(t, "explain", "http://a.test/both", "-f", file, "--provider", "aws").out
	if want := "answered by  target group " + arn + " (weight 9), shop/web port 80 (weight 1)\n"; !strings.Contains(text, want) {
		t.Errorf("it prints\n%s", text)
	}
	if text := fairlead(t, "explain", "http://a.test/", "-f", file, "--provider", "aws").out; !strings.Contains(text, "answered by  target group "+arn+"\n") {
		t.Errorf("it prints\n%s", text)
	}
}

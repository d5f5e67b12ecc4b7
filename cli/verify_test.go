package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/expect"
)

// This file tests verify, with the expectations of docs/how-to/verify.md.

const verifyManifests = "testdata/verify/manifests"

// pageOfVerify returns the page, and the YAML on it.
func pageOfVerify(t *testing.T) (page string, blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/how-to/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if yaml, is := strings.CutPrefix(part, "yaml\n"); is && i%2 == 1 {
			blocks = append(blocks, yaml)
		}
	}
	return string(text), blocks
}

// verify decides expectations about manifests on an Application Load Balancer.
func verify(t *testing.T, expectations string, args ...string) (verifyReport, said) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "expectations.yaml")
	write(t, file, expectations)
	args = append([]string{"verify", "--provider", "aws", "--expect", file}, args...)
	text := fairlead(t, args...)
	var report verifyReport
	if err := json.Unmarshal([]byte(fairlead(t, append(args, "-o", "json")...).out), &report); err != nil {
		t.Fatalf("%v: %s%s", err, text.out, text.err)
	}
	return report, text
}

// TestTheTenExpectationsOfThePage hold for manifests, and each is violated by an Ingress that is added.
func TestTheTenExpectationsOfThePage(t *testing.T) {
	page, blocks := pageOfVerify(t)
	report, got := verify(t, blocks[0], verifyManifests)
	if got.code != exitDone || report.Summary.Holds != 10 {
		t.Fatalf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	for _, e := range report.Expectations {
		t.Run(e.Name, func(t *testing.T) {
			added := "testdata/verify/breaks/" + e.Name + ".yaml"
			report, got := verify(t, blocks[0], verifyManifests, added)
			for _, now := range report.Expectations {
				if wrong := now.Verdict == expect.Violated; wrong != (now.Name == e.Name) {
					t.Errorf("%s is %s", now.Name, now.Verdict)
				}
			}
			if got.code != exitToDo || !strings.Contains(got.out, "("+added+":1)") {
				t.Errorf("exit code %d: %s", got.code, got.out)
			}
			if shown := strings.ReplaceAll(got.out, added, "manifests/grab.yaml"); e.Name == "pay-is-answered-by-pay" {
				_, shown, _ := strings.Cut(shown, "\n")
				lines := strings.SplitAfterN(shown, "\n", 6)
				if want := strings.Join(lines[:5], ""); !strings.Contains(page, want) {
					t.Errorf("the page does not have\n%s", want)
				}
			}
		})
	}
}

// TestTheURLsOfThePage runs the short form, as a ConfigMap, and with a Service that is another one.
func TestTheURLsOfThePage(t *testing.T) {
	_, blocks := pageOfVerify(t)
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: expectations}\ndata:\n  urls: |\n    " + strings.ReplaceAll(blocks[1], "\n", "\n    ")
	report, got := verify(t, configMap, verifyManifests)
	if got.code != exitDone || report.Summary.Holds != 2 || report.Expectations[1].Line != 8 {
		t.Errorf("exit code %d: %s%s%+v", got.code, got.out, got.err, report)
	}
	_, got = verify(t, strings.Replace(blocks[1], "shop/cart", "shop/web", 1), verifyManifests)
	if got.code != exitToDo || !strings.Contains(got.out, "curl https://shop.example.com/cart\n    must be answered by Service shop/web only") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestTheConfigMapForTheOperator is the one of docs/how-to/enforce-expectations.md: verify reads it as the operator does,
// and the class names it.
func TestTheConfigMapForTheOperator(t *testing.T) {
	text, err := os.ReadFile("../docs/how-to/enforce-expectations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	configMap, class, _ := strings.Cut(block, "---\n")
	report, got := verify(t, configMap, verifyManifests)
	if got.code != exitDone || report.Summary.Holds != 1 {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	var parsed v1alpha1.ClusterLoadBalancerClass
	if err := yaml.UnmarshalStrict([]byte(class), &parsed); err != nil {
		t.Fatal(err)
	}
	var named corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(configMap), &named); err != nil {
		t.Fatal(err)
	}
	if to := parsed.Spec.Expectations; to == nil || to.Name != named.Name || to.Namespace != named.Namespace {
		t.Errorf("the class names %+v, and the ConfigMap is %s/%s", to, named.Namespace, named.Name)
	}
}

// TestVerifyComplainsWithFileAndLine has what is wrong in a file of expectations.
func TestVerifyComplainsWithFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"expectations:\n- name: a\n  must: {answer: true}":                                                                                   `e.yaml:3: expectations.must: there is no field "answer"`,
		"expectations:\n- name: a\n  requests: {paths: [{exact: /a}]}\n  except: [{paths: [{prefix: /}]}]\n  must: {answered: true}":         `e.yaml:2: expectation "a" is about nothing: no request is in its set`,
		"kind: ConfigMap\ndata:\n  a: |\n    expectations:\n    - must: {answered: true}":                                                    "e.yaml:5: expectations: an expectation needs a name",
		"kind: ConfigMap\ndata:\n  a: |\n    urls: [{url: 'http://a/', service: a/b}]\n  b: |\n    urls: [{url: 'http://a/', service: a/b}]": `e.yaml:6: name "http://a/" is used in `,
		"kind: Ingress\nmetadata: {name: a}":                           "e.yaml:1: it is no ConfigMap, and no list of expectations",
		"kind: ConfigMap":                                              "e.yaml:1: the ConfigMap has no data",
		"kind: ConfigMap\ndata: [a]":                                   "e.yaml:1: the ConfigMap has no data",
		oneConfigMap + "---\nkind: Secret":                             "e.yaml:8: it is no ConfigMap, and no list of expectations",
		oneConfigMap + "---\nexpectations: []":                         "e.yaml:8: it is no ConfigMap, and no list of expectations",
		oneConfigMap + "---\n" + oneConfigMap:                          `e.yaml:13: name "none" is used in `,
		oneConfigMap + "---\nkind: ConfigMap\ndata: {a: 'urls: [{}]'}": "e.yaml:9: urls: ",
		oneConfigMap + "---\nkind: [":                                  "e.yaml: yaml: line ",
		"expectations: []\n---\nexpectations: []":                      "it has more than one document",
		"": "e.yaml:1: it is empty",
	} {
		file := filepath.Join(t.TempDir(), "e.yaml")
		write(t, file, text)
		got := fairlead(t, "verify", verifyManifests, "--expect", file)
		if got.code != exitFail || got.out != "" || !strings.Contains(got.err, want) {
			t.Errorf("%q ends with %d: %s%s, want %s", text, got.code, got.out, got.err, want)
		}
	}
	for _, args := range [][]string{{"--expect", "gone.yaml", verifyManifests}, {verifyManifests}, {"--expect", "-"}} {
		if got := fairlead(t, append([]string{"verify"}, args...)...); got.code != exitFail || got.out != "" {
			t.Errorf("verify %q ends with %d: %s%s", args, got.code, got.out, got.err)
		}
	}
}

// oneConfigMap has an expectation that does not hold.
const oneConfigMap = `---
kind: ConfigMap
data:
  a: |
    expectations:
    - {name: none, requests: {hosts: [shop.example.com], paths: [{exact: /search}]}, must: {answered: false}}
`

// All ConfigMaps of a file count: in the last one of them may be the expectation that is violated.
func TestVerifyReadsEachConfigMapOfAFile(t *testing.T) {
	holds := strings.NewReplacer("none", "all", "shop.example.com", "unknown.example").Replace(oneConfigMap)
	for name, text := range map[string]string{"first": oneConfigMap + holds, "last": holds + "---\n" + oneConfigMap + "---\n"} {
		_, got := verify(t, text, verifyManifests)
		if got.code != exitToDo || !strings.Contains(got.out, "1 of 2 expectations") {
			t.Errorf("%s: exit code %d: %s%s", name, got.code, got.out, got.err)
		}
	}
}

// TestVerifyOfBrokenManifests: what can be read is verified, and the exit code is that of an error.
// Ingresses that are on no load balancer are reported, and so are expectations that they leave unused.
func TestVerifyOfBrokenManifests(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + ingressYAML("bad", "BAD_HOST", "/")})
	_, got := verify(t, "expectations: [{name: none, must: {answered: false}}]", dir)
	if got.code != exitFail || !strings.Contains(got.out, "curl http://a.example.com/") || !strings.Contains(got.err, "BAD_HOST") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	dir = directory(t, map[string]string{"a.yaml": strings.Replace(ingressYAML("web", "a.example.com", "/"), "ingressClassName: fairlead", "ingressClassName: other", 1)})
	if got := fairlead(t, "verify", "--expect", "-", dir); got.code != exitFail {
		t.Errorf("exit code %d without expectations: %s%s", got.code, got.out, got.err)
	}
	_, got = verify(t, "expectations: [{name: none, must: {answered: false}}]", dir)
	if !strings.Contains(got.out, "no load balancer gets such requests") || !strings.Contains(got.err, "ClassMissing") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestVerifyAboutNothing: an Ingress that the assumed provider refuses is no proof that its requests
// are kept out.
func TestVerifyAboutNothing(t *testing.T) {
	const expectations = "expectations: [{name: admin, requests: {loadBalancers: {schemes: [internet-facing]}, paths: [{prefix: /admin}]}, must: {forwarded: false}}]"
	refused := strings.Replace(ingressYAML("admin", "a.example.com", "/admin"), "namespace: shop",
		"namespace: shop, annotations: {fairlead.dev/scheme: internet-facing, fairlead.dev/inbound: 10.0.0.0/8}", 1)
	dir := directory(t, map[string]string{"a.yaml": refused, "b.yaml": ingressYAML("web", "a.example.com", "/")})
	file := filepath.Join(t.TempDir(), "e.yaml")
	write(t, file, expectations)
	got := fairlead(t, "verify", "--expect", file, dir)
	const want = "admin holds only because no load balancer gets such requests, and Ingress shop/admin is refused: not served on port 80: " +
		"not all clients may connect to it, and the fake cloud cannot limit their addresses. The provider fake is assumed: --provider names that of the cluster, such as aws"
	if got.code != exitFail || !strings.Contains(got.out, "not checked "+want) || !strings.Contains(got.err, "error: "+want) {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	if got := fairlead(t, "verify", "--provider", "aws", "--expect", file, dir); got.code != exitToDo || strings.Contains(got.out, "holds only") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	// One that nothing refuses still holds: no load balancer gets such requests.
	dir = directory(t, map[string]string{"b.yaml": ingressYAML("web", "a.example.com", "/")})
	if got := fairlead(t, "verify", "--expect", file, dir); got.code != exitDone {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestVerifyForAPullRequest prints Markdown.
func TestVerifyForAPullRequest(t *testing.T) {
	_, blocks := pageOfVerify(t)
	file := filepath.Join(t.TempDir(), "expectations.yaml")
	write(t, file, blocks[0])
	got := fairlead(t, "verify", "--provider", "aws", "--expect", file, verifyManifests, "testdata/verify/breaks/hosts-are-ours.yaml", "-o", "markdown")
	for _, want := range []string{"### Fairlead: 9 of 10 expectations hold, 1 violated, by 1 route", "| **hosts-are-ours** | `curl https://example.org/shown` | must not be answered by an Ingress |"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in %s", want, got.out)
		}
	}
}

// TestDecodedExactPathsHaveTheSlashBehind: a rule for /admin alone leaves /admin/ to another one.
func TestDecodedExactPathsHaveTheSlashBehind(t *testing.T) {
	dir := directory(t, map[string]string{"service.yaml": serviceYAML,
		"a.yaml": strings.Replace(withPaths("a", "a.example.com", "Exact /admin", "Exact /admin/"), "{service: {name: web, port: {number: 80}}}",
			"{resource: {apiGroup: fairlead.dev, kind: Backend, name: gone}}", 1),
		"backend.yaml": "apiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: gone, namespace: shop}\n" +
			"spec: {fixedResponse: {statusCode: 410}}\n"})
	for path, holds := range map[string]bool{"exact: /admin": true, "exact: /admin, decoded: true": false} {
		report, got := verify(t, "expectations:\n- name: gone\n  requests: {hosts: [a.example.com], paths: [{"+path+"}]}\n  must: {signIn: true}\n", dir)
		if (report.Summary.Holds == 1) != holds {
			t.Errorf("%s: %s%s", path, got.out, got.err)
		}
		if !holds && !strings.Contains(got.out, "http://a.example.com/admin/\n") {
			t.Errorf("%s: the request is not named in %s", path, got.out)
		}
	}
}

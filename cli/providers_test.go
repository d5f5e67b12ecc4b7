package cli

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
)

// This file has commands use providers that are other processes.

// elsewhere is a provider at a URL. It has a schema for the settings of classes.
func elsewhere(t *testing.T) string {
	t.Helper()
	c := lb.Literal()
	c.Name = "edge"
	cloud, err := fake.New(fake.Options{Capabilities: c, Serve: true, CheckEvery: 20_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	server := httptest.NewServer(serve.New(cloud, serve.Options{Schemas: v1.SettingsSchemas{LoadBalancer: []byte(`{"type":"object","properties":{"rateLimit":{"type":"integer"}}}`)}}))
	t.Cleanup(server.Close)
	return server.URL
}

const edgeClass = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: fairlead}
spec:
  controller: fairlead.dev/ingress
  parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: edge}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: edge}
spec: {providerName: edge, provider: SETTINGS}
`

func TestPlanAsksTheProviderThatTheClassNames(t *testing.T) {
	url := elsewhere(t)
	files := func(settings string) string {
		return directory(t, map[string]string{
			"class.yaml": strings.ReplaceAll(edgeClass, "SETTINGS", settings), "ingress.yaml": ingressYAML("web", "a.example.com", "/"), "service.yaml": serviceYAML,
		})
	}
	got := fairlead(t, "plan", "--provider", "fake,edge="+url, "-f", files("{rateLimit: 5}"))
	if got.code != exitToDo || !strings.Contains(got.out, "/internal@edge: 4 to create") {
		t.Errorf("%+v", got)
	}
	got = fairlead(t, "plan", "--provider", "fake", "--provider", "edge="+url, "-f", files("{rateLimit: many}"))
	if !strings.Contains(got.out, "SettingsRefused") || !strings.Contains(got.out, "rateLimit: got string, want integer") || strings.Contains(got.out, "4 to create") {
		t.Errorf("settings that the schema does not have: %+v", got)
	}
	got = fairlead(t, "plan", "--provider", "fake", "-f", files("{}"))
	if !strings.Contains(got.out, `Unsupported value: "edge": supported values: "fake"`) {
		t.Errorf("a provider that there is not: %+v", got)
	}
	got = fairlead(t, "explain", "http://a.example.com/", "--provider", "edge="+url, "-f", files("{}"))
	if got.code != exitDone || !strings.Contains(got.out, "answered by  Service shop/web") {
		t.Errorf("%+v", got)
	}
}

func TestDemoIsServedByAProviderThatIsAnotherProcess(t *testing.T) {
	got := fairlead(t, "demo", "--once", "--provider", "edge="+elsewhere(t), "-f", sampleFiles)
	if got.code != exitDone || strings.Contains(got.out, "FAIL") || !strings.Contains(got.out, "pass") {
		t.Errorf("%+v", got)
	}
}

func TestCheckAsksProvidersThatAreOtherProcesses(t *testing.T) {
	got := fairlead(t, "check", "--kubeconfig", "none", "--provider", "edge="+elsewhere(t)+",away=http://127.0.0.1:1")
	if got.code != exitFail || !strings.Contains(got.out, "✓ provider edge: answers at http://127.0.0.1") || !strings.Contains(got.out, "of kind edge") || !strings.Contains(got.out, "✗ provider away: ") {
		t.Errorf("%+v", got)
	}
}

func TestASelectionOfProviders(t *testing.T) {
	for args, want := range map[string]string{
		"":                                   "fake",
		"aws":                                "aws",
		"aws,edge=https://a.example":         "aws,edge=https://a.example",
		"edge=unix:///run/p.sock fake":       "edge=unix:///run/p.sock,fake",
		"azure":                              "it can be aws or fake, or NAME=URL",
		"aws,aws":                            "aws is there twice",
		"Edge=https://a.example":             `"Edge" has others`,
		"edge=http://a.example":              "it has to be https",
		"edge=https://me:password@a.example": "a user",
		"aws,edge=https://a edge=https://b":  "edge is there twice",
	} {
		var s access.Selection
		s.Flags(pflag.NewFlagSet("", pflag.ContinueOnError), testProviders().Clouds, access.Compiles, "")
		var err error
		for arg := range strings.FieldsSeq(args) {
			if err == nil {
				err = s.Set(arg)
			}
		}
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

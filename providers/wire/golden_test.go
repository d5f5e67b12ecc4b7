package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file compares messages with those in testdata, which are what version 1 of the protocol is
// to others. A file that changes is a change of the protocol: docs/how-to/provider.md says what is
// promised. A new field has a place in a file; what stood in it before is still read. `go test
// ./providers/wire -run TestGolden -update` writes the files.

var update = flag.Bool("update", false, "write the messages in testdata")

// golden compares a message with a file, and reads the file into another message of the type.
func golden[T any](t *testing.T, name string, message T) T {
	t.Helper()
	file := filepath.Join("testdata", name+".json")
	text, err := json.MarshalIndent(message, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(written), string(text)); diff != "" {
		t.Errorf("%s is a message of the protocol that others have: is it to change? (-testdata +now):\n%s", file, diff)
	}
	var out T
	d := json.NewDecoder(bytes.NewReader(written))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

var (
	signIn = &routing.Auth{
		Kind: "oidc", Issuer: "https://login.test", AuthorizationEndpoint: "https://login.test/auth", TokenEndpoint: "https://login.test/token",
		UserInfoEndpoint: "https://login.test/me", ClientID: "shop", OnMissing: "authenticate", Scope: "openid", Cookie: "session", TimeoutSeconds: 3600,
		Parameters: map[string]string{"prompt": "login"}, ClientSecret: "hush",
	}
	withToken = &routing.Auth{
		Kind: "jwt", Issuer: "https://login.test", KeysEndpoint: "https://login.test/keys",
		Claims: []routing.Claim{{Name: "groups", Format: "string-array", Values: []string{"admins"}}},
	}
	notFound = lb.Action{Kind: "fixed", Status: 404, ContentType: "text/plain", Body: "no such page"}
	split    = lb.Rule{
		Conditions: []lb.Condition{
			{Field: "host", Values: []string{"shop.test", "*.shop.test"}}, {Field: "path", Regex: []string{"/v[0-9]+/.*"}},
			{Field: "header", Name: "X-Canary", Values: []string{"always"}}, {Field: "query", Name: "debug", Values: []string{"1"}},
			{Field: "method", Values: []string{"GET"}}, {Field: "source", Values: []string{"192.0.2.0/24"}},
		},
		Action: lb.Action{
			Kind: "forward", Targets: []lb.Weighted{{Group: "shop/web:80", Weight: 9}, {Group: "shop/canary:80", Weight: 1}}, StickySeconds: 600, Auth: withToken,
			Rewrite: &routing.Rewrite{URL: "^/v[0-9]+/(.*)", URLReplacement: "/$1", Host: "^(.*)[.]shop[.]test$", HostReplacement: "$1.internal"},
		},
	}
	toHTTPS  = routing.Redirect{Status: 301, Scheme: "https", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}"}
	moved    = lb.Rule{Conditions: []lb.Condition{{Field: "path", Values: []string{"/*"}}}, Action: lb.Action{Kind: "redirect", Status: 301, Location: toHTTPS.Template(), Redirect: &toHTTPS}}
	settings = routing.Settings{
		Scheme: "internet-facing", IPFamily: "dualstack", Subnets: []string{"subnet-a", "subnet-b"}, SecurityGroups: []string{"sg-a"},
		Attributes: map[string]string{"idle_timeout.timeout_seconds": "60"}, Tags: map[string]string{"team": "shop"}, Provider: `{"zone":"b"}`,
	}
	balancer = lb.LoadBalancer{Key: "shop", Digest: "v1:settings", Settings: settings, Protected: true}
	chain    = lb.Certificate{
		ID: "sha256:0a1b", Hosts: []string{"shop.test"}, Kind: "ECDSA-256", Tags: map[string]string{"team": "shop"}, Digest: "v1:tags",
		Pair: &lb.KeyPair{Chain: []byte("-----BEGIN CERTIFICATE-----\n"), Key: []byte("-----BEGIN PRIVATE KEY-----\n")},
	}
	withoutPair = func(c lb.Certificate) lb.Certificate { c.Pair = nil; return c }(chain)
	webGroup    = lb.TargetGroup{
		ID: "shop/web:80", Service: "shop/web", Port: "http", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Digest: "v1:group",
		Health: routing.HealthCheck{
			Path: "/healthz", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3, SuccessCodes: "200-299",
		},
		Attributes: map[string]string{"stickiness.enabled": "true"}, Tags: map[string]string{"team": "shop"}, Provider: `{"algorithm":"random"}`,
	}
	front = lb.Listener{
		Port: 443, Protocol: "HTTPS", Certificates: []lb.CertificateID{"sha256:0a1b", "acm:1"}, Digest: "v1:listener", Verifies: true,
		Default: func(a lb.Action) lb.Action { a.Auth = signIn; return a }(notFound),
		Settings: lb.ListenerSettings{
			Inbound: []string{"192.0.2.0/24"}, TLSPolicy: "modern", Attributes: map[string]string{"a": "b"}, Tags: map[string]string{"team": "shop"}, ClientSecrets: "v1:secrets",
			Mutual: &routing.MutualAuthentication{Mode: "verify", TrustStore: "partners", IgnoreExpiry: true, AdvertiseCANames: true},
		},
	}
)

// ops is how many there are, which TestEachOpHasItsFields of package v1 checks.
const ops = 24

var problems = []v1.ProblemType{
	v1.ProblemNoRoom, v1.ProblemRejected, v1.ProblemPending, v1.ProblemDenied, v1.ProblemThrottled,
	v1.ProblemUnknown, v1.ProblemTooLarge, v1.ProblemVersion, v1.ProblemMalformed, v1.ProblemOther,
}

// TestGoldenSteps has a file for each op.
func TestGoldenSteps(t *testing.T) {
	seen := map[v1.Op]bool{}
	for _, step := range []plan.Step{
		plan.CreateLoadBalancer{LoadBalancer: balancer}, plan.ModifyLoadBalancer{LoadBalancer: balancer}, plan.DeleteLoadBalancer{Key: "shop"},
		plan.SetWebACL{Key: "shop", WebACL: "guard"}, plan.ShieldLoadBalancer{Key: "shop", Shield: "on"}, plan.DeleteFirewall{Key: "shop"},
		plan.ImportCertificate{Certificate: chain}, plan.ReplaceCertificate{Old: "sha256:old", New: chain}, plan.ModifyCertificate{Certificate: withoutPair},
		plan.DeleteCertificate{Certificate: "sha256:0a1b"},
		plan.CreateTargetGroup{Group: webGroup}, plan.ModifyTargetGroup{Group: webGroup}, plan.AwaitTargets{Group: "shop/web:80"}, plan.DeleteTargetGroup{Group: "shop/web:80"},
		plan.RegisterTargets{Group: "shop/web:80", Targets: []lb.Target{{Address: "192.0.2.7", Port: 8080}, {Address: "2001:db8::7", Port: 8080}}},
		plan.CreateListener{Listener: front}, plan.ModifyListener{Listener: front}, plan.DeleteListener{Port: 443},
		plan.AttachCertificate{Port: 443, Certificate: "sha256:0a1b"}, plan.DetachCertificate{Port: 443, Certificate: "sha256:0a1b"},
		plan.CreateRule{Port: 443, Priority: 100, Rule: split}, plan.ModifyRule{Port: 443, Priority: 100, Rule: lb.Rule{Action: notFound}},
		plan.DeleteRule{Port: 80, Priority: 100, Rule: moved}, plan.RespaceRules{Port: 443, To: map[int]int{100: 200, 200: 300}},
	} {
		sent := EncodeStep(step)
		seen[sent.Op] = true
		got, err := DecodeStep("shop", golden(t, "step-"+string(sent.Op), sent))
		if diff := cmp.Diff(step, got, secrets, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s is read as (-meant +read): %v\n%s", sent.Op, err, diff)
		}
	}
	if len(seen) != ops {
		t.Errorf("%d ops have a file, and there are %d", len(seen), ops)
	}
}

// TestGoldenAnswers has a file for each message that is no step.
func TestGoldenAnswers(t *testing.T) {
	there := &lb.Observed{
		Key: "shop", Exists: true, Active: true, Handle: "lb-1", Digest: "v1:settings", Protected: "class", Firewall: "sg-1", Unread: []string{"no right to read attributes"}, Impaired: "its subnets have no free addresses",
		Address:    lb.Address{Hostname: "shop.lb.test", IPs: []string{"192.0.2.1"}, Ports: map[int32]int32{80: 8080}},
		Protection: routing.Protection{WebACL: "guard", Shield: "on"},
		Listeners: []lb.ObservedListener{
			{Port: 80, Protocol: "HTTP", Digest: "v1:listener", Default: notFound, Handle: "listener-80", Rules: []lb.ObservedRule{{Rule: moved, Priority: 100, Handle: "rule-1"}}},
			{Port: 443, Protocol: "HTTPS", Certificates: []lb.CertificateID{"sha256:0a1b", "acm:1"}, Digest: "v1:listener", Verifies: true, ClientSecrets: "v1:secrets", Default: notFound,
				Rules: []lb.ObservedRule{{Rule: split, Priority: 100, Handle: "rule-2"}}, Handle: "listener-443"},
		},
		TargetGroups: []lb.ObservedTargetGroup{{TargetGroup: lb.TargetGroup{ID: "shop/web:80", Service: "shop/web", Port: "http", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1",
			Family: "ipv4", Digest: "v1:group"}, Ready: true, Registered: true, Handle: "group-1"}},
		Certificates: []lb.ObservedCertificate{{Certificate: lb.Certificate{ID: "sha256:0a1b", Hosts: []string{"shop.test"}, Kind: "ECDSA-256", Digest: "v1:tags"}, Handle: "cert-1"}},
	}
	for name, o := range map[string]*lb.Observed{"observed": there, "observed-nothing": {Key: "shop"}} {
		got, err := DecodeObserved("shop", golden(t, name, EncodeObserved(o)))
		if diff := cmp.Diff(o, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s is read as (-meant +read): %v\n%s", name, err, diff)
		}
	}
	for name, c := range map[string]lb.Capabilities{"capabilities-literal": lb.Literal(), "capabilities-alb": lb.ALB()} {
		got, err := DecodeCapabilities(golden(t, name, EncodeCapabilities(c)))
		if diff := cmp.Diff(c, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s are read as (-meant +read): %v\n%s", name, err, diff)
		}
	}
	questions := lb.Questions{
		CertificateHosts: []string{"shop.test", "*.shop.test"}, NamedCertificates: []lb.CertificateID{"acm:1"}, WebACLs: []string{"guard"}, Shield: true, Limits: true,
		Network: lb.Network{Key: "shop", Scheme: "internal", IPFamily: "dualstack", Subnets: []string{"subnet-a"}, SubnetTags: map[string]string{"tier": "web"}, SecurityGroups: []string{"sg-a"}},
	}
	if diff := cmp.Diff(questions, DecodeQuestions(golden(t, "questions", EncodeQuestions(questions))), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("questions are read as (-meant +read):\n%s", diff)
	}
	facts := lb.Facts{
		Certificates: map[string][]lb.CertificateID{"shop.test": {"acm:1"}, "other.test": nil}, Names: map[lb.CertificateID][]string{"acm:1": {"shop.test"}},
		Subnets: []string{"subnet-a"}, SecurityGroups: []string{"sg-a"}, NameTaken: "another load balancer has the name", WebACLs: map[string]string{"guard": "acl-1"},
		Unguarded: "no right to read web ACLs", Unshielded: "there is no subscription", Unmet: []string{"no subnet in zone b"}, CertificatesUnread: "no right to list certificates",
		LimitsUnread: true, Stale: []string{"the cloud did not answer"}, Now: time.Now(),
	}
	if diff := cmp.Diff(facts, DecodeFacts(golden(t, "facts", EncodeFacts(facts))), cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Minute)); diff != "" {
		t.Errorf("facts are read as (-meant +read):\n%s", diff)
	}
	health := []lb.TargetHealth{{Target: lb.Target{Address: "192.0.2.7", Port: 8080}, State: "healthy"}, {Target: lb.Target{Address: "192.0.2.8", Port: 8080}, State: "draining"}}
	if diff := cmp.Diff(health, DecodeHealth(golden(t, "targets", EncodeHealth(health)))); diff != "" {
		t.Errorf("targets are read as (-meant +read):\n%s", diff)
	}
	result := plan.Result{Handle: "lb-1", Address: there.Address, Active: true, Firewall: "sg-1", Port: 8080}
	told := golden(t, "applied", v1.Applied{Results: []v1.Result{EncodeResult("a", result, nil), EncodeResult("b", plan.Result{}, &providers.RetryAfter{Err: providers.ErrPending, In: 5 * time.Second})}})
	if got, err := DecodeResult(told.Results[0]); err != nil || !cmp.Equal(result, got) {
		t.Errorf("a result is read as (-meant +read): %v\n%s", err, cmp.Diff(result, got))
	}
	golden(t, "active", v1.Activity{Active: true})
	golden(t, "load-balancers", v1.LoadBalancerList{Keys: []string{"shop"}})
}

// TestGoldenProblems has a file for each type of problem.
func TestGoldenProblems(t *testing.T) {
	for _, kind := range problems {
		p := v1.NewProblem(kind, "what is wrong, and what to do")
		if kind == v1.ProblemThrottled || kind == v1.ProblemPending {
			p.RetryAfterSeconds = 5
		}
		if kind == v1.ProblemVersion {
			p.Versions = []int{v1.Version}
		}
		name := string(kind)[strings.LastIndex(string(kind), ":")+1:]
		if got := golden(t, "problem-"+name, *p); !cmp.Equal(*p, got) {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
}

// TestGoldenFilesAreAllUsed finds files that no test writes any more.
func TestGoldenFilesAreAllUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	const others = 10 // observed (2), capabilities (2), questions, facts, targets, applied, active, load-balancers
	if len(files) != ops+len(problems)+others || !slices.IsSorted(files) {
		t.Errorf("there are %d files, and should be %d", len(files), ops+len(problems)+others)
	}
}

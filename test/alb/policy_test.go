package alb

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file holds the policy of docs/iam-policy.json against what AWS asks before each call of
// these tests: it allows all that the provider does, and nothing that it does not need.

// A ledger lets a policy decide, and keeps what for. It can be used by tests that run side by side.
type ledger struct {
	iam.Policy
	mu     sync.Mutex
	denied map[string]bool // what was asked for, and allowed by no statement
	needed map[string]bool // statement and action, where no other statement would have allowed it
}

// operator is the policy under which every world lives.
var operator = sync.OnceValue(func() *ledger {
	p, err := iam.ReadPolicy("../../docs/iam-policy.json")
	if err != nil {
		panic(err)
	}
	for _, s := range p.Statement {
		for i, resource := range s.Resource {
			s.Resource[i] = strings.ReplaceAll(resource, "userpool/POOL", "userpool/"+listedPool)
		}
	}
	return &ledger{Policy: p, denied: map[string]bool{}, needed: map[string]bool{}}
})

// listedPool is the user pool that the policy is given, as the guide says.
const listedPool = "eu-west-1_abc"

func (l *ledger) allow(a iam.Ask) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := l.Allowing(a)
	switch len(by) {
	case 0:
		l.denied[a.Action+" on "+a.Resource] = true
	case 1:
		l.needed[by[0]+" "+a.Action] = true
	}
	return len(by) > 0
}

// unjudged are the options of a world in which things are not ours, or not any more: that the
// policy denies calls about them is right.
func unjudged(o albsim.Options) albsim.Options {
	o.Authorize = operator().Allows
	return o
}

// faults are what is wrong with the policy, after all that was done under it: what it denied, and
// each action of a statement that could be left out with nobody noticing.
func (l *ledger) faults() []string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(l.denied)) {
		out = append(out, "the policy denies "+what)
	}
	for _, s := range l.Statement {
		for _, action := range s.Action {
			if !l.needed[s.Sid+" "+action] {
				out = append(out, "no test needs "+action+" of the policy's statement "+s.Sid)
			}
		}
	}
	return out
}

// TestMain judges the policy by all tests of this package together.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	some := func(name string) bool { return flag.Lookup(name).Value.String() != "" }
	if code == 0 && !some("test.run") && !some("test.skip") && !some("test.list") {
		for _, fault := range operator().faults() {
			fmt.Fprintln(os.Stderr, fault)
			code = 1
		}
	}
	os.Exit(code)
}

// TestContractUnderThePolicy holds the provider to its contract with no more rights than the policy
// gives.
func TestContractUnderThePolicy(t *testing.T) {
	port := int32(8080)
	providertest.Test(t, func(*testing.T) providers.Provider {
		return aws.New(aws.Options{Config: albsim.New(albsim.Options{Authorize: operator().allow}).Config(), Installation: "test", VPC: albsim.VPC, Settle: time.Nanosecond})
	}, func(*testing.T) lb.Target {
		port++
		return lb.Target{Address: "10.0.0.9", Port: port}
	})
}

// TestOpenUnderThePolicy finds the VPC by a node, as an operator does that cannot ask its instance.
func TestOpenUnderThePolicy(t *testing.T) {
	sim := albsim.New(albsim.Options{Authorize: operator().allow})
	sim.AddInstance("i-0123456789abcdef0", "subnet-private0", "10.0.100.7")
	server := httptest.NewServer(sim)
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "AKIDSIMULATED", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	nodes := func(context.Context) ([]string, error) { return []string{"i-0123456789abcdef0"}, nil }
	if _, err := aws.Open(t.Context(), client.Access{Installation: "test", Region: albsim.Region, Nodes: nodes}); err != nil {
		t.Error(err)
	}
}

// TestAttributesOfAPortAreWritten has the provider write what no setting asks for by itself.
func TestAttributesOfAPortAreWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		port := w.seen.Listeners[0]
		step := plan.ModifyListener{Listener: lb.Listener{Port: port.Port, Protocol: port.Protocol, Default: port.Default, Settings: lb.ListenerSettings{
			Attributes: map[string]string{"routing.http.response.server.enabled": "false"},
		}}}
		if _, err := w.cloud.Apply(w.Context(), w.seen, step); err != nil {
			t.Error(err)
		}
	})
}

// TestRulesAreRenumbered has the provider make room between rules, which seldom runs out.
func TestRulesAreRenumbered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		port := w.seen.Listeners[0]
		from := port.Rules[0].Priority
		if _, err := w.cloud.Apply(w.Context(), w.seen, plan.RespaceRules{Port: port.Port, To: map[int]int{from: from + 1}}); err != nil {
			t.Error(err)
		}
	})
}

// guided is the policy after the command of the guide that has some text in it.
func guided(t *testing.T, has string, environment ...string) iam.Policy {
	t.Helper()
	guide, err := os.ReadFile("../../docs/how-to/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	joined := bytes.ReplaceAll(guide, []byte("\\\n"), []byte(" "))
	command := regexp.MustCompile(`(?m)^(sed|jq) .*` + regexp.QuoteMeta(has) + `.* policy.json .*$`).Find(joined)
	if command == nil {
		t.Fatalf("the guide has no command with %s", has)
	}
	shipped, err := os.ReadFile("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := dir + "/policy.json"
	if err := os.WriteFile(file, shipped, 0o600); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euc", string(command))
	shell.Dir, shell.Env = dir, append(os.Environ(), environment...)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	p, err := iam.ReadPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// policyOf is the policy of one installation, narrowed with the command of the guide.
func policyOf(t *testing.T, installation string) iam.Policy {
	t.Helper()
	p := guided(t, "INSTALLATION", "INSTALLATION="+installation)
	for _, s := range p.Statement {
		for _, keys := range s.Condition {
			for key, values := range keys {
				if strings.HasSuffix(key, installationTag) && slices.Contains(values, "*") {
					t.Errorf("the statement %s is as wide as before", s.Sid)
				}
			}
		}
	}
	return p
}

func TestPolicyOfOneInstallation(t *testing.T) {
	p := policyOf(t, "test")
	for name, owner := range map[string]string{"its own": "test", "somebody else's": "other"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := usual()
				o.Authorize = p.Allows
				w := newWorld(t, o)
				w.cloud = aws.New(aws.Options{Config: w.sim.Config(), Installation: owner, VPC: albsim.VPC})
				w.service("service-0", 1)
				w.serve("one", map[string]string{"/": "service-0"})
				_, _, err := w.reconcile()
				if denied := errors.Is(err, providers.ErrDenied); denied != (owner != "test") {
					t.Errorf("under a policy of the installation test, %s gets: %v", owner, err)
				}
			})
		})
	}
}

// TestTheRoleOfTheFirstLoadBalancerIsYoung waits for the role that AWS has just made, and holds it
// against nothing. A right that is missing is reported at once, and what is said in the same words when
// no role is young is no reason to wait.
func TestTheRoleOfTheFirstLoadBalancerIsYoung(t *testing.T) {
	inBubble(t, albsim.Options{FirstUse: true, Lag: 2 * time.Minute}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		began := time.Now()
		w.settle()
		if len(w.rejections) > 0 {
			t.Errorf("it is held against %v", w.rejections)
		}
		if took := time.Since(began); took > 10*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	for said, want := range map[error]error{
		albsim.Refusal("AccessDenied", "Access denied."):                                                                   providers.ErrPending,
		albsim.Refusal("ValidationError", "The service-linked role is not there"):                                          providers.ErrPending,
		albsim.Refusal("AccessDenied", "User: x is not authorized to perform: iam:CreateServiceLinkedRole on resource: y"): providers.ErrDenied,
		albsim.Refusal("InvalidConfigurationRequest", "The subnets are of no use"):                                         providers.ErrRejected,
	} {
		inBubble(t, albsim.Options{}, func(w *world) {
			w.service("web", 1)
			w.serve("site", map[string]string{"/": "web"})
			w.sim.Refuse(func(in any) error {
				if _, creates := in.(*elbapi.CreateLoadBalancerInput); creates {
					return said
				}
				return nil
			})
			if _, _, err := w.reconcile(); !errors.Is(err, want) {
				t.Errorf("%v is %v, want %v", said, err, want)
			}
			time.Sleep(2 * time.Minute)
			if _, _, err := w.reconcile(); errors.Is(err, providers.ErrPending) {
				t.Errorf("two minutes later %v is waited for: %v", said, err)
			}
		})
	}
}

// TestTheFirstLoadBalancerOfAnAccount works where Elastic Load Balancing has no role of its own
// yet.
func TestTheFirstLoadBalancerOfAnAccount(t *testing.T) {
	inBubble(t, albsim.Options{FirstUse: true}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		w.leadsTo("web")
	})
}

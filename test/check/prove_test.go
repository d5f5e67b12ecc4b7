package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/preflight"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/trials"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/moto"
	"fairlead.dev/fairlead/test/nightly"
)

// This file runs `fairlead check --prove` against accounts, interrupts it, and looks what is left.

// at is an account at an endpoint, whose provider waits for next to nothing.
func at(endpoint, installation string, requested func()) *aws.Provider {
	return aws.New(optionsAt(endpoint, installation, requested))
}

func optionsAt(endpoint, installation string, requested func()) aws.Options {
	config := awssdk.Config{
		Region: albsim.Region, BaseEndpoint: awssdk.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
		Retryer: func() awssdk.Retryer { return awssdk.NopRetryer{} },
	}
	return optionsOf(config, albsim.VPC, installation, requested)
}

func of(config awssdk.Config, vpc, installation string, requested func()) *aws.Provider {
	return aws.New(optionsOf(config, vpc, installation, requested))
}

func optionsOf(config awssdk.Config, vpc, installation string, requested func()) aws.Options {
	return aws.Options{Config: config, VPC: vpc, Installation: installation, Settle: time.Nanosecond, Lag: 100 * time.Millisecond, OnRequest: func(client.Request) { requested() }}
}

// proved runs the command line.
func proved(t *testing.T, open opener, answer string, args ...string) said {
	t.Helper()
	plug := aws.Plug()
	plug.Prove = open
	with := cli.Providers{Clouds: map[string]clouds.Cloud{"aws": plug}, Apart: time.Millisecond}
	var out, err bytes.Buffer
	args = append([]string{"check", "--provider", "aws", "--kubeconfig", "none", "--prove"}, args...)
	code := cli.Run(t.Context(), args, with, cli.Streams{In: strings.NewReader(answer), Out: &out, Err: &err})
	return said{out.String(), err.String(), code}
}

// An opener opens an account in the name of an installation.
type opener = func(ctx context.Context, around clouds.Environment, installation string) (trials.Cloud, error)

// opening opens an account of albsim.
func opening(endpoint string) opener {
	return func(_ context.Context, o clouds.Environment, installation string) (trials.Cloud, error) {
		return at(endpoint, installation, func() { o.OnRequest("", "", "") }), nil
	}
}

// states are the findings by state.
func states(t *testing.T, report string) map[check.State][]string {
	t.Helper()
	var r struct{ Findings []check.Finding }
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatalf("%v in %s", err, report)
	}
	out := map[check.State][]string{}
	for _, f := range r.Findings {
		out[f.State] = append(out[f.State], strings.TrimPrefix(f.ID, "prove/"))
	}
	return out
}

var (
	scenarios   = []string{"scenario/missing", "scenario/create", "scenario/insert"}
	assumptions = []string{
		"assumption/source-of-parking", "assumption/values-of-a-condition", "assumption/regular-expressions",
		"assumption/rewrite-before-redirect", "assumption/case-flag", "assumption/priorities-at-once",
		"assumption/read-back",
		"assumption/create-again", "assumption/reads-lag", "assumption/index-of-tags", "assumption/account-limits",
	}
	rest = []string{
		"scenario/retarget", "scenario/tls", "scenario/renewal", "scenario/settings", "scenario/twice", "scenario/move", "scenario/listed", "scenario/delete", "left",
	}
)

// untried are the assumptions that a run does not try: all others of the ledger.
func untried(tried ...string) []string {
	var out []string
	for _, a := range preflight.Assumptions {
		if id := "assumption/" + a.ID; !slices.Contains(tried, id) {
			out = append(out, id)
		}
	}
	return out
}

func TestProve(t *testing.T) {
	for name, args := range map[string][]string{"without targets": nil, "with one": {"--target", "10.0.0.9:8080"}} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := serve(t, albsim.Options{Authorize: allowing(t, nil)})
			before := sim.Inventory()
			got := proved(t, opening(endpoint), "", append(args, "--yes", "-o", "json")...)
			if got.code != 0 {
				t.Errorf("exit code %d, %s", got.code, got.out)
			}
			want := map[check.State][]string{check.OK: append(append(append([]string{}, scenarios...), assumptions...), rest...), check.Unknown: untried(assumptions...)}
			if diff := cmp.Diff(want, states(t, got.out)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%s", diff, got.out)
			}
			if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
				t.Errorf("what there is (-before +after):\n%s", diff)
			}
			for _, secret := range []string{albsim.Account, albsim.VPC, "role/fairlead"} {
				if strings.Contains(got.out, secret) {
					t.Errorf("the report has %s in it", secret)
				}
			}
			total, _ := sim.Cost()
			var report struct{ Calls int }
			if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.Calls != total || total > 800 {
				t.Errorf("error %v, %d calls are reported of %d", err, report.Calls, total)
			}
		})
	}
}

// An assumption that does not hold is named in one line, and so is a scenario that fails; the rest
// is not tried.
func TestProveNamesWhatDoesNotHold(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{Limits: albsim.Limits{ValuesPerRule: 4}})
	before := sim.Inventory()
	got := proved(t, opening(endpoint), "", "--yes")
	if wrong := got.lines("✗"); got.code != 1 || len(wrong) != 1 || !strings.HasPrefix(wrong[0], "✗ A condition takes five values, as AWS's answers say; its guide says three: five are refused: ValidationError: The number of condition values in a rule cannot exceed '4'") ||
		!strings.Contains(wrong[0], "three are taken") {
		t.Errorf("an account that takes four values: exit code %d, it says\n%s", got.code, got.out)
	}
	sim.Refuse(func(in any) error {
		if strings.HasSuffix(fmt.Sprintf("%T", in), "ImportCertificateInput") {
			return albsim.Refusal("LimitExceededException", "You have reached your limit of imports in a year.")
		}
		return nil
	})
	got = proved(t, opening(endpoint), "", "--yes")
	wrong := strings.Join(got.lines("✗"), "\n")
	if got.code != 1 || !strings.Contains(wrong, "✗ a second port with a certificate, and a redirect to it: applying ") || !strings.Contains(wrong, "limit of imports") ||
		!strings.Contains(got.out, "? a certificate is renewed: not tried") {
		t.Errorf("an account that takes no certificate: exit code %d, it says\n%s", got.code, got.out)
	}
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

func TestProveAsksFirst(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{})
	for _, answer := range []string{"", "no\n", "y\n"} {
		if got := proved(t, opening(endpoint), answer); got.code != 1 || len(sim.Calls()) > 0 || !strings.Contains(got.err, "2 internal load balancers") || !strings.Contains(got.err, "nothing was made") {
			t.Errorf("answer %q: exit code %d, %d calls, it says %s", answer, got.code, len(sim.Calls()), got.err)
		}
	}
	if got := proved(t, opening(endpoint), "yes\n"); got.code != 0 {
		t.Errorf("answer yes: exit code %d, it says\n%s%s", got.code, got.err, got.out)
	}
}

// quick are options of a run that waits for nothing.
func quick(spent func() int) trials.Options {
	return trials.Options{Calls: 5000, CallsMade: spent, Timeout: time.Minute, CleanupTimeout: 12 * time.Second, Pause: time.Millisecond, SweepPause: time.Millisecond, OnProgress: func(string) {}}
}

// interrupted runs a trial that ends, or breaks, at a call, and returns how many calls there were
// and what there is then.
func interrupted(t *testing.T, o trials.Options, call int, fault albsim.Fault) (calls []albsim.Call, left []string, inventory map[string]int) {
	t.Helper()
	sim := albsim.New(albsim.Options{})
	config := sim.Config()
	config.HTTPClient, config.Retryer = broken{config.HTTPClient}, func() awssdk.Retryer { return awssdk.NopRetryer{} }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	sim.Break(func(c albsim.Call) albsim.Fault {
		if calls = append(calls, c); len(calls) != call {
			return albsim.NoFault
		}
		if fault == albsim.NoFault {
			stop()
		}
		return fault
	})
	_, left = trials.Run(ctx, of(config, albsim.VPC, trials.Prefix+"test", func() {}), o)
	return calls, left, sim.Inventory()
}

// A broken client does not hear the answer to a call that was ended meanwhile, as over a network.
type broken struct{ awssdk.HTTPClient }

func (b broken) Do(r *http.Request) (*http.Response, error) {
	answer, err := b.HTTPClient.Do(r)
	if ended := r.Context().Err(); ended != nil && err == nil {
		return nil, ended
	}
	return answer, err
}

// Wherever a run is told to end, or the connection breaks, nothing is left behind.
func TestProveInterruptedAtEveryCall(t *testing.T) {
	if testing.Short() {
		t.Skip("it interrupts a trial hundreds of times")
	}
	t.Parallel()
	interruptEach(t, quick(func() int { return 0 }), 100, 12)
}

// interruptEach ends a run at some of its calls, and breaks the connection at some of those that write. A run has at least a number
// of calls.
func interruptEach(t *testing.T, o trials.Options, atLeast, some int) {
	t.Helper()
	nothing := albsim.New(albsim.Options{}).Inventory()
	all, _, _ := interrupted(t, o, 0, albsim.NoFault)
	if len(all) < atLeast {
		t.Fatalf("a run has %d calls: the test reads too little", len(all))
	}
	for name, fault := range map[string]albsim.Fault{"told to end": albsim.NoFault, "the answer is lost": albsim.LostAfter} {
		t.Run(name, func(t *testing.T) {
			var runs errgroup.Group
			runs.SetLimit(32) // they wait more than they work
			var calls []int
			for call := 1; call <= len(all); call++ {
				if fault == albsim.NoFault || all[call-1].Write { // a read that is lost makes nothing
					calls = append(calls, call)
				}
			}
			for _, call := range nightly.Some(t, some, calls) {
				runs.Go(func() error {
					_, left, there := interrupted(t, o, call, fault)
					if len(left) > 0 || !maps.Equal(there, nothing) {
						t.Errorf("call %d: %v is said to be left; there is %v", call, left, there)
					}
					return nil
				})
			}
			_ = runs.Wait() // each tells of itself
		})
	}
}

func TestProveEndsWhereTheCallsAreSpent(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{})
	before := sim.Inventory()
	options := quick(func() int { total, _ := sim.Cost(); return total })
	options.Calls = 60
	findings, left := trials.Run(t.Context(), at(endpoint, trials.Prefix+"test", func() {}), options)
	last := findings[len(findings)-1]
	if last.ID != "prove/cut-short" || !strings.Contains(last.Detail, "calls that were agreed on are spent") || len(left) > 0 {
		t.Errorf("it ends with %+v, and leaves %v", last, left)
	}
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// A faulty provider panics after some steps.
type faulty struct {
	trials.Cloud
	steps *atomic.Int64
}

func (f faulty) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if f.steps.Add(1) == 5 {
		panic("a fault")
	}
	return f.Cloud.Apply(ctx, seen, step)
}

func TestProveSurvivesAPanic(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{})
	before := sim.Inventory()
	findings, left := trials.Run(t.Context(), faulty{at(endpoint, trials.Prefix+"test", func() {}), new(atomic.Int64)}, quick(func() int { return 0 }))
	if last := findings[len(findings)-1]; !strings.Contains(last.Detail, "the provider panicked: a fault") || len(left) > 0 {
		t.Errorf("it ends with %+v, and leaves %v", last, left)
	}
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// makeGroup makes a target group.
func makeGroup(t *testing.T, cloud *aws.Provider) {
	t.Helper()
	if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: "fairlead/shop/web/internal"}, plan.CreateTargetGroup{Group: lb.TargetGroup{
		ID: "shop/web:80", Service: "shop/web", Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4",
		Health: routing.HealthCheck{Path: "/", Protocol: "HTTP", Port: "traffic-port", IntervalSeconds: 5, TimeoutSeconds: 2, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"},
	}}); err != nil {
		t.Fatal(err)
	}
}

// What a run that was killed has left is found by another one, which leaves alone what is no run's.
func TestProveCleansUp(t *testing.T) {
	sim, endpoint := serve(t, albsim.Options{})
	before := sim.Inventory()
	killed := quick(func() int { total, _ := sim.Cost(); return total })
	killed.Calls, killed.CleanupTimeout = 80, time.Nanosecond
	if _, left := trials.Run(t.Context(), at(endpoint, trials.Prefix+"killed", func() {}), killed); len(left) == 0 || cmp.Equal(before, sim.Inventory()) {
		t.Fatalf("nothing is left: %v", left)
	}
	makeGroup(t, at(endpoint, "operator", func() {}))
	got := proved(t, opening(endpoint), "", "--clean")
	if got.code != 0 || !strings.Contains(got.err, "of "+trials.Prefix+"killed") {
		t.Errorf("exit code %d, it says\n%s%s", got.code, got.err, got.out)
	}
	before["target groups"]++
	if diff := cmp.Diff(before, sim.Inventory()); diff != "" {
		t.Errorf("what there is (-before +after):\n%s", diff)
	}
}

// onMoto is a provider in an account of moto's.
func onMoto(account *moto.Account, installation string, requested func()) trials.Cloud {
	return globs{of(account.Mended(), account.VPC, installation, requested)}
}

// moto is no AWS: it takes a source that AWS documents as forbidden, does not exchange priorities,
// and falls over at regular expressions. The trial says so of it, and the scenarios pass all the
// same.
func TestProveOnMoto(t *testing.T) {
	account := moto.Start(t).Account(t)
	got := proved(t, func(_ context.Context, o clouds.Environment, installation string) (trials.Cloud, error) {
		return onMoto(account, installation, func() { o.OnRequest("", "", "") }), nil
	}, "", "--yes", "-o", "json")
	found := states(t, got.out)
	wrong := []string{"assumption/priorities-at-once"}
	unknown := untried(slices.DeleteFunc(slices.Clone(assumptions), func(id string) bool { return id == "assumption/regular-expressions" })...)
	well := len(scenarios) + len(assumptions) + len(rest) - len(wrong) - 1
	if got.code != 1 || len(found[check.OK]) != well || !cmp.Equal(found[check.Wrong], wrong) || !cmp.Equal(found[check.Unknown], unknown) {
		t.Errorf("exit code %d, it says\n%s", got.code, got.out)
	}
}

// Wherever a run on moto is told to end, nothing of it is found any more.
func TestProveInterruptedOnMoto(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts an emulator, and interrupts a trial many times")
	}
	t.Parallel()
	server := moto.Start(t)
	const every = 23 // calls; a run takes a second or two
	for call := 1; ; call += every {
		account := server.Account(t)
		ctx, stop := context.WithCancel(t.Context())
		var calls atomic.Int64
		cloud := onMoto(account, trials.Prefix+"test", func() {
			if calls.Add(1) == int64(call) {
				stop()
			}
		})
		options := quick(func() int { return 0 })
		options.CleanupTimeout = time.Minute // moto is slow where much else runs
		_, left := trials.Run(ctx, cloud, options)
		over := ctx.Err() == nil
		stop()
		there, err := onMoto(account, trials.Prefix+"other", func() {}).Installations(t.Context())
		if err != nil || len(left) > 0 || len(there) > 0 {
			t.Errorf("call %d: error %v, %v is said to be left; there is something of %v", call, err, left, there)
		}
		if over {
			if call < 5*every {
				t.Errorf("a run has less than %d calls: the test reads too little", call)
			}
			return
		}
	}
}

// globs is a provider for an account without regular expressions.
type globs struct{ *aws.Provider }

func (p globs) Capabilities(class lb.Class) lb.Capabilities {
	class.NoRegularExpressions = true
	return p.Provider.Capabilities(class)
}

package fake_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/nightly"
)

// This file is one cloud in several processes. Two that are in one process are as far apart: they
// share nothing but files.

// twoOf are two processes of one cloud. The first one has the sockets.
func twoOf(t *testing.T, o fake.Options) (*fake.Cloud, *fake.Cloud) {
	t.Helper()
	o.State = filepath.Join(t.TempDir(), "state.json")
	return start(t, o), start(t, o)
}

// turns is a cloud of two processes that are asked in turn.
type turns struct {
	clouds [2]*fake.Cloud
	next   atomic.Uint64
}

func (t *turns) cloud() *fake.Cloud { return t.clouds[t.next.Add(1)%2] }

func (t *turns) Capabilities(class lb.Class) lb.Capabilities { return t.cloud().Capabilities(class) }

func (t *turns) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	return t.cloud().Lookup(ctx, q)
}

func (t *turns) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	return t.cloud().Observe(ctx, key, deep)
}

func (t *turns) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	return t.cloud().Apply(ctx, seen, step)
}

func (t *turns) Active(ctx context.Context, seen *lb.Observed) (bool, error) {
	return t.cloud().Active(ctx, seen)
}

func (t *turns) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	return t.cloud().Targets(ctx, key, group)
}

func (t *turns) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	return t.cloud().SetTargets(ctx, key, group, want)
}

func (t *turns) List(ctx context.Context) ([]lb.Key, error) { return t.cloud().List(ctx) }

// Whichever process is asked, it is the same cloud.
func TestContractInTwoProcesses(t *testing.T) {
	for _, serve := range nightly.Some(t, 2, []bool{false, true}) {
		t.Run(fmt.Sprintf("one of them serving %t", serve), func(t *testing.T) {
			providertest.Test(t, func(t *testing.T) providers.Provider {
				one, two := twoOf(t, fake.Options{Serve: serve, CheckEvery: time.Millisecond})
				return &turns{clouds: [2]*fake.Cloud{one, two}}
			}, providertest.Listening)
		})
	}
}

// What one process writes another serves; how targets are is known to both.
func TestTheOtherProcessServes(t *testing.T) {
	serving, writing := twoOf(t, fake.Options{Serve: true, CheckEvery: time.Millisecond})
	web := backend(t, "web")
	o := program(t, writing, loadBalancer(shop, []lb.TargetGroup{group("web", web)}, http80(rule("- -", forward("web")))))
	answers(t, o, 200)
	everyone(t, writing, "web", "healthy")
	everyone(t, serving, "web", "healthy")

	if err := writing.SetTargets(t.Context(), shop, "web", []lb.Target{nobody(t)}); err != nil {
		t.Fatal(err)
	}
	everyone(t, writing, "web", "unhealthy")
	if _, err := writing.Apply(t.Context(), o, plan.AwaitTargets{Group: "web"}); err == nil {
		t.Error("a target group is ready whose only target is known to be unhealthy elsewhere")
	}
	answers(t, o, 502)
	program(t, writing, lb.LoadBalancer{Key: shop})
	eventually(t, func() error {
		conn, err := net.Dial("tcp", at(o, 80))
		if err != nil {
			return nil //nolint:nilerr // that is what is waited for
		}
		return fmt.Errorf("%s is still open: %w", at(o, 80), conn.Close())
	})
}

// answers waits until the load balancer answers with a status.
func answers(t *testing.T, o *lb.Observed, want int) {
	t.Helper()
	eventually(t, func() error {
		conn, err := net.Dial("tcp", at(o, 80))
		if err != nil {
			return err
		}
		if got := ask(t, conn, "GET / HTTP/1.1", "Host: a"); got.status != want {
			return fmt.Errorf("status %d, want %d", got.status, want)
		}
		return nil
	})
}

// Drained targets are seen by the process that does not serve them.
func TestDrainingIsSeenElsewhere(t *testing.T) {
	serving, writing := twoOf(t, fake.Options{Serve: true, CheckEvery: time.Millisecond})
	o := program(t, serving, loadBalancer(shop, []lb.TargetGroup{group("web", shouting(t))}, http80(rule("- -", forward("web")))))
	c := upgrade(t, dial(t, at(o, 80)))
	if err := writing.SetTargets(t.Context(), shop, "web", nil); err != nil {
		t.Fatal(err)
	}
	everyone(t, writing, "web", "draining")
	c.heard(t, "still here")
	c.conn.Close()
	everyone(t, writing, "web")
}

// When the process ends that has the sockets, another serves the same at the same places, with the
// same certificates.
func TestAnotherProcessTakesOver(t *testing.T) {
	first, second := twoOf(t, fake.Options{Serve: true, CheckEvery: time.Millisecond})
	ids := []lb.CertificateID{"fake:shop.example.com", "sha256:0001"}
	want := loadBalancer(shop, []lb.TargetGroup{group("web", backend(t, "web"))},
		http80(rule("- -", forward("web"))), https443(ids, rule("- -", forward("web"))))
	want.Certificates = []lb.Certificate{imported(t, "sha256:0001", "www.example.com")}
	before := program(t, first, want)
	roots, err := first.Roots()
	if err != nil {
		t.Fatal(err)
	}
	everyone(t, second, "web", "healthy")
	first.Close()
	answers(t, before, 200)
	eventually(t, func() error { // the sockets are opened one after the other
		conn, err := net.Dial("tcp", at(before, 443))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if diff := cmp.Diff(before, program(t, second, want), cmp.FilterPath(readiness, cmp.Ignore())); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if states, err := second.Targets(t.Context(), shop, "web"); err != nil || states[0].State != "healthy" {
		t.Errorf("error %v; what was known of targets is forgotten: %v", err, states)
	}
	for name, trust := range map[string]*tls.Config{"shop.example.com": {RootCAs: roots}, "www.example.com": {InsecureSkipVerify: true}} {
		conn, names := dialTLS(t, at(before, 443), name, trust)
		if got := ask(t, conn, "GET / HTTP/1.1", "Host: "+name); got.from != "web" || names[0] != name {
			t.Errorf("%s: %d, certificate for %v", name, got.status, names)
		}
	}
	everyone(t, second, "web", "healthy") // found out by itself
}

// Two processes write at the same time, and nothing is lost.
func TestBothProcessesWrite(t *testing.T) {
	const each = 40
	one, two := twoOf(t, fake.Options{})
	o := program(t, one, loadBalancer(shop, nil, http80()))
	var both sync.WaitGroup
	for i, cloud := range []*fake.Cloud{one, two} {
		both.Go(func() {
			for n := range each {
				create := plan.CreateRule{Port: 80, Priority: 1 + 2*n + i, Rule: rule(fmt.Sprintf("- /%d/%d", i, n), fixed(200))}
				if _, err := cloud.Apply(t.Context(), o, create); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if diff := cmp.Diff(observe(t, one), observe(t, two)); diff != "" {
		t.Errorf("the processes differ:\n%s", diff)
	}
	handles := map[string]bool{}
	for _, r := range observe(t, one).Listeners[0].Rules {
		handles[r.Handle] = true
	}
	if len(handles) != 2*each {
		t.Errorf("%d rules with handles of their own, want %d", len(handles), 2*each)
	}
}

// A process that is killed, in the middle of a write or anywhere else, leaves files that another
// can read and go on with.
func TestKilledAtAnyTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	survivor := start(t, fake.Options{State: file})
	for range 15 {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), scribbleIn+"="+file)
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error { // it has begun
			if len(observe(t, survivor).Listeners) == 0 {
				return fmt.Errorf("nothing is written")
			}
			return nil
		})
		time.Sleep(rand.N(10 * time.Millisecond))
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := command.Wait(); err == nil {
			t.Fatal("it ended by itself")
		}
		fresh := start(t, fake.Options{State: file})
		if diff := cmp.Diff(observe(t, fresh), observe(t, survivor)); diff != "" {
			t.Errorf("who starts anew sees another cloud:\n%s", diff)
		}
		fresh.Close()
		program(t, survivor, lb.LoadBalancer{Key: shop})
	}
}

// scribbleIn names the state file that this binary writes to, without end, if it is set.
const scribbleIn = "FAIRLEAD_TEST_SCRIBBLE_IN"

func TestMain(m *testing.M) {
	if file := os.Getenv(scribbleIn); file != "" {
		if err := scribble(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// scribble changes everything that files hold, over and over.
func scribble(file string) error {
	cloud, err := fake.New(fake.Options{State: file})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := lb.CertificateID("sha256:" + strconv.Itoa(i))
		web := group("web-"+strconv.Itoa(i), lb.Target{Address: "192.0.2.1", Port: 80})
		web.Health = routing.HealthCheck{Path: "/" + strconv.Itoa(i)}
		want := loadBalancer(shop, []lb.TargetGroup{web}, https443([]lb.CertificateID{id}, rule("- -", forward(string(web.ID)))))
		pair, err := keypair.New("shop.example.com")
		if err != nil {
			return err
		}
		want.Certificates = []lb.Certificate{{ID: id, Hosts: []string{"shop.example.com"}, Pair: pair}}
		for {
			seen, err := cloud.Observe(context.Background(), shop, false)
			if err != nil {
				return err
			}
			todo := planner.Diff(seen, want, cloud.Capabilities(lb.Class{}))
			if todo.Empty() {
				break
			}
			if _, err := providers.Run(context.Background(), cloud, seen, todo, providers.Options{}); err != nil {
				return err
			}
		}
	}
}

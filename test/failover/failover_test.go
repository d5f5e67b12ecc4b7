// Package failover is two replicas of `fairlead run` over one cloud, of which any may be killed at
// any time. Clients are told what they were told before, by whoever is left.
package failover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) {
	alive := kube.Alive
	alive.Operator = nil // the tests start their own
	kube.Main(m, alive)
}

// routes is how many rules of their own the long plan makes.
const routes = 60

func TestReplicasAreKilled(t *testing.T) {
	c := kube.Shared(t)
	namespace, state := c.Namespace(t), filepath.Join(t.TempDir(), "state.json")
	var last *kube.Replica
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(last.Log())
		}
	})
	replica := func() *kube.Replica {
		last = c.StartReplica(t, "--provider=fake", "--fake-state="+state, "--fake-addresses=10.244.254.0/24", "--fake-latency=20ms",
			"--namespace="+namespace, "--leader-elect", "--leader-elect-namespace="+namespace,
			"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
			"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=console")
		return last
	}
	c.Deploy(t, namespace, "web", 2)
	c.AwaitReady(t, namespace, "web", 2)
	c.CreateIngress(t, namespace, "small", kube.Class, `{rules: [{host: small.example, http: {paths: [`+path("/", "web")+`]}}]}`)

	leader := replica() // and has the sockets, for it is alone
	address := c.Address(t, namespace, "small")
	for _, step := range []string{"starting", "waiting for the lease", "working"} {
		if !strings.Contains(leader.Log(), step) {
			t.Errorf("the leader says nothing of %q:\n%s", step, leader.Log())
		}
	}
	l := newLoad(t, address, "small.example")
	l.more(t, 20)

	follower := replica()
	l.more(t, 200)
	follower.Kill()
	l.more(t, 200)
	if got := l.take(); got.refused+got.wrong > 0 {
		t.Errorf("the follower was killed, and that was noticed: %s", got)
	}

	replica()
	l.more(t, 100)
	var paths []string
	for i := range routes {
		paths = append(paths, path(fmt.Sprintf("/%d", i), fmt.Sprintf("none-%d", i)))
	}
	c.CreateIngress(t, namespace, "large", kube.Class, `{rules: [{host: large.example, http: {paths: [`+strings.Join(append(paths, path("/", "web")), ", ")+`]}}]}`)
	kube.Eventually(t, "a long plan is under way", func() bool {
		n := rules(t, state)
		return n > routes/6 && n < routes
	})
	leader.Kill()
	if n := rules(t, state); n >= routes {
		t.Fatalf("the plan was done before the leader was killed: %d rules", n)
	}
	l.more(t, 200) // the small one is back at once, whoever leads
	large := c.Address(t, namespace, "large")
	kube.Eventually(t, "the other replica completes the plan", func() bool { return rules(t, state) == routes+2 })
	for path, want := range map[string]int{"/": 200, "/3/x": 503, fmt.Sprintf("/%d", routes-1): 503} {
		if status, err := ask(t.Context(), client(), large, "large.example", path); err != nil || status != want {
			t.Errorf("large.example%s: status %d, error %v, want %d", path, status, err, want)
		}
	}
	l.more(t, 200)
	got := l.take()
	if got.wrong > 0 || got.longest > takeover {
		t.Errorf("the leader was killed: %s", got)
	}
	t.Logf("the leader was killed: %s", got)

	clouds := read(t, state)
	if len(clouds) != 2 {
		t.Errorf("there are %d load balancers, want 2", len(clouds))
	}
	addresses, handles := map[string]bool{}, map[string]bool{}
	for key, o := range clouds {
		addresses[strings.Join(o.Address.IPs, " ")] = true
		for _, listener := range o.Listeners {
			for _, r := range listener.Rules {
				handles[string(key)+r.Handle] = true
			}
		}
	}
	if len(addresses) != 2 || len(handles) != routes+2 || !addresses[address] || !addresses[large] {
		t.Errorf("addresses %v, %d rules; want those of the Ingresses and %d", addresses, len(handles), routes+2)
	}
}

// takeover is how long the sockets may be nobody's. A machine at work is slow.
const takeover = time.Second

func path(path, service string) string {
	return fmt.Sprintf(`{path: %q, pathType: Prefix, backend: {service: {name: %s, port: {number: %d}}}}`, path, service, kube.ServicePort)
}

// read is what the file of the cloud says.
func read(t *testing.T, state string) map[lb.Key]*lb.Observed {
	t.Helper()
	text, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	out := map[lb.Key]*lb.Observed{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatalf("reading the state of the cloud: %s", err)
	}
	return out
}

// rules is how many rules there are.
func rules(t *testing.T, state string) int {
	t.Helper()
	n := 0
	for _, o := range read(t, state) {
		n += o.RuleCount()
	}
	return n
}

func TestTheDataPlaneOutlivesTheLease(t *testing.T) {
	c := kube.Shared(t)
	namespace := c.Namespace(t)
	only := c.StartReplica(t, "--provider=fake", "--fake-addresses=10.244.254.0/24", "--namespace="+namespace,
		"--leader-elect", "--leader-elect-namespace="+namespace,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--metrics-bind-address=127.0.0.1:9080", "--health-probe-bind-address=127.0.0.1:9081", "--log-format=console")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(only.Log())
		}
	})
	c.Deploy(t, namespace, "web", 2)
	c.AwaitReady(t, namespace, "web", 2)
	host := `{rules: [{host: %s.example, http: {paths: [` + path("/", "web") + `]}}]}`
	c.CreateIngress(t, namespace, "before", kube.Class, fmt.Sprintf(host, "before"))
	l := newLoad(t, c.Address(t, namespace, "before"), "before.example")
	l.more(t, 50)

	c.StopServer()
	kube.Eventually(t, "it loses the lease", func() bool { return strings.Contains(only.Log(), "lost the lease") })
	l.more(t, 200)
	c.StartServer(t)
	c.CreateIngress(t, namespace, "after", kube.Class, fmt.Sprintf(host, "after"))
	after := newLoad(t, c.Address(t, namespace, "after"), "after.example")
	after.more(t, 50)
	if got := l.take(); got.refused+got.wrong > 0 {
		t.Errorf("the API server was away, and that was noticed: %s", got)
	}
}

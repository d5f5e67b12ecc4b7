package failover

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

func TestTheCommandServesUntilItIsToldToStop(t *testing.T) {
	c := kube.Shared(t)
	namespace, profiles := c.Namespace(t), freeAddress(t)
	c.CreateIngress(t, namespace, "shop", kube.Class, `{rules: [{host: shop.example, http: {paths: [`+path("/", "web")+`]}}]}`)
	command := c.StartReplica(t, "--provider=fake", "--fake-state="+filepath.Join(t.TempDir(), "state"), "--fake-addresses=10.244.253.0/24",
		"--namespace="+namespace, "--secrets=labelled", "--leader-elect", "--leader-elect-namespace="+namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=console", "--pprof-bind-address="+profiles)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(command.Log())
		}
	})
	c.Address(t, namespace, "shop")
	if err := profile(t.Context(), profiles); err != nil {
		t.Error(err)
	}
	if code := command.Terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, step := range []string{"changed the load balancer", "stopped"} {
		if !strings.Contains(command.Log(), step) {
			t.Errorf("the log says nothing of %q", step)
		}
	}
}

// profile asks which goroutines there are.
func profile(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/debug/pprof/goroutine?debug=1", http.NoBody)
	if err != nil {
		return err
	}
	response, err := client().Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for the goroutines: %s", response.Status)
	}
	return nil
}

// freeAddress is one that has no listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

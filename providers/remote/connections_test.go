package remote

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/serve"
)

// TestConnectionsAreUsedAgain makes a hundred steps at once, each of another load balancer, three
// times.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const steps = 100
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(serve.New(newCounting(t), serve.Options{}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	p := open(t, server.URL)
	for round := range 3 {
		var group sync.WaitGroup
		for i := range steps {
			group.Go(func() {
				key := lb.Key(fmt.Sprintf("fairlead/shop/web-%d/internal", i))
				step := plan.CreateTargetGroup{Group: lb.TargetGroup{ID: lb.GroupID(fmt.Sprintf("shop/web:%d", round)), Service: "shop/web", Port: "80"}}
				if _, err := p.Apply(t.Context(), &lb.Observed{Key: key}, step); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := opened.Load(); n > steps+1 { // and one that asked for the capabilities
			t.Errorf("%d connections are opened for %d times %d steps at once", n, round+1, steps)
		}
	}
}

// TestCloseClosesConnections counts the connections that are left.
func TestCloseClosesConnections(t *testing.T) {
	closed := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(serve.New(newCounting(t), serve.Options{}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	open(t, server.URL).Close()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection is still open")
	}
}

// TestASocket makes one call.
func TestASocket(t *testing.T) {
	at := filepath.Join(t.TempDir(), "p.sock")
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(serve.New(newCounting(t), serve.Options{}))
	server.Listener.Close()
	server.Listener = socket
	server.Start()
	t.Cleanup(server.Close)
	if keys, err := open(t, "unix://"+at).List(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("listed %v, %v", keys, err)
	}
}

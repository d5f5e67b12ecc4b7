package fake_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
)

// This file is what the tests of the data plane stand on: load balancers in a few words, backends
// that say what reached them, and a client that sends what it is told to.

const shop lb.Key = "fairlead/shop/web/internal"

// program makes a load balancer what is wanted, waiting for targets to be healthy.
func program(t testing.TB, cloud *fake.Cloud, want lb.LoadBalancer) *lb.Observed {
	t.Helper()
	var seen *lb.Observed
	eventually(t, func() (err error) {
		if seen, err = cloud.Observe(t.Context(), want.Key, false); err != nil {
			return err
		}
		todo := planner.Diff(seen, want, cloud.Capabilities(lb.Class{}))
		_, err = providers.Run(t.Context(), cloud, seen, todo, providers.Options{})
		return err
	})
	return seen
}

// eventually tries until there is no error.
func eventually(t testing.TB, try func() error) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func loadBalancer(key lb.Key, groups []lb.TargetGroup, listeners ...lb.Listener) lb.LoadBalancer {
	slices.SortFunc(groups, func(a, b lb.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	return lb.LoadBalancer{Key: key, Listeners: listeners, TargetGroups: groups}
}

func http80(rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: 80, Protocol: "HTTP", Default: fixed(404), Rules: rules}
}

func https443(ids []lb.CertificateID, rules ...lb.Rule) lb.Listener {
	return lb.Listener{Port: 443, Protocol: "HTTPS", Certificates: ids, Default: fixed(404), Rules: rules}
}

// rule is "host path" with a dash for any, and its action.
func rule(match string, action lb.Action) lb.Rule {
	host, path, _ := strings.Cut(match, " ")
	r := lb.Rule{Action: action}
	if host != "-" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "host", Values: []string{host}})
	}
	if path != "-" {
		r.Conditions = append(r.Conditions, lb.Condition{Field: "path", Values: []string{path}})
	}
	return r
}

func forward(weighted ...any) lb.Action {
	if len(weighted) == 1 {
		return lb.FromRouting(routing.To(lb.GroupID(weighted[0].(string))))
	}
	var a routing.Action
	for i := 0; i < len(weighted); i += 2 {
		a.Forward = append(a.Forward, routing.Weighted{Backend: lb.GroupID(weighted[i].(string)), Weight: int32(weighted[i+1].(int))})
	}
	return lb.FromRouting(a)
}

func fixed(status int) lb.Action { return lb.FromRouting(routing.Status(status)) }

func redirect(r routing.Redirect) lb.Action { return lb.FromRouting(routing.Action{Redirect: &r}) }

func group(id string, targets ...lb.Target) lb.TargetGroup {
	return lb.TargetGroup{ID: lb.GroupID(id), Protocol: "HTTP", Targets: targets}
}

// backend is a target that answers with its name and what reached it, line by line.
func backend(t *testing.T, name string) lb.Target {
	return serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "an upstream")
		fmt.Fprintf(w, "%s\n%s %s\nHost: %s\n", name, r.Method, r.RequestURI, r.Host)
		if err := r.Header.Write(w); err != nil {
			t.Error(err)
		}
	}))
}

func serving(t *testing.T, h http.Handler) lb.Target {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return target(t, s.Listener.Addr())
}

func target(t testing.TB, addr net.Addr) lb.Target {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return lb.Target{Address: host, Port: int32(n)}
}

// nobody is a target that refuses connections.
func nobody(t *testing.T) lb.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return target(t, l.Addr())
}

// at is where a port of a load balancer is really reached.
func at(o *lb.Observed, port int32) string {
	return net.JoinHostPort(o.Address.IPs[0], strconv.Itoa(int(cmp.Or(o.Address.Ports[port], port))))
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
	from   string // the backend, by the first line of the body
}

// ask sends a request, a line such as "GET /a%2Fb HTTP/1.1" and headers, as it stands.
func ask(t *testing.T, conn net.Conn, lines ...string) reply {
	t.Helper()
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	from, _, _ := strings.Cut(string(body), "\n")
	return reply{response.StatusCode, response.Header, string(body), from}
}

func get(t *testing.T, o *lb.Observed, host, path string) reply {
	t.Helper()
	return ask(t, dial(t, at(o, 80)), "GET "+path+" HTTP/1.1", "Host: "+host)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// dialTLS connects with a server name, and tells for which names the certificate stands.
func dialTLS(t *testing.T, address, name string, trust *tls.Config) (net.Conn, []string) {
	t.Helper()
	config := trust.Clone()
	config.ServerName = name
	conn := tls.Client(dial(t, address), config)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	return conn, conn.ConnectionState().PeerCertificates[0].DNSNames
}

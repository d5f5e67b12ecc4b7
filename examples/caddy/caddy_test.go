package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"fairlead.dev/fairlead/api/provider/kit"
	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// Caddy is one per process, as for a provider that runs beside it. Each test's provider replaces
// what the one before made.

var socket string

func TestMain(m *testing.M) {
	registerModules()
	dir, err := os.MkdirTemp("", "caddy")
	if err == nil {
		socket = filepath.Join(dir, "admin.sock")
		err = startCaddy(socket, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	logger.SetOutput(io.Discard)
	code := m.Run()
	_ = caddy.Stop()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const key = "shop/team-a/web/internal"

// A world is a provider that a test calls, over HTTP.
type world struct {
	*testing.T
	*provider
	url   string
	steps int
}

// newWorld is a provider with what is in a directory.
func newWorld(t *testing.T, dir string) *world {
	t.Helper()
	p := &provider{network: netip.MustParsePrefix("127.0.0.1/32"), file: filepath.Join(dir, "state.json"), checkEvery: 20 * time.Millisecond, shutdownDelay: 100 * time.Millisecond}
	var err error
	if p.caddy, err = newAdmin("unix/" + socket); err == nil {
		err = p.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(kit.New(p, kit.Options{}))
	t.Cleanup(func() { server.Close(); p.stop() })
	return &world{T: t, provider: p, url: server.URL}
}

// send sends a request, and returns the answer and its body.
func (w *world) send(method, path, body string, headers ...string) (*http.Response, string) {
	w.Helper()
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", v1.MediaType)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response, string(text)
}

// results carries out steps under new IDs.
func (w *world) results(steps ...v1.Step) []v1.Result {
	w.Helper()
	var asked v1.Apply
	for _, s := range steps {
		w.steps++
		asked.Steps = append(asked.Steps, v1.Requested{ID: w.Name() + strconv.Itoa(w.steps), Step: s})
	}
	body, err := json.Marshal(asked)
	if err != nil {
		w.Fatal(err)
	}
	response, text := w.send("POST", v1.PathSteps+"?key="+url.QueryEscape(key), string(body))
	var applied v1.Applied
	if err := json.Unmarshal([]byte(text), &applied); err != nil || response.StatusCode != http.StatusOK || len(applied.Results) != len(steps) {
		w.Fatalf("%s, %v: %s", response.Status, err, text)
	}
	return applied.Results
}

// do carries out steps of which none may fail.
func (w *world) do(steps ...v1.Step) {
	w.Helper()
	for i, r := range w.results(steps...) {
		if r.Problem != nil {
			w.Fatalf("%s: %+v", steps[i].Op, *r.Problem)
		}
	}
}

func (w *world) seen() v1.Observed {
	w.Helper()
	_, text := w.send("GET", v1.PathLoadBalancer+"?key="+url.QueryEscape(key), "")
	var o v1.Observed
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		w.Fatal(err)
	}
	return o
}

// at is where a listener is reached.
func (w *world) at(port int32) string {
	w.Helper()
	o := w.seen()
	for _, m := range o.Address.Ports {
		if m.Listener == port {
			return net.JoinHostPort(o.Address.IPs[0], strconv.Itoa(int(m.ReachedAt)))
		}
	}
	w.Fatalf("port %d is not reached anywhere: %+v", port, o.Address)
	return ""
}

// ask sends a request as it stands, and returns the answer and its body.
func (w *world) ask(port int32, lines ...string) (*http.Response, string) {
	w.Helper()
	conn, err := net.Dial("tcp", w.at(port))
	if err != nil {
		w.Fatal(err)
	}
	return roundTrip(w.T, conn, lines...)
}

func roundTrip(t *testing.T, conn net.Conn, lines ...string) (*http.Response, string) {
	t.Helper()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, strings.Join(append(lines, "Connection: close", "", ""), "\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(newReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// target is a server that says its name, and what it was sent.
func target(t *testing.T, name string) v1.Target {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Forwarded", r.Header.Get("X-Forwarded-For")+" "+r.Header.Get("X-Forwarded-Proto")+" "+r.Header.Get("X-Forwarded-Port")+" "+r.Header.Get("X-Forwarded-Host"))
		fmt.Fprintf(w, "%s %s %s", name, r.Host, r.RequestURI)
	}))
	t.Cleanup(server.Close)
	return targetOf(server)
}

func targetOf(s *httptest.Server) v1.Target {
	at := s.Listener.Addr().(*net.TCPAddr)
	return v1.Target{Address: at.IP.String(), Port: int32(at.Port)}
}

func fixed(status int, body string) v1.Action {
	return v1.Action{Kind: "fixed", Fixed: &v1.Fixed{Status: status, ContentType: "text/plain", Body: body}}
}

func forward(targets ...v1.Weighted) v1.Action {
	return v1.Action{Kind: "forward", Forward: &v1.Forward{Targets: targets}}
}

// open makes a load balancer with a listener on port 80 that answers 404.
func (w *world) open() {
	w.Helper()
	w.do(v1.Step{Op: v1.CreateLoadBalancer, LoadBalancer: &v1.LoadBalancer{Settings: v1.Settings{Scheme: "internal"}}})
	w.do(v1.Step{Op: v1.CreateListener, Listener: &v1.Listener{Port: 80, Protocol: "HTTP", Default: v1.Action{Kind: "fixed", Fixed: &v1.Fixed{Status: 404}}}})
}

func group1(id string) v1.Step {
	return v1.Step{Op: v1.CreateTargetGroup, TargetGroup: &v1.TargetGroup{ID: id, Service: "team-a/" + id, Port: "80"}}
}

func register(id string, targets ...v1.Target) v1.Step {
	return v1.Step{Op: v1.RegisterTargets, TargetGroupID: id, Targets: targets}
}

// await waits until a target group is ready.
func (w *world) await(id string) {
	w.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r := w.results(v1.Step{Op: v1.AwaitTargets, TargetGroupID: id})[0]
		if r.Problem == nil {
			return
		}
		if r.Problem.Type != v1.ProblemPending || time.Now().After(deadline) {
			w.Fatalf("%+v", r.Problem)
		}
	}
}

func rule(priority int, a v1.Action, conditions ...v1.Condition) v1.Step {
	return v1.Step{Op: v1.CreateRule, Port: 80, Priority: priority, Rule: &v1.Rule{Conditions: conditions, Action: a}}
}

func on(field string, values ...string) v1.Condition {
	return v1.Condition{Field: field, Values: values}
}

// TestRulesAsSent compares requests as they are sent: dirty paths, letter case, ports in hosts.
func TestRulesAsSent(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	w.do(
		rule(50, fixed(200, "late"), on("path", "/*")),
		rule(10, fixed(200, "exact"), on("host", "Shop.example.com"), on("path", "/Cart")),
		rule(11, fixed(200, "dirty"), on("path", "/a//b/../c%2Fd")),
		rule(12, fixed(200, "label"), on("host", "*.wild.example"), on("path", "/*")),
		rule(13, fixed(200, "regex"), v1.Condition{Field: "path", Regex: []string{"/v[0-9]+"}}),
		rule(14, fixed(200, "{http.request.host}"), v1.Condition{Field: "header", Name: "x-Kind", Values: []string{"Be?A*"}}),
		rule(15, fixed(200, "query"), v1.Condition{Field: "query", Name: "Q", Values: []string{"y*s"}}),
		rule(16, fixed(200, "method"), on("method", "PURGE")),
		rule(17, fixed(200, "source"), on("source", "127.0.0.0/8"), on("path", "/from")),
		rule(18, fixed(200, "elsewhere"), on("source", "192.0.2.0/24")),
	)
	for _, c := range []struct{ first, host, header, want string }{
		{"GET /Cart HTTP/1.1", "shop.EXAMPLE.com:8080", "", "exact"},
		{"GET /cart HTTP/1.1", "shop.example.com", "", "late"},
		{"GET /Cart/ HTTP/1.1", "shop.example.com", "", "late"},
		{"GET /a//b/../c%2Fd HTTP/1.1", "x", "", "dirty"},
		{"GET /a/c%2fd HTTP/1.1", "x", "", "late"},
		{"GET /x HTTP/1.1", "a.wild.example", "", "label"},
		{"GET /x HTTP/1.1", "a.b.wild.example", "", "late"},
		{"GET /v12 HTTP/1.1", "x", "", "regex"},
		{"GET /v12/ HTTP/1.1", "x", "", "late"},
		{"GET /x HTTP/1.1", "x", "X-KIND: bELaX", "{http.request.host}"},
		{"GET /x HTTP/1.1", "x", "X-Kind: Gamma", "late"},
		{"GET /x?a=1&q=YES HTTP/1.1", "x", "", "query"},
		{"PURGE /x HTTP/1.1", "x", "", "method"},
		{"GET /from HTTP/1.1", "x", "", "source"},
	} {
		lines := []string{c.first, "Host: " + c.host}
		if c.header != "" {
			lines = append(lines, c.header)
		}
		if response, body := w.ask(80, lines...); response.StatusCode != http.StatusOK || body != c.want || response.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s at %s: %s %q, want %q", c.first, c.host, response.Status, body, c.want)
		}
	}
	w.do(v1.Step{Op: v1.RenumberRules, Port: 80, Priorities: []v1.Renumbered{{From: 50, To: 1}}})
	if _, body := w.ask(80, "GET /Cart HTTP/1.1", "Host: shop.example.com"); body != "late" {
		t.Errorf("after the numbers changed: %q", body)
	}
	r := w.seen().Listeners[0].Rules[0]
	w.do(v1.Step{Op: v1.DeleteRule, Port: 80, Priority: 1, Rule: &r.Rule})
	if response, body := w.ask(80, "GET /nothing HTTP/1.1", "Host: x"); response.StatusCode != http.StatusNotFound || body != "404 Not Found\n" {
		t.Errorf("the default action: %s %q", response.Status, body)
	}
}

func TestRedirect(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	to := func(r v1.Redirect) v1.Action { return v1.Action{Kind: "redirect", Redirect: &r} }
	w.do(
		rule(1, to(v1.Redirect{Status: 301, Scheme: "https", Port: "443"}), on("path", "/tls*")),
		rule(2, to(v1.Redirect{Status: 302, Host: "new.#{host}", Path: "/at/#{path}", Query: "was=#{port}&#{query}"}), on("path", "/new*")),
	)
	for path, want := range map[string]string{
		"/tls/%41?a=b":   "301 https://shop.example.com/tls/%41?a=b",
		"/new//x%2f?q=1": "302 http://new.shop.example.com/at/new//x%2f?was=80&q=1",
	} {
		response, body := w.ask(80, "GET "+path+" HTTP/1.1", "Host: Shop.example.com:99")
		if got := strconv.Itoa(response.StatusCode) + " " + response.Header.Get("Location"); got != want || body != "" {
			t.Errorf("%s: %q, want %q, body %q", path, got, want, body)
		}
	}
}

// TestWeights has groups of different sizes share requests by their weights, over changes of the
// configuration.
func TestWeights(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	w.do(group1("one"), group1("three"))
	w.do(register("one", target(t, "one")), register("three", target(t, "three"), target(t, "three"), target(t, "three")))
	w.await("one")
	w.do(rule(1, forward(v1.Weighted{TargetGroup: "one", Weight: 3}, v1.Weighted{TargetGroup: "three", Weight: 1}), on("path", "/*")))
	count := map[string]int{}
	for i := range 80 {
		if i%10 == 5 {
			w.do(rule(100+i, fixed(200, "else"), on("path", "/else")))
		}
		_, body := w.ask(80, "GET /x HTTP/1.1", "Host: shop.example.com")
		name, _, _ := strings.Cut(body, " ")
		count[name]++
	}
	if count["one"] != 60 || count["three"] != 20 {
		t.Errorf("%v, want 60 of one and 20 of three", count)
	}
	sticky := forward(v1.Weighted{TargetGroup: "one", Weight: 1}, v1.Weighted{TargetGroup: "three", Weight: 1})
	sticky.Forward.StickySeconds = 60
	w.do(v1.Step{Op: v1.ModifyRule, Port: 80, Priority: 1, Rule: &v1.Rule{Conditions: []v1.Condition{on("path", "/*")}, Action: sticky}})
	first, body := w.ask(80, "GET /x HTTP/1.1", "Host: x")
	cookie, _, _ := strings.Cut(first.Header.Get("Set-Cookie"), ";")
	for range 5 {
		if _, again := w.ask(80, "GET /x HTTP/1.1", "Host: x", "Cookie: "+cookie); again != body {
			t.Errorf("%q with the cookie %q of %q", again, cookie, body)
		}
	}
}

// TestForward looks at what a target is sent.
func TestForward(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	w.do(group1("web"), group1("empty"))
	w.do(register("web", target(t, "web")))
	rewritten := forward(v1.Weighted{TargetGroup: "web", Weight: 1})
	rewritten.Rewrite = &v1.Rewrite{URL: "^/api/(v[0-9])/([^?]*)", URLReplacement: "/$2/$10", Host: "^shop", HostReplacement: "store"}
	w.do(
		rule(1, rewritten, on("path", "/api/*")),
		rule(2, forward(v1.Weighted{TargetGroup: "empty", Weight: 1}), on("path", "/empty")),
		rule(3, forward(v1.Weighted{TargetGroup: "web"}), on("path", "/weightless")),
		rule(4, forward(v1.Weighted{TargetGroup: "web", Weight: 1}), on("path", "/*")),
	)
	for path, want := range map[string]string{
		"/a//b/../%7Eä[]?x=%20&y": "web Shop.example.com:99 /a//b/../%7Eä[]?x=%20&y",
		"//two":                   "web Shop.example.com:99 //two",
		"/api/v2/x%2fy?q=1":       "web Shop.example.com:99 /x%2fy/v20?q=1",
		"/empty":                  "503 Service Unavailable\n",
		"/weightless":             "503 Service Unavailable\n",
	} {
		response, body := w.ask(80, "GET "+path+" HTTP/1.1", "Host: Shop.example.com:99", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil")
		if body != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
		if response.Header.Get("Server") != "Caddy" {
			t.Errorf("%s: the answer is signed by %q", path, response.Header.Get("Server"))
		}
		if got := response.Header.Get("X-Forwarded"); response.StatusCode == http.StatusOK && got != "192.0.2.1, 127.0.0.1 http 80" {
			t.Errorf("%s: the target is told %q", path, got)
		}
	}
	if _, body := w.ask(80, "GET /api/v1/z HTTP/1.1", "Host: shop.example.com"); body != "web store.example.com /z/v10" {
		t.Errorf("rewritten: %q", body)
	}
}

// TestProtocolsOfTargets reaches targets over TLS without verifying them, and over HTTP/2.
func TestProtocolsOfTargets(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	for i, g := range []v1.TargetGroup{{Protocol: "HTTPS"}, {Protocol: "HTTPS", Version: "HTTP2"}, {Protocol: "HTTP", Version: "HTTP2"}, {Protocol: "HTTP", Version: "GRPC"}} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.Header().Set("Grpc-Status", "12")
			}
			fmt.Fprint(w, r.Proto, " ", r.Host, " ", r.RequestURI)
		}))
		want := "HTTP/1.1"
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(g.Version == "")
		if g.Version != "" {
			want = "HTTP/2.0"
			server.Config.Protocols.SetHTTP2(g.Protocol == "HTTPS")
			server.Config.Protocols.SetUnencryptedHTTP2(g.Protocol == "HTTP")
			server.EnableHTTP2 = true
		}
		if g.Protocol == "HTTPS" {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		g.ID, g.Service, g.Port, g.Settings.Health.Path = "g"+strconv.Itoa(i), "team-a/web", "443", "/healthz"
		w.do(v1.Step{Op: v1.CreateTargetGroup, TargetGroup: &g})
		w.do(register(g.ID, targetOf(server)))
		w.await(g.ID)
		path := "/" + g.ID + "//[x]"
		w.do(rule(i+1, forward(v1.Weighted{TargetGroup: g.ID, Weight: 1}), on("path", path)))
		if _, body := w.ask(80, "GET "+path+" HTTP/1.1", "Host: shop.example.com"); body != want+" shop.example.com "+path {
			t.Errorf("%+v: %q", g, body)
		}
	}
}

// TestHealth sends requests to targets that are healthy, and to all where none is.
func TestHealth(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	var status [2]atomic.Int32
	var targets []v1.Target
	for i := range status {
		status[i].Store(299)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				w.WriteHeader(int(status[i].Load()))
			}
			fmt.Fprint(w, i)
		}))
		t.Cleanup(server.Close)
		targets = append(targets, targetOf(server))
	}
	status[1].Store(500)
	w.do(v1.Step{Op: v1.CreateTargetGroup, TargetGroup: &v1.TargetGroup{ID: "web", Settings: v1.GroupSettings{Health: v1.HealthCheck{Path: "/healthz", SuccessCodes: "204,290-299"}}}})
	if p := w.results(v1.Step{Op: v1.AwaitTargets, TargetGroupID: "web"})[0].Problem; p == nil || p.Type != v1.ProblemPending {
		t.Errorf("awaiting the targets of an empty group: %+v", p)
	}
	w.do(register("web", targets...))
	w.do(rule(1, forward(v1.Weighted{TargetGroup: "web", Weight: 1}), on("path", "/*")))
	w.await("web")
	answers := func() string {
		seen := [2]bool{}
		for range 8 {
			_, body := w.ask(80, "GET / HTTP/1.1", "Host: x")
			seen[body[0]-'0'] = true
		}
		return fmt.Sprint(seen)
	}
	wait := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); answers() != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the answers are %s, want %s", answers(), want)
			}
		}
	}
	wait("[true false]")
	if o := w.seen(); !o.TargetGroups[0].Ready || !o.TargetGroups[0].Registered {
		t.Errorf("%+v", o.TargetGroups)
	}
	status[0].Store(404)
	wait("[true true]") // no target is healthy
	status[1].Store(204)
	wait("[false true]")
	_, text := w.send("GET", v1.PathTargets+"?group=web&key="+url.QueryEscape(key), "")
	if !strings.Contains(text, `"state":"unhealthy"`) || !strings.Contains(text, `"state":"healthy"`) {
		t.Error(text)
	}
}

// pairFor is a certificate for hosts.
func pairFor(t *testing.T, id string, hosts ...string) *v1.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: id}, DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	secret, err2 := x509.MarshalPKCS8PrivateKey(private)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return &v1.Certificate{
		ID: id, Hosts: hosts,
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
}

// shown is the name in the certificate that a port shows for a server name.
func (w *world) shown(port int32, name string) string {
	w.Helper()
	conn, err := tls.Dial("tcp", w.at(port), &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	defer conn.Close()
	if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
		w.Errorf("the protocol is %q", p)
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// TestCertificates has one for each name, and another listener's is never shown.
func TestCertificates(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	for _, c := range []*v1.Certificate{pairFor(t, "default", "default.example"), pairFor(t, "wild", "*.example.com"), pairFor(t, "shop", "shop.example.com"), pairFor(t, "other", "other.example", "shop.example.com")} {
		w.do(v1.Step{Op: v1.ImportCertificate, Certificate: c})
	}
	w.do(
		v1.Step{Op: v1.CreateListener, Listener: &v1.Listener{Port: 443, Protocol: "HTTPS", Certificates: []string{"default"}, Default: fixed(200, "secure")}},
		v1.Step{Op: v1.CreateListener, Listener: &v1.Listener{Port: 8443, Protocol: "HTTPS", Certificates: []string{"other"}, Default: fixed(200, "other")}},
	)
	w.do(v1.Step{Op: v1.AttachCertificate, Port: 443, CertificateID: "wild"}, v1.Step{Op: v1.AttachCertificate, Port: 443, CertificateID: "shop"})
	check := func(port int32, wants map[string]string) {
		t.Helper()
		for name, want := range wants {
			if got := w.shown(port, name); got != want {
				t.Errorf("port %d shows %q for %q, want %q", port, got, name, want)
			}
		}
	}
	check(443, map[string]string{"shop.example.com": "shop", "SHOP.example.com": "shop", "a.example.com": "wild", "a.b.example.com": "default", "other.example": "default", "": "default"})
	check(8443, map[string]string{"shop.example.com": "other", "a.example.com": "other", "": "other", "default.example": "other"})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	response, err := client.Get("https://" + w.at(443) + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	if p := w.results(v1.Step{Op: v1.DeleteCertificate, CertificateID: "shop"})[0].Problem; p == nil || p.Type != v1.ProblemPending {
		t.Errorf("deleting a certificate in use: %+v", p)
	}
	w.do(v1.Step{Op: v1.ReplaceCertificate, CertificateID: "shop", Certificate: pairFor(t, "newer", "shop.example.com")})
	w.do(v1.Step{Op: v1.DetachCertificate, Port: 443, CertificateID: "wild"})
	check(443, map[string]string{"shop.example.com": "newer", "a.example.com": "default"})
	if _, text := w.send("GET", v1.PathLoadBalancer+"?key="+url.QueryEscape(key), ""); strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "BEGIN CERT") {
		t.Error("a private key is reported")
	}
}

// TestRestart starts a provider with the state of another, and with none.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir)
	w.open()
	w.do(group1("web"))
	w.do(register("web", target(t, "web")))
	w.await("web")
	w.do(rule(1, forward(v1.Weighted{TargetGroup: "web", Weight: 1}), on("path", "/*")))
	before, at := w.seen(), w.at(80)
	if info, err := os.Stat(filepath.Join(dir, "state.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state file: %v, %v", info, err)
	}
	w.stop()
	if _, err := w.caddy.call("POST", "/config/apps", []byte("{}")); err != nil { // Caddy has forgotten all, too
		t.Fatal(err)
	}
	again := newWorld(t, dir)
	again.await("web")
	if one, two := asText(t, before), asText(t, again.seen()); one != two {
		t.Errorf("before %s\nafter  %s", one, two)
	}
	if _, body := again.ask(80, "GET /x HTTP/1.1", "Host: x"); body != "web x /x" || again.at(80) != at {
		t.Errorf("%q at %s, was at %s", body, again.at(80), at)
	}
	again.stop()
	if empty := newWorld(t, t.TempDir()).seen(); empty.Exists || len(empty.TargetGroups) > 0 {
		t.Errorf("with an empty directory there is %+v", empty)
	}
}

func asText(t *testing.T, message any) string {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReloadsUnderLoad changes rules and members while clients ask. No request may fail, and slow
// ones come to their end.
func TestReloadsUnderLoad(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	a, b := target(t, "a"), target(t, "b")
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for range 20 {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	}))
	defer slow.Close()
	w.do(group1("web"), group1("slow"))
	w.do(register("web", a), register("slow", targetOf(slow)))
	w.await("web")
	w.do(rule(10, forward(v1.Weighted{TargetGroup: "slow", Weight: 1}), on("path", "/slow")), rule(11, forward(v1.Weighted{TargetGroup: "web", Weight: 1}), on("path", "/*")))
	at := "http://" + w.at(80)
	done, asked := make(chan struct{}), atomic.Int32{}
	var all sync.WaitGroup
	ask := func(c *http.Client, method, path, want string) {
		request, err := http.NewRequest(method, at+path, strings.NewReader("a body"))
		if err != nil {
			t.Error(err)
			return
		}
		request.GetBody = nil // a client that cannot send it again
		response, err := c.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %q, %v", path, response.Status, body, err)
		}
		asked.Add(1)
	}
	for i := range 4 {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}}
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					ask(c, []string{"POST", "GET"}[i/2], "/x", "/x")
				}
			}
		})
	}
	all.Go(func() { ask(http.DefaultClient, "GET", "/slow", strings.Repeat("x", 20)) })
	for i := range 30 {
		body := asText(t, v1.TargetList{Targets: []v1.TargetHealth{{Address: a.Address, Port: a.Port}, {Address: b.Address, Port: b.Port}}[i%2 : i%2+1]})
		if response, text := w.send("PUT", v1.PathTargets+"?group=web&key="+url.QueryEscape(key), body); response.StatusCode != http.StatusNoContent {
			t.Fatalf("%s %s", response.Status, text)
		}
		w.do(rule(100+i, fixed(200, "else"), on("path", "/else/"+strconv.Itoa(i))))
	}
	close(done)
	all.Wait()
	t.Logf("%d requests", asked.Load())
}

// TestCalls has calls that Caddy cannot answer. What the kit refuses is tested there.
func TestCalls(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for _, c := range []struct {
		method, path, body string
		status             int
		kind               v1.ProblemType
		says               string
	}{
		{"POST", v1.PathSteps + "?key=k", `{"steps":[{"id":"a","step":{"op":"createLoadBalancer","loadBalancer":{"settings":{"provider":{"x":[1]}}}}}]}`, 422, v1.ProblemUnknown, "provider"},
		{"GET", v1.PathTargets + "?key=k&group=g", "", 500, v1.ProblemOther, "no target group g"},
		{"PUT", v1.PathTargets + "?key=k&group=g", `{"targets":[]}`, 500, v1.ProblemOther, "no target group g"},
	} {
		response, text := w.send(c.method, c.path, c.body)
		var p v1.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || response.StatusCode != c.status || p.Type != c.kind || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s %.100s: %s %.200s", c.method, c.path, c.body, response.Status, text)
		}
	}
}

// TestRejected refuses by name what Caddy cannot do, and lets the other steps of the request be.
func TestRejected(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.open()
	auth := fixed(200, "x")
	auth.Auth = &v1.Auth{Kind: "jwt"}
	steps := []v1.Step{
		rule(1, auth, on("path", "/a")),
		rule(2, fixed(200, "x"), v1.Condition{Field: "path", Regex: []string{"("}}),
		rule(3, fixed(200, "x"), v1.Condition{Field: "header", Name: "x_y", Values: []string{"z"}}),
		{Op: v1.CreateListener, Listener: &v1.Listener{Port: 81, Protocol: "HTTP", Default: fixed(404, ""), Settings: v1.ListenerSettings{Inbound: []string{"10.0.0.0/8"}}}},
		{Op: v1.SetShield, Shield: "on"},
		rule(4, fixed(200, "good"), on("path", "/good")),
	}
	for i, r := range w.results(steps...) {
		if last := i == len(steps)-1; (r.Problem == nil) != last || !last && r.Problem.Type != v1.ProblemRejected {
			t.Errorf("%s: %+v", steps[i].Op, r.Problem)
		}
	}
	if _, body := w.ask(80, "GET /good HTTP/1.1", "Host: x"); body != "good" {
		t.Errorf("the step that can be carried out: %q", body)
	}
}

// TestAddresses gives each load balancer an address of its own where there are several, and one to
// all where there is one. A port is one load balancer's at an address.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"127.0.0.1":    {"127.0.0.1", "127.0.0.1", "127.0.0.1"},
		"127.0.0.5/30": {"127.0.0.5", "127.0.0.6", "127.0.0.7", ""},
		"::1":          {"::1", "::1"},
	} {
		network, err := networkOf(text)
		if err != nil {
			t.Fatal(err)
		}
		p := &provider{network: network, realPorts: true, state: state{Balancers: map[string]*balancer{}}}
		used := map[string]bool{}
		for i, address := range want {
			got, problem := p.freeAddress()
			if got != address || (problem != nil) != (address == "") {
				t.Errorf("%s: the address %d is %s (%+v), want %s", text, i, got, problem, address)
			}
			if at, problem := p.open(got, 80); (at == 80) == used[got] || (problem != nil) != used[got] {
				t.Errorf("%s: port 80 of %s is %d (%+v)", text, got, at, problem)
			}
			used[got] = true
			p.state.Balancers[strconv.Itoa(i)] = &balancer{Address: got, Listeners: map[int32]*listener{80: {}}}
		}
	}
	if _, err := networkOf("here"); err == nil {
		t.Error("what is no address is taken for one")
	}
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// Caddy resets connections that are made while it opens its API anew.
func TestACallThatIsResetIsRepeated(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAdmin("unix/" + socket)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { calls++ })}
	go func() {
		first, err := listener.Accept()
		if err == nil {
			first.Close() // with a request that was not read, which is a reset
		}
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Close() })
	if _, err := a.call(http.MethodPost, "/config/apps", make([]byte, 1<<16)); err != nil || calls != 1 {
		t.Errorf("the call ends with %v, after %d calls", err, calls)
	}
}

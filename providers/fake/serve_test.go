package fake_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
)

func serve(t testing.TB) *fake.Cloud {
	return start(t, fake.Options{Serve: true, CheckEvery: 2 * time.Millisecond})
}

// The data plane knows rules only: what it answers is what the first matching rule says.
func TestServeFollowsTheRules(t *testing.T) {
	o := program(t, serve(t), loadBalancer(shop,
		[]lb.TargetGroup{group("web", backend(t, "web")), group("api", backend(t, "api")), group("late")},
		http80(
			rule("shop.example.com /api/*", forward("api")),
			rule("shop.example.com /a%2Fb", forward("api")),
			rule(`shop.example.com /a"b`, forward("api")),
			rule("shop.example.com /old", redirect(routing.Redirect{Status: 301, Scheme: "https", Port: "443"})),
			rule("shop.example.com /gone", fixed(410)),
			rule("shop.example.com /late", forward("late")),
			rule("shop.example.com -", forward("web")),
			rule("*.example.com -", forward("api")),
		)))
	for name, c := range map[string]struct {
		host, path string
		status     int
		from       string
		location   string
	}{
		"the first rule that matches":           {"shop.example.com", "/api/x", 200, "api", ""},
		"a query is not part of the path":       {"shop.example.com", "/api/?x=1", 200, "api", ""},
		"a later rule":                          {"shop.example.com", "/", 200, "web", ""},
		"hosts match in any case":               {"SHOP.Example.com", "/api/x", 200, "api", ""},
		"the port of the Host header is not it": {"shop.example.com:8080", "/api/x", 200, "api", ""},
		"paths match as they are encoded":       {"shop.example.com", "/a%2Fb", 200, "api", ""},
		"and are not decoded":                   {"shop.example.com", "/a/b", 200, "web", ""},
		"nor are they encoded":                  {"shop.example.com", `/a"b`, 200, "api", ""},
		"nor tidied up":                         {"shop.example.com", "/x/../api/x", 200, "web", ""},
		"nor their slashes merged":              {"shop.example.com", "//api/x", 200, "web", ""},
		"a URL in the request line":             {"shop.example.com", "http://shop.example.com/api/x", 200, "api", ""},
		"a wildcard for one label":              {"www.example.com", "/", 200, "api", ""},
		"not for two":                           {"a.b.example.com", "/", 404, "404 Not Found", ""},
		"a redirect keeps what it does not say": {"shop.example.com", "/old?x=1&y=%20", 301, "", "https://shop.example.com/old?x=1&y=%20"},
		"a fixed response":                      {"shop.example.com", "/gone", 410, "410 Gone", ""},
		"a group without targets":               {"shop.example.com", "/late", 503, "503 Service Unavailable", ""},
		"the default":                           {"example.org", "/", 404, "404 Not Found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(t, o, c.host, c.path)
			if got.status != c.status || got.from != c.from || got.header.Get("Location") != c.location {
				t.Errorf("%s%s: %d from %q, location %q; want %d from %q, location %q", c.host, c.path,
					got.status, got.from, got.header.Get("Location"), c.status, c.from, c.location)
			}
			if got.header.Get("Server") != "fairlead" || len(got.header["Server"]) != 1 {
				t.Errorf("Server: %q", got.header["Server"])
			}
		})
	}
}

// Whatever else a rule looks at is that of the request on the wire.
func TestServeLooksAtAllOfTheRequest(t *testing.T) {
	under := func(field, name string, values ...string) lb.Rule {
		return lb.Rule{Conditions: []lb.Condition{{Field: field, Name: name, Values: values}}, Action: fixed(200)}
	}
	for name, c := range map[string]struct {
		rule    lb.Rule
		request []string
		status  int
	}{
		"a header":              {under("header", "x-canary", "al*"), []string{"GET / HTTP/1.1", "Host: a", "X-CANARY: Always"}, 200},
		"one of several":        {under("header", "x-canary", "b"), []string{"GET / HTTP/1.1", "Host: a", "X-Canary: a", "X-Canary: b"}, 200},
		"another value":         {under("header", "x-canary", "al*"), []string{"GET / HTTP/1.1", "Host: a", "X-Canary: never"}, 404},
		"no header":             {under("header", "x-canary", "*"), []string{"GET / HTTP/1.1", "Host: a"}, 404},
		"a parameter":           {under("query", "v", "2"), []string{"GET /?v=1&V=2 HTTP/1.1", "Host: a"}, 200},
		"another parameter":     {under("query", "v", "2"), []string{"GET /?w=2 HTTP/1.1", "Host: a"}, 404},
		"a method":              {under("method", "", "PUT", "POST"), []string{"POST / HTTP/1.1", "Host: a", "Content-Length: 0"}, 200},
		"another method":        {under("method", "", "PUT", "POST"), []string{"GET / HTTP/1.1", "Host: a"}, 404},
		"where it comes from":   {under("source", "", "10.0.0.0/8", "127.0.0.0/8"), []string{"GET / HTTP/1.1", "Host: a"}, 200},
		"not what a proxy says": {under("source", "", "10.0.0.0/8"), []string{"GET / HTTP/1.1", "Host: a", "X-Forwarded-For: 10.0.0.1"}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			o := program(t, serve(t), loadBalancer(shop, nil, http80(c.rule)))
			if got := ask(t, dial(t, at(o, 80)), c.request...); got.status != c.status {
				t.Errorf("%q: %d, want %d", c.request, got.status, c.status)
			}
		})
	}
}

// What a client sent is what the target gets, and besides whom it came from.
func TestForwardKeepsTheRequest(t *testing.T) {
	o := program(t, serve(t), loadBalancer(shop, []lb.TargetGroup{group("web", backend(t, "web"))}, http80(rule("- -", forward("web")))))
	for name, c := range map[string]struct {
		request []string
		want    []string
		not     []string
	}{
		"host, path and query as they are spelt": {
			request: []string{`PUT /a%2Fb/"c"?q=1;2&e=%zz HTTP/1.1`, "Host: Shop.Example.com:8080", "Content-Length: 0"},
			want:    []string{`PUT /a%2Fb/"c"?q=1;2&e=%zz`, "Host: Shop.Example.com:8080"},
		},
		"the client's own name": {
			request: []string{"GET / HTTP/1.1", "Host: a", "User-Agent: somebody/1"},
			want:    []string{"User-Agent: somebody/1"},
		},
		"no name of the load balancer's": {
			request: []string{"GET / HTTP/1.1", "Host: a"},
			not:     []string{"User-Agent:", "Accept-Encoding:"},
		},
		"where it comes from": {
			request: []string{"GET / HTTP/1.1", "Host: a"},
			want:    []string{"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Port: 80"},
		},
		"behind another proxy": {
			request: []string{"GET / HTTP/1.1", "Host: a", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Port: 1"},
			want:    []string{"X-Forwarded-For: 192.0.2.1, 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Port: 80"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, dial(t, at(o, 80)), c.request...)
			for _, want := range c.want {
				if !strings.Contains(strings.ReplaceAll(got.body, "\r", ""), want+"\n") {
					t.Errorf("no %q in\n%s", want, got.body)
				}
			}
			for _, not := range c.not {
				if strings.Contains(got.body, not) {
					t.Errorf("%q in\n%s", not, got.body)
				}
			}
		})
	}
}

// What a rule rewrites is what the target gets.
func TestForwardRewrites(t *testing.T) {
	rewriting := func(r routing.Rewrite) lb.Action {
		return lb.FromRouting(routing.Action{Forward: routing.To("web").Forward, Rewrite: &r})
	}
	o := program(t, serve(t), loadBalancer(shop, []lb.TargetGroup{group("web", backend(t, "web"))}, http80(
		rule("- /api/*", rewriting(routing.Rewrite{URL: `^/api/([^?]*)\??(.*)$`, URLReplacement: "/$1?in=api&$2"})),
		rule("- -", rewriting(routing.Rewrite{Host: `^.*$`, HostReplacement: "inside.example.com"})),
	)))
	for request, want := range map[string]string{
		"/api/a%2Fb?x=%zz": "GET /a%2Fb?in=api&x=%zz\nHost: a",
		"/other?x=1":       "GET /other?x=1\nHost: inside.example.com",
	} {
		got := ask(t, dial(t, at(o, 80)), "GET "+request+" HTTP/1.1", "Host: a")
		if body := strings.ReplaceAll(got.body, "\r", ""); !strings.Contains(body, want+"\n") {
			t.Errorf("%s: no %q in\n%s", request, want, body)
		}
	}
}

// A client stays with the group that answered it first, as long as the rule has it.
func TestForwardSticks(t *testing.T) {
	sticky := func(weighted ...any) lb.Action {
		a := forward(weighted...)
		a.StickySeconds = 60
		return a
	}
	groups := []lb.TargetGroup{group("web", backend(t, "web")), group("next", backend(t, "next"))}
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, groups, http80(rule("- -", sticky("web", 1, "next", 1)))))
	first := ask(t, dial(t, at(o, 80)), "GET / HTTP/1.1", "Host: a")
	cookie, _, _ := strings.Cut(first.header.Get("Set-Cookie"), ";")
	for range 4 {
		if got := ask(t, dial(t, at(o, 80)), "GET / HTTP/1.1", "Host: a", "Cookie: "+cookie); got.from != first.from {
			t.Errorf("%s answered first, and then %s", first.from, got.from)
		}
	}
	seen := map[string]bool{}
	for range 4 {
		seen[ask(t, dial(t, at(o, 80)), "GET / HTTP/1.1", "Host: a", "Cookie: FAIRLEADTG=nonsense").from] = true
	}
	if len(seen) != 2 {
		t.Errorf("clients without a place are answered by %v", seen)
	}
	other := map[string]string{"web": "next", "next": "web"}[first.from]
	o = program(t, cloud, loadBalancer(shop, groups, http80(rule("- -", sticky(first.from, 0, other, 1)))))
	if got := ask(t, dial(t, at(o, 80)), "GET / HTTP/1.1", "Host: a", "Cookie: "+cookie); got.from != other {
		t.Errorf("a group without weight still answers its clients: %s", got.from)
	}
}

func TestForwardTakesTurns(t *testing.T) {
	one, two, other := backend(t, "one"), backend(t, "two"), backend(t, "other")
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web", one, two), group("next", other)}, http80(
		rule("even.example.com -", forward("web")),
		rule("split.example.com -", forward("web", 3, "next", 1)),
		rule("off.example.com -", forward("web", 0, "next", 1)),
		rule("none.example.com -", forward("web", 0, "next", 0)),
	)))
	everyone(t, cloud, "web", "healthy", "healthy")
	for host, want := range map[string]map[string]int{
		"even.example.com":  {"one": 6, "two": 6},
		"split.example.com": {"one": 5, "two": 4, "other": 3}, // of web's nine, one takes the odd turn
		"off.example.com":   {"other": 12},
		"none.example.com":  {"503 Service Unavailable": 12},
	} {
		got := map[string]int{}
		for range 12 {
			got[get(t, o, host, "/").from]++
		}
		if host == "split.example.com" && got["one"] < got["two"] {
			got["one"], got["two"] = got["two"], got["one"] // who is first depends on what was asked before
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", host, diff)
		}
	}
}

// everyone waits until the targets of a group are in the states given, in the group's order.
func everyone(t *testing.T, cloud *fake.Cloud, id lb.GroupID, want ...string) {
	t.Helper()
	eventually(t, func() error {
		healths, err := cloud.Targets(t.Context(), shop, id)
		var got []string
		for _, h := range healths {
			got = append(got, string(h.State))
		}
		if err == nil && !cmp.Equal(want, got) {
			return fmt.Errorf("targets of %s are %v, want %v", id, got, want)
		}
		return err
	})
}

func TestForwardAvoidsUnhealthyTargets(t *testing.T) {
	var ill atomic.Bool
	good := backend(t, "good")
	bad := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" && ill.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "bad\n")
	}))
	web := group("web", good, bad)
	web.Health = routing.HealthCheck{Path: "/health", SuccessCodes: "200-204,302"}
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web}, http80(rule("- -", forward("web")))))
	answers := func() map[string]bool {
		got := map[string]bool{}
		for range 4 {
			got[get(t, o, "a", "/").from] = true
		}
		return got
	}

	everyone(t, cloud, "web", "healthy", "healthy")
	if diff := cmp.Diff(map[string]bool{"good": true, "bad": true}, answers()); diff != "" {
		t.Errorf("both healthy (-want +got):\n%s", diff)
	}
	ill.Store(true)
	everyone(t, cloud, "web", states(good, bad, "healthy", "unhealthy")...)
	if diff := cmp.Diff(map[string]bool{"good": true}, answers()); diff != "" {
		t.Errorf("one ill (-want +got):\n%s", diff)
	}
	if err := cloud.SetTargets(t.Context(), shop, "web", []lb.Target{bad}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"bad": true}, answers()); diff != "" {
		t.Errorf("none healthy: all get requests (-want +got):\n%s", diff)
	}
	ill.Store(false)
	everyone(t, cloud, "web", "healthy")
	if err := cloud.SetTargets(t.Context(), shop, "web", nil); err != nil {
		t.Fatal(err)
	}
	if got := get(t, o, "a", "/"); got.status != 503 {
		t.Errorf("no targets: %d", got.status)
	}
}

// states are of two targets in the order of their group.
func states(a, b lb.Target, ofA, ofB string) []string {
	if a.Port > b.Port {
		return []string{ofB, ofA}
	}
	return []string{ofA, ofB}
}

// Targets are spoken to in their own protocol.
func TestForwardInTheTargetsProtocol(t *testing.T) {
	says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Grpc-Status", "12") // what is asked for its health has no such method
		fmt.Fprintln(w, r.Proto, r.TLS != nil)
	})
	for name, c := range map[string]struct {
		protocol, version string
		want              string
	}{
		"HTTP":           {"HTTP", "HTTP1", "HTTP/1.1 false"},
		"HTTPS":          {"HTTPS", "HTTP1", "HTTP/1.1 true"},
		"HTTP/2":         {"HTTP", "HTTP2", "HTTP/2.0 false"},
		"HTTP/2 and TLS": {"HTTPS", "HTTP2", "HTTP/2.0 true"},
		"gRPC":           {"HTTP", "GRPC", "HTTP/2.0 false"},
	} {
		t.Run(name, func(t *testing.T) {
			upstream := httptest.NewUnstartedServer(says)
			upstream.EnableHTTP2 = true
			upstream.Config.Protocols = new(http.Protocols)
			upstream.Config.Protocols.SetHTTP1(true)
			upstream.Config.Protocols.SetHTTP2(true)
			upstream.Config.Protocols.SetUnencryptedHTTP2(true)
			if c.protocol == "HTTPS" {
				upstream.StartTLS()
			} else {
				upstream.Start()
			}
			t.Cleanup(upstream.Close)
			web := group("web", target(t, upstream.Listener.Addr()))
			web.Protocol, web.Version = routing.Protocol(c.protocol), routing.Version(c.version)
			web.Health = routing.HealthCheck{Path: "/"} // checked in the same protocol
			cloud := serve(t)
			o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web}, http80(rule("- -", forward("web")))))
			everyone(t, cloud, "web", "healthy")
			if got := get(t, o, "a", "/"); got.from != c.want {
				t.Errorf("%d %s, want %s", got.status, got.from, c.want)
			}
		})
	}
}

// A connection that changes its protocol passes through.
func TestForwardUpgrades(t *testing.T) {
	echo := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, err := stream.ReadString('\n')
		fmt.Fprint(stream, "heard "+line)
		if err := errors.Join(err, stream.Flush()); err != nil {
			t.Error(err)
		}
	}))
	o := program(t, serve(t), loadBalancer(shop, []lb.TargetGroup{group("web", echo)}, http80(rule("- -", forward("web")))))
	conn := dial(t, at(o, 80))
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	stream := bufio.NewReader(conn)
	if response, err := http.ReadResponse(stream, nil); err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("error %v, response %v", err, response)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := stream.ReadString('\n'); line != "heard hello\n" {
		t.Errorf("error %v, answer %q", err, line)
	}
}

func TestForwardToATargetThatIsGone(t *testing.T) {
	cloud := serve(t)
	key := lb.Observed{Key: shop}
	web := group("web", nobody(t))
	for _, step := range []plan.Step{
		plan.CreateTargetGroup{Group: web},
		plan.RegisterTargets{Group: "web", Targets: web.Targets},
	} {
		if _, err := cloud.Apply(t.Context(), &key, step); err != nil {
			t.Fatal(err)
		}
	}
	everyone(t, cloud, "web", "unhealthy")
	if _, err := cloud.Apply(t.Context(), &key, plan.AwaitTargets{Group: "web"}); !errors.Is(err, providers.ErrPending) {
		t.Errorf("awaiting it: %v", err)
	}
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web}, http80(rule("- -", forward("web")))))
	if got := get(t, o, "a", "/"); got.status != 502 || got.header.Get("Server") != "fairlead" {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// SNI picks the certificate, and the Host header the rule.
func TestServeTLS(t *testing.T) {
	cloud := serve(t)
	want := loadBalancer(shop, []lb.TargetGroup{group("web", backend(t, "web")), group("api", backend(t, "api"))},
		https443([]lb.CertificateID{"fake:shop.example.com", "fake:*.example.com", "sha256:0001"},
			rule("shop.example.com -", forward("web")), rule("- -", forward("api"))))
	want.Certificates = []lb.Certificate{imported(t, "sha256:0001", "www.example.com")}
	o := program(t, cloud, want)

	roots, err := cloud.Roots()
	if err != nil {
		t.Fatal(err)
	}
	trusted, trusting := &tls.Config{RootCAs: roots}, &tls.Config{InsecureSkipVerify: true}
	for name, c := range map[string]struct {
		sni   string
		trust *tls.Config
		want  string
	}{
		"the certificate of the name":         {"shop.example.com", trusted, "shop.example.com"},
		"one that was imported":               {"www.example.com", trusting, "www.example.com"},
		"the wildcard above the name":         {"other.example.com", trusted, "*.example.com"},
		"names are compared in any case":      {"WWW.example.com", trusting, "www.example.com"},
		"a wildcard stands for one label":     {"a.b.example.com", trusting, "shop.example.com"},
		"the default for any other name":      {"example.org", trusting, "shop.example.com"},
		"the default for a client without it": {"", trusting, "shop.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, names := dialTLS(t, at(o, 443), c.sni, c.trust)
			if diff := cmp.Diff([]string{c.want}, names); diff != "" {
				t.Errorf("certificate (-want +got):\n%s", diff)
			}
			got := ask(t, conn, "GET / HTTP/1.1", "Host: shop.example.com")
			if got.from != "web" || !strings.Contains(got.body, "X-Forwarded-Proto: https\r\nX-Forwarded-Port: 443") &&
				!strings.Contains(got.body, "X-Forwarded-Port: 443\r\nX-Forwarded-Proto: https") {
				t.Errorf("answer %s", got.body)
			}
		})
	}
}

// A port answers in the protocol that its listener has now.
func TestServeChangesProtocol(t *testing.T) {
	cloud := serve(t)
	program(t, cloud, loadBalancer(shop, nil, http80()))
	secure := https443([]lb.CertificateID{"fake:shop.example.com"})
	secure.Port = 80
	o := program(t, cloud, loadBalancer(shop, nil, secure))
	conn, _ := dialTLS(t, at(o, 80), "shop.example.com", &tls.Config{InsecureSkipVerify: true})
	if got := ask(t, conn, "GET / HTTP/1.1", "Host: shop.example.com"); got.status != 404 {
		t.Errorf("HTTPS: %d", got.status)
	}
	o = program(t, cloud, loadBalancer(shop, nil, http80()))
	if got := get(t, o, "shop.example.com", "/"); got.status != 404 {
		t.Errorf("HTTP: %d", got.status)
	}
}

// Each load balancer has an address of its own, so that each can have its ports.
func TestServeAtAddresses(t *testing.T) {
	cloud := serve(t)
	one := program(t, cloud, loadBalancer("fairlead/a/one/internal", nil, http80(rule("- -", fixed(201)))))
	two := program(t, cloud, loadBalancer("fairlead/a/two/internal=Shop-2", nil, http80(rule("- -", fixed(202)))))
	if !strings.HasPrefix(two.Address.Hostname, "shop-2-") {
		t.Errorf("a load balancer with a name of its own is at %s", two.Address.Hostname)
	}
	if one.Address.IPs[0] == two.Address.IPs[0] || one.Address.Hostname == two.Address.Hostname {
		t.Fatalf("one at %+v, two at %+v", one.Address, two.Address)
	}
	if a, b := get(t, one, "a", "/").status, get(t, two, "a", "/").status; a != 201 || b != 202 {
		t.Errorf("one answers %d, two %d", a, b)
	}
}

// Where somebody else has the port, another is opened and reported; rules see the listener's own.
func TestServeAtAnotherPort(t *testing.T) {
	ip := program(t, serve(t), loadBalancer(shop, nil, http80())).Address.IPs[0]
	taken, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := target(t, taken.Addr()).Port
	l := http80(rule("- -", redirect(routing.Redirect{Status: 302, Path: "/there"})))
	l.Port = port
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, nil, l))
	if o.Address.Ports[port] == 0 {
		t.Fatalf("address %+v", o.Address)
	}
	got := ask(t, dial(t, at(o, port)), "GET /here HTTP/1.1", "Host: shop.example.com")
	if want := fmt.Sprintf("http://shop.example.com:%d/there", port); got.header.Get("Location") != want {
		t.Errorf("location %q, want %q", got.header.Get("Location"), want)
	}
	if o = program(t, cloud, lb.LoadBalancer{Key: shop}); o.Address.Ports != nil {
		t.Errorf("after the load balancer is gone: %+v", o.Address)
	}
}

// A change is served once its step is done, and a port that is closed refuses.
func TestServeChanges(t *testing.T) {
	cloud := serve(t)
	web := []lb.TargetGroup{group("web", backend(t, "web"))}
	o := program(t, cloud, loadBalancer(shop, web, http80(rule("- -", forward("web")))))
	if got := get(t, o, "a", "/x"); got.from != "web" {
		t.Errorf("before: %s", got.from)
	}
	address := at(o, 80)
	o = program(t, cloud, loadBalancer(shop, web, http80(rule("- /x", fixed(410)), rule("- -", forward("web")))))
	if got := get(t, o, "a", "/x"); got.status != 410 {
		t.Errorf("after: %d", got.status)
	}
	program(t, cloud, lb.LoadBalancer{Key: shop})
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// A cloud needs time to get to know a target; until then it has nobody to ask.
func TestNewTargetsWarmUp(t *testing.T) {
	const warmUp = 300 * time.Millisecond
	cloud := start(t, fake.Options{Serve: true, CheckEvery: 2 * time.Millisecond, WarmUp: warmUp})
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web")}, http80(rule("shop.example.com -", forward("web")))))
	began := time.Now()
	if err := cloud.SetTargets(t.Context(), shop, "web", []lb.Target{backend(t, "web")}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, o, "shop.example.com", "/"); got.status != http.StatusServiceUnavailable {
		t.Errorf("answered %d at once", got.status)
	}
	everyone(t, cloud, "web", "healthy")
	if took := time.Since(began); took < warmUp {
		t.Errorf("healthy after %s", took)
	}
	if got := get(t, o, "shop.example.com", "/"); got.status != http.StatusOK || got.from != "web" {
		t.Errorf("answered %d by %q once it is healthy", got.status, got.from)
	}
}

// Rules forward to target groups that others made, as far as there are any.
func TestServeForwardsToGroupsOfOthers(t *testing.T) {
	const vms = "arn:fake:targetgroup/vms"
	cloud := start(t, fake.Options{Serve: true, TargetGroups: map[lb.GroupID][]lb.Target{vms: {backend(t, "vms")}}})
	if !cloud.Capabilities(lb.Class{}).OtherTargetGroups || serve(t).Capabilities(lb.Class{}).OtherTargetGroups {
		t.Error("the capability is not that of the groups")
	}
	o := program(t, cloud, loadBalancer(shop, nil, http80(rule("shop.example.com -", forward(vms)))))
	if got := get(t, o, "shop.example.com", "/"); got.status != 200 || got.from != "vms" {
		t.Errorf("%d from %q", got.status, got.from)
	}
	expect(t, cloud, shop, plan.CreateRule{Port: 80, Priority: 1, Rule: lb.Rule{Action: forward("arn:fake:targetgroup/none")}}, "rejected", "no target group arn:fake:targetgroup/none: rejected")
}

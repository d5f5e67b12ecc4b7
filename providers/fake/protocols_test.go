package fake_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/fake"
)

// This file is what passes through a load balancer besides a request with a short answer.

// A client speaks one version of HTTP to one port of a load balancer, whatever the URL's host is,
// and follows no redirects.
func client(t testing.TB, cloud *fake.Cloud, o *lb.Observed, port int32, version string) *http.Client {
	t.Helper()
	roots, err := cloud.Roots()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, at(o, port))
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		Protocols:           new(http.Protocols),
		MaxIdleConnsPerHost: 64,
	}
	transport.Protocols.SetHTTP1(version == "HTTP/1.1")
	transport.Protocols.SetHTTP2(version == "HTTP/2.0")
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// speaking is a target that speaks HTTP/1.1 and, without TLS, HTTP/2.
func speaking(t *testing.T, h http.Handler) lb.Target {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return target(t, s.Listener.Addr())
}

// secured is a load balancer that serves shop.example.com on both ports from one group.
func secured(t testing.TB, cloud *fake.Cloud, version routing.Version, targets ...lb.Target) *lb.Observed {
	web := group("web", targets...)
	web.Version = version
	return program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web},
		http80(rule("shop.example.com -", forward("web"))),
		https443([]lb.CertificateID{"fake:shop.example.com"}, rule("shop.example.com -", forward("web")))))
}

// Clients choose between HTTP/1.1 and HTTP/2 on a port with TLS; targets get what their group says.
func TestHTTP2(t *testing.T) {
	says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s", r.Proto, r.Host, r.RequestURI, r.Header.Get("X-Forwarded-Proto"))
	})
	for name, c := range map[string]struct{ client, group, want string }{
		"HTTP/2 to HTTP/1.1": {"HTTP/2.0", "HTTP1", "HTTP/1.1 shop.example.com /a%2Fb?q=1 https"},
		"HTTP/2 to HTTP/2":   {"HTTP/2.0", "HTTP2", "HTTP/2.0 shop.example.com /a%2Fb?q=1 https"},
		"HTTP/1.1 to HTTP/2": {"HTTP/1.1", "HTTP2", "HTTP/2.0 shop.example.com /a%2Fb?q=1 https"},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := serve(t)
			o := secured(t, cloud, routing.Version(c.group), speaking(t, says))
			response, err := client(t, cloud, o, 443, c.client).Get("https://shop.example.com/a%2Fb?q=1")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || string(body) != c.want || response.Proto != c.client {
				t.Errorf("error %v, over %s: %q, want %q", err, response.Proto, body, c.want)
			}
			if got := response.Header["Server"]; !cmp.Equal(got, []string{"fairlead"}) {
				t.Errorf("Server: %q", got)
			}
		})
	}
}

// A remote procedure call that streams both ways ends with a status in trailers.
func TestCallsWithTrailers(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			fmt.Fprintf(w, "heard %s\n", lines.Text())
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", r.Header.Get("Te")+" "+r.Trailer.Get("Checksum"))
	})
	cloud := serve(t)
	o := secured(t, cloud, "GRPC", speaking(t, echo))
	body, words := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://shop.example.com/echo.Echo/Talk", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Te", "trailers")
	request.Trailer = http.Header{"Checksum": nil}
	response, err := client(t, cloud, o, 443, "HTTP/2.0").Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answers := bufio.NewReader(response.Body)
	for _, word := range []string{"one", "two"} {
		fmt.Fprintln(words, word)
		if got, err := answers.ReadString('\n'); got != "heard "+word+"\n" {
			t.Fatalf("error %v, answer %q", err, got)
		}
	}
	request.Trailer.Set("Checksum", "abc")
	words.Close()
	if rest, err := io.ReadAll(answers); err != nil || len(rest) > 0 {
		t.Errorf("error %v, then %q", err, rest)
	}
	want := http.Header{"Grpc-Status": {"0"}, "Grpc-Message": {"trailers abc"}}
	if diff := cmp.Diff(want, response.Trailer); diff != "" {
		t.Errorf("trailers (-want +got):\n%s", diff)
	}
}

// shouting is a target that changes its protocol, and then says everything again in capitals.
func shouting(t *testing.T) lb.Target {
	return serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		for {
			line, err := stream.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(conn, strings.ToUpper(line))
		}
	}))
}

// A talk is a connection that has changed its protocol.
type talk struct {
	conn net.Conn
	from *bufio.Reader
}

func upgrade(t *testing.T, conn net.Conn) talk {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: shop.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	stream := bufio.NewReader(conn)
	if response, err := http.ReadResponse(stream, nil); err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("error %v, response %+v", err, response)
	}
	return talk{conn, stream}
}

// heard says something and hears it again.
func (c talk) heard(t *testing.T, word string) {
	t.Helper()
	fmt.Fprintln(c.conn, word)
	if line, err := c.from.ReadString('\n'); line != strings.ToUpper(word)+"\n" {
		t.Fatalf("error %v, answer %q", err, line)
	}
}

// ends waits until the other side has closed the connection in good order.
func (c talk) ends(t *testing.T) {
	t.Helper()
	if n, err := c.from.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("error %v after %d bytes", err, n)
	}
}

// A WebSocket passes over both ports, and no change ends it that does not concern it.
func TestWebSockets(t *testing.T) {
	cloud := serve(t)
	web, other := group("web", shouting(t)), group("other", backend(t, "other"))
	ids := []lb.CertificateID{"fake:shop.example.com"}
	ours := rule("shop.example.com -", forward("web"))
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web, other}, http80(ours), https443(ids, ours)))
	overTLS, _ := dialTLS(t, at(o, 443), "shop.example.com", &tls.Config{InsecureSkipVerify: true})
	talks := map[string]talk{"plain": upgrade(t, dial(t, at(o, 80))), "over TLS": upgrade(t, overTLS)}

	theirs := rule("other.example.com -", forward("other"))
	program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web, other}, http80(theirs, ours), https443(ids, theirs, ours)))
	if err := cloud.SetTargets(t.Context(), shop, "other", nil); err != nil {
		t.Fatal(err)
	}
	if err := cloud.SetTargets(t.Context(), shop, "web", append(web.Targets, backend(t, "one more"))); err != nil {
		t.Fatal(err)
	}
	program(t, cloud, loadBalancer(shop, []lb.TargetGroup{web}, http80(ours), https443([]lb.CertificateID{"fake:*.example.com"}, ours)))
	for name, c := range talks {
		t.Run(name, func(t *testing.T) { c.heard(t, "still here") })
	}
}

// What is under way when its target or its port is taken away has its time, and no more.
func TestDraining(t *testing.T) {
	const drain = 300 * time.Millisecond
	for name, takeAway := range map[string]func(*testing.T, *fake.Cloud){
		"the target leaves the group": func(t *testing.T, cloud *fake.Cloud) {
			if err := cloud.SetTargets(t.Context(), shop, "web", []lb.Target{backend(t, "another")}); err != nil {
				t.Fatal(err)
			}
			if got := get(t, observe(t, cloud), "shop.example.com", "/"); got.from != "another" {
				t.Errorf("a new request: %d from %q", got.status, got.from)
			}
			everyone(t, cloud, "web", "healthy", "draining")
		},
		"the port is closed, and the group deleted": func(t *testing.T, cloud *fake.Cloud) {
			program(t, cloud, lb.LoadBalancer{Key: shop})
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := start(t, fake.Options{Serve: true, CheckEvery: 2 * time.Millisecond, Drain: drain})
			o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web", shouting(t))}, http80(rule("- -", forward("web")))))
			c := upgrade(t, dial(t, at(o, 80)))
			since := time.Now()
			takeAway(t, cloud)
			c.heard(t, "still here")
			c.ends(t)
			if took := time.Since(since); took < drain {
				t.Errorf("it ended after %s, sooner than %s", took, drain)
			}
		})
	}
}

// A target that was taken away is gone once it has nothing more to do.
func TestDrainingEndsWithTheLastRequest(t *testing.T) {
	arrived, answer := make(chan bool), make(chan bool)
	slow := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- true
		<-answer
		fmt.Fprintln(w, "slow")
	}))
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, []lb.TargetGroup{group("web", slow)}, http80(rule("- -", forward("web")))))
	got := make(chan reply)
	go func() { got <- get(t, o, "a", "/") }()
	<-arrived
	if err := cloud.SetTargets(t.Context(), shop, "web", nil); err != nil {
		t.Fatal(err)
	}
	everyone(t, cloud, "web", "draining")
	if got := get(t, o, "a", "/"); got.status != 503 {
		t.Errorf("a new request: %d", got.status)
	}
	close(answer)
	if got := <-got; got.from != "slow" {
		t.Errorf("the request under way: %d from %q", got.status, got.from)
	}
	everyone(t, cloud, "web")
}

// Headers and every event of a stream come when they are sent.
func TestStreamsPassAsTheyCome(t *testing.T) {
	events := make(chan string)
	source := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		for event := range events {
			fmt.Fprintf(w, "data: %s\n\n", event)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
	}))
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			events = make(chan string)
			cloud := serve(t)
			o := secured(t, cloud, "HTTP1", source)
			response, err := client(t, cloud, o, 443, version).Get("https://shop.example.com/events")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			stream := bufio.NewReader(response.Body)
			for _, event := range []string{"one", "two"} {
				events <- event
				if got, err := stream.ReadString('\n'); got != "data: "+event+"\n" {
					t.Fatalf("error %v, line %q", err, got)
				}
				if _, err := stream.Discard(1); err != nil {
					t.Fatal(err)
				}
			}
			close(events)
			if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
				t.Errorf("error %v, then %q", err, rest)
			}
		})
	}
}

// A client that asks before it sends a body hears from the target, not from the load balancer.
func TestExpectContinue(t *testing.T) {
	for name, c := range map[string]struct {
		path, first string
		body        bool
	}{
		"the target wants it":        {"/yes", "HTTP/1.1 100 Continue\r\n", true},
		"the target does not":        {"/no", "HTTP/1.1 417 Expectation Failed\r\n", false},
		"the balancer has no use it": {"/missing", "HTTP/1.1 404 Not Found\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			picky := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/no" {
					w.WriteHeader(http.StatusExpectationFailed)
					return
				}
				_, err := io.Copy(w, r.Body)
				if err != nil {
					t.Error(err)
				}
			}))
			o := program(t, serve(t), loadBalancer(shop, []lb.TargetGroup{group("web", picky)},
				http80(rule("- /missing", fixed(404)), rule("- -", forward("web")))))
			conn := dial(t, at(o, 80))
			defer conn.Close()
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", c.path)
			stream := bufio.NewReader(conn)
			if line, err := stream.ReadString('\n'); line != c.first {
				t.Fatalf("error %v, first line %q, want %q", err, line, c.first)
			}
			if !c.body {
				return
			}
			fmt.Fprint(conn, "hello")
			if _, err := stream.ReadString('\n'); err != nil { // what ends the first answer
				t.Fatal(err)
			}
			response := finalResponse(t, stream)
			defer response.Body.Close()
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != "hello" {
				t.Errorf("error %v, body %q", err, body)
			}
			if got := response.Header.Get("Server"); got != "fairlead" {
				t.Errorf("Server: %q", got)
			}
		})
	}
}

// Returns the first response that is not an interim one. A client reads any number of these (RFC
// 9110, section 15.2), and more than the target sent may come: net/http sends 100 by itself when
// the body is read, and httputil.ReverseProxy passes on the one of the target.
func finalResponse(t *testing.T, stream *bufio.Reader) *http.Response {
	t.Helper()
	for {
		response, err := http.ReadResponse(stream, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode >= http.StatusOK {
			return response
		}
		response.Body.Close()
	}
}

// Bodies pass in both directions whatever their size, and are not kept.
func TestLargeBodies(t *testing.T) {
	const size = 16 << 20
	seed := [32]byte{1}
	cloud := serve(t)
	o := secured(t, cloud, "HTTP1", serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	})))
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			body := struct{ io.Reader }{io.LimitReader(rand.NewChaCha8(seed), size)} // of a length that is not told
			response, err := client(t, cloud, o, 443, version).Post("https://shop.example.com/", "", body)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			want, got := sha256.New(), sha256.New()
			if _, err := io.Copy(want, io.LimitReader(rand.NewChaCha8(seed), size)); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(got, response.Body); err != nil || n != size || string(got.Sum(nil)) != string(want.Sum(nil)) {
				t.Errorf("error %v after %d bytes", err, n)
			}
		})
	}
}

// The first version of HTTP has no Host header and ends a body by closing the connection.
func TestHTTP10(t *testing.T) {
	web := backend(t, "web")
	o := program(t, serve(t), loadBalancer(shop, []lb.TargetGroup{group("web", web)},
		http80(rule("shop.example.com -", forward("web")), rule("- /any", forward("web")))))
	for name, c := range map[string]struct {
		lines []string
		want  int
	}{
		"without a host, rules that name none": {[]string{"GET /any HTTP/1.0"}, 200},
		"and not those that name one":          {[]string{"GET / HTTP/1.0"}, 404},
		"with a host, those that name it":      {[]string{"GET / HTTP/1.0", "Host: shop.example.com"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, dial(t, at(o, 80)), c.lines...)
			if got.status != c.want || got.header.Get("Transfer-Encoding") != "" || got.header.Get("Server") != "fairlead" {
				t.Errorf("status %d, want %d, header %v", got.status, c.want, got.header)
			}
		})
	}
}

// A host with a certificate answers on the plain port too, and the port with TLS tells a client
// that forgot about it.
func TestPlainHTTPBesideTLS(t *testing.T) {
	o := secured(t, serve(t), "HTTP1", backend(t, "web"))
	if got := get(t, o, "shop.example.com", "/"); got.from != "web" || !strings.Contains(got.body, "X-Forwarded-Proto: http\r\n") {
		t.Errorf("port 80: %d\n%s", got.status, got.body)
	}
	if got := ask(t, dial(t, at(o, 443)), "GET / HTTP/1.1", "Host: shop.example.com"); got.status != 400 {
		t.Errorf("port 443: %d", got.status)
	}
}

// Targets that speak gRPC are asked in gRPC, and answer with a code of its own.
func TestGRPCHealth(t *testing.T) {
	cloud := start(t, fake.Options{Serve: true, CheckEvery: time.Millisecond})
	var code atomic.Value
	code.Store("12")
	asked := speaking(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if r.Method != http.MethodPost || r.URL.Path != "/AWS.ALB/healthcheck" || r.Header.Get("Content-Type") != "application/grpc" {
			t.Errorf("it is asked with %s %s", r.Method, r.URL)
		}
		w.Header().Set("Grpc-Status", code.Load().(string))
	}))
	g := group("cart", asked)
	g.Version, g.Health = "GRPC", routing.HealthCheck{Path: "/AWS.ALB/healthcheck", Protocol: "HTTP", UnhealthyThreshold: 2, HealthyThreshold: 2}
	program(t, cloud, loadBalancer(shop, []lb.TargetGroup{g}, http80(rule("- -", forward("cart")))))
	everyone(t, cloud, "cart", "healthy")
	code.Store("14")
	everyone(t, cloud, "cart", "unhealthy")
}

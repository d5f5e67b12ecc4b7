package neutral

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file sends requests to data planes.

const canary = "X-Canary"

// simulated is the data plane of the simulator of AWS.
type simulated struct{ *albsim.Sim }

func (s simulated) ask(b *balancer, r request, _ int) (string, error) {
	sent := matching.Request{Port: r.port, TLS: r.port == 443, SNI: strings.ToLower(r.host), Method: r.method, Host: r.header(), Path: r.path, Query: r.query, Source: "127.0.0.1"}
	if r.canary != "" {
		sent.Headers = map[string]string{strings.ToLower(canary): r.canary}
	}
	a := s.Ask(b.seen.Address.Hostname, sent, matching.Reading{})
	switch {
	case a.Refused:
		return refused, nil
	case a.Location != "":
		return redirected(a.Status, a.Location), nil
	case len(a.Forward) == 0:
		return fixed(a.Status, a.Body), nil
	}
	to := shares{}
	for _, s := range a.Forward {
		to[b.serviceOf(s.Tags["fairlead.dev/target-group"])] += int(s.Weight)
	}
	return to.forward(a.Host, a.URL, int(a.Sticky)), nil
}

// served is a data plane that is reached over connections. It keeps one a port and server name.
type served struct{ open map[string]*wire }

// A wire is a connection to a load balancer.
type wire struct {
	net.Conn
	*bufio.Reader
}

func (s *served) ask(b *balancer, r request, times int) (string, error) {
	to := shares{}
	var host, target string
	sticky := 0
	for range max(times, 1) {
		response, body, err := s.send(b, r)
		if response == nil || err != nil {
			return refused, err
		}
		from := response.Header.Get("X-Service")
		switch {
		case from == "" && response.Header.Get("Location") != "":
			return redirected(response.StatusCode, response.Header.Get("Location")), nil
		case from == "":
			return received(response.StatusCode, body), nil
		}
		to[from]++
		host, target, _ = strings.Cut(body, " ")
		for _, c := range response.Cookies() {
			sticky = c.MaxAge
		}
	}
	return to.forward(host, target, sticky), nil
}

// send sends a request exactly as it is written. The response is nil where nothing listens.
func (s *served) send(b *balancer, r request) (*http.Response, string, error) {
	at, ok := b.at(r.port)
	if !ok {
		return nil, "", nil
	}
	name := fmt.Sprint(r.port, r.host)
	if s.open[name] == nil {
		conn, err := dial(at, r)
		if err != nil {
			return nil, "", err
		}
		s.open[name] = newWire(conn)
	}
	response, body, err := s.open[name].send(r)
	if err != nil || response.Close {
		_ = s.open[name].Close()
		delete(s.open, name)
	}
	return response, body, err
}

func newWire(conn net.Conn) *wire { return &wire{conn, bufio.NewReader(conn)} }

// hangUp closes all connections.
func (s *served) hangUp() {
	for name, w := range s.open {
		_ = w.Close()
		delete(s.open, name)
	}
}

func dial(at string, r request) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", at, 5*time.Second)
	if err != nil || r.port != 443 {
		return conn, err
	}
	return tls.Client(conn, &tls.Config{ServerName: r.host, InsecureSkipVerify: true}), nil
}

func (w *wire) send(r request) (*http.Response, string, error) {
	if err := w.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, "", err
	}
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target(), r.header())
	if r.canary != "" {
		text += canary + ": " + r.canary + "\r\n"
	}
	if r.slow {
		text += slow + ": yes\r\n"
	}
	if r.method != http.MethodGet {
		text += "Content-Length: 0\r\n"
	}
	if _, err := io.WriteString(w.Conn, text+"\r\n"); err != nil {
		return nil, "", err
	}
	response, err := http.ReadResponse(w.Reader, &http.Request{Method: r.method})
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// at is where a port of a load balancer is reached, if it is open.
func (b *balancer) at(port int32) (string, bool) {
	for _, l := range b.seen.Listeners {
		if l.Port == port {
			if to := b.seen.Address.Ports[port]; to != 0 {
				port = to
			}
			return net.JoinHostPort(b.seen.Address.IPs[0], strconv.Itoa(int(port))), true
		}
	}
	return "", false
}

// backends are servers, one a Service. Each answers with its name and with what it was asked for.
func backends(t *testing.T) map[string]lb.Target {
	t.Helper()
	all := map[string]lb.Target{}
	for i := range services {
		name := fmt.Sprintf("shop/service-%d", i)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Service", name)
			fmt.Fprintf(w, "%s ", r.Host)
			if r.Header.Get(slow) != "" {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
			_, _ = io.WriteString(w, r.RequestURI)
		}))
		t.Cleanup(server.Close)
		at := server.Listener.Addr().(*net.TCPAddr)
		all[name] = lb.Target{Address: at.IP.String(), Port: int32(at.Port)}
	}
	return all
}

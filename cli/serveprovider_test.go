package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/caller"
	"fairlead.dev/fairlead/test/keypair"
)

// A socket is a provider that is served at a unix socket, until the test ends.
type socket struct {
	path string
	logs lines
	end  context.CancelFunc
	said chan int // the exit code
}

// lines are what a command prints, while it runs.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// servedAt runs the command until the test ends.
func servedAt(t *testing.T, dir string, args ...string) *socket {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	s := &socket{path: filepath.Join(dir, "p.sock"), end: end, said: make(chan int, 1)}
	args = append([]string{"serve-provider", "--listen", "unix:" + s.path}, args...)
	go func() {
		s.said <- Run(ctx, args, testProviders(), Streams{In: strings.NewReader(""), Out: io.Discard, Err: &s.logs})
	}()
	t.Cleanup(func() { s.stop(t) })
	until(t, "listening", func() bool {
		select {
		case code := <-s.said:
			s.said <- code
			t.Fatalf("exit code %d: %s", code, &s.logs)
		default:
		}
		c, err := net.Dial("unix", s.path)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s
}

// stop ends the command and waits for it.
func (s *socket) stop(t *testing.T) {
	t.Helper()
	s.end()
	if code := <-s.said; code != exitDone {
		t.Errorf("exit code %d: %s", code, &s.logs)
	}
	s.said <- exitDone
}

// client connects to the socket: with TLS, if it is given.
func (s *socket) client(t *testing.T, config *tls.Config) *http.Client {
	t.Helper()
	over := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.path)
	}}
	t.Cleanup(over.CloseIdleConnections)
	return &http.Client{Transport: over}
}

// status is that of a request for capabilities; 0 if there is no answer.
func statusOf(t *testing.T, c *http.Client, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+v1.PathCapabilities, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := c.Do(r)
	if err != nil {
		return 0
	}
	defer a.Body.Close()
	return a.StatusCode
}

// short is a directory with a path that is short enough for a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestServeProviderRefusesWhatIsNotSafe(t *testing.T) {
	files := directory(t, map[string]string{"token": "a token", "empty": "", "good": "token\n", "crt": "none", "key": "none"})
	in := func(name string) string { return filepath.Join(files, name) }
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"every address":                  {[]string{"--listen", ":8443"}, "--listen: other machines can reach :8443: give --token-file or --client-ca-file"},
		"an address":                     {[]string{"--listen", "192.0.2.1:8443"}, "other machines can reach 192.0.2.1:8443"},
		"a name":                         {[]string{"--listen", "provider.test:8443"}, "other machines can reach"},
		"a token in the clear":           {[]string{"--listen", "0.0.0.0:8443", "--token-file", in("good")}, "give --tls-cert-file and --tls-key-file"},
		"a certificate without a key":    {[]string{"--tls-cert-file", in("crt")}, "--tls-cert-file and --tls-key-file go together"},
		"authorities without TLS":        {[]string{"--client-ca-file", in("crt")}, "--client-ca-file: only TLS"},
		"a token that is two words":      {[]string{"--token-file", in("token")}, "--token-file: " + in("token") + ": it has to have one token"},
		"a token that is empty":          {[]string{"--token-file", in("empty")}, "it has to have one token"},
		"a token that is not there":      {[]string{"--token-file", in("none")}, "no such file"},
		"a certificate that is none":     {[]string{"--tls-cert-file", in("crt"), "--tls-key-file", in("key")}, "reading a certificate and its key"},
		"a provider that is not there":   {[]string{"--provider", "moon"}, `--provider: "moon": it can be `},
		"a setting that is none":         {[]string{"--workers", "3"}, "--workers: there is no such flag"},
		"an address that is none":        {[]string{"--listen", "127.0.0.1:99999"}, "--listen: "},
		"a socket that is no socket":     {[]string{"--listen", "unix:" + in("good")}, "--listen: "},
		"a socket in no directory":       {[]string{"--listen", "unix:" + in("none/p.sock")}, "--listen: "},
		"an address in the old spelling": {[]string{"--listen", "8443"}, "other machines can reach 8443"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fairlead(t, append([]string{"serve-provider"}, c.args...)...); got.code != exitFail || !strings.Contains(got.err, c.want) {
				t.Errorf("exit code %d, %q; want %q", got.code, got.err, c.want)
			}
		})
	}
}

func TestAProviderIsServedAtASocket(t *testing.T) {
	dir := short(t)
	s := servedAt(t, dir)
	if info, err := os.Stat(s.path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	p := &caller.Caller{URL: "http://provider", Send: s.client(t, nil).Do}
	if caps := p.Capabilities(lb.Class{}); caps.Name != "the fake cloud" {
		t.Errorf("capabilities of %q", caps.Name)
	}
	want := lb.LoadBalancer{Key: "a", Settings: routing.Settings{Scheme: "internal"}}
	if _, err := p.Apply(t.Context(), &lb.Observed{Key: "a"}, plan.CreateLoadBalancer{LoadBalancer: want}); err != nil {
		t.Fatal(err)
	}
	if seen, err := p.Observe(t.Context(), "a", false); err != nil || !seen.Exists {
		t.Errorf("observed %+v, %v", seen, err)
	}
	if got := fairlead(t, "serve-provider", "--listen", "unix:"+s.path); got.code != exitFail || !strings.Contains(got.err, "another process listens at "+s.path) {
		t.Errorf("a second one: exit code %d, %q", got.code, got.err)
	}
	s.stop(t)
	if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("afterwards the socket is there: %v", err)
	}
	if logged := s.logs.String(); !strings.Contains(logged, `"serving"`) || !strings.Contains(logged, `"stopped"`) {
		t.Errorf("logged: %s", logged)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"}) // as by a process that was killed
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	if code := statusOf(t, servedAt(t, dir).client(t, nil), "http://provider"); code != http.StatusOK {
		t.Errorf("where a socket was left: %d", code)
	}
}

func TestATokenIsReplaced(t *testing.T) {
	dir := short(t)
	file := filepath.Join(dir, "token")
	write(t, file, "first\n")
	s := servedAt(t, dir, "--token-file", file)
	c := s.client(t, nil)
	ask := func(token string) int { return statusOf(t, c, "http://provider", "Authorization: Bearer "+token) }
	if a, b := ask("first"), ask("second"); a != 200 || b != 401 {
		t.Errorf("the first token: %d, the second: %d", a, b)
	}
	write(t, file, "second\n")
	until(t, "the second token counting", func() bool { return ask("second") == 200 })
	if code := ask("first"); code != 401 {
		t.Errorf("the first token: %d", code)
	}
	write(t, file, "")
	until(t, "a complaint", func() bool { return ask("second") == 200 && strings.Contains(s.logs.String(), "cannot be read") })
	if code := ask(""); code != 401 {
		t.Errorf("no token: %d", code)
	}
	if logged := s.logs.String(); strings.Contains(logged, "second") {
		t.Errorf("the token is in the log: %s", logged)
	}
}

func TestCertificatesAreReplaced(t *testing.T) {
	dir := short(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	pair, client := keypair.For(t, "provider.test"), keypair.For(t, "operator.test")
	put := func(name string, text []byte) { write(t, in(name), string(text)) }
	put("crt", pair.Chain)
	put("key", pair.Key)
	put("ca", client.Chain)
	s := servedAt(t, dir, "--tls-cert-file", in("crt"), "--tls-key-file", in("key"), "--client-ca-file", in("ca"))
	ask := func(trusts, shows *routing.KeyPair) int {
		config := &tls.Config{ServerName: "provider.test", RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		config.RootCAs.AppendCertsFromPEM(trusts.Chain)
		if shows != nil {
			own, err := tls.X509KeyPair(shows.Chain, shows.Key)
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{own}
		}
		return statusOf(t, s.client(t, config), "https://provider.test")
	}
	if code := ask(pair, client); code != http.StatusOK {
		t.Fatalf("a client that is known: %d; %s", code, &s.logs)
	}
	if code := ask(pair, nil); code != 0 {
		t.Errorf("a client without a certificate: %d", code)
	}
	if code := ask(pair, keypair.For(t, "operator.test")); code != 0 {
		t.Errorf("a client of another authority: %d", code)
	}
	renewed, another := keypair.For(t, "provider.test"), keypair.For(t, "operator.test")
	put("crt", renewed.Chain) // the key comes later
	put("ca", another.Chain)
	until(t, "a complaint", func() bool {
		return ask(pair, client) == http.StatusOK && strings.Contains(s.logs.String(), "cannot be read")
	})
	put("key", renewed.Key)
	until(t, "the new certificate being served", func() bool { return ask(renewed, another) == http.StatusOK })
	if code := ask(renewed, client); code != 0 {
		t.Errorf("a client of the authority that was: %d", code)
	}
	if n := strings.Count(s.logs.String(), "cannot be read"); n != 1 {
		t.Errorf("it is said %d times that a file cannot be read: %s", n, fmt.Sprint(&s.logs))
	}
}

package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/serve"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/nightly"
)

// providerChecked runs the command.
func providerChecked(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(t.Context(), append([]string{"provider", "check", "--pause", "1ms"}, args...), testProviders(), Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return code, out.String(), err.String()
}

// TestProviderCheck tries the fake cloud at a socket.
func TestProviderCheck(t *testing.T) {
	s := servedAt(t, t.TempDir(), "--provider", "fake")
	code, out, err := providerChecked(t, "unix://"+s.path)
	if code != exitDone || strings.Contains(out, "✗") || !strings.Contains(out, " 0 failed, 0 unknown\n") || !strings.Contains(out, "a plan cut short") || strings.Count(out, "requests: ") < 13 || strings.Count(out, "✓") < 48 {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	var report output.FindingsReport
	code, out, _ = providerChecked(t, "unix://"+s.path+".not", "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFail || len(report.Findings) != 1 || report.Findings[0].State != check.Wrong {
		t.Errorf("nothing listens: exit code %d, %v:\n%s", code, err, out)
	}
	if code, _, err := providerChecked(t, "http://10.0.0.1:80"); code != exitFail || !strings.Contains(err, "https") {
		t.Errorf("a URL that no provider can have: exit code %d: %s", code, err)
	}
}

// TestProviderCheckInParts tries a part, and what a part is told.
func TestProviderCheckInParts(t *testing.T) {
	s := servedAt(t, t.TempDir(), "--provider", "fake")
	at := "unix://" + s.path
	ids := func(out string) string {
		var report output.FindingsReport
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		var all []string
		for _, f := range report.Findings {
			all = append(all, f.ID+" "+string(f.State))
		}
		return strings.Join(all, "\n")
	}
	_, out, _ := providerChecked(t, at, "--only", "wire", "-o", "json")
	if got := ids(out); strings.Contains(got, "contract/") || !strings.Contains(got, "provider/deleted ok") {
		t.Errorf("the wire:\n%s", got)
	}
	_, out, _ = providerChecked(t, at, "--only", "contract", "--target", "none", "-o", "json")
	if got := ids(out); strings.Contains(got, "provider/") || !strings.Contains(got, "contract/targets unknown") || !strings.Contains(got, "contract/deleted ok") {
		t.Errorf("the contract without a target:\n%s", got)
	}
	_, out, _ = providerChecked(t, at+".not", "--only", "contract", "-o", "json")
	if got := ids(out); got != "contract/open wrong" {
		t.Errorf("nothing listens:\n%s", got)
	}
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, []byte("speed: high\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := providerChecked(t, at, "--only", "contract", "--settings", settings, "-o", "json")
	if got := ids(out); code != exitFail || got != "contract/place wrong" {
		t.Errorf("settings that it does not have: exit code %d:\n%s", code, got)
	}
	for _, args := range [][]string{{"--only", "all"}, {"--target", "here"}, {"--settings", settings + ".not"}} {
		if code, _, err := providerChecked(t, append(args, at)...); code != exitFail || !strings.Contains(err, args[0]) {
			t.Errorf("%v: exit code %d: %s", args, code, err)
		}
	}
}

// A detour is a cloud whose load balancers are reached through a proxy on one port.
type detour struct {
	clouds.Local
	listener int32
	t        *testing.T
	proxied  func(http.Handler) http.Handler
	mu       *sync.Mutex
	proxies  map[string]*httptest.Server // by the address behind them
	names    []string                    // in its certificate; nil for those of package httptest
}

// port is that of the proxy for a listener, at the same address.
func (d detour) port(address lb.Address, port int32) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	to := net.JoinHostPort(address.IPs[0], strconv.Itoa(int(cmp.Or(port, d.listener))))
	if d.proxies[to] == nil {
		l, err := net.Listen("tcp", address.IPs[0]+":0")
		if err != nil {
			d.t.Error(err)
			return port
		}
		scheme := map[int32]string{80: "http", 443: "https"}[d.listener]
		proxy := httptest.NewUnstartedServer(d.proxied(&httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = scheme, to },
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		}))
		proxy.Listener.Close()
		proxy.Listener = l
		if scheme == "https" {
			if d.names != nil {
				data := keypair.Data(keypair.For(d.t, d.names...))
				pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
				if err != nil {
					d.t.Error(err)
				}
				proxy.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			}
			proxy.StartTLS()
		} else {
			proxy.Start()
		}
		d.t.Cleanup(proxy.Close)
		d.proxies[to] = proxy
	}
	return int32(d.proxies[to].Listener.Addr().(*net.TCPAddr).Port)
}

func (d detour) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	o, err := d.Local.Observe(ctx, key, deep)
	if err == nil && o.Listener(d.listener) != nil {
		ports := map[int32]int32{}
		maps.Copy(ports, o.Address.Ports)
		ports[d.listener] = d.port(o.Address, ports[d.listener])
		o.Address.Ports = ports
	}
	return o, err
}

func (d detour) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	r, err := d.Local.Apply(ctx, seen, step)
	if c, ok := step.(plan.CreateListener); ok && err == nil && c.Listener.Port == d.listener {
		r.Port = d.port(seen.Address, r.Port)
	}
	return r, err
}

// withRequest is a handler that changes a request before another one answers it.
func withRequest(change func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { change(r); next.ServeHTTP(w, r) })
	}
}

// answering is a handler with one answer.
func answering(status int) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
}

// redirected is a handler with another location.
func redirected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/redirect" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Location", "http://elsewhere.example/")
		w.WriteHeader(http.StatusMovedPermanently)
	})
}

// oneWeight is a handler that asks for a path with weights until the first Service answers.
func oneWeight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		for next.ServeHTTP(answer, r); r.URL.Path == "/weights" && !strings.Contains(answer.Body.String(), "/weight-one"); {
			answer = httptest.NewRecorder()
			next.ServeHTTP(answer, r)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // an error means that the client is gone
	})
}

// checkedCloud is the report about a cloud by part, without what is right, and the keys that are left.
func checkedCloud(t *testing.T, around func(clouds.Local) clouds.Local, args ...string) (wrong map[string][]string, report, left string) {
	return checkedUntil(t.Context(), t, lb.Literal(), around, args...)
}

func checkedUntil(ctx context.Context, t *testing.T, c lb.Capabilities, around func(clouds.Local) clouds.Local, args ...string) (wrong map[string][]string, report, left string) {
	t.Helper()
	c.Name = "edge"
	cloud, err := fake.New(fake.Options{Capabilities: c, Serve: true, CheckEvery: 20 * time.Millisecond, Drain: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	server := httptest.NewServer(serve.New(around(cloud), serve.Options{}))
	t.Cleanup(server.Close)
	var buffer bytes.Buffer
	Run(ctx, append([]string{"provider", "check", "--pause", "1ms", server.URL, "-o", "json"}, args...), testProviders(), Streams{In: strings.NewReader(""), Out: &buffer, Err: io.Discard})
	out := buffer.String()
	var found output.FindingsReport
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	wrong = map[string][]string{}
	for _, f := range found.Findings {
		if f.State != check.OK {
			part, id, _ := strings.Cut(f.ID, "/")
			wrong[part] = append(wrong[part], id+" "+string(f.State))
		}
	}
	return wrong, out, listed(t, server.URL)
}

// TestProviderCheckAsksForTraffic has providers that keep the protocol, and whose load balancers do not
// do what the rules say.
func TestProviderCheckAsksForTraffic(t *testing.T) {
	every := []string{"exact wrong", "prefix wrong", "host wrong", "wildcard-host wrong", "method wrong", "header wrong", "query wrong", "redirect wrong", "fixed wrong", "weights wrong",
		"regex wrong", "source wrong", "other-source wrong", "rewrite wrong", "sticky wrong", "instance wrong", "no-rule wrong"}
	cases := map[string]struct {
		proxied  func(http.Handler) http.Handler
		args     []string
		wrong    []string
		says     string
		listener int32
	}{
		"as it should be": {withRequest(func(*http.Request) {}), []string{"--only", "traffic"}, nil, "", 0},
		"500 for everything": {
			answering(http.StatusInternalServerError), nil, every, "status is 500, not 418", 0,
		},
		"503 for everything": {
			answering(http.StatusServiceUnavailable), []string{"--only", "traffic"}, every, "status is 503, not 200", 0,
		},
		"targets of two rules are swapped": {withRequest(func(r *http.Request) {
			switch r.URL.Path {
			case "/prefix":
				r.URL.Path = "/prefix/long"
			case "/prefix/long":
				r.URL.Path = "/prefix"
			}
		}), nil, []string{"prefix wrong"}, "/longer, not ", 0},
		"hosts are ignored":   {withRequest(func(r *http.Request) { r.Host = "one.check.example" }), nil, every, "/host-one, not ", 0},
		"methods are ignored": {withRequest(func(r *http.Request) { r.Method = http.MethodPost }), []string{"--only", "traffic"}, []string{"method wrong"}, "/method, not ", 0},
		"headers are ignored": {withRequest(func(r *http.Request) { r.Header.Del("Fairlead-Check") }), []string{"--only", "traffic"}, []string{"header wrong"}, "/header-else, not ", 0},
		"queries are ignored": {withRequest(func(r *http.Request) { r.URL.RawQuery = "" }), []string{"--only", "traffic"}, []string{"query wrong"}, "/query-else, not ", 0},
		"one of two weights":  {oneWeight, []string{"--only", "traffic"}, []string{"weights wrong"}, "of 100 answers, none is of ", 0},
		"expressions are ignored": {withRequest(func(r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/regex/") {
				r.URL.Path = "/regex"
			}
		}), []string{"--only", "traffic"}, []string{"regex wrong"}, "/regex-else, not ", 0},
		"sources are ignored": {withRequest(func(r *http.Request) {
			if r.URL.Path == "/other-source" {
				r.URL.Path = "/source"
			}
		}), []string{"--only", "traffic"}, []string{"other-source wrong"}, "/source, not ", 0},
		"sources are mixed up":   {withRequest(func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/source", "/other-source", 1) }), []string{"--only", "traffic"}, []string{"source wrong"}, "/other-source-else, not ", 0},
		"rewrites are left out":  {withRequest(func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/rewrite", "/instance", 1) }), []string{"--only", "traffic"}, []string{"rewrite wrong"}, "path at the target is /instance, not /rewritten", 0},
		"clients move on":        {withRequest(func(r *http.Request) { r.Header.Del("Cookie") }), []string{"--only", "traffic"}, []string{"sticky wrong"}, "with the cookies of the first answer, service of answer ", 0},
		"one certificate":        {withRequest(func(*http.Request) {}), []string{"--only", "traffic"}, []string{"https wrong"}, "the certificate is another one: ", 443},
		"redirects go elsewhere": {redirected, []string{"--only", "traffic"}, []string{"redirect wrong"}, "location is http://elsewhere.example/, not ", 0},
	}
	for _, name := range nightly.Some(t, 8, slices.Sorted(maps.Keys(cases))) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, report, left := checkedCloud(t, func(c2 clouds.Local) clouds.Local {
				return detour{c2, cmp.Or(c.listener, 80), t, c.proxied, &sync.Mutex{}, map[string]*httptest.Server{}, nil}
			}, c.args...)
			if !slices.Equal(wrong["traffic"], c.wrong) {
				t.Errorf("wrong are %q, not %q", wrong["traffic"], c.wrong)
			}
			delete(wrong, "traffic")
			if len(wrong) > 0 || !strings.Contains(report, c.says) || !strings.Contains(left, `"keys":[]`) {
				t.Errorf("also %v, %q is sought, left is %s:\n%s", wrong, c.says, left, report)
			}
		})
	}
}

// A far cloud is on another machine: it has another address, or refuses targets on this one.
type far struct {
	clouds.Local
	address lb.Address
	refuses bool
}

func (f far) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	o, err := f.Local.Observe(ctx, key, deep)
	if err == nil && o.Exists && !f.refuses {
		o.Address = f.address
	}
	return o, err
}

func (f far) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if _, ok := step.(plan.RegisterTargets); ok && f.refuses {
		return plan.Result{}, fmt.Errorf("127.0.0.1 is not in the network: %w", providers.ErrRejected)
	}
	return f.Local.Apply(ctx, seen, step)
}

// TestProviderCheckOfFarTraffic has load balancers that cannot be tried from here: nothing is wrong.
func TestProviderCheckOfFarTraffic(t *testing.T) {
	for name, c := range map[string]struct {
		cloud far
		args  []string
		says  string
	}{
		"a name that is not known":        {far{address: lb.Address{Hostname: "lb.invalid"}}, nil, "lb.invalid:80 cannot be reached from here: "},
		"no address":                      {far{address: lb.Address{}}, nil, "reports neither a host name nor an address"},
		"targets of another network":      {far{refuses: true}, nil, "127.0.0.1 is not in the network"},
		"no targets, as the caller wants": {far{}, []string{"--target", "none"}, "--target none says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, report, left := checkedCloud(t, func(inner clouds.Local) clouds.Local {
				c.cloud.Local = inner
				return c.cloud
			}, append(c.args, "--only", "traffic")...)
			if !slices.Equal(wrong["traffic"], []string{"served unknown"}) || !strings.Contains(report, c.says) || !strings.Contains(report, "run fairlead demo --once") || !strings.Contains(left, `"keys":[]`) {
				t.Errorf("%v, %q is sought, left is %s:\n%s", wrong, c.says, left, report)
			}
		})
	}
}

// TestProviderCheckOfFewRules has a provider without some kinds of rules, which are not known then.
func TestProviderCheckOfFewRules(t *testing.T) {
	c := lb.Literal()
	c.FieldsRefused, c.NoHTTPS, c.TargetsPerForward, c.RedirectStatuses = []string{"method", "query", "source"}, true, 1, []int{302}
	c.Regex, c.Rewrites, c.TargetTypesRefused = false, false, []string{"instance"}
	wrong, report, _ := checkedUntil(t.Context(), t, c, func(inner clouds.Local) clouds.Local { return inner }, "--only", "traffic")
	if want := []string{"method unknown", "query unknown", "weights unknown", "https unknown",
		"regex unknown", "source unknown", "other-source unknown", "rewrite unknown", "sticky unknown", "instance unknown"}; !slices.Equal(wrong["traffic"], want) {
		t.Errorf("%v, not %v:\n%s", wrong, want, report)
	}
}

// TestProviderCheckOfSignIn has a provider with sign-in, one that forwards requests without it, and one
// that has no sign-in by OIDC.
func TestProviderCheckOfSignIn(t *testing.T) {
	c := lb.Literal()
	c.Auth = true
	for name, o := range nightly.Cases(t, map[string]struct {
		around func(clouds.Local) clouds.Local
		wrong  []string
		says   string
	}{
		"as it should be": {func(c clouds.Local) clouds.Local { return c }, nil, "sent to the identity provider"},
		"without sign-in": {func(c clouds.Local) clouds.Local {
			return detour{c, 443, t, withRequest(func(r *http.Request) {
				if r.Host == "sign-in.secure.example" {
					r.Host = "one.secure.example"
				}
			}), &sync.Mutex{}, map[string]*httptest.Server{}, []string{"*.secure.example"}}
		}, []string{"sign-in wrong"}, "not https://identity.check.example/authorize"},
		"without OIDC": {func(c clouds.Local) clouds.Local { return noOIDC{c} }, []string{"sign-in unknown"}, "there is no OIDC here"},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, report, left := checkedUntil(t.Context(), t, c, o.around, "--only", "traffic")
			if !slices.Equal(wrong["traffic"], o.wrong) || !strings.Contains(report, o.says) || !strings.Contains(left, `"keys":[]`) {
				t.Errorf("%v, left is %s:\n%s", wrong, left, report)
			}
		})
	}
}

// A noOIDC cloud rejects sign-in by OIDC.
type noOIDC struct{ clouds.Local }

func (n noOIDC) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if s, ok := step.(plan.CreateRule); ok && s.Rule.Action.Auth != nil {
		return plan.Result{}, fmt.Errorf("there is no OIDC here: %w", providers.ErrRejected)
	}
	return n.Local.Apply(ctx, seen, step)
}

// TestProviderCheckOfInstances has a provider whose targets are instances: each kind has such targets.
func TestProviderCheckOfInstances(t *testing.T) {
	c := lb.Literal()
	c.TargetTypesRefused = []string{"ip"}
	wrong, report, _ := checkedUntil(t.Context(), t, c, func(inner clouds.Local) clouds.Local { return inner }, "--only", "traffic")
	if len(wrong["traffic"]) > 0 || !strings.Contains(report, "traffic/instance") {
		t.Errorf("%v:\n%s", wrong, report)
	}
}

// TestProviderCheckDeletesTraffic interrupts the requests.
func TestProviderCheckDeletesTraffic(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	wrong, report, left := checkedUntil(ctx, t, lb.Literal(), func(inner clouds.Local) clouds.Local {
		return detour{inner, 80, t, withRequest(func(*http.Request) { interrupt() }), &sync.Mutex{}, map[string]*httptest.Server{}, nil}
	}, "--only", "traffic")
	if !slices.Equal(wrong["traffic"], []string{"interrupted unknown"}) || !strings.Contains(report, "traffic/deleted") || !strings.Contains(left, `"keys":[]`) {
		t.Errorf("%v, left is %s:\n%s", wrong, left, report)
	}
}

// A deaf cloud sends neither requests nor health checks to the targets. Another load balancer does.
type deaf struct {
	clouds.Local
	t *testing.T
}

func (d deaf) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if s, ok := step.(plan.RegisterTargets); ok {
		for _, at := range s.Targets {
			response, err := http.Get(fmt.Sprintf("http://%s/", net.JoinHostPort(at.Address, strconv.Itoa(int(at.Port)))))
			if err != nil {
				d.t.Error(err)
				continue
			}
			_ = response.Body.Close()
		}
		s.Targets = []lb.Target{{Address: "127.0.0.1", Port: 1}}
		step = s
	}
	return d.Local.Apply(ctx, seen, step)
}

func (d deaf) SetTargets(context.Context, lb.Key, lb.GroupID, []lb.Target) error { return nil }

// TestProviderCheckOfTargetsThatAreNotReached: at a loopback address, a provider reaches targets on this
// machine, unless the caller names another one. Health checks of another load balancer do not count: it may still
// check a process that had the port of a target before.
func TestProviderCheckOfTargetsThatAreNotReached(t *testing.T) {
	for state, args := range nightly.Cases(t, map[string][]string{"wrong": nil, "unknown": {"--target", "127.0.0.1:9"}}) {
		t.Run(state, func(t *testing.T) {
			t.Parallel() // it waits for targets
			wrong, report, _ := checkedCloud(t, func(inner clouds.Local) clouds.Local { return deaf{inner, t} }, append(args, "--only", "traffic", "--patience", "20s")...)
			if !slices.Contains(wrong["traffic"], "exact "+state) || strings.Contains(report, "fixed response 418 is right") {
				t.Errorf("%v\n%s", wrong, report)
			}
		})
	}
}

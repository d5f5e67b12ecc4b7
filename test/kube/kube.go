// Package kube gives tests a real API server: etcd and kube-apiserver on loopback ports, with
// RBAC and the CRDs of config/crd, and kube-controller-manager for tests in which Deployments and
// EndpointSlices have to come alive. Everything is gone when the test is.
//
// The commands are those of KUBEBUILDER_ASSETS, or what `make controlplane` builds. A machine
// without them fails these tests: a test that is skipped proves nothing.
package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// host is where everything listens: nothing of a test is reachable from elsewhere.
const host = "127.0.0.1"

// The commands of a control plane, and our own.
const (
	etcd     = "etcd"
	server   = "kube-apiserver"
	manager  = "kube-controller-manager"
	operator = "fairlead"
	provider = "provider"
)

// patience is how long anything may take to be ready. A busy machine is slow, not broken.
const patience = 2 * time.Minute

// Options of a control plane. The zero value is an API server alone.
type Options struct {
	// Controllers of kube-controller-manager that run, by its names for them. Without any it is
	// not started: a Deployment makes no Pods, and a Namespace is never deleted to the end.
	Controllers []string
	// Pods run: each has an address and echoes on its ports. The tests run in a network namespace
	// of their own, for Pods cannot be on loopback; see Main.
	Pods bool
	// Operator is the flags of `fairlead run`, with which the operator is built and started. Without
	// any it is not.
	Operator []string
	// Provider is the path of a provider that is run beside the operator, with the flags of
	// examples/caddy. The operator uses that one then, whatever its flags say.
	Provider string
	// Flags are more flags for kube-apiserver, and win over ours.
	Flags []string

	backup string // the data that etcd begins with; see Clone
}

// A Cluster is a running control plane.
type Cluster struct {
	// Config is the administrator's. It knows no client-side rate limit.
	Config *rest.Config
	// Kubeconfig is a file that says the same, for commands.
	Kubeconfig string

	dir       string
	commands  map[string]string // paths by name
	authority *authority
	options   Options
	etcdPort  int
	port      int

	etcd, server, manager, provider, operator *process
	kubelet                                   *kubelet
	building                                  sync.Mutex // held by who builds the operator

	hasClass bool     // the class of config/class is installed
	first    []stored // what etcd knew when the control plane was ready
}

// Start runs a control plane for one test. Tests that do not stop the API server can share one:
// see Main, with which an earlier test may also have had this one.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	skipShort(t)
	c, err := take(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.give(t) })
	return c
}

func start(o Options) (*Cluster, error) {
	names := []string{etcd, server}
	if len(o.Controllers) > 0 {
		names = append(names, manager)
	}
	commands, err := findCommands(names)
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	if testing.Testing() && testing.Short() { // make test works before make setup
		return nil, errors.New("starting a control plane: -short starts none, and the test has to be skipped")
	}
	dir, err := os.MkdirTemp("", "fairlead-kube-")
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	c := &Cluster{dir: dir, commands: commands, options: o}
	if err := c.run(); err != nil {
		c.stop()
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	return c, nil
}

func (c *Cluster) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if c.etcdPort, err = freePort(); err != nil {
		return err
	}
	if c.port, err = freePort(); err != nil {
		return err
	}
	if c.authority, err = newAuthority(c.dir); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	restored := c.options.backup != ""
	if err := c.keep(); err != nil {
		return err
	}
	if err := c.serve(ctx); err != nil {
		return err
	}
	if !restored {
		if err := c.installDefinitions(ctx); err != nil {
			return err
		}
	}
	if c.first, err = c.everything(ctx); err != nil {
		return err
	}
	if len(c.options.Controllers) > 0 {
		if c.manager, err = c.command(manager, c.managerFlags()); err != nil {
			return err
		}
	}
	if c.options.Pods {
		if c.kubelet, err = c.startKubelet(ctx); err != nil {
			return err
		}
	}
	flags := c.options.Operator
	if c.options.Provider != "" {
		if flags, err = c.startProvider(ctx); err != nil {
			return err
		}
	}
	if len(flags) > 0 {
		c.operator, err = c.startOperator(ctx, flags)
	}
	return err
}

// StopServer stops the API server the way a crash does. What it has answered is kept.
func (c *Cluster) StopServer() { c.server.stop() }

// StartServer starts the API server again, where it was.
func (c *Cluster) StartServer(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.serve(ctx); err != nil {
		t.Fatalf("starting the API server again: %s", err)
	}
}

func (c *Cluster) serve(ctx context.Context) (err error) {
	if c.server, err = c.command(server, c.serverFlags()); err != nil {
		return err
	}
	return c.awaitServer(ctx)
}

// stop needs no grace: nobody reads what is left.
func (c *Cluster) stop() {
	c.kubelet.stopAll()
	for _, p := range []*process{c.operator, c.provider, c.manager, c.server, c.etcd} {
		p.stop()
	}
	_ = os.RemoveAll(c.dir)
}

// command starts one of the commands. Its log is a file beside its data.
func (c *Cluster) command(name string, flags []string) (*process, error) {
	var environment []string
	if name == etcd || name == server || name == manager {
		// Collecting garbage is a third of their work: 2.7 s of CPU of a start instead of 2.0 s, with GOGC=200.
		environment = []string{"GOGC=800", "GOMEMLIMIT=1GiB"}
	}
	return startProcess(c.commands[name], filepath.Join(c.dir, name+".log"), environment, flags)
}

func (c *Cluster) etcdFlags() []string {
	url := c.etcdURL()
	return []string{
		"--data-dir=" + c.data(),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=http://" + host + ":0", // it has no peers
		"--unsafe-no-fsync",                        // no data of a test outlives its machine
		"--log-level=warn",
	}
}

func (c *Cluster) serverFlags() []string {
	return append([]string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=" + host,
		"--secure-port=" + strconv.Itoa(c.port),
		// The Service "kubernetes" cannot point at loopback, and a machine may have no other
		// address: this one is for documentation, and nobody's.
		"--advertise-address=192.0.2.1",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + c.authority.path("server.crt"),
		"--tls-private-key-file=" + c.authority.path("server.key"),
		"--token-auth-file=" + c.authority.path("tokens.csv"),
		"--service-account-key-file=" + c.authority.path("accounts.key"),
		"--service-account-signing-key-file=" + c.authority.path("accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		// Pods of a test need no token, and nobody might be there to make them an account.
		"--disable-admission-plugins=ServiceAccount",
	}, c.options.Flags...)
}

func (c *Cluster) managerFlags() []string {
	return []string{
		"--kubeconfig=" + c.Kubeconfig,
		"--controllers=" + strings.Join(c.options.Controllers, ","),
		"--leader-elect=false",
		"--secure-port=0", // nobody asks for its metrics
		"--service-account-private-key-file=" + c.authority.path("accounts.key"),
		"--root-ca-file=" + c.authority.path("ca.crt"),
	}
}

func (c *Cluster) etcdURL() string { return "http://" + host + ":" + strconv.Itoa(c.etcdPort) }

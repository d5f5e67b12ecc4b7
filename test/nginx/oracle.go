package nginx

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// This file runs nginx.

//go:embed front.lua
var front []byte

// root is where `make nginx` unpacks the packages, seen from this package.
const root = "../../.cache/nginx"

// patience is how long nginx may take to answer. A busy machine is slow, not broken.
const patience = 30 * time.Second

// ErrConfiguration is a configuration that nginx refuses to load. ingress-nginx would go on with its last good one.
var ErrConfiguration = errors.New("nginx refuses the configuration")

// ErrUnsupported is a cluster with something that the oracle does not do.
var ErrUnsupported = errors.New("the oracle does not do this")

// An Oracle is a running nginx.
type Oracle struct {
	// Seed draws for canaries by weight and for pods; it is set before a cluster is loaded.
	Seed uint64

	// Locations are all of nginx's that an answer may come from.
	Locations []Location

	// Upstreams are the Services behind the names of upstreams, as namespace/name:port.
	Upstreams map[string]string

	places  places
	config  configuration
	process *exec.Cmd
	pods    *pods
	said    *bytes.Buffer
	ended   chan struct{}
	mu      sync.Mutex
	idle    map[origins][]*connection
}

// New runs nginx for a cluster as long as a test runs.
func New(t testing.TB, c Cluster) *Oracle {
	t.Helper()
	o := &Oracle{Seed: 1}
	t.Cleanup(o.stop)
	if err := o.Load(c); err != nil {
		t.Fatal(err)
	}
	return o
}

// Idle is an oracle that serves no cluster yet.
func Idle(t testing.TB) *Oracle {
	t.Helper()
	o := &Oracle{Seed: 1}
	t.Cleanup(o.stop)
	return o
}

// Load serves another cluster.
func (o *Oracle) Load(c Cluster) error {
	o.stop()
	absolute, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(absolute, "usr/sbin/nginx")); err != nil {
		return fmt.Errorf("looking for nginx: %w: `make nginx` unpacks it", err)
	}
	folder, err := os.MkdirTemp("", "nginx") // a socket's path is short
	if err != nil {
		return err
	}
	o.places = places{folder: folder}
	if o.pods, err = servePods(folder); err != nil {
		return err
	}
	listeners, err := o.listen()
	if err != nil {
		return err
	}
	defer func() {
		for _, file := range listeners {
			_ = file.Close()
		}
	}()
	if err := o.write(absolute, c.world()); err != nil {
		return err
	}
	return o.start(absolute, listeners)
}

// listen takes two free ports, which nginx inherits: there is no moment in which another process could take them.
func (o *Oracle) listen() ([]*os.File, error) {
	var files []*os.File
	for _, port := range []*int{&o.places.http, &o.places.https} {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		tcp, ok := listener.(*net.TCPListener)
		if !ok {
			return nil, fmt.Errorf("%T is no TCP listener", listener)
		}
		if address, ok := tcp.Addr().(*net.TCPAddr); ok {
			*port = address.Port
		}
		file, err := tcp.File()
		if err != nil {
			return nil, err
		}
		if err := tcp.Close(); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// write is the whole folder of one nginx.
func (o *Oracle) write(packages string, w *world) error {
	out := &writer{world: w, places: o.places}
	out.head(packages)
	out.world = w
	out.configuration()
	out.file("nginx.conf", []byte(out.String()))
	out.file("front.lua", front)
	out.file("world.lua", []byte(w.lua(o.Seed, os.Getpid())))
	out.file("pair.pem", ownPair())
	if out.err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, out.err)
	}
	o.Locations, o.config, o.Upstreams = out.locations, w.config, map[string]string{}
	for _, u := range w.upstreams {
		o.Upstreams[u.name] = u.service + ":" + u.port
	}
	for _, u := range w.defaults {
		o.Upstreams[u.name] = u.service + ":" + u.port
	}
	return nil
}

// head is what nginx needs to run here: modules, files, pods.
func (w *writer) head(packages string) {
	for _, module := range []string{"ndk_http_module", "ngx_http_lua_module", "ngx_http_headers_more_filter_module"} {
		w.line("load_module %s/usr/lib/nginx/modules/%s.so;", packages, module)
	}
	if os.Geteuid() == 0 {
		w.line("user root;")
	}
	// A process alone cannot inherit a listener.
	w.line("daemon off; worker_processes 1; pid %s/pid; error_log stderr error;", w.folder)
	w.line("events { worker_connections 1024; }\nhttp {\naccess_log off; default_type text/html;")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		w.line("%s_temp_path %s/%s;", kind, w.folder, kind)
	}
	w.line("lua_package_path \"%s/?.lua;%s/usr/share/lua/5.1/?.lua;;\";", w.folder, packages)
	w.line("init_by_lua_block { front = require(\"front\") }\ninit_worker_by_lua_block { front.start() }")
	w.line("keepalive_timeout 600s; keepalive_requests 1000000; client_header_buffer_size 1k; large_client_header_buffers 4 8k;")
	w.line("server_names_hash_max_size 4096; server_names_hash_bucket_size 1024; variables_hash_max_size 4096; map_hash_bucket_size 512;")
	w.line("proxy_headers_hash_max_size 1024; proxy_headers_hash_bucket_size 128; uninitialized_variable_warn off;")
	w.line("ssl_certificate %s/pair.pem; ssl_certificate_key %s/pair.pem; ssl_session_cache shared:tls:1m;", w.folder, w.folder)
	w.line("proxy_http_version 1.1; proxy_buffer_size 64k; proxy_buffers 4 64k; proxy_busy_buffers_size 128k;")
	for _, name := range sockets {
		w.line("upstream %s { server unix:%s/%s; keepalive 64; keepalive_requests 1000000; }", name, w.folder, name)
	}
}

var ownPair = sync.OnceValue(func() []byte {
	certificate, key := newPair("oracle")
	return slices.Concat(certificate, key)
})

// newPair is a certificate for names and its key, as PEM.
func newPair(names ...string) (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// start runs nginx, and waits until it answers.
func (o *Oracle) start(packages string, listeners []*os.File) error {
	library := os.Getenv("LD_LIBRARY_PATH")
	for _, folder := range []string{"usr/lib", "lib"} {
		found, err := filepath.Glob(filepath.Join(packages, folder, "*-linux-gnu"))
		if err != nil {
			return err
		}
		for _, one := range found {
			library = one + ":" + library
		}
	}
	o.said, o.ended, o.idle = &bytes.Buffer{}, make(chan struct{}), map[origins][]*connection{}
	//nolint:noctx,gosec // stop ends what `make nginx` has unpacked
	o.process = exec.Command(filepath.Join(packages, "usr/sbin/nginx"), "-p", o.places.folder, "-c", "nginx.conf", "-e", "stderr")
	o.process.Env = append(os.Environ(), "NGINX=3;4;", "LD_LIBRARY_PATH="+library)
	o.process.Stderr, o.process.ExtraFiles = o.said, listeners
	if err := o.process.Start(); err != nil {
		return err
	}
	for _, file := range listeners {
		_ = file.Close()
	}
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait()
		close(ended)
	}(o.process, o.ended)
	// It listens already: the first answer comes when it has read its configuration.
	if answer := o.Ask(Request{Target: "/healthz", Host: "oracle.invalid"}); answer.Refused != "" {
		select {
		case <-o.ended:
			return fmt.Errorf("%w: %s", ErrConfiguration, o.said)
		case <-time.After(patience):
			return fmt.Errorf("nginx does not answer: %s", answer.Refused)
		}
	}
	return nil
}

func (o *Oracle) stop() {
	o.mu.Lock()
	for _, all := range o.idle {
		for _, c := range all {
			_ = c.Close()
		}
	}
	o.idle = map[origins][]*connection{}
	o.mu.Unlock()
	if o.process != nil {
		_ = o.process.Process.Signal(syscall.SIGTERM) // its worker ends with it
		<-o.ended
		o.process = nil
	}
	if o.pods != nil {
		o.pods.close()
	}
	if o.places.folder != "" {
		_ = os.RemoveAll(o.places.folder)
	}
}

// Configuration is the configuration that nginx has loaded.
func (o *Oracle) Configuration() (string, error) {
	text, err := os.ReadFile(filepath.Join(o.places.folder, "nginx.conf"))
	return string(text), err
}

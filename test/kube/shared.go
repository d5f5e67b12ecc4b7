package kube

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// This file shares one control plane among the tests of a package, for starting one takes seconds.

// shared starts when the first test asks for it: a run of other tests, or of none, needs none.
var shared struct {
	sync.Mutex
	options Options
	inMain  bool
	started bool
	cluster *Cluster
	err     error
}

// Main runs the tests of a package that share a control plane. It is all there is to TestMain:
//
//	func TestMain(m *testing.M) { kube.Main(m, kube.Options{}) }
//
// Where Pods run, so do the tests in a network namespace of their own, and what else they start.
func Main(m *testing.M, o Options) {
	if o.Pods {
		if code, outside, err := enterNamespace(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		} else if outside {
			os.Exit(code)
		}
	}
	shared.options, shared.inMain = o, true
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	for _, c := range spares.clusters {
		c.stop()
	}
	os.Exit(code)
}

// IsInside reports whether a variable of the environment marks what runs in that namespace. A
// command that is started without it makes one of its own.
func IsInside(variable string) bool { return strings.HasPrefix(variable, inside+"=") }

// Shared is the control plane of the package. It is for tests that keep to their own namespaces,
// and clean up what has none: what watches all namespaces sees those of the other tests.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	skipShort(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.inMain {
		t.Fatal("the package's TestMain has to call kube.Main, or nobody stops what is shared")
	}
	if !shared.started {
		shared.started = true
		shared.cluster, shared.err = start(shared.options)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// skipShort skips a test where only those are asked for that need no control plane: `go test
// -short`.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no control plane")
	}
}

package controllers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/keypair"
	"fairlead.dev/fairlead/test/kube"
)

// TestLogsSayWhatTheyAreAbout reads every line that an operator logs at its most talkative, while
// all kinds of things go wrong.
func TestLogsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	said := &logs{}
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	w.cloud.no.Store(&refusal{"denied.example", fmt.Errorf("%w: no such rights", providers.ErrDenied)})
	w.run(func(s *settings) { s.manager.Logger = logr.FromSlogHandler(slog.NewJSONHandler(said, options)) })

	w.serve("web", "web-1")
	pair := keypair.Data(keypair.For(t, "shop.example"))
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}, Type: corev1.SecretTypeTLS, Data: pair})
	shop, bad := w.ask("shop", "shop.example", "/", "web"), w.ask("bad", "bad.example", "/", "web")
	shop.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"shop.example"}, SecretName: "shop"}}
	bad.Annotations["fairlead.dev/health-check-path"] = "not a path"
	w.create(shop, bad, w.ask("denied", "denied.example", "/", "web"), w.ask("missing", "missing.example", "/", "not-there"))
	w.answers("shop", "http://shop.example/", "web-1")
	w.told("bad", "AnnotationInvalid")
	w.told("missing", "ServiceMissing")
	w.eventually(func() error {
		return noError(strings.Contains(said.String(), "no such rights"), "nothing was said of what the cloud denies")
	})
	w.stop()

	failures := map[string]int{} // by reconcile
	var told []string
	for line := range strings.Lines(said.String()) {
		fields := fieldsOf(t, line)
		about := fields["loadBalancer"] + fields["ingress"]
		if fields["reconcileID"] != "" && about == "" {
			t.Errorf("it does not say which load balancer or Ingress it is about: %s", line)
		}
		if fields["msg"] == "reported to an Ingress" {
			told = append(told, strings.TrimPrefix(fields["ingress"], w.namespace+"/")+" "+fields["reason"])
		}
		if strings.Contains(fields["err"]+fields["why"], "no such rights") {
			failures[fields["reconcileID"]]++
		}
		if strings.Contains(line, ".go:") || strings.Contains(line, "goroutine") {
			t.Errorf("a stack trace: %s", line)
		}
	}
	for id, n := range failures {
		if n > 1 {
			t.Errorf("reconcile %s says %d times that the cloud denies something", id, n)
		}
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{"bad AnnotationInvalid", "denied ChangeWaits", "missing ServiceMissing"}, told); diff != "" {
		t.Errorf("what Ingresses are told (-want +logged):\n%s", diff)
	}
	key := strings.Split(string(pair["tls.key"]), "\n")[1]
	for _, secret := range []string{key, "PRIVATE KEY", base64.StdEncoding.EncodeToString(pair["tls.key"])[:40]} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the logs hold %q", secret)
		}
	}
}

// TestAFailureIsLoggedOnce has the cloud fail again and again, each time about another request.
func TestAFailureIsLoggedOnce(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	said := &logs{}
	var tried atomic.Int32
	w.cloud.look.Store(new(func(*lb.Observed) (*lb.Observed, error) {
		return nil, fmt.Errorf("timeout of request %d", tried.Add(1))
	}))
	w.run(func(s *settings) { s.manager.Logger = logr.FromSlogHandler(slog.NewJSONHandler(said, nil)) })
	w.serve("web", "web-1")
	w.create(w.ask("shop", "shop.example", "/", "web"))
	w.eventually(func() error { return noError(tried.Load() > 3, "it was tried %d times", tried.Load()) })
	w.cloud.look.Store(nil)
	w.answers("shop", "http://shop.example/", "web-1")
	w.eventually(func() error {
		return noError(strings.Contains(said.String(), "reconciled after a failure"), "nobody hears that it is over:\n%s", said)
	})
	w.stop()
	if n := strings.Count(said.String(), `"level":"ERROR"`); n != 1 {
		t.Errorf("a failure is logged %d times:\n%s", n, said)
	}
}

// fieldsOf are the fields of a line that are texts. One that is there twice is an error: who reads
// the line sees only one of them.
func fieldsOf(t *testing.T, line string) map[string]string {
	t.Helper()
	out, seen := map[string]string{}, map[string]bool{}
	d := json.NewDecoder(strings.NewReader(line))
	if _, err := d.Token(); err != nil {
		t.Fatalf("%s: %s", err, line)
	}
	for d.More() {
		name, err := d.Token()
		var value any
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			t.Fatalf("%s: %s", err, line)
		}
		if seen[name.(string)] {
			t.Errorf("%s is there twice: %s", name, line)
		}
		seen[name.(string)] = true
		if text, ok := value.(string); ok {
			out[name.(string)] = text
		}
	}
	return out
}

// logs can be read while they are written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

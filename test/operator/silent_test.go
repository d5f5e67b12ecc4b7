package operator

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/test/kube"
)

// This file has AWS accept calls and never answer them, as a path through a NAT gateway does that
// lost its state.

// alone is an Ingress of a number on a load balancer of its own.
func (w *world) alone(i int) *networkingv1.Ingress {
	ing := w.ingress(site(i), backend(i), "/")
	ing.Annotations = nil
	return ing
}

// answers is what is answered for the host of an Ingress where its status says; "" before it says
// so.
func (w *world) answers(t *testing.T, i int) string {
	t.Helper()
	at := w.hostname(t, site(i))
	if at == "" {
		return ""
	}
	return w.listening(t, at).answer(request{port: 80, host: hostOf(i), path: "/"})
}

// behindOf reports whether a pod of a Service answers for an Ingress.
func (w *world) behindOf(t *testing.T, i, service int) bool {
	t.Helper()
	return strings.HasPrefix(w.answers(t, i), fmt.Sprintf("10.0.%d.", 110+service))
}

// nameOf is the name of the load balancer of an Ingress.
func (w *world) nameOf(t *testing.T, i int) string {
	t.Helper()
	out, err := w.elb.DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range out.LoadBalancers {
		if aws.ToString(b.DNSName) == w.hostname(t, site(i)) {
			return aws.ToString(b.LoadBalancerName)
		}
	}
	t.Fatalf("%s has no load balancer", site(i))
	return ""
}

// An endpoint that answers the calls of some load balancers only holds up none of the others. The
// log and a metric say what is waited for. A process that is told to stop ends, and once there are
// answers all is done without a restart.
func TestAnEndpointThatNeverAnswersHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	const n = 6 // more than there are workers
	w := newWorld(t, simulated(t))
	metrics := freeAddress(t)
	w.flags = []string{"--workers=2", "--cloud-attempt-timeout=32s", "--cloud-call-timeout=45s", "--shutdown-timeout=4s", "--metrics-bind-address=" + metrics}
	for i := range n {
		w.serve(t, backend(i), pods(i, 1)...)
		w.create(t, w.alone(i))
	}
	w.replace(t)
	served := func(i int) bool { return w.behindOf(t, i, i) }
	kube.Eventually(t, "all are served", func() bool { return allOf(n, served) && w.proxy.quiet() > rest })

	// The changes of three load balancers are not answered.
	const silent = 3
	var names []string
	for i := range silent {
		names = append(names, w.nameOf(t, i))
	}
	begun := time.Now()
	w.proxy.silence(func(operation string, body []byte) bool {
		named := false
		for _, name := range names {
			named = named || strings.Contains(string(body), name)
		}
		return named && !looking.MatchString(operation)
	})
	for i := range n {
		w.point(t, site(i), backend((i+1)%n))
	}
	w.serve(t, backend(n), pods(n, 1)...)
	w.create(t, w.alone(n))
	kube.Eventually(t, "those that are answered are done", func() bool {
		return allOf(n, func(i int) bool { return i < silent || w.behindOf(t, i, (i+1)%n) }) && served(n)
	})
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("they took %s, as if they waited for the others", took)
	}
	if w.proxy.holding() < silent || !allOf(silent, served) {
		t.Errorf("%d calls are held, of %d load balancers", w.proxy.holding(), silent)
	}
	kube.Eventually(t, "the log and a metric say what is waited for", func() bool {
		return strings.Contains(w.said(t), "waits for an answer of the cloud") && gauge(t, metrics, "fairlead_provider_call_oldest_seconds") > 29
	})

	w.proxy.silence(nil)
	kube.Eventually(t, "all is done once there are answers", func() bool {
		return allOf(n, func(i int) bool { return w.behindOf(t, i, (i+1)%n) })
	})

	// Nothing is answered any more, and the operator is told to stop.
	w.proxy.silence(func(string, []byte) bool { return true })
	w.point(t, site(0), backend(0))
	kube.Eventually(t, "a call is not answered", func() bool { return w.proxy.holding() > 0 })
	told := time.Now()
	if err := syscall.Kill(w.replica.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the operator ends", func() bool { return errors.Is(syscall.Kill(w.replica.PID(), 0), syscall.ESRCH) })
	if took := time.Since(told); took > 15*time.Second {
		t.Errorf("it took %s to end, and --shutdown-timeout is 4s", took)
	}
	w.proxy.silence(nil)
	w.replace(t)
	kube.Eventually(t, "the next one does what was asked for", func() bool { return served(0) })
}

func allOf(n int, holds func(int) bool) bool {
	for i := range n {
		if !holds(i) {
			return false
		}
	}
	return true
}

// freeAddress is an address of loopback at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// gauge is the value of a metric without labels; -1 where there is none.
func gauge(t *testing.T, at, name string) float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return -1
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

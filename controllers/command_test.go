package controllers_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

func TestTheCommandServesUntilItIsToldToStop(t *testing.T) {
	cluster := kube.Shared(t)
	c, err := client.New(cluster.Config, client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: c, cluster: cluster, namespace: cluster.Namespace(t)}
	w.class = w.namespace
	w.create(&networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.class},
		Spec:       networkingv1.IngressClassSpec{Controller: "fairlead.dev/ingress"},
	})
	w.create(w.ask("shop", "shop.example", "/", "web"))

	with := cli.Providers{Live: map[string]func(context.Context, cli.LiveOptions) (cli.Live, error){
		"fake": func(_ context.Context, o cli.LiveOptions) (cli.Live, error) {
			cloud, err := fake.New(fake.Options{State: o.State})
			return cli.Lives{Local: cloud}, err
		},
	}}
	profiles := w.freePort()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var logs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, []string{
			"run", "--kubeconfig", cluster.Kubeconfig, "--namespace", w.namespace, "--secrets", "labelled",
			"--leader-elect", "--leader-elect-namespace", w.namespace, "--fake-state", t.TempDir() + "/state",
			"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--log-format", "console",
			"--pprof-bind-address", profiles,
		}, with, cli.Streams{Out: &logs, Err: &logs})
	}()
	w.eventually(func() error {
		return noError(len(w.ingress("shop").Status.LoadBalancer.Ingress) > 0, "it has no status yet")
	})
	if err := w.get(http.DefaultTransport, "http://"+profiles+"/debug/pprof/goroutine?debug=1", "goroutine profile:"); err != nil {
		t.Error(err)
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d\n%s", got, logs.String())
	}
	if !strings.Contains(logs.String(), "changed the load balancer") {
		t.Errorf("the logs say nothing of it:\n%s", logs.String())
	}
}

// freePort is an address that nobody listens at.
func (w *world) freePort() string {
	w.Helper()
	l, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

package controllers_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file is what the tests of the operator stand on: a real API server, a cloud whose data plane
// is real too, and pods that are handlers.

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())                         // the client library's
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait, most of the time
		panic(err)
	}
	kube.Main(m, kube.Options{})
}

// A world is a namespace with an operator that looks after it and a class of its own.
type world struct {
	*testing.T
	client.Client
	cluster   *kube.Cluster
	namespace string
	class     string
	cloud     *meter
	gate      gate
	stop      func() // stops the operator and waits for its end
}

// newWorld is a world beside others: tests that have one spend most of their time waiting.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := emptyWorld(t, kube.Shared(t))
	w.run()
	return w
}

// emptyWorld is a world whose operator has yet to run.
func emptyWorld(t *testing.T, kubernetes *kube.Cluster, edits ...func(*fake.Options)) *world {
	t.Helper()
	c, err := client.New(kubernetes.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	namespace := kubernetes.Namespace(t)
	options := fake.Options{Serve: true, CheckEvery: 20 * time.Millisecond}
	for _, edit := range edits {
		edit(&options)
	}
	cloud, err := fake.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	w := &world{T: t, Client: c, cluster: kubernetes, namespace: namespace, class: namespace, cloud: &meter{Cloud: cloud}}
	w.create(&networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.class},
		Spec:       networkingv1.IngressClassSpec{Controller: ingress.ControllerName},
	})
	return w
}

// run starts an operator with the usual options, or other ones. It ends with the test at the
// latest.
func (w *world) run(edits ...func(*settings)) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := w.start(ctx, edits...)
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
		w.stop = func() {}
	}
	w.Cleanup(func() { w.stop() })
}

// settings are the options of an operator and of what runs it.
type settings struct {
	manager  manager.Options
	operator controllers.Options
}

// start starts an operator that runs until the context ends, or it does by itself.
func (w *world) start(ctx context.Context, edits ...func(*settings)) <-chan error {
	w.Helper()
	s := settings{
		manager: manager.Options{
			Scheme:  cluster.NewScheme(),
			Logger:  logr.Discard(),
			Metrics: metricsserver.Options{BindAddress: "0"},
			Cache:   cluster.Cache(cluster.SecretsAll, w.namespace),
		},
		operator: controllers.Options{Cloud: w.cloud, Namespace: w.namespace, OrphanInterval: 500 * time.Millisecond},
	}
	for _, edit := range edits {
		edit(&s)
	}
	config := rest.CopyConfig(w.cluster.Config)
	config.Wrap(w.gate.around)
	m, err := manager.New(config, s.manager)
	if err != nil {
		w.Fatal(err)
	}
	if err := controllers.Add(ctx, m, s.operator); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	return ended
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}

// ingress reads one.
func (w *world) ingress(name string) *networkingv1.Ingress {
	w.Helper()
	ing := &networkingv1.Ingress{}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, ing); err != nil {
		w.Fatal(err)
	}
	return ing
}

// change edits an Ingress.
func (w *world) change(name string, edit func(*networkingv1.Ingress)) {
	w.Helper()
	ing := w.ingress(name)
	before := ing.DeepCopy()
	if ing.Annotations == nil {
		ing.Annotations = map[string]string{}
	}
	edit(ing)
	if err := w.Patch(w.Context(), ing, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// ask is an Ingress of the world's class that sends a path of a host to port 80 of a Service.
func (w *world) ask(name, host, path, service string) *networkingv1.Ingress {
	prefix := networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: map[string]string{}},
		Spec: networkingv1.IngressSpec{
			IngressClassName: new(w.class),
			Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &prefix, Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}},
				}}},
			}}}},
		},
	}
}

// serve makes a Service with pods that answer with their own names.
func (w *world) serve(service string, pods ...string) {
	w.Helper()
	w.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	})
	for _, p := range pods {
		w.create(w.pod(service, p))
	}
}

// addresses that pods have had.
var addresses atomic.Int32

// listen starts what answers with its own name, at an address that nobody else has; a port of zero
// is any.
func (w *world) listen(name string, port int32) (address string, on int32) {
	w.Helper()
	n := addresses.Add(1)
	address = fmt.Sprintf("%d.%d", n/250, 1+n%250)
	listener, err := net.Listen("tcp", net.JoinHostPort(podsListenIn+address, strconv.Itoa(int(port))))
	if err != nil {
		w.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, name)
	})}}
	server.Start()
	w.Cleanup(server.Close)
	return podsKnownIn + address, int32(listener.Addr().(*net.TCPAddr).Port)
}

// pod starts one and is its EndpointSlice.
func (w *world) pod(service, name string) *discoveryv1.EndpointSlice {
	w.Helper()
	slice := w.endpoint(service, name)
	kube.Pod(w.T, w, w.namespace, name, slice.Endpoints[0].Addresses[0])
	slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: name}
	return slice
}

// endpoint starts what is no Pod, and is its EndpointSlice.
func (w *world) endpoint(service, name string) *discoveryv1.EndpointSlice {
	w.Helper()
	address, port := w.listen(name, 0)
	ready := true
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(string), Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	}
}

// The API server takes no loopback addresses for endpoints, and pods here have no others.
const podsKnownIn, podsListenIn = "10.244.", "127.244."

// A meter is a cloud that counts what is written, reaches pods where they are and can say no.
type meter struct {
	*fake.Cloud
	writes   atomic.Int32
	observed atomic.Int32
	inactive atomic.Int32 // how often a load balancer is asked about before it is active
	refused  atomic.Int32
	no       atomic.Pointer[refusal]
	look     atomic.Pointer[func(*lb.Observed) (*lb.Observed, error)] // what a look comes back as
	list     atomic.Pointer[func([]lb.Key) ([]lb.Key, error)]
	mute     atomic.Pointer[error] // what questions are answered with
	asked    atomic.Int32          // how often the health of targets is asked for
	sick     atomic.Pointer[func(lb.Key, []lb.TargetHealth)]
}

// A refusal is what a cloud says to steps whose name and detail hold a text.
type refusal struct {
	to  string
	err error
}

func (m *meter) Observe(ctx context.Context, key lb.Key, deep bool) (*lb.Observed, error) {
	m.observed.Add(1)
	seen, err := m.Cloud.Observe(ctx, key, deep)
	if look := m.look.Load(); look != nil && err == nil {
		return (*look)(seen)
	}
	return seen, err
}

func (m *meter) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if err := m.mute.Load(); err != nil {
		return lb.Facts{}, *err
	}
	return m.Cloud.Lookup(ctx, q)
}

func (m *meter) List(ctx context.Context) ([]lb.Key, error) {
	keys, err := m.Cloud.List(ctx)
	if list := m.list.Load(); list != nil && err == nil {
		return (*list)(keys)
	}
	return keys, err
}

func (m *meter) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	if _, waits := step.(plan.AwaitTargets); !waits { // which changes nothing
		m.writes.Add(1)
	}
	if no := m.no.Load(); no != nil && strings.Contains(step.Op()+" "+step.Detail(), no.to) {
		m.refused.Add(1)
		return plan.Result{}, no.err
	}
	if s, ok := step.(plan.RegisterTargets); ok {
		s.Targets = translate(s.Targets, podsKnownIn, podsListenIn)
		step = s
	}
	result, err := m.Cloud.Apply(ctx, seen, step)
	result.Active = result.Active && m.inactive.Load() == 0
	return result, err
}

func (m *meter) Active(context.Context, *lb.Observed) (bool, error) {
	return m.inactive.Add(-1) <= 0, nil
}

func (m *meter) SetTargets(ctx context.Context, key lb.Key, group lb.GroupID, want []lb.Target) error {
	m.writes.Add(1)
	there, err := m.Cloud.Targets(ctx, key, group)
	if err != nil {
		return err
	}
	own := []lb.Target{} // as the cloud knows them
	for _, h := range there {
		if providers.MayRemove(ctx, translate([]lb.Target{h.Target}, podsListenIn, podsKnownIn)[0]) {
			own = append(own, h.Target)
		}
	}
	return m.Cloud.SetTargets(providers.WithOwn(ctx, own), key, group, translate(want, podsKnownIn, podsListenIn))
}

func (m *meter) Targets(ctx context.Context, key lb.Key, group lb.GroupID) ([]lb.TargetHealth, error) {
	healths, err := m.Cloud.Targets(ctx, key, group)
	for i := range healths {
		healths[i].Target = translate([]lb.Target{healths[i].Target}, podsListenIn, podsKnownIn)[0]
	}
	m.asked.Add(1)
	if sick := m.sick.Load(); sick != nil {
		(*sick)(key, healths)
	}
	return healths, err
}

func translate(targets []lb.Target, from, to string) []lb.Target {
	var out []lb.Target
	for _, t := range targets {
		if rest, ok := strings.CutPrefix(t.Address, from); ok {
			t.Address = to + rest
		}
		out = append(out, t)
	}
	return out
}

// eventually tries until there is no error.
func (w *world) eventually(try func() error) {
	w.Helper()
	deadline := time.Now().Add(time.Minute) // the machine may be busy with other tests
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// calm waits until nothing has been written to the cloud for a while.
func (w *world) calm() {
	w.Helper()
	last, since := w.cloud.writes.Load(), time.Now()
	w.eventually(func() error {
		if n := w.cloud.writes.Load(); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < 1500*time.Millisecond {
			return errors.New("the cloud is still being written to")
		}
		return nil
	})
}

// answers waits until a URL is answered with a text at the address in an Ingress's status.
func (w *world) answers(ingress, url, want string) {
	w.Helper()
	w.eventually(func() error {
		entries := w.ingress(ingress).Status.LoadBalancer.Ingress
		if len(entries) == 0 {
			return fmt.Errorf("Ingress %s has no status", ingress)
		}
		return w.request(entries[0].IP, url, want)
	})
}

// request checks one answer of the load balancer that has an address.
func (w *world) request(ip, url, want string) error {
	transport := w.dials(ip)
	defer transport.CloseIdleConnections()
	return w.get(transport, url, want)
}

// get checks one answer.
func (w *world) get(through http.RoundTripper, url, want string) error {
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := through.RoundTrip(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(body)); !strings.HasPrefix(got, want) {
		return fmt.Errorf("%s is answered %d %q, want %q", url, response.StatusCode, got, want)
	}
	return nil
}

// load makes requests, each again and again, until it is ended, which returns how many there were.
// The test fails with the first that does.
func (w *world) load(requests ...func() error) (end func() int) {
	var (
		count   atomic.Int32
		workers sync.WaitGroup
		ended   = make(chan struct{})
	)
	for _, request := range requests {
		workers.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				count.Add(1)
				if err := request(); err != nil && w.Context().Err() == nil {
					w.Errorf("request %d fails: %s", count.Load(), err)
					return
				}
			}
		})
	}
	end = sync.OnceValue(func() int {
		close(ended)
		workers.Wait()
		return int(count.Load())
	})
	w.Cleanup(func() { end() })
	return end
}

// address is where an Ingress is reached, by its status.
func (w *world) address(ingress string) string {
	w.Helper()
	entries := w.ingress(ingress).Status.LoadBalancer.Ingress
	if len(entries) == 0 {
		w.Fatalf("Ingress %s has no status", ingress)
	}
	return entries[0].IP
}

// dials connects to the load balancer that has an address, whatever a URL says. It believes every
// certificate.
func (w *world) dials(ip string) *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, url string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(url)
			if err != nil {
				return nil, err
			}
			if port, err = w.portOf(ip, port); err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(ip, port))
		},
	}
}

// portOf is where a port of a load balancer is really reached.
func (w *world) portOf(ip, port string) (string, error) {
	keys, err := w.cloud.Cloud.List(w.Context())
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		o, err := w.cloud.Cloud.Observe(w.Context(), key, false)
		if err != nil {
			return "", err
		}
		if slices.Contains(o.Address.IPs, ip) {
			return strconv.Itoa(int(cmp.Or(o.Address.Ports[int32(number)], int32(number)))), nil
		}
	}
	return "", fmt.Errorf("no load balancer has the address %s", ip)
}

// gone waits until nothing is left in the cloud.
func (w *world) gone() {
	w.Helper()
	w.eventually(func() error {
		keys, err := w.cloud.Cloud.List(w.Context())
		if err == nil && len(keys) > 0 {
			err = fmt.Errorf("%v are still there", keys)
		}
		return err
	})
}

func noError(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// balancer is the LoadBalancer of an Ingress without a group.
func (w *world) balancer(ingress string) *v1alpha1.LoadBalancer {
	w.Helper()
	return w.report(w.reportName(ingress))
}

// report reads a LoadBalancer, once it is there.
func (w *world) report(name string) *v1alpha1.LoadBalancer {
	w.Helper()
	balancer := &v1alpha1.LoadBalancer{}
	w.eventually(func() error {
		if err := w.Get(w.Context(), client.ObjectKey{Name: name}, balancer); err != nil {
			return err
		}
		return noError(len(balancer.Status.Conditions) > 0, "LoadBalancer %s has no status yet", name)
	})
	return balancer
}

// reportName is the name of the LoadBalancer of an Ingress without a group.
func (w *world) reportName(ingress string) string {
	return v1alpha1.Name(strings.Join([]string{w.class, w.namespace, ingress, v1alpha1.SchemeInternal}, "/"), w.namespace)
}

// reasons are those of all events about an Ingress, sorted.
func (w *world) reasons(ingress string) []string {
	w.Helper()
	var out []string
	for _, e := range w.events() {
		if e.Regarding.Name == ingress {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return out
}

// events are those about Ingresses.
func (w *world) events() []eventsv1.Event {
	w.Helper()
	return slices.DeleteFunc(w.allEvents(), func(e eventsv1.Event) bool { return e.Regarding.Kind != "Ingress" })
}

func (w *world) allEvents() []eventsv1.Event {
	w.Helper()
	var list eventsv1.EventList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// eventOf waits for an event about an object, and checks that there is one of the kind.
func (w *world) eventOf(kind, name, reason string) eventsv1.Event {
	w.Helper()
	var found []eventsv1.Event
	w.eventually(func() error {
		found = slices.DeleteFunc(w.allEvents(), func(e eventsv1.Event) bool {
			return e.Regarding.Kind != kind || e.Regarding.Name != name || e.Reason != reason
		})
		return noError(len(found) > 0, "%s %s is not told %s", kind, name, reason)
	})
	if len(found) > 1 || found[0].Series != nil {
		w.Errorf("%s %s is told %s more than once: %+v", kind, name, reason, found)
	}
	return found[0]
}

// told waits for an event.
func (w *world) told(ingress, reason string) {
	w.Helper()
	w.eventually(func() error {
		got := w.reasons(ingress)
		return noError(slices.Contains(got, reason), "Ingress %s is told %v, want %s", ingress, got, reason)
	})
}

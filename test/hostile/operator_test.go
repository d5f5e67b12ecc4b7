package hostile

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/kube"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/request"
)

// This file runs cases through the operator, a process of its own, on a real API server and the
// simulator of AWS.

// operatorMemory is the limit of the chart.
const operatorMemory = 512 << 20

// What has to hold does within a while, and then stays so. Four tenants that use up every bound take the operator half a
// minute of CPU, and other tests take the CPU meanwhile.
const (
	soon  = 4 * time.Minute
	stays = 3 * time.Second
)

func TestOperator(t *testing.T) {
	for _, c := range nightly.Some(t, 6, cases(t, operatorStage)) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait, most of the time
			w := newRunning(t, c.options)
			for _, s := range c.stages {
				w.pass(s)
			}
			w.checkMemory()
		})
	}
}

// running is a world with an operator in it.
type running struct {
	*testing.T
	client.Client
	sim     *albsim.Sim
	elb     *elbapi.Client
	replica *kube.Replica
}

func newRunning(t *testing.T, o options) *running {
	t.Helper()
	plane := kube.Start(t, kube.Options{})
	c, err := client.New(plane.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	sim := albsim.New(albsim.Options{})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	w := &running{T: t, Client: c, sim: sim, elb: elbapi.NewFromConfig(sim.Config())}
	for _, name := range []string{"alice", "bob", "carol", "dave", "erin"} {
		w.apply(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	environment := []string{
		"AWS_ENDPOINT_URL=" + server.URL, "AWS_ACCESS_KEY_ID=AKIDOFATEST", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}
	flags := []string{
		"--provider=aws", "--aws-region=" + albsim.Region, "--aws-vpc-id=" + albsim.VPC,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=console",
	}
	w.replica = plane.StartReplicaIn(t, filepath.Join(t.TempDir(), "operator.log"), environment, append(flags, o.Flags...)...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.replica.Log())
		}
	})
	return w
}

// pass goes through one stage of a case.
func (w *running) pass(s stage) {
	w.Helper()
	for _, o := range s.applied {
		w.apply(o)
	}
	for _, name := range s.deleted {
		w.delete(name)
	}
	w.settle(s.holds)
}

// apply makes an object, or changes it to what is given.
func (w *running) apply(o client.Object) {
	w.Helper()
	o = o.DeepCopyObject().(client.Object)
	o.SetCreationTimestamp(metav1.Time{}) // the API server knows it, and which addresses are free
	if service, ok := o.(*corev1.Service); ok && service.Spec.ClusterIP != corev1.ClusterIPNone {
		service.Spec.ClusterIP = ""
	}
	there := o.DeepCopyObject().(client.Object)
	err := w.Get(w.Context(), client.ObjectKeyFromObject(o), there)
	if apierrors.IsNotFound(err) {
		err = w.create(o)
	} else if err == nil {
		o.SetResourceVersion(there.GetResourceVersion())
		o.SetFinalizers(there.GetFinalizers())
		err = w.Update(w.Context(), o)
	}
	if err != nil {
		w.Fatalf("applying %s: %v", named(o), err)
	}
}

// create makes an object. A pod runs at once.
func (w *running) create(o client.Object) error {
	pod, _ := o.(*corev1.Pod)
	var status corev1.PodStatus
	if pod != nil {
		status = pod.Status
	}
	if err := w.Create(w.Context(), o); err != nil || pod == nil {
		return err
	}
	pod.Status = status
	return w.Status().Update(w.Context(), pod)
}

// delete deletes "Ingress alice/a", and waits until it is gone.
func (w *running) delete(name string) {
	w.Helper()
	kind, object, _ := strings.Cut(name, " ")
	o, known := map[string]client.Object{"Ingress": &networkingv1.Ingress{}, "IngressClass": &networkingv1.IngressClass{}}[kind]
	if !known {
		w.Fatalf("no case deletes a %s", kind)
	}
	namespace, rest, namespaced := strings.Cut(object, "/")
	if !namespaced {
		namespace, rest = "", object
	}
	o.SetNamespace(namespace)
	o.SetName(rest)
	if err := w.Delete(w.Context(), o); err != nil {
		w.Fatalf("deleting %s: %v", name, err)
	}
	kube.Eventually(w, name+" is gone", func() bool {
		return apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(o), o))
	})
}

// settle waits until everything holds, and stays so.
func (w *running) settle(holds []expectation) {
	w.Helper()
	if len(holds) == 0 {
		return
	}
	enough, often := time.After(soon), time.NewTicker(100*time.Millisecond)
	defer often.Stop()
	for since := time.Now(); time.Since(since) < stays; <-often.C {
		failed := w.failing(holds)
		if len(failed) == 0 {
			continue
		}
		since = time.Now()
		select {
		case <-enough:
			w.Fatalf("after %s:\n%s", soon, strings.Join(failed, "\n"))
		default:
		}
	}
}

func (w *running) failing(holds []expectation) []string {
	var all []string
	for _, e := range holds {
		if got, ok, err := e.holds(w); err != nil {
			all = append(all, fmt.Sprintf("%s: %v", e.line, err))
		} else if !ok {
			all = append(all, fmt.Sprintf("%s: it is %s", e.line, got))
		}
	}
	return all
}

// checkMemory holds the operator to the most memory that it ever had.
func (w *running) checkMemory() {
	w.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.replica.PID()))
	if err != nil {
		w.Fatalf("the operator does not run any more: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if fields[0] != "VmHWM:" {
			continue
		}
		kib, err := strconv.Atoi(fields[1])
		if err != nil {
			w.Fatal(err)
		}
		w.Logf("the operator took %d MiB at most", kib>>10)
		if kib<<10 > operatorMemory {
			w.Errorf("the operator took %d MiB, of at most %d", kib>>10, operatorMemory>>20)
		}
		return
	}
	w.Fatalf("Linux does not say how much memory the operator took: %s", text)
}

// records are the load balancers that the operator keeps.
func (w *running) records() ([]v1alpha1.LoadBalancer, error) {
	var list v1alpha1.LoadBalancerList
	err := w.List(w.Context(), &list)
	return list.Items, err
}

// record is the load balancer of a key, or the only one; nil where there is none.
func (w *running) record(key string) (*v1alpha1.LoadBalancer, error) {
	all, err := w.records()
	if err != nil {
		return nil, err
	}
	if key == "" && len(all) > 1 {
		return nil, errors.New("there are several load balancers: say on which")
	}
	for _, b := range all {
		if (key == "" || b.Spec.Key == key) && b.Status.Address != "" {
			return &b, nil
		}
	}
	return nil, nil
}

func (w *running) answer(r request.Request) (string, error) {
	b, err := w.record(string(r.On))
	if b == nil || err != nil {
		return nothing, err
	}
	said := w.sim.Ask(b.Status.Address, asked(r), matching.Reading{})
	switch {
	case said.Refused:
		return request.Refused, nil
	case said.Location != "":
		return fmt.Sprintf("redirect %d %s", said.Status, said.Location), nil
	case len(said.Forward) == 0:
		return strconv.Itoa(said.Status), nil
	}
	var services []string
	for _, f := range said.Forward {
		services = append(services, f.Tags["fairlead.dev/target-group"])
	}
	return listed(services), nil
}

// asked is a request as the simulator takes it. It comes from the internet.
func asked(r request.Request) matching.Request {
	host := r.Routing.Hostname()
	out := matching.Request{
		Port: r.Routing.Port, TLS: r.Protocol == "https", SNI: host, Method: r.Method, Host: r.Routing.Host, Path: r.Routing.Path, Query: r.Query,
		Headers: map[string]string{}, Source: "203.0.113.7",
	}
	if r.Routing.Source.IsValid() {
		out.Source = r.Routing.Source.String()
	}
	for name, values := range r.Routing.Header {
		out.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return out
}

// told is what the records say of their Ingresses, and what events say of the others.
func (w *running) told() ([]string, error) {
	balancers, err := w.records()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, b := range balancers {
		for _, d := range b.Status.Diagnostics {
			all = append(all, d.Severity+" "+d.Reason+" "+d.Source)
		}
	}
	var events corev1.EventList
	if err := w.List(w.Context(), &events); err != nil {
		return nil, err
	}
	for _, e := range events.Items {
		about := e.InvolvedObject
		all = append(all, fmt.Sprintf("%s %s %s %s/%s", strings.ToLower(e.Type), e.Reason, about.Kind, about.Namespace, about.Name))
	}
	return all, nil
}

// presented is the Secret whose certificate a client is shown.
func (w *running) presented(port int32, host string) ([]string, error) {
	b, err := w.record("")
	if b == nil || err != nil {
		return nil, err
	}
	shown := w.sim.Ask(b.Status.Address, matching.Request{Port: port, TLS: true, SNI: host, Host: host, Path: "/"}, matching.Reading{}).Certificate
	if shown == "" {
		return nil, nil
	}
	certificate, err := acm.NewFromConfig(w.sim.Config()).GetCertificate(w.Context(), &acm.GetCertificateInput{CertificateArn: &shown})
	if err != nil {
		return nil, err
	}
	var secrets corev1.SecretList
	if err := w.List(w.Context(), &secrets); err != nil {
		return nil, err
	}
	var all []string
	for _, s := range secrets.Items {
		if strings.TrimSpace(string(s.Data[corev1.TLSCertKey])) == strings.TrimSpace(*certificate.Certificate) {
			all = append(all, s.Namespace+"/"+s.Name)
		}
	}
	return all, nil
}

func (w *running) targets(service string) ([]string, error) {
	out, err := w.elb.DescribeTargetGroups(w.Context(), &elbapi.DescribeTargetGroupsInput{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, g := range out.TargetGroups {
		if len(g.LoadBalancerArns) == 0 {
			continue // no rule forwards to it any more
		}
		tags, err := w.elb.DescribeTags(w.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{*g.TargetGroupArn}})
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(tags.TagDescriptions[0].Tags, func(t elb.Tag) bool {
			return aws.ToString(t.Key) == "fairlead.dev/target-group" && aws.ToString(t.Value) == service
		}) {
			continue
		}
		members, err := w.elb.DescribeTargetHealth(w.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		if err != nil {
			return nil, err
		}
		for _, m := range members.TargetHealthDescriptions {
			all = append(all, net.JoinHostPort(*m.Target.Id, strconv.Itoa(int(*m.Target.Port))))
		}
	}
	return all, nil
}

// loadBalancers are those that stand in the cloud, by the key of their record.
func (w *running) loadBalancers() ([]string, error) {
	balancers, err := w.records()
	var all []string
	for _, b := range balancers {
		if b.Status.Address != "" {
			all = append(all, b.Spec.Key)
		}
	}
	return all, err
}

// address is the ports of an Ingress's address, and "no port" for one without.
func (w *running) address(ingress string) ([]string, error) {
	namespace, name, _ := strings.Cut(ingress, "/")
	ing := &networkingv1.Ingress{}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, ing); err != nil {
		return nil, err
	}
	var all []string
	for _, at := range ing.Status.LoadBalancer.Ingress {
		if len(at.Ports) == 0 {
			all = append(all, "no port")
		}
		for _, p := range at.Ports {
			if p.Error == nil {
				all = append(all, strconv.Itoa(int(p.Port)))
			}
		}
	}
	return all, nil
}

// printed is the operator's log.
func (w *running) printed() (string, error) { return w.replica.Log(), nil }

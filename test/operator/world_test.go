package operator

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/kube"
	"fairlead.dev/fairlead/test/moto"
)

// This file is a namespace of a cluster, an account of AWS, and an operator between them.

// An account is where AWS is imitated.
type account struct {
	url    string
	config aws.Config
	region string
	vpc    string
	// node is an instance in the VPC, by which the operator finds it.
	node string
	// nodes is the security group of nodes, whose tag has the name of the cluster.
	nodes, name string
	// globs says that regular expressions are not understood.
	globs bool
	// sim is what imitates AWS, where that is the simulator.
	sim *albsim.Sim
}

// simulated is the simulator on a loopback port, where everything happens at once.
func simulated(t *testing.T) account { return simulating(t, albsim.Options{}) }

// simulating is the simulator as it is asked for.
func simulating(t *testing.T, o albsim.Options) account {
	sim := albsim.New(o)
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	sim.AddInstance("i-0123456789abcdef0", "subnet-private0", "10.0.0.5")
	return account{
		url: server.URL, config: sim.Config(), region: albsim.Region, vpc: albsim.VPC,
		node: "i-0123456789abcdef0", nodes: albsim.NodeGroup, name: albsim.Cluster, sim: sim,
	}
}

// emulated is moto.
func emulated(t *testing.T) account {
	server := moto.Start(t)
	a := server.Default(t)
	cloud := ec2.NewFromConfig(a.Config)
	out, err := cloud.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String("ami-12c6146b"), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), SubnetId: aws.String(a.Private[0]),
	})
	if err != nil {
		t.Fatalf("starting an instance: %s", err)
	}
	const name = "shop"
	nodes, err := cloud.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("nodes"), Description: aws.String("nodes"), VpcId: aws.String(a.VPC),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/" + name), Value: aws.String("owned")}},
		}},
	})
	if err != nil {
		t.Fatalf("making the security group of nodes: %s", err)
	}
	return account{
		url: server.URL, config: a.Config, region: moto.Region, vpc: a.VPC,
		node: *out.Instances[0].InstanceId, nodes: *nodes.GroupId, name: name, globs: true,
	}
}

// A world is a namespace whose Ingresses are served from an account.
type world struct {
	account
	client.Client
	cluster   *kube.Cluster
	namespace string
	elb       *elbapi.Client
	proxy     *proxy // that the operator calls AWS through; the test does not
	replica   *kube.Replica
	log       string   // of all replicas
	flags     []string // of the operator, besides those that all have
}

// newWorld makes a namespace with a class of its own, in the cluster that tests share.
func newWorld(t *testing.T, a account) *world {
	t.Helper()
	cluster := kube.Shared(t)
	w := worldIn(t, cluster, cluster.Namespace(t), a)
	w.install(t)
	return w
}

// worldIn is a namespace of a cluster as it is.
func worldIn(t *testing.T, kubernetes *kube.Cluster, namespace string, a account) *world {
	t.Helper()
	c, err := client.New(kubernetes.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{account: a, Client: c, cluster: kubernetes, namespace: namespace, elb: elbapi.NewFromConfig(a.config), proxy: newProxy(t, a.url)}
	w.log = filepath.Join(t.TempDir(), "operator.log")
	t.Cleanup(func() {
		if t.Failed() && w.replica != nil {
			t.Log(w.replica.Log())
		}
	})
	return w
}

// install makes the class.
func (w *world) install(t *testing.T) {
	t.Helper()
	w.create(t, &v1alpha1.LoadBalancerClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "class"},
		Spec:       v1alpha1.LoadBalancerClassSpec{RegularExpressions: new(!w.globs)},
	})
	w.create(t, &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: networkingv1.IngressClassSpec{Controller: ingress.ControllerName, Parameters: &networkingv1.IngressClassParametersReference{
			APIGroup: aws.String(v1alpha1.Group), Kind: v1alpha1.KindLoadBalancerClass, Name: "class", Scope: aws.String("Namespace"), Namespace: &w.namespace,
		}},
	})
}

func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %T %s: %s", o, o.GetName(), err)
	}
}

// serve makes a Service with ready endpoints.
func (w *world) serve(t *testing.T, service string, addresses ...string) {
	t.Helper()
	w.create(t, w.service(service))
	w.create(t, w.endpoints(t, service, addresses...))
}

func (w *world) service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
}

// endpoints are the ready ones of a Service, which are Pods that go by their addresses.
func (w *world) endpoints(t *testing.T, service string, addresses ...string) *discoveryv1.EndpointSlice {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for _, a := range addresses {
		pod := kube.Pod(t, w, w.namespace, "pod-"+a, a)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: pod.Name},
		})
	}
	return slice
}

// byNode has operators find the VPC by a node of the cluster, which is there for this test alone.
func (w *world) byNode(t *testing.T) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node}, Spec: corev1.NodeSpec{ProviderID: "aws:///" + w.region + "a/" + w.node}}
	w.create(t, node)
	t.Cleanup(func() { _ = w.Delete(context.Background(), node) }) // the next operator is to find its own
	w.vpc = ""
}

// environment is what a process finds AWS by.
func (w *world) environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + w.proxy.url, "AWS_ACCESS_KEY_ID=AKIDOFATEST", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}
}

// places are the flags that say where AWS is.
func (w *world) places() []string {
	where := []string{"--provider=aws", "--aws-region=" + w.region, "--namespace=" + w.namespace}
	if w.vpc != "" {
		where = append(where, "--aws-vpc-id="+w.vpc)
	}
	return where
}

// replace starts the operator, after a crash of the one before, if there was one.
func (w *world) replace(t *testing.T) {
	t.Helper()
	if w.replica != nil {
		w.replica.Kill()
	}
	flags := append(w.places(), "--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=console")
	w.replica = w.cluster.StartReplicaIn(t, w.log, w.environment(), append(flags, w.flags...)...)
}

// path sends what begins with a path to a Service.
func path(path, service string) string {
	return fmt.Sprintf(`{path: %q, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}`, path, service)
}

// ask makes the paths of shop.example.com what the Ingress asks for.
func (w *world) ask(t *testing.T, paths string) {
	t.Helper()
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	if _, err := controllerutil.CreateOrUpdate(t.Context(), w, ing, func() error {
		ing.Spec.IngressClassName = &w.namespace
		return yaml.UnmarshalStrict([]byte("rules: [{host: shop.example.com, http: {paths: ["+paths+"]}}]"), &ing.Spec)
	}); err != nil {
		t.Fatalf("asking for %s: %s", paths, err)
	}
}

// hostname is where an Ingress says that it is reached; "" where it does not.
func (w *world) hostname(t *testing.T, name string) string {
	t.Helper()
	ing := &networkingv1.Ingress{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, ing); err != nil {
		t.Fatal(err)
	}
	for _, at := range ing.Status.LoadBalancer.Ingress {
		return at.Hostname
	}
	return ""
}

// ingresses are how many there are.
func (w *world) ingresses(t *testing.T) int {
	t.Helper()
	var list networkingv1.IngressList
	if err := w.List(t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func (w *world) delete(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Delete(t.Context(), o); err != nil {
		t.Fatalf("deleting %T %s: %s", o, o.GetName(), err)
	}
}

package incumbent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/incumbent"
)

// This file starts the controller, in clusters that are as it left them and in others.

// A site is a cluster and an account. Writes to both are counted.
type site struct {
	*testing.T
	sim     *albsim.Sim
	client  client.Client
	elb     *elbv2.Client
	writes  []string
	options incumbent.Controller
}

func newSite(t *testing.T) *site { return newSiteIn(t, albsim.Options{}) }

func newSiteIn(t *testing.T, o albsim.Options) *site {
	w := &site{T: t, sim: albsim.New(o)}
	w.elb = elbv2.NewFromConfig(w.sim.OwnersConfig())
	w.sim.Watch(func(c albsim.Call) {
		if c.Write {
			w.writes = append(w.writes, strings.TrimSuffix(c.Action+"!"+c.Error, "!"))
		}
	})
	w.sim.AddInstance("i-0000000000000000a", "subnet-private0", "10.0.100.10")
	w.sim.AddInstance("i-0000000000000000b", "subnet-private1", "10.0.101.10")
	scheme := runtime.NewScheme()
	w.must(clientgoscheme.AddToScheme(scheme))
	note := func(verb string, obj client.Object) {
		w.writes = append(w.writes, verb+" "+obj.GetName())
	}
	binding := &unstructured.Unstructured{}
	binding.SetAPIVersion("elbv2.k8s.aws/v1beta1")
	binding.SetKind("TargetGroupBinding")
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("elbv2.k8s.aws/v1beta1")
	list.SetKind("TargetGroupBindingList")
	scheme.AddKnownTypeWithName(binding.GroupVersionKind(), binding)
	scheme.AddKnownTypeWithName(list.GroupVersionKind(), list)
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&networkingv1.Ingress{}, binding).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			note("create", obj)
			return c.Create(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			note("patch", obj)
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			note("patch "+sub, obj)
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			note("delete", obj)
			return c.Delete(ctx, obj, opts...)
		},
	}).Build()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	class.Spec.Controller = "ingress.k8s.aws/alb"
	w.create(class)
	for name, ip := range map[string]string{"a": "10.0.100.10", "b": "10.0.101.10"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1" + name + "/i-0000000000000000" + name}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		w.create(node)
		w.service("web", name, ip)
		w.service("api", name, ip)
	}
	return w
}

func (w *site) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *site) create(obj client.Object) {
	w.Helper()
	w.must(client.IgnoreAlreadyExists(w.client.Create(context.Background(), obj)))
}

// service has a Service with one more endpoint.
func (w *site) service(name, node, ip string) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name)}
	s := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{
		{Name: "http", Port: 80, NodePort: map[string]int32{"web": 30080, "api": 30090}[name]}}}}
	s.Spec.Ports[0].TargetPort.IntVal = map[string]int32{"web": 8080, "api": 9090}[name]
	w.create(s)
	meta.Name += "-" + node
	meta.UID, meta.Labels = "", map[string]string{discoveryv1.LabelServiceName: name}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: meta.Name}, Spec: corev1.PodSpec{NodeName: "node-" + node}}
	pod.Status.PodIP = ip
	w.create(pod)
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4}
	slice.Ports = []discoveryv1.EndpointPort{{Name: aws.String("http"), Port: &s.Spec.Ports[0].TargetPort.IntVal}}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{ip}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod.Name}}}
	w.create(slice)
}

// start starts the controller anew, and returns what it writes.
func (w *site) start() []string {
	w.Helper()
	out, err := w.try()
	w.must(err)
	return out
}

func (w *site) try() ([]string, error) {
	c := w.controller()
	w.writes = nil
	err := c.Pass(w.Context())
	return w.writes, err
}

// controller is one that has not passed yet.
func (w *site) controller() *incumbent.Controller {
	config := w.sim.OwnersConfig()
	c := w.options
	c.Client, c.ELB, c.EC2, c.ACM = w.client, w.elb, ec2.NewFromConfig(config), acm.NewFromConfig(config)
	c.ClusterName, c.VPC = albsim.Cluster, albsim.VPC
	return &c
}

// expect starts the controller, and has it write this, in any order.
func (w *site) expect(when string, want ...string) {
	w.Helper()
	got := slices.Clone(w.start())
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("%s it writes\n\t%q\nwant\n\t%q", when, got, want)
	}
}

func (w *site) get(name string) *networkingv1.Ingress {
	w.Helper()
	ing := &networkingv1.Ingress{}
	w.must(w.client.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: name}, ing))
	return ing
}

// inventory is all that there is in the account, in one line each, and the bindings.
func (w *site) inventory() string {
	var out []string
	lbs, err := w.elb.DescribeLoadBalancers(w.Context(), &elbv2.DescribeLoadBalancersInput{})
	w.must(err)
	groups, err := w.elb.DescribeTargetGroups(w.Context(), &elbv2.DescribeTargetGroupsInput{})
	w.must(err)
	names := map[string]string{}
	for _, g := range groups.TargetGroups {
		names[*g.TargetGroupArn] = *g.TargetGroupName
	}
	tags := func(arn string) string {
		answer, err := w.elb.DescribeTags(w.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{arn}})
		w.must(err)
		var all []string
		for _, t := range answer.TagDescriptions[0].Tags {
			all = append(all, *t.Key+"="+*t.Value)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for _, lb := range lbs.LoadBalancers {
		out = append(out, fmt.Sprintf("load balancer %s %s %v groups=%d %s", *lb.LoadBalancerName, lb.Scheme, len(lb.AvailabilityZones), len(lb.SecurityGroups), tags(*lb.LoadBalancerArn)))
		listeners, err := w.elb.DescribeListeners(w.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn})
		w.must(err)
		for _, l := range listeners.Listeners {
			out = append(out, fmt.Sprintf("listener %d %s %s", *l.Port, l.Protocol, tags(*l.ListenerArn)))
			rules, err := w.elb.DescribeRules(w.Context(), &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
			w.must(err)
			for _, r := range rules.Rules {
				var to []string
				for _, a := range r.Actions {
					to = append(to, string(a.Type))
					if a.ForwardConfig != nil {
						for _, g := range a.ForwardConfig.TargetGroups {
							to = append(to, names[*g.TargetGroupArn])
						}
					}
				}
				out = append(out, strings.TrimSpace(fmt.Sprintf("rule %s of %d %v %s", *r.Priority, *l.Port, to, tags(*r.RuleArn))))
			}
		}
	}
	for _, g := range groups.TargetGroups {
		health, err := w.elb.DescribeTargetHealth(w.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		w.must(err)
		out = append(out, fmt.Sprintf("target group %s %s %s:%d targets=%v %s", *g.TargetGroupName, g.TargetType, g.Protocol, *g.Port, len(health.TargetHealthDescriptions), tags(*g.TargetGroupArn)))
	}
	sgs, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{})
	w.must(err)
	for _, g := range sgs.SecurityGroups {
		var all []string
		for _, t := range g.Tags {
			all = append(all, *t.Key+"="+*t.Value)
		}
		slices.Sort(all)
		var rules []string
		for _, p := range g.IpPermissions {
			rules = append(rules, fmt.Sprintf("%s:%d-%d(%d+%d)", *p.IpProtocol, *p.FromPort, *p.ToPort, len(p.IpRanges), len(p.UserIdGroupPairs)))
		}
		slices.Sort(rules)
		out = append(out, fmt.Sprintf("security group %s %v %s", *g.GroupName, rules, strings.Join(all, " ")))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// two has an Ingress for itself, and a group of another one.
func (w *site) two() {
	w.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com")
	w.create(ingress("shop/one", `
		target-type: ip
		host a.example.com
		Prefix /api api:80
		Prefix / web:http
	`))
	w.create(ingress("shop/two", `
		group.name: all
		scheme: internet-facing
		listen-ports: [{"HTTP":80},{"HTTPS":443}]
		ssl-redirect: 443
		host a.example.com
		Prefix / web:80
	`))
	w.start()
}

// Names, tags and rules are those that the controller's own code makes of these objects.
func TestTheControllerMakes(t *testing.T) {
	w := newSite(t)
	w.two()
	want := `
listener 443 HTTPS elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=443 ingress.k8s.aws/stack=all
listener 80 HTTP elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=80 ingress.k8s.aws/stack=all
listener 80 HTTP elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=80 ingress.k8s.aws/stack=shop/one
load balancer k8s-all-be6a96a135 internet-facing 3 groups=2 elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=LoadBalancer ingress.k8s.aws/stack=all
load balancer k8s-shop-one-546e40461d internal 3 groups=2 elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=LoadBalancer ingress.k8s.aws/stack=shop/one
rule 1 of 443 [forward k8s-shop-web-e3d798b505] elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=443:1 ingress.k8s.aws/stack=all
rule 1 of 80 [forward k8s-shop-api-36f56ff08f] elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=80:1 ingress.k8s.aws/stack=shop/one
rule 2 of 80 [forward k8s-shop-web-3c77c5466c] elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=80:2 ingress.k8s.aws/stack=shop/one
rule default of 443 [fixed-response]
rule default of 80 [fixed-response]
rule default of 80 [redirect]
security group k8s-all-8bcd0ec081 [tcp:443-443(1+0) tcp:80-80(1+0)] elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=ManagedLBSecurityGroup ingress.k8s.aws/stack=all
security group k8s-shop-one-6028c8a220 [tcp:80-80(1+0)] elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=ManagedLBSecurityGroup ingress.k8s.aws/stack=shop/one
security group k8s-traffic-CLUSTER-033278922c [] elbv2.k8s.aws/cluster=CLUSTER elbv2.k8s.aws/resource=backend-sg
security group nodes [tcp:8080-30080(0+1)] kubernetes.io/cluster/CLUSTER=owned
target group k8s-shop-api-36f56ff08f ip HTTP:9090 targets=2 elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=shop/one-api:80 ingress.k8s.aws/stack=shop/one
target group k8s-shop-web-3c77c5466c ip HTTP:8080 targets=2 elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=shop/one-web:http ingress.k8s.aws/stack=shop/one
target group k8s-shop-web-e3d798b505 instance HTTP:30080 targets=2 elbv2.k8s.aws/cluster=CLUSTER ingress.k8s.aws/resource=shop/two-web:80 ingress.k8s.aws/stack=all
`
	if got := w.inventory(); got != strings.TrimSpace(want) {
		t.Errorf("there is\n%s\nwant%s", got, want)
	}
	one := w.get("one")
	status := one.Status.LoadBalancer.Ingress[0]
	if !slices.Equal(one.Finalizers, []string{"ingress.k8s.aws/resources"}) || len(status.Ports) != 1 || status.Ports[0].Port != 80 ||
		!strings.HasPrefix(status.Hostname, "internal-k8s-shop-one-546e40461d-") {
		t.Errorf("the Ingress has %v %+v", one.Finalizers, status)
	}
	if got := w.get("two").Finalizers; !slices.Equal(got, []string{"group.ingress.k8s.aws/all"}) {
		t.Errorf("the Ingress of the group has %s", got)
	}
	w.expect("again")
}

// replace gives the IngressClass to another controller. Its controller cannot be changed, so that it is made anew.
func (w *site) replace() {
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	w.must(w.client.Delete(w.Context(), class))
	class = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	class.Spec.Controller = "fairlead.dev/ingress"
	w.create(class)
}

// unfinalize removes the finalizers of Ingresses and of bindings, and deletes these.
func (w *site) unfinalize() {
	var all networkingv1.IngressList
	w.must(w.client.List(w.Context(), &all))
	for i := range all.Items {
		all.Items[i].Finalizers = nil
		w.must(w.client.Update(w.Context(), &all.Items[i]))
	}
	w.unbind()
}

func (w *site) bindings() []unstructured.Unstructured {
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("elbv2.k8s.aws/v1beta1")
	all.SetKind("TargetGroupBindingList")
	w.must(w.client.List(w.Context(), all))
	return all.Items
}

func (w *site) unbind() {
	for _, b := range w.bindings() {
		b.SetFinalizers(nil)
		w.must(w.client.Update(w.Context(), &b))
		w.must(w.client.Delete(w.Context(), &b))
	}
}

func TestAStartWithoutFinalizersAndWithoutItsClass(t *testing.T) {
	w := newSite(t)
	w.two()
	w.unfinalize()
	w.replace()
	w.expect("without finalizers, bindings and its class")
}

// A class that is another controller's deletes all that the finalizers hold, also what is protected.
func TestAStartWithFinalizersAndWithoutItsClass(t *testing.T) {
	w := newSite(t)
	w.two()
	w.replace()
	w.start()
	if got := w.sim.Inventory(); got["load balancers"]+got["target groups"]+got["listeners"] > 0 {
		t.Errorf("there are %v", got)
	}
	if got := w.get("one").Finalizers; len(got) > 0 {
		t.Errorf("the Ingress has the finalizers %v", got)
	}
	w.expect("again")
}

// With the class alone it makes its bindings and finalizers again, and finds all else as it was. Until it knows what all
// bindings need, it adds rules for each of them to the security group of the nodes.
func TestAStartWithoutFinalizers(t *testing.T) {
	w := newSite(t)
	w.two()
	before := w.inventory()
	w.unfinalize()
	w.expect("without finalizers and bindings", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress",
		"patch one", "patch two", "create k8s-shop-api-36f56ff08f", "create k8s-shop-web-3c77c5466c",
		"create k8s-shop-web-e3d798b505", "patch k8s-shop-api-36f56ff08f", "patch k8s-shop-web-3c77c5466c", "patch k8s-shop-web-e3d798b505",
		"patch k8s-shop-api-36f56ff08f", "patch k8s-shop-web-3c77c5466c", "patch k8s-shop-web-e3d798b505")
	if after := w.inventory(); after != before {
		t.Errorf("there was\n%s\nand is\n%s", before, after)
	}
}

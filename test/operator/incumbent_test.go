package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/incumbent"
	"fairlead.dev/fairlead/test/kube"
)

// This file has the AWS Load Balancer Controller in a cluster: what it leaves there is on an API server, with its webhooks.

var theirGroup = schema.GroupVersion{Group: "elbv2.k8s.aws", Version: "v1beta1"}

// takeover is a cluster of which the commands take load balancers over.
type takeover struct {
	*testing.T
	*world
}

func newTakeover(t *testing.T) *takeover {
	t.Helper()
	a := simulated(t)
	a.sim.AddInstance("i-0000000000000000a", "subnet-private0", "10.0.100.10")
	w := worldIn(t, kube.Start(t, kube.Options{}), "shop", a)
	k := &takeover{t, w}
	for _, kind := range []string{"TargetGroupBinding", "IngressClassParams"} {
		k.install(kind)
	}
	w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	w.create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-0000000000000000a"}})
	w.serve(t, "web", "10.0.100.10")
	w.create(t, &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: v1alpha1.LoadBalancerClassSpec{
		Dialect: v1alpha1.DialectALB, Adoption: &v1alpha1.Adoption{From: v1alpha1.AdoptALB, ClusterName: a.name}}})
	k.class("ingress.k8s.aws/alb")
	for _, name := range []string{"one", "two"} {
		ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
			Annotations: map[string]string{"alb.ingress.kubernetes.io/group.name": "all", "alb.ingress.kubernetes.io/target-type": "ip"}}}
		text := fmt.Sprintf("{ingressClassName: alb, rules: [{host: %s.example.com, http: {paths: [%s]}}]}", name, path("/", "web"))
		if err := yaml.UnmarshalStrict([]byte(text), &ing.Spec); err != nil {
			t.Fatal(err)
		}
		w.create(t, ing)
	}
	return k
}

// install has the API server serve a kind of the controller.
func (k *takeover) install(kind string) {
	k.Helper()
	plural, scope := strings.ToLower(kind)+"s", "Namespaced"
	if kind == "IngressClassParams" {
		plural, scope = "ingressclassparams", "Cluster"
	}
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.elbv2.k8s.aws}
spec:
  group: elbv2.k8s.aws
  scope: %[2]s
  names: {plural: %[1]s, singular: %[3]s, kind: %[4]s, listKind: %[4]sList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, plural, scope, strings.ToLower(kind), kind)
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
		k.Fatal(err)
	}
	k.create(k.T, definition)
	kube.Eventually(k.T, kind+" is served", func() bool { return k.List(k.Context(), k.listOf(kind)) == nil })
}

func (k *takeover) listOf(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(theirGroup.WithKind(kind))
	return list
}

// class replaces the IngressClass, as people or GitOps do.
func (k *takeover) class(controller string) {
	k.Helper()
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	if err := client.IgnoreNotFound(k.Delete(k.Context(), class.DeepCopy())); err != nil {
		k.Fatal(err)
	}
	class.Spec.Controller = controller
	if controller == ingress.ControllerName {
		class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: aws.String(v1alpha1.Group),
			Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "alb", Scope: aws.String("Cluster")}
	}
	k.create(k.T, class)
}

// startTheirs starts the controller, which works until it comes to rest.
func (k *takeover) startTheirs() {
	k.Helper()
	c := incumbent.Controller{Client: k.Client, ELB: k.elb, EC2: ec2.NewFromConfig(k.config), ClusterName: k.name, VPC: albsim.VPC}
	if err := c.Pass(k.Context()); err != nil {
		k.Fatal(err)
	}
}

// command runs fairlead with more arguments for the cluster and the account.
func (k *takeover) command(args ...string) (said string, code int) {
	k.Helper()
	run := exec.CommandContext(k.Context(), k.cluster.Command(k.T), append(args, "--kubeconfig="+k.cluster.Kubeconfig, "--provider=aws",
		"--aws-region="+k.region, "--aws-vpc-id="+k.vpc)...)
	run.Env = slices.Concat(os.Environ(), k.environment())
	text, err := run.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		k.Fatal(err)
	}
	return string(text), run.ProcessState.ExitCode()
}

func (k *takeover) adopt(more ...string) (said string, code int) {
	k.Helper()
	return k.command(append([]string{"adopt", "--from=alb", "--cluster-name=" + k.name, "--live"}, more...)...)
}

// expect fails the test if a command ended otherwise, or did not say something.
func (k *takeover) expect(said string, code, want int, texts ...string) {
	k.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			k.Fatalf("it does not say %q:\n%s", text, said)
		}
	}
	if code != want {
		k.Fatalf("exit code %d, not %d:\n%s", code, want, said)
	}
}

// objects are the Ingresses, bindings and the class, without what the API server writes, and Fairlead's objects, without
// records of what was given back.
func (k *takeover) objects() map[string]string {
	k.Helper()
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{networkingv1.SchemeGroupVersion.WithKind("Ingress"), theirGroup.WithKind("TargetGroupBinding"),
		networkingv1.SchemeGroupVersion.WithKind("IngressClass"), v1alpha1.GroupVersion.WithKind("LoadBalancer")} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := k.List(k.Context(), list); err != nil {
			k.Fatal(err)
		}
		for _, o := range list.Items {
			state, _, _ := unstructured.NestedString(o.Object, "status", "memory", "adoption", "state")
			if o.GetName() == kube.Class || state == v1alpha1.AdoptionReleased {
				continue // the class comes with the test's operator
			}
			parts := []any{o.GetFinalizers(), o.GetLabels(), o.GetAnnotations(), o.Object["spec"], o.Object["status"]}
			if kind.Kind == "TargetGroupBinding" {
				parts = parts[:4] // its status is the controller's to write
			}
			text, err := json.Marshal(parts)
			if err != nil {
				k.Fatal(err)
			}
			out[kind.Kind+" "+o.GetNamespace()+"/"+o.GetName()] = string(text)
		}
	}
	return out
}

// account are the load balancers, groups and their tags and targets.
func (k *takeover) inAccount() (out []string) {
	k.Helper()
	lbs, err := k.elb.DescribeLoadBalancers(k.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		k.Fatal(err)
	}
	tags := func(arn *string) string {
		answer, err := k.elb.DescribeTags(k.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{*arn}})
		if err != nil {
			k.Fatal(err)
		}
		all := map[string]string{}
		for _, t := range answer.TagDescriptions[0].Tags {
			all[*t.Key] = *t.Value
		}
		return fmt.Sprint(all)
	}
	for _, b := range lbs.LoadBalancers {
		out = append(out, fmt.Sprint("load balancer ", *b.LoadBalancerArn, *b.DNSName, slices.Sorted(slices.Values(b.SecurityGroups)), tags(b.LoadBalancerArn)))
	}
	groups, err := k.elb.DescribeTargetGroups(k.Context(), &elbapi.DescribeTargetGroupsInput{})
	if err != nil {
		k.Fatal(err)
	}
	for _, g := range groups.TargetGroups {
		health, err := k.elb.DescribeTargetHealth(k.Context(), &elbapi.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
		if err != nil {
			k.Fatal(err)
		}
		var targets []string
		for _, d := range health.TargetHealthDescriptions {
			// A new rule names one of the two groups of the Service, and the targets of the other one are unused.
			targets = append(targets, fmt.Sprint(*d.Target.Id, *d.Target.Port, d.TargetHealth.State == "draining"))
		}
		out = append(out, fmt.Sprint("target group ", *g.TargetGroupArn, targets, tags(g.TargetGroupArn)))
	}
	slices.Sort(out)
	return out
}

// putBack is what GitOps or a restored backup does: an Ingress has the finalizer of the controller again, and a binding is
// there again.
func (k *takeover) putBack(binding *unstructured.Unstructured) {
	k.Helper()
	edit(k.T, k.world, &networkingv1.Ingress{}, "one", func(ing *networkingv1.Ingress) {
		if !slices.Contains(ing.Finalizers, "group.ingress.k8s.aws/all") {
			ing.Finalizers = append(ing.Finalizers, "group.ingress.k8s.aws/all")
		}
	})
	again := binding.DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	if err := k.Create(k.Context(), again); err != nil {
		k.Fatal(err)
	}
}

// unchanged fails the test if the account is another one.
func (k *takeover) unchanged(when string, before []string) {
	k.Helper()
	if diff := cmp.Diff(before, k.inAccount()); diff != "" {
		k.Errorf("%s, the account is another one:\n%s", when, diff)
	}
}

// TestTheCommandsTakeOverAndGiveBack: with webhooks that refuse writes, with GitOps that puts back what was removed, and with
// an operator that runs.
func TestTheCommandsTakeOverAndGiveBack(t *testing.T) {
	t.Parallel()
	k := newTakeover(t)
	k.startTheirs()
	objects, account := k.objects(), k.inAccount()
	bindings := k.listOf("TargetGroupBinding")
	if err := k.List(t.Context(), bindings); err != nil || len(bindings.Items) != 2 || len(account) != 3 {
		t.Fatalf("the controller made %d bindings and %q: %v", len(bindings.Items), account, err)
	}
	status := k.statusOf("one")

	installed := incumbent.Installation{ClusterName: k.name, Renewed: time.Now().Add(-time.Hour)}.Objects()
	for _, o := range installed {
		k.create(t, o)
	}
	kube.Eventually(t, "its webhooks refuse writes", func() bool {
		again := bindings.Items[0].DeepCopy()
		again.SetName("again")
		again.SetResourceVersion("")
		err := k.Create(t.Context(), again, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "webhook")
	})
	said, code := k.adopt("--yes", "--all")
	k.expect(said, code, 2, "refuses writes of ingresses, targetgroupbindings", "refuses writes of services, targetgroupbindings")
	k.unchanged("with webhooks", account)
	if diff := cmp.Diff(objects, k.objects()); diff != "" {
		t.Errorf("with webhooks, the cluster is another one:\n%s", diff)
	}
	for _, o := range installed {
		k.delete(t, o)
	}

	k.takeOver(&bindings.Items[0])
	k.serveIt(&bindings.Items[0], status)
	k.giveBack()
	if diff := cmp.Diff(objects, k.objects()); diff != "" {
		t.Errorf("after it was given back, the cluster is another one:\n%s", diff)
	}
	k.unchanged("after it was given back", account)
	k.replace(t)
	kube.Eventually(t, "a restarted operator leaves it alone", func() bool { return k.told("was given back, and is left alone") })
	if diff := cmp.Diff(objects, k.objects()); diff != "" {
		t.Errorf("after it was given back, and the operator restarted, the cluster is another one:\n%s", diff)
	}
	said, code = k.adopt("--status")
	k.expect(said, code, 0, "Released", "fairlead adopt --yes --key k8s-all-", " takes it over again")
	k.replica.Terminate(t)
	k.startTheirs()
	k.unchanged("after the controller was started", account)
}

func (k *takeover) statusOf(name string) string {
	k.Helper()
	ing := &networkingv1.Ingress{}
	if err := k.Get(k.Context(), client.ObjectKey{Namespace: "shop", Name: name}, ing); err != nil {
		k.Fatal(err)
	}
	text, err := json.Marshal(ing.Status)
	if err != nil {
		k.Fatal(err)
	}
	return string(text)
}

// takeOver has the command take it over, with GitOps at each step.
func (k *takeover) takeOver(binding *unstructured.Unstructured) {
	k.Helper()
	said, code := k.adopt("--yes", "--all")
	k.expect(said, code, 2, "Prepared", "give these Ingresses a class of Fairlead")
	k.putBack(binding)
	said, code = k.adopt("--yes", "--all")
	k.expect(said, code, 2, "Prepared")
	k.class(ingress.ControllerName)
	k.putBack(binding)
	said, code = k.adopt("--yes", "--all")
	k.expect(said, code, 0, "Taken")
	for name, text := range k.objects() {
		if strings.HasPrefix(name, "TargetGroupBinding ") || strings.HasPrefix(name, "Ingress ") && strings.Contains(text, "k8s.aws/") && !strings.HasPrefix(text, "[null") {
			k.Errorf("there is still %s: %s", name, text)
		}
	}
	said, code = k.adopt("--status")
	k.expect(said, code, 0, "Taken", "the load balancer is Fairlead's")
}

// serveIt has the operator serve it, with GitOps that puts back what was removed, and with the controller.
func (k *takeover) serveIt(binding *unstructured.Unstructured, status string) {
	k.Helper()
	account := k.inAccount()
	k.flags = []string{"--namespace="}
	k.begin(k.T)
	edit(k.T, k.world, &networkingv1.Ingress{}, "one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "changed.example.com" })
	kube.Eventually(k.T, "a change is served", func() bool { return slices.Contains(k.hosts(k.T), "changed.example.com") })
	edit(k.T, k.world, &networkingv1.Ingress{}, "one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "one.example.com" })
	kube.Eventually(k.T, "a second one is", func() bool { return !slices.Contains(k.hosts(k.T), "changed.example.com") && k.proxy.quiet() > rest })
	k.unchanged("after two changes", account)

	k.putBack(binding)
	kube.Eventually(k.T, "the operator has nothing to do", func() bool { return k.proxy.quiet() > rest })
	k.unchanged("with a binding and a finalizer", account)
	said, code := k.adopt("--yes", "--all")
	k.expect(said, code, 0, "Taken")
	k.startTheirs()
	k.unchanged("with the controller started after a binding and a finalizer were put back, and removed again", account)
	k.class("ingress.k8s.aws/alb")
	kube.Eventually(k.T, "the operator has nothing to do", func() bool { return k.proxy.quiet() > 2*rest })
	k.unchanged("with the former class", account)
	if !k.told("adoption.keepOld of class alb, 168h0m0s") {
		k.Error("no event says how long an Ingress with the former class is served")
	}
	k.class(ingress.ControllerName)
	edit(k.T, k.world, &networkingv1.Ingress{}, "one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "changed.example.com" })
	kube.Eventually(k.T, "it is served again", func() bool { return slices.Contains(k.hosts(k.T), "changed.example.com") })
	edit(k.T, k.world, &networkingv1.Ingress{}, "one", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "one.example.com" })
	kube.Eventually(k.T, "a change is undone", func() bool { return !slices.Contains(k.hosts(k.T), "changed.example.com") && k.proxy.quiet() > rest })
	if now := k.statusOf("one"); now != status {
		k.Errorf("the status of the Ingress was %s, and is %s", status, now)
	}
}

// told reports whether an event says something.
func (k *takeover) told(text string) bool {
	k.Helper()
	var list eventsv1.EventList
	if err := k.List(k.Context(), &list); err != nil {
		k.Fatal(err)
	}
	return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return strings.Contains(e.Note, text) })
}

// giveBack has the command give it back, step by step, and the operator heed that.
func (k *takeover) giveBack() {
	k.Helper()
	var said string
	var code int
	kube.Eventually(k.T, "the operator heeds that it is given back", func() bool {
		said, code = k.command("release", "--all", "--yes")
		return strings.Contains(said, "Returned")
	})
	k.expect(said, code, 2, "give these Ingresses their former class", `"controller":"ingress.k8s.aws/alb"`)
	k.class("ingress.k8s.aws/alb")
	said, code = k.command("release", "--all", "--yes")
	k.expect(said, code, 0, "the controller can be started")
	kube.Eventually(k.T, "the operator has nothing to do", func() bool { return k.proxy.quiet() > rest })
}

// TestTheOperatorTakesOverByItself: a class with adoption is all that it is told.
func TestTheOperatorTakesOverByItself(t *testing.T) {
	t.Parallel()
	k := newTakeover(t)
	k.startTheirs()
	bindings := k.listOf("TargetGroupBinding")
	if err := k.List(t.Context(), bindings); err != nil || len(bindings.Items) == 0 {
		t.Fatalf("there are %d bindings: %v", len(bindings.Items), err)
	}
	put := bindings.Items[0]
	status := k.statusOf("one")
	k.flags = []string{"--namespace="}
	k.replace(t)
	kube.Eventually(t, "it waits for the class", func() bool { return k.told("still have a class of the AWS Load Balancer Controller") })
	if err := k.List(t.Context(), bindings); err != nil || len(bindings.Items) > 0 {
		t.Errorf("there are still %d bindings: %v", len(bindings.Items), err)
	}
	k.class(ingress.ControllerName)
	kube.Eventually(t, "it has taken over", func() bool { return k.told("is taken over") })
	edit(t, k.world, &networkingv1.Ingress{}, "two", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "changed.example.com" })
	kube.Eventually(t, "a change is served", func() bool { return slices.Contains(k.hosts(t), "changed.example.com") })
	k.putBack(&put)
	began := time.Now()
	kube.Eventually(t, "what is put back is removed", func() bool {
		ing := &networkingv1.Ingress{}
		return k.List(t.Context(), bindings) == nil && len(bindings.Items) == 0 &&
			k.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "one"}, ing) == nil &&
			!slices.Contains(ing.Finalizers, "group.ingress.k8s.aws/all")
	})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("what was put back was removed after %s", took)
	}
	if now := k.statusOf("one"); now != status || k.balancers(t) != 1 {
		t.Errorf("there are %d load balancers, and the status of an Ingress was %s, and is %s", k.balancers(t), status, now)
	}
}

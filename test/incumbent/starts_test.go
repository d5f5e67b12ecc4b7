package incumbent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/nightly"
)

// This file starts the controller in clusters and accounts that were changed while it was down. The calls are those that the controller itself, of v3.5,
// made in the same states of a simulated account.

// A start is a state, and what the controller writes to AWS then: calls with their number, "fails" where it fails.
type start struct {
	name    string
	options albsim.Options
	change  func(w *site)
	writes  string
}

var starts = []start{
	{"nothing has changed", albsim.Options{}, func(*site) {}, ""},
	{"its class is another controller's, and finalizers and bindings are gone", albsim.Options{},
		func(w *site) { w.unfinalize(); w.replace() }, ""},
	{"the same, but for bindings: what they registered last is not compared", albsim.Options{},
		func(w *site) { w.unheld(); w.replace(); w.strangers() }, ""},
	{"the same, and nothing says what was registered", albsim.Options{},
		func(w *site) { w.unheld(); w.replace(); w.strangers(); w.annotate(nil) },
		"AuthorizeSecurityGroupIngress×2 DeregisterTargets×2 RevokeSecurityGroupIngress"},
	{"its class is another controller's, and finalizers are there", albsim.Options{}, (*site).replace,
		"DeleteLoadBalancer×2 DeleteSecurityGroup×2 DeleteTargetGroup×3 DeregisterTargets×3 RevokeSecurityGroupIngress"},
	{"the same, and load balancers are protected", albsim.Options{}, func(w *site) { w.protect(); w.replace() },
		"DeleteLoadBalancer×2 DeleteLoadBalancer!OperationNotPermitted DeleteSecurityGroup×2 DeleteTargetGroup×3 DeregisterTargets×3 " +
			"ModifyLoadBalancerAttributes×2 RevokeSecurityGroupIngress"},
	{"its class is gone, and finalizers are there", albsim.Options{}, func(w *site) {
		w.must(w.client.Delete(w.Context(), &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}))
	}, "fails"},
	{"bindings are gone", albsim.Options{}, (*site).unbind, "AuthorizeSecurityGroupIngress×2 RevokeSecurityGroupIngress"},
	{"tags of load balancers are gone", albsim.Options{}, func(w *site) { w.untag(":loadbalancer/") }, "CreateLoadBalancer!DuplicateLoadBalancerName fails"},
	{"the same, and AWS answers with what is there", albsim.Options{TagsAside: true}, func(w *site) { w.untag(":loadbalancer/") }, "CreateLoadBalancer×2"},
	{"tags of target groups are gone", albsim.Options{}, func(w *site) { w.untag(":targetgroup/") }, "CreateTargetGroup!DuplicateTargetGroupName fails"},
	{"tags of listeners and rules are gone", albsim.Options{}, func(w *site) { w.untag(":listener") }, "AddTags×6"},
	{"all have tags of others, too", albsim.Options{}, (*site).tag, "DeleteTags×3 RemoveTags×11"},
	{"a security group has another rule, and a load balancer another listener and another rule", albsim.Options{}, (*site).add,
		"DeleteListener×2 DeleteRule×3 RevokeSecurityGroupIngress×2"},
	{"settings have changed: attributes that it does not set stay", albsim.Options{}, (*site).set, "ModifyTargetGroup×3"},
	{"one load balancer of two is taken over, and what the other one registered has changed: rules of nodes are its own then",
		albsim.Options{}, func(w *site) { w.takeOne(); w.annotate(nil) }, "AuthorizeSecurityGroupIngress RevokeSecurityGroupIngress"},
	{"one load balancer of two is taken over, and nothing else has changed", albsim.Options{}, (*site).takeOne, ""},
	{"its class is another controller's, and bindings are deleted with their finalizers", albsim.Options{}, func(w *site) {
		w.unheld()
		w.replace()
		for _, b := range w.bindings() {
			w.must(w.client.Delete(w.Context(), &b))
		}
	}, "DeregisterTargets×3 RevokeSecurityGroupIngress"},
	{"finalizers and bindings are given back as they were", albsim.Options{}, func(w *site) {
		before := w.bindings()
		w.unbind()
		for _, b := range before {
			b.SetResourceVersion("")
			w.create(&b)
		}
	}, ""},
	{"tags of security groups are gone", albsim.Options{}, (*site).untagGroups, "CreateSecurityGroup!InvalidGroup.Duplicate fails"},
	// Without its tags it touches nothing of a load balancer, whatever class and finalizers say. Bindings are their own.
	{"all tags are those of others, and finalizers and bindings are gone", albsim.Options{},
		func(w *site) { w.retag(); w.unfinalize() }, "CreateSecurityGroup!InvalidGroup.Duplicate fails"},
	{"all tags are those of others", albsim.Options{}, (*site).retag, "CreateSecurityGroup!InvalidGroup.Duplicate fails"},
	{"all tags are those of others, its class is another controller's, and bindings are gone", albsim.Options{},
		func(w *site) { w.retag(); w.unbind(); w.replace() }, ""},
	{"all tags are those of others, and its class is another controller's", albsim.Options{},
		func(w *site) { w.retag(); w.replace() }, "DeregisterTargets×3 RevokeSecurityGroupIngress"},
	{"it was started once without finalizers, and its class is another controller's since", albsim.Options{},
		func(w *site) { w.unfinalize(); w.start(); w.replace() },
		"DeleteLoadBalancer×2 DeleteSecurityGroup×2 DeleteTargetGroup×3 DeregisterTargets×3 RevokeSecurityGroupIngress"},
}

// What one load balancer of two does not need is closed to both of them a while after a start.
func TestRulesOfNodesAreNarrowedLater(t *testing.T) {
	w := newSite(t)
	w.two()
	w.takeOne()
	w.expect("at once")
	w.options.Late = true
	if got := w.start(); !slices.Contains(got, "RevokeSecurityGroupIngress") {
		t.Errorf("later it writes %q", got)
	}
	if got := w.inventory(); !strings.Contains(got, "security group nodes [tcp:30080-30080(0+1)]") {
		t.Errorf("there is\n%s", got)
	}
}

// The shared security group goes with the last Ingress that needs it, if the process has asked for it.
func TestTheSharedSecurityGroupGoesLast(t *testing.T) {
	w := newSite(t)
	w.two()
	c := w.controller()
	w.must(c.Pass(w.Context()))
	for i, name := range []string{"one", "two"} {
		w.must(w.client.Delete(w.Context(), w.get(name)))
		w.must(c.Pass(w.Context()))
		if got := w.sim.Inventory()["security groups"]; got != 3-2*i { // with that of the nodes
			t.Errorf("without %s there are %d security groups", name, got)
		}
	}
}

func TestStarts(t *testing.T) {
	for _, s := range nightly.Some(t, len(starts), starts) {
		t.Run(s.name, func(t *testing.T) {
			w := newSiteIn(t, s.options)
			w.two()
			s.change(w)
			_, err := w.try()
			got := strings.Fields(w.calls())
			if err != nil {
				got = append(got, "fails")
			}
			if text := strings.Join(got, " "); text != s.writes {
				t.Errorf("it writes\n\t%s\nwant\n\t%s\n%v", text, s.writes, err)
			}
		})
	}
}

// calls are the writes to AWS, with their numbers.
func (w *site) calls() string {
	counts := map[string]int{}
	for _, one := range w.writes {
		if !strings.Contains(one, " ") { // that is one to Kubernetes
			counts[one]++
		}
	}
	var out []string
	for _, call := range slices.Sorted(maps.Keys(counts)) {
		if counts[call] > 1 && !strings.Contains(call, "!") { // what is refused is tried again
			call += fmt.Sprintf("×%d", counts[call])
		}
		out = append(out, call)
	}
	return strings.Join(out, " ")
}

// A controller that has run for a while looks at targets again, and deregisters those of others.
func TestTargetsAreComparedLater(t *testing.T) {
	w := newSite(t)
	w.two()
	w.strangers()
	w.expect("at once")
	w.options.Late = true
	if got := w.start(); !slices.Contains(got, "DeregisterTargets") {
		t.Errorf("later it writes %q", got)
	}
	w.options.Late = false
	w.expect("then")
}

// unheld removes finalizers of Ingresses.
func (w *site) unheld() {
	var all networkingv1.IngressList
	w.must(w.client.List(w.Context(), &all))
	for i := range all.Items {
		all.Items[i].Finalizers = nil
		w.must(w.client.Update(w.Context(), &all.Items[i]))
	}
}

// annotate replaces the annotations of bindings.
func (w *site) annotate(annotations map[string]string) {
	for _, b := range w.bindings() {
		b.SetAnnotations(annotations)
		w.must(w.client.Update(w.Context(), &b))
	}
}

// strangers registers a target of others in groups of addresses.
func (w *site) strangers() {
	groups, err := w.elb.DescribeTargetGroups(w.Context(), &elbv2.DescribeTargetGroupsInput{})
	w.must(err)
	for _, g := range groups.TargetGroups {
		if g.TargetType == elb.TargetTypeEnumIp {
			_, err := w.elb.RegisterTargets(w.Context(), &elbv2.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn,
				Targets: []elb.TargetDescription{{Id: aws.String("10.0.102.77"), Port: aws.Int32(1)}}})
			w.must(err)
		}
	}
}

// arns are those of all that a part of an ARN tells, in Elastic Load Balancing.
func (w *site) arns(part string) (out []string) {
	lbs, err := w.elb.DescribeLoadBalancers(w.Context(), &elbv2.DescribeLoadBalancersInput{})
	w.must(err)
	for _, lb := range lbs.LoadBalancers {
		out = append(out, *lb.LoadBalancerArn)
		listeners, err := w.elb.DescribeListeners(w.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn})
		w.must(err)
		for _, l := range listeners.Listeners {
			out = append(out, *l.ListenerArn)
			rules, err := w.elb.DescribeRules(w.Context(), &elbv2.DescribeRulesInput{ListenerArn: l.ListenerArn})
			w.must(err)
			for _, r := range rules.Rules {
				if !*r.IsDefault {
					out = append(out, *r.RuleArn)
				}
			}
		}
	}
	groups, err := w.elb.DescribeTargetGroups(w.Context(), &elbv2.DescribeTargetGroupsInput{})
	w.must(err)
	for _, g := range groups.TargetGroups {
		out = append(out, *g.TargetGroupArn)
	}
	return slices.DeleteFunc(out, func(arn string) bool { return !strings.Contains(arn, part) })
}

func (w *site) network() *ec2.Client { return ec2.NewFromConfig(w.sim.OwnersConfig()) }

// securityGroups are those that the controller has made.
func (w *site) securityGroups() (out []string) {
	all, err := w.network().DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{})
	w.must(err)
	for _, g := range all.SecurityGroups {
		if strings.HasPrefix(*g.GroupName, "k8s-") {
			out = append(out, *g.GroupId)
		}
	}
	return out
}

func (w *site) untag(part string) {
	for _, arn := range w.arns(part) {
		_, err := w.elb.RemoveTags(w.Context(), &elbv2.RemoveTagsInput{ResourceArns: []string{arn},
			TagKeys: []string{"elbv2.k8s.aws/cluster", "ingress.k8s.aws/stack", "ingress.k8s.aws/resource"}})
		w.must(err)
	}
}

// untagGroups removes the tags of managed security groups; the shared one has others.
func (w *site) untagGroups() {
	for _, id := range w.securityGroups() {
		is, err := w.network().DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		w.must(err)
		if strings.HasPrefix(*is.SecurityGroups[0].GroupName, "k8s-traffic-") {
			continue
		}
		_, err = w.network().DeleteTags(w.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{
			{Key: aws.String("elbv2.k8s.aws/cluster")}, {Key: aws.String("ingress.k8s.aws/stack")}, {Key: aws.String("ingress.k8s.aws/resource")}}})
		w.must(err)
	}
}

// retag replaces the controller's tags by those of others, but for the shared security group.
func (w *site) retag() {
	w.untag("")
	w.untagGroups()
	w.tagELB()
}

func (w *site) tag() {
	w.tagELB()
	_, err := w.network().CreateTags(w.Context(), &ec2.CreateTagsInput{Resources: w.securityGroups(), Tags: []ec2types.Tag{{Key: aws.String("fairlead.dev/key"), Value: aws.String("k")}}})
	w.must(err)
}

func (w *site) tagELB() {
	for _, arn := range w.arns("") {
		_, err := w.elb.AddTags(w.Context(), &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: []elb.Tag{{Key: aws.String("fairlead.dev/key"), Value: aws.String("k")}}})
		w.must(err)
	}
}

func (w *site) protect() {
	for _, arn := range w.arns(":loadbalancer/") {
		_, err := w.elb.ModifyLoadBalancerAttributes(w.Context(), &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &arn,
			Attributes: []elb.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: aws.String("true")}}})
		w.must(err)
	}
}

// add adds to what the controller has made.
func (w *site) add() {
	fixed := []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("200")}}}
	for _, arn := range w.arns(":listener/") {
		_, err := w.elb.CreateRule(w.Context(), &elbv2.CreateRuleInput{ListenerArn: &arn, Priority: aws.Int32(20), Actions: fixed,
			Conditions: []elb.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{"/x"}}}}})
		w.must(err)
	}
	for _, arn := range w.arns(":loadbalancer/") {
		_, err := w.elb.CreateListener(w.Context(), &elbv2.CreateListenerInput{LoadBalancerArn: &arn, Port: aws.Int32(9000), Protocol: elb.ProtocolEnumHttp, DefaultActions: fixed})
		w.must(err)
	}
	for _, id := range w.securityGroups() {
		_, err := w.network().AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(9000), ToPort: aws.Int32(9000), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.1.0.0/16")}}}}})
		w.must(err)
	}
}

// set changes a health check, which the controller sets, and attributes, which it does not.
func (w *site) set() {
	for _, arn := range w.arns(":targetgroup/") {
		_, err := w.elb.ModifyTargetGroup(w.Context(), &elbv2.ModifyTargetGroupInput{TargetGroupArn: &arn, HealthCheckPath: aws.String("/other")})
		w.must(err)
		_, err = w.elb.ModifyTargetGroupAttributes(w.Context(), &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: &arn,
			Attributes: []elb.TargetGroupAttribute{{Key: aws.String("slow_start.duration_seconds"), Value: aws.String("60")}}})
		w.must(err)
	}
	w.protect()
}

// takeOne takes over what belongs to one Ingress, whose class is another one then.
func (w *site) takeOne() {
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	class.Spec.Controller = "fairlead.dev/ingress"
	w.create(class)
	ing := w.get("one")
	ing.Finalizers, ing.Spec.IngressClassName = nil, &class.Name
	w.must(w.client.Update(w.Context(), ing))
	for _, b := range w.bindings() {
		if b.GetLabels()["ingress.k8s.aws/stack-name"] != "one" {
			continue
		}
		b.SetFinalizers(nil)
		w.must(w.client.Update(w.Context(), &b))
		w.must(w.client.Delete(w.Context(), &b))
	}
	w.untag("k8s-shop-one")
}

// Changes of Ingresses are made in place where rules, target groups and load balancers allow it.
func TestChangesOfIngresses(t *testing.T) {
	of := func(path, kind, service string) networkingv1.HTTPIngressPath {
		k := networkingv1.PathType(kind)
		return networkingv1.HTTPIngressPath{Path: path, PathType: &k, Backend: *backend(service + ":80")}
	}
	for name, c := range map[string]struct {
		change func(ing *networkingv1.Ingress)
		writes string
	}{
		"paths are inserted": {func(ing *networkingv1.Ingress) {
			h := ing.Spec.Rules[0].HTTP
			h.Paths = append([]networkingv1.HTTPIngressPath{of("/first", "Exact", "web"), of("/api/long", "Prefix", "web")}, h.Paths...)
		}, "AddTags×2 AuthorizeSecurityGroupIngress CreateRule×2 CreateTargetGroup RegisterTargets SetRulePriorities"},
		"a path is removed": {func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths = ing.Spec.Rules[0].HTTP.Paths[1:] },
			"AddTags DeleteRule DeleteTargetGroup DeregisterTargets SetRulePriorities"},
		"all paths change": {func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].HTTP.Paths = []networkingv1.HTTPIngressPath{of("/x", "Exact", "api"), of("/y", "Prefix", "web"), of("/z", "Prefix", "api")}
		}, "AuthorizeSecurityGroupIngress CreateRule CreateTargetGroup DeleteTargetGroup DeregisterTargets ModifyRule×2 RegisterTargets"},
		"the host changes, and a default backend comes": {func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].Host, ing.Spec.DefaultBackend = "new.example.com", backend("api:80")
		}, "ModifyListener ModifyRule×2"},
		"the scheme changes": {func(ing *networkingv1.Ingress) {
			ing.Annotations["alb.ingress.kubernetes.io/scheme"] = "internet-facing"
		}, "CreateListener CreateLoadBalancer CreateRule×2 DeleteLoadBalancer"},
		"the type of targets changes": {func(ing *networkingv1.Ingress) { ing.Annotations["alb.ingress.kubernetes.io/target-type"] = "instance" },
			"AuthorizeSecurityGroupIngress×2 CreateTargetGroup×2 DeleteTargetGroup×2 DeregisterTargets×2 ModifyRule×2 RegisterTargets×2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSite(t)
			w.two()
			ing := w.get("one")
			c.change(ing)
			w.must(w.client.Update(w.Context(), ing))
			w.start()
			if got := w.calls(); got != c.writes {
				t.Errorf("it writes\n\t%s\nwant\n\t%s", got, c.writes)
			}
			w.expect("again")
		})
	}
}

// A group that has a member less loses its rules and target groups, and keeps the rest.
func TestAGroupLosesAMember(t *testing.T) {
	w := newSite(t)
	for _, name := range []string{"one", "two"} {
		w.create(ingress("shop/"+name, `
			group.name: all
			target-type: ip
			host `+name+`.example.com
			Prefix / web:80
		`))
	}
	w.start()
	w.must(w.client.Delete(w.Context(), w.get("one")))
	w.start()
	if got := w.sim.Inventory(); got["load balancers"] != 1 || got["target groups"] != 1 || got["listeners"] != 1 {
		t.Errorf("there are %v", got)
	}
	err := w.client.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "one"}, &networkingv1.Ingress{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Ingress is there: %v", err)
	}
	w.must(w.client.Delete(w.Context(), w.get("two")))
	w.start()
	got := w.sim.Inventory()
	if got["load balancers"]+got["target groups"]+got["listeners"] > 0 || got["security groups"] != 2 { // of the nodes, and the shared one
		t.Errorf("there are %v", got)
	}
}

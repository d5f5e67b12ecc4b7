package adoption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
	ours "fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/nightly"
)

// This file takes over a load balancer of Terraform with a listener that no Ingress asks for.

// extraPort is its port, and extraRequests are requests to it and to port 80.
const extraPort = 8080

var extraRequests = []matching.Request{
	{Port: 80, Host: "a.example.com", Path: "/"}, {Port: 80, Host: "a.example.com", Path: "/api"}, {Port: 80, Host: "b.example.com", Path: "/"},
	{Port: extraPort, Host: "a.example.com", Path: "/"}, {Port: extraPort, Host: "any.example.com", Path: "/web/x"}, {Port: extraPort, Host: "any.example.com", Path: "/old"},
}

// newWithExtra is a site with a load balancer of Terraform that has one more listener: with a target group of its own, a
// rule to the target group of a Service that an Ingress asks for, and one that answers by itself.
func newWithExtra(t *testing.T) *site {
	t.Helper()
	s := newSite(t, byHandObjects())
	s.makeByHand()
	tags := []elb.Tag{{Key: aws.String("terraform"), Value: aws.String("shop")}}
	own := must(s, func() (*elbv2.CreateTargetGroupOutput, error) {
		return s.elb.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{Name: aws.String("shop-admin"), Protocol: elb.ProtocolEnumHttp, Port: aws.Int32(9000),
			VpcId: aws.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: tags})
	}).TargetGroups[0].TargetGroupArn
	must(s, func() (*elbv2.RegisterTargetsOutput, error) {
		return s.elb.RegisterTargets(t.Context(), &elbv2.RegisterTargetsInput{TargetGroupArn: own, Targets: []elb.TargetDescription{{Id: aws.String("10.0.100.10"), Port: aws.Int32(9000)}}})
	})
	web := ""
	for arn, id := range s.handGroups() {
		if id == "shop/web:80" {
			web = arn
		}
	}
	forward := func(to string) []elb.Action {
		return []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: aws.String(to)}}
	}
	balancer := s.loadBalancer()
	listener := must(s, func() (*elbv2.CreateListenerOutput, error) {
		return s.elb.CreateListener(t.Context(), &elbv2.CreateListenerInput{LoadBalancerArn: aws.String(balancer), Port: aws.Int32(extraPort), Protocol: elb.ProtocolEnumHttp,
			Tags: tags, DefaultActions: forward(*own)})
	}).Listeners[0].ListenerArn
	gone := []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}}
	for i, r := range []struct {
		path string
		to   []elb.Action
	}{{"/old", gone}, {"/web/*", forward(web)}} {
		must(s, func() (*elbv2.CreateRuleOutput, error) {
			return s.elb.CreateRule(t.Context(), &elbv2.CreateRuleInput{ListenerArn: listener, Priority: aws.Int32(int32(i + 1)), Actions: r.to, Tags: tags,
				Conditions: []elb.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: []string{r.path}}}}})
		})
	}
	s.learn(extraRequests...)
	return s
}

// extra has the lines of the inventory that are about the listener, its rules, and its own target group.
func (s *site) extra() (out []string) {
	s.Helper()
	arn, balancer := "", s.loadBalancer()
	for _, l := range must(s, func() (*elbv2.DescribeListenersOutput, error) {
		return s.elb.DescribeListeners(s.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: aws.String(balancer)})
	}).Listeners {
		if *l.Port == extraPort {
			arn = *l.ListenerArn
		}
	}
	_, id, _ := strings.Cut(arn, ":listener/")
	for _, line := range s.inventory() {
		if id != "" && strings.Contains(line, id) || strings.Contains(line, "targetgroup/shop-admin/") {
			out = append(out, line)
		}
	}
	return out
}

// takeByHand takes the load balancer over, as far as it goes.
func (s *site) takeByHand(accept bool) (adoption.Outcome, error) {
	s.Helper()
	w := s.wantedByHand()
	return s.taker(s.cloud()).TakeFound(s.Context(), s.loadBalancer(), w.Wanted, w.Members, accept, requests.OfCommand)
}

// wantedByHand is what the Ingresses ask for.
func (s *site) wantedByHand() adoption.Wanted {
	s.Helper()
	all, err := adoption.WantedOf(s.Context(), s.cloud(), s.objects(), ingress.ClassOptions{}, adoption.OfDialect(""))
	if err != nil || len(all) != 1 {
		s.Fatal(err, len(all))
	}
	all[0].Named = s.handGroups()
	return all[0]
}

// mustTakeByHand takes it over.
func (s *site) mustTakeByHand(accept bool) {
	s.Helper()
	if out, err := s.takeByHand(accept); err != nil || !out.Done() || out.State != adoption.Taken {
		s.Fatalf("%+v %v", out, err)
	}
}

func (s *site) releaseByHand() (adoption.Outcome, error) {
	s.Helper()
	w := s.wantedByHand()
	return s.taker(s.cloud()).ReleaseFound(s.Context(), s.loadBalancer(), w.LoadBalancer.Key, w.Members, true)
}

// edit changes the Ingress.
func (s *site) edit(do func(*networkingv1.Ingress)) {
	s.Helper()
	s.asTheirs(func() error {
		ing := &networkingv1.Ingress{}
		if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: "one"}, ing); err != nil {
			return err
		}
		do(ing)
		return s.kube.Update(s.Context(), ing)
	})
}

// settle lets the operator work until it comes to rest, as several processes one after the other.
func (s *site) settle() {
	s.Helper()
	for range 3 {
		if err := s.operate(); err != nil {
			s.Fatal(err)
		}
	}
	if steps := s.plan(); len(steps) > 0 {
		s.Errorf("then the plan is %q", steps)
	}
}

// TestAListenerThatNoIngressAsksForStays: from the takeover to the return, through changes of everything else and the loss
// of all records, nothing of it is written, and it answers as before.
func TestAListenerThatNoIngressAsksForStays(t *testing.T) {
	s := newWithExtra(t)
	before, extra := s.inventory(), s.extra()
	if len(extra) != 5 { // the default rule counts
		t.Fatalf("it has %q", extra)
	}
	still := func(when string) {
		t.Helper()
		s.right(when)
		if diff := cmp.Diff(extra, s.extra()); diff != "" {
			t.Errorf("%s, of the listener:\n%s", when, diff)
		}
	}
	s.mustTakeByHand(false)
	still("once it is taken over")
	s.settle()
	seen, err := s.cloud().Observe(t.Context(), s.wantedByHand().LoadBalancer.Key, false)
	if err != nil || !seen.Listener(extraPort).Others || seen.Listener(80).Others {
		t.Fatalf("it is seen as %+v, %v", seen.Listeners, err)
	}
	// Before anything changes, it goes back as it was.
	if out, err := s.releaseByHand(); err != nil || !out.Done() {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff(less(before, ourShared), s.inventory(ourShared)); diff != "" {
		t.Errorf("once it is given back\n%s", diff)
	}
	s.mustTakeByHand(false)
	s.edit(func(ing *networkingv1.Ingress) {
		more := *ing.Spec.Rules[0].DeepCopy()
		more.Host = "d.example.com"
		ing.Spec.Rules = append(ing.Spec.Rules, more)
	})
	s.settle()
	still("after a change of the Ingress")
	class := &v1alpha1.ClusterLoadBalancerClass{}
	s.asTheirs(func() error {
		if err := s.kube.Get(t.Context(), client.ObjectKey{Name: "alb"}, class); err != nil {
			return err
		}
		class.Spec.Tags = map[string]string{"team": "shop"}
		class.Spec.Attributes = map[string]string{"idle_timeout.timeout_seconds": "90"}
		return s.kube.Update(t.Context(), class)
	})
	s.settle()
	still("after a change of the class")
	s.asTheirs(func() error { return s.kube.DeleteAllOf(t.Context(), &v1alpha1.LoadBalancer{}) })
	s.settle()
	still("after the loss of all records")
	s.orphan()
	still2 := slices.DeleteFunc(slices.Clone(extraRequests), func(r matching.Request) bool { return r.Port == 80 })
	s.learn(still2...)
	still("once no Ingress asks for the load balancer")
}

// orphan lets the operator clean up once all Ingresses are deleted. The load balancer stays for the listener, with the
// target group that both have named; what only the Ingress has asked for goes.
func (s *site) orphan() {
	s.Helper()
	key := s.wantedByHand().LoadBalancer.Key
	for text := range s.asked {
		if strings.Contains(text, " 80 ") {
			delete(s.asked, text) // the Ingress answers it no longer
		}
	}
	s.asTheirs(func() error {
		ing := &networkingv1.Ingress{}
		ing.Namespace, ing.Name = "shop", "one"
		return s.kube.Delete(s.Context(), ing)
	})
	for range 2 {
		cloud := ours.New(ours.Options{Config: s.sim.Config(), Installation: "test", VPC: albsim.VPC, Cluster: albsim.Cluster, Settle: time.Nanosecond})
		seen, err := cloud.Observe(s.Context(), key, true)
		if err != nil {
			s.Fatal(err)
		}
		all, said, err := program.CompileAll(s.Context(), cloud, s.objects(), ingress.ClassOptions{}, map[lb.Key]*lb.Observed{key: seen})
		if err != nil || len(all) != 1 {
			s.Fatal(err, len(all))
		}
		if !strings.Contains(fmt.Sprint(said), "it stays for this listener") {
			s.Errorf("it says %v", said)
		}
		if _, err := providers.Run(s.Context(), cloud, seen, all[0].Plan, providers.Options{Parallel: 1}); err != nil {
			s.Fatal(err)
		}
	}
	have := strings.Join(s.inventory(), "\n")
	for name, stays := range map[string]bool{"loadbalancer/app/shop-prod/": true, "targetgroup/shop-web/": true, "targetgroup/shop-api/": false} {
		if strings.Contains(have, name) != stays {
			s.Errorf("%q is there: %t; %s", name, !stays, have)
		}
	}
	if strings.Count(have, "listener arn:") != 1 {
		s.Errorf("it has other listeners: %s", have)
	}
}

// TestAListenerThatStaysIsCutOffAnywhere: neither direction writes anything of the listener, wherever it ends.
func TestAListenerThatStaysIsCutOffAnywhere(t *testing.T) {
	t.Parallel() // it waits, most of its time
	whole := newWithExtra(t)
	before, extra := whole.inventory(), whole.extra()
	whole.mustTakeByHand(false)
	took := len(whole.wrote)
	if out, err := whole.releaseByHand(); err != nil || !out.Done() {
		t.Fatalf("%+v %v", out, err)
	}
	all := len(whole.wrote)
	for _, cut := range nightly.Some(t, 4, numbers(all)) {
		s := newWithExtra(t)
		if s.left = cut; cut >= took {
			s.left = -1
			s.mustTakeByHand(false)
			s.left = cut - took
			_, _ = s.releaseByHand()
		} else {
			_, _ = s.takeByHand(false)
		}
		s.left = -1
		when := fmt.Sprintf("cut off at %d of %d", cut, all)
		s.right(when)
		if err := s.operate(); err != nil {
			t.Logf("%s: the operator: %v", when, err)
		}
		s.right(when + ", and the operator was started")
		if diff := cmp.Diff(extra, s.extra()); diff != "" {
			t.Errorf("%s, of the listener:\n%s", when, diff)
		}
		if cut < took {
			s.mustTakeByHand(false)
		}
		if out, err := s.releaseByHand(); err != nil || !out.Done() {
			t.Fatalf("%s: %+v %v", when, out, err)
		}
		if diff := cmp.Diff(less(before, ourShared), s.inventory(ourShared)); diff != "" {
			t.Errorf("%s, and given back\n%s", when, diff)
		}
		s.right(when + ", and given back")
	}
}

// TestTheClassHasListenersDeleted: with unknownListeners: Remove, the listener is a difference. With consent, it goes, and
// the target group that others made stays.
func TestTheClassHasListenersDeleted(t *testing.T) {
	s := newWithExtra(t)
	s.asTheirs(func() error {
		class := &v1alpha1.ClusterLoadBalancerClass{}
		if err := s.kube.Get(t.Context(), client.ObjectKey{Name: "alb"}, class); err != nil {
			return err
		}
		class.Spec.UnknownListeners = v1alpha1.UnknownListenersRemove
		return s.kube.Update(t.Context(), class)
	})
	if out, err := s.takeByHand(false); err != nil || out.Done() || len(s.wrote) > 0 {
		t.Fatalf("without consent: %+v %v, and it wrote %q", out, err, s.wrote)
	}
	s.learn(extraRequests[:3]...)
	s.mustTakeByHand(true)
	s.settle()
	s.right("with consent")
	if left := s.extra(); len(left) != 1 || !strings.Contains(left[0], "targetgroup/shop-admin/") {
		t.Errorf("these are left: %q", left)
	}
}

// TestAnIngressAsksForThePortOfAListenerThatStayed: a proven plan gives the listener the rules of the Ingress, and from then
// on it is an ordinary one, which goes once no Ingress asks for it. What others have made beside it stays.
func TestAnIngressAsksForThePortOfAListenerThatStayed(t *testing.T) {
	s := newWithExtra(t)
	s.mustTakeByHand(false)
	s.edit(func(ing *networkingv1.Ingress) {
		ing.Annotations["fairlead.dev/listen-ports"] = fmt.Sprintf(`[{"HTTP":80},{"HTTP":%d}]`, extraPort)
	})
	cloud, key := s.cloud(), s.wantedByHand().LoadBalancer.Key
	seen, err := cloud.Observe(t.Context(), key, false)
	if err != nil {
		t.Fatal(err)
	}
	snapshots, _ := ingress.Place(s.objects(), ingress.ClassOptions{})
	p, err := program.Compile(t.Context(), cloud, snapshots[0], seen)
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(p.Plan.Diagnostics); !strings.Contains(said, "it gets the rules of the Ingresses, which ask for the port: Ingress shop/one") {
		t.Errorf("it says %s", said)
	}
	s.learn(extraRequests[:3]...)
	s.settle()
	s.right("once the Ingress has the port")
	dns := strings.Fields(slices.Collect(func(yield func(string) bool) {
		for text := range s.asked {
			if !yield(text) {
				return
			}
		}
	})[0])[0]
	for _, r := range extraRequests[:3] {
		there := r
		there.Port = extraPort
		if a, b := plain(s.sim.Ask(dns, r, matching.Reading{})), plain(s.sim.Ask(dns, there, matching.Reading{})); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s%s is answered %+v at the port, and %+v at port 80", r.Host, r.Path, b, a)
		}
	}
	if seen, err := s.cloud().Observe(t.Context(), key, true); err != nil || seen.Listener(extraPort).Others {
		t.Errorf("it is still that of others: %v", err)
	}
	s.edit(func(ing *networkingv1.Ingress) { delete(ing.Annotations, "fairlead.dev/listen-ports") })
	s.settle()
	s.right("once it no longer asks for the port")
	if left := s.extra(); len(left) != 1 || !strings.Contains(left[0], "targetgroup/shop-admin/") {
		t.Errorf("these are left: %q", left)
	}
}

// TestAListenerStaysBesideThoseOfTheController: a person has added it, with a rule of the controller's security group, which
// becomes Fairlead's. Clients can connect to it all the while.
func TestAListenerStaysBesideThoseOfTheController(t *testing.T) {
	s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web 80"))
	s.startTheirs()
	balancer := must(s, func() (*elbv2.DescribeLoadBalancersOutput, error) {
		return s.elb.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{})
	}).LoadBalancers[0]
	must(s, func() (*elbv2.CreateListenerOutput, error) {
		return s.elb.CreateListener(t.Context(), &elbv2.CreateListenerInput{LoadBalancerArn: balancer.LoadBalancerArn, Port: aws.Int32(extraPort), Protocol: elb.ProtocolEnumHttp,
			DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: aws.String("410")}}}})
	})
	for _, id := range balancer.SecurityGroups {
		must(s, func() (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
			return s.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(id), IpPermissions: []ec2types.IpPermission{
				{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(extraPort), ToPort: aws.Int32(extraPort), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.9.0.0/16")}}}}})
		})
	}
	s.learn(extraRequests...)
	before := s.inventory()
	s.takeAll()
	s.asTheirs(func() error {
		class := &v1alpha1.ClusterLoadBalancerClass{}
		if err := s.kube.Get(t.Context(), client.ObjectKey{Name: "alb"}, class); err != nil {
			return err
		}
		class.Spec.Attributes = map[string]string{"idle_timeout.timeout_seconds": "90"}
		class.Spec.Inbound = []string{"10.0.0.0/8"}
		return s.kube.Update(t.Context(), class)
	})
	s.settle()
	s.right("after a change of the class")
	admitted := fmt.Sprintf("%d-%d from 10.9.0.0/16", extraPort, extraPort)
	if have, had := strings.Count(fmt.Sprint(s.inventory()), admitted), strings.Count(fmt.Sprint(before), admitted); have != had || had == 0 {
		t.Errorf("of %d rules for the port, %d are left", had, have)
	}
	s.releaseAll()
	s.right("once it is given back")
}

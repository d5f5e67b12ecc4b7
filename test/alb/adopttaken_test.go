package alb

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	budget "fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/nightly"
)

// This file takes load balancers over that the AWS Load Balancer Controller made, and gives them back.

// takenKey is the key of the load balancer of theirMade, of a class that takes it over.
const takenKey = lb.Key("alb/shop/@all/internal=k8s-all-0123456789")

// A takeover is a load balancer of the controller, with the objects that ask for it.
type takeover struct {
	*world
	made *theirMade
	back string // the security group that all load balancers of the controller share
	// differs: some settings are not the wanted ones
	differs bool
	// policy is what the operator may do
	policy *iam.Policy
	// needed are the actions that a single statement of the policy allowed
	needed map[string]bool
}

// adopters is the policy of an operator that takes load balancers over: the installed one, for the names of the controller
// too, as the guide says, and the statements of policy-adoption.json.
func adopters(t *testing.T, files ...string) iam.Policy {
	t.Helper()
	out := iam.Policy{}
	for _, file := range append([]string{"../../docs/iam-policy.json"}, files...) {
		p, err := iam.ReadPolicy(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Statement {
			for _, r := range s.Resource {
				if strings.Contains(r, "/app/fl-") {
					s.Resource = append(slices.Clone(s.Resource), strings.Replace(r, "fl-", "k8s-", 1))
				}
			}
			out.Statement = append(out.Statement, s)
		}
	}
	return out
}

// adoption is the file with the statements to take load balancers over.
const adoption = "../../providers/aws/preflight/policy-adoption.json"

// inTakeover runs a test with a load balancer of the controller, under a policy that permits all that is done.
func inTakeover(t *testing.T, o albsim.Options, g theirGroup, do func(*takeover)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, needed := adopters(t, adoption), map[string]bool{}
		o.Authorize = func(a iam.Ask) bool {
			by := p.Allowing(a)
			switch len(by) {
			case 0:
				t.Errorf("the policies deny %s on %s", a.Action, a.Resource)
			case 1:
				needed[by[0]+" "+a.Action] = true
			}
			return len(by) > 0
		}
		k := newTakeover(newWorld(t, o), g)
		k.policy, k.needed = &p, needed
		do(k)
	})
}

func newTakeover(w *world, g theirGroup) *takeover {
	w.Helper()
	if g.secure != "" {
		g.secure = w.sim.Issue(time.Now().AddDate(1, 0, 0), "ISSUED", "*.example.com")
	}
	k := &takeover{world: w}
	w.key = takenKey
	k.write(g)
	k.made = w.makeTheirs(g)
	for _, id := range k.made.balancer.SecurityGroups {
		if id != k.made.front {
			k.back = id
		}
	}
	for resource, arn := range k.made.groups {
		k.register(resource, arn)
	}
	k.admitBack(8080)
	k.admitBack(8081)
	return k
}

// write has the objects ask for a group.
func (k *takeover) write(g theirGroup) {
	k.Helper()
	objects, err := manifests.Load([]string{"-"}, strings.NewReader(strings.Replace(ourManifests(g.manifests()), "spec: {dialect: alb}",
		"spec: {dialect: alb, adoption: {from: alb, clusterName: "+albsim.Cluster+", names: [{stack: all, name: k8s-all-0123456789}]}}", 1)))
	if err != nil {
		k.Fatal(err)
	}
	k.Objects = objects
	k.scale(2)
}

// scale gives each Service some pods.
func (k *takeover) scale(pods int) {
	k.EndpointSlices = nil
	ready, tcp := true, corev1.ProtocolTCP
	for _, s := range k.Services {
		if _, known := k.numbers[s.Name]; !known {
			k.numbers[s.Name] = len(k.numbers)
		}
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: s.Name, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Name: sdk.String("http"), Port: sdk.Int32(8080), Protocol: &tcp},
				{Name: sdk.String("admin"), Port: sdk.Int32(8081), Protocol: &tcp}},
		}
		for i := range pods {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.0.0.%d", 10+10*k.numbers[s.Name]+i)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprintf("%s-%d", s.Name, i)},
			})
		}
		k.EndpointSlices = append(k.EndpointSlices, slice)
	}
}

// register registers the pods of a Service in a target group of the controller, by its resource.
func (k *takeover) register(resource, arn string) {
	k.Helper()
	service, port, _ := strings.Cut(resource[strings.Index(resource, "-")+1:], ":")
	number := int32(8080)
	if port == "81" || port == "admin" {
		number = 8081
	}
	in := &elbapi.RegisterTargetsInput{TargetGroupArn: &arn}
	for n, s := range k.Services {
		if s.Name == service {
			for _, e := range k.EndpointSlices[n].Endpoints {
				in.Targets = append(in.Targets, elb.TargetDescription{Id: &e.Addresses[0], Port: &number})
			}
		}
	}
	_, err := k.made.api.RegisterTargets(k.Context(), in)
	k.made.must(err)
}

// admitBack has the nodes admit the controller's security group on a port.
func (k *takeover) admitBack(port int32) {
	k.Helper()
	_, err := k.made.network.AuthorizeSecurityGroupIngress(k.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: sdk.String(albsim.NodeGroup), IpPermissions: []ec2types.IpPermission{{IpProtocol: sdk.String("tcp"), FromPort: &port, ToPort: &port,
			UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &k.back}}}}})
	k.made.must(err)
}

// found reads the load balancer as the provider does to take it over.
func (k *takeover) found() *lb.Other {
	k.Helper()
	o, err := k.cloud.Found(k.Context(), *k.made.balancer.LoadBalancerArn)
	if err != nil {
		k.Fatal(err)
	}
	return o
}

// plan says which of its parts become which wanted ones.
func (k *takeover) plan(o *lb.Other) lb.Takeover {
	k.Helper()
	s, facts := k.snapshot(), k.facts()
	facts.NameTaken = ""
	built := model.Compile(s, facts, k.caps(s))
	names := map[string]map[string]string{}
	for _, s := range k.Services {
		names["shop/"+s.Name] = map[string]string{"80": "http", "81": "admin"}
	}
	former := adopt.WithFormerTags(*o)
	wanted := adopt.Wanted{Table: built.Table, LoadBalancer: built.LoadBalancer, Dialect: k.caps(s).Dialect, PortNames: names, AnySubnets: true}
	c := adopt.Compare(&former, wanted, budget.OfCommand)
	if !c.Same() && !k.differs {
		k.Errorf("it is not the same: %+v, %+v", c.Report, c.Settings)
	}
	return c.Takeover(&former, wanted)
}

// claim returns the changes that take it over.
func (k *takeover) claim() []lb.TagChange {
	k.Helper()
	o := k.found()
	changes, err := k.cloud.Claim(o, k.plan(o))
	if err != nil {
		k.Fatal(err)
	}
	return changes
}

// admit has the nodes admit it as one of the operator's.
func (k *takeover) admit() {
	k.Helper()
	o := k.found()
	if err := k.cloud.Admit(k.Context(), o, k.plan(o)); err != nil {
		k.Fatal(err)
	}
}

// retag makes changes.
func (k *takeover) retag(changes []lb.TagChange) {
	k.Helper()
	for _, c := range changes {
		if err := k.cloud.Retag(k.Context(), k.key, c); err != nil {
			k.Fatal(err)
		}
	}
}

// take takes it over. From then on, the ordinary policy has to do.
func (k *takeover) take() {
	k.Helper()
	k.admit()
	k.retag(k.claim())
	*k.policy = adopters(k.T)
}

// tags are those of all resources of the account.
func (k *takeover) tags() map[string]map[string]string {
	k.Helper()
	o := k.found()
	out := maps.Clone(o.Tags)
	for _, arn := range k.made.groups {
		found, err := k.made.api.DescribeTags(k.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{arn}})
		k.made.must(err)
		out[arn] = map[string]string{}
		for _, t := range found.TagDescriptions[0].Tags {
			out[arn][*t.Key] = *t.Value
		}
	}
	return out
}

// writes are the calls that changed something, by action, since the simulator was told to forget.
func (k *takeover) writes() map[string]int {
	out := map[string]int{}
	for _, c := range k.sim.Calls() {
		if c.Write {
			out[c.Action]++
		}
	}
	return out
}

// aGroup draws a group.
func aGroup(seed, n uint64) theirGroup { return drawGroup(rand.New(rand.NewPCG(seed, n)), "one") }

// TestATakenLoadBalancerIsAsOurs: nothing is to be changed after only tags were, of the operator that took it over and of
// the next one.
func TestATakenLoadBalancerIsAsOurs(t *testing.T) {
	seed := drawSeed(t)
	for _, n := range nightly.Some(t, 12, numbers(12)) {
		inTakeover(t, usual(), aGroup(seed, uint64(n)), func(k *takeover) {
			time.Sleep(time.Minute)
			k.take()
			for _, operator := range []string{"the one that took it over", "the next one"} {
				k.sim.Forget()
				k.rests("it was taken over, by " + operator)
				k.settle()
				if w := k.writes(); len(w) > 0 {
					t.Errorf("%s writes %v", operator, w)
				}
				k.restart()
			}
			if again := k.claim(); len(again) > 0 {
				t.Errorf("it is not done: %v", again)
			}
		})
	}
}

// twentyIngresses has a Service for each.
func twentyIngresses() theirGroup {
	g := theirGroup{}
	for i := range 20 {
		name := fmt.Sprintf("i%02d", i)
		g.ingresses = append(g.ingresses, theirIngress{name: name, hosts: []string{name + ".example.com"},
			paths: map[string][]theirPath{name + ".example.com": {{"/", "Prefix", &theirTarget{"s" + name, "80"}, ""}}}})
	}
	return g
}

// TestTheCallsOfATakeover: a group of 20 Ingresses, with a Service each, on one port.
func TestTheCallsOfATakeover(t *testing.T) {
	inTakeover(t, usual(), twentyIngresses(), func(k *takeover) {
		time.Sleep(time.Minute)
		k.sim.Forget()
		k.admit()
		admitting := map[string]int{"CreateSecurityGroup": 1, "AuthorizeSecurityGroupIngress": 1, "SetSecurityGroups": 1}
		if diff := cmp.Diff(admitting, k.writes()); diff != "" {
			t.Errorf("admitting (-want +got): %s", diff)
		}
		k.sim.Forget()
		changes := k.claim()
		k.sim.Forget()
		k.retag(changes)
		// target groups: 20, the listener, 20 rules together, the load balancer; the former tags of these but for the rules and
		// the listener
		taking := map[string]int{"AddTags": 20 + 1 + 1 + 1, "RemoveTags": 20 + 1, "CreateTags": 1, "DeleteTags": 1}
		if diff := cmp.Diff(taking, k.writes()); diff != "" {
			t.Errorf("taking (-want +got): %s", diff)
		}
	})
}

// TestATakeoverCanBeCutOff: after each change, an operator does nothing, and the rest is done later. So it is of the way back,
// whose end is the beginning. With -short it is every fifth change.
func TestATakeoverCanBeCutOff(t *testing.T) {
	seed, first, every := drawSeed(t), 0, 1
	if testing.Short() {
		first, every = int(seed%5), 5
	}
	for n := first; n >= 0; n += every {
		inTakeover(t, usual(), aGroup(seed, 0), func(k *takeover) {
			time.Sleep(time.Minute)
			before := k.tags()
			k.admit()
			changes := k.claim()
			idle := func(when string) {
				t.Helper()
				for range 2 {
					k.sim.Forget()
					if _, _, err := k.reconcile(); err != nil && !errors.Is(err, providers.ErrPending) {
						t.Errorf("%s: %v", when, err)
					}
					if w := k.writes(); len(w) > 0 {
						t.Errorf("%s, an operator writes %v", when, w)
					}
					k.restart()
				}
			}
			k.retag(changes[:min(n, len(changes))])
			if n < len(changes) {
				idle(fmt.Sprintf("after %d changes", n))
			}
			k.retag(k.claim())
			after := k.tags()
			k.rests("it was cut off")
			back := k.cloud.Return(k.found())
			k.retag(back[:min(n, len(back))])
			if n > 0 {
				idle(fmt.Sprintf("after %d changes back", n))
			}
			k.retag(k.cloud.Return(k.found()))
			if rest := k.cloud.Return(k.found()); len(rest) > 0 {
				t.Errorf("it is not given back: %v", rest)
			}
			if diff := cmp.Diff(before, k.tags()); diff != "" {
				t.Errorf("after %d changes back (-before +after): %s", n, diff)
			}
			k.retag(k.claim())
			if diff := cmp.Diff(after, k.tags()); diff != "" {
				t.Errorf("taken again (-first +second): %s", diff)
			}
			if n > len(changes) && n > len(back) || t.Failed() {
				n = -100
			}
		})
	}
}

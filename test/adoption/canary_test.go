package adoption

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/test/albsim"
)

// TestSecurityGroupsOfTheUser: a load balancer with security groups and subnets that its Ingress names is taken over with
// these, and gets none of Fairlead's.
func TestSecurityGroupsOfTheUser(t *testing.T) {
	s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", map[string]string{"target-type": "ip",
		"security-groups": albsim.NodeGroup, "subnets": "subnet-private0, subnet-private1"}, "a.example.com / Prefix web http"))
	if _, err := s.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(albsim.NodeGroup), IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(8080),
			ToPort: aws.Int32(8080), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(albsim.NodeGroup)}}}}}); err != nil {
		t.Fatal(err)
	}
	s.startTheirs()
	s.learn(someRequests...)
	before := s.inventory()
	s.takeAll()
	s.right("after it was taken over")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after it, the plan is %q", steps)
	}
	s.releaseAll()
	if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
		t.Errorf("after it was given back\n%s", diff)
	}
}

// TestMovedToAnotherClass: a load balancer that was prepared, and whose Ingress got another class then, has one record, also
// where the move was cut off.
func TestMovedToAnotherClass(t *testing.T) {
	for _, cutOff := range []bool{false, true} {
		s := newOneAndTwo(t)
		if done, err := s.take(false); done || err != nil {
			t.Fatal(done, err)
		}
		s.asTheirs(func() error { return s.kube.Create(t.Context(), classNamed("canary")) })
		ing := &networkingv1.Ingress{}
		s.asTheirs(func() error {
			if err := s.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "one"}, ing); err != nil {
				return err
			}
			ing.Spec.IngressClassName = aws.String("canary")
			return s.kube.Update(t.Context(), ing)
		})
		if cutOff {
			s.left = 2 // the new record, and its status
			if _, err := s.take(false); err == nil {
				t.Fatal("it is not cut off")
			}
			s.left = -1
		}
		if _, err := s.take(false); err != nil {
			t.Fatal(err)
		}
		all, err := records.NewAdoptionStore(s.kube, s.kube, "").List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{}
		for _, a := range all {
			keys = append(keys, a.Key+" "+a.State)
		}
		want := []string{"alb/shop/@all/internet-facing=k8s-all-be6a96a135 Prepared", "canary/shop/one/internal=k8s-shop-one-546e40461d Taken"}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("cut off: %v\n%s", cutOff, diff)
		}
	}
}

// TestNodesThatTheControllerOpensBesideGroupsOfTheUser: Fairlead does not open them, so that people do that before anything is
// changed.
func TestNodesThatTheControllerOpensBesideGroupsOfTheUser(t *testing.T) {
	annotations := map[string]string{"target-type": "ip", "security-groups": "fronts", "manage-backend-security-group-rules": "true"}
	s := newSite(t, base+service("web", 80, 8080, 30080)+theIngress("one", annotations, "a.example.com / Prefix web http"))
	made, err := s.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String("fronts"), Description: aws.String("fronts"), VpcId: aws.String(albsim.VPC)})
	if err != nil {
		t.Fatal(err)
	}
	s.change("one", func(ing *networkingv1.Ingress) {
		ing.Annotations["alb.ingress.kubernetes.io/security-groups"] = *made.GroupId
	})
	s.startTheirs()
	s.reachable("as the controller made it")
	before := s.inventory()
	s.wrote = nil
	if got := s.obstacles(); len(got) != 1 || !strings.Contains(got[0], "open the ports of the targets to "+*made.GroupId) {
		t.Fatalf("in the way: %q", got)
	}
	if diff := cmp.Diff(before, s.inventory()); diff != "" || len(s.wrote) > 0 {
		t.Errorf("it wrote %q\n%s", s.wrote, diff)
	}
	// People do so, and have the controller let go of the nodes.
	if _, err := s.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(albsim.NodeGroup), IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(8080),
			ToPort: aws.Int32(8080), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: made.GroupId}}}}}); err != nil {
		t.Fatal(err)
	}
	s.change("one", func(ing *networkingv1.Ingress) {
		delete(ing.Annotations, "alb.ingress.kubernetes.io/manage-backend-security-group-rules")
	})
	s.startTheirs()
	s.reachable("once people have opened the ports")
	s.takeAll()
	s.reachable("once it is taken over")
	s.accident()
	s.reachable("once the controller was started")
}

// obstacles are what stands in the way of taking all load balancers over.
func (s *site) obstacles() (out []string) {
	s.Helper()
	cloud := s.cloud()
	found, err := adoption.Others(s.Context(), cloud)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range adopt.Pairs(found, adoption.Plain(s.wanted(cloud)), albsim.Cluster) {
		one, err := s.taker(cloud).TakeFound(s.Context(), p.Found.Handle, *p.Wanted, nil, false, requests.OfCommand)
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, one.Obstacles...)
	}
	return out
}

// TestClassesWithTheSameParameters: the parameters of the controller have another name than its class. A second class refers to
// them, too, and so does the one that takes the place of the first; the ClusterLoadBalancerClass has the name of the parameters.
func TestClassesWithTheSameParameters(t *testing.T) {
	s := newSite(t, strings.NewReplacer("spec: {controller: ingress.k8s.aws/alb}", "spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}",
		"kind: ClusterLoadBalancerClass\nmetadata: {name: alb}", "kind: ClusterLoadBalancerClass\nmetadata: {name: edge}").Replace(base)+
		"\n---\napiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {name: edge}\nspec: {targetType: ip, scheme: internet-facing, tags: [{key: team, value: shop}]}\n"+
		service("web", 80, 8080, 30080)+theIngress("one", nil, "a.example.com / Prefix web 80")+theIngress("two", nil, "b.example.com / Prefix web 80"))
	s.startTheirs()
	s.learn(someRequests...)
	if done, err := s.take(false); done || err != nil {
		t.Fatal(done, err)
	}
	parameters := &networkingv1.IngressClassParametersReference{APIGroup: aws.String("elbv2.k8s.aws"), Kind: "IngressClassParams", Name: "edge"}
	class := func(name string) *networkingv1.IngressClass {
		out := classNamed(name)
		out.Spec.Parameters = parameters
		return out
	}
	s.asTheirs(func() error { return s.kube.Create(t.Context(), class("canary")) })
	s.change("one", func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = aws.String("canary") })
	states := func(want ...string) {
		t.Helper()
		if _, err := s.take(false); err != nil {
			t.Fatal(err)
		}
		all, err := records.NewAdoptionStore(s.kube, s.kube, "").List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range all {
			key, _, _ := strings.Cut(r.Key, "=")
			got = append(got, key+" "+r.State)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		s.right("with " + strings.Join(want, ", "))
	}
	states("alb/shop/two/internet-facing Prepared", "canary/shop/one/internet-facing Taken")
	s.asTheirs(func() error { return s.kube.Delete(t.Context(), class("alb")) })
	s.asTheirs(func() error { return s.kube.Create(t.Context(), class("alb")) })
	states("alb/shop/two/internet-facing Taken", "canary/shop/one/internet-facing Taken")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("the plan is then %q", steps)
	}
}

package alb

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file looks at who may connect to a load balancer, and what lets it reach its targets.

// fences are the security groups of the VPC, by what they are for, with who is admitted to which
// port.
func (w *world) fences() map[string][]string {
	w.Helper()
	found, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		w.Fatal(err)
	}
	roles := map[string]string{}
	for _, g := range found.SecurityGroups {
		switch role, _, _ := strings.Cut(*g.Description, " "); role {
		case "Who":
			roles[*g.GroupId] = "firewall"
		case "Where":
			roles[*g.GroupId] = "shared"
		default:
			roles[*g.GroupId] = *g.GroupName
		}
	}
	out := map[string][]string{}
	for _, g := range found.SecurityGroups {
		role := roles[*g.GroupId]
		out[role] = []string{}
		for _, p := range g.IpPermissions {
			for _, r := range p.IpRanges {
				out[role] = append(out[role], fmt.Sprintf("%d %s", *p.FromPort, *r.CidrIp))
			}
			for _, r := range p.Ipv6Ranges {
				out[role] = append(out[role], fmt.Sprintf("%d %s", *p.FromPort, *r.CidrIpv6))
			}
			for _, r := range p.PrefixListIds {
				out[role] = append(out[role], fmt.Sprintf("%d %s", *p.FromPort, *r.PrefixListId))
			}
			for _, r := range p.UserIdGroupPairs {
				ports := fmt.Sprint(*p.FromPort)
				if *p.ToPort != *p.FromPort {
					ports += fmt.Sprintf("-%d", *p.ToPort)
				}
				out[role] = append(out[role], ports+" "+roles[*r.GroupId])
			}
		}
		slices.Sort(out[role])
	}
	return out
}

// expectFences compares the security groups with what they should be, one for each purpose.
func (w *world) expectFences(when string, want map[string][]string) {
	w.Helper()
	if there := w.sim.Inventory()["security groups"]; there != len(want) {
		w.Errorf("%s, there are %d security groups, want %d", when, there, len(want))
	}
	if diff := cmp.Diff(want, w.fences()); diff != "" {
		w.Errorf("security groups, %s (-want +got):\n%s", when, diff)
	}
}

// annotate changes an annotation of the first Ingress.
func (w *world) annotate(name, value string) {
	w.Ingresses[0] = w.Ingresses[0].DeepCopy()
	w.Ingresses[0].Annotations["fairlead.dev/"+name] = value
}

var everybody = []string{"80 0.0.0.0/0", "80 ::/0"}

func TestPortsAreOpenForThoseWhoMayConnect(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		w.expectFences("without a word", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})

		w.annotate("inbound", "10.0.0.0/8, pl-0123456789abcdef0")
		w.settle()
		w.expectFences("for some", map[string][]string{"firewall": {"80 10.0.0.0/8", "80 pl-0123456789abcdef0"}, "shared": {}, "nodes": {"8080 shared"}})

		w.annotate("listen-ports", "HTTP:80,HTTP:8081")
		w.annotate("inbound", "10.0.0.0/8")
		w.annotate("health-check-port", "9000")
		w.settle()
		w.expectFences("on two ports", map[string][]string{"firewall": {"80 10.0.0.0/8", "8081 10.0.0.0/8"}, "shared": {}, "nodes": {"8080 shared", "9000 shared"}})

		w.annotate("listen-ports", "HTTP:8081")
		w.annotate("inbound", "0.0.0.0/0,::/0")
		w.settle()
		w.expectFences("on the other port", map[string][]string{"firewall": {"8081 0.0.0.0/0", "8081 ::/0"}, "shared": {}, "nodes": {"8080 shared", "9000 shared"}})
		w.rests("the changes")
	})
}

func TestClientsAreAdmittedBeforeOthersAreShutOut(t *testing.T) {
	inWorld(t, func(w *world) {
		w.annotate("inbound", "10.0.0.0/8")
		w.settle()
		w.annotate("inbound", "10.0.0.0/9")
		w.sim.Watch(func(c albsim.Call) {
			if c.Write && len(w.fences()["firewall"]) == 0 {
				t.Errorf("after %s nobody may connect", c)
			}
		})
		w.settle()
	})
}

// Security groups close a port at once, and rules are deployed after a while.
func TestAPortStaysOpenForThoseWhoAreRedirectedThere(t *testing.T) {
	inBubble(t, slow(), func(w *world) {
		w.service("web", 1)
		w.secret("tls", 0, "site.example.com")
		w.serve("site", map[string]string{"/": "web"})
		w.change("site", tls("tls", "site.example.com"))
		w.annotate("listen-ports", "HTTPS:443")
		w.backendNamed("to-https", v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Scheme: "https", StatusCode: 301}})
		w.serve("door", nil)
		w.change("door", func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].Host = "site.example.com"
			ing.Spec.Rules[0].HTTP.Paths = []networkingv1.HTTPIngressPath{prefix("/", toResource("to-https"))}
		})
		w.settle()
		time.Sleep(2 * time.Minute)
		ask := func(port int32) albsim.Answer {
			return w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: port, TLS: port == 443, SNI: "site.example.com", Host: "site.example.com", Path: "/", Source: "203.0.113.7"}, matching.Reading{})
		}
		if ask(80).Location == "" || ask(443).Refused {
			t.Fatalf("at first, %+v and %+v are answered", ask(80), ask(443))
		}
		w.remove("door")
		w.change("site", func(ing *networkingv1.Ingress) { ing.Spec.TLS = nil })
		w.annotate("listen-ports", "HTTP:80")
		w.sim.Watch(func(c albsim.Call) {
			if ask(80).Location != "" && ask(443).Refused {
				t.Errorf("after %s clients are redirected to where nobody answers", c)
			}
		})
		w.settle()
		if a := ask(80); len(a.Forward) == 0 || !ask(443).Refused {
			t.Errorf("in the end, %+v and %+v are answered", a, ask(443))
		}
	})
}

func TestTheFirewallGoesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, usual())
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		w.Ingresses = nil
		w.sim.Forget()
		w.settle()
		w.expectFences("when nothing is served", map[string][]string{"nodes": {}})
		refused := 0
		for _, c := range w.sim.Calls() {
			if c.Error == "DependencyViolation" {
				refused++
			}
		}
		if refused > 1 {
			t.Errorf("a security group was in use %d times when it was deleted", refused)
		}
	})
}

func TestWhatIsSharedStaysForOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.service("web", 1)
		other := w.serve("other", map[string]string{"/": "web"})
		other.Annotations["fairlead.dev/group"] = "other"
		second := *w
		second.key = "fairlead/shop/@other/internal"
		w.settle()
		second.settle()
		w.remove("site")
		w.settle()
		w.expectFences("for the other one", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})
		second.Ingresses = nil
		second.settle()
		w.expectFences("when both are gone", map[string][]string{"nodes": {}})
	})
}

func TestSecurityGroupsOfTheClass(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		w.class(func(s *spec) { s.SecurityGroups = []string{"nodes"} })
		w.settle()
		w.expectFences("of the class", map[string][]string{"nodes": {}})
		b, _, _ := w.balancer()
		if diff := cmp.Diff([]string{albsim.NodeGroup}, b.SecurityGroups); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.rests("the groups of the class were set")

		w.class(func(s *spec) { s.SecurityGroups = nil })
		w.settle()
		w.expectFences("kept again", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})
		w.rests("they were taken away")

		w.class(func(s *spec) { s.SecurityGroups = []string{"nodes"} })
		w.settle()
		w.class(func(s *spec) { s.SecurityGroups = []string{"nobody"} })
		w.serve("more", map[string]string{"/more": "web"})
		w.settle()
		w.expectFences("once others are named that are not there", map[string][]string{"nodes": {}})
		if b, _, _ := w.balancer(); len(b.SecurityGroups) != 1 || b.SecurityGroups[0] != albsim.NodeGroup {
			t.Errorf("it has the groups %v", b.SecurityGroups)
		}
	})
}

// A load balancer is not made open for all because the groups that are to close it are missing.
func TestNoLoadBalancerWithoutTheSecurityGroupsOfTheClass(t *testing.T) {
	inWorld(t, func(w *world) {
		w.class(func(s *spec) { s.SecurityGroups = []string{"nobody"} })
		w.settle()
		if there := w.sim.Inventory()["load balancers"]; there != 0 {
			t.Errorf("there are %d load balancers", there)
		}
		if told := w.about(diag.NetworkUnmet); len(told) != 2 || !strings.Contains(told[0].Message, "nobody") {
			t.Errorf("told: %v", told)
		}
		w.class(func(s *spec) { s.SecurityGroups = []string{"nodes"} })
		w.settle()
		if a := w.request("site"); len(a.Forward) == 0 {
			t.Errorf("once it is there: %+v", a)
		}
	})
}

// fenceless are the statements of the policy that the guide says can be left out where no security
// group is to be touched.
var fenceless = regexp.MustCompile("^ReachTargets$|SecurityGroups")

func TestUnfencedNoSecurityGroupIsTouched(t *testing.T) {
	lean := operator().Policy
	lean.Statement = slices.DeleteFunc(slices.Clone(lean.Statement), func(s iam.Statement) bool { return fenceless.MatchString(s.Sid) })
	inBubble(t, albsim.Options{Authorize: lean.Allows}, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.cloud = aws.New(aws.Options{Config: w.sim.Config(), Installation: "test", VPC: albsim.VPC, Cluster: albsim.Cluster, UnmanagedGroups: true})
		w.settle()
		w.rests("it was made")
		w.annotate("inbound", "10.0.0.0/8")
		built := model.Compile(w.snapshot(), w.facts(), w.cloud.Capabilities(model.ClassOf(w.snapshot())))
		if len(built.LoadBalancer.Listeners) != 0 || !strings.Contains(fmt.Sprint(built.Diagnostics), "cannot limit their addresses") {
			t.Errorf("%d listeners, diagnostics %v: a port that is not for everybody has to stay closed", len(built.LoadBalancer.Listeners), built.Diagnostics)
		}
		w.Ingresses = nil
		w.settle()
		for _, c := range w.sim.Calls() {
			if strings.Contains(c.Action, "SecurityGroup") && c.Action != "DescribeSecurityGroups" {
				t.Error(c)
			}
		}
	})
}

func TestADeepLookFindsWhoWasLetIn(t *testing.T) {
	for name, change := range map[string]func(w *world, api *ec2.Client, firewall string) error{
		"somebody let in": func(w *world, api *ec2.Client, firewall string) error {
			_, err := api.AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: &firewall, IpPermissions: []ec2types.IpPermission{tcp(80, "192.0.2.0/24")},
			})
			return err
		},
		"somebody shut out": func(w *world, api *ec2.Client, firewall string) error {
			_, err := api.RevokeSecurityGroupIngress(w.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId: &firewall, IpPermissions: []ec2types.IpPermission{tcp(80, "0.0.0.0/0")},
			})
			return err
		},
		"a port opened that nobody listens on": func(w *world, api *ec2.Client, firewall string) error {
			_, err := api.AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: &firewall, IpPermissions: []ec2types.IpPermission{tcp(22, "0.0.0.0/0")},
			})
			return err
		},
		"the security groups taken away": func(w *world, _ *ec2.Client, _ string) error {
			b, _, _ := w.balancer()
			_, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).SetSecurityGroups(w.Context(), &elbapi.SetSecurityGroupsInput{
				LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: []string{albsim.NodeGroup},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.settle()
				before, _, _ := w.balancer()
				if err := change(w, ec2.NewFromConfig(w.sim.OwnersConfig()), before.SecurityGroups[0]); err != nil {
					t.Fatal(err)
				}
				if todo := w.look(true); todo.Empty() {
					t.Error("nothing is found")
				}
				w.settle()
				after, _, _ := w.balancer()
				if diff := cmp.Diff(before.SecurityGroups, after.SecurityGroups); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
				w.expectFences("put right", map[string][]string{"firewall": everybody, "shared": {}, "nodes": {"8080 shared"}})
				time.Sleep(time.Minute)
				w.rests("it was put right")
			})
		})
	}
}

func tcp(port int32, from string) ec2types.IpPermission {
	return ec2types.IpPermission{
		IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(port), ToPort: sdk.Int32(port), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String(from)}},
	}
}

// EC2 keeps ranges in a form of its own, and refuses one that it has in another form. A range is
// taken away all the same.
func TestRangesInAnotherForm(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "inbound", "2001:0DB8:0000::/32, 10.0.0.0/8")
		w.propagated()
		w.ask("site", "inbound", "2001:0DB8:0000::/32")
		w.propagated()
		a := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 80, Host: "site.example.com", Path: "/", Source: "10.1.2.3"}, matching.Reading{})
		if !a.Refused {
			t.Errorf("a client that is not admitted any more is answered %+v", a)
		}
		w.restart()
		w.sim.Forget()
		w.settle()
		w.rests("it was looked at anew")
		if _, writes := w.sim.Cost(); writes > 0 {
			t.Errorf("a look writes: %v", w.sim.Calls())
		}
	})
}

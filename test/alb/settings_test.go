package alb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/test/albsim"
)

// This file changes the settings of a load balancer, by its class and behind the operator's back,
// and reads from AWS what came of it.

// spec is the parameters of a class.
type spec = v1alpha1.LoadBalancerClassSpec

// balancer is the load balancer as AWS describes it, with its attributes and tags.
func (w *world) balancer() (elb.LoadBalancer, map[string]string, map[string]string) {
	w.Helper()
	api := elbapi.NewFromConfig(w.sim.OwnersConfig())
	there, err := api.DescribeLoadBalancers(w.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil || len(there.LoadBalancers) != 1 {
		w.Fatalf("%d load balancers, error %v", len(there.LoadBalancers), err)
	}
	arn := there.LoadBalancers[0].LoadBalancerArn
	described, err := api.DescribeLoadBalancerAttributes(w.Context(), &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: arn})
	if err != nil {
		w.Fatal(err)
	}
	tagged, err := api.DescribeTags(w.Context(), &elbapi.DescribeTagsInput{ResourceArns: []string{*arn}})
	if err != nil {
		w.Fatal(err)
	}
	attributes, tags := map[string]string{}, map[string]string{}
	for _, a := range described.Attributes {
		attributes[*a.Key] = *a.Value
	}
	for _, t := range tagged.TagDescriptions[0].Tags {
		tags[*t.Key] = *t.Value
	}
	return there.LoadBalancers[0], attributes, tags
}

// subnets are those of the load balancer.
func (w *world) subnets() []string {
	b, _, _ := w.balancer()
	var out []string
	for _, z := range b.AvailabilityZones {
		out = append(out, *z.SubnetId)
	}
	slices.Sort(out)
	return out
}

// inWorld tests with one Ingress that is served.
func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		test(w)
	})
}

// face turns to the load balancer of the scheme that the class says.
func (w *world) face() {
	if scheme := w.ClusterLoadBalancerClasses[0].Spec.Scheme; scheme != "" {
		w.turn(lb.Key("fairlead/shop/@all/" + scheme))
	}
}

func private(zones ...int) []string {
	var out []string
	for _, z := range zones {
		out = append(out, fmt.Sprintf("subnet-private%d", z))
	}
	return out
}

// inLocalZones adds two subnets in Local Zones.
func inLocalZones(s *albsim.Sim) {
	s.AddSubnet("subnet-local1", "eu-west-1-lon-1a", "10.0.201.0/24", map[string]string{"tier": "edge"})
	s.AddSubnet("subnet-local2", "eu-west-1-par-1a", "10.0.202.0/24", map[string]string{"tier": "edge"})
}

func TestSubnetsAreChosen(t *testing.T) {
	crowded := func(s *ec2.Subnet) { s.AvailableIpAddressCount = sdk.Int32(7) }
	for name, c := range map[string]struct {
		class func(*spec)
		net   func(*albsim.Sim)
		want  []string
	}{
		"by the role tag of the scheme": {want: private(0, 1, 2)},
		"by ID":                         {class: func(s *spec) { s.Subnets = private(2, 0) }, want: private(0, 2)},
		"by name":                       {class: func(s *spec) { s.Subnets = []string{"private-b", "private-c"} }, want: private(1, 2)},
		"by their tags": {
			class: func(s *spec) { s.SubnetTags = map[string]string{"tier": "edge", "used": ""} },
			net: func(s *albsim.Sim) {
				s.ChangeSubnet("subnet-public0", nil, map[string]string{"tier": "edge", "used": "yes"})
				s.ChangeSubnet("subnet-public1", nil, map[string]string{"tier": "edge"})
				s.ChangeSubnet("subnet-public2", nil, map[string]string{"tier": "edge", "used": "no"})
			},
			want: []string{"subnet-public0", "subnet-public2"},
		},
		"without those that have no room": {net: func(s *albsim.Sim) { s.ChangeSubnet("subnet-private1", crowded, nil) }, want: private(0, 2)},
		"by whether they reach the internet, where none has the tag": {
			net: func(s *albsim.Sim) {
				for _, id := range private(0, 1, 2) {
					s.ChangeSubnet(id, nil, map[string]string{})
				}
			},
			want: private(0, 1, 2),
		},
		"the public ones, for who is to be reached from the internet": {
			class: func(s *spec) { s.Scheme = "internet-facing" },
			want:  []string{"subnet-public0", "subnet-public1", "subnet-public2"},
		},
		"those that reach the internet, where none has the tag of the public ones": {
			class: func(s *spec) { s.Scheme = "internet-facing" },
			net: func(s *albsim.Sim) {
				for _, id := range []string{"subnet-public0", "subnet-public1", "subnet-public2"} {
					s.ChangeSubnet(id, nil, map[string]string{})
				}
			},
			want: []string{"subnet-public0", "subnet-public1", "subnet-public2"},
		},
		"those in availability zones, and not in a Local Zone": {
			net: func(s *albsim.Sim) {
				s.AddSubnet("subnet-local", "eu-west-1-lon-1a", "10.0.200.0/24", map[string]string{"kubernetes.io/role/internal-elb": "1"})
			},
			want: private(0, 1, 2),
		},
		"nor in a Wavelength Zone": {
			net: func(s *albsim.Sim) {
				s.AddSubnet("subnet-5g", "eu-west-1-wl1-lon-wlz-1", "10.0.200.0/24", map[string]string{"kubernetes.io/role/internal-elb": "1"})
			},
			want: private(0, 1, 2),
		},
		"nor on an Outpost": {
			net: func(s *albsim.Sim) {
				s.AddSubnet("subnet-outpost", "eu-west-1a", "10.0.200.0/24", map[string]string{"kubernetes.io/role/internal-elb": "1"})
				s.ChangeSubnet("subnet-outpost", func(n *ec2.Subnet) { n.OutpostArn = sdk.String("arn:aws:outposts:eu-west-1:123456789012:outpost/op-1") }, nil)
			},
			want: private(0, 1, 2),
		},
		"those in availability zones, though only others have the role tag": {
			net: func(s *albsim.Sim) {
				for _, id := range private(0, 1, 2) {
					s.ChangeSubnet(id, nil, map[string]string{})
				}
				s.AddSubnet("subnet-local", "eu-west-1-lon-1a", "10.0.200.0/24", map[string]string{"kubernetes.io/role/internal-elb": "1"})
			},
			want: private(0, 1, 2),
		},
		"those in Local Zones, where the class names them": {
			class: func(s *spec) { s.Subnets = []string{"subnet-local1", "subnet-local2"} },
			net:   inLocalZones,
			want:  []string{"subnet-local1", "subnet-local2"},
		},
		"or where they have its tags": {
			class: func(s *spec) { s.SubnetTags = map[string]string{"tier": "edge"} },
			net:   inLocalZones,
			want:  []string{"subnet-local1", "subnet-local2"},
		},
		"the first one of each zone": {
			net: func(s *albsim.Sim) {
				s.ChangeSubnet("subnet-private2", func(n *ec2.Subnet) { n.AvailabilityZone = sdk.String("eu-west-1b") }, nil)
			},
			want: private(0, 1),
		},
		"all of them, where all reach the internet": {
			net: func(s *albsim.Sim) {
				for i, id := range slices.Concat(private(0, 1, 2), []string{"subnet-public0", "subnet-public1", "subnet-public2"}) {
					s.ChangeSubnet(id, func(n *ec2.Subnet) { n.AvailableIpAddressCount = sdk.Int32(int32(100 * (i / 3))) }, map[string]string{})
				}
				s.OpenToTheInternet()
			},
			want: []string{"subnet-public0", "subnet-public1", "subnet-public2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if c.class != nil {
					w.class(c.class)
					w.face()
				}
				if c.net != nil {
					c.net(w.sim)
				}
				w.settle()
				if diff := cmp.Diff(c.want, w.subnets()); diff != "" {
					t.Errorf("subnets (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestALoadBalancerKeepsItsSubnetsWhileTheyFit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.sim.ChangeSubnet("subnet-private2", nil, map[string]string{})
		w.settle()
		w.sim.ChangeSubnet("subnet-private2", nil, map[string]string{"kubernetes.io/role/internal-elb": "1"})
		w.sim.ChangeSubnet("subnet-private0", func(s *ec2.Subnet) { s.AvailableIpAddressCount = sdk.Int32(3) }, nil)
		w.restart()
		w.settle()
		if diff := cmp.Diff(private(0, 1), w.subnets()); diff != "" {
			t.Errorf("while they fit (-want +got):\n%s", diff)
		}
		w.sim.ChangeSubnet("subnet-private0", nil, map[string]string{})
		w.restart()
		w.settle()
		if diff := cmp.Diff(private(1, 2), w.subnets()); diff != "" {
			t.Errorf("once one does not (-want +got):\n%s", diff)
		}
	})
}

func TestWhatTheNetworkLacksIsSaid(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		w.class(func(s *spec) { s.Subnets = []string{"private-a", "nowhere"} })
		todo, built, err := w.reconcile()
		if err != nil || !todo.Empty() {
			t.Errorf("%d steps, error %v, for a load balancer that stands well where it is", len(todo.Steps), err)
		}
		if len(built.Diagnostics) != 1 || !strings.Contains(built.Diagnostics[0].Message, "none has the ID or the name nowhere") {
			t.Errorf("diagnostics %v", built.Diagnostics)
		}
	})
}

// A subnet that is younger than what is known of the network is found once a class names it.
func TestASubnetThatIsNewIsFound(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		time.Sleep(time.Second) // of the clock of synctest
		w.sim.AddSubnet("subnet-new", "eu-west-1b", "10.0.220.0/24", nil)
		w.class(func(s *spec) { s.Subnets = []string{"private-a", "subnet-new"} })
		todo, built, err := w.reconcile()
		if err != nil || len(built.Diagnostics) > 0 || todo.Empty() {
			t.Errorf("%d steps, error %v, diagnostics %v", len(todo.Steps), err, built.Diagnostics)
		}
	})
}

func TestSettingsChangeInPlace(t *testing.T) {
	six := func(s *ec2.Subnet) {
		s.Ipv6CidrBlockAssociationSet = []ec2.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: sdk.String("2001:db8::/64")}}
	}
	for name, c := range map[string]struct {
		first, then func(*spec)
		check       func(b elb.LoadBalancer, attributes, tags map[string]string) string
		steps       int // more than one where others than the load balancer change, too
	}{
		"IPv6 beside IPv4": {
			then: func(s *spec) { s.IPFamily = "dualstack" },
			check: func(b elb.LoadBalancer, _, _ map[string]string) string {
				return cmp.Diff(elb.IpAddressTypeDualstack, b.IpAddressType)
			},
		},
		"IPv6 alone, for who is to be reached from the internet": {
			first: func(s *spec) { s.Scheme, s.IPFamily = "internet-facing", "dualstack" },
			then:  func(s *spec) { s.Scheme, s.IPFamily = "internet-facing", "dualstack-without-public-ipv4" },
			check: func(b elb.LoadBalancer, _, _ map[string]string) string {
				return cmp.Diff(elb.IpAddressTypeDualstackWithoutPublicIpv4, b.IpAddressType)
			},
		},
		"and without it again": {
			first: func(s *spec) { s.IPFamily = "dualstack" },
			then:  func(s *spec) { s.IPFamily = "" },
			check: func(b elb.LoadBalancer, _, _ map[string]string) string {
				return cmp.Diff(elb.IpAddressTypeIpv4, b.IpAddressType)
			},
		},
		"other subnets and IPv6 at once": {
			first: func(s *spec) { s.Subnets = private(0, 1) },
			then:  func(s *spec) { s.Subnets, s.IPFamily = private(1, 2), "dualstack" },
			check: func(b elb.LoadBalancer, _, _ map[string]string) string {
				return cmp.Diff(private(1, 2), []string{*b.AvailabilityZones[0].SubnetId, *b.AvailabilityZones[1].SubnetId}) + cmp.Diff(elb.IpAddressTypeDualstack, b.IpAddressType)
			},
		},
		"an attribute that is removed goes back to the default": {
			first: func(s *spec) {
				s.Attributes = map[string]string{"idle_timeout.timeout_seconds": "30", "routing.http2.enabled": "false"}
			},
			then: func(s *spec) { s.Attributes = map[string]string{"routing.http2.enabled": "false"} },
			check: func(_ elb.LoadBalancer, a, _ map[string]string) string {
				return cmp.Diff([]string{"60", "false"}, []string{a["idle_timeout.timeout_seconds"], a["routing.http2.enabled"]})
			},
		},
		"tags that are changed and removed": {
			first: func(s *spec) { s.Tags = map[string]string{"team": "web", "cost centre": "4=2", "stage": "one"} },
			then:  func(s *spec) { s.Tags = map[string]string{"team": "shop"} },
			check: func(_ elb.LoadBalancer, _, tags map[string]string) string {
				maps.DeleteFunc(tags, func(name, _ string) bool { return strings.HasPrefix(name, "fairlead.dev/") })
				return cmp.Diff(map[string]string{"team": "shop", "somebody": "else"}, tags)
			},
			steps: 3,
		},
		"more settings than one tag can list, and none": {
			first: func(s *spec) {
				s.Tags = map[string]string{}
				for i := range 30 {
					s.Tags[fmt.Sprintf("a-name-of-some-length-%d", i)] = "x"
				}
			},
			then: func(s *spec) { s.Tags = nil },
			check: func(_ elb.LoadBalancer, _, tags map[string]string) string {
				return cmp.Diff([]string{"fairlead.dev/digest", "fairlead.dev/installation", "fairlead.dev/key", "fairlead.dev/written", "somebody"}, slices.Sorted(maps.Keys(tags)))
			},
			steps: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, id := range slices.Concat(private(0, 1, 2), []string{"subnet-public0", "subnet-public1", "subnet-public2"}) {
					w.sim.ChangeSubnet(id, six, nil)
				}
				if c.first != nil {
					w.class(c.first)
					w.face()
				}
				w.settle()
				before, _, _ := w.balancer()
				w.elsewhere(func(api *elbapi.Client) error {
					_, err := api.AddTags(w.Context(), &elbapi.AddTagsInput{ResourceArns: []string{*before.LoadBalancerArn}, Tags: []elb.Tag{{Key: sdk.String("somebody"), Value: sdk.String("else")}}})
					return err
				})
				w.class(c.then)
				todo, _, err := w.reconcile()
				if want := max(1, c.steps); err != nil || len(todo.Steps) != want {
					t.Fatalf("%d steps, error %v: want %d that change settings", len(todo.Steps), err, want)
				}
				b, attributes, tags := w.balancer()
				if *b.LoadBalancerArn != *before.LoadBalancerArn {
					t.Error("it is another load balancer")
				}
				if diff := c.check(b, attributes, tags); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				w.rests("a change")
			})
		})
	}
}

// elsewhere changes something that the operator does not see.
func (w *world) elsewhere(change func(*elbapi.Client) error) {
	w.Helper()
	if err := change(elbapi.NewFromConfig(w.sim.OwnersConfig())); err != nil {
		w.Fatal(err)
	}
}

// rests expects nothing to do, however deeply one looks. A deep look reads the settings that are
// wanted, as a plan prints them.
func (w *world) rests(after string) {
	w.Helper()
	for _, deep := range []bool{false, true} {
		if todo := w.look(deep); !todo.Empty() {
			w.Errorf("after %s, looking deeply %t: %v", after, deep, todo.Print())
		}
	}
	s := w.snapshot()
	want := model.Compile(s, w.facts(), w.cloud.Capabilities(model.ClassOf(s))).LoadBalancer
	if diff := cmp.Diff(plan.SettingsOfWanted(want), plan.SettingsOfRead(w.seen), cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("after %s, settings (-wanted +read):\n%s", after, diff)
	}
}

// look is the plan that a fresh look leads to.
func (w *world) look(deep bool) plan.Plan {
	w.Helper()
	s := w.snapshot()
	seen, err := w.cloud.Observe(w.Context(), w.key, deep)
	if err != nil {
		w.Fatal(err)
	}
	w.seen = seen
	caps := w.cloud.Capabilities(model.ClassOf(s))
	return planner.Diff(seen, planner.KeepShape(model.Compile(s, w.facts(), caps).LoadBalancer, seen), caps)
}

// facts are what the cloud says of the network.
func (w *world) facts() lb.Facts {
	w.Helper()
	facts, err := w.cloud.Lookup(w.Context(), model.Ask(w.snapshot()))
	if err != nil {
		w.Fatal(err)
	}
	return facts
}

func TestADeepLookFindsWhatSomebodyElseChanged(t *testing.T) {
	for name, change := range map[string]func(w *world, api *elbapi.Client, arn *string) error{
		"an attribute": func(w *world, api *elbapi.Client, arn *string) error {
			_, err := api.ModifyLoadBalancerAttributes(w.Context(), &elbapi.ModifyLoadBalancerAttributesInput{
				LoadBalancerArn: arn, Attributes: []elb.LoadBalancerAttribute{{Key: sdk.String("idle_timeout.timeout_seconds"), Value: sdk.String("5")}},
			})
			return err
		},
		"the subnets": func(w *world, api *elbapi.Client, arn *string) error {
			_, err := api.SetSubnets(w.Context(), &elbapi.SetSubnetsInput{LoadBalancerArn: arn, Subnets: []string{"subnet-public0", "subnet-public1"}})
			return err
		},
		"a tag": func(w *world, api *elbapi.Client, arn *string) error {
			_, err := api.RemoveTags(w.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{*arn}, TagKeys: []string{"team"}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.class(func(s *spec) {
					s.Attributes, s.Tags = map[string]string{"idle_timeout.timeout_seconds": "30"}, map[string]string{"team": "web"}
				})
				w.settle()
				before, attributes, tags := w.balancer()
				subnets := w.subnets()
				w.elsewhere(func(api *elbapi.Client) error { return change(w, api, before.LoadBalancerArn) })
				if todo := w.look(false); !todo.Empty() {
					t.Errorf("a look at the digests finds %v", todo.Print())
				}
				if todo := w.look(true); len(todo.Steps) != 1 {
					t.Errorf("a deep look finds %d steps", len(todo.Steps))
				}
				w.settle()
				_, nowAttributes, nowTags := w.balancer()
				if diff := cmp.Diff(attributes, nowAttributes) + cmp.Diff(tags, nowTags) + cmp.Diff(subnets, w.subnets()); diff != "" {
					t.Errorf("it is not as it was (-before +after):\n%s", diff)
				}
				time.Sleep(time.Minute)
				w.rests("it was put right")
			})
		})
	}
}

package alb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file looks at settings of load balancers and listeners that Ingresses ask for.

// What an Ingress asks for changes in place, and rests; without it, AWS's default is back.
func TestSettingsOfLoadBalancersThatAnIngressAsksFor(t *testing.T) {
	six := func(s *ec2.Subnet) {
		s.Ipv6CidrBlockAssociationSet = []ec2.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: sdk.String("2001:db8::/64"),
			Ipv6CidrBlockState: &ec2.SubnetCidrBlockState{State: ec2.SubnetCidrBlockStateCodeAssociated}}}
	}
	for annotation, c := range map[string]struct {
		value, want, usual string
		read               func(w *world, b elb.LoadBalancer, attributes, tags map[string]string) string
	}{
		"load-balancer-attributes": {"client_keep_alive.seconds=600,idle_timeout.timeout_seconds=30", "600 30", "3600 60",
			func(_ *world, _ elb.LoadBalancer, attributes, _ map[string]string) string {
				return attributes["client_keep_alive.seconds"] + " " + attributes["idle_timeout.timeout_seconds"]
			}},
		"tags": {"team=shop,stage=", "shop true", " false", func(_ *world, _ elb.LoadBalancer, _, tags map[string]string) string {
			_, there := tags["stage"]
			return fmt.Sprint(tags["team"], " ", there)
		}},
		"ip-family": {"dualstack", "dualstack", "ipv4", func(_ *world, b elb.LoadBalancer, _, _ map[string]string) string { return string(b.IpAddressType) }},
		"subnets": {"private-c, subnet-private0", "[subnet-private0 subnet-private2]", "[subnet-private0 subnet-private2]", // they stay, as they are suitable
			func(w *world, _ elb.LoadBalancer, _, _ map[string]string) string { return fmt.Sprint(w.subnets()) }},
		"security-groups": {"nodes", albsim.NodeGroup, "another", func(_ *world, b elb.LoadBalancer, _, _ map[string]string) string {
			if !slices.Contains(b.SecurityGroups, albsim.NodeGroup) {
				return "another"
			}
			return strings.Join(b.SecurityGroups, " ")
		}},
	} {
		t.Run(annotation, func(t *testing.T) {
			inWorld(t, func(w *world) {
				for _, id := range private(0, 1, 2) {
					w.sim.ChangeSubnet(id, six, nil)
				}
				w.settle()
				before, _, _ := w.balancer()
				for _, stage := range []struct{ value, want string }{{c.value, c.want}, {"", c.usual}} {
					w.ask("site", annotation, stage.value)
					w.settle()
					b, attributes, tags := w.balancer()
					if got := c.read(w, b, attributes, tags); got != stage.want {
						t.Errorf("with %q it is %q, want %q", stage.value, got, stage.want)
					}
					if *b.LoadBalancerArn != *before.LoadBalancerArn {
						t.Error("it is another load balancer")
					}
					w.rests("with " + stage.value)
					w.sim.Forget()
					_, _, _ = w.reconcile()
					if read, write := w.sim.Cost(); read+write > 0 {
						t.Errorf("with %q, a look at nothing new costs %v", stage.value, w.sim.Calls())
					}
				}
				if a := w.request("site"); len(a.Forward) == 0 {
					t.Errorf("it is not served: %+v", a)
				}
			})
		})
	}
}

// An Ingress whose security groups, network or trust store the cloud does not have is refused; its
// neighbour is served, and nothing is open that was closed.
func TestAnIngressThatAsksForWhatIsNotThereCostsNoNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		annotation, value string
		reason            diag.Reason
		port              int32
	}{
		"security groups": {"security-groups", "nobody", diag.NetworkUnmet, 80},
		"one subnet":      {"subnets", "subnet-private0", diag.Rejected, 80},
		"a trust store":   {"mutual-authentication", `[{"port": 443, "mode": "verify", "trustStore": "nobody"}]`, diag.Rejected, 443},
		"a TLS policy":    {"tls-policy", "nobody", diag.Rejected, 443},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, albsim.Options{}, func(w *world) {
				w.service("web", 1)
				for _, name := range []string{"site", "open"} {
					w.secret(name, 0, name+".example.com")
					w.secured(w.serve(name, map[string]string{"/": "web"}), name)
				}
				w.ask("site", "listen-ports", "HTTPS:443")
				w.ask("open", "listen-ports", "HTTP:80,HTTPS:443")
				w.ask("site", c.annotation, c.value)
				for range 4 {
					_ = w.rest()
				}
				if w.seen == nil || !w.seen.Exists {
					t.Fatal("there is no load balancer")
				}
				served := func(name string, port int32) bool {
					a := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: port, TLS: port == 443, SNI: name + ".example.com", Host: name + ".example.com", Path: "/"}, matching.Reading{})
					return len(a.Forward) > 0
				}
				for _, port := range []int32{80, c.port} {
					if !served("open", port) {
						t.Errorf("the neighbour is not served on %d", port)
					}
				}
				if served("site", 443) {
					t.Error("it is served without what it asks for")
				}
			})
		})
	}
}

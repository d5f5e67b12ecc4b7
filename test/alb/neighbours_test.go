package alb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file has others in the account use up what it shares with them: what is served stays, what
// has no room is refused by name, with the quota and how much there is, and is served once others
// have made room, at the cost of a refused call every ten minutes.

// A neighbour is somebody else in the account, whom no policy keeps from anything.
type neighbour struct {
	*world
	acts atomic.Bool
}

// inSharedAccount runs a test in an account that is shared.
func inSharedAccount(t *testing.T, limits albsim.Limits, do func(w *world, n *neighbour)) {
	t.Helper()
	n := &neighbour{}
	o := slow()
	o.Limits = limits
	o.Authorize = func(a iam.Ask) bool { return n.acts.Load() || operator().allow(a) }
	inBubble(t, o, func(w *world) {
		n.world = w
		do(w, n)
	})
}

// must does something in the account.
func (n *neighbour) must(do func() error) {
	n.Helper()
	n.acts.Store(true)
	defer n.acts.Store(false)
	if err := do(); err != nil {
		n.Fatal(err)
	}
}

// targetGroup makes a target group; what it returns deletes it.
func (n *neighbour) targetGroup() (leave func() error) {
	api := elbapi.NewFromConfig(n.sim.OwnersConfig())
	var arn *string
	n.must(func() error {
		out, err := api.CreateTargetGroup(n.Context(), &elbapi.CreateTargetGroupInput{
			Name: sdk.String("theirs"), Port: sdk.Int32(80), Protocol: elb.ProtocolEnumHttp, TargetType: elb.TargetTypeEnumIp, VpcId: sdk.String(albsim.VPC),
		})
		if err == nil {
			arn = out.TargetGroups[0].TargetGroupArn
		}
		return err
	})
	return func() error {
		_, err := api.DeleteTargetGroup(n.Context(), &elbapi.DeleteTargetGroupInput{TargetGroupArn: arn})
		return err
	}
}

// certificate imports one; what it returns deletes it.
func (n *neighbour) certificate() (leave func() error) {
	api, theirs := acm.NewFromConfig(n.sim.OwnersConfig()), pair(n.world, 0, []string{"their.example.net"})
	var arn *string
	n.must(func() error {
		out, err := api.ImportCertificate(n.Context(), &acm.ImportCertificateInput{Certificate: theirs.Chain, PrivateKey: theirs.Key})
		if err == nil {
			arn = out.CertificateArn
		}
		return err
	})
	return func() error {
		_, err := api.DeleteCertificate(n.Context(), &acm.DeleteCertificateInput{CertificateArn: arn})
		return err
	}
}

// grant lets somebody through to the nodes; what it returns revokes that.
func (n *neighbour) grant() (leave func() error) {
	api, theirs := ec2.NewFromConfig(n.sim.OwnersConfig()), []ec2types.IpPermission{tcp(22, "192.0.2.0/24")}
	n.must(func() error {
		_, err := api.AuthorizeSecurityGroupIngress(n.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: sdk.String(albsim.NodeGroup), IpPermissions: theirs})
		return err
	})
	return func() error {
		_, err := api.RevokeSecurityGroupIngress(n.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: sdk.String(albsim.NodeGroup), IpPermissions: theirs})
		return err
	}
}

// loadBalancer makes one; what it returns deletes it.
func (n *neighbour) loadBalancer() (leave func() error) {
	api := elbapi.NewFromConfig(n.sim.OwnersConfig())
	var arn *string
	n.must(func() error {
		out, err := api.CreateLoadBalancer(n.Context(), &elbapi.CreateLoadBalancerInput{Name: sdk.String("theirs"), Subnets: private(0, 1), Scheme: elb.LoadBalancerSchemeEnumInternal})
		if err == nil {
			arn = out.LoadBalancers[0].LoadBalancerArn
		}
		return err
	})
	return func() error {
		_, err := api.DeleteLoadBalancer(n.Context(), &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: arn})
		return err
	}
}

// securityGroup makes one; what it returns deletes it.
func (n *neighbour) securityGroup() (leave func() error) {
	api := ec2.NewFromConfig(n.sim.OwnersConfig())
	var id *string
	n.must(func() error {
		out, err := api.CreateSecurityGroup(n.Context(), &ec2.CreateSecurityGroupInput{GroupName: sdk.String("theirs"), Description: sdk.String("theirs"), VpcId: sdk.String(albsim.VPC)})
		if err == nil {
			id = out.GroupId
		}
		return err
	})
	return func() error {
		_, err := api.DeleteSecurityGroup(n.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id})
		return err
	}
}

// A scarcity is a quota of the account of which a member of a load balancer finds nothing left.
type scarcity struct {
	name   string
	limits albsim.Limits // room for two, and for a neighbour
	take   func(*neighbour) (leave func() error)
	// another adds the Ingress of a number.
	another func(w *world, number int)
	says    string
	tried   string // what is asked for in vain
	plain   bool   // whether it is served over plain HTTP all the same
}

func scarcities() []scarcity {
	onItsOwn := func(w *world, n int) { w.serve(site(n), map[string]string{"/": fmt.Sprintf("service-%d", n)}) }
	return []scarcity{
		{
			name: "target groups", limits: albsim.Limits{TargetGroups: 3}, take: (*neighbour).targetGroup, another: onItsOwn,
			says: `the quota "Target Groups per Region" (L-B22855CB) of 3 is used up`, tried: "CreateTargetGroup",
		},
		{
			name: "rules of the nodes' security group", limits: albsim.Limits{RulesPerSecurityGroup: 3}, take: (*neighbour).grant,
			another: func(w *world, n int) {
				for _, s := range w.EndpointSlices {
					if s.Name == fmt.Sprintf("service-%d", n) {
						s.Ports[0].Port = sdk.Int32(int32(9000 + n))
					}
				}
				onItsOwn(w, n)
			},
			says: `the quota "Inbound or outbound rules per security group" (L-0EA8095F) of 60, unless AWS has raised it, is used up`, tried: "AuthorizeSecurityGroupIngress",
		},
		{
			name: "certificates", limits: albsim.Limits{ImportedCertificates: 3}, take: (*neighbour).certificate,
			another: func(w *world, n int) {
				onItsOwn(w, n)
				w.secret(site(n), 0, site(n)+".example.com")
				w.change(site(n), tls(site(n), site(n)+".example.com"))
			},
			says:  `the quota "Imported certificates, or Imported certificates in last 365 days" (L-D2CB7DE9, L-3808DC70) of 2500, or 5000, unless AWS has raised it, is used up`,
			tried: "ImportCertificate", plain: true,
		},
	}
}

func TestOthersUseUpWhatAMemberNeeds(t *testing.T) {
	for _, s := range scarcities() {
		t.Run(s.name, func(t *testing.T) { inSharedAccount(t, s.limits, s.run) })
	}
}

func (s scarcity) run(w *world, n *neighbour) {
	for i := range 3 {
		w.service(fmt.Sprintf("service-%d", i), 1)
	}
	s.another(w, 0)
	s.another(w, 1)
	leave := s.take(n)
	w.settle()
	time.Sleep(2 * time.Minute)
	j := &judge{world: w, address: w.seen.Address.Hostname, tally: &tally{}, asks: requests([]int32{80, 443}, []string{site(0) + ".example.com", site(1) + ".example.com"}, []string{"/"})}
	j.begin()
	w.sim.Watch(func(c albsim.Call) { j.ask("with one too many, after " + c.String()) })

	s.another(w, 2)
	w.settle()
	if why := w.refusalOf(site(2)); !strings.Contains(why, s.says) {
		w.Errorf("the refusal is %q, and does not say %q", why, s.says)
	}
	for range 3 {
		w.sim.Forget()
		w.settle()
		if calls := w.sim.Calls(); len(calls) > 0 {
			w.Errorf("what is known to be refused is asked for again: %v", calls)
		}
		time.Sleep(retried)
		w.settle()
		if n := asked(w, s.tried); n != 1 {
			w.Errorf("%d calls of %s after a while", n, s.tried)
		}
	}
	if answer := w.sim.Ask(j.address, matching.Request{Port: 80, Host: site(2) + ".example.com", Path: "/"}, matching.Reading{}); (len(answer.Forward) > 0) != s.plain {
		w.Errorf("over plain HTTP it is answered %+v", answer)
	}

	n.must(leave)
	w.settle()
	if w.refusalOf(site(2)) == "" {
		w.Error("nobody has looked, and it is served")
	}
	time.Sleep(retried)
	w.settle()
	w.sim.Watch(nil)
	time.Sleep(2 * time.Minute)
	if why := w.refusalOf(site(2)); why != "" {
		w.Errorf("there is room, and it is refused: %s", why)
	}
	j.asks = append(j.asks, requests([]int32{80, 443}, []string{site(2) + ".example.com"}, []string{"/"})...)
	j.begin()
	if served := j.before.answers[j.asks[len(j.asks)-2]]; !strings.Contains(served, "forward") {
		w.Errorf("once there is room it is to be answered %s", served)
	}
	j.ask("once there is room")
	w.remove(site(0))
	w.settle()
	w.Ingresses = nil
	w.settle()
	if left := w.sim.Inventory(); left["load balancers"]+left["target groups"]+left["certificates"] > 0 {
		w.Errorf("left behind: %v", left)
	}
}

// retried is how long it takes until what others may have made room for is tried again.
const retried = 10 * time.Minute

// refusalOf is what the next compilation says to an Ingress of which the cloud refused something,
// or "".
func (w *world) refusalOf(name string) string {
	_, built, err := w.reconcile()
	if err != nil {
		w.Error(err)
	}
	_, unplaced := w.split()
	for _, d := range slices.Concat(built.Diagnostics, unplaced) {
		if (d.Reason == diag.Rejected || d.Reason == diag.CertificateRefused) && d.Source.Name == name {
			return d.Message
		}
	}
	return ""
}

// A load balancer that cannot be made at all is refused to nobody for good: it is tried again,
// while another one goes on, and those who do not want it any more are let go of.
func TestOthersUseUpWhatALoadBalancerNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		limits albsim.Limits // room for one, and for a neighbour
		take   func(*neighbour) (leave func() error)
		says   string
	}{
		"load balancers":  {albsim.Limits{LoadBalancers: 2}, (*neighbour).loadBalancer, `the quota "Application Load Balancers per Region" (L-53DA6B97) of 2 is used up`},
		"security groups": {albsim.Limits{SecurityGroups: 4}, (*neighbour).securityGroup, `the quota "VPC security groups per Region" (L-E79EC296) of 2500, unless AWS has raised it, is used up`},
	} {
		t.Run(name, func(t *testing.T) {
			inSharedAccount(t, c.limits, func(w *world, n *neighbour) {
				w.service("web", 1)
				w.serve("shop", map[string]string{"/": "web"})
				leave := c.take(n)
				w.settle()
				time.Sleep(2 * time.Minute)
				j := &judge{world: w, address: w.seen.Address.Hostname, tally: &tally{}, asks: requests([]int32{80}, []string{"shop.example.com"}, []string{"/"})}
				j.begin()

				const second = lb.Key("fairlead/shop/@second/internal")
				w.serve("blog", map[string]string{"/": "web"}).Annotations["fairlead.dev/group"] = "second"
				w.turn(second)
				for again := range 3 {
					w.sim.Forget()
					if err := w.rest(); !errors.Is(err, providers.ErrNoRoom) || !strings.Contains(fmt.Sprint(err), c.says) {
						t.Fatalf("without room: %v", err)
					}
					if writes := w.writes(); again > 0 && len(writes) > 2 {
						t.Errorf("to try again takes %v", writes)
					}
				}
				if known := w.Records[second].Members["shop/blog"]; len(known.Rejections) > 0 {
					t.Errorf("it is held against its only member: %+v", known)
				}
				before := w.sim.Inventory()["target groups"]
				w.remove("blog")
				w.settle()
				if w.seen.Firewall != "" || w.sim.Inventory()["target groups"] != before-1 {
					t.Errorf("what nobody wants any more leaves %+v", w.sim.Inventory())
				}
				w.serve("blog", map[string]string{"/": "web"}).Annotations["fairlead.dev/group"] = "second"
				n.must(leave)
				w.settle()
				if !w.seen.Active {
					t.Error("there is room, and it is not made")
				}
				j.ask("all the while")
			})
		})
	}
}

// A load balancer that would have no target group is not made.
func TestNoLoadBalancerIsMadeForNobody(t *testing.T) {
	inSharedAccount(t, albsim.Limits{TargetGroups: 1}, func(w *world, n *neighbour) {
		w.service("web", 1)
		w.serve("shop", map[string]string{"/": "web"})
		leave := n.targetGroup()
		w.settle()
		for range 3 {
			time.Sleep(retried)
			w.sim.Forget()
			w.settle()
			if writes := w.writes(); !slices.Equal(writes, []string{"CreateTargetGroup"}) {
				t.Errorf("to try again takes %v", writes)
			}
		}
		n.must(leave)
		time.Sleep(retried)
		w.settle()
		if !w.seen.Active {
			t.Error("there is room, and it is not made")
		}
	})
}

// writes are the calls that were not to look.
func (w *world) writes() []string {
	var out []string
	for _, c := range w.sim.Calls() {
		if !strings.HasPrefix(c.Action, "Describe") && !strings.HasPrefix(c.Action, "Get") {
			out = append(out, c.Action)
		}
	}
	return out
}

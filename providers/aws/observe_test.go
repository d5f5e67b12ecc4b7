package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/selfsigned"
	"fairlead.dev/fairlead/test/albsim"
)

// This file looks at a load balancer, and at what a provider learns from a look.

const key lb.Key = "fairlead/shop/web/internal"

// A served is a load balancer in an account, and what is known of it.
type served struct {
	*testing.T
	sim    *albsim.Sim
	cloud  *Provider
	seen   *lb.Observed
	want   lb.LoadBalancer
	askers []providers.Asker // of the calls since the last time
	busy   int               // the most calls at the same time, each of which takes a second
}

// newServed makes a load balancer with two ports, two target groups and two certificates.
func newServed(t *testing.T, o albsim.Options) *served {
	t.Helper()
	s := &served{T: t, sim: albsim.New(o), seen: &lb.Observed{Key: key}}
	var mu sync.Mutex
	now := 0
	config := s.sim.Config()
	config.APIOptions = append(config.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Asker", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) { //nolint:misspell // the SDK names it so
			mu.Lock()
			asker := providers.AskerOf(ctx)
			s.askers = append(s.askers, providers.Asker{Key: asker.Key, Urgent: asker.Urgent})
			now++
			s.busy = max(s.busy, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
	s.cloud = New(Options{Config: config, Installation: "test", VPC: albsim.VPC, Cluster: albsim.Cluster, Settle: time.Minute})
	s.want = wanted(t)
	s.apply()
	s.asks()
	return s
}

func wanted(t *testing.T) lb.LoadBalancer {
	t.Helper()
	settings := routing.Settings{Scheme: "internal", IPFamily: "ipv4", Subnets: []string{"subnet-private0", "subnet-private1"}, Attributes: map[string]string{"idle_timeout.timeout_seconds": "30"}}
	want := lb.LoadBalancer{Key: key, Digest: lb.DigestOf(settings), Settings: settings, Wanted: true}
	health := routing.HealthCheck{Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"}
	for i, id := range []lb.GroupID{"shop/a:80", "shop/b:80"} {
		want.TargetGroups = append(want.TargetGroups, lb.TargetGroup{
			ID: id, Service: "shop/" + string(id[5:6]), Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4",
			Digest: lb.DigestOf(lb.GroupSettings{HealthCheck: health}), Health: health, Targets: []lb.Target{{Address: "10.0.0.9", Port: int32(8080 + i)}},
		})
	}
	tags := map[string]string{"team": "shop"}
	for _, host := range []string{"a.example.com", "b.example.com"} {
		c, err := selfsigned.Certificate(host)
		if err != nil {
			t.Fatal(err)
		}
		c.Tags, c.Digest = tags, lb.CertificateSettings{Tags: tags}.Digest()
		want.Certificates = append(want.Certificates, c)
	}
	slices.SortFunc(want.Certificates, func(a, b lb.Certificate) int { return strings.Compare(string(a.ID), string(b.ID)) })
	forward := func(id lb.GroupID) lb.Action {
		return lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: id, Weight: 1}}}
	}
	secure := lb.ListenerSettings{TLSPolicy: "ELBSecurityPolicy-TLS13-1-2-2021-06"}
	want.Listeners = []lb.Listener{
		{Port: 80, Protocol: "HTTP", Default: forward("shop/a:80"), Digest: lb.DigestOf(lb.ListenerSettings{})},
		{Port: 443, Protocol: "HTTPS", Default: forward("shop/b:80"), Digest: lb.DigestOf(secure), Settings: secure, Certificates: []lb.CertificateID{want.Certificates[0].ID, want.Certificates[1].ID}},
	}
	return want
}

// apply makes the load balancer what is wanted.
func (s *served) apply() {
	s.Helper()
	for range 4 {
		p := planner.Diff(s.seen, s.want, lb.ALB())
		if p.Empty() {
			return
		}
		for _, step := range p.Steps {
			result, err := s.cloud.Apply(s.Context(), s.seen, step.Step)
			if err != nil {
				s.Fatalf("%s: %v", step.Step.Op(), err)
			}
			step.Step.Do(s.seen, result)
		}
	}
	s.Fatal("plans do not end")
}

func (s *served) look(deep bool) *lb.Observed {
	s.Helper()
	got, err := s.cloud.Observe(s.Context(), key, deep)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

// term has the cloud forget all.
func (s *served) term() { s.cloud = s.cloud.Term().(*Provider) }

// asks returns the names of the calls since the last time, in order of the alphabet, each once.
func (s *served) asks() []string {
	var out []string
	for _, c := range s.sim.Calls() {
		out = append(out, c.Action)
	}
	s.sim.Forget()
	s.askers, s.busy = nil, 0
	slices.Sort(out)
	return slices.Compact(out)
}

// asOwner returns clients of the owner of the account, who changes what is there.
func (s *served) asOwner() (*elbapi.Client, *ec2.Client) {
	return elbapi.NewFromConfig(s.sim.OwnersConfig()), ec2.NewFromConfig(s.sim.OwnersConfig())
}

// settings are those that a deep look is to read.
func (s *served) settings() *lb.ReadSettings {
	out := &lb.ReadSettings{
		LoadBalancer: &s.want.Settings, Listeners: map[int32]lb.ListenerSettings{}, TargetGroups: map[lb.GroupID]lb.GroupSettings{},
		Certificates: map[lb.CertificateID]lb.CertificateSettings{},
	}
	for _, l := range s.want.Listeners {
		out.Listeners[l.Port] = l.Settings
	}
	for _, g := range s.want.TargetGroups {
		out.TargetGroups[g.ID] = lb.GroupSettings{HealthCheck: g.Health}
	}
	for _, c := range s.want.Certificates {
		out.Certificates[c.ID] = lb.CertificateSettings{Tags: c.Tags}
	}
	return out
}

// sees looks at the load balancer, and compares it with what was kept of it, and its settings with
// those that it was given.
func (s *served) sees(about string, deep bool) {
	s.Helper()
	want := s.seen.Clone()
	for i := range want.TargetGroups {
		want.TargetGroups[i].Ready = true
	}
	if deep {
		want.Read = s.settings()
	}
	if diff := cmp.Diff(want, s.look(deep), cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("%s, deep %v: (-want +got)\n%s", about, deep, diff)
	}
}

// AWS lists in no order.
func TestALoadBalancerIsSeenAsItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{Amend: func(_, out any) error {
			switch out := out.(type) {
			case *elbapi.DescribeListenersOutput:
				out.Listeners = slices.Clone(out.Listeners)
				slices.SortFunc(out.Listeners, func(a, b elb.Listener) int { return int(*b.Port - *a.Port) })
			case *elbapi.DescribeTargetGroupsOutput:
				out.TargetGroups = slices.Clone(out.TargetGroups)
				slices.Reverse(out.TargetGroups)
			}
			return nil
		}})
		for _, deep := range []bool{false, true} {
			s.sees("it is known", deep)
		}
		for _, deep := range []bool{false, true} {
			s.term()
			s.sees("nothing is known", deep)
		}
	})
}

// The tags of target groups are read where the index of tags may not have them as they are.
func TestTagsThatAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		term, deep, untagged bool
		want                 int // of the load balancer, of two listeners and of target groups
	}{
		"the index has them":          {term: true, want: 3},
		"they were written here":      {want: 5},
		"the look is deep":            {term: true, deep: true, want: 5},
		"the index lacks some of one": {term: true, untagged: true, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServed(t, albsim.Options{})
				if c.term {
					s.term()
				}
				if c.untagged {
					api, _ := s.asOwner()
					if _, err := api.RemoveTags(t.Context(), &elbapi.RemoveTagsInput{ResourceArns: []string{s.seen.TargetGroups[0].Handle}, TagKeys: []string{"fairlead.dev/digest"}}); err != nil {
						t.Fatal(err)
					}
					s.seen.TargetGroups[0].Digest = ""
				}
				read := 0
				s.sim.Refuse(func(in any) error {
					if asked, tags := in.(*elbapi.DescribeTagsInput); tags {
						read += len(asked.ResourceArns)
					}
					return nil
				})
				s.sees(name, c.deep)
				if read != c.want {
					t.Errorf("the tags of %d are read, want %d", read, c.want)
				}
			})
		})
	}
}

// Another one may get the name of a load balancer that was made a moment ago.
func TestALoadBalancerThatIsNotOursAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		api, _ := s.asOwner()
		if _, err := api.AddTags(t.Context(), &elbapi.AddTagsInput{ResourceArns: []string{s.seen.Handle}, Tags: []elb.Tag{{Key: sdk.String("fairlead.dev/installation"), Value: sdk.String("other")}}}); err != nil {
			t.Fatal(err)
		}
		got := s.look(false)
		if got.Exists || len(got.Listeners) > 0 || len(got.TargetGroups) != 2 || len(got.Certificates) != 2 {
			t.Errorf("seen is %+v", got)
		}
	})
}

func TestSettingsThatAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		s.sim.Refuse(func(in any) error {
			if _, attributes := in.(*elbapi.DescribeLoadBalancerAttributesInput); attributes {
				return albsim.Refusal("AccessDenied", "no")
			}
			return nil
		})
		got := s.look(true)
		if !got.Exists || got.Digest != s.want.Digest || len(got.Unread) != 1 || !strings.Contains(got.Unread[0], "AccessDenied: no") {
			t.Errorf("seen is %+v", got)
		}
	})
}

// Calls of a load balancer wait for their turn on its behalf. Those that mend its targets are
// urgent.
func TestCallsAreAboutTheirLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		ctx := t.Context()
		for _, c := range []struct {
			name   string
			urgent bool
			call   func() error
		}{
			{"Observe", false, func() error { _, err := s.cloud.Observe(ctx, key, true); return err }},
			{"Active", false, func() error {
				_, err := s.cloud.Active(ctx, &lb.Observed{Key: key, Exists: true, Handle: s.seen.Handle})
				return err
			}},
			{"Targets", false, func() error { _, err := s.cloud.Targets(ctx, key, "shop/a:80"); return err }},
			{"SetTargets", true, func() error { return s.cloud.SetTargets(ctx, key, "shop/a:80", nil) }},
			{"Apply", false, func() error {
				_, err := s.cloud.Apply(ctx, s.seen, plan.DeleteListener{Port: 80})
				return err
			}},
		} {
			s.term()
			s.asks()
			if err := c.call(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			want := providers.Asker{Key: key, Urgent: c.urgent}
			if len(s.askers) == 0 || slices.ContainsFunc(s.askers, func(a providers.Asker) bool { return a.Key != want.Key || a.Urgent != want.Urgent }) {
				t.Errorf("%s calls on behalf of %+v, want %+v", c.name, s.askers, want)
			}
		}
	})
}

// What a look has read is not read again, and a deep look has the rest read again.
func TestWhatALookTeaches(t *testing.T) {
	const other lb.Key = "fairlead/shop/other/internal"
	lookUp := func(s *served, key lb.Key) {
		s.Helper()
		if _, err := s.cloud.Lookup(s.Context(), lb.Questions{Network: lb.Network{Key: key, Scheme: "internal"}}); err != nil {
			s.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		key  lb.Key
		deep bool
		want []string
	}{
		"a look":                {key, false, nil},
		"a deep look":           {key, true, []string{"DescribeAccountLimits", "DescribeLoadBalancers", "DescribeSubnets"}},
		"a deep look at none":   {other, true, nil},
		"a look that is not so": {other, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServed(t, albsim.Options{})
				lookUp(s, c.key)
				time.Sleep(61 * time.Minute)
				if _, err := s.cloud.Observe(t.Context(), c.key, c.deep); err != nil {
					t.Fatal(err)
				}
				s.asks()
				lookUp(s, c.key)
				if diff := cmp.Diff(c.want, s.asks()); diff != "" {
					t.Errorf("the next lookup asks (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("members", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServed(t, albsim.Options{})
			s.term()
			s.look(false)
			s.asks()
			got, err := s.cloud.Targets(t.Context(), key, "shop/a:80")
			if err != nil || len(got) != 1 || s.asks() != nil {
				t.Errorf("members %v, error %v", got, err)
			}
			all := 0
			for h := range (allTargets{s.cloud}).AllMembers {
				if all++; h.State != lb.HealthHealthy {
					t.Errorf("a member is %v", h)
				}
			}
			if all != 2 {
				t.Errorf("%d members of all groups", all)
			}
		})
	})
	t.Run("conditions", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServed(t, albsim.Options{})
			api, _ := s.asOwner()
			if _, err := api.AddTags(t.Context(), &elbapi.AddTagsInput{ResourceArns: []string{s.seen.Handle}, Tags: []elb.Tag{{Key: sdk.String("fairlead.dev/condition-values"), Value: sdk.String("3")}}}); err != nil {
				t.Fatal(err)
			}
			s.term()
			for _, want := range []int{lb.ALB().ValuesPerCondition, 3} {
				if got := s.cloud.Capabilities(lb.Class{}).ValuesPerCondition; got != want {
					t.Errorf("a condition can have %d values, want %d", got, want)
				}
				s.look(false)
			}
		})
	})
}

// A port of the nodes that is closed from outside is opened again for the next target after a deep
// look.
func TestADeepLookDoubtsOpenPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		_, cloud := s.asOwner()
		groups, err := cloud.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{albsim.NodeGroup}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cloud.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: sdk.String(albsim.NodeGroup), IpPermissions: groups.SecurityGroups[0].IpPermissions}); err != nil {
			t.Fatal(err)
		}
		for i, deep := range []bool{false, true} {
			s.look(deep)
			s.asks()
			want := []lb.Target{{Address: "10.0.0.9", Port: 8080}, {Address: "10.0.0.10", Port: 8080}, {Address: "10.0.0.11", Port: 8080}}
			if err := s.cloud.SetTargets(t.Context(), key, "shop/a:80", want[:2+i]); err != nil {
				t.Fatal(err)
			}
			if opened := slices.Contains(s.asks(), "AuthorizeSecurityGroupIngress"); opened != deep {
				t.Errorf("after a deep look %v, the port is opened: %v", deep, opened)
			}
		}
	})
}

// The load balancers of which a look has told keep the security group that all of them share.
func TestALookTellsWhichLoadBalancersShareTheGroup(t *testing.T) {
	for name, remove := range map[string]bool{"its own group is there": false, "its own group is missing": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServed(t, albsim.Options{})
				if remove {
					s.leave(s.groups()[1:])
				}
				s.term()
				s.look(false)
				s.asks()
				if _, err := s.cloud.Apply(t.Context(), &lb.Observed{Key: "fairlead/shop/other/internal", Firewall: "sg-other"}, plan.DeleteFirewall{}); err != nil {
					t.Error(err)
				}
				if slices.Contains(s.asks(), "DescribeLoadBalancers") {
					t.Error("all load balancers are read")
				}
			})
		})
	}
}

// groups are the security groups of the load balancer: its own, and the one that all share.
func (s *served) groups() []string {
	s.Helper()
	api, _ := s.asOwner()
	out, err := api.DescribeLoadBalancers(s.Context(), &elbapi.DescribeLoadBalancersInput{LoadBalancerArns: []string{s.seen.Handle}})
	if err != nil {
		s.Fatal(err)
	}
	has := out.LoadBalancers[0].SecurityGroups
	if len(has) != 2 {
		s.Fatalf("security groups %q", has)
	}
	if has[0] != s.seen.Firewall {
		slices.Reverse(has)
	}
	return has
}

// leave leaves the load balancer some of its security groups, and deletes its own.
func (s *served) leave(groups []string) {
	s.Helper()
	api, cloud := s.asOwner()
	if _, err := api.SetSecurityGroups(s.Context(), &elbapi.SetSecurityGroupsInput{LoadBalancerArn: sdk.String(s.seen.Handle), SecurityGroups: groups}); err != nil {
		s.Fatal(err)
	}
	if _, err := cloud.DeleteSecurityGroup(s.Context(), &ec2.DeleteSecurityGroupInput{GroupId: sdk.String(s.seen.Firewall)}); err != nil {
		s.Fatal(err)
	}
}

// What AWS does not find is forgotten, whatever it is.
func TestWhatIsMissingIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		groups := s.groups()
		if _, err := s.cloud.Lookup(t.Context(), lb.Questions{Network: lb.Network{Key: key, Scheme: "internal"}}); err != nil {
			t.Fatal(err)
		}
		for name, id := range map[string]string{
			"its security group": groups[0], "the shared security group": groups[1], "a target group": s.seen.TargetGroups[0].Handle,
			"the load balancer of the last lookup": s.seen.Handle,
		} {
			for _, known := range []bool{true, false} {
				if got := s.cloud.forgetMissing([]string{"sg-unknown", id}); got != known {
					t.Errorf("%s is known: %v, want %v", name, got, known)
				}
			}
		}
	})
}

// Rules, certificates and members are read at the same time, though not all.
func TestReadsOfALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		for port := range int32(2 * client.ParallelReads) {
			l := s.want.Listeners[0]
			l.Port = 8000 + port
			s.want.Listeners = append(s.want.Listeners, l)
		}
		s.apply()
		s.asks()
		s.look(false)
		if s.busy != client.ParallelReads {
			t.Errorf("%d calls are made at the same time, want %d", s.busy, client.ParallelReads)
		}
	})
}

// AWS lists what was made with a delay. The wait after a look that lacks it is short again once a
// look has found it.
func TestWaitsForWhatIsNotListedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServed(t, albsim.Options{})
		var hidden int32 // the port of a listener that is not listed yet
		s.sim.Amend(func(_, out any) error {
			if out, lists := out.(*elbapi.DescribeListenersOutput); lists {
				out.Listeners = slices.DeleteFunc(slices.Clone(out.Listeners), func(l elb.Listener) bool { return *l.Port == hidden })
			}
			return nil
		})
		for hidden = 8000; hidden < 8002; {
			l := s.want.Listeners[0]
			l.Port = hidden
			s.want.Listeners = append(s.want.Listeners, l)
			s.apply()
			s.asks()
			for _, asks := range []bool{true, false} {
				if _, err := s.cloud.Observe(t.Context(), key, false); !errors.Is(err, providers.ErrPending) || (len(s.asks()) > 0) != asks {
					t.Errorf("a listener is not listed: error %v, want calls %v", err, asks)
				}
			}
			hidden++
			time.Sleep(unlistedWait)
			s.sees("it is listed", false)
		}
	})
}

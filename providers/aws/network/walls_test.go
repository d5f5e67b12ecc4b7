package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file keeps the firewalls of load balancers.

const balancer = "arn:loadbalancer/1"

// walled is an account with the groups of a load balancer, and what keeps its firewall.
func walled() (*trial, *Firewalls) {
	c, f := walledIn(newCluster())
	c.addGroup("sg-f", f.DerivedName(key), f.Owned(key, nil))
	c.addGroup("sg-shared", c.nodes.sharedName(), ours())
	awscalls.On(&c.aws, func(in *elbapi.SetSecurityGroupsInput) (*elbapi.SetSecurityGroupsOutput, error) {
		c.balancer = []elb.LoadBalancer{{SecurityGroups: in.SecurityGroups}}
		return &elbapi.SetSecurityGroupsOutput{}, c.refuse["SetSecurityGroups"]
	})
	return c, f
}

// walledIn are the firewalls of an account.
func walledIn(c *trial) (*trial, *Firewalls) {
	return c, NewFirewalls(c.nodes.elb, c.security, c.nodes, false, func(_ context.Context, _ *lb.Observed, _ string, remove func() error) error {
		return remove()
	})
}

// lookAt is a look at a load balancer with security groups.
func lookAt(f *Firewalls, groups ...string) *look.Look {
	return &look.Look{
		Key: key, Balancer: &elb.LoadBalancer{LoadBalancerArn: aws.String(balancer), SecurityGroups: groups},
		Tags: map[string]map[string]string{balancer: f.Owned(key, nil)}, Assumed: map[string]bool{},
	}
}

// A firewall that the load balancer has, and that is known, costs no call. Another one is found by
// its name.
func TestAFirewallIsFound(t *testing.T) {
	indexed := map[string]map[string]string{"arn:aws:ec2:eu-west-1:1:security-group/sg-f": nil, "arn:aws:ec2:eu-west-1:1:subnet/sg-shared": nil}
	for name, c := range map[string]struct {
		groups   []string // of the load balancer; nil for none
		indexed  map[string]map[string]string
		known    string
		gone     bool // the group
		replaced bool
		unfenced bool
		refuse   error
		want     string
		missing  bool
		class    error
		calls    int
		kept     string
	}{
		"indexed":                  {groups: []string{"sg-shared", "sg-f"}, indexed: indexed, want: "sg-f"},
		"known":                    {groups: []string{"sg-shared", "sg-f"}, known: "sg-f", want: "sg-f", kept: "sg-f"},
		"neither":                  {groups: []string{"sg-shared", "sg-f"}, want: "sg-f", calls: 1, kept: "sg-f"},
		"not attached":             {groups: []string{"sg-other"}, indexed: indexed, want: "sg-f", calls: 1, kept: "sg-f"},
		"known, and not attached":  {groups: []string{"sg-other"}, known: "sg-old", want: "sg-f", calls: 1, kept: "sg-f"},
		"gone":                     {groups: []string{"sg-other"}, known: "sg-old", gone: true, missing: true, calls: 1},
		"no load balancer":         {},
		"no load balancer, known":  {known: "sg-f", want: "sg-f", calls: 1, kept: "sg-f"},
		"known, and gone with it":  {known: "sg-f", gone: true, calls: 1},
		"no load balancer, listed": {indexed: indexed, want: "sg-f", calls: 1, kept: "sg-f"},
		"listed, and gone":         {indexed: indexed, gone: true, calls: 1},
		"groups of its class":      {groups: []string{"sg-other"}, replaced: true},
		"of its class, listed":     {groups: []string{"sg-other"}, replaced: true, indexed: indexed, gone: true, calls: 1},
		"of its class, known":      {groups: []string{"sg-other"}, replaced: true, known: "sg-f", want: "sg-f", calls: 1, kept: "sg-f"},
		"left alone":               {groups: []string{"sg-other"}, unfenced: true},
		"denied":                   {groups: []string{"sg-other"}, refuse: denied, class: providers.ErrDenied, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c2, f := walled()
			f.unmanaged, c2.refuse["DescribeSecurityGroups"] = c.unfenced, c.refuse
			if c.gone {
				c2.groups = nil
			}
			f.set(key, c.known)
			l := lookAt(f, c.groups...)
			if c.groups == nil {
				l.Balancer = nil
			}
			if c.replaced {
				l.Tags[balancer][client.TagWrittenList] = WrittenGroups
			}
			awscalls.ExpectError(t, "finding", f.Find(t.Context(), l, c.indexed), c.class)
			awscalls.Expect(t, "found", []any{l.Firewall, l.FirewallMissing, len(c2.aws.Calls())}, []any{c.want, c.missing, c.calls})
			awscalls.Expect(t, "known", []any{f.get(key), len(f.known) > 0}, []any{c.kept, c.kept != ""})
			awscalls.ExpectError(t, "a port without it", f.ChangePort(t.Context(), &lb.Observed{Key: key}, 80, nil), map[bool]error{false: providers.ErrPending, true: nil}[c.replaced || c.unfenced])
		})
	}
	c, f := walled()
	c.groups = nil
	got, _, err := f.Ensure(t.Context(), lb.LoadBalancer{Key: key})
	awscalls.ExpectError(t, "creating", err, nil)
	c.aws.Calls()
	l := lookAt(f, "sg-other")
	awscalls.ExpectError(t, "created a moment ago", f.Find(t.Context(), l, nil), nil)
	awscalls.Expect(t, "created a moment ago", []any{l.Firewall, len(c.aws.Calls())}, []any{got[0], 0})
	awscalls.Expect(t, "others are gone", f.Remove([]string{"sg-other"}), false)
	awscalls.Expect(t, "it is gone", f.Remove([]string{"sg-other", got[0]}), true)
}

func inbound(port int32, sources ...string) lb.Listener {
	return lb.Listener{Port: port, Settings: lb.ListenerSettings{Inbound: sources}}
}

// A load balancer gets its groups, and its firewall the clients of its listeners. A port that a
// listener of others uses stays as it is.
func TestFirewallsAreWritten(t *testing.T) {
	had := []look.Grant{{Port: 80, Source: "10.0.0.0/8"}, {Port: 81, Source: "10.0.0.0/8"}, {Port: 82, Source: "10.0.0.0/8"}}
	for name, c := range map[string]struct {
		change   func(*trial, *Firewalls, *lb.LoadBalancer)
		attached []string
		refuse   map[string]error
		firewall string
		groups   []string // that are set
		admitted []look.Grant
		nodes    []span
		class    error
	}{
		"all": {
			attached: []string{"sg-old"}, firewall: "sg-f", groups: []string{"sg-f", "sg-shared"}, nodes: []span{{8080, 8080}, {9090, 9090}},
			admitted: []look.Grant{{Port: 81, Source: "10.0.0.0/8"}, {Port: 80, Source: "172.16.0.0/12"}},
		},
		"the groups stay": {
			attached: []string{"sg-shared", "sg-f"}, firewall: "sg-f", nodes: []span{{8080, 8080}, {9090, 9090}},
			admitted: []look.Grant{{Port: 81, Source: "10.0.0.0/8"}, {Port: 80, Source: "172.16.0.0/12"}},
		},
		"groups of its class": {
			change:   func(_ *trial, _ *Firewalls, l *lb.LoadBalancer) { l.Settings.SecurityGroups = []string{"sg-class"} },
			attached: []string{"sg-f"}, groups: []string{"sg-class"}, admitted: had,
		},
		"left alone":         {change: func(_ *trial, f *Firewalls, _ *lb.LoadBalancer) { f.unmanaged = true }, attached: []string{"sg-f"}, admitted: had},
		"creating is denied": {attached: []string{"sg-old"}, refuse: map[string]error{"CreateSecurityGroup": denied}, admitted: had, class: providers.ErrDenied},
		"the shared one is being deleted": {
			change: func(c *trial, _ *Firewalls, _ *lb.LoadBalancer) { c.nodes.deleting = true }, attached: []string{"sg-old"}, firewall: "sg-f", admitted: had, class: providers.ErrPending,
		},
		"admitting is denied": {attached: []string{"sg-old"}, refuse: map[string]error{"AuthorizeSecurityGroupIngress": denied}, firewall: "sg-f", admitted: had, class: providers.ErrDenied},
		"the nodes are closed": {
			change: func(c *trial, _ *Firewalls, _ *lb.LoadBalancer) { c.nodes.ports.closing[8080] = true }, attached: []string{"sg-old"}, firewall: "sg-f",
			admitted: []look.Grant{{Port: 81, Source: "10.0.0.0/8"}, {Port: 80, Source: "172.16.0.0/12"}}, class: providers.ErrPending,
		},
		"setting is denied": {
			attached: []string{"sg-old"}, refuse: map[string]error{"SetSecurityGroups": denied}, firewall: "sg-f", groups: []string{"sg-f", "sg-shared"}, nodes: []span{{8080, 8080}, {9090, 9090}},
			admitted: []look.Grant{{Port: 81, Source: "10.0.0.0/8"}, {Port: 80, Source: "172.16.0.0/12"}}, class: providers.ErrDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c2, f := walled()
			for _, g := range had {
				c2.group("sg-f").IpPermissions = append(c2.group("sg-f").IpPermissions, g.Permission())
			}
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			want := lb.LoadBalancer{Key: key, Listeners: []lb.Listener{inbound(80, "172.16.0.0/12")}, TargetGroups: []lb.TargetGroup{{Targets: []lb.Target{{Port: 8080}}}}}
			want.Settings.Tags = map[string]string{"team": "web"}
			if c.change != nil {
				c.change(c2, f, &want)
			}
			seen := &lb.Observed{Key: key, Listeners: []lb.ObservedListener{{Port: 80}, {Port: 81}}}
			firewall, err := f.Write(t.Context(), elb.LoadBalancer{LoadBalancerArn: aws.String(balancer), SecurityGroups: c.attached}, seen, want, []int32{9090})
			awscalls.ExpectError(t, "writing", err, c.class)
			awscalls.Expect(t, "the firewall", firewall, c.firewall)
			var set []string
			for _, b := range c2.balancer {
				set = append(set, b.SecurityGroups...)
			}
			awscalls.Expect(t, "groups that are set", set, c.groups)
			awscalls.Expect(t, "admitted", look.ReadGrants(*c2.group("sg-f")), c.admitted)
			awscalls.Expect(t, "the nodes admit", spansFrom(*c2.group("sg-nodes"), "sg-shared"), c.nodes)
			awscalls.Expect(t, "the firewall is known", f.get(key), c.firewall)
			awscalls.Expect(t, "tags of the class", client.WrittenTags(TagsIn(*c2.group("sg-f")))["team"] == "web", c.firewall != "")
			awscalls.Expect(t, "a port without it", f.ExplainMissing(key) == nil, c.firewall == "" && c.class == nil)
		})
	}
	long := lb.Key("fairlead/" + strings.Repeat("a", 300))
	awscalls.Expect(t, "the longest description", len(describeFirewall(long)), 255)
}

// Ports are opened and changed in the firewall that is observed.
func TestPortsOfAFirewall(t *testing.T) {
	c, f := walled()
	seen := &lb.Observed{Key: key, Firewall: "sg-f"}
	awscalls.ExpectError(t, "opening", f.OpenPort(t.Context(), seen, inbound(80, "10.0.0.0/8")), nil)
	awscalls.ExpectError(t, "opening another", f.OpenPort(t.Context(), seen, inbound(81, "10.0.0.0/8")), nil)
	changed := inbound(80, "172.16.0.0/12")
	awscalls.ExpectError(t, "changing", f.ChangePort(t.Context(), seen, 80, &changed), nil)
	awscalls.Expect(t, "admitted", look.ReadGrants(*c.group("sg-f")), []look.Grant{{Port: 81, Source: "10.0.0.0/8"}, {Port: 80, Source: "172.16.0.0/12"}})
	awscalls.ExpectError(t, "without a firewall", f.OpenPort(t.Context(), &lb.Observed{Key: key}, inbound(80)), providers.ErrPending)
}

func TestAFirewallIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		observed string
		gone     bool
		refuse   map[string]error
		class    error
		left     []string
		known    string
	}{
		"observed":             {observed: "sg-f", left: nil},
		"found by name":        {left: nil},
		"gone":                 {gone: true, left: nil, known: "sg-f"},
		"denied":               {refuse: map[string]error{"DescribeSecurityGroups": denied}, class: providers.ErrDenied, left: []string{"sg-f", "sg-shared"}, known: "sg-f"},
		"deleting is denied":   {observed: "sg-f", refuse: map[string]error{"DeleteSecurityGroup": denied}, class: providers.ErrDenied, left: []string{"sg-f", "sg-shared"}, known: "sg-f"},
		"balancers are denied": {observed: "sg-f", refuse: map[string]error{"DescribeLoadBalancers": denied}, class: providers.ErrDenied, left: []string{"sg-f", "sg-shared"}, known: "sg-f"},
	} {
		c2, f := walled()
		f.set(key, "sg-f")
		if c.gone {
			c2.groups = nil
		}
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		awscalls.ExpectError(t, name, f.Delete(t.Context(), &lb.Observed{Key: key, Firewall: c.observed}), c.class)
		var left []string
		for _, id := range []string{"sg-f", "sg-shared"} {
			if c2.group(id) != nil {
				left = append(left, id)
			}
		}
		awscalls.Expect(t, name, []any{left, f.get(key)}, []any{c.left, c.known})
	}
	c, f := walled()
	c.refuse["DeleteSecurityGroup"] = denied
	c.nodes.AddUser(other)
	awscalls.ExpectError(t, "the firewall alone is denied", f.Delete(t.Context(), &lb.Observed{Key: key, Firewall: "sg-f"}), providers.ErrDenied)
}

// A deep look reads the groups of a load balancer, and says whether they are those that it should
// have.
func TestFirewallsAreObserved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*trial, *look.Look)
		groups []string
		right  bool
		shared string
		read   bool
		class  error
	}{
		"as they should be":   {nil, []string{"sg-f", "sg-shared"}, true, "sg-shared", true, nil},
		"the firewall alone":  {nil, []string{"sg-f"}, false, "", true, nil},
		"one too many":        {nil, []string{"sg-f", "sg-shared", "sg-else"}, false, "", true, nil},
		"the shared alone":    {nil, []string{"sg-shared"}, false, "sg-shared", true, nil},
		"shared by name only": {func(c *trial, _ *look.Look) { c.group("sg-shared").Tags = nil }, []string{"sg-f", "sg-shared"}, false, "", true, nil},
		"ours, another name":  {func(c *trial, _ *look.Look) { c.group("sg-shared").GroupName = aws.String("x") }, []string{"sg-f", "sg-shared"}, false, "", true, nil},
		"not deep":            {func(_ *trial, l *look.Look) { l.Deep = false }, []string{"sg-f", "sg-shared"}, false, "", false, nil},
		"no firewall":         {func(_ *trial, l *look.Look) { l.Firewall = "" }, []string{"sg-f", "sg-shared"}, false, "", false, nil},
		"no load balancer":    {func(_ *trial, l *look.Look) { l.Balancer = nil }, nil, false, "", false, nil},
		"denied":              {func(c *trial, _ *look.Look) { c.refuse["DescribeSecurityGroups"] = denied }, []string{"sg-f", "sg-shared"}, false, "", true, providers.ErrDenied},
	} {
		c2, f := walled()
		grant := look.Grant{Port: 80, Source: "10.0.0.0/8"}
		c2.group("sg-f").IpPermissions = []ec2types.IpPermission{grant.Permission()}
		l := lookAt(f, c.groups...)
		l.Deep, l.Firewall, l.Listeners = true, "sg-f", []elb.Listener{{ListenerArn: aws.String("arn:listener/80")}}
		if c.change != nil {
			c.change(c2, l)
		}
		awscalls.ExpectError(t, name, f.Observe(t.Context(), l, nil), c.class)
		awscalls.Expect(t, name, []any{l.GroupsRight, l.Shared, len(c2.aws.Calls()) > 0}, []any{c.right, c.shared, c.read})
		awscalls.Expect(t, name+": assumed", l.Assumed, map[bool]map[string]bool{true: {balancer: true, "arn:listener/80": true}, false: {}}[c.class != nil])
		if c.right {
			awscalls.Expect(t, name, []any{l.Grants, l.FirewallTags[client.TagInstallation]}, []any{[]look.Grant{grant}, "test"})
		}
	}
}

// The clients of a port have the form of a class.
func TestClientsAsAClassHasThem(t *testing.T) {
	l := &look.Look{Grants: slices.Concat(look.MakeGrants(80, nil), look.MakeGrants(443, []string{"b", "a"}))}
	for port, want := range map[int32][]string{80: nil, 443: {"a", "b"}, 8080: {"nobody"}} {
		awscalls.Expect(t, fmt.Sprint(port), InboundOf(l, port, nil), want)
	}
}

// Groups are wrong where others are attached, a port without a listener is open, or the nodes do not
// admit the load balancer.
func TestGroupsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*look.Look)
		wrong  bool
	}{
		"right":                {func(*look.Look) {}, false},
		"others are attached":  {func(l *look.Look) { l.GroupsRight = false }, true},
		"the nodes are closed": {func(l *look.Look) { l.NodesClosed = true }, true},
		"a port is left open":  {func(l *look.Look) { l.Grants = look.MakeGrants(81, nil) }, true},
		"there is no firewall": {func(l *look.Look) { l.Firewall, l.GroupsRight = "", false }, false},
	} {
		_, f := walled()
		l := lookAt(f, "sg-shared", "sg-f")
		l.Firewall, l.GroupsRight, l.Grants, l.Listeners = "sg-f", true, look.MakeGrants(80, nil), []elb.Listener{{Port: aws.Int32(80)}, {Port: aws.Int32(443)}}
		c.change(l)
		awscalls.Expect(t, name, WrongGroups(l), map[bool][]string{true: {"sg-f", "sg-shared"}}[c.wrong])
	}
}

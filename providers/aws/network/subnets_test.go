package network

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file chooses subnets, and says in which zone targets are.

// subnet is one in a zone of the region, with tags by turns of name and value.
func subnet(id, zone string, tags ...string) ec2types.Subnet {
	s := ec2types.Subnet{SubnetId: aws.String(id), AvailabilityZone: aws.String(zone), AvailableIpAddressCount: aws.Int32(LeastFree)}
	for i := 0; i+1 < len(tags); i += 2 {
		s.Tags = append(s.Tags, ec2types.Tag{Key: aws.String(tags[i]), Value: aws.String(tags[i+1])})
	}
	return s
}

func full(s ec2types.Subnet) ec2types.Subnet {
	s.AvailableIpAddressCount = aws.Int32(LeastFree - 1)
	return s
}

func onOutpost(s ec2types.Subnet) ec2types.Subnet {
	s.OutpostArn = aws.String("arn:outpost")
	return s
}

// table is a route table of subnets; "main" is that of all others.
func table(gateway string, of ...string) ec2types.RouteTable {
	out := ec2types.RouteTable{Routes: []ec2types.Route{{GatewayId: aws.String("local")}, {GatewayId: aws.String(gateway)}}}
	for _, id := range of {
		if id == "main" {
			out.Associations = append(out.Associations, ec2types.RouteTableAssociation{Main: aws.Bool(true)})
			continue
		}
		out.Associations = append(out.Associations, ec2types.RouteTableAssociation{SubnetId: aws.String(id)})
	}
	return out
}

func TestSubnetsThatAreChosen(t *testing.T) {
	const a, b, lax = "eu-west-1a", "eu-west-1b", "eu-west-1-lax-1a"
	plain := []ec2types.Subnet{subnet("a1", a), subnet("a2", a), subnet("b1", b)}
	gateways := []ec2types.RouteTable{table("igw-1", "a1", "b1"), table("nat-1", "main")}
	internal, public := lb.Network{Scheme: "internal"}, lb.Network{Scheme: "internet-facing"}
	ofTeam := lb.Network{Scheme: "internal", SubnetTags: map[string]string{"team": "web", "use": ""}}
	named := func(names ...string) lb.Network { return lb.Network{Subnets: names} }
	for name, c := range map[string]struct {
		network  lb.Network
		subnets  []ec2types.Subnet
		tables   []ec2types.RouteTable
		standing []string
		refuse   map[string]error
		want     []string
		said     string // a part of the error
		class    error
	}{
		"one of each zone":         {internal, plain, nil, nil, nil, []string{"a1", "b1"}, "", nil},
		"one that stands":          {internal, plain, nil, []string{"a2"}, nil, []string{"a2", "b1"}, "", nil},
		"those that stand":         {internal, append(plain, subnet("c1", "eu-west-1c")), nil, []string{"a2", "b1"}, nil, []string{"a2", "b1"}, "", nil},
		"one that stood is gone":   {internal, plain, nil, []string{"a2", "gone"}, nil, []string{"a2", "b1"}, "", nil},
		"one that stands is full":  {internal, []ec2types.Subnet{subnet("a1", a), full(subnet("a2", a)), subnet("b1", b)}, nil, []string{"a2"}, nil, []string{"a2", "b1"}, "", nil},
		"the last is full":         {internal, []ec2types.Subnet{full(subnet("a1", a)), subnet("a2", a), subnet("b1", b)}, nil, nil, nil, []string{"a2", "b1"}, "", nil},
		"later ones are lower":     {internal, []ec2types.Subnet{subnet("a2", a), subnet("a1", a), subnet("b1", b)}, nil, nil, nil, []string{"a1", "b1"}, "", nil},
		"it stands before a lower": {internal, []ec2types.Subnet{subnet("a2", a), subnet("a1", a), subnet("b1", b)}, nil, []string{"a2"}, nil, []string{"a2", "b1"}, "", nil},
		"one zone":                 {internal, plain[:2], nil, nil, nil, nil, "1 availability zones have one that is tagged kubernetes.io/role/internal-elb or has no route", providers.ErrRejected},
		"one zone, no routes":      {public, plain[:2], nil, nil, nil, nil, "1 availability zones have one that is in the VPC", providers.ErrRejected},
		"tags of the scheme":       {internal, []ec2types.Subnet{subnet("a1", a), subnet("a2", a, TagPrivateRole, ""), subnet("b1", b), subnet("b2", b, TagPrivateRole, "1"), subnet("b0", b, TagPrivateRole, "0")}, nil, nil, nil, []string{"a2", "b2"}, "", nil},
		"those that stand lack it": {internal, []ec2types.Subnet{subnet("a1", a), subnet("a2", a, TagPrivateRole, ""), subnet("b1", b), subnet("b2", b, TagPrivateRole, "1")}, nil, []string{"a1", "b1"}, nil, []string{"a2", "b2"}, "", nil},
		"tags of another scheme":   {public, []ec2types.Subnet{subnet("a1", a, TagPublicRole, "1"), subnet("a2", a, TagPrivateRole, ""), subnet("b1", b, TagPrivateRole, "1")}, nil, nil, nil, nil, "1 availability zones have one that is tagged " + TagPublicRole + ",", providers.ErrRejected},
		"private routes":           {internal, append(plain, subnet("b2", b)), gateways, nil, nil, []string{"a2", "b2"}, "", nil},
		"public routes":            {public, plain, gateways, nil, nil, []string{"a1", "b1"}, "", nil},
		"one has a private route":  {internal, plain, gateways, nil, nil, nil, "has no route to an internet gateway", providers.ErrRejected},
		"one has a public route":   {public, plain, []ec2types.RouteTable{table("igw-1", "a1")}, nil, nil, nil, "has a route to an internet gateway", providers.ErrRejected},
		"the main table":           {public, plain, []ec2types.RouteTable{table("igw-1", "main"), table("nat-1", "a1")}, nil, nil, []string{"a2", "b1"}, "", nil},
		"no public route":          {public, plain, []ec2types.RouteTable{table("nat-1", "main")}, nil, nil, []string{"a1", "b1"}, "", nil},
		"routes are denied":        {internal, plain, nil, nil, map[string]error{"DescribeRouteTables": denied}, nil, "reading the route tables of vpc-1", providers.ErrDenied},
		"subnets are denied":       {internal, plain, nil, nil, map[string]error{"DescribeSubnets": denied}, nil, "reading the subnets of vpc-1", providers.ErrDenied},
		"other kinds of zones":     {internal, append(plain, subnet("l1", lax), onOutpost(subnet("c1", "eu-west-1c")), subnet("d1", "us-east-1d"), subnet("e1", "eu-west-1")), nil, nil, nil, []string{"a1", "b1"}, "", nil},
		"no availability zone":     {internal, []ec2types.Subnet{subnet("l1", lax), subnet("l2", "eu-west-1-ber-1a")}, nil, nil, nil, nil, "0 availability zones", providers.ErrRejected},
		"tags of the class":        {ofTeam, []ec2types.Subnet{subnet("a1", a), subnet("a2", a, "team", "web", "use", "x"), subnet("b1", b, "team", "web", "use", ""), subnet("b0", b, "team", "api", "use", "x")}, nil, nil, nil, []string{"a2", "b1"}, "", nil},
		"tags of other zones":      {ofTeam, append(plain, subnet("l1", lax, "team", "web", "use", "x"), subnet("l2", "eu-west-1-ber-1a", "team", "web", "use", "x")), nil, nil, nil, []string{"l1", "l2"}, "", nil},
		"tags of nothing":          {ofTeam, plain, nil, nil, nil, nil, "has the tags of the class", providers.ErrRejected},
		"by name":                  {named("web", "a1", "a1"), append(plain, subnet("c9", "eu-west-1c", "Name", "web")), nil, nil, nil, []string{"a1", "c9"}, "", nil},
		"by the name of the first": {named("b1", "a1"), plain, nil, nil, nil, []string{"a1", "b1"}, "", nil},
		"by a name that is not":    {named("a1", "web"), append(plain, subnet("c9", "eu-west-1c", "Role", "web")), nil, nil, nil, nil, "none has the ID or the name web", providers.ErrRejected},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			c2.there, c2.tables = c.subnets, c.tables
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			got, err := c2.subnets.Choose(t.Context(), c.network, c.standing)
			awscalls.ExpectError(t, "choosing", err, c.class)
			awscalls.Expect(t, "chosen", got, c.want)
			if err != nil && !strings.Contains(err.Error(), c.said) {
				t.Errorf("the error is %v, want %q", err, c.said)
			}
		})
	}
	anywhere := NewSubnets(nil, "vpc-1", "")
	awscalls.Expect(t, "where the region is not known", []bool{anywhere.isRegional(subnet("l1", lax)), anywhere.isRegional(onOutpost(subnet("a1", a)))}, []bool{true, false})
}

// What the subnets that are chosen have in common is told of these, and not of all.
func TestWhySubnetsAreChosen(t *testing.T) {
	const a, b, lax = "eu-west-1a", "eu-west-1b", "eu-west-1-lax-1a"
	plain := []ec2types.Subnet{subnet("a1", a), subnet("b1", b)}
	for name, c := range map[string]struct {
		network  lb.Network
		subnets  []ec2types.Subnet
		standing []string
		want     string
	}{
		"by name":          {lb.Network{Subnets: []string{"a1", "b1"}}, plain, nil, "is named by the class"},
		"by tags":          {lb.Network{SubnetTags: map[string]string{"team": ""}}, []ec2types.Subnet{subnet("a1", a, "team", "web"), subnet("b1", b, "team", "web")}, nil, "has the tags of the class"},
		"by the role":      {lb.Network{Scheme: "internal"}, []ec2types.Subnet{subnet("a1", a, TagPrivateRole, "1"), subnet("b1", b, TagPrivateRole, "1")}, nil, "is tagged kubernetes.io/role/internal-elb"},
		"those that stand": {lb.Network{Scheme: "internal"}, plain, []string{"a1", "b1"}, "is tagged kubernetes.io/role/internal-elb or has no route to an internet gateway"},
		"a role elsewhere": {lb.Network{Scheme: "internal"}, append(plain, subnet("l1", lax, TagPrivateRole, "1")), nil, "is tagged kubernetes.io/role/internal-elb or has no route to an internet gateway"},
	} {
		c2 := newTrial()
		c2.there = c.subnets
		got, reason, err := c2.subnets.Explain(t.Context(), c.network, c.standing)
		awscalls.ExpectError(t, name, err, nil)
		awscalls.Expect(t, name, got, []string{"a1", "b1"})
		awscalls.Expect(t, name, reason, c.want)
	}
}

// A reading of a moment ago is recent enough to find some, and not to say that there are none.
func TestHowLongSubnetsAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		for i, w := range []struct {
			after time.Duration
			zones string
			class error
			reads int
		}{
			{0, "a", providers.ErrRejected, 1},
			{time.Second, "ab", nil, 1},
			{networkLife, "ab", nil, 0},
			{1, "ab", nil, 1},
		} {
			time.Sleep(w.after)
			c.there = nil
			for _, zone := range w.zones {
				c.there = append(c.there, subnet("subnet-"+string(zone), "eu-west-1"+string(zone), TagPrivateRole, "1"))
			}
			_, err := c.subnets.Choose(t.Context(), lb.Network{Scheme: "internal"}, nil)
			awscalls.ExpectError(t, "choosing", err, w.class)
			if reads := c.count("DescribeSubnets"); reads != w.reads {
				t.Errorf("choice %d takes %d readings, want %d", i, reads, w.reads)
			}
		}
	})
}

// A target outside the subnets is in all zones, as far as is known.
func TestTheZonesOfTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		zones := func(moved bool, addresses ...string) (out []string) {
			var targets []lb.Target
			for _, a := range addresses {
				targets = append(targets, lb.Target{Address: a, Port: 80})
			}
			for _, d := range c.subnets.DescribeTargets(targets, moved) {
				out = append(out, strings.TrimSpace(aws.ToString(d.Id)+" "+aws.ToString(d.AvailabilityZone)))
			}
			return out
		}
		awscalls.Expect(t, "nothing is known", zones(false, "192.168.0.1", "i-1"), []string{"192.168.0.1", "i-1"})
		s := subnet("a1", "eu-west-1a")
		s.CidrBlock = aws.String("10.0.0.0/16")
		s.Ipv6CidrBlockAssociationSet = []ec2types.SubnetIpv6CidrBlockAssociation{{Ipv6CidrBlock: aws.String("2001:db8::/64")}}
		six := subnet("six", "eu-west-1b") // without a range of IPv4
		c.there = []ec2types.Subnet{six, s}
		changed, err := c.subnets.Reread(t.Context())
		awscalls.ExpectError(t, "reading", err, nil)
		awscalls.Expect(t, "changed", changed, true)
		awscalls.Expect(t, "known", zones(false, "192.168.0.1", "10.0.0.1", "2001:db8::1", "2001:db8:1::1", "i-1"), []string{"192.168.0.1 all", "10.0.0.1", "2001:db8::1", "2001:db8:1::1 all", "i-1"})
		awscalls.Expect(t, "moved", zones(true, "192.168.0.1", "10.0.0.1", "i-1"), []string{"192.168.0.1", "10.0.0.1 all", "i-1"})
		c.subnets.RecordMisplaced("192.168.0.1")
		c.subnets.RecordMisplaced("2001:db8:1::1")
		awscalls.Expect(t, "misplaced", zones(false, "192.168.0.15", "192.168.0.16", "2001:db8:1::ffff", "2001:db8:1:1::1"), []string{"192.168.0.15", "192.168.0.16 all", "2001:db8:1::ffff", "2001:db8:1:1::1 all"})
		again := func(about string, want bool, class error) {
			changed, err := c.subnets.Reread(t.Context())
			awscalls.ExpectError(t, about, err, class)
			awscalls.Expect(t, about, changed, want)
		}
		again("at once", false, nil)
		time.Sleep(networkLife + 1)
		again("the same", false, nil)
		awscalls.Expect(t, "still misplaced", zones(false, "192.168.0.1"), []string{"192.168.0.1"})
		time.Sleep(networkLife + 1)
		c.refuse["DescribeSubnets"] = denied
		again("denied", false, providers.ErrDenied)
		awscalls.Expect(t, "still misplaced", zones(false, "192.168.0.1"), []string{"192.168.0.1"})
		c.refuse = map[string]error{}
		c.there = []ec2types.Subnet{s}
		again("another", true, nil)
		awscalls.Expect(t, "misplaced no longer", zones(false, "192.168.0.1"), []string{"192.168.0.1 all"})
	})
	awscalls.Expect(t, "a block", []string{blockOf(netip.MustParseAddr("10.0.0.17")).String(), blockOf(netip.MustParseAddr("2001:db8::1")).String()}, []string{"10.0.0.16/28", "2001:db8::/64"})
}

package preflight

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers/aws/client"
)

const (
	public, internal = "kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"
	facingTitle      = "aws/subnets/internet-facing | subnets of internet-facing load balancers | "
	internalTitle    = "aws/subnets/internal | subnets of internal load balancers | "
)

func TestSubnets(t *testing.T) {
	const noRoute = "unknown " + facingTitle + "no subnet has a route to an internet gateway | only internal load balancers can be made here: give the route to public subnets if others are wanted"
	const tag = " | tag a subnet in each of two zones, or name subnets in the class"
	few := func(reason string) string {
		return "choosing subnets of vpc-1: 1 availability zones have one that " + reason + ", and that has 8 free addresses; AWS asks for two; those of Local Zones, Wavelength Zones and Outposts have to be named by the class" + tag
	}
	for name, c := range map[string]struct {
		subnets []ec2types.Subnet
		open    []string
		want    []string
	}{
		"tagged": {
			[]ec2types.Subnet{
				subnet("subnet-a", "eu-west-1a", 8, public, "1"), subnet("subnet-b", "eu-west-1b", 251, public, ""),
				subnet("subnet-c", "eu-west-1a", 251, internal, "1"), subnet("subnet-d", "eu-west-1b", 250, internal, "", "Name", "d"),
				subnet("subnet-e", "eu-west-1c", 7, "Name", "full"),
			},
			[]string{"subnet-a", "subnet-b"},
			[]string{
				"ok " + facingTitle + "each is tagged kubernetes.io/role/elb: subnet-a in eu-west-1a with 8 free addresses, subnet-b in eu-west-1b with 251 free addresses | ",
				"ok " + internalTitle + "each is tagged kubernetes.io/role/internal-elb: subnet-c in eu-west-1a with 251 free addresses, subnet-d in eu-west-1b with 250 free addresses | ",
			},
		},
		"wrongly tagged": {
			[]ec2types.Subnet{
				subnet("subnet-a", "eu-west-1a", 251, public, "yes"), subnet("subnet-b", "eu-west-1b", 251, public, "1"),
				subnet("subnet-c", "eu-west-1c", 7, internal, "1", "kubernetes.io/role/node", "1"),
			},
			[]string{"subnet-a"},
			[]string{
				`wrong aws/subnet/subnet-a | subnet subnet-a | the tag kubernetes.io/role/elb has the value "yes", by which it is not chosen | give the tag the value 1`,
				"wrong aws/subnet/subnet-b | subnet subnet-b | the tag kubernetes.io/role/elb is on a subnet without a route to an internet gateway | tag it kubernetes.io/role/internal-elb instead, or give it the route",
				"unknown aws/subnet/subnet-c | subnet subnet-c | the tag kubernetes.io/role/node chooses no subnet | the tags that do are kubernetes.io/role/elb and kubernetes.io/role/internal-elb",
				"wrong aws/subnet/subnet-c | subnet subnet-c | 7 addresses are free, and AWS requires 8 | free some, or tag another subnet of eu-west-1c",
				"wrong " + facingTitle + few("is tagged kubernetes.io/role/elb"),
				"wrong " + internalTitle + "choosing subnets of vpc-1: 0" + few("is tagged kubernetes.io/role/internal-elb")[len("choosing subnets of vpc-1: 1"):],
			},
		},
		"no tags, and no routes": {
			[]ec2types.Subnet{subnet("subnet-a", "eu-west-1a", 251), subnet("subnet-b", "eu-west-1b", 251)}, nil,
			[]string{
				noRoute,
				"ok " + internalTitle + "each is tagged kubernetes.io/role/internal-elb or has no route to an internet gateway: subnet-a in eu-west-1a with 251 free addresses, subnet-b in eu-west-1b with 251 free addresses | ",
			},
		},
		// Subnets of Local Zones are not chosen by their tags, and do not keep others from being chosen.
		"a tag in a Local Zone alone": {
			[]ec2types.Subnet{
				subnet("subnet-a", "eu-west-1a", 251), subnet("subnet-b", "eu-west-1b", 251), subnet("subnet-z", "eu-west-1-lon-1a", 251, public, "1"),
			},
			[]string{"subnet-a", "subnet-b", "subnet-z"},
			[]string{
				"ok " + facingTitle + "each is tagged kubernetes.io/role/elb or has a route to an internet gateway: subnet-a in eu-west-1a with 251 free addresses, subnet-b in eu-west-1b with 251 free addresses | ",
				"ok " + internalTitle + "each is in the VPC: subnet-a in eu-west-1a with 251 free addresses, subnet-b in eu-west-1b with 251 free addresses | ",
			},
		},
	} {
		a := located(t, client.Access{}, c.subnets...)
		a.open = c.open
		a.checkSubnets(t.Context())
		a.expect(t, name, c.want...)
	}
}

func TestANetworkThatIsNotRead(t *testing.T) {
	a := located(t, client.Access{}, subnet("subnet-a", "eu-west-1a", 251))
	a.refuse["DescribeRouteTables"] = failure
	a.checkSubnets(t.Context())
	a.expect(t, "no route tables", "unknown aws/route-tables | route tables | reading the route tables of vpc-1: InternalFailure: no | ")
	// Where there is no good choice, the subnets are read once more.
	a = located(t, client.Access{}, subnet("subnet-a", "eu-west-1a", 251))
	a.refuse["DescribeSubnets"] = failure
	a.checkSubnets(t.Context())
	a.expect(t, "no subnets",
		"unknown "+facingTitle+"reading the subnets of vpc-1: InternalFailure: no | ", "unknown "+internalTitle+"reading the subnets of vpc-1: InternalFailure: no | ")
}

func TestSecurityGroupsOfNodes(t *testing.T) {
	const title = "aws/node-security-groups | security groups of nodes | "
	group := func(id string, rules int) ec2types.SecurityGroup {
		return ec2types.SecurityGroup{GroupId: aws.String(id), IpPermissions: []ec2types.IpPermission{{IpRanges: make([]ec2types.IpRange, rules)}}}
	}
	for name, c := range map[string]struct {
		access client.Access
		groups []ec2types.SecurityGroup
		refuse error
		want   []string
		nodes  int
	}{
		"left alone":     {access: client.Access{UnmanagedGroups: true, Cluster: "shop"}, want: []string{"ok " + title + "left alone, as --aws-security-groups=none says | "}},
		"no cluster":     {want: []string{"unknown " + title + "without --aws-cluster-name none is changed | name the cluster, or admit load balancers on the ports of targets by hand"}},
		"not to be read": {access: client.Access{Cluster: "shop"}, refuse: failure, want: []string{"unknown " + title + "reading security groups: InternalFailure: no | "}},
		"none": {
			access: client.Access{Cluster: "shop"},
			want:   []string{"wrong " + title + "none in vpc-1 has the tag kubernetes.io/cluster/shop | tag the security group of the nodes, or mend --aws-cluster-name"},
		},
		"with room and without": {
			access: client.Access{Cluster: "shop"}, groups: []ec2types.SecurityGroup{group("sg-1", 59), group("sg-2", 60)}, nodes: 2,
			want: []string{
				"ok aws/node-security-groups/sg-1 | security group sg-1 | admits load balancers to nodes of shop; it has 59 inbound rules of 60, unless AWS has raised that | ",
				`unknown aws/node-security-groups/sg-2 | security group sg-2 | admits load balancers to nodes of shop; it has 60 inbound rules of 60, unless AWS has raised that | ask AWS to raise the quota "Inbound or outbound rules per security group" (L-0EA8095F) if it has not`,
			},
		},
	} {
		a := located(t, c.access)
		a.groups, a.refuse["DescribeSecurityGroups"] = c.groups, c.refuse
		a.checkNodeGroups(t.Context())
		a.expect(t, name, c.want...)
		if len(a.nodes) != c.nodes {
			t.Errorf("%s: %d groups are kept", name, len(a.nodes))
		}
	}
}

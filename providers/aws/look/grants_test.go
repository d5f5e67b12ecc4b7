package look

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// A grant that is written is read back as it is, whatever its source.
func TestGrantsAreReadBack(t *testing.T) {
	want := MakeGrants(443, []string{"10.0.0.0/8", "2001:db8::/32", "pl-0123456789abcdef0", "sg-0123456789abcdef0"})
	var group ec2types.SecurityGroup
	for _, g := range want {
		group.IpPermissions = append(group.IpPermissions, g.Permission())
	}
	if got := ReadGrants(group); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i, p := range group.IpPermissions {
		forms := []int{len(p.IpRanges), len(p.Ipv6Ranges), len(p.PrefixListIds), len(p.UserIdGroupPairs)}
		for form, sources := range forms {
			if (sources == 1) != (form == i) {
				t.Errorf("%s is written as %v", want[i].Source, forms)
			}
		}
	}
}

func TestWithoutInboundAllClientsConnect(t *testing.T) {
	if got := MakeGrants(80, nil); !slices.Equal(got, []Grant{{80, "0.0.0.0/0"}, {80, "::/0"}}) {
		t.Errorf("%v", got)
	}
}

// Rules of several ports, or of another protocol, are those of another writer.
func TestOtherRulesAreNoGrants(t *testing.T) {
	ranges := []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}
	got := ReadGrants(ec2types.SecurityGroup{IpPermissions: []ec2types.IpPermission{
		{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(81), IpRanges: ranges},
		{IpProtocol: aws.String("udp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), IpRanges: ranges},
		{IpProtocol: aws.String("-1"), IpRanges: ranges},
	}})
	if got != nil {
		t.Errorf("%v", got)
	}
}

// Rules of others can be for several ports, and for all of them.
func TestSourcesOfAPort(t *testing.T) {
	rule := func(protocol string, from, to *int32, cidr string) ec2types.SecurityGroup {
		return ec2types.SecurityGroup{IpPermissions: []ec2types.IpPermission{{IpProtocol: &protocol, FromPort: from, ToPort: to, IpRanges: []ec2types.IpRange{{CidrIp: &cidr}}}}}
	}
	groups := []ec2types.SecurityGroup{
		rule("tcp", aws.Int32(80), aws.Int32(80), "10.0.0.0/16"), rule("tcp", aws.Int32(80), aws.Int32(443), "10.1.0.0/16"),
		rule("6", aws.Int32(443), aws.Int32(443), "10.2.0.0/16"), rule("-1", nil, nil, "10.3.0.0/16"), rule("-1", aws.Int32(-1), aws.Int32(-1), "10.3.0.0/16"),
		rule("udp", aws.Int32(443), aws.Int32(443), "10.4.0.0/16"), rule("tcp", aws.Int32(444), aws.Int32(500), "10.5.0.0/16"), rule("tcp", aws.Int32(1), aws.Int32(442), "10.6.0.0/16"),
		rule("tcp", aws.Int32(-1), aws.Int32(-1), "10.7.0.0/16"),
		{IpPermissions: []ec2types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(0), ToPort: aws.Int32(65535), PrefixListIds: []ec2types.PrefixListId{{PrefixListId: aws.String("pl-1")}},
			UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String("sg-1")}}, Ipv6Ranges: []ec2types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}}}},
	}
	if got := SourcesOn(groups, 443); !slices.Equal(got, []string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.7.0.0/16", "::/0", "pl-1", "sg-1"}) {
		t.Errorf("%q", got)
	}
}

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

package network

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file changes the rules of security groups: those by which nodes admit load balancers, and
// those by which load balancers admit clients.

func TestWhatARuleCovers(t *testing.T) {
	s := span{10, 20}
	for port, want := range map[int32]bool{9: false, 10: true, 20: true, 21: false} {
		awscalls.Expect(t, "it has a port", s.has(port), want)
	}
	for other, want := range map[span]bool{{10, 20}: true, {11, 19}: true, {9, 20}: false, {10, 21}: false} {
		awscalls.Expect(t, "it covers a rule", s.covers(other), want)
	}
	awscalls.Expect(t, "the range of several", smallestCover([]span{{5, 6}, {1, 2}, {3, 9}}), span{1, 9})
	pair := ec2types.UserIdGroupPair{GroupId: aws.String("sg-shared")}
	g := ec2types.SecurityGroup{IpPermissions: []ec2types.IpPermission{
		span{80, 81}.permissionFor("sg-shared"), span{90, 90}.permissionFor("sg-other"),
		{IpProtocol: aws.String("udp"), FromPort: aws.Int32(53), ToPort: aws.Int32(53), UserIdGroupPairs: []ec2types.UserIdGroupPair{pair}},
		{IpProtocol: aws.String("tcp"), IpRanges: make([]ec2types.IpRange, 2), Ipv6Ranges: make([]ec2types.Ipv6Range, 3), PrefixListIds: make([]ec2types.PrefixListId, 4)},
	}}
	awscalls.Expect(t, "rules of the shared group", spansFrom(g, "sg-shared"), []span{{80, 81}})
	awscalls.Expect(t, "rules of any owner", RulesIn(g, func(string) int { return 55 }), 1+1+1+2+3+4*55)
}

// nodePortRules are rules of so many node ports, of two ports each, with gaps.
func nodePortRules(n int) (out []span) {
	for i := range int32(n) {
		out = append(out, span{30000 + 3*i, 30001 + 3*i})
	}
	return out
}

// Each port has a rule of its own. Node ports share one where there is little room.
func TestRulesAreWidened(t *testing.T) {
	few, many := nodePortRules(mostPortRules-1), nodePortRules(mostPortRules)
	for name, c := range map[string]struct {
		have        []span
		ports       []int32
		total       int
		added, gone []span
	}{
		"a port":                  {nil, []int32{8080}, 0, []span{{8080, 8080}}, nil},
		"an open port":            {[]span{{8080, 8081}}, []int32{8081}, 1, nil, nil},
		"node ports":              {few, []int32{32000}, mostPortRules - 1, []span{{32000, 32000}}, nil},
		"many node ports":         {append(slices.Clone(many), span{8080, 8080}), []int32{32000, 9000}, 21, []span{{9000, 9000}, {30000, 32000}}, many},
		"many, and another port":  {many, []int32{9000}, 20, []span{{9000, 9000}}, nil},
		"more, and another port":  {nodePortRules(mostPortRules + 1), []int32{9000}, 21, []span{{9000, 9000}}, nil},
		"as many as there can be": {few[:1], []int32{32000}, mostRules - 1, []span{{32000, 32000}}, nil},
		"no room":                 {few[:1], []int32{32000}, mostRules, []span{{30000, 32000}}, few[:1]},
		"the first and the last":  {many, []int32{30002, 32767}, 20, []span{{30000, 32767}}, many},
		"beside the node ports":   {many, []int32{29999, 32768}, 20, []span{{29999, 29999}, {32768, 32768}}, nil},
		"a wide rule":             {append(slices.Clone(many), span{29999, 30100}), []int32{32000}, 21, []span{{30000, 32000}}, many},
	} {
		added, gone := widenRules(c.have, c.ports, c.total)
		awscalls.Expect(t, name, [][]span{added, gone}, [][]span{c.added, c.gone})
	}
}

// Unused ports at the ends of a rule are taken off. Those between used ones stay.
func TestRulesAreNarrowed(t *testing.T) {
	for name, c := range map[string]struct {
		have        []span
		unused      []int32
		added, gone []span
	}{
		"used":                {[]span{{1, 3}}, nil, nil, nil},
		"one alone":           {[]span{{1, 1}}, []int32{1}, nil, []span{{1, 1}}},
		"the first":           {[]span{{1, 3}}, []int32{1}, []span{{2, 3}}, []span{{1, 3}}},
		"the last":            {[]span{{1, 3}}, []int32{3}, []span{{1, 2}}, []span{{1, 3}}},
		"one between":         {[]span{{1, 3}}, []int32{2}, nil, nil},
		"all but one":         {[]span{{1, 3}}, []int32{1, 3}, []span{{2, 2}}, []span{{1, 3}}},
		"all":                 {[]span{{1, 3}, {5, 5}}, []int32{1, 2, 3, 4}, nil, []span{{1, 3}}},
		"one that is there":   {[]span{{1, 3}, {2, 3}}, []int32{1}, nil, []span{{1, 3}}},
		"two that become one": {[]span{{1, 3}, {2, 4}}, []int32{1, 4}, nil, []span{{1, 3}, {2, 4}}},
	} {
		if name == "two that become one" {
			c.added = []span{{2, 3}}
		}
		added, gone := narrowRules(c.have, func(port int32) bool { return slices.Contains(c.unused, port) })
		awscalls.Expect(t, name, [][]span{added, gone}, [][]span{c.added, c.gone})
	}
}

// Rules are added before others are revoked. A group that changes meanwhile is tried again.
func TestPortsOfNodesAreOpenedAndClosed(t *testing.T) {
	invalid := awscalls.Refused("InvalidPermission.NotFound", "no")
	for name, c := range map[string]struct {
		close  bool
		refuse map[string]error
		ports  []int32
		want   []span
		class  error
		calls  []string
	}{
		"open":                {ports: []int32{8080}, want: []span{{30000, 30002}, {8080, 8080}}, calls: []string{"AuthorizeSecurityGroupIngress"}},
		"open before":         {ports: []int32{30001}, want: []span{{30000, 30002}}},
		"opened meanwhile":    {ports: []int32{8080}, refuse: map[string]error{"AuthorizeSecurityGroupIngress": duplicate}, want: []span{{30000, 30002}}, calls: []string{"AuthorizeSecurityGroupIngress"}},
		"opening is denied":   {ports: []int32{8080}, refuse: map[string]error{"AuthorizeSecurityGroupIngress": denied}, want: []span{{30000, 30002}}, class: providers.ErrDenied, calls: []string{"AuthorizeSecurityGroupIngress"}},
		"closed in part":      {close: true, ports: []int32{30000}, want: []span{{30001, 30002}}, calls: []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"}},
		"closed":              {close: true, ports: []int32{30000, 30001, 30002}, calls: []string{"RevokeSecurityGroupIngress"}},
		"closed before":       {close: true, ports: []int32{30000, 30001, 30002}, refuse: map[string]error{"RevokeSecurityGroupIngress": invalid}, want: []span{{30000, 30002}}, calls: []string{"RevokeSecurityGroupIngress"}},
		"closing is denied":   {close: true, ports: []int32{30000, 30001, 30002}, refuse: map[string]error{"RevokeSecurityGroupIngress": denied}, want: []span{{30000, 30002}}, class: providers.ErrDenied, calls: []string{"RevokeSecurityGroupIngress"}},
		"narrowing is denied": {close: true, ports: []int32{30000}, refuse: map[string]error{"AuthorizeSecurityGroupIngress": denied}, want: []span{{30000, 30002}}, class: providers.ErrDenied, calls: []string{"AuthorizeSecurityGroupIngress"}},
	} {
		c2 := newTrial()
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		c2.addGroup("sg-nodes", "nodes", nil)
		c2.group("sg-nodes").IpPermissions = []ec2types.IpPermission{span{30000, 30002}.permissionFor("sg-shared")}
		before := *c2.group("sg-nodes")
		var err error
		if c.close {
			err = c2.security.closePorts(t.Context(), before, "sg-shared", func(port int32) bool { return slices.Contains(c.ports, port) })
		} else {
			err = c2.security.openPorts(t.Context(), before, "sg-shared", c.ports)
		}
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name, spansFrom(*c2.group("sg-nodes"), "sg-shared"), c.want)
		awscalls.Expect(t, name+": calls", c2.aws.Calls(), c.calls)
	}
}

// Clients are admitted, whether or not some are already.
func TestClientsAreAdmitted(t *testing.T) {
	a, b, old := look.Grant{Port: 80, Source: "10.0.0.0/8"}, look.Grant{Port: 80, Source: "172.16.0.0/12"}, look.Grant{Port: 443, Source: "10.0.0.0/8"}
	ours := func(g look.Grant) bool { return g.Port != 443 }
	all := func(look.Grant) bool { return true }
	for name, c := range map[string]struct {
		have     []look.Grant
		unlisted []look.Grant
		gone     []look.Grant          // still listed
		replace  func(look.Grant) bool // nil to allow
		refuse   map[string]error
		want     []look.Grant
		class    error
		calls    []string
	}{
		"new":                      {want: []look.Grant{a, b}, calls: []string{"AuthorizeSecurityGroupIngress"}},
		"one is there":             {have: []look.Grant{a, old}, want: []look.Grant{a, old, b}, calls: []string{"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress"}},
		"all are there":            {have: []look.Grant{a, b}, want: []look.Grant{a, b}, calls: []string{"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress"}},
		"one is not listed":        {unlisted: []look.Grant{a}, want: []look.Grant{b}, calls: []string{"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress"}},
		"the second is not listed": {unlisted: []look.Grant{b}, want: []look.Grant{a}, calls: []string{"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress"}},
		"the last is not listed":   {have: []look.Grant{a}, unlisted: []look.Grant{b}, want: []look.Grant{a}, calls: []string{"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupIngress"}},
		"denied":                   {refuse: map[string]error{"AuthorizeSecurityGroupIngress": denied}, class: providers.ErrDenied, calls: []string{"AuthorizeSecurityGroupIngress"}},
		"replaced":                 {have: []look.Grant{a, old}, replace: all, want: []look.Grant{a, b}, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "DescribeSecurityGroups"}},
		"ours are replaced":        {have: []look.Grant{{Port: 80, Source: "sg-1"}, old}, replace: ours, want: []look.Grant{old, a, b}, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "DescribeSecurityGroups"}},
		"nothing to replace":       {have: []look.Grant{a, b}, replace: all, want: []look.Grant{a, b}, calls: []string{"DescribeSecurityGroups"}},
		"reading is denied":        {have: []look.Grant{old}, replace: all, refuse: map[string]error{"DescribeSecurityGroups": denied}, want: []look.Grant{old}, class: providers.ErrDenied, calls: []string{"DescribeSecurityGroups"}},
		"adding is denied":         {have: []look.Grant{old}, replace: all, refuse: map[string]error{"AuthorizeSecurityGroupIngress": denied}, want: []look.Grant{old}, class: providers.ErrDenied, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress"}},
		"revoking is denied":       {have: []look.Grant{old}, replace: all, refuse: map[string]error{"RevokeSecurityGroupIngress": denied}, want: []look.Grant{old, a, b}, class: providers.ErrDenied, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"}},
		"one is revoked already":   {have: []look.Grant{old}, gone: []look.Grant{{Port: 80, Source: "0.0.0.0/0"}}, replace: all, want: []look.Grant{a, b}, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "RevokeSecurityGroupIngress", "RevokeSecurityGroupIngress", "DescribeSecurityGroups"}},
		"revoked meanwhile":        {have: []look.Grant{old}, replace: all, refuse: map[string]error{"RevokeSecurityGroupIngress": awscalls.Refused("InvalidPermission.NotFound", "no")}, want: []look.Grant{old, a, b}, calls: []string{"DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "DescribeSecurityGroups"}},
	} {
		c2 := newTrial()
		c2.unlisted, c2.stillListed = c.unlisted, c.gone
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		_, f := walledIn(c2)
		w := wall{key, "sg-1", nil}
		c2.addGroup("sg-1", f.DerivedName(key), nil)
		for _, g := range c.have {
			c2.group("sg-1").IpPermissions = append(c2.group("sg-1").IpPermissions, g.Permission())
		}
		var err error
		if c.replace != nil {
			err = f.replace(t.Context(), w, []look.Grant{a, b}, c.replace)
		} else {
			err = f.open(t.Context(), w, []look.Grant{a, b})
		}
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name, look.ReadGrants(*c2.group("sg-1")), c.want)
		awscalls.Expect(t, name+": calls", c2.aws.Calls(), c.calls)
	}
	c, f := walledIn(newTrial())
	if err := f.replace(t.Context(), wall{key, "sg-gone", nil}, nil, all); err == nil {
		t.Error("a group that is not there is changed")
	}
	c.addGroup("sg-1", "firewall", nil)
	calls := 0
	awsOnce(c, func() { calls++ })
	awscalls.ExpectError(t, "the first one alone is denied", f.open(t.Context(), wall{key, "sg-1", nil}, []look.Grant{a, b}), providers.ErrDenied)
	awscalls.Expect(t, "calls", calls, 2)
}

package balancers

import (
	"slices"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file creates, changes and deletes load balancers.

func wanted(change func(*routing.Settings)) lb.LoadBalancer {
	l := lb.LoadBalancer{Key: key, Digest: "v1:new", Settings: routing.Settings{Scheme: "internal"}}
	if change != nil {
		change(&l.Settings)
	}
	return l
}

func withTimeout(s *routing.Settings) { s.Attributes = map[string]string{"idle.timeout": "90"} }

// A load balancer has its digest once its attributes are written. One that is there already is
// changed.
func TestALoadBalancerHasItsDigestInTheEnd(t *testing.T) {
	duplicate := awscalls.Refused("DuplicateLoadBalancerName", "no")
	for name, c := range map[string]struct {
		change        func(*routing.Settings)
		there         *elb.LoadBalancer
		tags          map[string]string
		refuse        map[string]error
		first, digest string
		class         error
		forgotten     bool
	}{
		"new":                     {first: "v1:new", digest: "v1:new"},
		"with attributes":         {change: withTimeout, digest: "v1:new"},
		"attributes are denied":   {change: withTimeout, refuse: map[string]error{"ModifyLoadBalancerAttributes": denied}, class: providers.ErrDenied},
		"created before":          {there: loadBalancer("active"), tags: newTrial().Owned(key, nil), refuse: map[string]error{"CreateLoadBalancer": duplicate}, digest: "v1:new"},
		"created before, denied":  {change: withTimeout, there: loadBalancer("active"), tags: newTrial().Owned(key, nil), refuse: map[string]error{"CreateLoadBalancer": duplicate, "ModifyLoadBalancerAttributes": denied}, class: providers.ErrDenied},
		"somebody else's":         {there: loadBalancer("active"), refuse: map[string]error{"CreateLoadBalancer": duplicate}, class: providers.ErrRejected},
		"there, as it is wanted":  {there: loadBalancer("active"), tags: newTrial().Owned(key, map[string]string{client.TagDigest: "v1:new"}), digest: "v1:new"},
		"active, somebody else's": {there: loadBalancer("active"), class: providers.ErrRejected},
		"too many":                {refuse: map[string]error{"CreateLoadBalancer": awscalls.Refused("TooManyLoadBalancers", "no")}, class: providers.ErrNoRoom},
		"the role is waited for":  {refuse: map[string]error{"CreateLoadBalancer": awscalls.Refused("InvalidRole", "no service-linked role")}, class: providers.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			c2.there, c2.tags = c.there, c.tags
			if c.tags == nil {
				c2.tags = map[string]string{}
			}
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			result, err := c2.Create(t.Context(), &lb.Observed{Key: key}, wanted(c.change))
			awscalls.ExpectError(t, "creating", err, c.class)
			awscalls.Expect(t, "digests", []string{c2.digest, c2.tags[client.TagDigest]}, []string{c.first, c.digest})
			if c.class == nil {
				awscalls.Expect(t, "result", []any{result.Handle, result.Address.Hostname, result.Active}, []any{handle, "web.test", c.there != nil})
			}
		})
	}
	c := newTrial()
	c.refuse["CreateLoadBalancer"] = awscalls.Refused("InvalidRole", "no service-linked role")
	_, err := c.Create(t.Context(), &lb.Observed{Key: key}, wanted(nil))
	awscalls.ExpectError(t, "creating", err, providers.ErrPending)
	c.aws.Calls()
	_, err = c.Create(t.Context(), &lb.Observed{Key: key}, wanted(nil))
	awscalls.ExpectError(t, "creating at once", err, providers.ErrPending)
	awscalls.Expect(t, "calls", c.aws.Calls(), nil)
}

// A name of a class that was taken meanwhile has its place forgotten: the next look-up says so.
func TestANameThatWasTakenMeanwhile(t *testing.T) {
	c := newTrial()
	c.there, c.tags = loadBalancer("active"), nil
	c.places[named] = place{}
	_, err := c.readOwned(t.Context(), named)
	awscalls.Expect(t, "it is an error, and no rejection", err != nil && !slices.Contains([]error{providers.ErrRejected}, err), true)
	awscalls.Expect(t, "places", len(c.places), 0)
	c.refuse["DescribeTags"] = denied
	_, err = c.readOwned(t.Context(), named)
	awscalls.ExpectError(t, "tags are denied", err, providers.ErrDenied)
	c.refuse["DescribeLoadBalancers"] = denied
	_, err = c.readOwned(t.Context(), named)
	awscalls.ExpectError(t, "denied", err, providers.ErrDenied)
	_, err = c.Modify(t.Context(), &lb.Observed{Key: key}, wanted(nil))
	awscalls.ExpectError(t, "changing is denied", err, providers.ErrDenied)
}

// Subnets and the IP family are written where they differ. What is not wanted any more has AWS's
// default.
func TestTheNetworkOfALoadBalancer(t *testing.T) {
	in := func(family string, subnets ...string) func(*routing.Settings) {
		return func(s *routing.Settings) { s.IPFamily, s.Subnets = family, subnets }
	}
	for name, c := range map[string]struct {
		change func(*routing.Settings)
		family elb.IpAddressType // as it is
		listed string            // that was written
		err    error
		want   string
		class  error
	}{
		"nothing":                  {in(""), "ipv4", "", nil, "", nil},
		"the family stays":         {in("ipv4"), "ipv4", "ip-family", nil, "", nil},
		"another family":           {in("dualstack"), "ipv4", "", nil, "dualstack", nil},
		"no family any more":       {in(""), "dualstack", "ip-family", nil, "ipv4", nil},
		"no family, as by default": {in(""), "ipv4", "ip-family", nil, "", nil},
		"a family of others":       {in(""), "dualstack", "", nil, "", nil},
		"the subnets stay":         {in("", "subnet-a", "subnet-b"), "ipv4", "", nil, "", nil},
		"other subnets":            {in("", "subnet-a", "subnet-c"), "ipv4", "", nil, "[subnet-a subnet-c]", nil},
		"both":                     {in("dualstack", "subnet-a", "subnet-c"), "ipv4", "", nil, "[subnet-a subnet-c] dualstack", nil},
		"no subnets any more":      {in(""), "ipv4", "subnets", nil, "", nil},
		"subnets are denied":       {in("", "subnet-a", "subnet-c"), "ipv4", "", denied, "[subnet-a subnet-c]", providers.ErrDenied},
		"a family is denied":       {in("dualstack"), "ipv4", "", denied, "dualstack", providers.ErrDenied},
	} {
		c2 := newTrial()
		c2.owned(key, map[string]string{client.TagWrittenList: c.listed})
		c2.there.IpAddressType = c.family
		c2.refuse["SetSubnets"], c2.refuse["SetIpAddressType"] = c.err, c.err
		_, err := c2.Modify(t.Context(), &lb.Observed{Key: key, Handle: handle}, wanted(c.change))
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name, c2.written, c.want)
	}
}

// Settings that were written are read back as they are, of a deep look.
func TestSettingsAreReadBack(t *testing.T) {
	for name, c := range map[string]struct {
		want  routing.Settings
		right bool
	}{
		"the scheme": {want: routing.Settings{Scheme: "internal"}},
		"subnets":    {want: routing.Settings{Scheme: "internal", Subnets: []string{"subnet-a", "subnet-b"}}},
		"the family": {want: routing.Settings{Scheme: "internal", IPFamily: "ipv4"}},
		"groups":     {want: routing.Settings{Scheme: "internal", SecurityGroups: []string{"sg-1", "sg-2"}}},
		"all": {want: routing.Settings{
			Scheme: "internal", Subnets: []string{"subnet-a", "subnet-b"}, IPFamily: "ipv4", SecurityGroups: []string{"sg-1", "sg-2"},
			Attributes: map[string]string{"z.a": "b"}, Tags: map[string]string{"team": "web"},
		}},
	} {
		c2 := newTrial()
		b := loadBalancer("active")
		b.Scheme = "internal"
		if c.want.SecurityGroups != nil {
			b.SecurityGroups = []string{"sg-2", "sg-1"}
		}
		w := wanted(nil)
		w.Settings = c.want
		tags := c2.tagsFor(w)
		l := &look.Look{
			Deep: true, GroupsRight: true, Balancer: b, Tags: map[string]map[string]string{handle: tags}, Assumed: map[string]bool{},
			Attributes: map[string]map[string]string{handle: c.want.Attributes},
		}
		awscalls.Expect(t, name, SettingsOf(l), c.want)
		awscalls.Expect(t, name+": the digest of a deep look", DigestOf(l), lb.DigestOf(c.want))
		l.Assumed[handle] = true
		awscalls.Expect(t, name+": the digest of settings that could not be read", DigestOf(l), w.Digest)
		l.Assumed[handle], l.Deep = false, false
		awscalls.Expect(t, name+": the digest of another look", DigestOf(l), w.Digest)
		l.FirewallMissing = true
		awscalls.Expect(t, name+": the digest without a firewall", DigestOf(l), "")
		l.FirewallMissing, l.Deep = false, true
		delete(tags, client.TagDigest)
		awscalls.Expect(t, name+": the digest of one that was not written to the end", DigestOf(l), "")
	}
	awscalls.Expect(t, "the list", writtenOf(routing.Settings{
		Subnets: []string{"a"}, IPFamily: "ipv4", SecurityGroups: []string{"sg-1"}, Attributes: map[string]string{"z.a": "b", "a.b": "c"},
	}), []string{"a.b", "ip-family", "security-groups", "subnets", "z.a"})
}

// Subnets that the class names are not chosen.
func TestTheSubnetsOfANewLoadBalancer(t *testing.T) {
	awscalls.Expect(t, "nothing is written", writtenOf(routing.Settings{}), nil)
	for _, c := range []struct{ named, want []string }{{nil, []string{"subnet-a", "subnet-b"}}, {[]string{"subnet-c"}, []string{"subnet-c"}}} {
		c2 := newTrial()
		got, err := c2.subnetsFor(t.Context(), wanted(func(s *routing.Settings) { s.Subnets = c.named }))
		awscalls.ExpectError(t, "choosing", err, nil)
		awscalls.Expect(t, "subnets", got, c.want)
		awscalls.Expect(t, "they are read", len(c2.aws.Calls()) > 0, c.named == nil)
	}
}

// A tag of the class counts where the firewall has it, too.
func TestTagsThroughout(t *testing.T) {
	tags := map[string]string{"team": "web", "cost": "1", "empty": ""}
	for name, c := range map[string]struct {
		firewall string
		of       map[string]string
		want     map[string]string
	}{
		"no firewall":   {"", nil, tags},
		"the same tags": {"sg-1", tags, tags},
		"one differs":   {"sg-1", map[string]string{"team": "api", "cost": "1", "empty": ""}, map[string]string{"cost": "1", "empty": ""}},
		"none":          {"sg-1", nil, nil},
	} {
		awscalls.Expect(t, name, tagsThroughout(&look.Look{Firewall: c.firewall, FirewallTags: c.of}, tags), c.want)
	}
}

// Deletion protection that a class asked for is taken off first. AWS keeps a protection of Shield.
func TestALoadBalancerIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		protected string
		shield    string
		refuse    map[string]error
		calls     []string
		class     error
		noted     bool
	}{
		"plainly":              {calls: []string{"DeleteLoadBalancer"}},
		"by its class":         {protected: lb.ByClass, calls: []string{"ModifyLoadBalancerAttributes", "DeleteLoadBalancer"}},
		"by others":            {protected: lb.ByOthers, refuse: map[string]error{"DeleteLoadBalancer": awscalls.Refused("OperationNotPermitted", "no")}, calls: []string{"DeleteLoadBalancer"}, class: providers.ErrRejected, noted: true},
		"taking off is denied": {protected: lb.ByClass, refuse: map[string]error{"ModifyLoadBalancerAttributes": denied}, calls: []string{"ModifyLoadBalancerAttributes"}, class: providers.ErrDenied},
		"with a shield":        {shield: lb.ShieldOn, calls: []string{"DescribeProtection", "DeleteLoadBalancer"}},
		"the shield is denied": {shield: lb.ShieldOn, refuse: map[string]error{"DescribeProtection": denied}, calls: []string{"DescribeProtection"}, class: providers.ErrDenied},
		"without a shield":     {shield: lb.ShieldOff, calls: []string{"DeleteLoadBalancer"}},
		"denied":               {refuse: map[string]error{"DeleteLoadBalancer": denied}, calls: []string{"DeleteLoadBalancer"}, class: providers.ErrDenied},
	} {
		c2 := newTrial()
		if c.refuse != nil {
			c2.refuse = c.refuse
		}
		seen := &lb.Observed{Key: key, Handle: handle, Protected: c.protected, Protection: lb.Protection{Shield: c.shield}}
		awscalls.ExpectError(t, name, c2.Delete(t.Context(), seen), c.class)
		awscalls.Expect(t, name, c2.aws.Calls(), c.calls)
		awscalls.Expect(t, name+": it is noted", c2.undeletable[handle], c.noted)
	}
}

// Deletion protection is read where the class asked for it once, or AWS refused to delete it.
func TestDeletionProtection(t *testing.T) {
	for name, c := range map[string]struct {
		ours, refused bool
		value         string
		err           error
		want          string
		read          bool
		class         error
	}{
		"neither":              {false, false, "true", nil, "", false, nil},
		"ours":                 {true, false, "true", nil, lb.ByClass, true, nil},
		"ours, taken off":      {true, false, "false", nil, "", true, nil},
		"ours and refused":     {true, true, "true", nil, lb.ByClass, true, nil},
		"theirs":               {false, true, "true", nil, lb.ByOthers, true, nil},
		"theirs, taken off":    {false, true, "false", nil, "", true, nil},
		"ours, not readable":   {true, false, "true", denied, lb.ByClass, true, providers.ErrDenied},
		"theirs, not readable": {false, true, "true", denied, lb.ByOthers, true, providers.ErrDenied},
	} {
		c2 := newTrial()
		c2.undeletable[handle], c2.refuse["DescribeLoadBalancerAttributes"] = c.refused, c.err
		c2.attributes[lb.DeletionProtection], c2.attributes["other"] = c.value, "true"
		tags := map[string]string{}
		if c.ours {
			tags[client.TagWrittenList] = lb.DeletionProtection
		}
		l := &look.Look{Balancer: loadBalancer("active"), Tags: map[string]map[string]string{handle: tags}}
		awscalls.ExpectError(t, name, c2.ObserveProtection(t.Context(), l, nil), c.class)
		awscalls.Expect(t, name, l.Protected, c.want)
		awscalls.Expect(t, name+": it is read", len(c2.aws.Calls()) > 0, c.read)
	}
	awscalls.ExpectError(t, "no load balancer", newTrial().ObserveProtection(t.Context(), &look.Look{}, nil), nil)
}

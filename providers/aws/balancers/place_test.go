package balancers

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file finds load balancers, and places for them.

func TestPlaces(t *testing.T) {
	internal := lb.Network{Key: key, Scheme: "internal"}
	withGroups := internal
	withGroups.SecurityGroups = []string{"one"}
	missing := internal
	missing.SecurityGroups = []string{"two"}
	standing := []string{"subnet-a", "subnet-b"}
	for name, c := range map[string]struct {
		network       lb.Network
		there         bool
		none          bool // of the VPC's subnets
		refuse        map[string]error
		subnets       []string
		groups        []string
		unmet, stale  int
		class         error
		kept, sighted bool
	}{
		"no load balancer yet":      {network: internal, subnets: standing, kept: true, sighted: true},
		"one that is there":         {network: internal, there: true, subnets: standing, kept: true, sighted: true},
		"with security groups":      {network: withGroups, subnets: standing, groups: []string{"sg-1"}, kept: true, sighted: true},
		"groups that are not there": {network: missing, subnets: standing, unmet: 1, sighted: true},
		"groups that are denied":    {network: withGroups, refuse: map[string]error{"DescribeSecurityGroups": denied}, class: providers.ErrDenied, sighted: true},
		"no subnets":                {network: internal, none: true, unmet: 1, sighted: true},
		"no subnets any more":       {network: internal, there: true, none: true, subnets: standing, unmet: 1, sighted: true},
		"subnets denied":            {network: internal, refuse: map[string]error{"DescribeSubnets": denied}, class: providers.ErrDenied, sighted: true},
		"subnets denied, there":     {network: internal, there: true, refuse: map[string]error{"DescribeSubnets": denied}, subnets: standing, stale: 1, sighted: true},
		"both denied":               {network: withGroups, there: true, refuse: map[string]error{"DescribeSubnets": denied}, class: providers.ErrDenied, sighted: true},
		"reading is denied":         {network: internal, refuse: map[string]error{"DescribeLoadBalancers": denied}, class: providers.ErrDenied},
		"none asked for":            {network: lb.Network{}},
	} {
		t.Run(name, func(t *testing.T) {
			c2 := newTrial()
			if c.there {
				c2.owned(key, nil)
			}
			if c.none {
				c2.subnets = nil
			}
			if c.refuse != nil {
				c2.refuse = c.refuse
			}
			var facts lb.Facts
			awscalls.ExpectError(t, "finding a place", c2.Place(t.Context(), c.network, &facts), c.class)
			awscalls.Expect(t, "subnets", facts.Subnets, c.subnets)
			awscalls.Expect(t, "groups", facts.SecurityGroups, c.groups)
			awscalls.Expect(t, "unmet and stale", []int{len(facts.Unmet), len(facts.Stale)}, []int{c.unmet, c.stale})
			c2.aws.Calls()
			_, _, err := c2.FindByKey(t.Context(), key)
			awscalls.Expect(t, "it is read again", len(c2.aws.Calls()) == 0, c.sighted)
			awscalls.Expect(t, "finding fails", err != nil, c.refuse["DescribeLoadBalancers"] != nil)
			var again lb.Facts
			_ = c2.Place(t.Context(), c.network, &again)
			awscalls.Expect(t, "the place is known", len(c2.aws.Calls()) == 0, c.kept || c.network.Key == "")
			awscalls.Expect(t, "the place", []any{again.Subnets, again.SecurityGroups}, []any{c.subnets, c.groups})
		})
	}
}

// A place is known for the same network, until it is forgotten.
func TestHowLongAPlaceIsKnown(t *testing.T) {
	c := newTrial()
	place := func(about string, n lb.Network, known bool) {
		t.Helper()
		c.aws.Calls()
		awscalls.ExpectError(t, about, c.Place(t.Context(), n, &lb.Facts{}), nil)
		awscalls.Expect(t, about, len(c.aws.Calls()) == 0, known)
	}
	n := lb.Network{Key: key, Scheme: "internal"}
	place("first", n, false)
	place("again", n, true)
	n.Subnets = []string{"subnet-a"}
	place("in other subnets", n, false)
	c.ForgetPlace(key)
	place("after it was forgotten", n, false)
}

// A name that a class gives may be taken. One that Fairlead derives is not checked.
func TestNamesThatAreTaken(t *testing.T) {
	if named.Name() == "" || key.Name() != "" {
		t.Fatalf("%s has the name %q, and %s %q", named, named.Name(), key, key.Name())
	}
	for name, c := range map[string]struct {
		key   lb.Key
		tags  map[string]string
		err   error
		taken string
		there bool
		class error
	}{
		"ours":              {named, newTrial().Owned(named, nil), nil, "", true, nil},
		"of another key":    {named, newTrial().Owned(key, nil), nil, "fairlead/shop/web/internal has the name", false, nil},
		"somebody else's":   {named, nil, nil, "a load balancer without this installation's tags has the name", false, nil},
		"a derived name":    {key, nil, nil, "", true, nil},
		"tags are denied":   {named, nil, denied, "", false, providers.ErrDenied},
		"tags are not read": {key, nil, denied, "", true, nil},
	} {
		c2 := newTrial()
		c2.there, c2.tags, c2.refuse["DescribeTags"] = loadBalancer(elb.LoadBalancerStateEnumActive), c.tags, c.err
		there, taken, err := c2.ReadByKey(t.Context(), c.key)
		awscalls.ExpectError(t, name, err, c.class)
		awscalls.Expect(t, name+": it is there", there != nil, c.there)
		awscalls.Expect(t, name+": it is taken", []any{strings.Contains(taken, c.taken), taken == ""}, []any{true, c.taken == ""})
		if c.class != nil {
			continue
		}
		var facts lb.Facts
		awscalls.ExpectError(t, name, c2.Place(t.Context(), lb.Network{Key: c.key, Scheme: "internal"}, &facts), nil)
		awscalls.Expect(t, name+": it has no place", []any{facts.NameTaken, facts.Subnets == nil}, []any{taken, taken != ""})
		_, another, err := c2.FindByKey(t.Context(), c.key)
		awscalls.ExpectError(t, name, err, nil)
		awscalls.Expect(t, name+": another has the name, as was seen", another, taken != "")
		_, another, err = c2.FindByKey(t.Context(), c.key)
		awscalls.ExpectError(t, name, err, nil)
		awscalls.Expect(t, name+": another has the name, as is read", another, taken != "")
	}
	c := newTrial()
	there, taken, err := c.ReadByKey(t.Context(), named)
	awscalls.ExpectError(t, "none", err, nil)
	awscalls.Expect(t, "none is there", []any{there == nil, taken}, []any{true, ""})
	c.refuse["DescribeLoadBalancers"] = denied
	_, _, err = c.ReadByKey(t.Context(), named)
	awscalls.ExpectError(t, "denied", err, providers.ErrDenied)
}

// What a look-up has seen is used once, a moment later.
func TestWhatWasSeenIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		find := func(about string, read bool) {
			t.Helper()
			c.aws.Calls()
			_, _, err := c.FindByKey(t.Context(), key)
			awscalls.ExpectError(t, about, err, nil)
			awscalls.Expect(t, about+": it is read", len(c.aws.Calls()) > 0, read)
		}
		find("nothing was seen", true)
		c.addRecentRead(key, nil, false)
		find("at once", false)
		find("a second time", true)
		c.addRecentRead(key, nil, false)
		time.Sleep(recentReadLife - 1)
		find("soon", false)
		c.addRecentRead(key, nil, false)
		time.Sleep(recentReadLife)
		find("late", true)
		c.addRecentRead(key, nil, false)
		c.ForgetRecentRead(key)
		find("after it was forgotten", true)
		c.addRecentRead(key, nil, false)
		c.addRecentRead(named, loadBalancer(""), false)
		awscalls.Expect(t, "others are gone", c.RemoveRecentReads([]string{"arn:other", ""}), false)
		awscalls.Expect(t, "it is gone", c.RemoveRecentReads([]string{"arn:other", handle}), true)
		awscalls.Expect(t, "kept", len(c.recentReads), 1)
	})
}

// A new load balancer is asked about less and less, until it is active.
func TestTheWaitForALoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTrial()
		seen := &lb.Observed{Handle: handle}
		c.there = loadBalancer(elb.LoadBalancerStateEnumProvisioning)
		await := func(about string, active, asked bool, class error) {
			t.Helper()
			c.aws.Calls()
			got, err := c.AwaitActive(t.Context(), seen)
			awscalls.ExpectError(t, about, err, class)
			awscalls.Expect(t, about, []bool{got, len(c.aws.Calls()) > 0}, []bool{active, asked})
		}
		await("at first", false, true, nil)
		await("at once", false, false, nil)
		time.Sleep(activeWait)
		await("later", false, true, nil)
		time.Sleep(activeWait)
		await("too early", false, false, nil)
		time.Sleep(activeWait / 2)
		c.there = loadBalancer(elb.LoadBalancerStateEnumActive)
		await("active", true, true, nil)
		awscalls.Expect(t, "waits", c.inactive.Len(), 0)
		c.there.State = nil
		await("without a state", false, true, nil)
		time.Sleep(time.Hour)
		seen.Active = true
		await("known to be active", true, false, nil)
		seen.Active = false
		time.Sleep(time.Hour)
		c.refuse["DescribeLoadBalancers"] = denied
		await("denied", false, true, providers.ErrDenied)
		awscalls.On(&c.aws, func(*elbapi.DescribeLoadBalancersInput) (*elbapi.DescribeLoadBalancersOutput, error) {
			return &elbapi.DescribeLoadBalancersOutput{}, nil
		})
		active, err := c.AwaitActive(t.Context(), seen)
		awscalls.Expect(t, "not in the answer", []bool{active, err != nil}, []bool{false, true})
	})
	c := newTrial()
	c.refuse["DescribeLoadBalancers"] = awscalls.Refused("LoadBalancerNotFound", "no")
	_, err := c.readOwned(t.Context(), key)
	awscalls.ExpectError(t, "it is not found", err, providers.ErrPending)
	awscalls.Expect(t, "subnets", SubnetsIn(*loadBalancer("")), []string{"subnet-a", "subnet-b"})
	awscalls.Expect(t, "calls", slices.Contains(c.aws.Calls(), "DescribeTags"), false)
}

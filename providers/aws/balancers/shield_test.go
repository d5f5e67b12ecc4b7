package balancers

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	shieldtypes "github.com/aws/aws-sdk-go-v2/service/shield/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/awscalls"
)

// A subscription that is there is not read again for long, and one that is not, for a moment.
func TestHowLongASubscriptionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		s := a.shields()
		for i, c := range []struct {
			after  time.Duration
			active bool
			refuse error
			why    string
			calls  int
		}{
			{0, false, nil, "no subscription", 1},
			{subscriptionPause, true, nil, "no subscription", 0},
			{1, true, nil, "", 1},
			{subscriptionLife, false, nil, "", 0},
			{1, false, nil, "no subscription", 1},
			{subscriptionPause + 1, true, deniedException, "reading the subscription to Shield Advanced: AccessDenied", 1},
		} {
			time.Sleep(c.after)
			a.active, a.refuse["GetSubscriptionState"] = c.active, c.refuse
			got := s.Unavailable(t.Context())
			if calls := len(a.Calls()); !strings.Contains(got, c.why) || (got == "") != (c.why == "") || calls != c.calls {
				t.Errorf("reading %d takes %d calls: %q, want %q", i, calls, got, c.why)
			}
		}
	})
	a := newAccount()
	a.refuse["GetSubscriptionState"] = deniedException
	if got := a.shields().Unavailable(t.Context()); !strings.Contains(got, "AccessDenied") || len(a.Calls()) != 1 {
		t.Errorf("the first reading is denied: %q", got)
	}
}

// Our protection has our name. One of others stays.
func TestProtectionsAreGivenAndTaken(t *testing.T) {
	ours := &shieldtypes.Protection{Id: aws.String("1"), Name: aws.String(newAccount().shields().nameOf(key))}
	theirs := &shieldtypes.Protection{Id: aws.String("2"), Name: aws.String("theirs")}
	for name, c := range map[string]struct {
		there  *shieldtypes.Protection
		want   string
		refuse map[string]error
		tag    string
		is     *shieldtypes.Protection
		class  error
	}{
		"given":               {nil, lb.ShieldOn, nil, lb.ShieldOn, ours, nil},
		"given before":        {theirs, lb.ShieldOn, map[string]error{"CreateProtection": awscalls.Refused("ResourceAlreadyExistsException", "no")}, lb.ShieldOn, theirs, nil},
		"giving is denied":    {nil, lb.ShieldOn, map[string]error{"CreateProtection": deniedException}, "before", nil, providers.ErrDenied},
		"taken":               {ours, lb.ShieldOff, nil, lb.ShieldOff, nil, nil},
		"no longer asked for": {ours, "", nil, "", nil, nil},
		"theirs":              {theirs, lb.ShieldOff, nil, lb.ShieldOff, theirs, nil},
		"taken before":        {nil, lb.ShieldOff, nil, lb.ShieldOff, nil, nil},
		"taken meanwhile":     {ours, lb.ShieldOff, map[string]error{"DeleteProtection": awscalls.Refused("ResourceNotFoundException", "no")}, lb.ShieldOff, ours, nil},
		"taking is denied":    {ours, lb.ShieldOff, map[string]error{"DeleteProtection": deniedException}, "before", ours, providers.ErrDenied},
		"reading is denied":   {ours, lb.ShieldOff, map[string]error{"DescribeProtection": deniedException}, "before", ours, providers.ErrDenied},
		"tagging is denied":   {nil, lb.ShieldOn, map[string]error{"AddTags": deniedException}, lb.ShieldOn, ours, providers.ErrDenied},
	} {
		a := newAccount()
		a.protection, a.tags[client.TagShield] = c.there, "before"
		if c.refuse != nil {
			a.refuse = c.refuse
		}
		awscalls.ExpectError(t, name, a.shields().Set(t.Context(), seen, c.want), c.class)
		awscalls.Expect(t, name+": the tag", a.tags[client.TagShield], c.tag)
		if (a.protection == nil) != (c.is == nil) || c.is != nil && aws.ToString(a.protection.Name) != aws.ToString(c.is.Name) {
			t.Errorf("%s: the protection is %+v", name, a.protection)
		}
	}
}

// A deep look asks Shield. Without a tag it is not asked.
func TestProtectionsThatAreObserved(t *testing.T) {
	ours := &shieldtypes.Protection{Name: aws.String(newAccount().shields().nameOf(key))}
	theirs := &shieldtypes.Protection{Name: aws.String("theirs")}
	for name, c := range map[string]struct {
		tag   string
		deep  bool
		there *shieldtypes.Protection
		err   error
		want  string
		class error
		calls int
	}{
		"no tag":         {"", true, ours, nil, "", nil, 0},
		"not deep":       {lb.ShieldOn, false, nil, nil, lb.ShieldOn, nil, 0},
		"ours":           {lb.ShieldOff, true, ours, nil, lb.ShieldOn, nil, 1},
		"none":           {lb.ShieldOn, true, nil, nil, lb.ShieldOff, nil, 1},
		"theirs, as off": {lb.ShieldOff, true, theirs, nil, lb.ShieldOff, nil, 1},
		"theirs, as on":  {lb.ShieldOn, true, theirs, nil, lb.ShieldOn, nil, 1},
		"denied":         {lb.ShieldOn, true, ours, deniedException, lb.ShieldOn, providers.ErrDenied, 1},
	} {
		a := newAccount()
		a.protection, a.refuse["DescribeProtection"] = c.there, c.err
		if c.tag != "" {
			a.tags[client.TagShield] = c.tag
		}
		l := a.lookAt(c.deep)
		awscalls.ExpectError(t, name, a.shields().Observe(t.Context(), l, nil), c.class)
		awscalls.Expect(t, name, l.Protection.Shield, c.want)
		awscalls.Expect(t, name+": calls", len(a.Calls()), c.calls)
	}
	a := newAccount()
	awscalls.ExpectError(t, "no load balancer", a.shields().Observe(t.Context(), &look.Look{Deep: true}, nil), nil)
	awscalls.ExpectError(t, "no load balancer", a.webACLs().Observe(t.Context(), &look.Look{Deep: true}, nil), nil)
}

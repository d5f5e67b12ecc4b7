package balancers

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file looks up web ACLs, and attaches them.

// A list is used for an hour for the names in it, and for a minute for others.
func TestWebACLsAreLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		a.pages = [][]string{{"a", "b"}, {"c"}}
		w := a.webACLs()
		for i, c := range []struct {
			after  time.Duration
			asked  []string
			refuse error
			found  []string
			class  error
			calls  int
		}{
			{0, []string{"arn:webacl/x", "a", "c"}, nil, []string{"a", "arn:webacl/x", "c"}, nil, 2},
			{webACLPause, []string{"d"}, nil, nil, nil, 0},
			{1, []string{"d", "a"}, nil, []string{"a"}, nil, 2},
			{webACLLife, []string{"a"}, deniedException, []string{"a"}, nil, 0},
			{1, []string{"a", "d"}, deniedException, []string{"a"}, providers.ErrDenied, 2},
			{0, []string{"d"}, awscalls.Refused("OptInRequired", "no"), nil, nil, 1},
			{0, []string{"a"}, deniedException, nil, nil, 0},
		} {
			time.Sleep(c.after)
			a.refuse["ListWebACLs"] = c.refuse
			got, err := w.LookUp(t.Context(), c.asked)
			awscalls.ExpectError(t, "looking up", err, c.class)
			awscalls.Expect(t, "found", slices.Sorted(maps.Keys(got)), c.found)
			if calls := len(a.Calls()); calls != c.calls {
				t.Errorf("look-up %d takes %d calls, want %d", i, calls, c.calls)
			}
			if slices.Contains(c.found, "a") && got["a"] != "arn:webacl/a" {
				t.Errorf("a is found as %s", got["a"])
			}
		}
	})
	a := newAccount()
	a.pages = [][]string{{}, {"a"}} // AWS WAF may answer with a marker after the last web ACL
	if got, err := a.webACLs().list(t.Context()); err != nil || len(got) != 0 || len(a.Calls()) != 1 {
		t.Errorf("after a page of nothing: %v, %v", got, err)
	}
}

func TestWebACLsAreAttached(t *testing.T) {
	rejected := awscalls.Refused("WAFInvalidParameterException", "no")
	for name, c := range map[string]struct {
		want     string
		there    string
		tag      string // before
		rerouted bool
		refuse   map[string]error
		attached string
		tagged   string
		class    error
		left     bool // left out from now on
	}{
		"one":              {want: acl, attached: acl, tagged: acl},
		"another one":      {want: acl, there: "arn:webacl/theirs", attached: acl, tagged: acl},
		"one, after rules": {want: acl, rerouted: true, attached: acl, tagged: acl},
		"none":             {want: lb.NoWebACL, there: acl, tag: acl, tagged: lb.NoWebACL},
		"none, too early":  {want: lb.NoWebACL, there: acl, tag: acl, rerouted: true, attached: acl, tagged: acl, class: providers.ErrPending},
		"ours no longer":   {there: acl, tag: acl},
		"theirs stays":     {there: "arn:webacl/theirs", tag: acl, attached: "arn:webacl/theirs"},
		"no longer none":   {tag: lb.NoWebACL},
		"too early":        {there: acl, tag: acl, rerouted: true, attached: acl, tagged: acl, class: providers.ErrPending},
		"not known":        {want: lb.Unsettled, there: acl, tag: acl, attached: acl, tagged: acl, class: providers.ErrRejected},
		"denied":           {want: acl, refuse: map[string]error{"AssociateWebACL": deniedException}, class: providers.ErrPending, left: true},
		"rejected":         {want: acl, refuse: map[string]error{"AssociateWebACL": rejected}, class: providers.ErrPending, left: true},
		"throttled":        {want: acl, refuse: map[string]error{"AssociateWebACL": awscalls.Refused("ThrottlingException", "no")}, class: providers.ErrThrottled},
		"not found":        {want: acl, refuse: map[string]error{"AssociateWebACL": awscalls.Refused("WAFNonexistentItemException", "no")}, class: providers.ErrRejected},
		"none is denied":   {want: lb.NoWebACL, there: acl, tag: acl, refuse: map[string]error{"DisassociateWebACL": deniedException}, attached: acl, tagged: acl, class: providers.ErrDenied},
		"tags are denied":  {there: acl, tag: acl, refuse: map[string]error{"DescribeTags": deniedException}, attached: acl, tagged: acl, class: providers.ErrDenied},
		"reading denied":   {there: acl, tag: acl, refuse: map[string]error{"GetWebACLForResource": deniedException}, attached: acl, tagged: acl, class: providers.ErrDenied},
		"taking is denied": {there: acl, tag: acl, refuse: map[string]error{"DisassociateWebACL": deniedException}, attached: acl, tagged: acl, class: providers.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount()
			a.attached, a.rerouted = c.there, c.rerouted
			if c.refuse != nil {
				a.refuse = c.refuse
			}
			if c.tag != "" {
				a.tags[client.TagWebACL] = c.tag
			}
			w := a.webACLs()
			awscalls.ExpectError(t, "attaching", w.Attach(t.Context(), seen, c.want), c.class)
			awscalls.Expect(t, "attached", a.attached, c.attached)
			awscalls.Expect(t, "the tag", a.tags[client.TagWebACL], c.tagged)
			found, why := w.LookUp(t.Context(), []string{acl})
			awscalls.Expect(t, "left out", []bool{found[acl] == "", why != nil}, []bool{c.left, c.left})
			if c.want == lb.NoWebACL {
				awscalls.Expect(t, "left out as one", w.refused.reason(lb.NoWebACL), nil)
			}
		})
	}
}

// An ARN is not looked up, and none is not detached.
func TestCallsThatAreNotNeeded(t *testing.T) {
	a := newAccount()
	a.tags[client.TagWebACL] = lb.NoWebACL
	w := a.webACLs()
	_, err := w.LookUp(t.Context(), []string{acl})
	awscalls.ExpectError(t, "looking up", err, nil)
	awscalls.Expect(t, "calls", a.Calls(), nil)
	awscalls.ExpectError(t, "detaching", w.Attach(t.Context(), seen, ""), nil)
	awscalls.Expect(t, "calls", a.Calls(), []string{"DescribeTags", "GetWebACLForResource", "RemoveTags"})
}

// A web ACL that AWS refused is left out for a while.
func TestHowLongAWebACLIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAccount().webACLs()
		w.refused.add(acl, deniedException)
		w.refused.add("arn:webacl/other", deniedException)
		time.Sleep(refusedFor - 1)
		awscalls.Expect(t, "before", w.refused.reason(acl), deniedException)
		time.Sleep(time.Nanosecond)
		awscalls.Expect(t, "after", w.refused.reason(acl), nil)
		awscalls.Expect(t, "kept", len(w.refused.all), 1)
	})
}

// AWS WAF does not know a new load balancer yet. It is asked again after a wait, which grows until
// it succeeds.
func TestALoadBalancerThatWAFDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount()
		w := a.webACLs()
		unready := awscalls.Refused("WAFUnavailableEntityException", "no")
		for i, c := range []struct {
			after  time.Duration
			refuse error
			asked  bool
			class  error
		}{
			{0, unready, true, providers.ErrPending},
			{unreadyWait - 1, unready, false, providers.ErrPending},
			{1, unready, true, providers.ErrPending},
			{unreadyWait, unready, false, providers.ErrPending},
			{unreadyWait / 2, nil, true, nil},
			{0, unready, true, providers.ErrPending},
			{unreadyWait, nil, true, nil},
		} {
			time.Sleep(c.after)
			a.refuse["AssociateWebACL"] = c.refuse
			awscalls.ExpectError(t, "attaching", w.Attach(t.Context(), seen, acl), c.class)
			if asked := slices.Contains(a.Calls(), "AssociateWebACL"); asked != c.asked {
				t.Errorf("call %d is made: %v", i, asked)
			}
		}
		a.refuse["AssociateWebACL"] = unready
		awscalls.ExpectError(t, "attaching", w.Attach(t.Context(), seen, acl), providers.ErrPending)
		w.Forget(key, handle)
		awscalls.Expect(t, "a load balancer that was deleted is kept", w.unready.Len(), 0)
	})
}

// A deep look asks AWS WAF. Without a tag it is not asked.
func TestWebACLsThatAreObserved(t *testing.T) {
	for name, c := range map[string]struct {
		tag      string
		deep     bool
		attached string
		err      error
		want     string
		class    error
		calls    int
	}{
		"no tag":   {"", true, acl, nil, "", nil, 0},
		"not deep": {acl, false, "", nil, acl, nil, 0},
		"another":  {acl, true, "arn:webacl/theirs", nil, "arn:webacl/theirs", nil, 1},
		"none":     {acl, true, "", nil, lb.NoWebACL, nil, 1},
		"denied":   {acl, true, "", deniedException, acl, providers.ErrDenied, 1},
	} {
		a := newAccount()
		a.attached, a.refuse["GetWebACLForResource"] = c.attached, c.err
		if c.tag != "" {
			a.tags[client.TagWebACL] = c.tag
		}
		l := a.lookAt(c.deep)
		awscalls.ExpectError(t, name, a.webACLs().Observe(t.Context(), l, nil), c.class)
		awscalls.Expect(t, name, l.Protection.WebACL, c.want)
		awscalls.Expect(t, name+": calls", len(a.Calls()), c.calls)
	}
}

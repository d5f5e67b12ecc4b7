package listeners

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
)

// This file stops using resources, and deletes them too early and in time.

const (
	settle = time.Minute

	groupOfDefault = "arn:targetgroup/default"
	groupOfRule    = "arn:targetgroup/rule"
	groupOfBoth    = "arn:targetgroup/both"
	groupUnused    = "arn:targetgroup/unused"
	certificate    = "arn:certificate/used"
	unattached     = "arn:certificate/unused"
	securityGroup  = "sg-1"
	plainListener  = "arn:listener/80"
	secureListener = "arn:listener/443"
)

func forwardTo(groups ...lb.GroupID) lb.Action {
	a := lb.Action{Kind: "forward"}
	for _, g := range groups {
		a.Targets = append(a.Targets, lb.Weighted{Group: g, Weight: 1})
	}
	return a
}

func redirect(scheme, port string) lb.Action {
	return lb.Action{Kind: "redirect", Redirect: &routing.Redirect{Status: 301, Scheme: scheme, Port: port}}
}

// served is a load balancer with a listener for HTTPS and one for HTTP.
func served(redirects ...lb.Action) *lb.Observed {
	o := &lb.Observed{Key: "fairlead/shop/web/internal", Exists: true, Handle: "arn:loadbalancer/app/web/1", Firewall: securityGroup}
	for _, g := range []struct{ id, handle string }{
		{"both", groupOfBoth}, {"default", groupOfDefault}, {"rule", groupOfRule}, {"unused", groupUnused},
	} {
		o.TargetGroups = append(o.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: lb.GroupID(g.id)}, Handle: g.handle})
	}
	o.Certificates = []lb.ObservedCertificate{
		{Certificate: lb.Certificate{ID: "unused"}, Handle: unattached},
		{Certificate: lb.Certificate{ID: "used"}, Handle: certificate},
	}
	plain := lb.ObservedListener{Port: 80, Protocol: routing.HTTP, Handle: plainListener, Default: forwardTo("default")}
	for i, a := range redirects {
		plain.Rules = append(plain.Rules, lb.ObservedRule{Rule: lb.Rule{Action: a}, Priority: i + 1})
	}
	secure := lb.ObservedListener{
		Port: 443, Protocol: routing.HTTPS, Handle: secureListener, Default: forwardTo("both"),
		Certificates: []lb.CertificateID{"of-somebody-else", "used"},
		Rules:        []lb.ObservedRule{{Rule: lb.Rule{Action: forwardTo("rule", "both", "of-somebody-else")}, Priority: 1}},
	}
	o.Listeners = []lb.ObservedListener{plain, secure}
	return o
}

var (
	errInUse = &smithy.GenericAPIError{Code: "ResourceInUse"}
	errLost  = errors.New("connection reset")
)

// A trial deletes a resource. AWS answers with an error; nil for none.
type deletion struct {
	t    *testing.T
	r    *Releases
	seen *lb.Observed
}

func (c deletion) delete(id string, answer error) (called bool, err error) {
	err = c.r.DeleteUnused(c.t.Context(), c.seen, id, func() error { called = true; return answer })
	return called, err
}

// in fails the test unless a resource can be deleted after a time, and not a moment earlier.
func (c deletion) in(wait time.Duration, ids ...string) {
	c.t.Helper()
	if wait > 0 {
		time.Sleep(wait - time.Millisecond)
		for _, id := range ids {
			if called, err := c.delete(id, nil); called || !errors.Is(err, providers.ErrPending) {
				c.t.Errorf("%s is deleted before %s have passed: called %v, %v", id, wait, called, err)
			}
		}
		time.Sleep(time.Millisecond)
	}
	for _, id := range ids {
		if called, err := c.delete(id, nil); !called || err != nil {
			c.t.Errorf("%s is not deleted after %s: called %v, %v", id, wait, called, err)
		}
	}
}

// What a rule, a listener or a detached certificate used can be deleted once AWS has deployed the
// change.
func TestWhatAStepStopsUsingIsDeletedOnceTheChangeIsDeployed(t *testing.T) {
	for name, c := range map[string]struct {
		step  plan.Step
		frees []string
	}{
		"a rule is deleted":          {plan.DeleteRule{Port: 443, Priority: 1}, []string{groupOfRule, groupOfBoth}},
		"a rule leads elsewhere":     {plan.ModifyRule{Port: 443, Priority: 1, Rule: lb.Rule{Action: forwardTo("both")}}, []string{groupOfRule}},
		"a listener is deleted":      {plan.DeleteListener{Port: 443}, []string{groupOfRule, groupOfBoth, certificate}},
		"another one is deleted":     {plan.DeleteListener{Port: 80}, []string{groupOfDefault}},
		"a certificate is detached":  {plan.DetachCertificate{Port: 443, Certificate: "used"}, []string{certificate}},
		"a default is another group": {plan.ModifyListener{Listener: lb.Listener{Port: 80, Default: forwardTo("both")}}, []string{groupOfDefault}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReleases(settle)
				r.ReleaseUnused(served(), c.step)
				deletion{t, r, served()}.in(settle, c.frees...)
			})
		})
	}
}

// A step leaves the waits alone of what it uses as before.
func TestAStepDelaysNothingThatItUsesAsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReleases(settle)
		r.ReleaseUnused(served(), plan.DeleteRule{Port: 443, Priority: 1})
		time.Sleep(settle)
		after := served()
		after.Listeners[1].Rules = nil
		r.ReleaseUnused(after, plan.DeleteListener{Port: 80})
		deletion{t, r, after}.in(0, groupOfRule)
	})
}

// After a load balancer was deleted, what it and its rules used can be deleted soon, also what its
// rules stopped using a moment before, and what they never used.
func TestADeletedLoadBalancerFreesAllOfItSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReleases(settle)
		seen := served()
		r.ReleaseUnused(seen, plan.DeleteRule{Port: 443, Priority: 1})
		plan.DeleteRule{Port: 443, Priority: 1}.Do(seen, plan.Result{})
		r.ReleaseUnused(seen, plan.DeleteLoadBalancer{Key: seen.Key})
		deletion{t, r, served()}.in(afterBalancer,
			groupOfDefault, groupOfRule, groupOfBoth, groupUnused, certificate, unattached, securityGroup)
	})
}

// Where changes are deployed quickly, nothing waits for longer after a load balancer was deleted.
func TestNothingWaitsLongerThanTheSettleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReleases(time.Second)
		r.ReleaseUnused(served(), plan.DeleteLoadBalancer{Key: "fairlead/shop/web/internal"})
		deletion{t, r, served()}.in(time.Second, groupOfDefault)
	})
}

// A security group of which the load balancer is gone is not waited for.
func TestASecurityGroupWithoutALoadBalancerIsDeletedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReleases(settle)
		gone := &lb.Observed{Key: "fairlead/shop/web/internal", Firewall: securityGroup}
		r.ReleaseUnused(gone, plan.DeleteFirewall{Key: gone.Key})
		deletion{t, r, gone}.in(0, securityGroup)
	})
}

// What another process stopped using counts as released now where the load balancer exists. Where
// it is gone, its resources are deleted at once.
func TestWhatAnotherProcessReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := deletion{t, NewReleases(settle), served()}
		for _, id := range []string{groupOfRule, groupOfBoth} {
			if called, err := c.delete(id, nil); called || !errors.Is(err, providers.ErrPending) {
				t.Errorf("%s is deleted at once: %v", id, err)
			}
		}
		c.in(settle, groupOfRule, groupOfBoth)

		gone := deletion{t, NewReleases(settle), &lb.Observed{Key: "fairlead/shop/web/internal"}}
		gone.in(0, groupOfRule, groupOfBoth)
	})
}

// Where AWS says that a resource is in use, it and others of its kind are tried again a while later.
// Other errors delay nothing.
func TestARefusedDeletionIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		waits  bool
	}{
		"in use":          {errInUse, true},
		"in use, of EC2":  {&smithy.GenericAPIError{Code: "InvalidGroup.InUse"}, true},
		"depended on":     {&smithy.GenericAPIError{Code: "DependencyViolation"}, true},
		"not found yet":   {providers.ErrPending, true},
		"no answer":       {errLost, false},
		"another refusal": {&smithy.GenericAPIError{Code: "AccessDenied"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReleases(settle)
				r.ReleaseUnused(served(), plan.DeleteRule{Port: 443, Priority: 1})
				time.Sleep(settle)
				d := deletion{t, r, served()}
				if called, err := d.delete(groupOfRule, c.answer); !called || !errors.Is(err, c.answer) {
					t.Errorf("called %v, %v", called, err)
				}
				wait := time.Duration(0)
				if c.waits {
					wait = afterRefusal
				}
				d.in(wait, groupOfRule, groupOfBoth)
			})
		})
	}
}

// A resource that was deleted is forgotten: one of the same handle is another one.
func TestADeletedResourceIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReleases(settle)
		r.ReleaseUnused(served(), plan.DeleteRule{Port: 443, Priority: 1})
		c := deletion{t, r, served()}
		c.in(settle, groupOfRule)
		if called, err := c.delete(groupOfRule, nil); called || !errors.Is(err, providers.ErrPending) {
			t.Errorf("another one is deleted at once: %v", err)
		}
	})
}

// A port to which rules redirected stays open while they may still be deployed. It is closed at once
// where none did, and where the load balancer is gone.
func TestAPortStaysOpenWhileClientsMayBeRedirectedToIt(t *testing.T) {
	toSecure := redirect("https", "")
	loop := served()
	loop.Listeners[0].Default = toSecure
	for name, c := range map[string]struct {
		seen  *lb.Observed
		steps []plan.Step
		stays bool
	}{
		"a rule that redirects there is deleted":   {served(toSecure), []plan.Step{plan.DeleteRule{Port: 80, Priority: 1}}, true},
		"a rule that redirects there is changed":   {served(toSecure), []plan.Step{plan.ModifyRule{Port: 80, Priority: 1, Rule: lb.Rule{Action: forwardTo("both")}}}, true},
		"the default that redirects there changes": {loop, []plan.Step{plan.ModifyListener{Listener: lb.Listener{Port: 80, Default: forwardTo("both")}}}, true},
		"the port that redirects there is closed":  {served(toSecure), []plan.Step{plan.DeleteListener{Port: 80}}, true},
		"a rule takes requests before the redirect": {served(toSecure), []plan.Step{
			plan.CreateRule{Port: 80, Priority: 5, Rule: lb.Rule{Action: forwardTo("both")}},
		}, true},
		"the redirect is the last of several rules":    {served(forwardTo("both"), redirect("http", "8080"), toSecure), []plan.Step{plan.DeleteRule{Port: 80, Priority: 3}}, true},
		"no rule redirects":                            {served(), []plan.Step{plan.DeleteRule{Port: 443, Priority: 1}}, false},
		"a rule redirects to a port that is not there": {served(redirect("https", "8443")), []plan.Step{plan.DeleteRule{Port: 80, Priority: 1}}, false},
		"a step takes no request away":                 {served(toSecure), []plan.Step{plan.CreateTargetGroup{}, plan.DetachCertificate{Port: 443, Certificate: "used"}}, false},
		"the load balancer is deleted": {served(toSecure), []plan.Step{
			plan.DeleteRule{Port: 80, Priority: 1}, plan.DeleteLoadBalancer{Key: "fairlead/shop/web/internal"},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReleases(settle)
				for _, s := range c.steps {
					r.ReleaseUnused(c.seen, s)
				}
				closed := func() (called bool) {
					err := r.DeleteListener(t.Context(), secureListener, func() error { called = true; return nil })
					if called == errors.Is(err, providers.ErrPending) {
						t.Errorf("called %v, %v", called, err)
					}
					return called
				}
				if c.stays {
					time.Sleep(settle - time.Millisecond)
					if closed() {
						t.Error("it is closed although clients may be redirected to it")
					}
					time.Sleep(time.Millisecond)
				}
				if !closed() {
					t.Error("it is not closed")
				}
			})
		})
	}
}

// While deleted rules may still answer, a load balancer with a web ACL counts as rerouted.
func TestALoadBalancerIsReroutedUntilItsRulesAreDeployed(t *testing.T) {
	for name, c := range map[string]struct {
		acl      string
		step     plan.Step
		rerouted bool
	}{
		"a rule is deleted":     {"acl", plan.DeleteRule{Port: 443, Priority: 1}, true},
		"a rule is changed":     {"acl", plan.ModifyRule{Port: 443, Priority: 1}, true},
		"a listener is closed":  {"acl", plan.DeleteListener{Port: 443}, true},
		"a listener is changed": {"acl", plan.ModifyListener{Listener: lb.Listener{Port: 443}}, true},
		"a rule is added":       {"acl", plan.CreateRule{Port: 443, Priority: 2}, false},
		"there is no web ACL":   {"", plan.DeleteRule{Port: 443, Priority: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReleases(settle)
				seen := served()
				seen.Protection.WebACL = c.acl
				for range 3 { // each change is waited for as long
					r.ReleaseUnused(seen, c.step)
					time.Sleep(settle - time.Millisecond)
					if got := r.ReroutedLately(seen.Handle); got != c.rerouted {
						t.Errorf("before it is deployed: %v, want %v", got, c.rerouted)
					}
					time.Sleep(time.Millisecond)
					if r.ReroutedLately(seen.Handle) {
						t.Error("once it is deployed, it still counts as rerouted")
					}
				}
			})
		})
	}
}

func TestRulesOfALoadBalancerThatIsGoneAreForgotten(t *testing.T) {
	r := NewReleases(time.Minute)
	for _, arn := range []string{"arn:one", "arn:other"} {
		r.rerouted.Wait(arn, time.Minute, time.Minute)
	}
	r.Forget("key", "arn:one")
	if r.ReroutedLately("arn:one") || !r.ReroutedLately("arn:other") || r.rerouted.Len() != 1 {
		t.Errorf("of two load balancers, one of them deleted, %d are remembered", r.rerouted.Len())
	}
}

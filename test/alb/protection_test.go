package alb

import (
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file puts web ACLs and shields before load balancers. What asks for a web ACL is never
// served without one, from the first call to the last.

// ask is an annotation of an Ingress from now on, or none any more for "".
func (w *world) ask(name, annotation, value string) {
	w.Helper()
	w.change(name, func(ing *networkingv1.Ingress) {
		delete(ing.Annotations, "fairlead.dev/"+annotation)
		if value != "" {
			ing.Annotations["fairlead.dev/"+annotation] = value
		}
	})
}

// request asks for the front page of an Ingress.
func (w *world) request(name string) albsim.Answer {
	if w.seen == nil {
		return albsim.Answer{Refused: true}
	}
	return w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 80, Host: name + ".example.com", Path: "/"}, matching.Reading{})
}

// watched looks after every call that nobody gets to an Ingress past its web ACL.
func (w *world) watched(names ...string) {
	w.sim.Watch(func(c albsim.Call) {
		for _, name := range names {
			if a := w.request(name); len(a.Forward) > 0 && a.WebACL == "" {
				w.Errorf("after %s requests get to %s without a web ACL", c, name)
			}
		}
	})
}

// about are the diagnostics of a reason, as the compiler has them now.
func (w *world) about(reason diag.Reason) []diag.Diagnostic {
	w.Helper()
	_, built, err := w.reconcile()
	if err != nil && !onlyPending(err) {
		w.Fatal(err)
	}
	return slices.DeleteFunc(built.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason != reason })
}

// forgotten is how long it takes until what was not there is looked for again.
const forgotten = time.Minute + time.Second

// propagated lets what was changed be deployed.
func (w *world) propagated() {
	w.Helper()
	w.settle()
	time.Sleep(time.Minute)
}

func TestAWebACLStandsBeforeWhatAsksForIt(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		edge, other := w.sim.AddWebACL("edge"), w.sim.AddWebACL("other")
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "wafv2-acl", "edge")
		w.watched("site")
		for _, c := range []struct {
			what string
			do   func()
			want string
		}{
			{"by its name", func() {}, edge},
			{"another one by its ARN", func() { w.ask("site", "wafv2-acl", other) }, other},
			{"one more Ingress that does not care", func() { w.serve("more", map[string]string{"/": "web"}) }, other},
			{"one that asks for none, which gives way", func() { w.ask("more", "wafv2-acl", "none") }, other},
			{"nobody asks for one any more", func() { w.remove("site") }, ""},
			{"nobody says anything", func() { w.ask("more", "wafv2-acl", "") }, ""},
			{"a new Ingress asks for one", func() { w.serve("site", map[string]string{"/": "web"}); w.ask("site", "wafv2-acl", "edge") }, edge},
			{"it stays, and does not say any more", func() { w.sim.Watch(nil); w.ask("site", "wafv2-acl", "") }, ""},
			{"the class says", func() { w.class(func(s *spec) { s.WAFv2ACL = "edge" }) }, edge},
			{"the class says none", func() { w.class(func(s *spec) { s.WAFv2ACL = "none" }) }, ""},
		} {
			c.do()
			w.propagated()
			for _, ing := range w.Ingresses {
				if a := w.request(ing.Name); len(a.Forward) == 0 || a.WebACL != c.want {
					t.Errorf("%s: %s is answered %+v; want it behind %q", c.what, ing.Name, a, c.want)
				}
			}
			w.rests(c.what)
		}
	})
}

func TestOneWebACLHoldsForAllMembers(t *testing.T) {
	inWorld(t, func(w *world) {
		edge := w.sim.AddWebACL("edge")
		w.sim.AddWebACL("other")
		w.ask("site", "wafv2-acl", "none")
		w.serve("second", map[string]string{"/": "web"})
		w.ask("second", "wafv2-acl", "edge")
		w.serve("third", map[string]string{"/": "web"})
		w.ask("third", "wafv2-acl", "other")
		w.settle()
		if a := w.request("second"); len(a.Forward) == 0 || a.WebACL != edge {
			t.Errorf("%+v: want the web ACL of the oldest that names one", a)
		}
		if a := w.request("third"); len(a.Forward) > 0 {
			t.Errorf("%+v: it is served behind a web ACL that it does not ask for", a)
		}
		told := slices.Concat(w.about(diag.SettingConflict), w.about(diag.WebACLDiffers))
		if len(told) != 2 || told[0].Source.Name != "site" || told[1].Source.Name != "third" || !strings.Contains(told[0].Message, "shop/second decides: edge") {
			t.Errorf("told: %v", told)
		}
	})
}

func TestNothingIsServedWithoutAWebACLThatIsNotThere(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("web", 1)
		w.serve("open", map[string]string{"/": "web"})
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "wafv2-acl", "edge")
		w.watched("site")
		w.propagated()
		if told := w.about(diag.WebACLMissing); len(told) != 1 || told[0].Severity != diag.Error || told[0].Source.Name != "site" {
			t.Errorf("told: %v", told)
		}
		if a := w.request("open"); len(a.Forward) == 0 {
			t.Error("a neighbour is not served for it")
		}

		edge := w.sim.AddWebACL("edge")
		time.Sleep(forgotten)
		w.propagated()
		if a := w.request("site"); len(a.Forward) == 0 || a.WebACL != edge {
			t.Errorf("once it is there: %+v", a)
		}

		w.ask("site", "wafv2-acl", "edgy") // a change that is not accepted, so that the last one is served
		w.propagated()
		if a := w.request("site"); len(a.Forward) == 0 || a.WebACL != edge {
			t.Errorf("once another is asked for, which is not there: %+v", a)
		}
		if told := w.about(diag.WebACLMissing); len(told) != 1 || !strings.Contains(told[0].Message, "edgy") {
			t.Errorf("told: %v", told)
		}
	})
}

// Where there is no AWS WAF, the Ingress that asks for a web ACL is told so, and the others are
// served.
func TestWhereThereIsNoWAF(t *testing.T) {
	o := usual()
	o.Refuse = func(in any) error {
		if _, lists := in.(*wafv2.ListWebACLsInput); lists {
			return albsim.Refusal("OptInRequired", "The AWS Access Key Id needs a subscription for the service")
		}
		return nil
	}
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		w.serve("open", map[string]string{"/": "web"})
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "wafv2-acl", "edge")
		w.watched("site")
		w.propagated()
		if told := w.about(diag.WebACLMissing); len(told) != 1 || told[0].Source.Name != "site" {
			t.Errorf("told: %v", told)
		}
		if a := w.request("open"); len(a.Forward) == 0 {
			t.Error("a neighbour is not served for it")
		}
	})
}

func TestWhatIsServedStaysWhenItsWebACLGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		edge := w.sim.AddWebACL("edge")
		w.ask("site", "wafv2-acl", "edge")
		w.settle()
		records := w.Records
		api := wafv2.NewFromConfig(w.sim.OwnersConfig())
		if _, err := api.DisassociateWebACL(w.Context(), &wafv2.DisassociateWebACLInput{ResourceArn: sdk.String(w.seen.Handle)}); err != nil {
			t.Fatal(err)
		}
		if err := w.sim.RemoveWebACL(edge); err != nil {
			t.Fatal(err)
		}
		w.restart()
		w.settle()
		if a := w.request("site"); len(a.Forward) == 0 {
			t.Errorf("%+v: it was served", a)
		}
		if told := w.about(diag.WebACLMissing); len(told) != 1 || told[0].Severity != diag.Warning {
			t.Errorf("told: %v", told)
		}

		// A load balancer that is made anew has nothing that could stay.
		w.Ingresses, w.Records = nil, nil
		w.settle()
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "wafv2-acl", "edge")
		w.Records = records
		if err := w.rest(); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("error %v", err)
		}
		if a := w.request("site"); !a.Refused {
			t.Errorf("%+v: it is served without its web ACL", a)
		}
	})
}

func TestAWebACLOfSomebodyElseStays(t *testing.T) {
	inWorld(t, func(w *world) {
		theirs := w.sim.AddWebACL("theirs")
		w.sim.AddWebACL("ours")
		w.settle()
		api := wafv2.NewFromConfig(w.sim.OwnersConfig())
		put := func() {
			if _, err := api.AssociateWebACL(w.Context(), &wafv2.AssociateWebACLInput{ResourceArn: sdk.String(w.seen.Handle), WebACLArn: sdk.String(theirs)}); err != nil {
				t.Fatal(err)
			}
		}
		put()
		w.sim.Forget()
		w.restart()
		w.look(true)
		w.settle()
		for _, c := range w.sim.Calls() {
			if c.Service == "wafv2" || c.Service == "shield" {
				t.Errorf("%s, though nobody asks for it", c)
			}
		}
		w.ask("site", "wafv2-acl", "ours")
		w.settle()
		put()
		if todo := w.look(true); len(todo.Steps) != 1 {
			t.Errorf("a deep look finds %v", todo.Print())
		}
		w.ask("site", "wafv2-acl", "")
		w.settle()
		if a := w.request("site"); a.WebACL != theirs {
			t.Errorf("behind %q; want what somebody else put there since", a.WebACL)
		}
		w.rests("it was let go of")
	})
}

func TestAShield(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.sim.Subscribe(false)
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.ask("site", "shield-advanced", "true")
		w.propagated()
		if told := w.about(diag.NoShield); len(told) != 1 || !strings.Contains(told[0].Message, "no subscription") || len(w.request("site").Forward) == 0 {
			t.Errorf("without a subscription it is told %v and answered %+v", told, w.request("site"))
		}
		w.sim.Subscribe(true)
		time.Sleep(forgotten)
		for _, c := range []struct {
			what, asked string
			shields     int
		}{{"once there is one", "true", 1}, {"none is wanted", "false", 0}, {"it is", "true", 1}, {"nobody says", "", 0}, {"again", "true", 1}} {
			w.ask("site", "shield-advanced", c.asked)
			w.settle()
			if n := len(w.sim.Shields()); n != c.shields {
				t.Errorf("%s: %d shields; want %d", c.what, n, c.shields)
			}
			w.rests(c.what)
		}

		w.sim.Subscribe(false) // lapsed: what there is stays
		w.restart()
		w.settle()
		if n := len(w.sim.Shields()); n != 1 {
			t.Errorf("without a subscription any more: %d shields", n)
		}
		w.Ingresses = nil
		w.settle()
		if left := w.sim.Inventory(); left["protections"]+left["load balancers"] > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestAShieldOfSomebodyElseStays(t *testing.T) {
	inWorld(t, func(w *world) {
		w.settle()
		api := shield.NewFromConfig(w.sim.OwnersConfig())
		if _, err := api.CreateProtection(w.Context(), &shield.CreateProtectionInput{Name: sdk.String("theirs"), ResourceArn: sdk.String(w.seen.Handle)}); err != nil {
			t.Fatal(err)
		}
		for _, asked := range []string{"true", "false", ""} {
			w.ask("site", "shield-advanced", asked)
			w.settle()
			if got := w.sim.Shields(); len(got) != 1 {
				t.Errorf("where %q is asked for, the shields are %v", asked, got)
			}
			w.rests("asking for " + asked)
		}
	})
}

package adopt_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/tables"
)

// taken returns a found load balancer as the cloud shows it after a takeover. Of several target groups that become one, it
// shows one.
func taken(f *lb.Other, t lb.Takeover) *lb.Observed {
	out := f.Observed
	out.Key, out.Digest, out.Active, out.Firewall = t.Want.Key, t.Want.Digest, true, t.Firewall
	named := func(a lb.Action) lb.Action {
		a.Targets = slices.Clone(a.Targets)
		for i, to := range a.Targets {
			if id := t.Groups[string(to.Group)]; id != "" {
				a.Targets[i].Group = id
			}
		}
		return a
	}
	out.TargetGroups = nil
	for _, g := range f.TargetGroups {
		if t.Groups[g.Handle] == "" {
			continue // it is not ours
		}
		g.ID, g.Registered, g.Ready = t.Groups[g.Handle], true, true
		if out.TargetGroup(g.ID) == nil {
			want := slices.IndexFunc(t.Want.TargetGroups, func(w lb.TargetGroup) bool { return w.ID == g.ID })
			g.Digest = t.Want.TargetGroups[want].Digest
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	out.Listeners = slices.Clone(out.Listeners)
	for i := range out.Listeners {
		l := &out.Listeners[i]
		l.Others = t.Stay[l.Handle]
		l.Shape, l.Default, l.Rules = t.Shapes[l.Port], named(l.Default), slices.Clone(l.Rules)
		at := slices.IndexFunc(t.Want.Listeners, func(w lb.Listener) bool { return w.Port == l.Port })
		if at >= 0 {
			l.Digest = t.Want.Listeners[at].Digest
		}
		for k := range l.Rules {
			l.Rules[k].Action = named(l.Rules[k].Action)
		}
	}
	return &out
}

// TestATakeoverLeavesNothingToDo: rules of others that give the wanted answers need no step, whatever their order and
// number, and a change of one answer does.
func TestATakeoverLeavesNothingToDo(t *testing.T) {
	s := draw(t)
	moved := 0
	for n := range *rounds {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(s, uint64(n)))}
		c := []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()}[n%3]
		w := wanted(g.Config(), c)
		f := found(w, g.Rand)
		f.Name = w.LoadBalancer.Key.Name()
		for i := range f.Listeners { // a rule that is there twice changes no answer
			if l := &f.Listeners[i]; len(l.Rules) > 0 {
				at := g.IntN(len(l.Rules))
				l.Rules = slices.Insert(slices.Clone(l.Rules), at+1, l.Rules[at])
				moved++
			}
		}
		got := adopt.Compare(f, w, requests.OfCommand)
		if got.NeedsConsent() {
			t.Fatalf("table %d needs consent: %+v %+v %q", n, got.Report, got.Settings, got.NotUnderstood)
		}
		if left := got.Obstacles(f, w); len(left) > 0 {
			t.Fatalf("table %d: %q", n, left)
		}
		seen := taken(f, got.Takeover(f, w))
		if p := planner.Diff(seen, planner.KeepShape(w.LoadBalancer, seen), c); !p.Empty() {
			t.Fatalf("table %d: %+v", n, p.Steps[0].Step)
		}
	}
	if moved == 0 {
		t.Error("no load balancer had other rules than the wanted ones")
	}
}

// TestATakeoverSaysWhatDiffers: what differs is not marked as written, and rules that give other answers do not stay.
func TestATakeoverSaysWhatDiffers(t *testing.T) {
	config := routing.Config{Key: "alb/test/i/internal=k8s-test", Routes: []routing.Route{{Host: "a.test", Path: routing.Root, Ports: []int32{80, 443},
		Owner: routing.Owner{Name: "i"}, Action: routing.To("A")}}}
	type load struct {
		*lb.Other
		adopt.Wanted
	}
	for name, c := range map[string]struct {
		change    func(load)
		consent   bool
		differ    string // handles
		shapes    int
		obstacles string
	}{
		"nothing":                  {func(load) {}, false, "", 2, ""},
		"another answer at 80":     {func(l load) { l.Listener(80).Rules[0].Action = lb.Action{Kind: "fixed", Status: 404} }, true, "", 1, ""},
		"an attribute":             {func(l load) { l.Wanted.LoadBalancer.Settings.Attributes["idle_timeout.timeout_seconds"] = "90" }, true, "arn:lb", 2, ""},
		"one that nothing asks":    {func(l load) { l.Read.LoadBalancer.Attributes = map[string]string{"idle_timeout.timeout_seconds": "90"} }, false, "", 2, ""},
		"what is not understood":   {func(l load) { l.Oddities = []lb.Oddity{{Handle: "arn:lb", What: "Odd x"}} }, true, "", 0, ""},
		"its name":                 {func(l load) { l.Name = "other" }, true, "arn:lb", 2, "its name is other"},
		"its scheme":               {func(l load) { l.Read.LoadBalancer.Scheme = "internet-facing" }, true, "", 2, "its scheme is internet-facing"},
		"the protocol of a port":   {func(l load) { l.Listener(443).Protocol = "HTTP" }, true, "", 2, "port 443 is HTTP"},
		"a group that is not ours": {func(l load) { l.Other.Tags["arn:A-i"] = nil }, true, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted(config, lb.ALB())
			w.LoadBalancer.Settings.Attributes = map[string]string{}
			l := load{found(w, rand.New(rand.NewPCG(1, 1))), w}
			for i := range l.Other.Listeners {
				l.Other.Listeners[i].Handle = "arn:listener"
			}
			l.Name = w.LoadBalancer.Key.Name()
			c.change(l)
			got := adopt.Compare(l.Other, l.Wanted, requests.OfCommand)
			if got.NeedsConsent() != c.consent {
				t.Errorf("it needs consent: %t; %+v %+v %q", got.NeedsConsent(), got.Report, got.Settings, got.NotUnderstood)
			}
			what := got.Takeover(l.Other, l.Wanted)
			var differ []string
			for handle := range what.Differ {
				differ = append(differ, handle)
			}
			if strings.Join(differ, " ") != c.differ || len(what.Shapes) != c.shapes {
				t.Errorf("%v differ, and these stay: %v", differ, what.Shapes)
			}
			if all := strings.Join(got.Obstacles(l.Other, l.Wanted), "; "); !strings.HasPrefix(all, c.obstacles) || c.obstacles == "" && all != "" {
				t.Errorf("in the way: %q", all)
			}
		})
	}
}

// TestFormerTagsCount: a resource that was taken over is known by the tags that it keeps.
func TestFormerTagsCount(t *testing.T) {
	o := lb.Other{Tags: map[string]map[string]string{"a": {adopt.Was + "x/y": "1", "team": "web"}, "b": {"x/y": "2"}}}
	got := adopt.WithFormerTags(o)
	if got.Tags["a"]["x/y"] != "1" || got.Tags["a"]["team"] != "web" || got.Tags["b"]["x/y"] != "2" || o.Tags["a"]["x/y"] != "" {
		t.Errorf("the tags are %v, those that were given %v", got.Tags, o.Tags)
	}
}

// TestConsentNamesEachKind: how many differences of each kind there are, and the first.
func TestConsentNamesEachKind(t *testing.T) {
	c := adopt.Comparison{
		Report: compare.Report{
			Changes:   []compare.Change{{Curl: "curl http://a/", Before: compare.Answer{Action: "404"}, After: compare.Answer{Action: "forward shop/web:80"}}, {}},
			Exposures: []compare.Exposure{{Setting: "scheme", Before: "internal", After: "internet-facing"}},
			Undecided: []compare.Undecided{{Why: "it takes too long"}},
		},
		Settings:      []adopt.Difference{{Of: "listener 80", Setting: "x", Found: "1", Wanted: "2", Stays: true}, {Of: "listener 443", Setting: "y", Found: "3", Wanted: "4"}},
		NotUnderstood: []string{"listener 81"},
	}
	want := "some requests get another answer (2), such as curl http://a/: 404, and then forward shop/web:80; " +
		"some requests are not decided (1), such as it takes too long; settings of exposure change (1), such as scheme: internal, and then internet-facing; " +
		"settings change (1), such as listener 443, y: 3, and then 4; something is not understood (1), such as listener 81"
	if got := c.Consent(); got != want {
		t.Errorf("it says %s", got)
	}
}

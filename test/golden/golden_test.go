package golden

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/planner"
	"fairlead.dev/fairlead/model/proof"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/request"
)

// This file tells every story of test/golden through the whole pipeline. What is printed is
// compared with the story and written by -update. What becomes of requests never is: it follows
// from the specification, and both the routing table and the rules have to agree with it.

var update = flag.Bool("update", false, "write what the golden stories print")

// Each story is read in its subtest, so that one alone takes milliseconds.
func TestGolden(t *testing.T) {
	for _, file := range storyFiles(t) {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			s := mustRead(t, file)
			tellings, err := tell(s)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(tellings, telling.listens) && !s.has("requests") {
				t.Fatal("the story has no requests: write some by hand, in a section `requests`")
			}
			for _, told := range tellings {
				checkRequests(t, s, told)
				checkPlan(t, s, told)
			}
			got := printed(tellings)
			if *update {
				if err := s.write(got); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, name := range generated {
				if s.section(name) == "" && got[name] != "" {
					t.Errorf("the story has no %s yet: `make golden` writes them", name)
					continue
				}
				if diff := cmp.Diff(s.section(name), got[name]); diff != "" {
					t.Errorf("%s differ (-story +now); `make golden` writes them:\n%s", name, diff)
				}
			}
		})
	}
}

// TestEveryAnnotationIsInAStory fails for an annotation without a story in which it matters: in
// which a cloud does not refuse it, and another load balancer is wanted without it.
func TestEveryAnnotationIsInAStory(t *testing.T) {
	matters := map[string]bool{}
	for _, s := range stories(t) {
		for _, row := range settings.Table {
			if name := row.Annotation; name != "" && !matters[name] && has(s, name) {
				matters[name] = mattersIn(t, s, name)
			}
		}
	}
	for _, row := range settings.Table {
		if row.Annotation != "" && !matters[row.Annotation] {
			t.Errorf("in no story %s makes a difference: add one to test/golden, "+
				"under capabilities that have what it sets", row.Annotation)
		}
	}
}

// has reports whether an Ingress of a story has an annotation.
func has(s *story, annotation string) bool {
	return slices.ContainsFunc(s.objects.Ingresses, func(ing *networkingv1.Ingress) bool {
		_, found := ing.Annotations[annotation]
		return found
	})
}

// mattersIn reports whether a story has another end, under one of its capability sets, without an
// annotation that is accepted.
func mattersIn(t *testing.T, s *story, annotation string) bool {
	t.Helper()
	without := *s
	without.objects.Ingresses = nil
	for _, ing := range s.objects.Ingresses {
		ing = ing.DeepCopy()
		delete(ing.Annotations, annotation)
		without.objects.Ingresses = append(without.objects.Ingresses, ing)
	}
	old, errOld := tell(s)
	now, errNow := tell(&without)
	if err := errors.Join(errOld, errNow); err != nil {
		t.Fatal(err)
	}
	for i := range old {
		refused := slices.ContainsFunc(old[i].diagnostics, func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && strings.Contains(d.Source.Field+d.Message, annotation)
		})
		if !refused && !reflect.DeepEqual(old[i].wanted(), now[i].wanted()) {
			return true
		}
	}
	return false
}

// wanted are the load balancers that are wanted.
func (told telling) wanted() (out []lb.LoadBalancer) {
	for _, c := range told.loadBalancers {
		out = append(out, c.want)
	}
	return out
}

// listens reports whether requests are answered.
func (told telling) listens() bool {
	return slices.ContainsFunc(told.wanted(), func(l lb.LoadBalancer) bool { return len(l.Listeners) > 0 })
}

// A telling is a story under one capability set.
type telling struct {
	caps          lb.Capabilities
	loadBalancers []compiled // by key
	diagnostics   []diag.Diagnostic
}

// compiled is one load balancer of a telling: as it is, as it shall be, and what leads there.
type compiled struct {
	key      lb.Key
	caps     lb.Capabilities // as the load balancer's class narrows them
	snapshot ingress.Snapshot
	table    *precedence.Table // nil where no Ingress wants the load balancer any more
	want     lb.LoadBalancer
	seen     *lb.Observed
	plan     plan.Plan
}

// tell compiles a story under each of its capability sets.
func tell(s *story) ([]telling, error) {
	sets, err := s.capabilities()
	if err != nil {
		return nil, err
	}
	var all []telling
	for _, caps := range sets {
		objects, seen := s.objects, s.observed
		if s.before != nil {
			before := compile(s, *s.before, caps, nil)
			seen = settled(before)
			objects.Records = remembered(s, before, seen)
		}
		all = append(all, compile(s, objects, caps, seen))
	}
	return all, nil
}

// compile is the pipeline: objects to load balancers to plans.
func compile(s *story, o ingress.Objects, caps lb.Capabilities, seen map[lb.Key]*lb.Observed) telling {
	split, diagnostics := ingress.Place(o, s.classes())
	told := telling{caps: caps, diagnostics: diagnostics}
	wanted := map[lb.Key]compiled{}
	for _, snapshot := range split {
		caps := caps.Restrict(model.ClassOf(snapshot))
		network := model.Ask(snapshot).Network
		facts := lb.Facts{Subnets: network.Subnets, SecurityGroups: network.SecurityGroups, Certificates: s.options.Certificates, Names: s.options.Names, WebACLs: s.options.WebACLs, Unshielded: s.options.Unshielded, NameTaken: s.options.NamesTaken[snapshot.Key.Name()], SettingsRefused: s.options.SettingsRefused}
		if o := seen[snapshot.Key]; o != nil {
			facts.AddObserved(o)
		}
		built := model.Compile(snapshot, facts, caps)
		wanted[snapshot.Key] = compiled{caps: caps, snapshot: snapshot, table: built.Table, want: built.LoadBalancer}
		told.diagnostics = append(told.diagnostics, built.Diagnostics...)
	}
	for key := range seen {
		if _, ok := wanted[key]; !ok {
			name := key.Class()
			gone := ingress.Snapshot{Key: key, Class: ingress.Class{Name: name}}
			if class := ingress.FindClass(o, s.classes(), name); class != nil {
				gone.Class = *class
			}
			caps := caps.Restrict(model.ClassOf(gone))
			wanted[key] = compiled{caps: caps, want: model.Compile(gone, lb.Facts{}, caps).LoadBalancer}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		c := wanted[key]
		c.key, c.seen = key, seen[key]
		if c.seen == nil {
			c.seen = &lb.Observed{Key: key}
		}
		c.plan = planner.Diff(c.seen, c.want, c.caps)
		if v := proof.Check(c.seen, c.want, c.plan, c.caps.Dialect); v.Result != proof.Proven {
			panic(fmt.Sprintf("the plan of %s is %s: %s, after %v, for %+v", key, v.Result, v.Why, v.Done, v.Request))
		}
		told.diagnostics = append(told.diagnostics, c.plan.Diagnostics...)
		told.loadBalancers = append(told.loadBalancers, c)
	}
	told.diagnostics = diag.Sort(told.diagnostics)
	return told
}

// settled is what the cloud has once a telling's plans have run and every target is healthy.
func settled(told telling) map[lb.Key]*lb.Observed {
	seen := map[lb.Key]*lb.Observed{}
	for _, c := range told.loadBalancers {
		o := c.plan.Fold(c.seen)
		o.Active = true
		for i := range o.TargetGroups {
			o.TargetGroups[i].Ready, o.TargetGroups[i].Registered = true, true
		}
		seen[c.key] = o
	}
	return seen
}

// remembered is what the operator knows then: the certificates that the cloud has, the owners of
// hosts and, where the story says so, what was accepted.
func remembered(s *story, told telling, seen map[lb.Key]*lb.Observed) map[lb.Key]record.Record {
	records := map[lb.Key]record.Record{}
	for _, c := range told.loadBalancers {
		kept := record.Record{Certificates: model.CertificatesOfSecrets(c.want, seen[c.key], nil), Hosts: map[routing.Host]string{}, Yielding: map[routing.Host]bool{}}
		for _, h := range c.snapshot.OwnedHosts() {
			kept.Hosts[h.Host] = h.Namespace
		}
		for _, host := range c.table.Yielding {
			kept.Yielding[host] = true
		}
		if s.options.Remembered {
			kept.Class, kept.Members = &c.snapshot.Class.LoadBalancerClassSpec, map[string]record.Member{}
			for _, m := range c.snapshot.Members {
				name, accepted := m.Owner.String(), record.Accept(m.Ingress)
				kept.Members[name] = record.Member{LastAccepted: &accepted, Served: true, Departed: s.options.Departed[name].Duration}
			}
		}
		records[c.key] = kept
	}
	return records
}

// checkRequests asks the routing table and the rules.
func checkRequests(t *testing.T, s *story, told telling) {
	t.Helper()
	requests, err := s.requests(told.caps)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		c, err := told.loadBalancer(r.On)
		if err != nil {
			t.Errorf("%s: %v", r.Line, err)
			continue
		}
		if got := literal(r, c.table); got != r.Want {
			t.Errorf("under %s, the table answers %s\n  for %s", told.caps.Name, got, r.Line)
		}
		if got := c.answer(r, c.want.Listeners); got != r.Want {
			t.Errorf("under %s, the rules answer %s\n  for %s", told.caps.Name, got, r.Line)
		}
	}
}

// checkPlan walks the plan: it arrives, and until then every request of the story is answered as
// before or as after. A port that opens or closes has only one of the two. Where the plan announces
// that it deletes first, a request may see the default, too.
func checkPlan(t *testing.T, s *story, told telling) {
	t.Helper()
	requests, err := s.requests(told.caps)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range told.loadBalancers {
		gap := slices.ContainsFunc(c.plan.Diagnostics, func(d diag.Diagnostic) bool { return d.Reason == diag.DeleteFirst })
		now := c.seen.Clone()
		for _, planned := range c.plan.Steps {
			planned.Step.Do(now, plan.Result{})
			for _, r := range requests {
				if on, err := told.loadBalancer(r.On); err != nil || on.key != c.key {
					continue
				}
				old, got, wanted := c.answer(r, plain(c.seen)), c.answer(r, plain(now)), c.answer(r, c.want.Listeners)
				switch {
				case old == request.Refused || wanted == request.Refused || got == old || got == wanted:
				case gap && got == c.answer(r, withoutRules(now)):
				default:
					t.Errorf("under %s, after %s %s: %s answers %s, which is neither the old %s nor the new %s",
						told.caps.Name, planned.Step.Op(), planned.Step.ID(), r.URL, got, old, wanted)
				}
			}
		}
		for i := range now.TargetGroups {
			now.TargetGroups[i].Ready = true
		}
		if again := planner.Diff(now, c.want, c.caps); !again.Empty() {
			t.Errorf("under %s, the plan does not arrive: %s %s is left", told.caps.Name, again.Steps[0].Step.Op(), again.Steps[0].Step.ID())
		}
	}
}

// requests are the story's requests under a capability set.
func (s *story) requests(c lb.Capabilities) ([]request.Request, error) {
	if own := "requests." + c.Name; s.has(own) {
		return request.ParseAll(s.section(own))
	}
	return request.ParseAll(s.section("requests"))
}

// loadBalancer finds the one that a request goes to: the named one, or the only one.
func (told telling) loadBalancer(on lb.Key) (compiled, error) {
	var keys []lb.Key
	for _, c := range told.loadBalancers {
		if c.key == on || on == "" && len(told.loadBalancers) == 1 {
			return c, nil
		}
		keys = append(keys, c.key)
	}
	return compiled{}, fmt.Errorf("the story has the load balancers %q; the request goes to %q", keys, on)
}

// literal is the specification's answer.
func literal(r request.Request, table *precedence.Table) string {
	if table == nil || !slices.ContainsFunc(table.Listeners, func(l routing.Listener) bool { return l.Port == r.Routing.Port }) {
		return request.Refused
	}
	return r.OutcomeOf(table.Match(r.Routing).Action)
}

// answer is what listeners of this load balancer make of a request.
func (c compiled) answer(r request.Request, listeners []lb.Listener) string {
	return r.Answer(listeners, c.caps.Dialect)
}

// plain is what is observed as listeners.
func plain(o *lb.Observed) []lb.Listener {
	var all []lb.Listener
	for i := range o.Listeners {
		all = append(all, o.Listeners[i].Plain())
	}
	return all
}

// withoutRules are the same listeners with nothing but their defaults.
func withoutRules(o *lb.Observed) []lb.Listener {
	all := plain(o)
	for i := range all {
		all[i].Rules = nil
	}
	return all
}

package adopt_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/lowering"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/tables"
)

var (
	seed   = flag.Uint64("seed", 0, "the seed of random tables; 0 draws one")
	rounds = flag.Int("rounds", 100, "how many random tables are tried")
)

func draw(t *testing.T) uint64 {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	return *seed
}

// wanted lowers a random configuration.
func wanted(config routing.Config, c lb.Capabilities) adopt.Wanted {
	config.Listeners = []routing.Listener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS, Certificates: []routing.CertificateID{"c"}}}
	config.Routes, config.Defaults, config.Names = slices.Clone(config.Routes), slices.Clone(config.Defaults), slices.Clone(config.Names)
	for i := range config.Routes { // an Ingress has one condition on the host at most
		hosts := 0
		config.Routes[i].When = slices.DeleteFunc(slices.Clone(config.Routes[i].When), func(c routing.Condition) bool {
			if c.Field == "host" {
				hosts++
			}
			return c.Field == "host" && hosts > 1
		})
		config.Routes[i].Owner.Namespace = "test"
	}
	for i := range config.Defaults {
		config.Defaults[i].Owner.Namespace = "test"
	}
	for i := range config.Names {
		config.Names[i].Owner.Namespace = "test"
	}
	config.Backends = map[routing.BackendID]routing.Backend{}
	for i, id := range []routing.BackendID{"A", "B", "C"} {
		config.Backends[id] = routing.Backend{ID: id, Service: fmt.Sprintf("test/s%d", i), Port: "80", TargetType: "ip", Protocol: routing.HTTP, Version: routing.VersionHTTP1}
	}
	balancer, table, _ := lowering.Lower(tables.Named(config), c)
	return adopt.Wanted{Table: table, LoadBalancer: balancer, Dialect: c.Dialect}
}

// of are the tags of what the controller made.
func of(resource string) map[string]string {
	return map[string]string{"elbv2.k8s.aws/cluster": "prod", "ingress.k8s.aws/stack": "all", "ingress.k8s.aws/resource": resource}
}

// found has the rules of a wanted load balancer as others could have made them: each target group one time for each
// Ingress that forwards to it, under another name.
func found(w adopt.Wanted, r *rand.Rand) *lb.Other {
	b := w.LoadBalancer
	out := &lb.Other{Observed: lb.Observed{Key: b.Key, Exists: true, Handle: "arn:lb"}, Tags: map[string]map[string]string{"arn:lb": of("LoadBalancer"), "sg-1": of("ManagedLBSecurityGroup")}}
	out.Read = &lb.ReadSettings{LoadBalancer: &routing.Settings{Scheme: b.Key.Scheme(), SecurityGroups: []string{"sg-1"}}}
	names := map[lb.GroupID][]lb.GroupID{}
	add := func(a routing.Action, owner routing.Owner) {
		for _, to := range a.Forward {
			id := lb.GroupID("arn:" + string(to.Backend) + "-" + owner.Name)
			if !slices.Contains(names[to.Backend], id) {
				names[to.Backend] = append(names[to.Backend], id)
				_, service, _ := strings.Cut(w.Table.Backends[to.Backend].Service, "/")
				out.Tags[string(id)] = of("test/" + owner.Name + "-" + service + ":80")
			}
		}
	}
	for _, route := range w.Table.Routes {
		add(route.Action, route.Owner)
	}
	for _, d := range w.Table.Defaults {
		add(d.Action, d.Owner)
	}
	for _, g := range b.TargetGroups {
		for _, name := range names[g.ID] {
			theirs := g
			theirs.ID = name
			out.TargetGroups = append(out.TargetGroups, lb.ObservedTargetGroup{TargetGroup: theirs, Handle: string(name)})
		}
	}
	slices.SortFunc(out.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return strings.Compare(string(a.ID), string(b.ID)) })
	renamed := func(a lb.Action) lb.Action {
		a.Targets = slices.Clone(a.Targets)
		for i := range a.Targets {
			if all := names[a.Targets[i].Group]; len(all) > 0 {
				a.Targets[i].Group = all[r.IntN(len(all))]
			}
		}
		return a
	}
	for _, l := range b.Listeners {
		listener := lb.ObservedListener{Port: l.Port, Protocol: l.Protocol, Certificates: l.Certificates, Default: renamed(l.Default)}
		for i, rule := range l.Rules {
			rule.Action = renamed(rule.Action)
			listener.Rules = append(listener.Rules, lb.ObservedRule{Rule: rule, Priority: 10 * (i + 1)})
		}
		out.Listeners = append(out.Listeners, listener)
	}
	return out
}

// TestWhatIsWantedIsThere: rules of the wanted load balancer have no difference, and each target group that gets
// requests is known.
func TestWhatIsWantedIsThere(t *testing.T) {
	s := draw(t)
	for n := range *rounds {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(s, uint64(n)))}
		c := []lb.Capabilities{lb.Literal(), lb.ALB(), lb.ALBGlob()}[n%3]
		w := wanted(g.Config(), c)
		f := found(w, g.Rand)
		got := adopt.Compare(f, w, requests.OfCommand)
		for _, change := range got.Changes {
			t.Fatalf("table %d: %s: %+v, then %+v", n, change.Curl, change.Before, change.After)
		}
		if !got.Same() {
			t.Fatalf("table %d: %+v %+v %q %v %v", n, got.Report, got.Settings, got.NotUnderstood, got.Left, got.Missing)
		}
		for _, r := range got.Resources {
			if r.Kind == adopt.TargetGroup && !strings.HasPrefix(r.Handle, "arn:"+r.Wanted+"-") {
				t.Fatalf("table %d: %s is taken for %s", n, r.Handle, r.Wanted)
			}
		}
	}
}

// TestSignInsHaveTheSecretsThatAreWanted: a cloud does not return client secrets, so that equal sign-ins are the same.
func TestSignInsHaveTheSecretsThatAreWanted(t *testing.T) {
	signIn := func(secret routing.Secret) routing.Action {
		a := routing.To("A")
		a.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.test", ClientID: "shop", ClientSecret: secret, SecurePort: 443}
		return a
	}
	config := func(secret routing.Secret) routing.Config {
		return routing.Config{Key: "fairlead/test/ingress/internal",
			Routes:   []routing.Route{{Host: "a.test", Path: routing.Root, Action: signIn(secret), Ports: []int32{443}, Owner: routing.Owner{Name: "i"}}},
			Defaults: []routing.Default{{Action: signIn(secret), Ports: []int32{443}, Owner: routing.Owner{Name: "i"}}}}
	}
	w := wanted(config("it is secret"), lb.ALB())
	f := found(wanted(config(""), lb.ALB()), rand.New(rand.NewPCG(1, 1)))
	if got := adopt.Compare(f, w, requests.OfCommand); !got.Empty() {
		t.Errorf("it says %+v", got.Report)
	}
}

// TestWeightsOfOneGroupAddUp: two target groups of one Service share requests with one of another.
func TestWeightsOfOneGroupAddUp(t *testing.T) {
	config := routing.Config{Key: "fairlead/test/ingress/internal", Routes: []routing.Route{{Host: "a.test", Path: routing.Root, Ports: []int32{80}, Owner: routing.Owner{Name: "i"},
		Action: routing.Action{Forward: []routing.Weighted{{Backend: "A", Weight: 3}, {Backend: "B", Weight: 1}}}}}}
	w := wanted(config, lb.ALB())
	f := found(w, rand.New(rand.NewPCG(1, 1)))
	twin := f.TargetGroups[0]
	twin.ID, twin.Handle, f.Tags["arn:A-twin"] = "arn:A-twin", "arn:A-twin", of("test/i-s0:http")
	f.TargetGroups = slices.Insert(f.TargetGroups, 1, twin)
	w.PortNames = map[string]map[string]string{"test/s0": {"80": "http"}}
	for weights, differ := range map[[3]int32]bool{{2, 1, 1}: false, {1, 2, 1}: false, {3, 3, 2}: false, {1, 1, 1}: true, {3, 3, 1}: true} {
		f.Listener(80).Rules[0].Action.Targets = []lb.Weighted{{Group: "arn:A-i", Weight: weights[0]}, {Group: "arn:A-twin", Weight: weights[1]}, {Group: "arn:B-i", Weight: weights[2]}}
		if got := adopt.Compare(f, w, requests.OfCommand); len(got.Changes) > 0 != differ {
			t.Errorf("%v: it says %+v", weights, got.Changes)
		}
	}
}

// TestDifferencesAreThoseOfRequests: what random requests get differs only where the comparison says so, and each
// difference has a request that differs.
func TestDifferencesAreThoseOfRequests(t *testing.T) {
	s := draw(t)
	differ := 0
	for n := range *rounds {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(s, uint64(n)))}
		c := lb.ALB()
		theirs := g.Config()
		before, w := wanted(theirs, c), wanted(g.Changed(theirs), c)
		f := found(before, g.Rand)
		got := adopt.Compare(f, w, requests.OfCommand)
		groups := map[lb.GroupID]lb.GroupID{}
		for _, r := range got.Resources {
			if r.Wanted != "" {
				groups[lb.GroupID(r.Handle)] = lb.GroupID(r.Wanted)
			}
		}
		answer := func(r routing.Request) (string, string) {
			listeners := slices.Clone(f.Listeners)
			at := slices.IndexFunc(listeners, func(l lb.ObservedListener) bool { return l.Port == r.Port })
			if at < 0 {
				return "none", w.Table.Match(r).Action.Key()
			}
			_, a := listeners[at].Plain().Match(r, c.Dialect)
			for i := range a.Targets {
				a.Targets = slices.Clone(a.Targets)
				if ours, known := groups[a.Targets[i].Group]; known {
					a.Targets[i].Group = ours
				}
			}
			return a.Routing().Key(), w.Table.Match(r).Action.Key()
		}
		for _, change := range got.Changes {
			differ++
			if before, after := answer(change.Request.Routed); before == after {
				t.Fatalf("table %d: %s is said to differ, and gets %s: %+v %+v", n, change.Curl, before, change.Before, change.After)
			}
		}
		if len(got.Changes) > 0 || len(got.Undecided) > 0 {
			continue
		}
		for range 200 {
			r := g.Request(theirs)
			if before, after := answer(r); before != after {
				t.Fatalf("table %d: %+v gets %s, and %s is wanted, which is not said", n, r, before, after)
			}
		}
	}
	if t.Logf("%d differences", differ); differ < *rounds/2 {
		t.Error("hardly any table differs")
	}
}

package alb

import (
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/test/albsim"
)

// This file is the windows in which a controller that changes an ALB rule by rule is known to send
// requests astray, one test each: they stay shut here. Requests are sent after every call and in
// between, while changes take ten seconds to get to the data plane, and several batches of them do.

// A window is a change that is known to open one.
type window struct {
	name string
	from func(*world)
	to   func(*world)
	// fault chooses the calls that break; nil for none.
	fault func(at time.Duration, c albsim.Call) albsim.Fault
	// excused are the requests that the plan has to say may go astray; nil for none.
	excused func(request) bool
	// least is how long the change takes at least, or it has not waited for what it has to wait for.
	least time.Duration
	// haste has the provider leave out a wait that the change needs, so that requests have to go
	// astray; nil for none.
	haste func(*world)
	// prompt has AWS let go of things as soon as no rule names them, and take longer to deploy rules.
	prompt bool
}

// slow is an account where everything takes its time.
func slow() albsim.Options {
	return albsim.Options{Provisioning: time.Minute, Propagation: 10 * time.Second, Linger: 8 * time.Second, Health: 20 * time.Second}
}

func TestWindows(t *testing.T) {
	for _, c := range windows() {
		t.Run(c.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c.watch(t) }) })
	}
}

// watch makes the change, and sends requests all the while.
func (c window) watch(t *testing.T) {
	account := slow()
	if c.prompt {
		account.Linger, account.Propagation = 0, time.Minute
	}
	w := newWorld(t, account)
	c.from(w)
	w.settle()
	time.Sleep(2 * time.Minute)
	hosts := []string{"shop.example.com", "blog.example.com", "other.net"}
	j := &judge{world: w, address: w.seen.Address.Hostname, tally: &tally{}, asks: requests([]int32{80, 443}, hosts, []string{"/", "/0", "/a", "/api/x", "/b", "/c", "/c/x", "/cart/1", "/d", "/new", "/z"})}
	j.begin()
	j.ask("before")
	told := false
	w.planned = func(p plan.Plan) {
		if warns(p, diag.DeleteFirst) {
			told = true
			j.hear(p)
			for _, r := range j.asks {
				if c.excused != nil && c.excused(r) && !j.excused(r) {
					t.Errorf("the plan does not say that %s may go astray", r)
				}
			}
			j.excuses = []excuse{{diag.DeleteFirst, func(r request) bool { return c.excused != nil && c.excused(r) }}}
		}
	}
	if c.haste != nil {
		c.haste(w)
		j.expected = true
	}
	c.to(w)
	j.after = j.verdict(j.asks)
	w.sim.Forget()
	w.sim.Watch(func(call albsim.Call) {
		for range 3 {
			j.ask("after " + call.String())
			time.Sleep(2 * time.Second)
		}
	})
	began := time.Now()
	if c.fault != nil {
		w.sim.Break(func(call albsim.Call) albsim.Fault { return c.fault(time.Since(began), call) })
	}
	for range 200 {
		todo, _, err := w.reconcile()
		if err == nil && todo.Empty() {
			break
		}
		time.Sleep(patience)
		j.ask("between two plans")
	}
	w.sim.Watch(nil)
	if j.expected {
		if !j.astray {
			t.Error("no request goes astray")
		}
		return
	}
	if calls := w.sim.Calls(); len(calls) == 0 || calls[len(calls)-1].At.Sub(began) < c.least {
		t.Errorf("%d calls, and the last within %s: it has not happened as it should", len(calls), c.least)
	}
	if told != (c.excused != nil) {
		t.Errorf("a diagnostic says that a rule is deleted before its successor is there: %v", told)
	}
	time.Sleep(2 * time.Minute)
	j.begin()
	j.ask("after")
}

func windows() []window {
	services := func(w *world, names ...string) {
		for _, n := range names {
			w.service(n, 2)
		}
	}
	full := func(w *world) {
		w.sim.SetLimits(albsim.Limits{RulesPerLoadBalancer: 3})
		services(w, "a", "b", "c")
		w.serve("shop", map[string]string{"/a": "a", "/b": "b", "/c": "c"})
	}
	return []window{
		{
			name: "W1: a rule is inserted where the rules behind it move down by one, and one changes its Service",
			from: func(w *world) {
				services(w, "web", "svc1")
				w.serve("shop", map[string]string{"/api": "svc1", "/": "web"})
			},
			to: func(w *world) {
				services(w, "new", "svc2")
				w.remove("shop")
				w.serve("shop", map[string]string{"/new": "new", "/api": "svc2", "/": "web"})
			},
		},
		{
			name: "W2: a rule goes, and the one behind it moves up above the catch-all and changes its Service",
			from: func(w *world) {
				services(w, "z", "s1", "web")
				w.serve("shop", map[string]string{"/z": "z", "/api": "s1", "/": "web"})
			},
			to: func(w *world) {
				services(w, "s2")
				w.remove("shop")
				w.serve("shop", map[string]string{"/api": "s2", "/": "web"})
			},
		},
		{
			name: "W3: every target group is replaced while a rule is inserted in front",
			from: func(w *world) {
				services(w, "a", "b", "c")
				w.serve("shop", map[string]string{"/a": "a", "/b": "b", "/c": "c"})
			},
			to: func(w *world) {
				services(w, "d")
				w.nodes(2)
				w.remove("shop")
				w.serve("shop", map[string]string{"/0": "d", "/a": "a", "/b": "b", "/c": "c"})
				w.change("shop", func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/target-type"] = "instance" })
			},
		},
		{
			name: "W4: requests that are served get a target group that is new",
			from: func(w *world) {
				services(w, "old")
				w.serve("shop", map[string]string{"/": "old"})
			},
			to: func(w *world) {
				services(w, "new")
				w.point("shop", "new")
			},
			least: slow().Health,
		},
		{
			name: "W4: a more specific path is carved out of one that is served",
			from: func(w *world) {
				services(w, "web")
				w.serve("shop", map[string]string{"/": "web"})
			},
			to: func(w *world) {
				services(w, "cart")
				w.remove("shop")
				w.serve("shop", map[string]string{"/": "web", "/cart": "cart"})
			},
		},
		{
			name: "W4: a Service is made anew",
			from: func(w *world) {
				services(w, "web", "api")
				w.serve("shop", map[string]string{"/": "web", "/api": "api"})
			},
			to: func(w *world) {
				w.drop("api")
				services(w, "api")
			},
		},
		{
			name: "W5: every rule that the account allows is in use, and one changes what it matches",
			from: full,
			to: func(w *world) {
				w.remove("shop")
				w.serve("shop", map[string]string{"/a": "a", "/b": "b", "/d": "c"})
			},
		},
		{
			name: "W5: every rule that the account allows is in use, and one gives way to a narrower one of another Service",
			from: full,
			to: func(w *world) {
				services(w, "d")
				w.remove("shop")
				w.serve("shop", map[string]string{"/a": "a", "/b": "b", "/c": "d"})
				w.change("shop", func(ing *networkingv1.Ingress) {
					exact := networkingv1.PathTypeExact
					ing.Spec.Rules[0].HTTP.Paths[2].PathType = &exact
				})
			},
			excused: func(r request) bool { return r == request{80, "shop.example.com", "/c"} },
		},
		{
			name: "W6: a certificate is renewed, and another one added",
			from: func(w *world) {
				services(w, "web")
				w.secret("one", 0, "shop.example.com")
				w.serve("shop", map[string]string{"/": "web"})
				w.change("shop", tls("one", "shop.example.com"))
			},
			to: func(w *world) {
				w.secret("one", 1, "shop.example.com")
				w.secret("two", 0, "blog.example.com")
				w.serve("blog", map[string]string{"/": "web"})
				w.change("blog", tls("two", "blog.example.com"))
			},
		},
		{
			name: "W6: the default certificate changes places with another one",
			from: func(w *world) {
				services(w, "web")
				for _, name := range []string{"shop", "blog"} {
					w.secret(name, 0, name+".example.com")
					w.serve(name, map[string]string{"/": "web"})
					w.change(name, tls(name, name+".example.com"))
				}
			},
			to: func(w *world) { // the younger one is now the older
				for i, name := range []string{"blog", "shop"} {
					w.change(name, func(ing *networkingv1.Ingress) {
						ing.CreationTimestamp.Time = time.Unix(int64(1_600_000_000+i), 0)
					})
				}
			},
		},
		{
			name: "W6: a host takes the place of another one, each with a certificate and a default backend of its own",
			from: func(w *world) {
				services(w, "web", "old")
				w.secret("one", 0, "shop.example.com")
				w.serve("shop", map[string]string{"/": "web"})
				w.change("shop", tls("one", "shop.example.com"))
				w.change("shop", fallBackTo("old"))
			},
			to: func(w *world) {
				w.remove("shop")
				w.secret("two", 0, "blog.example.com")
				w.serve("blog", map[string]string{"/": "web"})
				w.change("blog", tls("two", "blog.example.com"))
				w.change("blog", fallBackTo("web"))
			},
		},
		{
			name: "W8: AWS fails in the middle of a change, and goes on failing for minutes",
			from: func(w *world) {
				services(w, "web", "api", "cart")
				w.serve("shop", map[string]string{"/": "web", "/api": "api"})
			},
			to: func(w *world) {
				w.remove("shop")
				w.serve("shop", map[string]string{"/": "api", "/api": "web", "/cart": "cart", "/a": "api"})
				w.serve("blog", map[string]string{"/": "cart"})
			},
			fault: func(at time.Duration, c albsim.Call) albsim.Fault {
				if c.Action == "CreateRule" && at > 10*time.Second && at < 5*time.Minute {
					return albsim.Unavailable
				}
				return albsim.NoFault
			},
			least: 5 * time.Minute,
		},
		{
			name: "W9: every pod of a Service is another one at once",
			from: func(w *world) {
				services(w, "web")
				w.serve("shop", map[string]string{"/": "web"})
			},
			to: func(w *world) { w.replacePods("web") },
		},
	}
}

// W7: a scheme changes, which takes another load balancer: the old one serves on until the other
// one does. One that is protected stays: TestAProtectedLoadBalancerStays.
func TestWindowW7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		w.service("web", 2)
		w.serve("shop", map[string]string{"/": "web"})
		w.settle()
		time.Sleep(2 * time.Minute)
		old := w.seen
		j := &judge{world: w, address: old.Address.Hostname, tally: &tally{}, asks: requests([]int32{80}, []string{"shop.example.com"}, []string{"/", "/x"})}
		j.begin()
		w.sim.Watch(func(c albsim.Call) {
			j.ask("after " + c.String())
			time.Sleep(3 * time.Second)
			j.ask("some time after " + c.String())
		})
		w.change("shop", func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/scheme"] = "internet-facing" })

		w.turn("fairlead/shop/@all/internet-facing")
		w.settle()
		time.Sleep(2 * time.Minute)
		j.address = w.seen.Address.Hostname
		j.ask("where it moved to")

		w.turn("fairlead/shop/@all/internal")
		w.settle()
		j.address = old.Address.Hostname
		j.ask("where it came from, while clients still know that address")

		w.sim.Watch(nil)
		w.forget()
		w.settle()
		if left := w.sim.Inventory()["load balancers"]; left != 1 {
			t.Errorf("%d load balancers once the move is over", left)
		}
	})
}

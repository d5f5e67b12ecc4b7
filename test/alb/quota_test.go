package alb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file fills accounts: at each quota what is served stays, the change that does not fit is
// refused by name, with the quota and how far it is exceeded, and deleting works and makes room.

// A quota is one of an account, and Ingresses that fill it.
type quota struct {
	name   string
	limits albsim.Limits
	// another adds the Ingress of a number, which takes another place: there are three.
	another func(w *world, number int)
	says    string
}

func quotas() []quota {
	return []quota{
		{
			name: "rules", limits: albsim.Limits{RulesPerLoadBalancer: 3},
			another: func(w *world, n int) { w.serve(site(n), map[string]string{"/": fmt.Sprintf("service-%d", n)}) },
			says:    "more rules than the 3 that alb allows (quota L-7EED9B64)",
		},
		{
			name: "target groups", limits: albsim.Limits{TargetGroupsPerLoadBalancer: 3},
			another: func(w *world, n int) { w.serve(site(n), map[string]string{"/": fmt.Sprintf("service-%d", n)}) },
			says:    "more target groups than the 3 that alb allows (quota L-822D1B1B)",
		},
		{
			name: "certificates", limits: albsim.Limits{CertificatesPerLoadBalancer: 2},
			another: func(w *world, n int) {
				w.serve(site(n), map[string]string{"/": "service-0"})
				w.secret(site(n), 0, site(n)+".example.com")
				w.change(site(n), tls(site(n), site(n)+".example.com"))
			},
			says: "more certificates besides the default ones than the 2 that alb allows (quota L-9365A611)",
		},
		{
			name: "listeners", limits: albsim.Limits{ListenersPerLoadBalancer: 3},
			another: func(w *world, n int) {
				w.serve(site(n), map[string]string{"/": "service-0"})
				w.change(site(n), func(ing *networkingv1.Ingress) {
					ing.Annotations["fairlead.dev/listen-ports"] = fmt.Sprintf(`[{"HTTP":%d}]`, 8000+n)
				})
			},
			says: "more listeners than the 3 that alb allows (quota L-B6DF7632)",
		},
	}
}

// site is the name of an Ingress.
func site(number int) string { return fmt.Sprintf("site-%d", number) }

func TestQuotas(t *testing.T) {
	for _, q := range quotas() {
		t.Run(q.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { q.fill(t) }) })
	}
}

func (q quota) fill(t *testing.T) {
	o := slow()
	o.Limits = q.limits
	w := newWorld(t, o)
	for n := range 4 {
		w.service(fmt.Sprintf("service-%d", n), 1)
	}
	for n := range 3 {
		q.another(w, n)
		w.Ingresses[n].CreationTimestamp.Time = time.Unix(int64(1_700_000_000+n), 0)
	}
	w.settle()
	time.Sleep(2 * time.Minute)
	j := &judge{world: w, address: w.seen.Address.Hostname, tally: &tally{}}
	for n := range 3 {
		j.asks = append(j.asks, requests([]int32{80, 443, 8000, 8001, 8002}, []string{site(n) + ".example.com"}, []string{"/"})...)
	}
	j.begin()
	w.sim.Watch(func(c albsim.Call) { j.ask("with one too many, after " + c.String()) })

	q.another(w, 3)
	w.Ingresses[3].CreationTimestamp.Time = time.Unix(1_700_000_009, 0)
	j.after = j.verdict(j.asks)
	if why := q.refusal(w, site(3)); !strings.Contains(why, q.says) {
		t.Errorf("the refusal of %s is %q, and does not say %q", site(3), why, q.says)
	}
	w.settle()
	j.ask("with one too many")

	w.sim.Watch(nil)
	w.remove(site(1))
	w.settle()
	time.Sleep(2 * time.Minute)
	if why := q.refusal(w, site(3)); why != "" {
		t.Errorf("%s is refused though there is room: %s", site(3), why)
	}
	j.asks = requests([]int32{80, 443, 8003}, []string{site(3) + ".example.com"}, []string{"/"})
	j.begin()
	if !slices.ContainsFunc(j.asks, func(r request) bool { return strings.Contains(j.before.answers[r], "forward") }) {
		t.Error("what has room now is not asked for")
	}
	j.ask("once there is room")

	w.Ingresses = nil
	w.settle()
	if left := w.sim.Inventory(); left["load balancers"]+left["target groups"]+left["certificates"] > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// refusal is what is said to an Ingress that is left out, or "".
func (q quota) refusal(w *world, name string) string {
	_, built, err := w.reconcile()
	if err != nil && !onlyPending(err) {
		w.Error(err)
	}
	for _, d := range built.Diagnostics {
		if d.Reason == diag.QuotaExceeded && d.Source.Name == name {
			return d.Message
		}
	}
	return ""
}

// Two ports of a load balancer can verify the certificates of clients: the Ingress that asks for a
// third is left out by name, and let in once there is room. So is one whose port its class makes a
// third. Nobody gets in unverified.
func TestQuotaOfVerifyingPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		w.sim.AddTrustStore("partners")
		w.service("web", 1)
		verify := func(n int) {
			w.class(func(c *spec) {
				c.Ports = append(c.Ports, v1alpha1.PortSettings{
					Port: int32(8440 + n), MutualAuthentication: &v1alpha1.MutualAuthentication{Mode: "verify", TrustStore: "partners"},
				})
			})
		}
		ask := func(n int) {
			w.serve(site(n), map[string]string{"/": "web"}).CreationTimestamp.Time = time.Unix(int64(1_700_000_000+n), 0)
			secure(w, site(n))
			w.change(site(n), func(ing *networkingv1.Ingress) {
				ing.Annotations["fairlead.dev/listen-ports"] = fmt.Sprintf(`[{"HTTPS":%d}]`, 8440+n)
			})
			w.settle()
		}
		open := func(want ...int32) {
			t.Helper()
			var ports []int32
			for _, l := range w.seen.Listeners {
				if ports = append(ports, l.Port); !l.Verifies {
					t.Errorf("port %d does not verify", l.Port)
				}
			}
			if !slices.Equal(ports, want) {
				t.Errorf("ports %v are open, want %v", ports, want)
			}
		}
		refused := func(n int) {
			t.Helper()
			const says = "more listeners that verify the certificates of clients than the 2 that alb allows"
			if why := (quota{}).refusal(w, site(n)); !strings.Contains(why, says) {
				t.Errorf("the refusal of %s is %q, and does not say %q", site(n), why, says)
			}
		}
		for n := range 3 {
			verify(n)
			ask(n)
		}
		open(8440, 8441)
		refused(2)
		w.restart()
		w.settle()
		open(8440, 8441)
		w.remove(site(0))
		w.settle()
		open(8441, 8442)

		ask(3)
		verify(3) // the port is open by now
		w.settle()
		open(8441, 8442)
		refused(3)
	})
}

// A limit that AWS raises lets in who was kept out, once somebody looks; one that is lowered takes
// nothing away, and what goes can go.
func TestLimitsOfTheAccountChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := slow()
		o.Limits = albsim.Limits{RulesPerLoadBalancer: 3}
		w := newWorld(t, o)
		w.service("web", 1)
		for n := range 4 {
			w.serve(site(n), map[string]string{"/": "web"}).CreationTimestamp.Time = time.Unix(int64(1_700_000_000+n), 0)
		}
		rules := func(want int) {
			t.Helper()
			w.settle()
			if got := w.seen.Counts().Rules; got != want {
				t.Errorf("%d rules, want %d", got, want)
			}
		}
		rules(3)
		w.sim.SetLimits(albsim.Limits{RulesPerLoadBalancer: 10})
		rules(3) // nobody asks so soon
		time.Sleep(limitsAwaited)
		w.sim.Forget()
		rules(4)
		if calls := asked(w, "DescribeAccountLimits"); calls != 1 {
			t.Errorf("the limits are read %d times", calls)
		}
		w.sim.SetLimits(albsim.Limits{RulesPerLoadBalancer: 2})
		w.restart()
		rules(4)
		w.remove(site(1))
		rules(3)
		w.remove(site(2))
		w.remove(site(3))
		rules(1)
		w.serve(site(5), map[string]string{"/": "web"})
		rules(2)
	})
}

// While the account's limits cannot be read those that AWS publishes count, and what is there
// stays, though it may be more than these.
func TestLimitsThatCannotBeReadTakeNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := slow()
		o.Limits = albsim.Limits{RulesPerLoadBalancer: 110, TargetGroupsPerLoadBalancer: 110}
		w := newWorld(t, o)
		serve := func(n int) {
			w.service(fmt.Sprintf("web-%d", n), 1)
			w.serve(site(n), map[string]string{"/": fmt.Sprintf("web-%d", n)}).CreationTimestamp.Time = time.Unix(int64(1_700_000_000+n), 0)
		}
		for n := range 102 {
			serve(n)
		}
		w.settle()
		before := w.seen.Counts().Rules
		if published := lb.ALB().Rules; before <= published {
			t.Fatalf("%d rules are no more than the %d that AWS publishes", before, published)
		}
		w.sim.Refuse(func(in any) error {
			if _, limits := in.(*elbapi.DescribeAccountLimitsInput); limits {
				return &smithy.GenericAPIError{Code: "InternalFailure", Message: "try again"}
			}
			return nil
		})
		w.restart()
		w.settle()
		if n := w.seen.Counts().Rules; n != before {
			t.Errorf("%d rules, and %d before", n, before)
		}
		w.remove(site(7))
		w.settle()
		if n := w.seen.Counts().Rules; n != before-1 {
			t.Errorf("%d rules after an Ingress is deleted, want %d", n, before-1)
		}
		serve(200)
		w.settle()
		if n := w.seen.Counts().Rules; n != before-1 {
			t.Errorf("%d rules with an Ingress more than AWS publishes, want %d", n, before-1)
		}
		w.sim.Refuse(nil)
		serve(201)
		w.settle()
		if n := w.seen.Counts().Rules; n != before+1 {
			t.Errorf("%d rules once the limits are read, want %d", n, before+1)
		}
	})
}

// limitsAwaited is how long the limits are believed of which one is in the way.
const limitsAwaited = 10 * time.Minute

// asked counts the calls of an action.
func asked(w *world, action string) int {
	n := 0
	for _, c := range w.sim.Calls() {
		if c.Action == action {
			n++
		}
	}
	return n
}

// A rule can hold five values, and an Ingress that needs more in one is refused alone.
func TestQuotaOfValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		w.service("web", 1)
		w.serve("good", map[string]string{"/": "web"})
		w.serve("many", map[string]string{"/": "web"})
		w.change("many", func(ing *networkingv1.Ingress) {
			ing.Annotations["fairlead.dev/conditions"] = `[{"backend": "web", "header": {"A": ["1"], "B": ["1"], "C": ["1"]}, "query": {"x": ["1"], "y": ["1"], "z": ["1"]}}]`
		})
		w.settle()
		time.Sleep(2 * time.Minute)
		j := &judge{world: w, address: w.seen.Address.Hostname, tally: &tally{}, asks: requests([]int32{80}, []string{"good.example.com", "many.example.com"}, []string{"/"})}
		j.begin()
		j.ask("at rest")
		_, built, err := w.reconcile()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Reason == diag.NotExpressible && d.Source.Name == "many" && strings.Contains(d.Message, "6 conditions, and a rule of alb has room for 3")
		}) || j.before.answers[j.asks[0]] != "forward good.example.com/ to shop/web:80*1" {
			t.Errorf("%v; the neighbour is answered with %s", built.Diagnostics, j.before.answers[j.asks[0]])
		}
	})
}

// A target group that is full keeps its members and takes others as far as there is room, and their
// owner is told how many there are; the other groups go on, and those in whose place others have
// left get in.
func TestQuotaOfTargets(t *testing.T) {
	for name, c := range map[string]struct {
		limits albsim.Limits
		says   string
	}{
		"of a target group":  {albsim.Limits{TargetsPerGroup: 4}, "Service shop/big has 6 targets, and a target group of alb takes 4 (quota L-A0D0B863)"},
		"of a load balancer": {albsim.Limits{TargetsPerLoadBalancer: 6}, "has 8 targets in all, and alb takes 6 (quota L-7E6692B2)"},
	} {
		t.Run(name, func(t *testing.T) {
			o := slow()
			o.Limits = c.limits
			inBubble(t, o, func(w *world) {
				w.service("big", 3)
				w.service("small", 1)
				w.serve("shop", map[string]string{"/": "big", "/api": "small"})
				w.settle()
				time.Sleep(2 * time.Minute)
				address := w.seen.Address.Hostname
				behind := func(path string, want int) {
					t.Helper()
					time.Sleep(time.Minute)
					answer := w.sim.Ask(address, matching.Request{Port: 80, Host: "shop.example.com", Path: path}, matching.Reading{})
					if got := len(answer.Forward[0].Targets); got != want {
						t.Errorf("%d pods are behind %s, want %d", got, path, want)
					}
				}

				w.service("small", 2)
				w.settle()
				w.service("big", 6)
				w.sim.Forget()
				_, built, err := w.reconcile()
				if err != nil || asked(w, "RegisterTargets") != 1 {
					t.Errorf("six where four are allowed: %v, %v", w.sim.Calls(), err)
				}
				if !slices.ContainsFunc(built.Diagnostics, func(d diag.Diagnostic) bool {
					return d.Reason == diag.QuotaExceeded && d.Severity == diag.Warning && strings.Contains(d.Message, c.says)
				}) {
					t.Errorf("nothing says %q: %v", c.says, built.Diagnostics)
				}
				behind("/", 4)
				behind("/api", 2)
				w.sim.Forget()
				w.settle()
				if calls := w.sim.Calls(); len(calls) > 0 {
					t.Errorf("those for whom there is no room cost %v", calls)
				}

				w.service("big", 2)
				w.settle()
				behind("/", 2)
				w.replacePods("big")
				if err := w.rest(); err != nil && !errors.Is(err, providers.ErrNoRoom) { // those that leave take their time
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				w.settle()
				behind("/", 2)
			})
		})
	}
}

// Where the account takes fewer targets than is known, as many are registered as it takes.
func TestTargetsForWhichThereIsNoRoomKeepNobodyOut(t *testing.T) {
	o := slow()
	inBubble(t, o, func(w *world) {
		w.service("big", 2)
		w.serve("shop", map[string]string{"/": "big"})
		w.settle()
		time.Sleep(2 * time.Minute)
		address := w.seen.Address.Hostname
		w.sim.SetLimits(albsim.Limits{TargetsPerGroup: 77})
		w.service("big", 150)
		_, _, err := w.reconcile()
		if !errors.Is(err, providers.ErrNoRoom) || !strings.Contains(fmt.Sprint(err), "150 targets are wanted, and 77 are registered") {
			t.Errorf("more than there is room for: %v", err)
		}
		time.Sleep(time.Minute)
		answer := w.sim.Ask(address, matching.Request{Port: 80, Host: "shop.example.com", Path: "/"}, matching.Reading{})
		if n := len(answer.Forward[0].Targets); n != 77 {
			t.Errorf("%d targets are there", n)
		}
	})
}

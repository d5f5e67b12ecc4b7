package operator

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/kube"
)

// This file runs the operator in accounts as AWS may be: reads and the index of tags lag behind
// writes, rights are those of docs/iam-policy.json, and what AWS leaves undocumented turns out as
// the seed says. Requests are judged after each call, before the operator starts again or looks
// deeply.

var (
	seed = flag.Uint64("seed", 0, "the `seed` of what AWS leaves undocumented; 0 draws one")
	late = flag.Duration("late", 2*time.Second, "how long reads and the index of tags lag behind writes")
)

// realAccount is an account as AWS may be, in a hurry.
func realAccount(t *testing.T) account {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d -late %s", s, *late)
	policy, err := iam.ReadPolicy("../../docs/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	o := albsim.Real(s, *late)
	o.Provisioning, o.Propagation, o.Linger, o.Health = usual.Provisioning, usual.Propagation, usual.Linger, usual.Health
	o.Authorize = policy.Allows
	return simulating(t, o)
}

// A vigil asks the data plane for hosts after each call, and keeps what was answered wrongly.
type vigil struct {
	sim   *albsim.Sim
	plain bool // nothing is asked over TLS

	mu      sync.Mutex
	address string
	may     map[string][]string // the addresses of pods that may answer for a host
	wrong   []string
}

// watch starts a vigil over nothing.
func (w *world) watch() *vigil {
	v := &vigil{sim: w.sim, may: map[string][]string{}}
	w.sim.Watch(func(c albsim.Call) { v.ask("after " + c.String()) })
	return v
}

// vigilOver asks for hosts after each call, over HTTP alone.
func (w *world) vigilOver(address string, may map[string][]string) *vigil {
	v := w.watch()
	v.plain = true
	v.at(address, may)
	return v
}

// at has a load balancer asked from now on, for hosts that some pods may answer for.
func (v *vigil) at(address string, may map[string][]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.address, v.may = address, may
}

func (v *vigil) ask(when string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for host, may := range v.may {
		for _, secure := range []bool{false, true} {
			if secure && v.plain {
				continue
			}
			if got := v.answers(v.address, host, secure); !slices.ContainsFunc(may, func(pod string) bool { return got == pod }) {
				v.wrong = append(v.wrong, fmt.Sprintf("%s %s, over TLS %t, is answered by %q, and not by one of %v", when, host, secure, got, may))
			}
		}
	}
}

// answers is the pod that answers for a host at an address, or what is answered instead.
func (v *vigil) answers(address, host string, secure bool) string {
	r := matching.Request{Port: 80, Host: host, Path: "/"}
	if secure {
		r.Port, r.TLS, r.SNI = 443, true, host
	}
	answer := v.sim.Ask(address, r, matching.Reading{})
	if answer.Refused {
		return "nobody"
	}
	if shown := v.sim.Hosts(answer.Certificate); secure && !slices.Contains(shown, host) {
		return fmt.Sprintf("one with the certificate of %v", shown)
	}
	var pods []string
	for _, share := range answer.Forward {
		if share.Weight > 0 {
			pods = append(pods, share.Targets...)
		}
	}
	if len(pods) == 0 {
		return fmt.Sprint(answer.Status)
	}
	return strings.Join(pods, " ")
}

// served reports whether a host is answered for by a pod, on both ports.
func (v *vigil) served(address, host, pod string) bool {
	return address != "" && v.answers(address, host, false) == pod && v.answers(address, host, true) == pod
}

// expect waits until a host is served by a pod where its Ingress says, and until then has
// everything else answered as it was.
func (w *world) expect(t *testing.T, v *vigil, what, name, pod string) {
	t.Helper()
	kube.Eventually(t, what, func() bool {
		v.ask("before " + what)
		return v.served(w.hostname(t, name), name+".example.com", pod)
	})
	v.judge(t, what)
}

// judge tells of what was answered wrongly since the last time.
func (v *vigil) judge(t *testing.T, when string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, wrong := range v.wrong {
		t.Errorf("%s: %s", when, wrong)
	}
	v.wrong = nil
}

// behind is the pod of a Service, as the data plane names it.
func behind(i int) string { return pods(i, 1)[0] + ":8080" }

func hostOf(i int) string { return site(i) + ".example.com" }

// securedSite makes an Ingress of a number with a Service and a Secret of its own.
func (w *world) securedSite(t *testing.T, i int) {
	t.Helper()
	w.serve(t, backend(i), pods(i, 1)...)
	w.secure(t, w.ingress(site(i), backend(i), "/"))
}

// TestRealAccountIsServed creates, inserts, retargets and renews.
func TestRealAccountIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realAccount(t))
	before := w.sim.Inventory()
	v := w.watch()
	w.securedSite(t, 1)
	w.replace(t)
	w.expect(t, v, "the first Ingress is served", site(1), behind(1))
	address := w.hostname(t, site(1))
	v.at(address, map[string][]string{hostOf(1): {behind(1)}})

	w.securedSite(t, 0)
	w.expect(t, v, "one that sorts before it is served", site(0), behind(0))
	v.at(address, map[string][]string{hostOf(0): {behind(0)}, hostOf(1): {behind(1), behind(2)}})

	w.serve(t, backend(2), pods(2, 1)...)
	w.point(t, site(1), backend(2))
	w.expect(t, v, "the first one goes to another Service", site(1), behind(2))
	v.at(address, map[string][]string{hostOf(0): {behind(0)}, hostOf(1): {behind(2)}})

	imports := w.proxy.count("ImportCertificate")
	w.renew(t, site(1))
	kube.Eventually(t, "its certificate is renewed", func() bool { return w.proxy.count("ImportCertificate") > imports && w.holds(t, site(1)) })
	w.expect(t, v, "it is served as before", site(1), behind(2))
	w.leave(t, v, before)
}

// TestRealAccountAtARestart moves an Ingress, and ends the operator while what it made is not
// found.
func TestRealAccountAtARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realAccount(t))
	before := w.sim.Inventory()
	v := w.watch()
	w.securedSite(t, 0)
	w.securedSite(t, 1)
	w.replace(t)
	w.expect(t, v, "the first Ingress is served", site(0), behind(0))
	w.expect(t, v, "the second Ingress is served", site(1), behind(1))
	address := w.hostname(t, site(0))
	v.at(address, map[string][]string{hostOf(0): {behind(0)}, hostOf(1): {behind(1)}}) // the old address is good for a while

	edit(t, w, &networkingv1.Ingress{}, site(1), func(ing *networkingv1.Ingress) { ing.Annotations["fairlead.dev/group"] = "others" })
	kube.Eventually(t, "the second one has moved", func() bool { return w.hostname(t, site(1)) != address })
	w.expect(t, v, "it is served where it moved to", site(1), behind(1))

	w.flags = []string{"--drift-interval=3s"} // or else the first look of a process is repeated after two minutes
	w.serve(t, backend(2), pods(2, 1)...)
	w.proxy.forget()
	w.create(t, w.ingress(site(2), backend(2), "/"))
	for _, call := range []string{"CreateTargetGroup", "CreateRule"} {
		kube.Eventually(t, "the operator calls "+call, func() bool { return w.proxy.count(call) > 0 })
		w.replace(t)
	}
	kube.Eventually(t, "one that came as the operator was killed is served, and nothing is there twice", func() bool {
		there := w.sim.Inventory() // the Ingress that moved is served at its old address, too, for a while
		return v.answers(address, hostOf(2), false) == behind(2) && there["load balancers"] == 2 && there["target groups"] == 4 && there["rules"] == 7
	})
	v.judge(t, "after that")
	w.leave(t, v, before)
}

// leave deletes all Ingresses, and judges what is left.
func (w *world) leave(t *testing.T, v *vigil, before map[string]int) {
	t.Helper()
	v.at("", nil)
	if err := w.DeleteAllOf(t.Context(), &networkingv1.Ingress{}, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("there is %v", w.sim.Inventory())
		}
	})
	kube.Eventually(t, "all is gone", func() bool { return w.ingresses(t) == 0 && maps.Equal(w.sim.Inventory(), before) })
}

package alb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
)

// This file sends requests to the data plane after every single call, while random Ingresses become
// others: each is answered as before the change or as after it, and by nothing else.

// The requests that are sent, to every port.
var (
	askedHosts = []string{"a.example.com", "b.example.com", "x.example.com", "x.y.example.com", "other.net"}
	askedPaths = []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/b/a", "/c,1", "/c,1/x"}
)

// A judge knows what each request may be answered with.
type judge struct {
	*world
	how     albsim.Reading
	allowed map[[2]string]map[string]bool // by host and path
	address string                        // of the load balancer
	mu      sync.Mutex
	astray  bool
}

// allow lets requests be answered as a table says.
func (j *judge) allow(t *routing.Table) {
	for _, host := range askedHosts {
		for _, path := range askedPaths {
			r := routing.Request{Port: 80, Host: host, Path: path}
			at := [2]string{host, path}
			if j.allowed[at] == nil {
				j.allowed[at] = map[string]bool{}
			}
			j.allowed[at][lb.FromRouting(t.Match(r).Action).String()] = true
		}
	}
}

// ask sends every request, and tells of those that are answered otherwise.
func (j *judge) ask(when string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for r, allowed := range j.allowed {
		answer := j.sim.Ask(j.address, albsim.Request{Port: 80, Host: r[0], Path: r[1]}, j.how)
		if got := j.spoken(answer); !allowed[got] {
			j.astray = true
			j.Errorf("%s: %s%s is answered with %s, not one of %v", when, r[0], r[1], got, allowed)
		}
	}
}

// spoken is an answer in the words of the model.
func (j *judge) spoken(a albsim.Answer) string {
	switch {
	case a.Refused:
		return "refused"
	case len(a.Forward) == 0:
		return fmt.Sprintf("fixed %d", a.Status)
	case a.Status != 0:
		return fmt.Sprintf("%d for want of targets in %v", a.Status, a.Forward)
	}
	action := lb.Action{Kind: "forward"}
	for _, s := range a.Forward {
		action.Targets = append(action.Targets, lb.Weighted{Group: lb.GroupID(s.Tags["fairlead.dev/target-group"]), Weight: s.Weight})
	}
	return action.String()
}

// redraw changes one Ingress, or adds or removes one.
func redraw(w *world, rng *rand.Rand) {
	if len(w.Ingresses) > 1 && rng.IntN(6) == 0 {
		w.remove(w.Ingresses[rng.IntN(len(w.Ingresses))].Name)
		return
	}
	if len(w.Ingresses) < 5 && rng.IntN(3) == 0 {
		w.serial++
		w.serve(fmt.Sprintf("ingress-%d", w.serial), map[string]string{"/": "service-0"})
	}
	ing := w.Ingresses[rng.IntN(len(w.Ingresses))].DeepCopy()
	w.Ingresses[slices.IndexFunc(w.Ingresses, func(i *networkingv1.Ingress) bool { return i.Name == ing.Name })] = ing
	hosts := []string{"a.example.com", "b.example.com", "*.example.com", ""}
	paths := []string{"/", "/a", "/a/b", "/b", "/c,1"}
	ing.Spec.Rules = nil
	for range 1 + rng.IntN(2) {
		var http networkingv1.HTTPIngressRuleValue
		for range 1 + rng.IntN(4) {
			kind := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact}[rng.IntN(2)]
			http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{Path: paths[rng.IntN(len(paths))], PathType: &kind, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: fmt.Sprintf("service-%d", rng.IntN(6)), Port: networkingv1.ServiceBackendPort{Number: 80}},
			}})
		}
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: hosts[rng.IntN(len(hosts))], IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &http}})
	}
}

func TestNoRequestEverGoesAstray(t *testing.T) {
	const lives, changes = 40, 50
	for life := range uint64(lives) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, life))
			w := newWorld(t, albsim.Options{
				Propagation: time.Duration(rng.IntN(3)) * 5 * time.Second, Linger: time.Duration(rng.IntN(2)) * 8 * time.Second, Health: 20 * time.Second,
			})
			for i := range 6 {
				w.service(fmt.Sprintf("service-%d", i), 1+i%2)
			}
			w.serve("first", map[string]string{"/": "service-0"})
			w.settle()
			time.Sleep(time.Minute)
			j := &judge{world: w, address: w.seen.Address.Hostname, how: albsim.Reading{HostWithPort: life%2 == 0, HostAsSent: life%3 == 0, Decoded: life%5 == 0}}
			for n := range changes {
				if j.astray {
					return
				}
				j.allowed = map[[2]string]map[string]bool{}
				j.allow(model.Compile(w.snapshot(), lb.Facts{}, lb.ALB()).Table)
				j.ask("at rest")
				redraw(w, rng)
				j.allow(model.Compile(w.snapshot(), lb.Facts{}, lb.ALB()).Table)
				w.sim.Watch(func(c albsim.Call) {
					if c.Write {
						j.ask(fmt.Sprintf("life %d, change %d, after %s", life, n, c))
						time.Sleep(time.Duration(rng.IntN(4)) * time.Second)
						j.ask(fmt.Sprintf("life %d, change %d, some time after %s", life, n, c))
					}
				})
				w.settle()
				w.sim.Watch(nil)
				time.Sleep(time.Minute)
			}
		})
	}
}

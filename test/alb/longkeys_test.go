package alb

import (
	"strings"
	"testing"

	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// The names of a class, a namespace and an Ingress may be longer together than the value of a tag,
// or the description of a security group.
func TestNamesThatAreLongTogether(t *testing.T) {
	for _, length := range []int{225, 240, 253} {
		inBubble(t, usual(), func(w *world) {
			w.service("web", 2)
			ing := w.serve("shop", map[string]string{"/": "web"})
			ing.Name = strings.Repeat("a", length)
			delete(ing.Annotations, "fairlead.dev/group")
			w.key = lb.Key("fairlead/shop/" + ing.Name + "/internal")
			w.settle()
			if a := w.request("shop"); len(a.Forward) == 0 {
				t.Errorf("an Ingress with a name of %d characters is answered %+v", length, a)
			}
			w.restart()
			w.sim.Forget()
			w.settle()
			w.rests("another process looks")
			if _, writes := w.sim.Cost(); writes > 0 {
				t.Errorf("it writes again: %v", w.sim.Calls())
			}
			if keys, err := w.cloud.List(w.Context()); err != nil || len(keys) != 1 || keys[0] != w.key {
				t.Errorf("it lists %v, %v", keys, err)
			}
			w.Ingresses = nil
			w.settle()
			if left := w.sim.Inventory(); left["load balancers"] > 0 || left["target groups"] > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// A listener that is changed to HTTPS has to be given a security policy.
func TestAPortThatTurnsToHTTPS(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		changed := false
		w.service("web", 2)
		w.secret("tls", 0, "shop.example.com")
		ing := w.serve("shop", map[string]string{"/": "web"})
		w.ask("shop", "listen-ports", "HTTP:8443")
		w.finish()
		w.sim.Refuse(func(in any) error {
			m, is := in.(*elbapi.ModifyListenerInput)
			changed = changed || is && m.Protocol == "HTTPS"
			return nil
		})
		w.ask("shop", "listen-ports", "HTTPS:8443")
		w.secured(ing, "tls")
		w.propagated()
		a := w.sim.Ask(w.seen.Address.Hostname, matching.Request{Port: 8443, TLS: true, SNI: "shop.example.com", Host: "shop.example.com", Path: "/"}, matching.Reading{})
		if !changed || len(a.Forward) == 0 {
			t.Errorf("changed: %t; it is answered %+v", changed, a)
		}
	})
}

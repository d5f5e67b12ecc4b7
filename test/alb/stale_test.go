package alb

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	acm "github.com/aws/aws-sdk-go-v2/service/acm/types"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim"
)

// This file lets a fact not be looked up that one member needs, and asks for changes of the others.

func TestAFactThatCannotBeLookedUpHoldsNobodyElseUp(t *testing.T) {
	for name, c := range map[string]struct {
		call   string
		needed func(w *world) // has the Ingress site need the fact
		later  func(w *world) // has it be asked for again
	}{
		"the certificates of the account": {"ListCertificatesInput", func(w *world) {
			w.sim.Issue(time.Now().AddDate(1, 0, 0), acm.CertificateStatusIssued, "site.example.com")
			w.change("site", func(ing *networkingv1.Ingress) {
				ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"site.example.com"}}}
			})
		}, func(w *world) { w.seen = nil }},
		"the VPC's subnets": {"DescribeSubnetsInput", func(*world) {}, (*world).restart},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, usual(), func(w *world) {
				w.service("web", 1)
				w.serve("site", map[string]string{"/": "web"})
				w.serve("gone", map[string]string{"/": "web"})
				c.needed(w)
				w.propagated()
				before, ports := w.request("site"), listeners(w)

				time.Sleep(time.Hour) // what was read is old
				w.sim.Refuse(func(in any) error {
					if reflect.TypeOf(in).Elem().Name() == c.call {
						return albsim.Refusal("ServiceUnavailable", "try again")
					}
					return nil
				})
				c.later(w)
				w.remove("gone")
				w.serve("next", map[string]string{"/": "web"})
				w.propagated()
				if a := w.request("next"); len(a.Forward) == 0 {
					t.Errorf("another Ingress waits: %+v", a)
				}
				if a := w.request("gone"); len(a.Forward) > 0 {
					t.Errorf("a deletion waits: %+v", a)
				}
				if !slices.ContainsFunc(w.about(diag.Unread), func(d diag.Diagnostic) bool { return strings.Contains(d.Message, "ServiceUnavailable") }) {
					t.Error("nothing is said of it")
				}
				if before := ports; !slices.Equal(before, listeners(w)) {
					t.Errorf("its ports were %v and are %v", before, listeners(w))
				}
				if a := w.request("site"); len(a.Forward) != len(before.Forward) {
					t.Errorf("it was answered %+v, and is answered %+v", before, a)
				}
			})
		})
	}
}

// listeners are the ports that the load balancer listens on.
func listeners(w *world) []int32 {
	var out []int32
	for _, l := range w.seen.Listeners {
		out = append(out, l.Port)
	}
	return out
}

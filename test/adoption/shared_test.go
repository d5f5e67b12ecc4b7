package adoption

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/test/albsim"
)

// This file gives a load balancer back to whose targets only Fairlead lets it connect: they have got another port since.

// takeOne takes the load balancer of the Ingress shop/one over, as far as it goes.
func (s *site) takeOne() (out adoption.Outcome) {
	s.Helper()
	cloud := s.cloud()
	found, err := adoption.Others(s.Context(), cloud)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range adopt.Pairs(found, adoption.Plain(s.wanted(cloud)), albsim.Cluster) {
		if p.Found == nil || p.Wanted == nil || adopt.Stack(p.Found) != "shop/one" {
			continue
		}
		if out, err = s.taker(cloud).TakeFound(s.Context(), p.Found.Handle, *p.Wanted, []string{"shop/one"}, false, requests.OfCommand); err != nil {
			s.Fatal(err)
		}
	}
	return out
}

// leftOver returns what adopt --status says that load balancers have left of Fairlead's.
func (s *site) leftOver() (out []string) {
	s.Helper()
	taker := s.taker(s.cloud())
	all, err := taker.Records.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range all {
		holders, err := taker.Status(s.Context(), r)
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, slices.DeleteFunc(holders, func(text string) bool { return !strings.Contains(text, strings.TrimSpace(ourShared)) })...)
	}
	return out
}

// move gives the targets of a Service another port.
func (s *site) move(service string, port int32) {
	s.Helper()
	s.asTheirs(func() error {
		var slices discoveryv1.EndpointSliceList
		if err := s.kube.List(s.Context(), &slices, client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
			return err
		}
		for i := range slices.Items {
			slices.Items[i].Ports[0].Port = &port
			if err := s.kube.Update(s.Context(), &slices.Items[i]); err != nil {
				return err
			}
		}
		of := &corev1.Service{}
		if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: service}, of); err != nil {
			return err
		}
		of.Spec.Ports[0].TargetPort = intstr.FromInt32(port)
		return s.kube.Update(s.Context(), of)
	})
}

// shared is the ID of the security group that Fairlead's load balancers share.
func (s *site) shared() string {
	s.Helper()
	for _, line := range s.inventory() {
		if strings.Contains(line, ourShared) {
			return strings.Fields(line)[2]
		}
	}
	s.Fatal("there is none")
	return ""
}

// TestTheSharedSecurityGroupGoes: it stays with a load balancer that was given back until the controller has opened the
// nodes to its own. That is said, and then the command deletes it, or the operator.
func TestTheSharedSecurityGroupGoes(t *testing.T) {
	for name, byOperator := range map[string]bool{"by the command": false, "by the operator": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, strings.Replace(base, "clusterName: CLUSTER", "clusterName: CLUSTER, only: [shop/one]", 1)+service("web", 80, 8080, 30080)+service("api", 80, 9090, 30090)+
				theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com / Prefix web http")+
				theIngress("two", map[string]string{"target-type": "ip"}, "b.example.com / Prefix api http"))
			s.startTheirs()
			s.learn(someRequests...)
			before := s.inventory()
			s.asTheirs(func() error { return s.kube.Create(t.Context(), classNamed("canary")) })
			s.takeOne()
			s.change("one", func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = aws.String("canary") })
			if out := s.takeOne(); out.State != adoption.Taken {
				t.Fatalf("%+v", out)
			}
			s.move("web", 7070)
			s.asked = nil // the targets change
			if err := s.operate(); err != nil {
				t.Fatal(err)
			}
			s.learn(someRequests...)
			s.right("once the targets have another port")
			give := func() adoption.Outcome {
				t.Helper()
				all, err := s.taker(s.cloud()).Records.List(t.Context())
				if err != nil || len(all) != 1 {
					t.Fatal(all, err)
				}
				out, err := s.taker(s.cloud()).ReleaseFound(t.Context(), all[0].Handle, all[0].Key, []string{"shop/one"}, false)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if out := give(); out.State != adoption.Returned || len(out.Left) != 1 {
				t.Fatalf("%+v", out)
			}
			s.change("one", func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = aws.String("alb") })
			if out := give(); out.State != adoption.Released || len(out.Left) != 1 {
				t.Fatalf("%+v", out)
			}
			s.right("once it is given back")
			if out := give(); len(out.Left) != 1 || len(s.leftOver()) != 1 {
				t.Errorf("before the controller has started: %+v, %q", out, s.leftOver())
			}
			s.right("before the controller has started")
			shared := s.shared()
			s.startTheirs()
			s.right("once the controller has started")
			if byOperator {
				newAdopting(s).minutes(1)
			} else if out := give(); len(out.Left) > 0 {
				t.Errorf("%+v", out)
			}
			s.right("at the end")
			if len(s.leftOver()) > 0 || give().Left != nil {
				t.Errorf("at the end, these have something left: %q", s.leftOver())
			}
			s.move("web", 8080)
			s.asked = nil
			s.startTheirs()
			now := s.inventory()
			// On the nodes, the controller keeps rules for ports of its own.
			if diff := cmp.Diff(less(before, " nodes "), less(now, " nodes ")); diff != "" {
				t.Errorf("at the end, there is\n%s", diff)
			}
			if slices.ContainsFunc(now, func(l string) bool { return strings.Contains(l, shared) }) {
				t.Errorf("at the end, there are the group or rules for it: %q", now)
			}
		})
	}
}

// Package operator runs the operator as a process, on a real API server and against AWS as two
// others imitate it: the simulator of this project, which is strict, and moto, which others wrote.
package operator

import (
	"flag"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"fairlead.dev/fairlead/test/kube"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())                          // of the tests' own client, which has nothing to say
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait, most of the time
		panic(err)
	}
	kube.Main(m, kube.Options{})
}

// TestIngressesAreServedFromAWS follows an Ingress from its creation to its end.
func TestIngressesAreServedFromAWS(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]func(*testing.T) account{"albsim": simulated, "moto": emulated} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, account(t))
			w.byNode(t)
			w.flags = []string{"--aws-cluster-name=" + w.name}
			w.serve(t, "web", "10.0.0.10", "10.0.0.11")
			w.serve(t, "api", "10.0.0.12")
			w.replace(t)
			w.ask(t, path("/", "web"))
			kube.Eventually(t, "the Ingress says where it is reached", func() bool {
				b := w.balancer(t)
				return b != nil && w.hostname(t, "shop") == aws.ToString(b.DNSName)
			})
			kube.Eventually(t, "both Pods are targets", func() bool {
				return slices.Equal(w.targets(t, "web"), []string{"10.0.0.10:8080", "10.0.0.11:8080"})
			})
			if got := w.hosts(t); !slices.Equal(got, []string{"shop.example.com", ""}) {
				t.Errorf("the rules are for %q", got)
			}
			first := w.balancer(t)
			w.expectFenced(t, *first)

			w.ask(t, path("/", "web")+", "+path("/api", "api"))
			kube.Eventually(t, "another path has its rule", func() bool { return len(w.rules(t)) == 2+1 })
			w.replica.Kill()
			w.ask(t, path("/api", "api"))
			w.replace(t)
			kube.Eventually(t, "what was asked for while nobody worked is done", func() bool { return len(w.targets(t, "web")) == 0 })
			if now := w.balancer(t); aws.ToString(now.LoadBalancerArn) != aws.ToString(first.LoadBalancerArn) {
				t.Errorf("the load balancer was %s, and is %s", *first.LoadBalancerArn, *now.LoadBalancerArn)
			}

			w.delete(t, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}})
			kube.Eventually(t, "the Ingress is gone, and all that was made for it", func() bool { return w.ingresses(t) == 0 && w.empty(t) })
			if left := w.admitted(t, w.nodes); len(left) > 0 {
				t.Errorf("the nodes still admit %v", left)
			}
		})
	}
}

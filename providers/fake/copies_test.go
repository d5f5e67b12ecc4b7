package fake_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake"
)

// The cloud changes its state in place. So what Observe returns is a copy: nothing that a caller
// writes there reaches the cloud, and no later step changes what a caller has.
func TestWhatIsObservedIsACopy(t *testing.T) {
	for name, options := range map[string]fake.Options{
		"now": {}, "served": {Serve: true}, "stale": {Stale: func(lb.Key) int { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := start(t, options)
			crowd(t, cloud, 3)
			apply(t, cloud, plan.CreateRule{Port: 80, Priority: 1, Rule: rule("- /first", fixed(410))}, plan.RegisterTargets{Group: "web-0001"})
			mine, want := observe(t, cloud), observe(t, cloud)
			mine.Handle, mine.Address.Hostname = "mine", "mine"
			mine.Listeners[0].Digest = "mine"
			mine.Listeners[0].Rules[0].Priority = 77
			mine.Listeners[0].Rules = append(mine.Listeners[0].Rules[:1], mine.Listeners[0].Rules[2:]...)
			mine.TargetGroups[0].Handle, mine.TargetGroups[0].Ready = "mine", !mine.TargetGroups[0].Ready
			mine.TargetGroups = append(mine.TargetGroups[:1], mine.TargetGroups[2:]...)
			if diff := cmp.Diff(want, observe(t, cloud)); diff != "" {
				t.Errorf("the cloud has what a caller wrote: %s", diff)
			}
			before := observe(t, cloud)
			apply(t, cloud, plan.CreateRule{Port: 80, Priority: 2, Rule: rule("- /second", fixed(410))},
				plan.ModifyTargetGroup{Group: lb.TargetGroup{ID: "web-0000", Digest: "other"}},
				plan.ModifyRule{Port: 80, Priority: 1, Rule: rule("- /other", fixed(410))},
				plan.DeleteRule{Port: 80, Priority: 2, Rule: rule("- /second", fixed(410))})
			if diff := cmp.Diff(want, before); diff != "" {
				t.Errorf("a step changed what a caller has: %s", diff)
			}
		})
	}
}

// A step costs as much in a large load balancer as in a small one, unless requests come between.
func TestAStepDoesNotCopyTheLoadBalancer(t *testing.T) {
	for _, serve := range []bool{false, true} {
		t.Run(fmt.Sprintf("serve=%t", serve), func(t *testing.T) {
			perStep := func(members int) uint64 {
				cloud := start(t, fake.Options{Serve: serve})
				crowd(t, cloud, members)
				const steps = 100
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range steps {
					apply(t, cloud, plan.ModifyRule{Port: 80, Priority: 10_000, Rule: rule("- /last", fixed(410))})
				}
				runtime.ReadMemStats(&after)
				return (after.TotalAlloc - before.TotalAlloc) / steps
			}
			small, large := perStep(100), perStep(1000)
			t.Logf("a step allocates %d bytes beside 100 rules, %d beside 1,000", small, large)
			if large > 2*small+4096 {
				t.Errorf("a step allocates %d bytes beside 1,000 rules, and %d beside 100", large, small)
			}
		})
	}
}

// crowd gives the cloud a load balancer with as many rules and target groups, and one rule more at
// priority 10,000.
func crowd(t *testing.T, cloud *fake.Cloud, members int) {
	t.Helper()
	apply(t, cloud, plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: shop}}, plan.CreateListener{Listener: http80()},
		plan.CreateRule{Port: 80, Priority: 10_000, Rule: rule("- -", fixed(410))})
	for i := range members {
		id := fmt.Sprintf("web-%04d", i)
		apply(t, cloud, plan.CreateTargetGroup{Group: group(id)},
			plan.CreateRule{Port: 80, Priority: 10 + i, Rule: rule("- /"+id, forward(id))})
	}
}

func apply(t *testing.T, cloud *fake.Cloud, steps ...plan.Step) {
	t.Helper()
	for _, step := range steps {
		if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: shop}, step); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that has connected when its port is closed gets the certificate that the port had.
func TestAHandshakeUnderWayEndsWhereThePortIsClosed(t *testing.T) {
	cloud := serve(t)
	o := program(t, cloud, loadBalancer(shop, nil, https443([]lb.CertificateID{"fake:shop.example.com"})))
	conn, err := net.Dial("tcp", at(o, 443))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	time.Sleep(50 * time.Millisecond) // the port has accepted the connection
	apply(t, cloud, plan.CreateRule{Port: 443, Priority: 77, Rule: rule("- -", fixed(410))}, plan.DeleteListener{Port: 443})
	shake := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := shake.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if host := shake.ConnectionState().PeerCertificates[0].DNSNames; len(host) != 1 || host[0] != "shop.example.com" {
		t.Errorf("the certificate is that of %s", host)
	}
}

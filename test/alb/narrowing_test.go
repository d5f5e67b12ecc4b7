package alb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/albsim"
)

// This file narrows who may connect, while others change the security group, and while reads of it
// are late.

// firewallID is the security group of the load balancer.
func (w *world) firewallID() string {
	w.Helper()
	return w.seen.Firewall
}

// TestNarrowingWhileAnotherRevokes has another tool revoke one of the grants that are to go, between
// the operator's read and its call: AWS revokes none of them then, or in a default VPC the others.
func TestNarrowingWhileAnotherRevokes(t *testing.T) {
	for _, standard := range []bool{false, true} {
		t.Run(fmt.Sprint("default VPC ", standard), func(t *testing.T) { narrowed(t, albsim.Options{DefaultVPC: standard}) })
	}
}

func narrowed(t *testing.T, o albsim.Options) {
	t.Helper()
	inBubble(t, o, func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.settle()
		owner := ec2.NewFromConfig(w.sim.OwnersConfig())
		done := false
		w.sim.Watch(func(c albsim.Call) {
			if done || c.Action != "DescribeSecurityGroups" {
				return
			}
			done = true
			gone := look.Grant{Port: 80, Source: "0.0.0.0/0"}
			if _, err := owner.RevokeSecurityGroupIngress(w.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId: sdk.String(w.firewallID()), IpPermissions: permissions(gone),
			}); err != nil {
				t.Error(err)
			}
		})
		w.annotate("inbound", "10.0.0.0/8")
		w.settle()
		w.sim.Watch(nil)
		if !done {
			t.Error("the security group was not read")
		}
		w.expectFences("narrowed", map[string][]string{"firewall": {"80 10.0.0.0/8"}, "shared": {}, "nodes": {"8080 shared"}})
	})
}

// TestInboundGoesToAndFro changes who may connect faster than reads follow. As soon as a change is
// carried out, no port is open for others, nor closed for those who may connect.
func TestInboundGoesToAndFro(t *testing.T) {
	s := drawn(t)
	for i := range uint64(4) {
		o := albsim.Real(s+i, 2*time.Minute)
		inBubble(t, o, func(w *world) {
			rng := rand.New(rand.NewPCG(s, i))
			w.service("web", 1)
			w.serve("site", map[string]string{"/": "web"})
			w.settle()
			time.Sleep(5 * time.Minute)
			for n := range 12 {
				source := fmt.Sprintf("10.%d.0.0/16", rng.IntN(3))
				w.annotate("inbound", source)
				w.settle()
				if got := w.fences()["firewall"]; !slices.Equal(got, []string{"80 " + source}) {
					t.Fatalf("after change %d to %s, it admits %q", n, source, got)
				}
				time.Sleep(time.Duration(rng.IntN(90)) * time.Second)
			}
		})
	}
}

// permissions are grants as EC2 has them.
func permissions(list ...look.Grant) (out []ec2types.IpPermission) {
	for _, g := range list {
		out = append(out, g.Permission())
	}
	return out
}

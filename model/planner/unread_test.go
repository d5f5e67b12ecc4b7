package planner

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file plans where settings could not be read.

func TestWhatCouldNotBeReadIsSaid(t *testing.T) {
	p := Diff(&lb.Observed{Key: "fairlead/shop/web/internal", Unread: []string{"reading the web ACL of it: AccessDenied"}}, lb.LoadBalancer{Key: "fairlead/shop/web/internal"}, lb.ALB())
	if len(p.Diagnostics) != 1 || p.Diagnostics[0].Reason != diag.Unread || !strings.Contains(p.Diagnostics[0].Message, "AccessDenied") || !p.Empty() {
		t.Errorf("it says %v, and there is to be done %v", p.Diagnostics, p.Print())
	}
}

func TestAnImpairedLoadBalancerIsTold(t *testing.T) {
	p := Diff(&lb.Observed{Key: "fairlead/shop/web/internal", Exists: true, Impaired: "no free addresses"}, lb.LoadBalancer{Key: "fairlead/shop/web/internal"}, lb.ALB())
	if len(p.Diagnostics) != 1 || p.Diagnostics[0].Reason != diag.Impaired || !strings.HasSuffix(p.Diagnostics[0].Message, "no free addresses") {
		t.Errorf("it says %v", p.Diagnostics)
	}
}

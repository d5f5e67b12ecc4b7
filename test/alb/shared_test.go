package alb

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
)

// This file counts what many load balancers ask for at the same moment, as all do when an operator
// starts.

func TestReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				q := lb.Questions{CertificateHosts: []string{"shop.example.com"}, Network: lb.Network{Key: lb.Key(fmt.Sprintf("fairlead/shop/@%d/internal", i)), Scheme: "internal"}}
				if _, err := w.cloud.Lookup(w.Context(), q); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, action := range []string{"DescribeAccountLimits", "DescribeSubnets", "ListCertificates"} {
			if calls := asked(w, action); calls == 0 || calls > 2 { // for a host without a certificate, once more
				t.Errorf("100 load balancers ask for %s %d times", action, calls)
			}
		}
		if calls := asked(w, "DescribeLoadBalancers"); calls != 100 {
			t.Errorf("%d load balancers are looked for, of 100", calls)
		}
	})
}

package alb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
)

// This file is about who is next where load balancers wait for AWS's rates.

// hurry is how long one change of a load balancer takes while so many others make a hundred changes
// each.
func hurry(t *testing.T, others int) (took time.Duration) {
	inBubble(t, albsim.Options{Rates: albsim.Published()}, func(w *world) {
		ctx, stop := context.WithCancel(w.Context())
		var all sync.WaitGroup
		for i := range others {
			busy := lb.Key(fmt.Sprintf("fairlead/busy/%d/internal", i))
			var p plan.Plan
			for g := range 100 {
				p.Steps = append(p.Steps, plan.Planned{Step: plan.CreateTargetGroup{Group: group(g)}})
			}
			all.Go(func() {
				if _, err := providers.Run(ctx, w.cloud, &lb.Observed{Key: busy}, p, providers.Options{}); err != nil && ctx.Err() == nil {
					w.Error(err)
				}
			})
		}
		time.Sleep(20 * time.Second) // what was saved up is spent
		began := time.Now()
		quiet := plan.Plan{Steps: []plan.Planned{{Step: plan.CreateTargetGroup{Group: group(0)}}}}
		if _, err := providers.Run(w.Context(), w.cloud, &lb.Observed{Key: "fairlead/quiet/0/internal"}, quiet, providers.Options{}); err != nil {
			w.Error(err)
		}
		took = time.Since(began)
		stop()
		all.Wait()
	})
	return took
}

func group(number int) lb.TargetGroup {
	return lb.TargetGroup{
		ID: lb.GroupID(fmt.Sprintf("g%d", number)), Service: fmt.Sprintf("shop/s%d", number), Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Health: routing.HealthCheck{
			Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200",
		}}
}

// A load balancer with one change waits for one call of each of the others, however many each of
// them has.
func TestBusyLoadBalancersDoNotDelayAQuietOne(t *testing.T) {
	for _, others := range []int{1, 20} {
		took := hurry(t, others)
		// Every other one has its turn once or twice before, at 3 calls a second.
		if most := time.Second + time.Duration(others+1)*time.Second/3; took > most {
			t.Errorf("beside %d busy load balancers one change takes %s, want at most %s", others, took, most)
		} else {
			t.Logf("beside %d busy load balancers one change takes %s", others, took)
		}
	}
}

package alb

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/albsim/matching"

	"fairlead.dev/fairlead/test/albsim"
)

// This file sets attributes that AWS refuses, or whose usual values depend on something.

// TestTheUsualValueDependsOnTheScheme sets an attribute and drops it again: the path through the
// internet gateway is closed again for an internal load balancer.
func TestTheUsualValueDependsOnTheScheme(t *testing.T) {
	const name = "ipv6.deny_all_igw_traffic"
	for scheme, usually := range map[string]string{"internal": "true", "internet-facing": "false"} {
		inBubble(t, usual(), func(w *world) {
			w.service("web", 1)
			w.serve("site", map[string]string{"/": "web"})
			w.class(func(s *spec) {
				s.Scheme, s.Attributes = scheme, map[string]string{name: map[string]string{"true": "false", "false": "true"}[usually]}
			})
			snapshots, _ := w.split()
			w.key = snapshots[0].Key
			w.settle()
			if _, a, _ := w.balancer(); a[name] == usually {
				t.Errorf("%s: it is %s", scheme, a[name])
			}
			w.class(func(s *spec) { s.Attributes = nil })
			w.settle()
			if _, a, _ := w.balancer(); a[name] != usually {
				t.Errorf("%s: without the attribute of the class, it is %s", scheme, a[name])
			}
		})
	}
}

// TestLogsThatCannotBeWrittenKeepNothingBack has a class ask for access logs in a bucket that does not
// let AWS write: a new load balancer serves all the same, with its other attributes, and it is told.
func TestLogsThatCannotBeWrittenKeepNothingBack(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.class(func(s *spec) {
			s.Attributes = map[string]string{
				"access_logs.s3.enabled": "true", "access_logs.s3.bucket": "logs", "routing.http.drop_invalid_header_fields.enabled": "true",
				"zonal_shift.config.enabled": "true",
			}
		})
		var said []string
		for range 40 {
			if _, err := w.try(); err != nil {
				said = append(said, err.Error())
			}
			time.Sleep(5 * time.Second)
		}
		b, _, _ := w.balancer()
		a := w.sim.Ask(strings.ToLower(*b.DNSName), matching.Request{Port: 80, Host: "site.example.com", Path: "/", Source: "10.0.0.1"}, matching.Reading{})
		if len(a.Forward) != 1 {
			t.Errorf("it answers %+v", a)
		}
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "Access Denied for bucket: logs") }) {
			t.Errorf("it says %q", said)
		}
		if _, a, _ := w.balancer(); a["routing.http.drop_invalid_header_fields.enabled"] != "true" {
			t.Error("attributes for security are not set")
		}
		w.sim.AddBucket("logs")
		w.settle()
		if _, a, _ := w.balancer(); a["access_logs.s3.enabled"] != "true" || a["zonal_shift.config.enabled"] != "true" {
			t.Errorf("with the bucket, the attributes are %v", a)
		}
		w.rests("the bucket was made")
	})
}

// TestAttributesThatExcludeEachOtherAreRefusedAtOnce asks for what AWS refuses: it is told when it is
// compiled, and AWS is asked for nothing that it refuses.
func TestAttributesThatExcludeEachOtherAreRefusedAtOnce(t *testing.T) {
	for _, asked := range []string{
		"slow_start.duration_seconds=30,load_balancing.algorithm.type=least_outstanding_requests",
		"load_balancing.algorithm.anomaly_mitigation=on",
		"stickiness.enabled=true,stickiness.type=app_cookie",
		"stickiness.app_cookie.cookie_name=AWSALBAPP-0",
		"stickiness.enabled=true,load_balancing.cross_zone.enabled=false",
		"waf.http2.traffic_inspection_behavior=inspect_after_sufficient_data",
		"routing.http2.rst_stream_error_forwarding.enabled=true",
	} {
		inBubble(t, albsim.Options{}, func(w *world) {
			w.service("web", 1)
			w.EndpointSlices[0].Endpoints[0].Addresses = []string{"10.0.0.9"} // in the VPC: without cross-zone, others need a zone
			w.serve("site", map[string]string{"/": "web"})
			w.annotate("target-group-attributes", asked)
			refused := 0
			w.sim.Watch(func(c albsim.Call) {
				if c.Error == "InvalidConfigurationRequest" {
					refused++
				}
			})
			w.settle()
			if refused > 0 || len(w.about(diag.NotExpressible)) != 1 {
				t.Errorf("%s: AWS refuses %d calls, and it says %v", asked, refused, w.about(diag.NotExpressible))
			}
		})
	}
}

package alb

import (
	"testing"
	"testing/synctest"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// Conditions on hosts, headers and queries mean in AWS what they mean in the specification, however it
// reads what it does not document, and AWS reads them back as they were written.
func TestConditionsInAWSAreTheSpecification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		for _, name := range []string{"service-0", "service-1", "service-2", "service-3", "service-4"} {
			w.service(name, 1)
		}
		w.serve("any", map[string]string{"/": "service-0", "/a": "service-1", "/b": "service-2", "/c": "service-3", "/d": "service-4"})
		w.change("any", func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].Host = ""
			ing.Annotations["fairlead.dev/listen-ports"] = "HTTP:80, HTTP:8080"
			ing.Annotations["fairlead.dev/conditions"] = `
- {path: /a, host: ["*.example.com", "shop-??.test", "a.*.io"]}
- {path: /b, hostRegex: ['^(api|www)-[0-9]+\.test$', 'x.*\.y[^a-c]z\.test']}
- {path: /c, headerRegex: {X-Team: ["^green[0-9]$", "a b.*"]}}
- {path: /d, queryStrings: ["v=2*", "beta", "w*=1"]}`
		})
		w.settle()
		if len(w.rejections) > 0 {
			t.Fatalf("refused: %v", w.rejections)
		}
		w.rests("it was made")
		w.restart()
		w.settle()
		w.rests("a restart")
		s := w.snapshot()
		table := model.Compile(s, lb.Facts{}, w.caps(s)).Table
		forwarded := map[string]bool{}
		for _, how := range []matching.Reading{{}, {HostWithPort: true}, {HostAsSent: true}, {HostWithPort: true, HostAsSent: true}} {
			for _, host := range []string{"x.example.com", "X.y.Example.com", "example.com", "shop-12.test", "shop-1.test", "a.b.io", "a.io", "api-7.test", "API-77.TEST", "api-.test", "xx.ybz.test", "xx.ydz.test", "x.ydz.test"} {
				for _, path := range []string{"/a", "/b", "/c", "/d"} {
					for _, team := range []string{"", "green1", "GREEN1", "green12", "a b c"} {
						for _, query := range []string{"", "v=22", "V=3", "other=BETA", "wide=1"} {
							for _, port := range []int32{80, 8080} {
								r := matching.Request{Port: port, Method: "GET", Host: host, Path: path, Query: query, Source: "203.0.113.7", Headers: map[string]string{}}
								if port == 8080 {
									r.Host += ":8080"
								}
								if team != "" {
									r.Headers["x-team"] = team
								}
								want := expected(table, r)
								if said := done(w.sim.Ask(w.seen.Address.Hostname, r, how)); said != want {
									t.Fatalf("reading %+v: %+v is answered with %s, not with %s", how, r, said, want)
								}
								forwarded[want] = true
							}
						}
					}
				}
			}
		}
		if len(forwarded) < 5 {
			t.Errorf("answered with %v: that shows little", forwarded)
		}
	})
}

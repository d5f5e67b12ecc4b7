package lowering

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// manyIngresses is n Ingresses, each with its own host and Service and four Prefix paths.
func manyIngresses(n int) routing.Config {
	var c routing.Config
	for i := range n {
		for j := range 4 {
			r := aRoute(fmt.Sprintf("ingress-%05d", i), routing.Host(fmt.Sprintf("host-%05d.example.test", i)),
				routing.Path{Type: routing.Prefix, Value: fmt.Sprintf("/service/part-%d", j)}, fmt.Sprintf("test/service-%05d:80", i), j, 80)
			c.Routes = append(c.Routes, r)
		}
	}
	return c
}

// oneHost is n Ingresses that share one host, each with its own Service and four Prefix paths.
func oneHost(n int) routing.Config {
	c := manyIngresses(n)
	for i := range c.Routes {
		c.Routes[i].Host = "www.example.test"
		c.Routes[i].Path.Value = fmt.Sprintf("/team-%05d/part-%d", i/4, i%4)
	}
	return c
}

// equalHosts is one Ingress whose n hosts have the same four paths and share their rules.
func equalHosts(n int) routing.Config {
	c := manyIngresses(n)
	for i := range c.Routes {
		r := &c.Routes[i]
		r.Owner.Name, r.Index, r.Action = "one", i, routing.To(routing.BackendID("test/one:80"))
	}
	return c
}

func TestTwentyIngressesAreFrugal(t *testing.T) {
	three := lb.ALBGlob()
	three.ValuesPerCondition = 3
	for name, c := range map[string]struct {
		caps lb.Capabilities
		want int
	}{
		"alb: a regular expression for the four":     {lb.ALB(), 20},
		"alb-glob: two prefixes a rule":              {lb.ALBGlob(), 40},
		"alb-glob, 3 values a condition: three each": {three, 60},
		"literal: no limit on values":                {lb.Literal(), 20},
	} {
		t.Run(name, func(t *testing.T) {
			lowered, _, refusals := Lower(tableOf(manyIngresses(20)), c.caps)
			if got := len(lowered.Listeners[0].Rules); got != c.want || len(refusals) > 0 {
				t.Errorf("%d rules and %d refusals; want %d and none", got, len(refusals), c.want)
			}
		})
	}
}

func BenchmarkLower(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for shape, config := range map[string]routing.Config{"own-host": manyIngresses(n), "one-host": oneHost(n), "equal-hosts": equalHosts(n)} {
			table := tableOf(config)
			for _, c := range allCapabilities()[:3] {
				b.Run(fmt.Sprintf("%s/%s/%d", c.Name, shape, 4*n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						Lower(table, c)
					}
				})
			}
		}
	}
}

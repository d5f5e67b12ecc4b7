package expect

import (
	"fmt"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/cputime"
	"fairlead.dev/fairlead/test/tables"
)

// This file tests what expectations mean, on a few tables.

// balancer is a load balancer with routes on ports 80 and 443.
func balancer(key routing.Key, routes ...routing.Route) *precedence.Table {
	c := routing.Config{Key: key, Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}, {Port: 443, Protocol: routing.HTTPS}}}
	for i, r := range routes {
		r.Index, r.Ports = i, []int32{80, 443}
		r.Source = diag.Source{Kind: "Ingress", Namespace: r.Owner.Namespace, Name: r.Owner.Name, Field: fmt.Sprintf("spec.rules[%d]", i)}
		c.Routes = append(c.Routes, r)
	}
	return tables.Named(c)
}

func to(namespace string, host routing.Host, path, service string) routing.Route {
	return routing.Route{Owner: routing.Owner{Namespace: namespace, Name: "web"}, Host: host, Path: routing.NewPath(routing.Prefix, path), Action: routing.To(routing.BackendID(namespace + "/" + service + ":80"))}
}

func signedIn(r routing.Route) routing.Route {
	r.Action.Auth = &routing.Auth{Kind: routing.OIDC, Issuer: "https://id.example.com", SecurePort: 443}
	return r
}

func redirected(r routing.Route) routing.Route {
	r.Action = routing.Action{Redirect: &routing.Redirect{Scheme: "https", Port: "443", Status: 301}}
	return r
}

func TestCheck(t *testing.T) {
	pay, shop := to("pay", "a.pay.example.com", "/", "web"), to("shop", "*.pay.example.com", "/refund", "web")
	admin, web := to("shop", "shop.example.com", "/admin", "admin"), to("shop", "shop.example.com", "/", "web")
	const internal, other = "fairlead/shop/web/internal", "fairlead/other/web/internet-facing"
	for name, c := range map[string]struct {
		expectation string
		tables      []*precedence.Table
		curls       []string
	}{
		"another namespace answers for a wildcard": {
			"requests: {hosts: ['*.pay.example.com']}, must: {namespaces: [pay]}",
			[]*precedence.Table{balancer(internal, pay, shop)}, []string{"curl http://any.pay.example.com/refund", "curl https://any.pay.example.com/refund"},
		},
		"hosts below at any depth": {
			"requests: {hosts: ['**.example.com'], schemes: [http]}, must: {namespaces: [pay]}",
			[]*precedence.Table{balancer(internal, pay, to("shop", "x.y.z.example.com", "/", "web"))}, []string{"curl http://x.y.z.example.com/"},
		},
		"a path without sign-in": {
			"requests: {paths: [{prefix: /admin}]}, must: {signIn: true}",
			[]*precedence.Table{balancer(internal, admin, web)}, []string{"curl http://shop.example.com/admin", "curl https://shop.example.com/admin"},
		},
		"a path with sign-in": {
			"requests: {paths: [{prefix: /admin}]}, must: {signIn: true}", []*precedence.Table{balancer(internal, signedIn(admin), web)}, nil,
		},
		"the same in spellings of a Service": {
			"requests: {paths: [{prefix: /admin, decoded: true}], schemes: [https]}, must: {signIn: true}",
			[]*precedence.Table{balancer(internal, signedIn(admin), web)}, []string{"curl https://shop.example.com/admiN"},
		},
		"HTTP goes to HTTPS, but for ACME": {
			"requests: {schemes: [http]}, except: [{paths: [{prefix: /.well-known/acme-challenge}]}], must: {redirect: {schemes: [https]}}",
			[]*precedence.Table{balancer(internal, redirected(web), to("shop", "shop.example.com", "/.well-known/acme-challenge", "acme"))}, nil,
		},
		"HTTP of one host does not": {
			"requests: {schemes: [http]}, must: {redirect: {schemes: [https]}}",
			[]*precedence.Table{balancer(internal, redirected(web), pay)}, []string{"curl http://a.pay.example.com/"},
		},
		"a URL goes to another Service": {
			"requests: {urls: ['https://shop.example.com/admin']}, must: {answered: true, services: ['shop/web:80']}",
			[]*precedence.Table{balancer(internal, admin, web)}, []string{"curl https://shop.example.com/admin"},
		},
		"a URL is answered on the load balancer of its host alone": {
			"requests: {urls: ['https://shop.example.com/']}, must: {answered: true, services: [shop/web]}",
			[]*precedence.Table{balancer(internal, web), balancer(other, to("other", "", "/", "web"))}, nil,
		},
		"all load balancers get requests for a host": {
			"requests: {hosts: [shop.example.com], schemes: [http]}, must: {services: [shop/web]}",
			[]*precedence.Table{balancer(internal, web), balancer(other, to("other", "", "/", "web"))}, []string{"curl http://shop.example.com/"},
		},
		"a URL of no load balancer": {
			"requests: {urls: ['https://gone.example.com/x?v=1']}, must: {answered: true}",
			[]*precedence.Table{balancer(internal, web)}, []string{"curl 'https://gone.example.com/x?v=1'"},
		},
		"no load balancer is asked for": {"requests: {hosts: [gone.example.com]}, must: {namespaces: [pay]}", []*precedence.Table{balancer(internal, web)}, nil},
		"what one namespace answers": {
			"requests: {answeredBy: {namespaces: [pay]}, schemes: [http]}, must: {forwarded: false}",
			[]*precedence.Table{balancer(internal, pay, web)}, []string{"curl http://a.pay.example.com/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Read("expectations: [{name: it, " + c.expectation + "}]")
			if err != nil {
				t.Fatal(err)
			}
			var curls []string
			result := Check(all[0], c.tables, requests.NewFinder(requests.OfCommand))
			for _, v := range result.Violations {
				curls = append(curls, v.Curl)
				if len(v.Problems) == 0 {
					t.Errorf("%s has no problem", v.Curl)
				}
			}
			if !slices.Equal(curls, c.curls) {
				t.Errorf("%+v", result)
			}
		})
	}
}

// TestCheckSaysWhatItDoesNotDecide has globs with more combinations than can be searched: the
// expectation does not hold, and the namespace is named. All expectations have one budget.
func TestCheckSaysWhatItDoesNotDecide(t *testing.T) {
	all, err := Read("expectations: [{name: it, requests: {paths: [{glob: '/*a*b*'}]}, must: {namespaces: [pay]}}]")
	if err != nil {
		t.Fatal(err)
	}
	var routes []routing.Route
	for i := range 80 {
		letters := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
		r := to("shop", "a.example.com", "/", "web")
		r.Path = routing.Path{Type: routing.Glob, Value: "/*" + letters + "*"}
		r.When = routing.Conditions{{Field: "header", Name: "x-0", Values: []string{"*" + letters + "*"}}}
		if i%2 == 0 {
			r.Owner.Namespace = "pay"
		}
		routes = append(routes, r)
	}
	table := []*precedence.Table{balancer("fairlead/shop/web/internal", routes...)}
	finder := requests.NewFinder(requests.OfPlan)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in a command; make test-all has another GOGC
	began := cputime.Self(t)
	for range 200 {
		result := Check(all[0], table, finder)
		if result.Verdict == Holds || len(result.Undecided) == 0 || result.Undecided[0].Namespace == "" {
			t.Fatalf("%+v", result)
		}
	}
	if took := cputime.Self(t) - began; cputime.Over(t, took, 2*time.Second) {
		t.Errorf("200 expectations took %v", took)
	}
}

package adopt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
)

// asked is what an Ingress asks for, with two Services: A is port 80 of s0, and B is port 80 of s1.
func asked(routes ...routing.Route) routing.Config {
	c := routing.Config{Key: "alb/test/ing/internal", Routes: routes}
	for i := range c.Routes {
		r := &c.Routes[i]
		r.Host, r.Ports, r.Owner, r.Index = "a.test", []int32{80}, routing.Owner{Namespace: "test", Name: "ing"}, i
	}
	return c
}

func route(path string, kind routing.PathType, a routing.Action) routing.Route {
	return routing.Route{Path: routing.Path{Type: kind, Value: path}, Action: a}
}

var (
	all   = route("/", routing.Prefix, routing.To("A"))
	block = lb.FromRouting(routing.Status(403))
)

func rule(a lb.Action, more ...lb.Condition) lb.ObservedRule {
	return lb.ObservedRule{Rule: lb.Rule{Conditions: append([]lb.Condition{{Field: "host", Values: []string{"a.test"}}}, more...), Action: a}}
}

func forward(to ...lb.Weighted) lb.Action { return lb.Action{Kind: "forward", Targets: to} }

func path(values ...string) lb.Condition { return lb.Condition{Field: "path", Values: values} }

// TestWhatIsOdd: what is found differs from what is wanted in one thing, which is said; "" for things that do not count.
func TestWhatIsOdd(t *testing.T) {
	everything := rule(forward(lb.Weighted{Group: "arn:A-ing", Weight: 1}), path("/*"))
	before := func(r ...lb.ObservedRule) func(*lb.Other) {
		return func(o *lb.Other) { o.Listeners[0].Rules = append(slices.Clip(r), everything) }
	}
	resource := func(text string) func(*lb.Other) {
		return func(o *lb.Other) { o.Tags["arn:A-ing"] = of(text) }
	}
	admin := asked(route("/admin", routing.Exact, routing.Status(403)), all)
	forbidden := func(w *adopt.Wanted) {
		w.LoadBalancer.Settings.SecurityGroups, w.Table.Settings.SecurityGroups = []string{"sg-2"}, []string{"sg-2"}
	}
	for name, c := range map[string]struct {
		asked routing.Config
		want  func(*adopt.Wanted)
		found func(*lb.Other)
		says  string
	}{
		"nothing":                          {asked: asked(all), found: before()},
		"the port by its name":             {asked(all), func(w *adopt.Wanted) { w.PortNames = map[string]map[string]string{"test/s0": {"80": "http"}} }, resource("test/ing-s0:http"), ""},
		"another name of a port":           {asked(all), func(w *adopt.Wanted) { w.PortNames = map[string]map[string]string{"test/s0": {"80": "http"}} }, resource("test/ing-s0:admin"), "no Ingress asks for test/ing-s0:admin"},
		"another port of the Service":      {asked(all), nil, resource("test/ing-s0:9090"), "no Ingress asks for test/ing-s0:9090"},
		"another Service with such an end": {asked(all), nil, resource("test/ing-internal-s0:80"), "no Ingress asks for test/ing-internal-s0:80"},
		"another namespace":                {asked(all), nil, resource("other/ing-s0:80"), "no Ingress asks for other/ing-s0:80"},
		"another group":                    {asked(all), nil, func(o *lb.Other) { o.Tags["arn:A-ing"]["ingress.k8s.aws/stack"] = "others" }, "it is of others in cluster prod"},
		"another cluster":                  {asked(all), nil, func(o *lb.Other) { o.Tags["arn:A-ing"]["elbv2.k8s.aws/cluster"] = "test" }, "it is of all in cluster test"},
		"no tags":                          {asked(all), nil, func(o *lb.Other) { delete(o.Tags, "arn:A-ing") }, "no tag that says of which Service"},
		"another type of targets":          {asked(all), nil, func(o *lb.Other) { o.TargetGroups[0].TargetType = "instance" }, "its target type is instance, and that of A is ip"},
		"a target group that is gone":      {asked(all), nil, func(o *lb.Other) { o.TargetGroups = nil }, "A, which is wanted"},
		"two Services change places": {asked(route("/b", routing.Prefix, routing.To("B")), all), nil, func(o *lb.Other) {
			o.Tags["arn:A-ing"], o.Tags["arn:B-ing"] = o.Tags["arn:B-ing"], o.Tags["arn:A-ing"]
		}, "curl http://a.test/"},
		"an expression that is searched for": {admin, nil, before(rule(block, lb.Condition{Field: "path", Regex: []string{"^/admin"}})), "/admin"},
		"an expression for a whole text":     {admin, nil, before(rule(block, lb.Condition{Field: "path", Regex: []string{"^/admin$"}})), ""},
		"an expression that is not read":     {asked(all), nil, before(rule(block, lb.Condition{Field: "path", Regex: []string{"^/x(?!y)"}})), "is no regular expression"},
		"a condition that is not read":       {asked(all), nil, before(rule(block, lb.Condition{Field: "query-string", Values: []string{"a=1=2", "b=3"}})), "is on another part of a request"},
		"an escape in a query":               {asked(all), nil, before(rule(block, lb.Condition{Field: "query", Name: "a", Values: []string{`\*`}})), "has a backslash"},
		"two conditions on the path":         {asked(all), nil, before(rule(block, path("/x*"), path("*y"))), "two conditions are on the path"},
		"values beside expressions":          {asked(all), nil, before(rule(block, lb.Condition{Field: "path", Values: []string{"/x"}, Regex: []string{"^/y$"}})), "not either values or expressions"},
		"a range that is none":               {asked(all), nil, before(rule(block, lb.Condition{Field: "source", Values: []string{"10.0.0.0"}})), "no range of addresses"},
		"another case of the host":           {asked(all), nil, func(o *lb.Other) { o.Listeners[0].Rules[0].Conditions[0].Values = []string{"A.Test"} }, ""},
		"an action that is not read":         {asked(all), nil, func(o *lb.Other) { o.Listeners[0].Rules[0].Action = lb.Action{Kind: "3 actions"} }, "its action is 3 actions"},
		"a default that is not read":         {asked(all), nil, func(o *lb.Other) { o.Listeners[0].Default = lb.Action{Kind: "3 actions"} }, "default: its action is 3 actions"},
		"an unknown target group":            {asked(all), nil, before(rule(forward(lb.Weighted{Group: "arn:x", Weight: 1}))), "arn:x, which was not found"},
		"no weight":                          {asked(all), nil, func(o *lb.Other) { o.Listeners[0].Rules[0].Action.Targets[0].Weight = 0 }, "fixed 503"},
		"no target group":                    {asked(all), nil, func(o *lb.Other) { o.Listeners[0].Rules[0].Action.Targets = nil }, "fixed 503"},
		"an oddity of a rule": {asked(all), nil, func(o *lb.Other) {
			o.Listeners[0].Rules[0].Handle, o.Oddities = "r", []lb.Oddity{{Handle: "r", What: "it dances"}}
		}, "listener 80, rule 10: it dances"},
		"an oddity of a target group": {asked(all), nil, func(o *lb.Other) { o.Oddities = []lb.Oddity{{Handle: "arn:A-ing", What: "it dances"}} }, "arn:A-ing: it dances"},
		"something that was not read": {asked(all), nil, func(o *lb.Other) { o.Unread = []string{"denied"} }, "it was not read: denied"},
		"a web ACL":                   {asked(all), nil, func(o *lb.Other) { o.Protection.WebACL = "arn:acl" }, "webACL is arn:acl, wanted none, stays true"},
		"a shield":                    {asked(all), nil, func(o *lb.Other) { o.Protection.Shield = "on" }, "shield is on, wanted off, stays true"},
		"no web ACL": {asked(all), func(w *adopt.Wanted) {
			w.LoadBalancer.Protection.WebACL, w.Table.Protection.WebACL = "arn:acl", "arn:acl"
		}, func(o *lb.Other) { o.Protection.WebACL = "none" }, "webACL is none, wanted arn:acl, stays false"},
		"a security group of others":       {asked(all), nil, func(o *lb.Other) { o.Read.LoadBalancer.SecurityGroups = []string{"sg-1", "sg-2"} }, "security groups sg-1, sg-2"},
		"the managed one of another group": {asked(all), nil, func(o *lb.Other) { o.Tags["sg-1"]["ingress.k8s.aws/stack"] = "others" }, "security groups sg-1"},
		"the shared security group": {asked(all), nil, func(o *lb.Other) {
			o.Tags["sg-2"] = map[string]string{"elbv2.k8s.aws/cluster": "prod", "elbv2.k8s.aws/resource": "backend-sg"}
			o.Read.LoadBalancer.SecurityGroups = []string{"sg-1", "sg-2"}
		}, ""},
		"the security group that is asked for":      {asked(all), forbidden, func(o *lb.Other) { o.Read.LoadBalancer.SecurityGroups = []string{"sg-2"} }, ""},
		"not the security group that is asked for":  {asked(all), forbidden, nil, "security groups sg-1"},
		"clients with IPv6 that cannot connect":     {asked(all), nil, inbound("ipv4", "0.0.0.0/0"), ""},
		"clients with IPv6 that could connect":      {asked(all), nil, inbound("dualstack", "0.0.0.0/0"), "inbound ranges 0.0.0.0/0"},
		"all clients, in parts":                     {asked(all), nil, inbound("ipv4", "0.0.0.0/1", "128.0.0.0/1"), ""},
		"some clients":                              {asked(all), nil, inbound("ipv4", "10.0.0.0/8"), "inbound ranges 10.0.0.0/8"},
		"no clients":                                {asked(all), nil, inbound("ipv4", "nobody"), "inbound ranges nobody"},
		"a security policy that nothing asks for":   {asked(all), nil, listening(lb.ListenerSettings{TLSPolicy: "strict"}), "tlsPolicy is strict, wanted none, stays true"},
		"client certificates that nothing asks for": {asked(all), nil, listening(lb.ListenerSettings{Mutual: &lb.MutualAuthentication{Mode: "verify"}}), "mutualAuthentication.mode is verify"},
		"an attribute":                              {asked(all), nil, listening(lb.ListenerSettings{Attributes: map[string]string{"a": "b"}}), "a is b, wanted none, stays true"},
		"an attribute with its usual value": {asked(all), nil, func(o *lb.Other) {
			listening(lb.ListenerSettings{Attributes: map[string]string{"a": "b"}})(o)
			o.Usual.Listeners = map[int32]lb.ListenerSettings{80: {Attributes: map[string]string{"a": "b"}}}
		}, ""},
		"an attribute without a value": {asked(all), nil, func(o *lb.Other) {
			listening(lb.ListenerSettings{Attributes: map[string]string{"a": ""}})(o)
			o.Usual.Listeners = map[int32]lb.ListenerSettings{80: {Attributes: map[string]string{"a": "b"}}}
		}, ""},
		"no targets": {asked(all), func(w *adopt.Wanted) {
			w.LoadBalancer.TargetGroups[0].Targets = []lb.Target{{Address: "10.0.0.1", Port: 80}}
		}, nil, "target group A: targets is none, wanted 1"},
		"targets": {asked(all), func(w *adopt.Wanted) {
			w.LoadBalancer.TargetGroups[0].Targets = []lb.Target{{Address: "10.0.0.1", Port: 80}}
		}, func(o *lb.Other) { o.TargetGroups[0].Registered = true }, ""},
		"other subnets":       {asked(all), subnets(false), func(o *lb.Other) { o.Read.LoadBalancer.Subnets = []string{"b"} }, "subnets is b, wanted a"},
		"subnets that may be": {asked(all), subnets(true), func(o *lb.Other) { o.Read.LoadBalancer.Subnets = []string{"b"} }, ""},
		"another name": {asked(all), func(w *adopt.Wanted) {
			w.LoadBalancer.Key, w.Table.Key = "alb/test/ing/internal=shop", "alb/test/ing/internal=shop"
		}, nil, "name is , wanted shop"},
		"the scheme": {asked(all), nil, func(o *lb.Other) { o.Read.LoadBalancer.Scheme = "internet-facing" }, "scheme internet-facing"},
	} {
		w := wanted(c.asked, lb.ALB())
		o := found(w, rand.New(rand.NewPCG(1, 1)))
		o.Listeners, o.Read.Listeners = slices.DeleteFunc(o.Listeners, func(l lb.ObservedListener) bool { return l.Port != 80 }), map[int32]lb.ListenerSettings{}
		w.LoadBalancer.Listeners = slices.DeleteFunc(w.LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port != 80 })
		w.Table.Listeners = w.Table.Listeners[:1]
		if c.want != nil {
			c.want(&w)
		}
		if c.found != nil {
			c.found(o)
		}
		for i := range o.Listeners[0].Rules {
			o.Listeners[0].Rules[i].Priority = 10 * (i + 1)
		}
		got := adopt.Compare(o, w, requests.OfCommand)
		if said := told(got); got.Same() != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: it does not say %q: %s", name, c.says, said)
		}
	}
}

func subnets(free bool) func(*adopt.Wanted) {
	return func(w *adopt.Wanted) { w.LoadBalancer.Settings.Subnets, w.AnySubnets = []string{"a"}, free }
}

func inbound(family string, ranges ...string) func(*lb.Other) {
	return func(o *lb.Other) {
		o.Read.LoadBalancer.IPFamily, o.Usual.LoadBalancer = family, &routing.Settings{IPFamily: family}
		listening(lb.ListenerSettings{Inbound: ranges})(o)
	}
}

func listening(s lb.ListenerSettings) func(*lb.Other) {
	return func(o *lb.Other) { o.Read.Listeners[80] = s }
}

// told is all that a comparison says.
func told(c adopt.Comparison) string {
	var b strings.Builder
	for _, change := range c.Changes {
		fmt.Fprintf(&b, "%s: %s, then %s\n", change.Curl, change.Before.Action, change.After.Action)
	}
	for _, e := range c.Exposures {
		fmt.Fprintf(&b, "%s %s, then %s\n", e.Setting, e.Before, e.After)
	}
	for _, d := range c.Settings {
		fmt.Fprintf(&b, "%s: %s is %s, wanted %s, stays %v\n", d.Of, d.Setting, d.Found, d.Wanted, d.Stays)
	}
	for id, why := range c.Left {
		fmt.Fprintf(&b, "%s: %s\n", id, why)
	}
	for _, id := range c.Missing {
		fmt.Fprintf(&b, "%s, which is wanted, was not found\n", id)
	}
	return b.String() + strings.Join(c.NotUnderstood, "\n") + fmt.Sprint(c.Undecided)
}

// TestPairs: a load balancer is the wanted one of its group, if there is one, and the other way round.
func TestPairs(t *testing.T) {
	want := func(keys ...lb.Key) (out []adopt.Wanted) {
		for _, key := range keys {
			out = append(out, adopt.Wanted{LoadBalancer: lb.LoadBalancer{Key: key, Wanted: true}})
		}
		return out
	}
	for name, c := range map[string]struct {
		stacks, keys []string
		change       func(*lb.Other)
		says         string
	}{
		"a group of a namespace":        {stacks: []string{"all"}, keys: []string{"alb/shop/@all/internal"}, says: "all=alb/shop/@all/internal"},
		"a group":                       {stacks: []string{"all"}, keys: []string{"alb/@all/internal"}, says: "all=alb/@all/internal"},
		"an Ingress":                    {stacks: []string{"shop/web"}, keys: []string{"alb/shop/web/internal"}, says: "shop/web=alb/shop/web/internal"},
		"a group with another scheme":   {stacks: []string{"all"}, keys: []string{"alb/@all/internet-facing"}, says: "all=alb/@all/internet-facing"},
		"a name":                        {stacks: []string{"all"}, keys: []string{"alb/@all/internal=x"}, says: "all=alb/@all/internal=x"},
		"a group that is called as one": {stacks: []string{"web"}, keys: []string{"alb/shop/web/internal"}, says: "web: no Ingress asks for it\nalb/shop/web/internal: none was found that was made for it"},
		"two schemes":                   {stacks: []string{"all"}, keys: []string{"alb/@all/internal", "alb/@all/internet-facing"}, says: "all=alb/@all/internal\nalb/@all/internet-facing: none was found that was made for it"},
		"a group of two namespaces":     {stacks: []string{"all"}, keys: []string{"alb/a/@all/internal", "alb/b/@all/internal"}, says: "all: 2 are wanted in its place: alb/a/@all/internal, alb/b/@all/internal; list its group in groups of the class if its Ingresses are of several namespaces"},
		"a group of two classes":        {stacks: []string{"all"}, keys: []string{"alb/@all/internal", "other/@all/internet-facing"}, says: "all: 2 are wanted in its place: alb/@all/internal, other/@all/internet-facing; list its group in groups of the class if its Ingresses are of several namespaces"},
		"one that is found twice":       {stacks: []string{"all", "all"}, keys: []string{"alb/@all/internal"}, says: "all: alb/@all/internal is wanted once, and found 2 times: all, all\nall: alb/@all/internal is wanted once, and found 2 times: all, all"},
		"one of another cluster":        {[]string{"all"}, []string{"alb/@all/internal"}, func(o *lb.Other) { o.Tags["arn"]["elbv2.k8s.aws/cluster"] = "test" }, "all: it is of cluster test\nalb/@all/internal: none was found that was made for it"},
		"one that is not read":          {[]string{"all"}, []string{"alb/@all/internal"}, func(o *lb.Other) { o.NotRead = "it is far away" }, "all: it is far away\nalb/@all/internal: none was found that was made for it"},
		"one that no Ingress asks for":  {stacks: []string{"all"}, says: "all: no Ingress asks for it"},
		"one that was not made":         {keys: []string{"alb/@all/internal"}, says: "alb/@all/internal: none was found that was made for it"},
	} {
		var others []lb.Other
		for _, stack := range c.stacks {
			o := lb.Other{Name: stack, Observed: lb.Observed{Handle: "arn"}, Tags: map[string]map[string]string{"arn": of("LoadBalancer")}}
			o.Tags["arn"]["ingress.k8s.aws/stack"], o.Read = stack, &lb.ReadSettings{LoadBalancer: &routing.Settings{Scheme: "internal"}}
			if c.change != nil {
				c.change(&o)
			}
			others = append(others, o)
		}
		var keys []lb.Key
		for _, key := range c.keys {
			keys = append(keys, lb.Key(key))
		}
		var said []string
		for _, p := range adopt.Pairs(others, want(keys...), "prod") {
			switch {
			case p.Found == nil:
				said = append(said, string(p.Wanted.LoadBalancer.Key)+": "+p.Why)
			case p.Wanted == nil:
				said = append(said, p.Found.Name+": "+p.Why)
			default:
				said = append(said, p.Found.Name+"="+string(p.Wanted.LoadBalancer.Key))
			}
		}
		if got := strings.Join(said, "\n"); got != c.says {
			t.Errorf("%s: %s", name, got)
		}
	}
}

package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// members are the members of each load balancer, oldest first; those that leave are in brackets.
func members(snapshots []Snapshot) map[routing.Key]string {
	out := map[routing.Key]string{}
	for _, s := range snapshots {
		var names []string
		for _, m := range s.Members {
			if m.Leaving {
				names = append(names, "("+m.Owner.String()+")")
			} else {
				names = append(names, m.Owner.String())
			}
		}
		out[s.Key] = strings.Join(names, " ")
	}
	return out
}

func TestGrouping(t *testing.T) {
	labelled := metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
	shared := aClass("public", v1alpha1.LoadBalancerClassSpec{Order: true, Groups: []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: labelled}}})
	byName := metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "pay"}}
	named := aClass("public", v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: byName}}})
	web := map[string]string{"team": "web"}
	an := func(of string, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		return anIngress(of, append([]func(*networkingv1.Ingress){ofClass("public"), defaulted(to("web:80"))}, with...)...)
	}
	edge := annotated("group", "edge")
	cases := map[string]struct {
		given []any
		want  map[routing.Key]string
		told  []string
	}{
		"an Ingress alone is a load balancer": {
			given: []any{shared, an("shop/b"), an("shop/a")},
			want:  map[routing.Key]string{"public/shop/a/internal": "shop/a", "public/shop/b/internal": "shop/b"},
		},
		"a group within a namespace, the oldest first": {
			given: []any{shared, an("shop/a", annotated("group", "g"), aged(1)), an("shop/b", annotated("group", "g"), aged(2)), an("shop/c", annotated("group", "g"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/b shop/a shop/c"},
		},
		"order goes before age": {
			given: []any{shared, an("shop/a", annotated("group", "g"), aged(2)), an("shop/b", annotated("group", "g"), aged(1), annotated("order", "-1"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/b shop/a"},
		},
		"groups of one name in two namespaces are two": {
			given: []any{shared, an("shop/a", annotated("group", "g")), an("pay/a", annotated("group", "g"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/a", "public/pay/@g/internal": "pay/a"},
		},
		"a group of the class spans the namespaces that it selects": {
			given: []any{shared, aNamespace("shop", web), aNamespace("pay", web), an("shop/a", edge), an("pay/a", edge)},
			want:  map[routing.Key]string{"public/@edge/internal": "pay/a shop/a"},
		},
		"and no others": {
			given: []any{shared, aNamespace("shop", web), aNamespace("pay", nil), an("shop/a", edge), an("pay/a", edge)},
			want:  map[routing.Key]string{"public/@edge/internal": "shop/a"},
			told:  []string{"error GroupNotAllowed Ingress pay/a metadata.annotations[fairlead.dev/group]"},
		},
		"a namespace that is not among the objects has its name as a label": {
			given: []any{named, an("pay/a", edge)},
			want:  map[routing.Key]string{"public/@edge/internal": "pay/a"},
		},
		"the scheme is in the key, and members that differ are told": {
			given: []any{shared, an("shop/a", annotated("group", "g"), annotated("scheme", "internet-facing")), an("shop/b", annotated("group", "g"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/b", "public/shop/@g/internet-facing": "shop/a"},
			told: []string{
				"warning SettingConflict Ingress shop/a metadata.annotations[fairlead.dev/scheme]",
				"warning SettingConflict Ingress shop/b metadata.annotations[fairlead.dev/scheme]",
			},
		},
		"an invalid member costs nobody else": {
			given: []any{shared, an("shop/a", annotated("group", "g"), ruled("A.test")), an("shop/b", annotated("group", "g"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/b"},
			told:  []string{"error Invalid Ingress shop/a spec.rules[0].host"},
		},
		"an annotation that makes no sense is never read as its default": {
			given: []any{shared, an("shop/a", annotated("scheme", "private"))},
			want:  map[routing.Key]string{},
			told:  []string{"error AnnotationInvalid Ingress shop/a metadata.annotations[fairlead.dev/scheme]"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Split(objects(c.given...), Options{})
			compare(t, "members", members(snapshots), c.want)
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), sortedStrings(c.told))
		})
	}
}

// remembered is a memory of one load balancer with members.
func remembered(key routing.Key, members map[string]Remembered) map[routing.Key]Memory {
	return map[routing.Key]Memory{key: {Class: &v1alpha1.LoadBalancerClassSpec{TLSPolicy: "remembered"}, Members: members}}
}

func acceptedAs(ing *networkingv1.Ingress) *Accepted {
	return &Accepted{Annotations: ing.Annotations, Spec: ing.Spec}
}

func TestRefusedVersionsKeepTheLastGoodOne(t *testing.T) {
	const key = "fairlead/shop/web/internal"
	good := anIngress("shop/web", ruled("good.test", prefixed("/", "web:80")))
	now := anIngress("shop/web", ruled("now.test", prefixed("/", "web:80")))
	served := Remembered{LastAccepted: acceptedAs(good), Served: true}
	rejected := Remembered{Rejections: []Rejection{{Version(now), "the cloud says no"}}}
	rejectedButGood := Remembered{LastAccepted: acceptedAs(good), Served: true, Rejections: rejected.Rejections}
	gone := func(ing *networkingv1.Ingress, class string) *networkingv1.Ingress {
		ing = ing.DeepCopy()
		ing.Spec.IngressClassName = &class
		return ing
	}
	cases := map[string]struct {
		ing    *networkingv1.Ingress
		key    routing.Key
		memory Remembered
		want   string // the host that is served; "" for nothing
		told   []string
	}{
		"an invalid version": {
			ing: anIngress("shop/web", ruled("NOW.test")), key: key, memory: served, want: "good.test",
			told: []string{"error Invalid Ingress shop/web spec.rules[0].host", "warning LastGood Ingress shop/web"},
		},
		"an invalid version of an Ingress that was never accepted": {
			ing: anIngress("shop/web", ruled("NOW.test")), key: key, told: []string{"error Invalid Ingress shop/web spec.rules[0].host"},
		},
		"an invalid annotation": {
			ing: anIngress("shop/web", ruled("now.test"), annotated("scheme", "nowhere")), key: key, memory: served, want: "good.test",
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/scheme]", "warning LastGood Ingress shop/web"},
		},
		"a version that the cloud rejected": {
			ing: now, key: key, memory: rejectedButGood, want: "good.test",
			told: []string{"error Rejected Ingress shop/web", "warning LastGood Ingress shop/web"},
		},
		"a version that the cloud rejected, and no other": {
			ing: now, key: key, memory: rejected, told: []string{"error Rejected Ingress shop/web"},
		},
		"a version after the rejected one": {
			ing: anIngress("shop/web", ruled("next.test", prefixed("/", "web:80"))), key: key, memory: rejectedButGood, want: "next.test",
		},
		"a valid version": {ing: now, key: key, memory: served, want: "now.test"},
		"a class that disappeared freezes what it served": {
			ing: gone(now, "public"), key: "public/shop/web/internal", memory: served, want: "good.test",
			told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName", "warning LastGood Ingress shop/web"},
		},
		"a class that disappeared served nothing yet": {
			ing: gone(now, "public"), key: key, told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Split(objects(c.ing, remembered(c.key, map[string]Remembered{"shop/web": c.memory})), Options{AssumeClass: "fairlead"})
			all := sortedStrings(everything(snapshots, told(found)))
			compare(t, "told", all, sortedStrings(c.told))
			got := ""
			for _, s := range snapshots {
				config, _ := Translate(s, nil)
				for _, n := range config.Names {
					got += string(n.Host)
				}
			}
			if got != c.want {
				t.Errorf("serves %q, want %q", got, c.want)
			}
		})
	}
}

func TestLastGoodVersionKeepsWhatWasAllowed(t *testing.T) {
	secure := anIngress("shop/web", annotated("listen-ports", "HTTPS:443"), ruled("a.test"), secured("cert"))
	config, _ := translated(t, nil, secure, aSecret(t, "shop/cert", "a.test"), aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Annotations: &[]string{}}),
		remembered("fairlead/shop/web/internal", map[string]Remembered{"shop/web": {LastAccepted: acceptedAs(secure)}}))
	compare(t, "listeners", listening(config), "HTTPS 443*")
}

func TestFrozenClassIsRemembered(t *testing.T) {
	good := anIngress("shop/web", ofClass("public"), ruled("good.test", prefixed("/", "web:80")))
	memory := remembered("public/shop/web/internal", map[string]Remembered{"shop/web": {LastAccepted: acceptedAs(good)}})
	snapshots, _ := Split(objects(good, memory), Options{})
	if len(snapshots) != 1 || snapshots[0].Class.TLSPolicy != "remembered" {
		t.Errorf("got %v, want one load balancer with the class as it was", keys(snapshots))
	}
}

func TestMoves(t *testing.T) {
	const from, to = routing.Key("fairlead/shop/web/internal"), routing.Key("fairlead/shop/web/internet-facing")
	moved := anIngress("shop/web", annotated("scheme", "internet-facing"), ruled("a.test", prefixed("/", "web:80")))
	served := map[string]Remembered{"shop/web": {Served: true}}
	cases := map[string]struct {
		memories map[routing.Key]Memory
		want     map[routing.Key]string
	}{
		"never served: there is nothing to leave": {nil, map[routing.Key]string{to: "shop/web"}},
		"the first time: the new load balancer does not know it yet": {
			map[routing.Key]Memory{from: {Members: served}}, map[routing.Key]string{from: "(shop/web)", to: "shop/web"},
		},
		"under way: the new one remembers where it came from": {
			map[routing.Key]Memory{from: {Members: served}, to: {Members: map[string]Remembered{"shop/web": {Previous: from}}}},
			map[routing.Key]string{from: "(shop/web)", to: "shop/web"},
		},
		"over: the new one has forgotten": {
			map[routing.Key]Memory{from: {Members: served}, to: {Members: served}}, map[routing.Key]string{to: "shop/web"},
		},
		"over: and the old one has forgotten too": {
			map[routing.Key]Memory{to: {Members: served}}, map[routing.Key]string{to: "shop/web"},
		},
		"from a class that nobody remembers": {
			map[routing.Key]Memory{"gone/shop/web/internal": {Members: served}}, map[routing.Key]string{to: "shop/web"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Split(objects(moved, c.memories), Options{AssumeClass: "fairlead"})
			compare(t, "told", everything(snapshots, told(found)), []string(nil))
			compare(t, "members", members(snapshots), c.want)
			for _, s := range snapshots {
				config, _ := Translate(s, nil)
				if len(config.Routes) != 1 || config.Settings.Scheme != strings.TrimPrefix(string(s.Key), "fairlead/shop/web/") {
					t.Errorf("%s has %d routes and scheme %s", s.Key, len(config.Routes), config.Settings.Scheme)
				}
			}
		})
	}
}

func TestSnapshotHoldsWhatItsMembersReferTo(t *testing.T) {
	backend := aBackend("shop/split", v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "canary", Port: v1alpha1.ServicePort{Number: 80}}}})
	snapshots, _ := Split(objects(
		anIngress("shop/web", defaulted(to("web:80")), ruled("", path(byPrefix, "/", toResource("fairlead.dev/Backend/split"))), secured("cert")),
		aService("shop/web:80"), aService("shop/canary:80"), aService("shop/other:80"), aService("pay/web:80"),
		aSlice("shop/web", nil, "10.0.0.2"), aSlice("shop/web", nil, "10.0.0.1"), aSlice("shop/other", nil, "10.0.0.3"),
		backend, aBackend("shop/other", v1alpha1.BackendSpec{}), aSecret(t, "shop/cert", "a.test"), aSecret(t, "shop/other", "a.test"),
		aNamespace("shop", nil), aNamespace("pay", nil),
	), Options{AssumeClass: "fairlead"})
	var got []string
	for _, s := range snapshots[0].Services {
		got = append(got, "Service "+s.Name)
	}
	for _, s := range snapshots[0].EndpointSlices {
		got = append(got, "EndpointSlice "+s.Name)
	}
	for _, b := range snapshots[0].Backends {
		got = append(got, "Backend "+b.Name)
	}
	for _, s := range snapshots[0].Secrets {
		got = append(got, "Secret "+s.Name)
	}
	for _, n := range snapshots[0].Namespaces {
		got = append(got, "Namespace "+n.Name)
	}
	compare(t, "objects", got, []string{
		"Service canary", "Service web", "EndpointSlice web-10.0.0.1", "EndpointSlice web-10.0.0.2", "Backend split", "Secret cert", "Namespace shop",
	})
}

func TestRefusedChanges(t *testing.T) {
	group := annotated("group", "g")
	old := anIngress("shop/old", group, aged(3), ruled("old.test", prefixed("/", "web:80")))
	changed := anIngress("shop/changed", group, aged(2), ruled("changed.test", prefixed("/", "web:80")))
	before := anIngress("shop/changed", group, aged(2), ruled("before.test", prefixed("/", "web:80")))
	fresh := anIngress("shop/fresh", group, aged(1), ruled("fresh.test", prefixed("/", "web:80")))
	snapshots, _ := Split(objects(old, changed, fresh, remembered("fairlead/shop/@g/internal", map[string]Remembered{
		"shop/old":     {LastAccepted: acceptedAs(old), Served: true},
		"shop/changed": {LastAccepted: acceptedAs(before), Served: true},
	})), Options{AssumeClass: "fairlead"})
	changes := snapshots[0].Changes()
	var names []string
	for _, c := range changes {
		names = append(names, c.Owner.String())
	}
	compare(t, "changes", names, []string{"shop/fresh", "shop/changed"})

	config, found := Translate(snapshots[0].Refuse(changes), nil)
	var hosts []routing.Host
	for _, n := range config.Names {
		hosts = append(hosts, n.Host)
	}
	compare(t, "hosts without the changes", hosts, []routing.Host{"old.test", "before.test"})
	if !strings.Contains(strings.Join(told(found), "\n"), "warning LastGood Ingress shop/changed") {
		t.Errorf("told %q, want the owner told of the version that is kept", told(found))
	}
}

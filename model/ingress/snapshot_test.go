package ingress

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// membersOf are the members of each load balancer, oldest first; those that leave are in brackets.
func membersOf(snapshots []Snapshot) map[routing.Key]string {
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
	adopts := aClass("public", adopting(v1alpha1.Adoption{Names: []v1alpha1.AdoptedName{{Stack: "g", Name: "other"}}}))
	of := func(name, value string) func(*networkingv1.Ingress) {
		return func(ing *networkingv1.Ingress) { ing.Annotations["alb.ingress.kubernetes.io/"+name] = value }
	}
	digest := func(text string) routing.Key { return routing.Key(fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:10]) }
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
			told: []string{ // each has a default backend, and only one namespace can own any host
				"error HostTaken Ingress shop/a spec.defaultBackend",
				"info HostTaken Ingress pay/a spec.defaultBackend",
			},
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
		"the scheme is in the key, and members that differ are reported": {
			given: []any{shared, an("shop/a", annotated("group", "g"), annotated("scheme", "internet-facing")), an("shop/b", annotated("group", "g"))},
			want:  map[routing.Key]string{"public/shop/@g/internal": "shop/b", "public/shop/@g/internet-facing": "shop/a"},
			told: []string{
				"warning SettingConflict Ingress shop/a metadata.annotations[fairlead.dev/scheme]",
				"warning SettingConflict Ingress shop/b metadata.annotations[fairlead.dev/scheme]",
			},
		},
		"a load balancer that is taken over has the name that it has, by scheme": {
			given: []any{adopts, an("shop/a"), an("shop/b", of("scheme", "internet-facing")), an("shop/c", of("load-balancer-name", "own")), an("shop/d", of("group.name", "g"))},
			want: map[routing.Key]string{
				"public/shop/a/internal=k8s-shop-a-" + digest("prodshop/ainternal"): "shop/a", "public/shop/b/internet-facing=k8s-shop-b-" + digest("prodshop/binternet-facing"): "shop/b",
				"public/shop/c/internal=own": "shop/c", "public/shop/@g/internal=other": "shop/d",
			},
		},
		"and is wanted once": {
			given: []any{adopts, an("shop/a", of("group.name", "g")), an("pay/a", of("group.name", "g")), an("pay/b", of("group.name", "g"), of("load-balancer-name", "own"))},
			want:  map[routing.Key]string{"public/shop/@g/internal=other": "shop/a", "public/pay/@g/internal=other": "pay/a", "public/pay/@g/internal=own": "pay/b"},
			told: []string{
				"warning NameTaken Ingress pay/a metadata.annotations[fairlead.dev/group]",
				"warning NameTaken Ingress shop/a metadata.annotations[fairlead.dev/group]",
				"warning SettingConflict Ingress pay/a metadata.annotations[fairlead.dev/load-balancer-name]",
				"warning SettingConflict Ingress pay/b metadata.annotations[fairlead.dev/load-balancer-name]",
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
			snapshots, found := Place(objectsOf(c.given...), ClassOptions{})
			compare(t, "members", membersOf(snapshots), c.want)
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), sortedStrings(c.told))
		})
	}
}

// remembered is a memory of one load balancer with members.
func remembered(key routing.Key, members map[string]record.Member) map[routing.Key]record.Record {
	return map[routing.Key]record.Record{key: {Class: &v1alpha1.LoadBalancerClassSpec{TLSPolicy: "remembered"}, Members: members}}
}

func acceptedAs(ing *networkingv1.Ingress) *record.Accepted {
	return &record.Accepted{Annotations: ing.Annotations, Spec: ing.Spec}
}

func TestRefusedVersionsKeepTheLastGoodOne(t *testing.T) {
	const key = "fairlead/shop/web/internal"
	good := anIngress("shop/web", ruled("good.test", prefixed("/", "web:80")))
	now := anIngress("shop/web", ruled("now.test", prefixed("/", "web:80")))
	served := record.Member{LastAccepted: acceptedAs(good), Served: true}
	rejected := record.Member{Rejections: []record.Rejection{{Version: record.Version(now), Message: "the cloud says no"}}}
	rejectedButGood := record.Member{LastAccepted: acceptedAs(good), Served: true, Rejections: rejected.Rejections}
	gone := func(ing *networkingv1.Ingress, class string) *networkingv1.Ingress {
		ing = ing.DeepCopy()
		ing.Spec.IngressClassName = &class
		return ing
	}
	cases := map[string]struct {
		ing      *networkingv1.Ingress
		key      routing.Key
		recorded record.Member
		want     string // the host that is served; "" for nothing
		told     []string
	}{
		"an invalid version": {
			ing: anIngress("shop/web", ruled("NOW.test")), key: key, recorded: served, want: "good.test",
			told: []string{"error Invalid Ingress shop/web spec.rules[0].host", "warning LastGood Ingress shop/web"},
		},
		"an invalid version of an Ingress that was never accepted": {
			ing: anIngress("shop/web", ruled("NOW.test")), key: key, told: []string{"error Invalid Ingress shop/web spec.rules[0].host"},
		},
		"an invalid annotation": {
			ing: anIngress("shop/web", ruled("now.test"), annotated("scheme", "nowhere")), key: key, recorded: served, want: "good.test",
			told: []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/scheme]", "warning LastGood Ingress shop/web"},
		},
		"a version that the cloud rejected": {
			ing: now, key: key, recorded: rejectedButGood, want: "good.test",
			told: []string{"error Rejected Ingress shop/web", "warning LastGood Ingress shop/web"},
		},
		"a version that the cloud rejected, and no other": {
			ing: now, key: key, recorded: rejected, told: []string{"error Rejected Ingress shop/web"},
		},
		"a version after the rejected one": {
			ing: anIngress("shop/web", ruled("next.test", prefixed("/", "web:80"))), key: key, recorded: rejectedButGood, want: "next.test",
		},
		"a valid version": {ing: now, key: key, recorded: served, want: "now.test"},
		"a class that disappeared freezes what it served": {
			ing: gone(now, "public"), key: "public/shop/web/internal", recorded: served, want: "good.test",
			told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName", "warning LastGood Ingress shop/web"},
		},
		"a class that disappeared served nothing yet": {
			ing: gone(now, "public"), key: key, told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Place(objectsOf(c.ing, remembered(c.key, map[string]record.Member{"shop/web": c.recorded})), ClassOptions{AssumeClasses: []string{"fairlead"}})
			all := sortedStrings(everything(snapshots, told(found)))
			compare(t, "told", all, sortedStrings(c.told))
			got := ""
			for _, s := range snapshots {
				config, _ := Translate(s, Certificates{})
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

func TestFrozenClassIsRemembered(t *testing.T) {
	good := anIngress("shop/web", ofClass("public"), ruled("good.test", prefixed("/", "web:80")))
	recorded := remembered("public/shop/web/internal", map[string]record.Member{"shop/web": {LastAccepted: acceptedAs(good)}})
	snapshots, _ := Place(objectsOf(good, recorded), ClassOptions{})
	if len(snapshots) != 1 || snapshots[0].Class.TLSPolicy != "remembered" {
		t.Errorf("got %v, want one load balancer with the class as it was", keys(snapshots))
	}
}

func TestMoves(t *testing.T) {
	const a, b, c = routing.Key("fairlead/shop/web/internal"), routing.Key("fairlead/shop/web/internet-facing"), routing.Key("fairlead/shop/@c/internal")
	asks := map[routing.Key]*networkingv1.Ingress{
		a: anIngress("shop/web", ruled("a.test", prefixed("/", "web:80"))),
		b: anIngress("shop/web", annotated("scheme", "internet-facing"), ruled("a.test", prefixed("/", "web:80"))),
		c: anIngress("shop/web", annotated("group", "c"), ruled("a.test", prefixed("/", "web:80"))),
	}
	only := func(r record.Member) record.Record {
		return record.Record{Members: map[string]record.Member{"shop/web": r}}
	}
	served := func(move int32, previous routing.Key) record.Record {
		return only(record.Member{Move: move, Previous: previous, Served: true})
	}
	const here, leaving = "shop/web", "(shop/web)"
	cases := map[string]struct {
		to      routing.Key
		records map[routing.Key]record.Record
		want    map[routing.Key]string
		from    routing.Key
		move    int32
		earlier []routing.Key
	}{
		"never served: there is nothing to leave": {to: b, want: map[routing.Key]string{b: here}},
		"the first time: the new load balancer does not know it yet": {
			to: b, records: map[routing.Key]record.Record{a: served(0, "")},
			want: map[routing.Key]string{a: leaving, b: here}, from: a, move: 1,
		},
		"under way: the new one remembers where it came from": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: only(record.Member{Move: 1, Previous: a})},
			want: map[routing.Key]string{a: leaving, b: here}, from: a, move: 1,
		},
		"under way, in a record that does not number moves yet": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: served(0, a)},
			want: map[routing.Key]string{a: leaving, b: here}, from: a,
		},
		"over: the new one has forgotten": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, "")},
			want: map[routing.Key]string{b: here}, move: 1,
		},
		"over: and the old one has forgotten too": {
			to: b, records: map[routing.Key]record.Record{b: served(1, "")}, want: map[routing.Key]string{b: here}, move: 1,
		},
		"from a class that nobody remembers": {
			to: b, records: map[routing.Key]record.Record{"gone/shop/web/internal": served(0, "")},
			want: map[routing.Key]string{b: here}, from: "gone/shop/web/internal", move: 1,
		},
		"on, before the first move is over": {
			to: c, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, a)},
			want: map[routing.Key]string{a: leaving, b: leaving, c: here}, from: b, move: 2,
		},
		"on: the third one remembers": {
			to: c, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, a), c: served(2, b)},
			want: map[routing.Key]string{a: leaving, b: leaving, c: here}, from: b, move: 2,
		},
		"on, when the first move is over and the first one has yet to let go": {
			to: c, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, "")},
			want: map[routing.Key]string{b: leaving, c: here}, from: b, move: 2,
		},
		"on, before anything was served by the second one": {
			to: c, records: map[routing.Key]record.Record{a: served(0, ""), b: only(record.Member{Move: 1, Previous: a})},
			want: map[routing.Key]string{a: leaving, c: here}, from: a, move: 2,
		},
		"back, before the move is over": {
			to: a, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, a)},
			want: map[routing.Key]string{a: here, b: leaving}, from: b, move: 2,
		},
		"back: each remembers that it came from the other": {
			to: a, records: map[routing.Key]record.Record{a: served(2, b), b: served(1, a)},
			want: map[routing.Key]string{a: here, b: leaving}, from: b, move: 2,
		},
		"back, in the middle of a longer one": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, a), c: served(2, b)},
			want: map[routing.Key]string{a: leaving, b: here, c: leaving}, from: c, move: 3, earlier: []routing.Key{a},
		},
		"back, in the middle of a longer one: that is remembered": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: only(record.Member{Move: 3, Previous: c, Earlier: []routing.Key{a}, Served: true}), c: served(2, b)},
			want: map[routing.Key]string{a: leaving, b: here, c: leaving}, from: c, move: 3, earlier: []routing.Key{a},
		},
		"back and on again": {
			to: c, records: map[routing.Key]record.Record{a: served(0, ""), b: only(record.Member{Move: 3, Previous: c, Earlier: []routing.Key{a}, Served: true}), c: served(2, b)},
			want: map[routing.Key]string{a: leaving, b: leaving, c: here}, from: b, move: 4,
		},
		"back to the first of three, and they remember": {
			to: a, records: map[routing.Key]record.Record{a: served(4, b), b: only(record.Member{Move: 3, Previous: c, Earlier: []routing.Key{a}, Served: true}), c: served(2, b)},
			want: map[routing.Key]string{a: here, b: leaving, c: leaving}, from: b, move: 4,
		},
		"back, in the middle of a longer one, and it is over": {
			to: b, records: map[routing.Key]record.Record{a: served(0, ""), b: served(3, ""), c: served(2, b)},
			want: map[routing.Key]string{b: here}, move: 3,
		},
		"back, before anything was served by the second one": {
			to: a, records: map[routing.Key]record.Record{a: served(0, ""), b: only(record.Member{Move: 1, Previous: a})},
			want: map[routing.Key]string{a: here}, move: 2,
		},
		"back, when the move is over and the first one has yet to let go": {
			to: a, records: map[routing.Key]record.Record{a: served(0, ""), b: served(1, "")},
			want: map[routing.Key]string{a: here, b: leaving}, from: b, move: 2,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Place(objectsOf(asks[c.to], c.records), ClassOptions{AssumeClasses: []string{"fairlead"}})
			compare(t, "told", everything(snapshots, told(found)), []string(nil))
			compare(t, "members", membersOf(snapshots), c.want)
			for _, s := range snapshots {
				config, _ := Translate(s, Certificates{})
				if len(config.Routes) != 1 || !strings.HasSuffix(string(s.Key), "/"+config.Settings.Scheme) {
					t.Errorf("%s has %d routes and scheme %s", s.Key, len(config.Routes), config.Settings.Scheme)
				}
				if m := s.Members[0]; !m.Leaving && (m.From != c.from || m.Move != c.move) {
					t.Errorf("it came from %q as move %d, want %q and %d", m.From, m.Move, c.from, c.move)
				} else if !m.Leaving {
					compare(t, "left earlier", slices.Concat(m.Earlier), c.earlier)
				}
			}
		})
	}
}

func TestAMemberThatTurnsBadInTheMiddleOfAMove(t *testing.T) {
	const from, to = routing.Key("fairlead/shop/web/internal"), routing.Key("fairlead/shop/web/internet-facing")
	good := acceptedAs(anIngress("shop/web", ruled("good.test", prefixed("/", "web:80"))))
	bad := anIngress("shop/web", annotated("scheme", "internet-facing"), ruled("NOW.test"))
	cases := map[string]struct {
		to   record.Member
		want map[routing.Key]string
	}{
		"before it was served anywhere else stays where it was": {record.Member{Move: 1, Previous: from}, map[routing.Key]string{from: "shop/web"}},
		"goes on with it as it was accepted there": {
			record.Member{Move: 1, Previous: from, Served: true, LastAccepted: good}, map[routing.Key]string{from: "(shop/web)", to: "shop/web"},
		},
		"goes back if only that is remembered, and is left in no place that served it": {
			record.Member{Move: 1, Previous: from, Served: true}, map[routing.Key]string{from: "shop/web", to: "(shop/web)"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Place(objectsOf(bad, map[routing.Key]record.Record{
				from: {Members: map[string]record.Member{"shop/web": {Served: true, LastAccepted: good}}},
				to:   {Members: map[string]record.Member{"shop/web": c.to}},
			}), ClassOptions{AssumeClasses: []string{"fairlead"}})
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), []string{"error Invalid Ingress shop/web spec.rules[0].host", "warning LastGood Ingress shop/web"})
			compare(t, "members", membersOf(snapshots), c.want)
			for _, s := range snapshots {
				if config, _ := Translate(s, Certificates{}); len(config.Names) != 1 || config.Names[0].Host != "good.test" {
					t.Errorf("%s names %v", s.Key, config.Names)
				}
			}
		})
	}
}

func TestSnapshotHoldsWhatItsMembersReferTo(t *testing.T) {
	backend := aBackend("shop/split", v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{Name: "canary", Port: v1alpha1.ServicePort{Number: 80}}}})
	snapshots, _ := Place(objectsOf(
		anIngress("shop/web", defaulted(to("web:80")), ruled("", path(byPrefix, "/", toResource("fairlead.dev/Backend/split"))), secured("cert")),
		aService("shop/web:80"), aService("shop/canary:80"), aService("shop/other:80"), aService("pay/web:80"),
		aSlice("shop/web", nil, "10.0.0.2"), aSlice("shop/web", nil, "10.0.0.1"), aSlice("shop/other", nil, "10.0.0.3"),
		backend, aBackend("shop/other", v1alpha1.BackendSpec{}), aSecret(t, "shop/cert", "a.test"), aSecret(t, "shop/other", "a.test"),
		aNamespace("shop", nil), aNamespace("pay", nil),
	), ClassOptions{AssumeClasses: []string{"fairlead"}})
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
	snapshots, _ := Place(objectsOf(old, changed, fresh, remembered("fairlead/shop/@g/internal", map[string]record.Member{
		"shop/old":     {LastAccepted: acceptedAs(old), Served: true},
		"shop/changed": {LastAccepted: acceptedAs(before), Served: true},
	})), ClassOptions{AssumeClasses: []string{"fairlead"}})
	changes := snapshots[0].Changes()
	var names []string
	for _, c := range changes {
		names = append(names, c.Owner.String())
	}
	compare(t, "changes", names, []string{"shop/fresh", "shop/changed"})

	config, found := Translate(snapshots[0].Refuse(changes), Certificates{})
	var hosts []routing.Host
	for _, n := range config.Names {
		hosts = append(hosts, n.Host)
	}
	compare(t, "hosts without the changes", hosts, []routing.Host{"old.test", "before.test"})
	if !strings.Contains(strings.Join(told(found), "\n"), "warning LastGood Ingress shop/changed") {
		t.Errorf("told %q, want the owner told of the version that is kept", told(found))
	}
}

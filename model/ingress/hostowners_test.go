package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

const edgeKey routing.Key = "public/@edge/internal"

// shared is a class with a group that every namespace may join.
func shared(edit ...func(*v1alpha1.LoadBalancerClassSpec)) []any {
	spec := v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}
	for _, e := range edit {
		e(&spec)
	}
	return aClass("public", spec)
}

// inEdge is an Ingress of the group.
func inEdge(of string, with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	return anIngress(of, append([]func(*networkingv1.Ingress){ofClass("public"), annotated("group", "edge")}, with...)...)
}

// ownersOf are the owners of hosts in a snapshot, as "host namespace", those in brackets that are
// reserved.
func ownersOf(s *Snapshot) []string {
	out := []string{}
	for _, o := range s.OwnedHosts() {
		text := fmt.Sprintf("%s %s", o.Host, o.Namespace)
		if !o.Named {
			text = "(" + text + ")"
		}
		out = append(out, text)
	}
	return out
}

func snapshotOf(t *testing.T, key routing.Key, made []Snapshot) *Snapshot {
	t.Helper()
	at := slices.IndexFunc(made, func(s Snapshot) bool { return s.Key == key })
	if at < 0 {
		t.Fatalf("there is no load balancer %s", key)
	}
	return &made[at]
}

func TestOwnersOfHosts(t *testing.T) {
	web := func(host string) func(*networkingv1.Ingress) { return ruled(host, prefixed("/", "web:80")) }
	only := func(namespace string, hosts ...string) v1alpha1.AllowedHosts {
		return v1alpha1.AllowedHosts{NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}, Hosts: hosts}
	}
	remember := func(hosts map[routing.Host]string, members map[string]record.Member) map[routing.Key]record.Record {
		return map[routing.Key]record.Record{edgeKey: {Hosts: hosts, Members: members}}
	}
	cases := map[string]struct {
		key     routing.Key
		given   []any
		records map[routing.Key]record.Record
		want    []string
		told    []string
	}{
		"hosts of rules, of spec.tls, and any host": {
			given: []any{shared(), inEdge("alice/a", web("a.test"), secured("tls", "tls.test"), defaulted(to("web:80")))},
			want:  []string{" alice", "a.test alice", "tls.test alice"},
		},
		"a host that only spec.tls names is taken, too": {
			given: []any{shared(), inEdge("alice/a", aged(2), secured("tls", "tls.test"), web("a.test")), inEdge("bob/b", aged(1), web("tls.test"), web("b.test"), secured("tls", "a.test", "b.test"))},
			want:  []string{"a.test alice", "b.test bob", "tls.test alice"},
			told: []string{
				"error HostTaken Ingress bob/b spec.rules[0].host", "error HostTaken Ingress bob/b spec.tls[0].hosts[0]",
				"info HostTaken Ingress alice/a spec.tls[0].hosts[0]",
			},
		},
		"a class that shares hosts has no owners": {
			given: []any{shared(func(s *v1alpha1.LoadBalancerClassSpec) { s.Hosts = v1alpha1.HostsShared }), inEdge("alice/a", web("a.test")), inEdge("bob/b", web("a.test"))},
			want:  []string{},
		},
		"nor has a group of one namespace": {
			key:   "public/alice/@own/internal",
			given: []any{shared(), anIngress("alice/a", ofClass("public"), annotated("group", "own"), web("a.test"))},
			want:  []string{},
		},
		"what a class does not let a namespace serve is not claimed, nor reserved": {
			given: []any{shared(func(s *v1alpha1.LoadBalancerClassSpec) {
				s.AllowedHosts = []v1alpha1.AllowedHosts{only("alice", "a.test"), only("bob", "*.test")}
			}), inEdge("alice/a", web("a.test"), web("b.test")), inEdge("bob/b", web("b.test"), defaulted(to("web:80")))},
			records: remember(map[routing.Host]string{"b.test": "alice", "": "bob", "c.test": "bob"}, nil),
			want:    []string{"a.test alice", "b.test bob", "(c.test bob)"},
		},
		"the version that is served names its hosts while a newer one is not": {
			given:   []any{shared(), inEdge("alice/a", aged(1), web("new.test")), inEdge("bob/b", aged(2), web("old.test"))},
			records: remember(map[routing.Host]string{"old.test": "alice"}, map[string]record.Member{"alice/a": {Served: true, LastAccepted: acceptedAs(inEdge("alice/a", web("old.test")))}}),
			want:    []string{"new.test alice", "old.test alice"},
			told:    []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[0].host"},
		},
		"a member that moves here brings what it owned": {
			given: []any{shared(), inEdge("alice/a", aged(1), web("a.test")), inEdge("bob/b", aged(2), web("a.test"))},
			records: map[routing.Key]record.Record{
				"public/@edge/internet-facing": {Hosts: map[routing.Host]string{"a.test": "alice"}, Members: map[string]record.Member{"alice/a": {Served: true}}},
			},
			want: []string{"a.test alice"},
			told: []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[0].host"},
		},
		"but not what another namespace owns here": {
			given: []any{shared(), inEdge("alice/a", aged(1), web("a.test")), inEdge("bob/b", aged(2), web("a.test"))},
			records: map[routing.Key]record.Record{
				edgeKey:                        {Hosts: map[routing.Host]string{"a.test": "bob"}},
				"public/@edge/internet-facing": {Hosts: map[routing.Host]string{"a.test": "alice"}, Members: map[string]record.Member{"alice/a": {Served: true}}},
			},
			want: []string{"a.test bob"},
			told: []string{"error HostTaken Ingress alice/a spec.rules[0].host", "info HostTaken Ingress bob/b spec.rules[0].host"},
		},
		"nor what is below a wildcard of another namespace here": {
			given: []any{shared(), inEdge("alice/a", aged(1), web("*.test")), inEdge("bob/b", aged(2), web("a.test"))},
			records: map[routing.Key]record.Record{
				edgeKey:                        {Hosts: map[routing.Host]string{"*.test": "alice"}},
				"public/@edge/internet-facing": {Hosts: map[routing.Host]string{"a.test": "bob"}, Members: map[string]record.Member{"bob/b": {Served: true}}},
			},
			want: []string{"*.test alice"},
			told: []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[0].host"},
		},
		"an older Ingress that is refused holds its hosts": {
			given: []any{shared(), inEdge("alice/a", aged(2), web("a.test"), annotated("conditions", "x: [")), inEdge("bob/b", aged(1), web("a.test"), web("b.test"))},
			want:  []string{"a.test alice", "b.test bob"},
			told:  []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[0].host"},
		},
		"a younger one takes none": {
			given: []any{shared(), inEdge("alice/a", aged(1), web("a.test"), annotated("conditions", "x: [")), inEdge("bob/b", aged(2), web("a.test"))},
			want:  []string{"a.test bob"},
			told:  []string{"error HostTaken Ingress alice/a spec.rules[0].host", "info HostTaken Ingress bob/b spec.rules[0].host"},
		},
		"one that the API server would refuse holds its hosts": {
			given: []any{shared(), inEdge("alice/a", aged(2), web("a.test"), ruled("b.test", prefixed("no-slash", "web:80"))), inEdge("bob/b", aged(1), web("a.test"))},
			want:  []string{"a.test alice", "b.test alice"},
			told:  []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[0].host"},
		},
		"a change that is refused holds the hosts that it brings": {
			given:   []any{shared(), inEdge("alice/a", aged(2), web("a.test"), web("new.test"), annotated("conditions", "x: [")), inEdge("bob/b", aged(1), web("new.test"))},
			records: remember(map[routing.Host]string{"a.test": "alice"}, map[string]record.Member{"alice/a": {Served: true, LastAccepted: acceptedAs(inEdge("alice/a", web("a.test")))}}),
			want:    []string{"a.test alice", "new.test alice"},
			told:    []string{"error HostTaken Ingress bob/b spec.rules[0].host", "info HostTaken Ingress alice/a spec.rules[1].host"},
		},
		"one that may not join the group holds nothing": {
			given: []any{shared(func(s *v1alpha1.LoadBalancerClassSpec) {
				s.Groups[0].NamespaceSelector = metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "bob"}}
			}), inEdge("alice/a", aged(2), web("a.test"), annotated("conditions", "x: [")), inEdge("bob/b", aged(1), web("a.test"))},
			want: []string{"a.test bob"},
		},
		"nor one of which the class lets the namespace not have the host": {
			given: []any{shared(func(s *v1alpha1.LoadBalancerClassSpec) {
				s.AllowedHosts = []v1alpha1.AllowedHosts{only("alice", "b.test"), only("bob", "a.test")}
			}), inEdge("alice/a", aged(2), web("a.test"), annotated("conditions", "x: [")), inEdge("bob/b", aged(1), web("a.test"))},
			want: []string{"a.test bob"},
		},
		"a wildcard that comes takes no host that is remembered here": {
			given: []any{shared(), inEdge("alice/a", aged(1), web("a.test")), inEdge("bob/b", aged(2), web("*.test"))},
			records: map[routing.Key]record.Record{
				edgeKey:                        {Hosts: map[routing.Host]string{"a.test": "alice", "c.test": "carol"}},
				"public/@edge/internet-facing": {Hosts: map[routing.Host]string{"*.test": "bob"}, Members: map[string]record.Member{"bob/b": {Served: true}}},
			},
			want: []string{"*.test bob", "a.test alice", "(c.test carol)"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := objectsOf(c.given...)
			o.Records = c.records
			made, _ := Place(o, ClassOptions{})
			if c.key == "" {
				c.key = edgeKey
			}
			s := snapshotOf(t, c.key, made)
			compare(t, "owners", ownersOf(s), c.want)
			var heard []string
			for _, d := range s.Diagnostics {
				if d.Reason == diag.HostTaken {
					heard = append(heard, told([]diag.Diagnostic{d})...)
				}
			}
			compare(t, "told", sortedStrings(heard), sortedStrings(c.told))
		})
	}
}

// A namespace that asks for thousands of hosts of another one does not drown it in sentences.
func TestOwnersAreNotFlooded(t *testing.T) {
	web := prefixed("/", "web:80")
	alice, bob := inEdge("alice/a", aged(2)), inEdge("bob/b", aged(1))
	for i := range 1000 {
		ruled(fmt.Sprintf("h%d.test", i), web)(alice)
		ruled(fmt.Sprintf("h%d.test", i), web)(bob)
	}
	made, _ := Place(objectsOf(shared(), alice, bob), ClassOptions{})
	var toAlice, toBob []string
	for _, d := range snapshotOf(t, edgeKey, made).Diagnostics {
		if d.Source.Namespace == "alice" {
			toAlice = append(toAlice, d.Message)
		} else {
			toBob = append(toBob, d.Message)
		}
	}
	if len(toAlice) != 1 || !strings.Contains(toAlice[0], "h0.test, h1.test, h2.test and 997 more") {
		t.Errorf("the owner is told %q", toAlice)
	}
	if len(toBob) != mostListedHosts+1 || !strings.HasPrefix(toBob[mostListedHosts], "980 more of its hosts") {
		t.Errorf("the Ingress that asks is told %d sentences, the last of them %q", len(toBob), toBob[len(toBob)-1])
	}
}

// Members that are left out for want of room keep their hosts.
func TestOwnersStayWhereMembersAreLeftOut(t *testing.T) {
	web := func(host string) func(*networkingv1.Ingress) { return ruled(host, prefixed("/", "web:80")) }
	made, _ := Place(objectsOf(shared(), aService("alice/web:80"), aService("bob/web:80"),
		inEdge("alice/a", aged(2), web("a.test")), inEdge("bob/b", aged(1), web("a.test"), web("b.test"))), ClassOptions{})
	s := snapshotOf(t, edgeKey, made)
	for name, less := range map[string]Snapshot{"without": s.Without(s.Members[:1]), "refused": s.Refuse(s.Members[:1])} {
		config, _ := Translate(less, Certificates{})
		for _, r := range config.Routes {
			if r.Host != "b.test" {
				t.Errorf("%s the owner, %s serves %s", name, r.Owner, r.Host)
			}
		}
	}
}

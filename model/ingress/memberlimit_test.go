package ingress

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// crowdOf are Ingresses of a namespace in the group, with the longest names that there are.
func crowdOf(namespace string, from, to int, age int64) []any {
	var out []any
	for i := from; i < to; i++ {
		name := fmt.Sprintf("%s/%s-%05d", namespace, strings.Repeat("n", 247), i)
		out = append(out, inEdge(name, aged(age-int64(i)), http(fmt.Sprintf("h%d.%s.test", i, namespace))))
	}
	return out
}

// memberNames are those of a snapshot.
func memberNames(s *Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, m := range s.Members {
		out[m.Owner.String()] = true
	}
	return out
}

// remember is what is remembered of the members of a snapshot, and of those that another one
// remembered.
func remember(s *Snapshot, before map[string]record.Member) record.Record {
	m := record.Record{Members: map[string]record.Member{}}
	for name, r := range before {
		m.Members[name] = r
	}
	for name := range memberNames(s) {
		m.Members[name] = record.Member{Served: true}
	}
	return m
}

// recordSize is how many bytes the record of some members takes at least.
func recordSize(t *testing.T, m record.Record) int {
	t.Helper()
	status := v1alpha1.LoadBalancerStatus{}
	for name := range m.Members {
		status.Members = append(status.Members, name)
		status.Memory.Members = append(status.Memory.Members, v1alpha1.MemberMemory{Ingress: name, Served: true, Forgotten: true, Move: 1})
	}
	if _, err := status.Trim(v1alpha1.MaxSize); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// Thousands of Ingresses with long names of one namespace leave room for those of another one,
// whichever come first, and the record of the load balancer stays small enough to be written.
func TestACrowdKeepsNoNeighbourOut(t *testing.T) {
	const many = 5000
	alice := inEdge("alice/"+strings.Repeat("a", 253), aged(1), http("alice.test"))
	crowd := crowdOf("bob", 0, many, 1_000_000)
	split := func(m record.Record, given ...any) *Snapshot {
		o := objectsOf(append([]any{shared()}, given...)...)
		o.Records = map[routing.Key]record.Record{edgeKey: m}
		snapshots, _ := Place(o, ClassOptions{})
		return snapshotOf(t, edgeKey, snapshots)
	}

	first := split(record.Record{}, crowd...)
	kept := memberNames(first)
	if len(kept) < 2000 || len(kept) == many || len(kept) != len(first.Ingresses) || len(kept)+len(first.LeftOut) != many {
		t.Fatalf("%d members, %d Ingresses, %d left out", len(kept), len(first.Ingresses), len(first.LeftOut))
	}
	told := map[string]bool{}
	for _, d := range first.Diagnostics {
		if d.Reason == diag.TooComplex && d.Severity == diag.Error {
			told[d.Source.Namespace+"/"+d.Source.Name] = true
		}
	}
	for _, ing := range first.LeftOut {
		if name := nameOf(ing).String(); !told[name] || kept[name] {
			t.Fatalf("%s is left out, and told: %v", name, told[name])
		}
	}
	oldest := nameOf(crowd[0].(*networkingv1.Ingress)).String()
	newest := nameOf(crowd[many-1].(*networkingv1.Ingress)).String()
	if !kept[oldest] || kept[newest] {
		t.Errorf("the oldest is kept: %v; the newest: %v", kept[oldest], kept[newest])
	}
	const request = 3 << 19 // etcd's 1.5 MiB
	recorded := remember(first, nil)
	if size := recordSize(t, recorded); size > request-(256<<10) {
		t.Errorf("the record takes %d bytes", size)
	}

	// A neighbour comes when there is no room left, and is served at once; so is every one after it.
	second := split(recorded, append(slices.Clone(crowd), alice)...)
	if !memberNames(second)[nameOf(alice).String()] {
		t.Error("the neighbour is kept out")
	}
	for _, ing := range second.LeftOut {
		if ing.Namespace != "bob" {
			t.Errorf("%s is left out", nameOf(ing))
		}
	}
	if size := recordSize(t, remember(second, recorded.Members)); size > request-(256<<10) {
		t.Errorf("the record takes %d bytes while one is let go of", size)
	}

	// Those that are known stay, and no older Ingress that comes takes their place.
	known := remember(second, nil)
	third := split(known, append(append(slices.Clone(crowd), alice), crowdOf("bob", many, many+50, 2_000_000)...)...)
	if !slices.Equal(slices.Sorted(maps.Keys(memberNames(third))), slices.Sorted(maps.Keys(memberNames(second)))) {
		t.Errorf("%d members, and %d before", len(third.Members), len(second.Members))
	}

	// Two crowds have half each. While those of the first are let go of, as many of the second come as
	// there is room for.
	both := slices.Concat(crowd, crowdOf("eve", 0, many, 900_000))
	fourth := split(known, both...)
	of := map[string]int{}
	for name := range memberNames(fourth) {
		namespace, _, _ := strings.Cut(name, "/")
		of[namespace]++
	}
	if of["bob"] < 1000 || of["bob"] > 1300 || of["eve"] < 100 || of["eve"] > 200 {
		t.Errorf("members: %v", of)
	}
	if size := recordSize(t, remember(fourth, known.Members)); size > request-(256<<10) {
		t.Errorf("the record takes %d bytes while the crowds differ", size)
	}
	fifth := split(remember(fourth, nil), both...)
	of = map[string]int{}
	for name := range memberNames(fifth) {
		namespace, _, _ := strings.Cut(name, "/")
		of[namespace]++
	}
	if of["bob"] < 1000 || of["eve"] < 1000 {
		t.Errorf("members, once the others are gone: %v", of)
	}
}

// 5,000 Ingresses with names as people give them are all members.
func TestACrowdWithShortNames(t *testing.T) {
	var given []any
	for i := range 5000 {
		given = append(given, inEdge(fmt.Sprintf("team-%d/checkout-service-%d", i%40, i), aged(int64(i)), http(fmt.Sprintf("h%d.test", i))))
	}
	snapshots, _ := Place(objectsOf(append([]any{shared()}, given...)...), ClassOptions{})
	if s := snapshotOf(t, edgeKey, snapshots); len(s.Members) != 5000 || len(s.LeftOut) > 0 {
		t.Errorf("%d members, and %d left out", len(s.Members), len(s.LeftOut))
	}
}

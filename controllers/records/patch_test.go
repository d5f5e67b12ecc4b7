package records

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/api/v1alpha1"
)

var seed = flag.Uint64("seed", 0, "the seed of random records; 0 takes a new one")

// TestPatchesReplaceRecords applies patches between random records as the API server does.
func TestPatchesReplaceRecords(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	r := random{rand.New(rand.NewPCG(*seed, 1))}
	for range 3000 {
		stored := &v1alpha1.LoadBalancer{Status: r.record()}
		stored.ResourceVersion = "7"
		want := *stored.DeepCopy()
		for range 1 + r.IntN(3) {
			r.change(&want.Status)
		}
		patch, err := mergePatch(stored, want.Status)
		if err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		after, err := jsonpatch.MergePatch(before, patch)
		if err != nil {
			t.Fatal(err)
		}
		for _, required := range []string{`"rules":`, `"memberCount":`} {
			if !bytes.Contains(after, []byte(required)) {
				t.Fatalf("after %s there is no %s", patch, required)
			}
		}
		var got v1alpha1.LoadBalancer
		if err := json.Unmarshal(after, &got); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(parsed(t, want), got) {
			t.Fatalf("after %s: %s", patch, cmp.Diff(text(t, want), text(t, got)))
		}
	}
}

// TestAPatchHasOnlyChanges has patches of one field each, and of those that are required.
func TestAPatchHasOnlyChanges(t *testing.T) {
	stored := &v1alpha1.LoadBalancer{}
	stored.ResourceVersion = "7"
	stored.Status = Record{
		Address: "lb.example.com", Term: "a", LastPlan: &v1alpha1.PlanStatus{Summary: "one", Done: 1},
		Memory: v1alpha1.Memory{
			Members: []v1alpha1.MemberMemory{{Ingress: "shop/web"}}, Rules: []string{"r"},
			Class: &v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"team": "a", "cost": "b"}},
		},
	}
	required := regexp.MustCompile(`"(memberCount|rules)":0,|,"(memberCount|rules)":0`)
	for want, change := range map[string]func(*Record){
		`{"term":"b"}`:                   func(r *Record) { r.Term = "b" },
		`{"address":null}`:               func(r *Record) { r.Address = "" },
		`{"lastPlan":{"done":2}}`:        func(r *Record) { r.LastPlan.Done = 2 },
		`{"lastPlan":null}`:              func(r *Record) { r.LastPlan = nil },
		`{"memory":{"rules":["r","s"]}}`: func(r *Record) { r.Memory.Rules = words("r", "s") },
		`{"memory":{"rules":null}}`:      func(r *Record) { r.Memory.Rules = []string{} },
		`{"memory":null}`:                func(r *Record) { r.Memory = v1alpha1.Memory{} },
		`{"ips":["192.0.2.1"]}`:          func(r *Record) { r.IPs = []string{"192.0.2.1"} },
		`{"memory":{"class":{"tags":{"cost":null}}}}`: func(r *Record) {
			r.Memory.Class.Tags = map[string]string{"team": "a"}
		},
	} {
		next := stored.DeepCopy()
		change(&next.Status)
		patch, err := mergePatch(stored, next.Status)
		if err != nil {
			t.Fatal(err)
		}
		text := required.ReplaceAllString(string(patch), "")
		want = `{"metadata":{"resourceVersion":"7"},"status":` + want + `}`
		if diff := cmp.Diff(want, text); diff != "" {
			t.Error(diff)
		}
	}
}

// parsed returns an object as a client reads it.
func parsed(t *testing.T, o v1alpha1.LoadBalancer) (out v1alpha1.LoadBalancer) {
	t.Helper()
	in, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(in, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func words(of ...string) []string { return of }

func text(t *testing.T, o v1alpha1.LoadBalancer) string {
	t.Helper()
	out, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// random makes records.
type random struct{ *rand.Rand }

func (r random) record() Record {
	var out Record
	for range r.IntN(12) {
		r.change(&out)
	}
	return out
}

// change sets one field to one of a few values, of which one is that it is absent.
func (r random) change(to *Record) {
	word := func() string { return []string{"", "a", "b", "ü<"}[r.IntN(4)] }
	words := func() (out []string) {
		for range r.IntN(3) {
			out = append(out, strconv.Itoa(r.IntN(3)))
		}
		return out
	}
	table := func() map[string]string {
		out := map[string]string{}
		for range r.IntN(3) {
			out[strconv.Itoa(r.IntN(3))] = word()
		}
		return out
	}
	at := metav1.NewTime(time.Unix(int64(r.IntN(3)), 0).UTC())
	changes := []func(){
		func() { to.Address = word() },
		func() { to.IPs = words() },
		func() { to.Members, to.MemberCount = words(), int32(r.IntN(3)) },
		func() { to.Term = word() },
		func() { to.LastError = word() },
		func() {
			to.Conditions = []metav1.Condition{{Type: word(), LastTransitionTime: at}}[:r.IntN(2)]
		},
		func() {
			to.Diagnostics = []v1alpha1.Diagnostic{{Message: word()}, {Reason: word()}}[:r.IntN(3)]
		},
		func() { to.LastPlan = nil },
		func() {
			steps := []v1alpha1.PlanStep{{Detail: word()}}
			to.LastPlan = &v1alpha1.PlanStatus{At: at, Summary: word(), Steps: steps[:r.IntN(2)]}
		},
		func() { to.Memory.Class = nil },
		func() {
			to.Memory.Class = &v1alpha1.LoadBalancerClassSpec{Tags: table(), TLSPolicy: word()}
		},
		func() {
			to.Memory.Class = &v1alpha1.LoadBalancerClassSpec{Provider: &runtime.RawExtension{
				Raw: []byte(`{"` + strconv.Itoa(r.IntN(3)) + `":{"a":` + strconv.Itoa(r.IntN(3)) + `}}`),
			}}
		},
		func() {
			members := []v1alpha1.MemberMemory{{Ingress: "a"}, {Ingress: "b", Previous: word()}}
			to.Memory.Members = members[:r.IntN(3)]
		},
		func() { to.Memory.Rules = words() },
		func() { to.Memory.LostAt = nil },
		func() { to.Memory.LostAt = &at },
		func() { to.Memory = v1alpha1.Memory{} },
	}
	changes[r.IntN(len(changes))]()
}

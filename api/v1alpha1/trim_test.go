package v1alpha1

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/test/nightly"
)

// remembering is a member with a version of about a kilobyte that was accepted on a day of January.
// It cannot be compressed.
func remembering(ingress string, day int) MemberMemory {
	return MemberMemory{Ingress: ingress, Served: true, LastAccepted: &AcceptedVersion{
		At:          metav1.Date(2026, time.January, day, 0, 0, 0, 0, time.UTC),
		Annotations: map[string]string{"fairlead.dev/group": noise(ingress, 1000)},
	}}
}

// noise is text in which nothing is repeated, another one for each name.
func noise(name string, size int) string {
	draw, text := rand.New(rand.NewPCG(uint64(len(name)), uint64(crc32.ChecksumIEEE([]byte(name))))), make([]byte, size)
	for i := range text {
		text[i] = base64Digits[draw.IntN(len(base64Digits))]
	}
	return string(text)
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// storedSize is how many bytes a status takes as it is written.
func storedSize(t *testing.T, s *LoadBalancerStatus) int {
	t.Helper()
	stored := *s
	stored.Memory = s.Memory.Stored()
	return sizeOf(t, stored)
}

func sizeOf(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

func TestTrim(t *testing.T) {
	members := []MemberMemory{
		remembering("shop/middle", 2), remembering("shop/old", 1), remembering("shop/new", 3),
		remembering("shop/also-old", 1), {Ingress: "shop/never-accepted"},
	}
	whole := sizeOf(t, LoadBalancerStatus{Memory: Memory{Members: members}})
	cases := map[string]struct {
		reason string
		size   int
		lost   []string
	}{
		"AllFits":    {"what fits is left alone", whole, nil},
		"OneByte":    {"one byte too many costs one version, of two equally old ones the first by name", whole - 1, []string{"shop/also-old"}},
		"Two":        {"of equally large ones the oldest go first", whole - 1500, []string{"shop/also-old", "shop/old"}},
		"Three":      {"and then the next", whole - 2500, []string{"shop/also-old", "shop/old", "shop/middle"}},
		"Everything": {"no more can be lost than there is, and that is an error", 0, []string{"shop/also-old", "shop/old", "shop/middle", "shop/new"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := (&LoadBalancerStatus{Memory: Memory{Members: members}}).DeepCopy()
			lost, err := status.Trim(c.size)
			if (err != nil) != (c.size == 0) {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.lost, lost); diff != "" {
				t.Errorf("%s: lost (-want +got):\n%s", c.reason, diff)
			}
			if got := storedSize(t, status); c.size > 0 && got > c.size {
				t.Errorf("%s: %d bytes are left, of which %d were to be had", c.reason, got, c.size)
			}
			var said []string
			for _, ingress := range lost {
				for _, m := range status.Memory.Members {
					if m.Ingress == ingress && m.Forgotten && m.LastAccepted == nil && m.Served {
						said = append(said, m.Ingress)
					}
				}
			}
			if diff := cmp.Diff(lost, said); diff != "" {
				t.Errorf("%s: a member that lost its version says so and keeps the rest (-want +got):\n%s", c.reason, diff)
			}
			again, err := status.Trim(c.size)
			if (err != nil) != (c.size == 0) || again != nil {
				t.Errorf("%s: trimmed again, it loses %v, %v", c.reason, again, err)
			}
		})
	}
}

// A namespace with large Ingresses loses its own versions, and not the older ones of its
// neighbours.
func TestTrimIsFairToNamespaces(t *testing.T) {
	large := func(ingress string, day, kilobytes int) MemberMemory {
		m := remembering(ingress, day)
		m.LastAccepted.Annotations["fairlead.dev/group"] = noise(ingress, kilobytes<<10)
		return m
	}
	cases := map[string]struct {
		members []MemberMemory
		lost    []string
	}{
		"the older ones of a neighbour stay": {
			[]MemberMemory{remembering("alice/pay", 1), remembering("alice/shop", 2), large("bob/big", 3, 551), large("bob/big2", 4, 504)},
			[]string{"bob/big"},
		},
		"many small ones of one namespace are as much as a large one": {
			[]MemberMemory{large("alice/pay", 1, 300), large("bob/a", 3, 250), large("bob/b", 2, 250), large("bob/c", 4, 250)},
			[]string{"bob/b"},
		},
		"the namespace with the most may change": {
			[]MemberMemory{large("alice/a", 1, 700), large("alice/b", 2, 100), large("bob/a", 3, 600), large("bob/b", 4, 700)},
			[]string{"bob/b", "alice/a"},
		},
		"of two namespaces with as much the first by name loses": {
			[]MemberMemory{large("bob/a", 1, 600), large("eve/a", 1, 600)},
			[]string{"bob/a"},
		},
	}
	const size = 1 << 20
	for name, c := range nightly.Cases(t, cases) {
		t.Run(name, func(t *testing.T) {
			for range 10 { // in any order of maps
				status := (&LoadBalancerStatus{Memory: Memory{Members: c.members}}).DeepCopy()
				lost, err := status.Trim(size)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.lost, lost); diff != "" {
					t.Fatalf("lost (-want +got):\n%s", diff)
				}
				if got := storedSize(t, status); got > size {
					t.Fatalf("%d bytes are left", got)
				}
			}
		})
	}
}

// Rejections of the namespace with the most go, and what its members are leaving behind these; the
// names of members stay, and the neighbour keeps all of its own.
func TestTrimForgetsWhatCanBeFoundOutAgain(t *testing.T) {
	const many = 2000
	name := func(i int) string { return fmt.Sprintf("bob/%s-%04d", strings.Repeat("n", 248), i) }
	status := LoadBalancerStatus{Memory: Memory{Members: []MemberMemory{remembering("alice/shop", 1)}}}
	status.Memory.Members[0].Rejections = []Rejection{{Version: "v", Message: "no"}}
	status.Memory.Members[0].Previous = "fairlead/alice/before/internal"
	for i := range many {
		status.Members = append(status.Members, name(i))
		status.Memory.Members = append(status.Memory.Members, MemberMemory{
			Ingress: name(i), Served: true, Previous: strings.Repeat("k", 400), Earlier: []string{strings.Repeat("e", 400)},
			Rejections: []Rejection{{Version: "v", Message: strings.Repeat("m", 1000)}},
		})
	}
	lost, err := status.Trim(MaxSize)
	if err != nil {
		t.Fatal(err)
	}
	if got := storedSize(t, &status); got > MaxSize {
		t.Errorf("%d bytes are left", got)
	}
	if of := status.Memory.Members[0]; len(lost) > 0 || of.LastAccepted == nil || len(of.Rejections) != 1 || of.Previous == "" {
		t.Errorf("%v lost their versions, and of alice is left: %+v", lost, of)
	}
	if len(status.Memory.Members) != many+1 || status.Memory.Members[many].Ingress != name(many-1) || !status.Memory.Members[many].Served {
		t.Errorf("%d members are remembered", len(status.Memory.Members))
	}
	if len(status.Members) == 0 || sizeOf(t, status.Members) > MaxMembers+2 || status.Members[0] != name(0) {
		t.Errorf("%d members are listed, in %d bytes", len(status.Members), sizeOf(t, status.Members))
	}
	if again, err := status.Trim(MaxSize); err != nil || again != nil {
		t.Errorf("trimmed again it loses %v, %v", again, err)
	}
}

// A crowd with hosts, certificates and diagnostics takes nothing from a neighbour, and the status
// can be stored whatever the crowd has.
func TestTrimOfACrowd(t *testing.T) {
	now := metav1.Now()
	long := func(prefix string, i, n int) string {
		return fmt.Sprintf("%s%s%05d", prefix, strings.Repeat("x", max(0, n-len(prefix)-5)), i)
	}
	for _, length := range []int{20, 45, 257} {
		status := LoadBalancerStatus{LastPlan: &PlanStatus{}}
		status.Memory.Members = append(status.Memory.Members, remembering("alice/a", 1))
		status.Memory.Hosts = append(status.Memory.Hosts, HostOwner{Host: "alice.com", Namespace: "alice"})
		status.Memory.Certificates = append(status.Memory.Certificates, SecretCertificate{Secret: "alice/a", ID: "id"})
		status.Diagnostics = append(status.Diagnostics, Diagnostic{Severity: "info", Reason: "HostTaken", Source: "Ingress alice/a spec", Message: "m"})
		for i, used := 0, 0; used < 758<<10; i++ { // as many as the compiler lets in
			name := long("bob/", i, length)
			used += 96 + len(name)
			status.Members = append(status.Members, name)
			status.Memory.Members = append(status.Memory.Members, MemberMemory{
				Ingress: name, Served: true, Forgotten: true, Move: 10, PublishedAt: &now, DepartedAt: &now, Previous: long("p", i, 200),
				Rejections: []Rejection{{Version: "v", Message: strings.Repeat("m", 500)}},
			})
		}
		for i := range 6000 {
			status.Memory.Hosts = append(status.Memory.Hosts, HostOwner{Host: long("h", i, 250), Namespace: "bob"})
			status.Memory.Certificates = append(status.Memory.Certificates, SecretCertificate{Secret: long("bob/", i, 250), ID: long("c", i, 64)})
			status.Diagnostics = append(status.Diagnostics, Diagnostic{Severity: "error", Reason: "HostTaken", Source: "Ingress bob/" + long("x", i, 200) + " spec", Message: strings.Repeat("m", 1000)})
			status.LastPlan.Steps = append(status.LastPlan.Steps, PlanStep{Op: "+", ID: long("i", i, 500), Detail: long("d", i, 1000)})
		}
		lost, err := status.Trim(MaxSize)
		if err != nil || len(lost) > 0 || storedSize(t, &status) > MaxSize {
			t.Errorf("names of %d characters: %d bytes are left, %v lost their versions, %v", length, storedSize(t, &status), lost, err)
		}
		if of := status.Memory; of.Members[0].LastAccepted == nil || of.Hosts[0].Namespace != "alice" || len(of.Certificates) == 0 || of.Certificates[0].Secret != "alice/a" || len(status.Diagnostics) == 0 || status.Diagnostics[0].Severity != "info" {
			t.Errorf("names of %d characters: the neighbour lost something", length)
		}
		if omitted := int(status.OmittedDiagnostics); omitted+len(status.Diagnostics) != 6001 {
			t.Errorf("%d diagnostics are left, and %d said to be omitted", len(status.Diagnostics), omitted)
		}
		before := status.DeepCopy()
		if again, err := status.Trim(MaxSize); err != nil || len(again) > 0 || !cmp.Equal(before, &status) {
			t.Errorf("trimmed again it loses %v, %v", again, err)
		}
	}
}

func TestTrimCutsLists(t *testing.T) {
	status := LoadBalancerStatus{LastPlan: &PlanStatus{}}
	for i := range 210 {
		status.Diagnostics = append(status.Diagnostics, Diagnostic{Message: fmt.Sprint(i)})
		status.LastPlan.Steps = append(status.LastPlan.Steps, PlanStep{ID: fmt.Sprint(i)})
	}
	for range 2 { // the second time there is nothing left to cut
		if _, err := status.Trim(MaxSize); err != nil {
			t.Fatal(err)
		}
		if len(status.Diagnostics) != MaxDiagnostics || status.OmittedDiagnostics != 10 || status.Diagnostics[199].Message != "199" {
			t.Errorf("of 210 diagnostics %d are left and %d are said to be omitted", len(status.Diagnostics), status.OmittedDiagnostics)
		}
		if plan := status.LastPlan; len(plan.Steps) != MaxSteps || plan.OmittedSteps != 160 || plan.Steps[49].ID != "49" {
			t.Errorf("of 210 steps %d are left and %d are said to be omitted", len(plan.Steps), plan.OmittedSteps)
		}
	}
}

func TestTrimBoundsTheOwnersOfHosts(t *testing.T) {
	many := func(namespace string, n int, until *metav1.Time) (out []HostOwner) {
		for i := range n {
			out = append(out, HostOwner{Host: fmt.Sprintf("%s-%06d.example.com", namespace, i), Namespace: namespace, Until: until})
		}
		return out
	}
	ended := metav1.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	few := many("few", 100, nil)
	cases := map[string]struct {
		hosts []HostOwner
		all   []string // namespaces that keep all of theirs
	}{
		"what fits is left alone":                      {many("few", 1000, nil), []string{"few"}},
		"who names most loses the surplus":             {append(many("all", 20_000, nil), few...), []string{"few"}},
		"of several who name too many each loses some": {append(append(many("all", 20_000, nil), many("and", 20_000, nil)...), few...), []string{"few"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := LoadBalancerStatus{Memory: Memory{Hosts: c.hosts}}
			if _, err := s.Trim(MaxSize); err != nil {
				t.Fatal(err)
			}
			if size := sizeOf(t, s.Memory.Hosts); size > MaxHosts+2 || len(s.Memory.Hosts) < len(c.hosts) && size < MaxHosts/2 {
				t.Errorf("%d bytes are left", size)
			}
			before, after := map[string]int{}, map[string]int{}
			for _, h := range c.hosts {
				before[h.Namespace]++
			}
			for _, h := range s.Memory.Hosts {
				after[h.Namespace]++
			}
			for namespace, n := range before {
				if after[namespace] == 0 || slices.Contains(c.all, namespace) && after[namespace] != n {
					t.Errorf("of %d hosts of %s %d are left", n, namespace, after[namespace])
				}
			}
			if again := boundHosts(s.Memory.Hosts, MaxHosts); len(again) != len(s.Memory.Hosts) {
				t.Errorf("trimmed again, %d of %d are left", len(again), len(s.Memory.Hosts))
			}
		})
	}
	if kept := boundHosts(append(many("few", 5000, &ended), few...), 100*few[0].size()+50); !cmp.Equal(kept, few) {
		t.Errorf("%d hosts are left, of which those are to be that Ingresses name", len(kept))
	}
}

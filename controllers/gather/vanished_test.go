package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
)

// An Ingress that has vanished is served until its grace is over by the wall clock, and not less
// long where the clock goes back. One that has to be confirmed is served wherever the clock goes.
func TestAVanishedIngressUnderAClockThatIsMoved(t *testing.T) {
	const grace = 10 * time.Minute
	vanished := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		moved time.Duration
		goes  bool
	}{
		"not":              {0, false},
		"back by an hour":  {-time.Hour, false},
		"ahead by an hour": {time.Hour, true},
	} {
		now := vanished.Add(c.moved)
		m := v1alpha1.MemberMemory{Ingress: "shop/web", Served: true, VanishedAt: &metav1.Time{Time: vanished}}
		if stays := vanishing(m, time.Time{}, now).Stays(grace); stays == c.goes {
			t.Errorf("%s: what has vanished stays: %t", name, stays)
		}
		m.Unconfirmed = true
		if !vanishing(m, time.Time{}, now).Stays(grace) {
			t.Errorf("%s: what has to be confirmed goes", name)
		}
	}
}

const vanishedKey, besideKey = lb.Key("fairlead/shop/web/internal"), lb.Key("fairlead/shop/beside/internal")

// loaded is a keeper with records.
type loaded struct {
	records.Store
	of map[lb.Key]records.Record
}

func (l loaded) Load(context.Context) (map[lb.Key]records.Record, error) { return l.of, nil }

// vanishingGatherer is a Gatherer of a cluster with some Ingresses of the namespace shop, a
// LoadBalancer that is annotated unless that is "", and records with some members each.
func vanishingGatherer(t *testing.T, there []string, annotated string, remembered map[lb.Key][]v1alpha1.MemberMemory) *Gatherer {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(cluster.NewScheme())
	for _, name := range there {
		b = b.WithObjects(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
	}
	if annotated != "" {
		b = b.WithObjects(&v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.Name(string(vanishedKey), ""), Annotations: map[string]string{v1alpha1.ConfirmVanishedAnnotation: annotated},
		}})
	}
	of := map[lb.Key]records.Record{}
	for key, members := range remembered {
		var r records.Record
		r.Memory.Members = members
		of[key] = r
	}
	g := &Gatherer{Cache: b.Build(), Records: records.NewCache(loaded{of: of}, false), Grace: time.Hour}
	if err := g.Records.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// served are members of the namespace shop that are served.
func served(names ...string) []v1alpha1.MemberMemory { return servedIn("shop", names...) }

// servedIn are members of a namespace that are served.
func servedIn(namespace string, names ...string) (out []v1alpha1.MemberMemory) {
	for _, name := range names {
		out = append(out, v1alpha1.MemberMemory{Ingress: namespace + "/" + name, Served: true, LastAccepted: &v1alpha1.AcceptedVersion{}})
	}
	return out
}

// A member has vanished if it is served, has an accepted version, is not leaving, and does not
// exist. It is served until the grace is over or it is confirmed, and if three namespaces have
// lost Ingresses within the grace, only until that.
func TestWhichMembersHaveVanished(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	since := metav1.NewTime(now.Add(-2 * time.Hour))
	known := func(change func(*v1alpha1.MemberMemory)) []v1alpha1.MemberMemory {
		out := served("a")
		change(&out[0])
		return out
	}
	all := []string{"a", "b", "c", "d"}
	for name, c := range map[string]struct {
		members, beside []v1alpha1.MemberMemory
		there           []string
		annotated       string
		noGrace         bool
		want            map[string]bool // whether each has to be confirmed
	}{
		"none":                 {members: served(all...), there: all},
		"one":                  {members: served(all...), there: all[1:], want: map[string]bool{"shop/a": false}},
		"one, without a grace": {members: served(all...), there: all[1:], noGrace: true},
		"the only one":         {members: served("a"), want: map[string]bool{"shop/a": false}},
		"all, without a grace": {members: served(all...), noGrace: true},
		"all, however many there are": {
			members: served(all...), beside: served("w", "x", "y", "z"),
			want: map[string]bool{"shop/a": false, "shop/b": false, "shop/c": false, "shop/d": false},
		},
		"one without a version": {members: known(func(m *v1alpha1.MemberMemory) { m.LastAccepted = nil })},
		"one, and many of another namespace": {
			members: append(served("a"), servedIn("yard", "y", "z")...), want: map[string]bool{"shop/a": false, "yard/y": false, "yard/z": false},
		},
		"one, and some of two other namespaces": {
			members: slices.Concat(served("a"), servedIn("yard", "z"), servedIn("park", "z")), want: map[string]bool{"shop/a": true, "yard/z": true, "park/z": true},
		},
		"one, and one without a version of another namespace": {
			members: slices.Concat(served("a"), servedIn("park", "z"), []v1alpha1.MemberMemory{{Ingress: "yard/z", Served: true}}), want: map[string]bool{"shop/a": true, "park/z": true},
		},
		"one, and one of another namespace that vanished long ago": {
			members: slices.Concat(served("a"), servedIn("park", "z"), []v1alpha1.MemberMemory{{Ingress: "yard/z", Served: true, VanishedAt: &since, Unconfirmed: true}}), want: map[string]bool{"shop/a": false, "park/z": false},
		},
		"one that was not served":     {members: known(func(m *v1alpha1.MemberMemory) { m.Served = false })},
		"one that is leaving":         {members: known(func(m *v1alpha1.MemberMemory) { m.DepartedAt = &since })},
		"one whose grace is over":     {members: known(func(m *v1alpha1.MemberMemory) { m.VanishedAt = &since })},
		"one that is to be confirmed": {members: known(func(m *v1alpha1.MemberMemory) { m.VanishedAt, m.Unconfirmed = &since, true }), want: map[string]bool{"shop/a": true}},
		"one that is confirmed": {
			members:   known(func(m *v1alpha1.MemberMemory) { m.VanishedAt, m.Unconfirmed = &since, true }),
			annotated: since.Format(time.RFC3339),
		},
		"one that vanished after it was confirmed": {
			members:   known(func(m *v1alpha1.MemberMemory) { m.VanishedAt, m.Unconfirmed = &since, true }),
			annotated: since.Add(-time.Second).Format(time.RFC3339), want: map[string]bool{"shop/a": true},
		},
		"one, and many of another namespace and load balancer": {
			members: served(all...), there: all[1:], beside: servedIn("yard", "y", "z"), want: map[string]bool{"shop/a": false},
		},
		"one, and some of two other namespaces and another load balancer": {
			members: served(all...), there: all[1:], beside: append(servedIn("yard", "z"), servedIn("park", "z")...), want: map[string]bool{"shop/a": true},
		},
		"one, and one of another namespace that is not served": {
			members: served(all...), there: all[1:], beside: append(servedIn("park", "z"), v1alpha1.MemberMemory{Ingress: "yard/z"}), want: map[string]bool{"shop/a": false},
		},
		"one, and one of another namespace and load balancer that vanished long ago": {
			members: served(all...), there: all[1:], beside: append(servedIn("park", "z"), v1alpha1.MemberMemory{Ingress: "yard/z", Served: true, VanishedAt: &since, Unconfirmed: true}),
			want: map[string]bool{"shop/a": false},
		},
		"none, and all of another": {members: served("a"), there: all, beside: served("w", "x", "y", "z")},
		"one that is remembered by two": {
			members: served("a", "b", "c"), there: []string{"b", "c"}, beside: served("a", "b", "c"), want: map[string]bool{"shop/a": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := vanishingGatherer(t, c.there, c.annotated, map[lb.Key][]v1alpha1.MemberMemory{vanishedKey: c.members, besideKey: c.beside})
			if c.noGrace {
				g.Grace = 0
			}
			exist := map[string]*networkingv1.Ingress{}
			for _, name := range c.there {
				exist["shop/"+name] = &networkingv1.Ingress{}
			}
			found, err := g.vanished(t.Context(), vanishedKey, exist, now)
			got := map[string]bool{}
			for name, v := range found {
				got[name] = v.Unconfirmed
			}
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("those that have vanished are %v, want %v, error %v", got, c.want, err)
			}
		})
	}
}

// A time that is to come confirms nothing, unless the clocks may differ by so much.
func TestWhatIsConfirmed(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		annotated string
		want      time.Time
	}{
		"nothing":                        {},
		"what is no time":                {annotated: "yes"},
		"a time that is over":            {annotated: now.Add(-time.Hour).Format(time.RFC3339), want: now.Add(-time.Hour)},
		"a time half a minute from now":  {annotated: now.Add(clockSkew / 2).Format(time.RFC3339), want: now.Add(clockSkew / 2)},
		"a time more than a minute away": {annotated: now.Add(time.Hour).Format(time.RFC3339)},
	} {
		g := vanishingGatherer(t, nil, c.annotated, nil)
		if got, err := g.VanishingConfirmed(t.Context(), vanishedKey); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %s is confirmed, want %s, error %v", name, got, c.want, err)
		}
	}
}

// The compiler serves those that have vanished. What it remembers of one that was looked for and is
// there again has not vanished; one that was not looked for stays as it is.
func TestServingOnThoseThatHaveVanished(t *testing.T) {
	before, now := &record.Vanishing{For: time.Minute}, record.Vanishing{For: time.Hour}
	records := map[lb.Key]record.Record{vanishedKey: {Members: map[string]record.Member{
		"shop/gone": {Served: true}, "shop/back": {Vanished: before}, "shop/other": {Vanished: before},
	}}}
	keepServing(map[string]record.Vanishing{"shop/gone": now}, map[string]*networkingv1.Ingress{"shop/gone": nil, "shop/back": {}}, records)
	want := map[string]record.Member{"shop/gone": {Served: true, Vanished: &now}, "shop/back": {}, "shop/other": {Vanished: before}}
	if diff := cmp.Diff(want, records[vanishedKey].Members); diff != "" {
		t.Errorf("what is remembered is (-want +got)\n%s", diff)
	}
}

// A record has since when a member has vanished, until the Ingress is there again.
func TestNotingWhatHasVanished(t *testing.T) {
	readAt := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before, at := metav1.NewTime(readAt.Add(-time.Hour)), metav1.NewTime(readAt)
	member := func(at *metav1.Time, unconfirmed bool) v1alpha1.MemberMemory {
		return v1alpha1.MemberMemory{Ingress: "shop/web", VanishedAt: at, Unconfirmed: unconfirmed}
	}
	for name, c := range map[string]struct {
		gone, unconfirmed, exists bool
		known, want               v1alpha1.MemberMemory
	}{
		"it is there":                              {exists: true, known: member(nil, false), want: member(nil, false)},
		"it has vanished":                          {gone: true, known: member(nil, false), want: member(&at, false)},
		"it has vanished with many":                {gone: true, unconfirmed: true, known: member(nil, false), want: member(&at, true)},
		"it was known to have vanished":            {gone: true, known: member(&before, false), want: member(&before, false)},
		"many others have vanished since":          {gone: true, unconfirmed: true, known: member(&before, false), want: member(&before, true)},
		"others are back":                          {gone: true, known: member(&before, true), want: member(&before, false)},
		"it is known to have with many":            {gone: true, unconfirmed: true, known: member(&before, true), want: member(&before, true)},
		"it has vanished, and a version is served": {gone: true, exists: true, known: member(&before, false), want: member(&before, false)},
		"it is back":                               {exists: true, known: member(&before, true), want: member(nil, false)},
		"it is released, and does not exist":       {known: member(&before, true), want: member(&before, true)},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Snapshot{ReadAt: readAt.Add(time.Millisecond), Vanished: map[string]record.Vanishing{}, Actual: map[string]*networkingv1.Ingress{}}
			if c.gone {
				g.Vanished["shop/web"] = record.Vanishing{Unconfirmed: c.unconfirmed}
			}
			if c.exists {
				g.Actual["shop/web"] = &networkingv1.Ingress{}
			}
			var next records.Record
			next.Memory.Members = []v1alpha1.MemberMemory{c.known}
			news := g.NoteVanished(&next)
			if diff := cmp.Diff(c.want, next.Memory.Members[0]); diff != "" || news != !cmp.Equal(c.known, c.want) {
				t.Errorf("the record changes: %t, and is (-want +got)\n%s", news, diff)
			}
		})
	}
}

// A diagnostic goes to the Ingress that it is about. To one that has vanished goes only that it has.
func TestTheAddresseeOfADiagnostic(t *testing.T) {
	there, remembered := &networkingv1.Ingress{}, &networkingv1.Ingress{}
	g := &Snapshot{
		Actual: map[string]*networkingv1.Ingress{"shop/there": there},
		Snapshot: ingress.Snapshot{Members: []ingress.Member{
			{Ingress: &networkingv1.Ingress{}, Owner: routing.Owner{Namespace: "shop", Name: "other"}},
			{Ingress: remembered, Owner: routing.Owner{Namespace: "shop", Name: "gone"}},
		}},
	}
	for _, c := range []struct {
		name   string
		reason diag.Reason
		want   *networkingv1.Ingress
	}{
		{"there", diag.Vanished, there},
		{"there", diag.Protected, there},
		{"gone", diag.Vanished, remembered},
		{"gone", diag.Protected, nil},
		{"never", diag.Vanished, nil},
	} {
		d := diag.Diagnostic{Source: diag.Source{Kind: cluster.KindIngress, Namespace: "shop", Name: c.name}, Reason: c.reason}
		if got := g.Addressee(d); got != c.want {
			t.Errorf("%s of %s goes to %p, want %p", c.reason, c.name, got, c.want)
		}
	}
}

// The message names five Ingresses, and the time that confirms all of them.
func TestTheMessageOfThoseThatHaveVanished(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		vanished    int
		unconfirmed int
		says        []string
		saysNot     string
	}{
		"none": {},
		"one":  {vanished: 1, says: []string{"1 Ingresses were removed without the operator", ": shop/0;", "grace is over"}, saysNot: "…"},
		"five": {vanished: 5, says: []string{"5 Ingresses were removed without the operator", "shop/3, shop/4;"}, saysNot: "…"},
		"six":  {vanished: 6, says: []string{"6 Ingresses were removed without the operator", "shop/4, …"}, saysNot: "shop/5"},
		"two to be confirmed": {
			vanished: 3, unconfirmed: 2, says: []string{"of 2 of them", "confirm-vanished=2026-01-01T12:02:00Z"}, saysNot: "grace is over",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &Snapshot{Vanished: map[string]record.Vanishing{}}
			for i := range c.vanished {
				name := fmt.Sprintf("shop/%d", i)
				g.Vanished[name] = record.Vanishing{Unconfirmed: i < c.unconfirmed}
				at := metav1.NewTime(at.Add(time.Duration(c.vanished-1-i) * time.Minute)) // the first is the last to go
				g.Record.Memory.Members = append(g.Record.Memory.Members, v1alpha1.MemberMemory{Ingress: name, VanishedAt: &at})
			}
			got := g.VanishedMessage()
			lacks := slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(got, s) })
			if lacks || c.saysNot != "" && strings.Contains(got, c.saysNot) || (got == "") != (c.vanished == 0) {
				t.Errorf("it says %q, want %q, not %q", got, c.says, c.saysNot)
			}
		})
	}
}

// An operator that only plans has no record of when an Ingress vanished.
func TestTheMessageOfOneThatIsNotRecorded(t *testing.T) {
	for name, members := range map[string][]v1alpha1.MemberMemory{"not at all": nil, "without a time": served("web")} {
		g := &Snapshot{Vanished: map[string]record.Vanishing{"shop/web": {}}}
		g.Record.Memory.Members = members
		if got := g.VanishedMessage(); !strings.Contains(got, "shop/web") {
			t.Errorf("%s: it says %q", name, got)
		}
	}
}

// The namespace of an Ingress that has vanished is read: its class may ask for it.
func TestTheNamespaceOfOneThatHasVanished(t *testing.T) {
	if got := namespacesOf(map[string]record.Vanishing{"shop/web": {}}); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("the namespaces are %q", got)
	}
}

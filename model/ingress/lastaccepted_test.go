package ingress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/test/nightly"
)

// hostsServed are the hosts that each load balancer names, with the namespace of the Ingress.
func hostsServed(made []Snapshot) map[routing.Key]string {
	out := map[routing.Key]string{}
	for _, s := range made {
		config, _ := Translate(s, Certificates{})
		var names []string
		for _, n := range config.Names {
			names = append(names, n.Owner.Namespace+" "+string(n.Host))
		}
		if len(names) > 0 {
			out[s.Key] = strings.Join(names, ", ")
		}
	}
	return out
}

// slowGlobs are paths that take too many steps to compare.
func slowGlobs() []networkingv1.HTTPIngressPath {
	var out []networkingv1.HTTPIngressPath
	for i := range 20 {
		out = append(out, path(networkingv1.PathTypeImplementationSpecific, fmt.Sprintf("/*%c%c????????????%c", 'a'+i, 'b'+i, 'c'+i), to("web:80")))
	}
	return out
}

// What was last accepted is judged by the class as it is: served is what it lets be served of that.
func TestWhatWasAcceptedIsJudgedByTheClassAsItIs(t *testing.T) {
	const group, alone, public = routing.Key("public/@edge/internal"), routing.Key("public/bob/web/internal"), routing.Key("public/bob/web/internet-facing")
	selected := v1alpha1.LoadBalancerClassSpec{Order: true, Groups: []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"edge": "true"}}}}}
	in, out := aNamespace("bob", map[string]string{"edge": "true"}), aNamespace("bob", nil)
	under := func(edit func(*v1alpha1.LoadBalancerClassSpec)) []any {
		spec := *selected.DeepCopy()
		edit(&spec)
		return aClass("public", spec)
	}
	class := under(func(*v1alpha1.LoadBalancerClassSpec) {})
	version := func(with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		return anIngress("bob/web", append([]func(*networkingv1.Ingress){ofClass("public"), ruled("a.test", prefixed("/", "web:80")), ruled("b.test", prefixed("/", "web:80"))}, with...)...)
	}
	edge := annotated("group", "edge")
	mistake := annotated("order", "first")
	remembering := func(v *networkingv1.Ingress, departed time.Duration) record.Record {
		return record.Record{Class: &selected, Members: map[string]record.Member{"bob/web": {LastAccepted: acceptedAs(v), Served: true, Departed: departed}}}
	}
	both := "bob a.test, bob b.test"
	kept, gone := "warning LastGood Ingress bob/web", "error ConsentWithdrawn Ingress bob/web"
	wrong := "error AnnotationInvalid Ingress bob/web metadata.annotations[fairlead.dev/order]"
	cases := map[string]struct {
		given    []any
		recorded map[routing.Key]record.Record
		want     map[routing.Key]string
		ends     []routing.Key
		told     []string
	}{
		"a mistake of the author": {
			given: []any{class, in, version(edge, mistake)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			want: map[routing.Key]string{group: both}, told: []string{wrong, kept},
		},
		"a mistake, and the accepted version is too complex for this version of Fairlead": {
			given: []any{class, in, version(edge, mistake)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge, ruled("c.test", slowGlobs()...)), 0)},
			told: []string{wrong},
		},
		"a mistake, and the namespace is put out of the group": {
			given: []any{class, out, version(edge, mistake)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			ends: []routing.Key{group}, told: []string{"error ConsentWithdrawn Ingress bob/web", wrong},
		},
		"the namespace is put out of the group": {
			given: []any{class, out, version(edge)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			ends: []routing.Key{group}, told: []string{gone, "error GroupNotAllowed Ingress bob/web metadata.annotations[fairlead.dev/group]"},
		},
		"it is put out, and then leaves by itself": {
			given: []any{class, out, version()}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			want: map[routing.Key]string{alone: both}, ends: []routing.Key{group}, told: []string{"warning ConsentWithdrawn Ingress bob/web"},
		},
		"it leaves by itself": {
			given: []any{class, in, version()}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			want: map[routing.Key]string{alone: both, group: both},
		},
		"the class dissolves the group, from which all move away": {
			given: []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Groups = nil }), out, version(edge)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			want: map[routing.Key]string{"public/bob/@edge/internal": both, group: both},
		},
		"the class dissolves the group, and there is a mistake": {
			given:    []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Groups = nil }), in, version(edge, mistake)},
			recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)}, ends: []routing.Key{group}, told: []string{gone, wrong},
		},
		"it is put out while the class is missing": {
			given: []any{out, version(edge)}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)},
			ends: []routing.Key{group}, told: []string{"error ClassMissing Ingress bob/web spec.ingressClassName", gone},
		},
		"it departs": {
			given: []any{class, classOf("other", "a.test/b"), in, version(edge, ofClass("other"))}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), time.Second)},
			want: map[routing.Key]string{group: both}, told: []string{kept, "warning ClassForeign Ingress bob/web spec.ingressClassName"},
		},
		"it departs, and is put out": {
			given: []any{class, classOf("other", "a.test/b"), out, version(edge, ofClass("other"))}, recorded: map[routing.Key]record.Record{group: remembering(version(edge), time.Second)},
			ends: []routing.Key{group}, told: []string{gone},
		},
		"one host is allowed still": {
			given: []any{under(func(s *v1alpha1.LoadBalancerClassSpec) {
				s.AllowedHosts = []v1alpha1.AllowedHosts{{Hosts: []string{"b.test"}}}
			}), in, version(edge, mistake)},
			recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)}, want: map[routing.Key]string{group: "bob b.test"},
			told: []string{wrong, kept},
		},
		"no host is allowed any more": {
			given: []any{under(func(s *v1alpha1.LoadBalancerClassSpec) {
				s.AllowedHosts = []v1alpha1.AllowedHosts{{Hosts: []string{"z.test"}}}
			}), in, version(edge, mistake)},
			recorded: map[routing.Key]record.Record{group: remembering(version(edge), 0)}, ends: []routing.Key{group}, told: []string{gone, wrong},
		},
		"an annotation is forbidden without which more would be exposed": {
			given:    []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Annotations = &[]string{} }), version(annotated("listen-ports", "HTTP:8080"))},
			recorded: map[routing.Key]record.Record{alone: remembering(version(annotated("listen-ports", "HTTP:8080")), 0)}, ends: []routing.Key{alone},
			told: []string{"error AnnotationNotAllowed Ingress bob/web metadata.annotations[fairlead.dev/listen-ports]", gone},
		},
		"one without which no more would be is ignored": {
			given: []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Annotations = &[]string{"order"} }), version(mistake)},
			want:  map[routing.Key]string{alone: both}, recorded: map[routing.Key]record.Record{alone: remembering(version(annotated("target-type", "instance")), 0)},
			told: []string{wrong, kept},
		},
		"the class says who may connect": {
			given:    []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Inbound = []string{"0.0.0.0/0", "::/0"} }), version(annotated("inbound", "10.0.0.0/8"))},
			recorded: map[routing.Key]record.Record{alone: remembering(version(annotated("inbound", "10.0.0.0/8")), 0)}, ends: []routing.Key{alone},
			told: []string{"error AnnotationNotAllowed Ingress bob/web metadata.annotations[fairlead.dev/inbound]", gone},
		},
		"the class keeps its load balancers internal": {
			given:    []any{under(func(s *v1alpha1.LoadBalancerClassSpec) { s.Scheme = "internal" }), version(mistake)},
			recorded: map[routing.Key]record.Record{public: remembering(version(annotated("scheme", "internet-facing")), 0)}, ends: []routing.Key{public}, told: []string{gone, wrong},
		},
		"annotations of other controllers are refused": {
			given:    []any{class, version(annotated("alb.ingress.kubernetes.io/auth-type", "oidc"))},
			recorded: map[routing.Key]record.Record{alone: remembering(version(annotated("alb.ingress.kubernetes.io/auth-type", "oidc")), 0)}, ends: []routing.Key{alone},
			told: []string{"error AnnotationForeign Ingress bob/web metadata.annotations[alb.ingress.kubernetes.io/auth-type]", gone},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			made, found := Place(objectsOf(append(c.given, c.recorded)...), ClassOptions{})
			if c.want == nil {
				c.want = map[routing.Key]string{}
			}
			compare(t, "served", hostsServed(made), c.want)
			compare(t, "told", sortedStrings(everything(made, told(found))), sortedStrings(c.told))
			var ends []routing.Key
			for _, s := range made {
				if s.Withdrawn {
					ends = append(ends, s.Key)
				}
			}
			compare(t, "what ends", ends, c.ends)
		})
	}
}

// On a load balancer that it moves away from, an Ingress is served as the class of that one reads
// it.
func TestWhatMovesAwayIsReadAsItsOldClassReadsIt(t *testing.T) {
	const group = routing.Key("public/@edge/internal")
	shared := v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}
	edge := annotated("group", "edge")
	before := anIngress("bob/web", ofClass("public"), edge, ruled("b.test"))
	remembering := func(v *networkingv1.Ingress) record.Record {
		return record.Record{Members: map[string]record.Member{"bob/web": {LastAccepted: acceptedAs(v), Served: true}}}
	}
	t.Run("its settings of the whole load balancer do not come to count", func(t *testing.T) {
		made, _ := Place(objectsOf(aClass("public", shared),
			anIngress("alice/web", ofClass("public"), edge, ruled("a.test")),
			anIngress("bob/web", ofClass("public"), annotated("wafv2-acl", "none"), annotated("order", "-1"), ruled("b.test")),
			map[routing.Key]record.Record{group: remembering(before)}), ClassOptions{})
		at := slices.IndexFunc(made, func(s Snapshot) bool { return s.Key == group })
		compare(t, "members", membersOf(made)[group], "alice/web (bob/web)")
		if p, _ := Protect(made[at], CloudProtection{}); p.WebACL != "" {
			t.Errorf("the web ACL of the group is %q, as an Ingress says that leaves it", p.WebACL)
		}
	})
	t.Run("it takes none away from the load balancer that it leaves", func(t *testing.T) {
		const alone = routing.Key("public/bob/web/internal")
		guarded := annotated("wafv2-acl", "strong")
		made, _ := Place(objectsOf(aClass("public", shared), anIngress("bob/web", ofClass("public"), edge, guarded, ruled("b.test")),
			map[routing.Key]record.Record{alone: remembering(anIngress("bob/web", ofClass("public"), guarded, ruled("b.test")))}), ClassOptions{})
		at := slices.IndexFunc(made, func(s Snapshot) bool { return s.Key == alone })
		compare(t, "asks for", WebACLs(made[at]), []string{"strong"})
	})
	t.Run("what the old class forbids stays as it was there", func(t *testing.T) {
		const old = routing.Key("strict/bob/web/internal")
		was := anIngress("bob/web", ofClass("strict"), ruled("old.test"))
		made, found := Place(objectsOf(aClass("public", shared), aClass("strict", v1alpha1.LoadBalancerClassSpec{Annotations: &[]string{}}),
			anIngress("bob/web", ofClass("public"), annotated("inbound", "10.0.0.0/8"), ruled("new.test")),
			map[routing.Key]record.Record{old: remembering(was)}), ClassOptions{})
		compare(t, "served", hostsServed(made), map[routing.Key]string{"public/bob/web/internal": "bob new.test", old: "bob old.test"})
		compare(t, "told", everything(made, told(found)), []string(nil))
	})
}

// A namespace that is put out of a group holds none of its hosts any more. One that is being made
// again does.
func TestWhatIsPutOutHoldsNoHosts(t *testing.T) {
	const group = routing.Key("public/@edge/internal")
	shared := aClass("public", v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"edge": "true"}}}}})
	inside := map[string]string{"edge": "true"}
	alice := anIngress("alice/web", ofClass("public"), annotated("group", "edge"), ruled("a.test"))
	for name, c := range map[string]struct {
		bob  []any
		want map[routing.Key]string
	}{
		"inside":           {[]any{aNamespace("bob", inside)}, map[routing.Key]string{}},
		"put out":          {[]any{aNamespace("bob", nil)}, map[routing.Key]string{group: "alice a.test"}},
		"being made again": {nil, map[routing.Key]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			made, _ := Place(objectsOf(append(c.bob, shared, aNamespace("alice", inside), alice,
				map[routing.Key]record.Record{group: {Hosts: map[routing.Host]string{"a.test": "bob"}}})...), ClassOptions{})
			compare(t, "served", hostsServed(made), c.want)
		})
	}
}

// A Service's annotations of another controller that the class let pass, and does not let pass any
// more.
func TestWhatAServiceIsAnnotatedWithIsNotLetPassAnyMore(t *testing.T) {
	service := aService("shop/web:80")
	service.Annotations = map[string]string{"konghq.com/plugins": "key-auth"}
	ing := anIngress("shop/web", ruled("a.test", prefixed("/", "web:80")))
	member := record.Member{LastAccepted: acceptedAs(ing), Served: true}
	for name, c := range map[string]struct {
		before, now string
		want        int
	}{
		"let pass before, and now":      {v1alpha1.ForeignWarn, v1alpha1.ForeignIgnore, 1},
		"let pass before, and not now":  {v1alpha1.ForeignIgnore, v1alpha1.ForeignRefuse, 0},
		"never let pass, and before it": {"", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			made, _ := Place(objectsOf(ing, service, aClass("fairlead", v1alpha1.LoadBalancerClassSpec{ForeignAnnotations: c.now}), map[routing.Key]record.Record{
				"fairlead/shop/web/internal": {Class: &v1alpha1.LoadBalancerClassSpec{ForeignAnnotations: c.before}, Members: map[string]record.Member{"shop/web": member}},
			}), ClassOptions{})
			left, found := WithoutForeignRestrictions(made[0])
			if len(left.Members) != c.want || left.Withdrawn != (c.want == 0) {
				t.Errorf("%d members are left, want %d; told %v", len(left.Members), c.want, told(found))
			}
		})
	}
}

// A drawnWorld is drawn at random: a class, the labels of two namespaces, and an Ingress in each.
type drawnWorld struct {
	class     v1alpha1.LoadBalancerClassSpec
	missing   bool
	labels    map[string]map[string]string
	ingresses []*networkingv1.Ingress
	records   map[routing.Key]record.Record
}

var consentHosts = []string{"a.test", "b.test", "c.test", ""}

func drawClass(rng *rand.Rand) v1alpha1.LoadBalancerClassSpec {
	selector := func() metav1.LabelSelector {
		if rng.IntN(3) == 0 {
			return metav1.LabelSelector{}
		}
		return metav1.LabelSelector{MatchLabels: map[string]string{"in": "yes"}}
	}
	var spec v1alpha1.LoadBalancerClassSpec
	if rng.IntN(4) > 0 {
		spec.Groups = []v1alpha1.SharedGroup{{Name: "edge", NamespaceSelector: selector()}}
	}
	if rng.IntN(2) == 0 {
		spec.AllowedHosts = []v1alpha1.AllowedHosts{}
		for range rng.IntN(3) {
			host := consentHosts[rng.IntN(len(consentHosts))]
			if host == "" {
				host = anyHost
			}
			spec.AllowedHosts = append(spec.AllowedHosts, v1alpha1.AllowedHosts{NamespaceSelector: selector(), Hosts: []string{host}})
		}
	}
	if rng.IntN(3) == 0 {
		allowed := []string{"group"}
		for _, name := range []string{"inbound", "scheme", "listen-ports"} {
			if rng.IntN(2) == 0 {
				allowed = append(allowed, name)
			}
		}
		spec.Annotations = &allowed
	}
	spec.Scheme = []string{"", "", "internal", "internet-facing"}[rng.IntN(4)]
	if rng.IntN(4) == 0 {
		spec.Inbound = []string{"192.0.2.0/24"}
	}
	spec.ForeignAnnotations = []string{"", v1alpha1.ForeignIgnore}[rng.IntN(2)]
	spec.Hosts = []string{"", v1alpha1.HostsShared}[rng.IntN(2)]
	return spec
}

func drawVersion(rng *rand.Rand, namespace string) *networkingv1.Ingress {
	ing := anIngress(namespace+"/web", ofClass("public"))
	for _, host := range rng.Perm(len(consentHosts))[:1+rng.IntN(2)] {
		ruled(consentHosts[host], prefixed("/"+namespace, "web:80"))(ing)
	}
	for _, a := range []struct{ name, value string }{
		{"group", "edge"}, {"scheme", "internet-facing"}, {"scheme", "internal"}, {"inbound", "10.0.0.0/8"}, {"listen-ports", "HTTP:8080"},
		{"alb.ingress.kubernetes.io/auth-type", "oidc"},
	} {
		if rng.IntN(4) == 0 || a.name == "group" && rng.IntN(2) == 0 {
			annotated(a.name, a.value)(ing)
		}
	}
	return ing
}

func draw(rng *rand.Rand) drawnWorld {
	w := drawnWorld{class: drawClass(rng), missing: rng.IntN(8) == 0, labels: map[string]map[string]string{}, records: map[routing.Key]record.Record{}}
	remembered := drawClass(rng)
	for _, namespace := range []string{"alice", "bob"} {
		if rng.IntN(2) == 0 {
			w.labels[namespace] = map[string]string{"in": "yes"}
		}
		ing := drawVersion(rng, namespace)
		switch rng.IntN(4) {
		case 0:
			annotated("health-check-interval-seconds", "never")(ing)
		case 1:
			ing.Spec.IngressClassName = new("other")
		}
		w.ingresses = append(w.ingresses, ing)
		for i := range rng.IntN(3) {
			version := drawVersion(rng, namespace)
			scheme := version.Annotations[settings.Scheme]
			if scheme == "" {
				scheme = "internal"
			}
			whose := namespace + "/web"
			if version.Annotations[settings.Group] != "" {
				whose = "@edge"
			}
			key := routing.Key(fmt.Sprintf("public/%s/%s", whose, scheme))
			m := w.records[key]
			if m.Members == nil {
				m = record.Record{Class: &remembered, Members: map[string]record.Member{}}
			}
			m.Members[namespace+"/web"] = record.Member{LastAccepted: acceptedAs(version), Served: true, Move: int32(i)}
			w.records[key] = m
		}
	}
	for i, a := range w.ingresses { // some are in the middle of a move
		of := a.Namespace + "/web"
		for key, m := range w.records {
			for from, before := range w.records {
				r, there := m.Members[of]
				b, was := before.Members[of]
				if there && was && key != from && r.Move > b.Move && (i+len(key))%2 == 0 {
					r.Previous = from
					m.Members[of] = r
				}
			}
		}
	}
	return w
}

// TestWithdrawnConsentEndsAtOnce: whatever is remembered, each route is one that the class of the
// load balancer lets the namespace have. The oracle reads the class itself, as the API describes
// it.
func TestWithdrawnConsentEndsAtOnce(t *testing.T) {
	rng := drawing(t)
	old := 0
	for range nightly.Times(8_000) {
		w := draw(rng)
		given := []any{classOf("other", "a.test/b"), w.records}
		if !w.missing {
			given = append(given, aClass("public", w.class))
		}
		for namespace, labels := range w.labels {
			given = append(given, aNamespace(namespace, labels))
		}
		for _, ing := range w.ingresses {
			given = append(given, ing)
		}
		made, _ := Place(objectsOf(given...), ClassOptions{})
		for _, s := range made {
			class := w.class
			if w.missing {
				class = *w.records[s.Key].Class
			}
			for _, step := range []Snapshot{s, s.Refuse(s.Changes())} {
				config, _ := Translate(step, Certificates{})
				for _, m := range step.Members {
					if slices.ContainsFunc(w.ingresses, func(i *networkingv1.Ingress) bool { return i == m.Ingress }) {
						continue
					}
					old++
					if why := w.refusesLast(class, s.Key, m); why != "" {
						t.Fatalf("%s serves %s as it was last accepted, and %s\nthe class: %+v\nthe labels: %v\nthe version: %v", s.Key, m.Owner, why, class, w.labels, m.Annotations)
					}
				}
				for _, r := range config.Routes {
					if why := w.refuses(class, s.Key, r); why != "" {
						t.Fatalf("%s serves %s of %s, and %s\nthe class: %+v\nthe labels: %v", s.Key, r.Host, r.Owner, why, class, w.labels)
					}
				}
			}
		}
	}
	if old < nightly.Times(500) {
		t.Errorf("only %d last accepted versions were served: the test hardly looks at any", old)
	}
}

// in is the oracle's reading of a selector that is empty or wants one label.
func (w drawnWorld) in(namespace string, s metav1.LabelSelector) bool {
	return len(s.MatchLabels) == 0 || w.labels[namespace]["in"] == "yes"
}

// refuses says why a class does not let a namespace have a route on a load balancer.
func (w drawnWorld) refuses(class v1alpha1.LoadBalancerClassSpec, key routing.Key, r routing.Route) string {
	namespace := r.Owner.Namespace
	if strings.Contains(string(key), "/@edge/") && len(class.Groups) > 0 && !w.in(namespace, class.Groups[0].NamespaceSelector) {
		return "its namespace is not in the group"
	}
	if class.AllowedHosts == nil {
		return ""
	}
	for _, a := range class.AllowedHosts {
		if w.in(namespace, a.NamespaceSelector) && (a.Hosts[0] == anyHost || a.Hosts[0] == string(r.Host)) {
			return ""
		}
	}
	return "its namespace may not serve the host"
}

// refusesLast says why a class does not let an Ingress be served as it was last accepted. To move
// away from a group that there is no more, or to another scheme, takes the moveGrace.
func (w drawnWorld) refusesLast(class v1alpha1.LoadBalancerClassSpec, key routing.Key, m Member) string {
	may := func(name string) bool { return class.Annotations == nil || slices.Contains(*class.Annotations, name) }
	scheme, inbound, ports := m.Annotations[settings.Scheme], m.Annotations[settings.Inbound], m.Annotations[settings.ListenPorts]
	switch {
	case !m.Leaving && strings.Contains(string(key), "/@edge/") && len(class.Groups) == 0:
		return "there is no group"
	case inbound != "" && (!may("inbound") || class.Inbound != nil):
		return "the class does not let it keep clients out"
	case ports != "" && !may("listen-ports"):
		return "the class does not let it choose its port"
	case scheme == "internal" && class.Scheme == "internet-facing":
		return "the class would have it internet-facing"
	case !m.Leaving && key.Scheme() == "internet-facing" && (class.Scheme == "internal" || class.Scheme == "" && !may("scheme")):
		return "the class does not let it be internet-facing"
	case m.Annotations["alb.ingress.kubernetes.io/auth-type"] != "" && class.ForeignAnnotations != v1alpha1.ForeignIgnore:
		return "it has an annotation that restricts and is not read"
	}
	return ""
}

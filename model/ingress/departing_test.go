package ingress

import (
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// classOf is an IngressClass of a controller.
func classOf(name, controller string) *networkingv1.IngressClass {
	return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
}

func TestAnIngressThatIsNotOursAnyMoreIsServedForAGrace(t *testing.T) {
	const key, other = routing.Key("public/shop/web/internal"), routing.Key("public/shop/@g/internal")
	const field, annotation = "Ingress shop/web spec.ingressClassName", "Ingress shop/web metadata.annotations[kubernetes.io/ingress.class]"
	host := ruled("now.test", prefixed("/", "web:80"))
	good := acceptedAs(anIngress("shop/web", ofClass("public"), ruled("good.test", prefixed("/", "web:80"))))
	served := record.Member{LastAccepted: good, Served: true}
	since := func(d time.Duration) record.Member {
		return record.Member{LastAccepted: good, Served: true, Departed: d}
	}
	under := func(grace time.Duration) *v1alpha1.LoadBalancerClassSpec {
		return &v1alpha1.LoadBalancerClassSpec{MoveGrace: &metav1.Duration{Duration: grace}}
	}
	ours, nginx := classOf("public", ControllerName), classOf("nginx", "k8s.io/ingress-nginx")
	foreign := anIngress("shop/web", ofClass("nginx"), host)
	deleted := foreign.DeepCopy()
	deleted.DeletionTimestamp = new(metav1.Unix(1, 0))
	warned := func(reason, at string) []string {
		return []string{"warning " + reason + " " + at, "warning LastGood Ingress shop/web"}
	}
	cases := map[string]struct {
		given    []any
		class    *v1alpha1.LoadBalancerClassSpec // as it is remembered
		recorded record.Member
		before   record.Member // of the load balancer that it comes from; none if it was never there
		options  ClassOptions
		want     map[routing.Key]string
		told     []string
	}{
		"the field names another controller's class": {
			given: []any{ours, nginx, foreign}, recorded: served,
			want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", field),
		},
		"the annotation does": {
			given: []any{ours, nginx, anIngress("shop/web", ofClass(""), annotated(settings.IngressClass, "nginx"), host)}, recorded: served,
			want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", annotation),
		},
		"the annotation does, and the field is still ours": {
			given: []any{ours, nginx, anIngress("shop/web", ofClass("public"), annotated(settings.IngressClass, "nginx"), host)}, recorded: served,
			want: map[routing.Key]string{key: "(shop/web)"}, told: append([]string{"warning ClassConflict " + annotation}, warned("ClassForeign", annotation)...),
		},
		"the class was made again by another controller": {
			given: []any{classOf("public", "a.test/b"), anIngress("shop/web", ofClass("public"), host)}, recorded: served, class: under(time.Hour),
			want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", field),
		},
		"it names no class any more": {
			given: []any{ours, anIngress("shop/web", ofClass(""), host)}, recorded: served,
			want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassUnset", field),
		},
		"it names none, and the class of such is foreign": {
			given: []any{classOf("public", "a.test/b"), anIngress("shop/web", ofClass(""), host)}, recorded: served, class: under(time.Hour),
			options: ClassOptions{WithoutClass: "public"}, want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", "Ingress shop/web"),
		},
		"just before the grace is over": {
			given: []any{ours, nginx, foreign}, recorded: since(10*time.Minute - 1),
			want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", field),
		},
		"the grace is over":                      {given: []any{ours, nginx, foreign}, recorded: since(10 * time.Minute), want: map[routing.Key]string{}},
		"the class as it is says how long":       {given: []any{aClass("public", *under(time.Minute)), nginx, foreign}, class: under(time.Hour), recorded: since(time.Minute), want: map[routing.Key]string{}},
		"one that is lost, as it was":            {given: []any{nginx, foreign}, class: under(time.Hour), recorded: since(30 * time.Minute), want: map[routing.Key]string{key: "(shop/web)"}, told: warned("ClassForeign", field)},
		"a class without a grace":                {given: []any{aClass("public", *under(0)), nginx, foreign}, recorded: served, want: map[routing.Key]string{}},
		"nothing of it was served":               {given: []any{ours, nginx, foreign}, recorded: record.Member{LastAccepted: good}, want: map[routing.Key]string{}},
		"its version was dropped to make room":   {given: []any{ours, nginx, foreign}, recorded: record.Member{Served: true}, want: map[routing.Key]string{}},
		"one that is being deleted goes at once": {given: []any{ours, nginx, deleted}, recorded: served, want: map[routing.Key]string{}},
		"it comes back": {
			given: []any{ours, nginx, anIngress("shop/web", ofClass("public"), host)}, recorded: since(time.Minute),
			want: map[routing.Key]string{key: "shop/web"},
		},
		"it comes back to another load balancer": {
			given: []any{ours, nginx, anIngress("shop/web", ofClass("public"), annotated("group", "g"), host)}, recorded: since(time.Minute),
			want: map[routing.Key]string{key: "(shop/web)", other: "shop/web"},
		},
		"it goes in the middle of a move": {
			given: []any{ours, nginx, foreign}, recorded: record.Member{LastAccepted: good, Served: true, Move: 1, Previous: other}, before: served,
			want: map[routing.Key]string{key: "(shop/web)", other: "(shop/web)"}, told: warned("ClassForeign", field),
		},
		"it goes in the middle of a move, before it was served elsewhere": {
			given: []any{ours, nginx, foreign}, recorded: record.Member{Move: 1, Previous: other}, before: served,
			want: map[routing.Key]string{other: "(shop/web)"}, told: warned("ClassForeign", field),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			records := map[routing.Key]record.Record{key: {Class: c.class, Members: map[string]record.Member{"shop/web": c.recorded}}}
			if c.before.Served {
				records[other] = record.Record{Class: c.class, Members: map[string]record.Member{"shop/web": c.before}}
			}
			snapshots, found := Place(objectsOf(append(c.given, records)...), c.options)
			compare(t, "members", membersOf(snapshots), c.want)
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), sortedStrings(c.told))
			for _, s := range snapshots {
				config, _ := Translate(s, Certificates{})
				back := len(c.told) == 0
				if want := map[bool]routing.Host{true: "now.test", false: "good.test"}[back]; len(config.Names) != 1 || config.Names[0].Host != want {
					t.Errorf("%s names %v, want %s", s.Key, config.Names, want)
				}
				if s.ClassLost != "" {
					t.Errorf("the class of %s is lost: %s", s.Key, s.ClassLost)
				}
			}
		})
	}
}

// What was served under a class stays as it is while the class is missing, whichever way it was
// named.
func TestALostClassFreezesWhatItServed(t *testing.T) {
	const key = routing.Key("fairlead/shop/web/internal")
	host := ruled("now.test", prefixed("/", "web:80"))
	pinned := &v1alpha1.LoadBalancerClassSpec{Scheme: "internal", Inbound: []string{"10.0.0.0/8"}, Annotations: &[]string{}}
	legacy := annotated(settings.IngressClass, "fairlead")
	escape := annotated("scheme", "internet-facing")
	const annotation = "Ingress shop/web metadata.annotations[kubernetes.io/ingress.class]"
	cases := map[string]struct {
		ing     *networkingv1.Ingress
		class   *v1alpha1.LoadBalancerClassSpec // as it is remembered
		options ClassOptions
		lost    bool
		told    []string
	}{
		"by the field":      {ing: anIngress("shop/web", host, escape), class: pinned, lost: true, told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName"}},
		"by the annotation": {ing: anIngress("shop/web", ofClass(""), legacy, host, escape), class: pinned, lost: true, told: []string{"error ClassMissing " + annotation}},
		"by the annotation, with a literal of that name": {
			ing: anIngress("shop/web", ofClass(""), legacy, host, escape), class: pinned, options: ClassOptions{Literal: "fairlead"}, lost: true, told: []string{"error ClassMissing " + annotation},
		},
		"by an operator of before, which made the class up": {
			ing: anIngress("shop/web", ofClass(""), legacy, host), class: &v1alpha1.LoadBalancerClassSpec{}, lost: true, told: []string{"error ClassMissing " + annotation},
		},
		"for want of any": {
			ing: anIngress("shop/web", ofClass(""), host, escape), class: pinned, options: ClassOptions{WithoutClass: "fairlead"}, lost: true, told: []string{"error ClassMissing Ingress shop/web"},
		},
		"and another class that is not there either": {
			ing: anIngress("shop/web", ofClass("other"), host), class: pinned, told: []string{"error ClassMissing Ingress shop/web spec.ingressClassName"},
		},
		"and a name in the annotation that nobody knows": {
			ing: anIngress("shop/web", ofClass(""), annotated(settings.IngressClass, "gce"), host), class: pinned, told: []string{"error ClassMissing " + annotation},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			good := acceptedAs(anIngress("shop/web", ofClass(""), legacy, ruled("good.test", prefixed("/", "web:80"))))
			snapshots, found := Place(objectsOf(c.ing, map[routing.Key]record.Record{
				key: {Class: c.class, Members: map[string]record.Member{"shop/web": {LastAccepted: good, Served: true}}},
			}), c.options)
			compare(t, "members", membersOf(snapshots), map[routing.Key]string{key: "shop/web"})
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), append(c.told, "warning LastGood Ingress shop/web"))
			if len(snapshots) != 1 {
				return
			}
			compare(t, "the class", snapshots[0].Class.LoadBalancerClassSpec, *c.class)
			config, _ := Translate(snapshots[0], Certificates{})
			if len(config.Names) != 1 || config.Names[0].Host != "good.test" {
				t.Errorf("it names %v, want what was accepted", config.Names)
			}
			if lost := snapshots[0].ClassLost != ""; lost != c.lost {
				t.Errorf("the class of the load balancer is lost: %q", snapshots[0].ClassLost)
			}
		})
	}
}

func TestWhyAnIngressIsLeftAlone(t *testing.T) {
	const field, annotation = "Ingress shop/web spec.ingressClassName", "Ingress shop/web metadata.annotations[kubernetes.io/ingress.class]"
	ours, nginx := classOf("public", ControllerName), classOf("nginx", "k8s.io/ingress-nginx")
	cases := map[string]struct {
		ing     *networkingv1.Ingress
		options ClassOptions
		want    []string
	}{
		"it is ours":           {ing: anIngress("shop/web", ofClass("public"))},
		"its class is missing": {ing: anIngress("shop/web", ofClass("gone"))},
		"the field names another controller's class": {ing: anIngress("shop/web", ofClass("nginx")), want: []string{"info ClassForeign " + field}},
		"the annotation does":                        {ing: anIngress("shop/web", ofClass("public"), annotated(settings.IngressClass, "nginx")), want: []string{"info ClassForeign " + annotation}},
		"the annotation says what nobody knows":      {ing: anIngress("shop/web", ofClass(""), annotated(settings.IngressClass, "gce\x1b")), want: []string{"info ClassUnknown " + annotation}},
		"it names no class":                          {ing: anIngress("shop/web", ofClass("")), want: []string{"info ClassUnset " + field}},
		"it names none, and the class of such is not ours": {
			ing: anIngress("shop/web", ofClass("")), options: ClassOptions{WithoutClass: "nginx"}, want: []string{"info ClassForeign Ingress shop/web"},
		},
		"a class is assumed that is not ours": {ing: anIngress("shop/web", ofClass("nginx")), options: ClassOptions{AssumeClasses: []string{"nginx"}}, want: []string{"info ClassForeign " + field}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := objectsOf(ours, nginx, c.ing)
			snapshots, _ := Place(o, c.options)
			compare(t, "told", told(LeftAlone(o, c.options, snapshots)), c.want)
		})
	}
}

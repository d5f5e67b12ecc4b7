package gather

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/settings"
)

// This file tests which load balancers an Ingress has, and which are paused.

// A setting, an annotation of the LoadBalancer and one of the class pause a load balancer. While an
// Ingress departs, the annotation counts that the cache does not have yet.
func TestWhatPausesALoadBalancer(t *testing.T) {
	const setting, annotation, class = "the setting --paused", "the annotation " + v1alpha1.PausedAnnotation, "the annotation " + v1alpha1.PausedAnnotation + " of IngressClass slow"
	for name, c := range map[string]struct {
		setting         string
		cached, there   string
		class           string
		departs, unread bool
		want            string
	}{
		"nothing":                                  {},
		"the setting":                              {setting: string(slowKey), want: setting},
		"the setting, of another":                  {setting: string(webKey)},
		"the annotation":                           {cached: "true", there: "true", want: annotation},
		"another annotation":                       {cached: "false", there: "false"},
		"the class":                                {class: "true", want: class},
		"the class, with another annotation":       {class: "false"},
		"the annotation, which the cache lacks":    {there: "true"},
		"the same, and an Ingress departs":         {there: "true", departs: true, want: annotation},
		"the annotation that is removed, likewise": {cached: "true", departs: true, want: annotation},
		"a class that cannot be read":              {unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			report := func(value string) client.Client {
				o := &v1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(string(slowKey), ""), Annotations: map[string]string{v1alpha1.PausedAnnotation: value}}}
				class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "slow", Annotations: map[string]string{v1alpha1.PausedAnnotation: c.class}}}
				return clusterOf(t, o, class)
			}
			of := map[lb.Key]records.Record{}
			if c.departs {
				of[slowKey] = remembering()
			}
			g := gathererOf(report(c.cached), of)
			g.Server, g.Paused = report(c.there), []string{c.setting}
			if c.unread {
				g.Cache = failing{Reader: g.Cache, kind: &networkingv1.IngressClass{}}
				if by, err := g.pausedBy(t.Context(), slowKey, g.Cache); by != "" || !errors.Is(err, errFailing) {
					t.Errorf("it is paused by %q, error %v", by, err)
				}
				return
			}
			out, err := g.Gather(t.Context(), slowKey)
			if err != nil || out.PausedBy != c.want {
				t.Errorf("it is paused by %q, want %q, error %v", out.PausedBy, c.want, err)
			}
		})
	}
}

const slowKey = lb.Key("slow/shop/web/internal")

// An Ingress has the load balancer that it asks for, and those that remember it. One that is
// refused has diagnostics where no load balancer serves it as it was.
func TestTheLoadBalancersOfAnIngress(t *testing.T) {
	web, public := asking(), annotated(settings.Scheme, "internet-facing")
	broken, shared := annotated(settings.Scheme, "neither"), annotated(settings.Group, "shared")
	named := asking(annotated(settings.IngressClass, "alb"), func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = nil })
	pinned := records.Record{Memory: v1alpha1.Memory{Class: &v1alpha1.LoadBalancerClassSpec{Expectations: &v1alpha1.ConfigMapReference{Namespace: "infra"}}}}
	lacking := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	lacking.Spec.Controller = ingress.ControllerName
	lacking.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "missing"}
	for name, c := range map[string]struct {
		ing       *networkingv1.Ingress
		of        map[lb.Key]records.Record
		homes     []lb.Key
		refusedAt []lb.Key
		unplaced  []diag.Reason
	}{
		"it asks for one":                       {ing: web, homes: []lb.Key{webKey}},
		"it is remembered by it":                {ing: web, of: map[lb.Key]records.Record{webKey: remembering()}, homes: []lb.Key{webKey}},
		"it is remembered by another":           {ing: web, of: map[lb.Key]records.Record{publicKey: remembering()}, homes: []lb.Key{webKey, publicKey}},
		"it is being deleted":                   {ing: asking(deleted), homes: []lb.Key{webKey}},
		"it is public":                          {ing: asking(public), homes: []lb.Key{publicKey}},
		"it is broken":                          {ing: asking(broken), unplaced: []diag.Reason{diag.AnnotationInvalid}},
		"it is broken, and a version is known":  {ing: asking(broken), of: map[lb.Key]records.Record{webKey: remembering(isServed, accepted(web.Spec))}, homes: []lb.Key{webKey}},
		"it is broken, in a group":              {ing: asking(broken, shared), refusedAt: []lb.Key{groupKey}, unplaced: []diag.Reason{diag.AnnotationInvalid}},
		"it is in a group":                      {ing: asking(shared), homes: []lb.Key{groupKey}},
		"its class is missing":                  {ing: asking(ofClass("missing")), unplaced: []diag.Reason{diag.ClassMissing}},
		"its class is not ours":                 {ing: asking(ofClass("foreign"))},
		"its class lacks its parameters":        {ing: asking(ofClass("broken")), unplaced: []diag.Reason{diag.ParametersMissing}},
		"it names a class that never existed":   {ing: named, homes: []lb.Key{albKey}},
		"its class had parameters, and is gone": {ing: named, of: map[lb.Key]records.Record{"alb/shop/other/internal": pinned}, unplaced: []diag.Reason{diag.ClassMissing}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gathererOf(clusterOf(t, lacking.DeepCopy()), c.of)
			g.Options.Literal = "alb"
			out, seen, err := g.place(t.Context(), c.ing)
			if now, failed := g.versionsOf(t.Context(), maps.Keys(seen)); failed != nil || !maps.Equal(seen, now) || len(seen) < 2 {
				t.Errorf("it was placed under %v, and there is %v, error %v", seen, now, failed)
			}
			var unplaced []diag.Reason
			for _, d := range out.Diagnostics {
				unplaced = append(unplaced, d.Reason)
			}
			if err != nil || !slices.Equal(out.Keys, c.homes) || !slices.Equal(out.RefusedBy, c.refusedAt) || !slices.Equal(unplaced, c.unplaced) {
				t.Errorf("it has %q, is refused at %q, for %q, error %v", out.Keys, out.RefusedBy, unplaced, err)
			}
		})
	}
}

// A version of an Ingress in a dialect that the cloud has refused is known again: what it is read as depends
// on its Services, and on others of its group.
func TestARefusedVersionInADialectIsKnown(t *testing.T) {
	const alb = "alb.ingress.kubernetes.io/"
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	class.Spec.Controller = ingress.ControllerName
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "theirs"}
	parameters := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB}}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{
		alb + "auth-type": "cognito", alb + "auth-idp-cognito": `{"userPoolARN":"arn:aws:cognito-idp:eu-west-1:1:userpool/a","userPoolClientID":"b","userPoolDomain":"c"}`}}}
	listens := annotated(alb+"listen-ports", `[{"HTTP": 80}, {"HTTPS": 443}]`)
	ing := asking(ofClass("theirs"), listens, annotated(alb+"certificate-arn", "arn:aws:acm:eu-west-1:123456789012:certificate/a"), annotated(alb+"group.name", "edge"))
	other := asking(ofClass("theirs"), listens, annotated(alb+"group.name", "edge"), annotated(alb+"ssl-redirect", "443"))
	other.Name = "other"

	read := ingress.ReadAs(ingress.Objects{
		IngressClasses: []*networkingv1.IngressClass{class}, ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{parameters},
		Services: []*corev1.Service{web}, Ingresses: []*networkingv1.Ingress{ing, other},
	}, ingress.ClassOptions{}, ing)
	if read.Annotations["fairlead.dev/ssl-redirect"] != "443,all" || !strings.Contains(read.Annotations["fairlead.dev/backends"], "cognito") {
		t.Fatalf("it is read as %v", read.Annotations)
	}
	g := gathererOf(clusterOf(t, class, parameters, web, other), map[lb.Key]records.Record{"theirs/shop/web/internal": remembering(rejecting(read))})
	out, err := g.PlaceOf(t.Context(), ing)
	if err != nil || len(out.Diagnostics) != 1 || out.Diagnostics[0].Reason != diag.Rejected {
		t.Errorf("it has %q, for %v, error %v", out.Keys, out.Diagnostics, err)
	}
	for _, kind := range []any{&corev1.Service{}, &networkingv1.IngressList{}} {
		g.Cache = failing{Reader: g.Cache, kind: kind}
		if _, err := g.PlaceOf(t.Context(), ing); !errors.Is(err, errFailing) {
			t.Errorf("where a %T cannot be read the error is %v", kind, err)
		}
	}
}

// A version that was seen before an object changed is outdated, once; so is one of an object that
// was seen in two versions, and of any object where versions were dropped or could not be read.
func TestWhichVersionsAreOutdated(t *testing.T) {
	c := clusterOf(t)
	class := cluster.RefTo(cluster.KindIngressClass, "", "fairlead")
	now := (&Gatherer{Cache: c}).mustVersion(t, class)
	for name, k := range map[string]struct {
		noted      []string
		incomplete bool
		want       []bool // each time that it is asked
	}{
		"it was not seen":                      {want: []bool{false}},
		"it was not seen, of an unknown world": {incomplete: true, want: []bool{true, true}},
		"it was seen as it is":                 {noted: []string{now, now}, want: []bool{false, false}},
		"likewise, of an unknown world":        {noted: []string{now}, incomplete: true, want: []bool{false}},
		"it was seen as it was":                {noted: []string{"0"}, want: []bool{true, false}},
		"it was missing":                       {noted: []string{""}, want: []bool{true, false}},
		"it was seen as it was and as it is":   {noted: []string{"0", now}, want: []bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlacer(&Gatherer{Cache: c})
			p.incomplete = k.incomplete
			for _, version := range k.noted {
				p.noteVersions(versions{class: version})
			}
			for i, want := range k.want {
				if got, err := p.isOutdated(t.Context(), class); err != nil || got != want {
					t.Errorf("question %d: it is outdated: %t, error %v", i, got, err)
				}
			}
		})
	}
}

func (g *Gatherer) mustVersion(t *testing.T, ref cluster.Ref) string {
	t.Helper()
	v, err := g.versionsOf(t.Context(), slices.Values([]cluster.Ref{ref}))
	if err != nil || v[ref] == "" {
		t.Fatalf("the version is %q, error %v", v[ref], err)
	}
	return v[ref]
}

// An Ingress that could not be placed may depend on anything, and what cannot be read is an error.
func TestAnIngressThatCannotBePlaced(t *testing.T) {
	c := clusterOf(t)
	g := gathererOf(c, nil)
	p := NewPlacer(g)
	class := cluster.RefTo(cluster.KindIngressClass, "", "fairlead")
	for _, kind := range []client.Object{&networkingv1.IngressClass{}, &corev1.Namespace{}} {
		g.Cache = failing{Reader: c, kind: kind}
		if out, err := p.PlaceOf(t.Context(), asking()); !errors.Is(err, errFailing) {
			t.Errorf("without a %T it has %v, error %v", kind, out, err)
		}
	}
	if found, err := p.AffectedIn(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); !errors.Is(err, errFailing) || found != nil {
		t.Errorf("a namespace that cannot be read concerns %v, error %v", found, err)
	}
	g.Cache = c
	if outdated, err := p.isOutdated(t.Context(), class); !outdated || err != nil {
		t.Errorf("what it depends on is outdated: %t, error %v", outdated, err)
	}
	g.Cache = failing{Reader: c, kind: &networkingv1.IngressClass{}}
	if found, err := p.Affected(t.Context(), class, []string{"fairlead"}); !errors.Is(err, errFailing) || found != nil {
		t.Errorf("a class that cannot be read concerns %v, error %v", found, err)
	}
}

package ingress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// keys are the load balancers of snapshots.
func keys(snapshots []Snapshot) []routing.Key {
	var out []routing.Key
	for _, s := range snapshots {
		out = append(out, s.Key)
	}
	return out
}

// everything is what is reported about all Ingresses, members or not.
func everything(snapshots []Snapshot, unplaced []string) []string {
	for _, s := range snapshots {
		unplaced = append(unplaced, told(s.Diagnostics)...)
	}
	return unplaced
}

func TestClassSelection(t *testing.T) {
	class := func(name, controller string) *networkingv1.IngressClass {
		return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
	}
	standard := func(c *networkingv1.IngressClass, seconds int64) *networkingv1.IngressClass {
		c.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
		c.CreationTimestamp = metav1.Unix(seconds, 0)
		return c
	}
	ours, theirs := class("public", ControllerName), class("nginx", "k8s.io/ingress-nginx")
	aws := class("aws", alb.Controller)
	web := func(with ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
		return anIngress("shop/web", append(with, defaulted(to("web:80")))...)
	}
	legacy := func(class string) func(*networkingv1.Ingress) { return annotated(settings.IngressClass, class) }
	deleted := func(ing *networkingv1.Ingress) { ing.DeletionTimestamp = new(metav1.Unix(1, 0)) }
	broken := class("public", ControllerName)
	broken.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "missing"}

	foreignParameters := class("nginx", "k8s.io/ingress-nginx")
	foreignParameters.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new("a.test"), Kind: "Settings", Name: "nginx"}
	with := func(parameters v1alpha1.LoadBalancerClassSpec) map[routing.Key]record.Record {
		return map[routing.Key]record.Record{"fairlead/pay/api/internal": {Class: &parameters}}
	}
	without := ClassOptions{WithoutClass: "public"}
	literal := ClassOptions{Literal: "fairlead"}

	const public, plain = "public/shop/web/internal", "fairlead/shop/web/internal"
	const field, annotation = "Ingress shop/web spec.ingressClassName", "Ingress shop/web metadata.annotations[kubernetes.io/ingress.class]"
	cases := map[string]struct {
		given   []any
		options ClassOptions
		want    routing.Key // "": nobody's
		told    []string
	}{
		"the field names a class of ours":                    {given: []any{ours, web(ofClass("public"))}, want: public},
		"the field names a class of another controller":      {given: []any{theirs, web(ofClass("nginx"))}},
		"the field names a class that does not exist":        {given: []any{ours, web(ofClass("other"))}, told: []string{"error ClassMissing " + field}},
		"the field says fairlead, and no class does":         {given: []any{web()}, told: []string{"error ClassMissing " + field}},
		"the field says fairlead, which is no literal there": {given: []any{web()}, options: literal, told: []string{"error ClassMissing " + field}},
		"a class that the caller knows to exist":             {given: []any{web()}, options: ClassOptions{AssumeClasses: []string{"fairlead"}}, want: plain},
		"an assumed class that is another controller's":      {given: []any{class("fairlead", "a.test/b"), web()}, options: ClassOptions{AssumeClasses: []string{"fairlead"}}},
		"another controller's class that is taken":           {given: []any{theirs, web(ofClass("nginx"))}, options: ClassOptions{TakenClasses: []string{"nginx"}}, want: "nginx/shop/web/internal"},
		"one that is taken, whose parameters are not ours": {given: []any{foreignParameters, web(ofClass("nginx"))}, options: ClassOptions{TakenClasses: []string{"nginx"}}, want: "nginx/shop/web/internal",
			told: []string{"warning ClassForeign IngressClass nginx spec.parameters"}},
		"one of the controller of a dialect":                {given: []any{aws, web(ofClass("aws"))}, options: ClassOptions{From: "alb"}, want: "aws/shop/web/internal"},
		"another one with a dialect":                        {given: []any{aws, theirs, web(ofClass("nginx"))}, options: ClassOptions{From: "alb"}},
		"one that is taken with a dialect":                  {given: []any{aws, theirs, web(ofClass("nginx"))}, options: ClassOptions{From: "alb", TakenClasses: []string{"nginx"}}, want: "nginx/shop/web/internal"},
		"one that is missing, and taken with a dialect":     {given: []any{web(ofClass("aws"))}, options: ClassOptions{From: "alb", TakenClasses: []string{"aws"}}, want: "aws/shop/web/internal"},
		"one of the dialect's controller, beside one taken": {given: []any{aws, web(ofClass("aws"))}, options: ClassOptions{From: "alb", TakenClasses: []string{"nginx"}}},
		"the annotation names a class of ours":              {given: []any{ours, web(ofClass(""), legacy("public"))}, want: public},
		"the annotation says fairlead and no class does":    {given: []any{ours, web(ofClass(""), legacy("fairlead"))}, told: []string{"error ClassMissing " + annotation}},
		"the annotation names the class of those without":   {given: []any{web(ofClass(""), legacy("public"))}, options: without, told: []string{"error ClassMissing " + annotation}},
		"the annotation names the class that is managed":    {given: []any{web(ofClass(""), legacy("public"))}, options: ClassOptions{ManagedClass: "public"}, told: []string{"error ClassMissing " + annotation}},
		"the annotation is empty, and the field decides":    {given: []any{ours, web(ofClass("public"), legacy(""))}, want: public},
		"the annotation is empty, and there is no field":    {given: []any{ours, web(ofClass(""), legacy(""))}},
		"the annotation has other capitals":                 {given: []any{ours, web(ofClass(""), legacy("Fairlead"))}, options: literal},
		"the annotation has a slash":                        {given: []any{ours, web(ofClass(""), legacy("public/shop"))}, options: literal},
		"a literal that is a class without parameters":      {given: []any{ours, web(ofClass(""), legacy("fairlead"))}, options: literal, want: plain},
		"another literal than the operator's":               {given: []any{ours, web(ofClass(""), legacy("public-edge"))}, options: literal},
		"a literal that is a class of ours":                 {given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Scheme: "internet-facing"}), web(ofClass(""), legacy("fairlead"))}, options: literal, want: "fairlead/shop/web/internet-facing"},
		"a literal that is a broken class of ours": {given: []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Scheme: "Public"}), web(ofClass(""), legacy("fairlead"))}, options: literal,
			told: []string{"error Invalid ClusterLoadBalancerClass fairlead spec.scheme", "error ParametersMissing " + annotation}},
		"a literal that is another controller's class":           {given: []any{class("fairlead", "a.test/b"), web(ofClass(""), legacy("fairlead"))}, options: literal},
		"a literal that was a class with parameters":             {given: []any{with(v1alpha1.LoadBalancerClassSpec{Inbound: []string{"10.0.0.0/8"}}), web(ofClass(""), legacy("fairlead"))}, options: literal, told: []string{"error ClassMissing " + annotation}},
		"a literal that was a class without parameters":          {given: []any{with(v1alpha1.LoadBalancerClassSpec{}), web(ofClass(""), legacy("fairlead"))}, options: literal, want: plain},
		"a literal, where another class with parameters is gone": {given: []any{map[routing.Key]record.Record{"public/pay/api/internal": {Class: &v1alpha1.LoadBalancerClassSpec{TLSPolicy: "a"}}}, web(ofClass(""), legacy("fairlead"))}, options: literal, want: plain},
		"a literal is no class of those without one":             {given: []any{web(ofClass(""))}, options: ClassOptions{Literal: "fairlead", WithoutClass: "fairlead"}, told: []string{"error ClassMissing Ingress shop/web"}},
		"the annotation names another controller's class":        {given: []any{theirs, web(ofClass(""), legacy("nginx"))}},
		"the annotation names what nobody knows":                 {given: []any{web(ofClass(""), legacy("gce"))}},
		"the literal is another controller's class":              {given: []any{class("fairlead", "a.test/b"), web(ofClass(""), legacy("fairlead"))}},
		"the annotation goes before the field":                   {given: []any{ours, web(legacy("public")), class("fairlead", ControllerName)}, want: public, told: []string{"warning ClassConflict " + annotation}},
		"the annotation takes it away from us":                   {given: []any{ours, theirs, web(ofClass("public"), legacy("nginx"))}, told: []string{"warning ClassConflict " + annotation}},
		"annotation and field agree":                             {given: []any{ours, web(ofClass("public"), legacy("public"))}, want: public},
		"two foreign classes are no business of ours":            {given: []any{theirs, web(ofClass("nginx"), legacy("gce"))}},
		"no class":                                             {given: []any{ours, web(ofClass(""))}},
		"no class, and one counts for such":                    {given: []any{aClass("public", v1alpha1.LoadBalancerClassSpec{Scheme: "internet-facing"}), web(ofClass(""))}, options: without, want: "public/shop/web/internet-facing"},
		"no class, and the one that counts is assumed":         {given: []any{web(ofClass(""))}, options: ClassOptions{WithoutClass: "public", AssumeClasses: []string{"public"}}, want: public},
		"no class, and the one that counts does not exist":     {given: []any{class("fairlead", ControllerName), web(ofClass(""))}, options: without, told: []string{"error ClassMissing Ingress shop/web"}},
		"no class, and the one that counts is foreign":         {given: []any{class("public", "a.test/b"), web(ofClass(""))}, options: without},
		"no class, and the one that counts is broken":          {given: []any{broken, web(ofClass(""))}, options: without, told: []string{"error ParametersMissing IngressClass public spec.parameters", "error ParametersMissing Ingress shop/web"}},
		"no class in a file, and ours is the default":          {given: []any{standard(class("public", ControllerName), 1), web(ofClass(""))}, want: public},
		"no class in a file, and another is the default":       {given: []any{ours, standard(class("nginx", "a.test/b"), 1), web(ofClass(""))}, options: without},
		"of two defaults the newer":                            {given: []any{standard(class("nginx", "a.test/b"), 1), standard(class("public", ControllerName), 2), web(ofClass(""))}, want: public},
		"no class in the cluster: admission did not add it":    {given: []any{standard(class("public", ControllerName), 1), web(ofClass(""), aged(1))}},
		"an Ingress that is being deleted":                     {given: []any{ours, web(ofClass("public"), deleted)}},
		"parameters that do not exist":                         {given: []any{broken, web(ofClass("public"))}, told: []string{"error ParametersMissing IngressClass public spec.parameters", "error ParametersMissing " + field}},
		"parameters that do not exist, through the annotation": {given: []any{broken, web(ofClass(""), legacy("public"))}, told: []string{"error ParametersMissing IngressClass public spec.parameters", "error ParametersMissing " + annotation}},
		"parameters that make no sense":                        {given: []any{aClass("public", v1alpha1.LoadBalancerClassSpec{HostMiss: "Maybe"}), web(ofClass("public"))}, told: []string{"error Invalid ClusterLoadBalancerClass public spec.hostMiss", "error ParametersMissing " + field}},
		"an IngressClass that the API server would refuse": {given: []any{&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "Public"}, Spec: networkingv1.IngressClassSpec{Controller: ControllerName}},
			web(ofClass(""), legacy("Public"))}, told: []string{"error ClassMissing " + annotation, "error Invalid IngressClass Public metadata.name"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			snapshots, found := Place(objectsOf(c.given...), c.options)
			var want []routing.Key
			if c.want != "" {
				want = []routing.Key{c.want}
			}
			compare(t, "load balancers", keys(snapshots), want)
			compare(t, "told", sortedStrings(everything(snapshots, told(found))), sortedStrings(c.told))
		})
	}
}

func TestParametersOfAClass(t *testing.T) {
	const group = v1alpha1.Group
	ref := func(group *string, kind, name string, namespace *string) *networkingv1.IngressClassParametersReference {
		r := &networkingv1.IngressClassParametersReference{APIGroup: group, Kind: kind, Name: name, Namespace: namespace}
		if namespace != nil {
			r.Scope = new("Namespace")
		}
		return r
	}
	given := []any{
		&v1alpha1.LoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "p"}, Spec: v1alpha1.LoadBalancerClassSpec{TLSPolicy: "namespaced"}},
		&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.LoadBalancerClassSpec{TLSPolicy: "cluster"}},
		anIngress("shop/web", defaulted(to("web:80"))),
	}
	cases := map[string]struct {
		ref  *networkingv1.IngressClassParametersReference
		want string // the TLS policy
		told string // the field of the class
	}{
		"cluster-wide":                          {ref: ref(new(group), v1alpha1.KindClusterLoadBalancerClass, "p", nil), want: "cluster"},
		"in a namespace":                        {ref: ref(new(group), v1alpha1.KindLoadBalancerClass, "p", new("infra")), want: "namespaced"},
		"in another namespace":                  {ref: ref(new(group), v1alpha1.KindLoadBalancerClass, "p", new("shop")), told: "spec.parameters"},
		"of another name":                       {ref: ref(new(group), v1alpha1.KindClusterLoadBalancerClass, "q", nil), told: "spec.parameters"},
		"of another group":                      {ref: ref(new("a.test"), v1alpha1.KindClusterLoadBalancerClass, "p", nil), told: "spec.parameters.apiGroup"},
		"of the core group":                     {ref: ref(nil, "ConfigMap", "p", nil), told: "spec.parameters.apiGroup"},
		"of another kind":                       {ref: ref(new(group), v1alpha1.KindBackend, "p", nil), told: "spec.parameters.kind"},
		"a namespaced kind without a namespace": {ref: ref(new(group), v1alpha1.KindLoadBalancerClass, "p", nil), told: "spec.parameters.namespace"},
		"a cluster-wide kind in a namespace":    {ref: ref(new(group), v1alpha1.KindClusterLoadBalancerClass, "p", new("infra")), told: "spec.parameters.namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: networkingv1.IngressClassSpec{Controller: ControllerName, Parameters: c.ref}}
			snapshots, found := Place(objectsOf(append(given, class)...), ClassOptions{})
			if c.told != "" {
				compare(t, "told", told(found), []string{
					"error ParametersMissing IngressClass fairlead " + c.told, "error ParametersMissing Ingress shop/web spec.ingressClassName",
				})
				return
			}
			compare(t, "told", told(found), []string(nil))
			compare(t, "TLS policy", snapshots[0].Class.TLSPolicy, c.want)
		})
	}
}

func manyTags(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("tag-%d", i)] = ""
	}
	return out
}

// adopting is a class that takes load balancers over.
func adopting(a v1alpha1.Adoption) v1alpha1.LoadBalancerClassSpec {
	a.From, a.ClusterName = v1alpha1.AdoptALB, "prod"
	return v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB, Adoption: &a}
}

func TestParametersThatMakeNoSense(t *testing.T) {
	negative := metav1.Duration{Duration: -1}
	selector := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
	cases := map[string]struct {
		spec v1alpha1.LoadBalancerClassSpec
		want string
	}{
		"scheme":                        {v1alpha1.LoadBalancerClassSpec{Scheme: "public"}, "spec.scheme"},
		"a name that is no name":        {v1alpha1.LoadBalancerClassSpec{LoadBalancerName: "shop_edge"}, "spec.loadBalancerName"},
		"IP family":                     {v1alpha1.LoadBalancerClassSpec{IPFamily: "ipv5"}, "spec.ipFamily"},
		"subnets named and selected":    {v1alpha1.LoadBalancerClassSpec{Subnets: []string{"a"}, SubnetTags: map[string]string{"b": ""}}, "spec.subnetTags"},
		"groups and who may connect":    {v1alpha1.LoadBalancerClassSpec{SecurityGroups: []string{"a"}, Inbound: []string{"10.0.0.0/8"}}, "spec.inbound"},
		"who may connect":               {v1alpha1.LoadBalancerClassSpec{Inbound: []string{"10.0.0.1/8"}}, "spec.inbound"},
		"a tag of ours":                 {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"fairlead.dev/key": "a"}}, "spec.tags[fairlead.dev/key]"},
		"a tag of the cloud's":          {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"AWS:key": "a"}}, "spec.tags[AWS:key]"},
		"a tag without a name":          {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"": "a"}}, "spec.tags[]"},
		"a tag of a long name":          {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{strings.Repeat("é", 129): "a"}}, "spec.tags[" + strings.Repeat("é", 129) + "]"},
		"a tag of a long value":         {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"a": strings.Repeat("é", 257)}}, "spec.tags[a]"},
		"a tag of other characters":     {v1alpha1.LoadBalancerClassSpec{Tags: map[string]string{"a": "b&c"}}, "spec.tags[a]"},
		"more tags than there is room":  {v1alpha1.LoadBalancerClassSpec{Tags: manyTags(41)}, "spec.tags"},
		"target type":                   {v1alpha1.LoadBalancerClassSpec{TargetType: "pod"}, "spec.targetType"},
		"path reading":                  {v1alpha1.LoadBalancerClassSpec{ImplementationSpecific: "glob"}, "spec.implementationSpecific"},
		"deletion policy":               {v1alpha1.LoadBalancerClassSpec{DeletionPolicy: "Keep"}, "spec.deletionPolicy"},
		"no ports":                      {v1alpha1.LoadBalancerClassSpec{ListenPorts: []v1alpha1.ListenPort{}}, "spec.listenPorts"},
		"port 0":                        {v1alpha1.LoadBalancerClassSpec{ListenPorts: []v1alpha1.ListenPort{{Protocol: "HTTP"}}}, "spec.listenPorts"},
		"load balancers":                {v1alpha1.LoadBalancerClassSpec{LoadBalancers: v1alpha1.LoadBalancerBounds{PerNamespace: -1}}, "spec.loadBalancers.perNamespace"},
		"values per condition":          {v1alpha1.LoadBalancerClassSpec{ValuesPerCondition: -1}, "spec.valuesPerCondition"},
		"warm timeout":                  {v1alpha1.LoadBalancerClassSpec{WarmTimeout: &negative}, "spec.warmTimeout"},
		"move grace":                    {v1alpha1.LoadBalancerClassSpec{MoveGrace: &negative}, "spec.moveGrace"},
		"a group's name":                {v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "@a"}}}, "spec.groups[0].name"},
		"adoption and no dialect":       {v1alpha1.LoadBalancerClassSpec{Adoption: &v1alpha1.Adoption{From: "alb", ClusterName: "a"}}, "spec.adoption"},
		"time to keep what is old":      {adopting(v1alpha1.Adoption{KeepOld: &negative}), "spec.adoption.keepOld"},
		"a stack twice":                 {adopting(v1alpha1.Adoption{Names: []v1alpha1.AdoptedName{{Stack: "a", Name: "a"}, {Stack: "a", Name: "b"}}}), "spec.adoption.names[1].stack"},
		"a group twice":                 {v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "a"}, {Name: "a"}}}, "spec.groups[1].name"},
		"a group's selector":            {v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "a", NamespaceSelector: selector}}}, "spec.groups[0].namespaceSelector.matchExpressions[0].operator"},
		"an allowed host":               {v1alpha1.LoadBalancerClassSpec{AllowedHosts: []v1alpha1.AllowedHosts{{Hosts: []string{"*", "A.test"}}}}, "spec.allowedHosts[0].hosts[1]"},
		"an annotation":                 {v1alpha1.LoadBalancerClassSpec{Annotations: &[]string{"group", "groups"}}, "spec.annotations[1]"},
		"a health check's path":         {v1alpha1.LoadBalancerClassSpec{HealthCheck: v1alpha1.HealthCheck{Path: "a"}}, "spec.healthCheck.path"},
		"a timeout beyond the interval": {v1alpha1.LoadBalancerClassSpec{HealthCheck: v1alpha1.HealthCheck{TimeoutSeconds: 20}}, "spec.healthCheck.timeoutSeconds"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, found := Place(objectsOf(aClass("public", c.spec)), ClassOptions{})
			compare(t, "told", told(found), []string{"error Invalid ClusterLoadBalancerClass public " + c.want})
		})
	}
}

// An IngressClass of another controller that comes back, as by GitOps, is no reason to delete a load balancer that was taken
// over: it is served for as long as it can be given back.
func TestDepartureGrace(t *testing.T) {
	for name, c := range map[string]struct {
		spec  v1alpha1.LoadBalancerClassSpec
		want  time.Duration
		field string
	}{
		"no adoption":     {v1alpha1.LoadBalancerClassSpec{}, 10 * time.Minute, "moveGrace"},
		"adoption":        {adopting(v1alpha1.Adoption{}), 168 * time.Hour, "adoption.keepOld"},
		"of an hour":      {adopting(v1alpha1.Adoption{KeepOld: &metav1.Duration{Duration: time.Hour}}), time.Hour, "adoption.keepOld"},
		"that keeps none": {adopting(v1alpha1.Adoption{KeepOld: &metav1.Duration{}}), 10 * time.Minute, "moveGrace"},
	} {
		class := Class{LoadBalancerClassSpec: c.spec}
		if got, field := class.DepartureGrace(); got != c.want || field != c.field {
			t.Errorf("%s: %s of %s", name, got, field)
		}
	}
}

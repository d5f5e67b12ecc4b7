package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	annotations "fairlead.dev/fairlead/model/settings"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/test/kube"
)

// This file is what people get wrong: each is told so once, at the field, and nobody else is.

// A mistake is an Ingress of one path, made wrong, in a group with others that are right.
type mistake struct {
	edit   func(*networkingv1.Ingress)
	reason diag.Reason
	field  string
	says   string // what the message holds besides: a winner, where there is one
}

const authURL = "nginx.ingress.kubernetes.io/auth-url"

// badTogether are values that are bad because of what else the Ingress says. The rows of the table
// of settings have those that are bad alone.
var badTogether = map[string]string{
	annotations.RequestConditions: `[{"backend": "nobody", "method": ["GET"]}]`,
	annotations.HealthTimeout:     "15", // the interval
}

// mistakes are all others.
var mistakes = map[string]mistake{
	"unknown-annotation":    {annotate("fairlead.dev/healthcheck_path", "/"), diag.AnnotationUnknown, annotation("fairlead.dev/healthcheck_path"), "did you mean fairlead.dev/health-check-path?"},
	"unknown-field":         {annotate("fairlead.dev/subnet-tags", "team"), diag.AnnotationUnknown, annotation("fairlead.dev/subnet-tags"), "it is subnetTags of the class"},
	"foreign-auth":          {annotate(authURL, "https://login.test"), diag.AnnotationForeign, annotation(authURL), "not served as it is"},
	"foreign-rewrite":       {annotate("nginx.ingress.kubernetes.io/rewrite-target", "/"), diag.AnnotationForeign, annotation("nginx.ingress.kubernetes.io/rewrite-target"), "instead: rewrite of a Backend"},
	"foreign-service":       {backend("guarded", 80), diag.AnnotationForeign, service, "konghq.com/plugins"},
	"annotated-service":     {backend("annotated", 80), diag.AnnotationMisplaced, service, "fairlead.dev/idle-timeout-seconds on the Ingress"},
	"a-path-of-characters":  {at("a-path-of-characters.test", "/v[0-9]+"), diag.PathReadAsText, path + ".path", "looks like a regular expression"},
	"annotation-of-a-class": {strictly(annotate("fairlead.dev/target-type", "ip")), diag.AnnotationNotAllowed, annotation("fairlead.dev/target-type"), "ignored"},
	"scheme-of-a-class":     {strictly(annotate("fairlead.dev/scheme", "internal")), diag.AnnotationNotAllowed, annotation("fairlead.dev/scheme"), "not served as it is"},
	"order-of-a-class":      {strictly(annotate("fairlead.dev/order", "1")), diag.AnnotationNotAllowed, annotation("fairlead.dev/order"), "ignored"},
	"group-of-a-class":      {strictly(annotate("fairlead.dev/group", "closed")), diag.GroupNotAllowed, annotation("fairlead.dev/group"), "join its group closed"},
	"host-of-a-class":       {strictly(func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "forbidden.example" }), diag.HostNotAllowed, "spec.rules[0].host", "forbidden.example"},
	"missing-class":         {func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("nobody-made-it") }, diag.ClassMissing, "spec.ingressClassName", "no IngressClass nobody-made-it"},
	"class-twice":           {annotate(legacyClass, ""), diag.ClassConflict, annotation(legacyClass), "the annotation decides"},
	"parameters-missing":    {func(i *networkingv1.Ingress) { *i.Spec.IngressClassName += "-bare" }, diag.ParametersMissing, "spec.ingressClassName", "Not found"},

	"a-closed-port": {annotate("fairlead.dev/health-check-port", "22"), diag.TargetPortNotAllowed, annotation("fairlead.dev/health-check-port"), "port 22"},

	"health-of-another": {annotate("fairlead.dev/health-check-path", "/other"), diag.SettingConflict, annotation("fairlead.dev/health-check-path"), "/good decides"},
	"port-of-another":   {both(at("other.test", "/"), both(secured("tls", "other.test"), annotate("fairlead.dev/listen-ports", "HTTPS:80"))), diag.PortUnavailable, annotation("fairlead.dev/listen-ports"), "/good"},
	"ranges-of-a-group": {sharing(annotate("fairlead.dev/inbound", "10.0.0.0/8")), diag.Exposed, annotation("fairlead.dev/inbound"), "all clients"},
	"acl-of-a-group":    {sharing(annotate("fairlead.dev/wafv2-acl", "edge")), diag.WebACLDiffers, annotation("fairlead.dev/wafv2-acl"), "not served without"},
	"shield-of-a-group": {sharing(annotate("fairlead.dev/shield-advanced", "true")), diag.NotGroupOwner, annotation("fairlead.dev/shield-advanced"), "owner"},

	"no-web-acl": {annotate("fairlead.dev/wafv2-acl", "edge"), diag.WebACLMissing, annotation("fairlead.dev/wafv2-acl"), "not served without it"},
	"no-shield":  {annotate("fairlead.dev/shield-advanced", "true"), diag.NoShield, annotation("fairlead.dev/shield-advanced"), "literal has no shield"},

	"no-service":           {backend("nothing", 80), diag.ServiceMissing, service, "/nothing"},
	"no-port":              {backend("web", 81), diag.ServicePortMissing, service, "no port 81"},
	"no-tcp":               {backend("udp", 53), diag.ServiceUnusable, service, "UDP"},
	"no-node-port":         {annotate("fairlead.dev/target-type", "instance"), diag.ServiceUnusable, service, "no node port"},
	"no-node":              {both(backend("nodeport", 80), annotate("fairlead.dev/target-type", "instance")), diag.NoNodes, service, "there is no node"},
	"no-endpoints":         {backend("idle", 80), diag.NoEndpoints, service, "/idle"},
	"external-name":        {backend("external", 80), diag.ExternalNameRefused, service, "/external"},
	"a-strange-resource":   {resource("example.com", "Bucket", "web"), diag.ResourceUnknown, path + ".backend.resource", "example.com/Bucket"},
	"no-resource":          {resource(v1alpha1.Group, v1alpha1.KindBackend, "nothing"), diag.ResourceMissing, path + ".backend.resource", "/nothing"},
	"nobody-can-sign-in":   {resource(v1alpha1.Group, v1alpha1.KindBackend, "locked"), diag.AuthUnavailable, path + ".backend.resource", "/nothing"},
	"a-target-group":       {resource(v1alpha1.Group, v1alpha1.KindBackend, "theirs"), diag.TargetGroupNotAllowed, path + ".backend.resource", "targetgroup/theirs"},
	"a-redirect-to-itself": {resource(v1alpha1.Group, v1alpha1.KindBackend, "circle"), diag.RedirectLoop, path, "leads to itself on port 80"},

	"no-secret":         {secured("nothing", "no-secret.test"), diag.CertificateMissing, "spec.tls[0].secretName", "/nothing"},
	"a-bad-secret":      {secured("garbage", "a-bad-secret.test"), diag.CertificateInvalid, "spec.tls[0].secretName", "/garbage"},
	"a-host-of-another": {secured("tls", "other.test"), diag.CertificateUnused, "spec.tls[0].hosts[0]", "other.test"},
	"without-a-cert":    {annotate("fairlead.dev/listen-ports", "HTTP:80,HTTPS:443"), diag.HostNotCovered, "spec.rules[0].host", "without-a-cert.test"},

	"claimed":           {at("good.test", "/"), diag.Conflict, path, "/good"},
	"another-default":   {both(at("good.test", "/new"), fallback), diag.DefaultConflict, "spec.defaultBackend", "/good"},
	"a-query-in-a-path": {at("a-query-in-a-path.test", "/a?b"), diag.Unreachable, path, "/a?b"},
	"too-long-a-path":   {at("too-long-a-path.test", "/"+strings.Repeat("a", 200)), diag.NotExpressible, path, "128"},
	"a-bad-expression":  {expressing("/("), diag.Invalid, path + ".path", "missing closing )"},
}

// elsewhere are reasons that one Ingress alone does not lead to, and where they are shown.
var elsewhere = map[diag.Reason]string{
	diag.ParametersForeign:  "test/golden/alb-params.txtar",
	diag.TargetGroupMissing: "bindings_test.go",
	diag.BindingConflict:    "bindings_test.go",
	diag.BindingUnsupported: "model/bindings",
	diag.BindingNetworking:  "model/bindings",
	diag.BindingServed:      "model/bindings",
	diag.BindingForgotten:   "bindings_test.go",
	diag.ClassTaken:         "TestAClassOfSomebodyElseStaysTheirs",
	diag.ClassForeign:       "TestAnIngressIsLetGoWhenTheGraceIsOver",
	diag.ClassUnknown:       "model/ingress: TestWhyAnIngressIsLeftAlone; it is told of manifests only",
	diag.ClassUnset:         "model/ingress: TestWhyAnIngressIsLeftAlone; it is told of manifests only",
	diag.Omitted:            "model/diag: TestDiagnosticsAboutOneObjectAreLimited",
	diag.OpenRoute:          "test/golden/open-route-exact.txtar",
	diag.HostTaken:          "TestAHostBelongsToTheNamespaceThatNamedItFirst",
	diag.HostMiss:           "TestBothOwnersOfAHostThatMissesAreTold",
	diag.NameTaken:          "TestANameThatIsTaken",
	diag.NetworkUnmet:       "TestWhatTheNetworkLacksIsSaidOfTheClass",
	diag.Vanished:           "TestAnIngressTakenByForceIsServedForAGrace",
	diag.Protected:          "TestAProtectedLoadBalancerStaysUntilItsClassLetsGo",
	diag.QuotaExceeded:      "TestWhatDoesNotFitIsRefused",
	diag.CertificateForeign: "test/hostile: S03-certificate-for-another-host.txtar",
	diag.EndpointForeign:    "TestAnEndpointThatIsNoPodIsLeftOutAndTold",
	diag.TooComplex:         "TestListedHostsAreBounded",
	diag.CertificateQuota:   "TestCertificatesOfANamespaceAreBounded",
	diag.LoadBalancerQuota:  "TestLoadBalancersThatAreKeptAreBounded",
	diag.LastGood:           "TestABadVersionLeavesTheLastGoodOneServed",
	diag.ConsentWithdrawn:   "TestANamespaceThatLeavesAGroupIsNotServedThere",
	diag.Rejected:           "TestWhatTheCloudRejectsCostsItsNeighboursNothing",
	diag.CertificateRefused: "TestACertificateThatTheCloudRefusesCostsNoPlainHTTP",
	diag.DeleteFirst:        "test/golden/plan-delete-first.txtar",
	diag.RedirectOrder:      "model/plan/redirect.go: of ports, and there is no Ingress to tell",
	diag.Unparked:           "TestAChangeIsMadeWhereTheCloudRefusesToPark",
	diag.SecretUnread:       "controllers: TestASecretThatCannotBeReadCostsNothingThatIsServed",
	diag.NodesUnread:        "controllers: TestNodesThatCannotBeReadCostThoseWhoNeedThem",
	diag.SettingsRefused:    "test/golden: provider-settings-of-a-class.txtar, provider-settings-of-a-backend.txtar",
	diag.IPFamilyRefused:    "test/golden: class-ipv6-service; test/alb: TestServicesOfAnIPv6ClusterAreServed",
	diag.Impaired:           "model/planner: TestAnImpairedLoadBalancerIsTold; test/alb: TestAnImpairedLoadBalancerServes",
	diag.Unread:             "model/plan: TestWhatCouldNotBeReadIsSaid; test/alb: TestExtrasThatCannotBeReadKeepNoRouteWaiting",
	diag.UnknownRule:        "TestARuleOfSomebodyElseIsReportedAndRemoved",
	diag.UnknownListener:    "test/adoption: TestAListenerThatNoIngressAsksForStays; model/planner: TestWhatBecomesOfListenersOfOthers",
	diag.PlanUnproven:       "controllers/loadbalancer: TestAPlanThatIsNotProvenIsWithheld",
	diag.ChangeWaits:        "controllers/loadbalancer: TestAViolationHoldsItsNamespaceBack",
	diag.HostClosed:         "controllers/loadbalancer: TestAHostThatIsGivenUpIsClosed",
	diag.ExpectationViolated: "controllers/loadbalancer: " +
		"TestAPlanThatViolatesAnExpectationIsWithheld",
}

func TestMistakesAreToldOnceAndOnlyToWhoMakesThem(t *testing.T) {
	t.Parallel()
	caps := lb.Literal()
	caps.ValueLength = 128
	w := emptyWorld(t, kube.Shared(t), func(o *fake.Options) { o.Capabilities = caps })
	w.makeClasses()
	w.makeBackends()
	w.run()

	good := w.ask("good", "good.test", "/", "web")
	good.Annotations["fairlead.dev/health-check-path"] = "/"
	good.Spec.DefaultBackend = good.Spec.Rules[0].HTTP.Paths[0].Backend.DeepCopy()
	w.join("all", good)
	w.answers("good", "http://good.test/", "web-1")
	time.Sleep(time.Until(good.CreationTimestamp.Add(time.Second))) // it is to be the oldest, which is counted in seconds

	want := map[string][]string{}
	says := map[string]string{}
	for name, m := range w.allMistakes() {
		ing := w.ask(name, name+".test", "/", "web")
		ing.Annotations["fairlead.dev/group"] = "all"
		classTwice := name == "class-twice"
		if classTwice { // which is refused on creation
			ing.Spec.IngressClassName = nil
			ing.Annotations[legacyClass] = w.class
		} else {
			m.edit(ing)
		}
		w.create(ing)
		if classTwice {
			w.change(name, func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new(w.class + "-strict") })
		}
		want[name] = []string{string(m.reason) + " " + m.field}
		says[name] = m.says
	}
	w.eventually(func() error {
		diff := cmp.Diff(want, w.heard())
		return noError(diff == "", "what people are told (-want +got):\n%s", diff)
	})
	for name, text := range says {
		if note := w.notes(name)[0]; !strings.Contains(note, text) {
			t.Errorf("%s is told %q, which does not say %q", name, note, text)
		}
	}
	w.answers("good", "http://good.test/", "web-1")

	// Neither another reconcile nor another operator has anything to add.
	w.change("good", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/better" })
	w.answers("good", "http://good.test/better", "web-1")
	w.calm()
	w.stop()
	w.run()
	w.calm()
	if diff := cmp.Diff(want, w.heard()); diff != "" {
		t.Errorf("what people are told later (-want +got):\n%s", diff)
	}
}

func TestEveryReasonHasItsMistake(t *testing.T) {
	shown := map[diag.Reason]bool{diag.AnnotationInvalid: true}
	for _, m := range mistakes {
		shown[m.reason] = true
	}
	for _, r := range diag.Reasons {
		switch {
		case !shown[r.Reason] && elsewhere[r.Reason] == "":
			t.Errorf("no mistake above leads to %s: add one, or name in `elsewhere` the test that shows it", r.Reason)
		case shown[r.Reason] && elsewhere[r.Reason] != "":
			t.Errorf("%s has a mistake above, and is in `elsewhere`: delete one of them", r.Reason)
		}
	}
}

// allMistakes are the mistakes with those that are made of bad values.
func (w *world) allMistakes() map[string]mistake {
	all := maps.Clone(mistakes)
	add := func(annotated, value, number string) {
		_, short, _ := strings.Cut(annotated, "/")
		all["bad-"+short+"-"+number] = mistake{annotate(annotated, value), diag.AnnotationInvalid, annotation(annotated), ""}
	}
	for _, s := range annotations.Table {
		for i, value := range s.Bad {
			if s.Annotation != "" {
				add(s.Annotation, value, strconv.Itoa(i))
			}
		}
	}
	for name, value := range badTogether {
		add(name, value, "together")
	}
	return all
}

// The fields of the only path and of its Service.
const (
	path    = "spec.rules[0].http.paths[0]"
	service = path + ".backend.service"
)

func annotation(name string) string { return "metadata.annotations[" + name + "]" }

func annotate(name, value string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { i.Annotations[name] = value }
}

func both(a, b func(*networkingv1.Ingress)) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { a(i); b(i) }
}

// strictly is in the class that allows little.
func strictly(edit func(*networkingv1.Ingress)) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		*i.Spec.IngressClassName += "-strict"
		delete(i.Annotations, "fairlead.dev/group")
		edit(i)
	}
}

// sharing is in the class with a group across namespaces that no namespace owns.
func sharing(edit func(*networkingv1.Ingress)) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		*i.Spec.IngressClassName += "-shared"
		i.Annotations["fairlead.dev/group"] = "edge"
		edit(i)
	}
}

// expressing is in the class that reads regular expressions.
func expressing(path string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		*i.Spec.IngressClassName += "-regex"
		i.Spec.Rules[0].HTTP.Paths[0].Path = path
		i.Spec.Rules[0].HTTP.Paths[0].PathType = new(networkingv1.PathTypeImplementationSpecific)
	}
}

func at(host, path string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].Host, i.Spec.Rules[0].HTTP.Paths[0].Path = host, path
	}
}

func fallback(i *networkingv1.Ingress) {
	i.Spec.DefaultBackend = i.Spec.Rules[0].HTTP.Paths[0].Backend.DeepCopy()
}

func backend(name string, port int32) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Backend.Service = &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: port}}
	}
}

func resource(group, kind, name string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Backend = networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: kind, Name: name}}
	}
}

func secured(secret, host string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) {
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: secret}}
	}
}

// makeClasses makes, besides the world's, one that allows little, one that reads regular
// expressions and one without the parameters that it refers to.
func (w *world) makeClasses() {
	w.Helper()
	w.parameterize(w.class, &v1alpha1.LoadBalancerClassSpec{Order: true})
	nobody := metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}}
	w.parameterize(w.class+"-strict", &v1alpha1.LoadBalancerClassSpec{
		Scheme:       v1alpha1.SchemeInternetFacing,
		Annotations:  &[]string{"group", "scheme"},
		Groups:       []v1alpha1.SharedGroup{{Name: "closed", NamespaceSelector: nobody}},
		AllowedHosts: []v1alpha1.AllowedHosts{{Hosts: []string{"*.test"}}, {NamespaceSelector: nobody, Hosts: []string{"*"}}},
	})
	w.parameterize(w.class+"-regex", &v1alpha1.LoadBalancerClassSpec{ImplementationSpecific: v1alpha1.ReadRegex})
	w.parameterize(w.class+"-shared", &v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}}})
	w.parameterize(w.class+"-bare", nil)
}

// parameterize makes a class refer to parameters, and both where there are none yet.
func (w *world) parameterize(name string, spec *v1alpha1.LoadBalancerClassSpec) {
	w.Helper()
	if spec != nil {
		w.create(&v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec})
	}
	class := w.ingressClass(name, ingress.ControllerName)
	err := w.Get(w.Context(), client.ObjectKeyFromObject(class), class)
	class.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group), Kind: v1alpha1.KindClusterLoadBalancerClass, Name: name}
	if err != nil {
		w.create(class)
	} else if err := w.Update(w.Context(), class); err != nil {
		w.Fatal(err)
	}
}

// makeBackends makes what can be referred to, and some of what should not be.
func (w *world) makeBackends() {
	w.Helper()
	w.serve("web", "web-1")
	w.serve("idle")
	w.serve("guarded", "guarded-1")
	w.annotateService("guarded", "konghq.com/plugins", "key-auth")
	w.serve("annotated", "annotated-1")
	w.annotateService("annotated", "fairlead.dev/idle-timeout-seconds", "30")
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.namespace, Name: name} }
	w.create(
		&corev1.Service{ObjectMeta: meta("udp"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}}},
		&corev1.Service{ObjectMeta: meta("nodeport"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Service{ObjectMeta: meta("external"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "elsewhere.test"}},
		&v1alpha1.Backend{ObjectMeta: meta("circle"), Spec: v1alpha1.BackendSpec{Redirect: &v1alpha1.Redirect{Host: "a-redirect-to-itself.test"}}},
		&v1alpha1.Backend{ObjectMeta: meta("theirs"), Spec: v1alpha1.BackendSpec{Services: []v1alpha1.WeightedService{{
			TargetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/theirs/0123456789abcdef",
		}}}},
		&v1alpha1.Backend{ObjectMeta: meta("locked"), Spec: v1alpha1.BackendSpec{
			Services: []v1alpha1.WeightedService{{Name: "web", Port: v1alpha1.ServicePort{Number: 80}}},
			Authenticate: &v1alpha1.Authenticate{OIDC: &v1alpha1.OIDC{
				Issuer: "https://idp.test", AuthorizationEndpoint: "https://idp.test/a", TokenEndpoint: "https://idp.test/t", UserInfoEndpoint: "https://idp.test/u", SecretName: "nothing",
			}},
		}},
		&corev1.Secret{ObjectMeta: meta("garbage"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("y")}},
		w.pod("nodeport", "node-1"),
		w.secret("tls", "other.test"),
	)
}

// heard is what each Ingress is told, as reasons and fields.
func (w *world) heard() map[string][]string {
	w.Helper()
	out := map[string][]string{}
	for _, e := range w.events() {
		if e.Reason == string(diag.HostMiss) {
			continue // the default backend of good does not answer for the hosts of others, which is no mistake
		}
		field, _, found := strings.Cut(e.Note, ": ")
		if !found {
			field = "" // it is about the whole of the Ingress
		}
		out[e.Regarding.Name] = append(out[e.Regarding.Name], e.Reason+" "+field)
		if e.Series != nil {
			out[e.Regarding.Name] = append(out[e.Regarding.Name], fmt.Sprintf("the same %d times", e.Series.Count))
		}
	}
	for _, said := range out {
		slices.Sort(said)
	}
	return out
}

// notes are the messages about an Ingress.
func (w *world) notes(ingress string) []string {
	w.Helper()
	var out []string
	for _, e := range w.events() {
		if e.Regarding.Name == ingress && e.Reason != string(diag.HostMiss) {
			out = append(out, e.Note)
		}
	}
	return out
}

func TestEachMistakeOfAKindIsTold(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	ing := w.ask("shop", "shop.example", "/", "web")
	paths := &ing.Spec.Rules[0].HTTP.Paths
	for _, name := range []string{"one", "two"} {
		p := *(*paths)[0].DeepCopy()
		p.Path, p.Backend.Service.Name = "/"+name, name
		*paths = append(*paths, p)
	}
	w.create(ing)
	missing := []string{"ServiceMissing spec.rules[0].http.paths[1].backend.service", "ServiceMissing spec.rules[0].http.paths[2].backend.service"}
	w.hears("shop", missing...)

	const invalid = "AnnotationInvalid metadata.annotations[fairlead.dev/scheme]"
	w.change("shop", annotate("fairlead.dev/scheme", "public"))
	w.hears("shop", append(missing, invalid, "LastGood ")...)
	w.change("shop", annotate("fairlead.dev/scheme", "Internal"))
	w.hears("shop", append(missing, invalid, invalid, "LastGood ")...)
}

// hears waits until an Ingress is told just this, as reasons and fields.
func (w *world) hears(ingress string, want ...string) {
	w.Helper()
	slices.Sort(want)
	w.eventually(func() error {
		diff := cmp.Diff(want, w.heard()[ingress])
		return noError(diff == "", "what %s is told (-want +got):\n%s", ingress, diff)
	})
}

func TestBothOwnersOfAHostThatMissesAreTold(t *testing.T) {
	w := newWorld(t)
	w.serve("web", "web-1")
	w.join("all", w.ask("wide", "*.shop.test", "/", "web"), w.ask("narrow", "a.shop.test", "/a", "web"))
	w.told("wide", "HostMiss")
	w.told("narrow", "HostMiss")
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	caps := lb.Literal()
	caps.Rules = 3
	w := emptyWorld(t, kube.Shared(t), func(o *fake.Options) { o.Capabilities = caps })
	w.serve("web", "web-1")
	w.run()
	for i := range 3 {
		name := fmt.Sprintf("member-%d", i)
		w.join("all", w.ask(name, name+".test", "/", "web"))
		w.answers(name, "http://"+name+".test/", "web-1")
	}
	w.join("all", w.ask("late", "late.test", "/", "web"))
	w.told("late", "QuotaExceeded")
	w.answers("member-0", "http://member-0.test/", "web-1")
	w.remove("member-1")
	w.answers("late", "http://late.test/", "web-1")
	for i := range 3 {
		if told := w.reasons(fmt.Sprintf("member-%d", i)); len(told) > 0 {
			t.Errorf("member-%d is told %v, and was there first", i, told)
		}
	}
}

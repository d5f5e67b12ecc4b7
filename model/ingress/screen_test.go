package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/record"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

func TestSomeAddressesAreNeverTargets(t *testing.T) {
	for kind, addresses := range map[string][]string{
		"":                            {"10.0.0.1", "192.168.1.1", "100.64.0.1", "8.8.8.8", "fd00::1", "2001:db8::1", "64:ff9b::a00:1"},
		"loopback":                    {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1", "::127.0.0.1"},
		"link-local":                  {"169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"},
		"unspecified":                 {"0.0.0.0", "0.0.0.1", "::", "::ffff:0.0.0.0"},
		"multicast":                   {"224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1", "ff0e::1"},
		"of the cloud's own services": {"fd00:ec2::254", "fd00:ec2::23"},
		"no address":                  {"", "localhost", "10.0.0", "010.0.0.1"},
	} {
		for _, a := range addresses {
			if got := endpoints.NeverTarget(a); got != kind {
				t.Errorf("%s is %q, want %q", a, got, kind)
			}
		}
	}
}

func TestTargetPortsOfAClass(t *testing.T) {
	cases := map[string]struct {
		ports   []string
		invalid bool
		allowed []int32
		refused []int32
	}{
		"unset":                    {nil, false, []int32{80, 443, 1024, 8080, 30000, 65535}, []int32{0, 1, 22, 79, 81, 444, 1023}},
		"one":                      {[]string{"8080"}, false, []int32{8080}, []int32{80, 443, 8079, 8081}},
		"a range and one":          {[]string{"8000-8010", "9090"}, false, []int32{8000, 8010, 9090}, []int32{7999, 8011, 9091}},
		"all":                      {[]string{"1-65535"}, false, []int32{1, 22, 65535}, []int32{0}},
		"an empty list":            {[]string{}, true, nil, nil},
		"zero":                     {[]string{"0"}, true, nil, nil},
		"too high":                 {[]string{"65536"}, true, nil, nil},
		"a range that goes down":   {[]string{"90-80"}, true, nil, nil},
		"a range without an end":   {[]string{"80-"}, true, nil, nil},
		"two ranges in one":        {[]string{"80-90-100"}, true, nil, nil},
		"text":                     {[]string{"http"}, true, nil, nil},
		"a sign":                   {[]string{"+80"}, true, nil, nil},
		"a zero before the number": {[]string{"080"}, true, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.LoadBalancerClassSpec{TargetPorts: c.ports}
			if errs := validateSpec(&spec, field.NewPath("spec")); (len(errs) > 0) != c.invalid {
				t.Fatalf("errors %v, want some: %v", errs, c.invalid)
			}
			class := Class{LoadBalancerClassSpec: spec}
			for _, p := range c.allowed {
				if !settings.AllowsTargetPort(&class.LoadBalancerClassSpec, p) {
					t.Errorf("port %d is refused", p)
				}
			}
			for _, p := range c.refused {
				if settings.AllowsTargetPort(&class.LoadBalancerClassSpec, p) {
					t.Errorf("port %d is allowed", p)
				}
			}
		})
	}
}

// onPort has an EndpointSlice serve on another port.
func onPort(number int32) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = &number }
}

func TestWhatMustNotBeATargetIsLeftOutAndTold(t *testing.T) {
	const service, health = "Ingress shop/web spec.defaultBackend.service: ", "Ingress shop/web metadata.annotations[fairlead.dev/health-check-port]: "
	const usual = "the class allows 80, 443, 1024-65535 only: use such a port, or ask the owner of the class to add it to `targetPorts`"
	onNode := func(port int32) func(*corev1.Service) {
		return func(s *corev1.Service) {
			s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, port
		}
	}
	external := func(name string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, name }
	}
	only := func(ports ...string) v1alpha1.LoadBalancerClassSpec {
		return v1alpha1.LoadBalancerClassSpec{TargetPorts: ports}
	}
	instance := func(ports ...string) v1alpha1.LoadBalancerClassSpec {
		return v1alpha1.LoadBalancerClassSpec{TargetType: "instance", TargetPorts: ports}
	}
	names := v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true}
	cases := map[string]struct {
		class v1alpha1.LoadBalancerClassSpec
		given []any
		want  []string
		told  []string
	}{
		"the metadata of the cloud beside a pod": {given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1", "169.254.169.254")}, want: []string{"10.0.0.1:8080"},
			told: []string{"warning EndpointForeign " + service + "Service shop/web has an endpoint that is left out: 169.254.169.254 is link-local, and addresses of that kind are never targets"}},
		"nothing else": {given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "127.0.0.1", "0.0.0.0")}, told: []string{
			"warning EndpointForeign " + service + "Service shop/web has 2 endpoints that are left out: 127.0.0.1 is loopback, and addresses of that kind are never targets",
			"warning NoEndpoints " + service + "Service shop/web has no ready endpoint for port 80"}},
		"a port that the class does not allow": {given: []any{aService("shop/web:80"), aSlice("shop/web", onPort(22), "10.0.0.1")},
			told: []string{"error TargetPortNotAllowed " + service + "Service shop/web has endpoints on port 22, which are left out: " + usual}},
		"a port that the class names": {class: only("22"), given: []any{aService("shop/web:80"), aSlice("shop/web", onPort(22), "10.0.0.1")}, want: []string{"10.0.0.1:22"}},
		"one of two ports": {class: only("8080"), given: []any{aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1"), aSlice("shop/web", onPort(10250), "10.0.0.2")}, want: []string{"10.0.0.1:8080"},
			told: []string{"error TargetPortNotAllowed " + service + "Service shop/web has endpoints on port 10250, which are left out: the class allows 8080 only: use such a port, or ask the owner of the class to add it to `targetPorts`"}},
		"a node port": {class: instance("30000-30009"), given: []any{aService("shop/web:80", onNode(30010)), aSlice("shop/web", nil, "10.0.0.1"), aNode("a", "10.1.0.1")},
			told: []string{"error TargetPortNotAllowed " + service + "port 80 of Service shop/web has node port 30010, to which nothing is sent: the class allows 30000-30009 only: use such a port, or ask the owner of the class to add it to `targetPorts`"}},
		"a node port that the class names, before endpoints on one that it does not": {class: instance("30000-30009"), given: []any{aService("shop/web:80", onNode(30009)), aSlice("shop/web", nil, "10.0.0.1"), aNode("a", "10.1.0.1")}, want: []string{"10.1.0.1:30009"}},
		"an external name on a port that the class does not allow": {class: v1alpha1.LoadBalancerClassSpec{AllowExternalNames: true, TargetPorts: []string{"443"}}, given: []any{aService("shop/web:80", external("db.example.test"))},
			told: []string{"error TargetPortNotAllowed " + service + "Service shop/web is of type ExternalName, and nothing is sent to its port 80: the class allows 443 only: use such a port, or ask the owner of the class to add it to `targetPorts`"}},
		"an external name that is an address": {class: names, given: []any{aService("shop/web:80", external("169.254.169.254"))},
			told: []string{"error ExternalNameRefused " + service + "Service shop/web has the external name 169.254.169.254, which Kubernetes reads as a name of digits and not as an address"}},
		"health checks elsewhere are not accepted": {given: []any{aService("shop/web:80"), anIngress("shop/web", annotated("health-check-port", "22"), defaulted(to("web:80")))},
			told: []string{"error TargetPortNotAllowed " + health + "health checks cannot go to port 22: " + usual}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			given := append(slices.Clone(c.given), aClass("fairlead", c.class), anIngress("shop/web", defaulted(to("web:80"))))
			if strings.HasPrefix(name, "health") {
				given = given[:len(given)-1]
			}
			snapshots, found := Place(objectsOf(given...), ClassOptions{})
			var got []string
			for _, s := range snapshots {
				config, more := Translate(s, Certificates{})
				found = append(found, more...)
				for _, b := range config.Backends {
					for _, target := range b.Targets {
						got = append(got, target.String())
					}
				}
			}
			compare(t, "targets", got, c.want)
			var said []string
			for _, d := range found {
				said = append(said, d.String())
			}
			compare(t, "told", said, c.told)
		})
	}
}

func TestHealthChecksOfTheLastAcceptedVersionKeepToThePortsOfTheClass(t *testing.T) {
	class := aClass("fairlead", v1alpha1.LoadBalancerClassSpec{TargetPorts: []string{"8080"}})
	was := anIngress("shop/web", annotated("health-check-port", "9090"), annotated("health-check-path", "/up"), defaulted(to("web:80")))
	const key = "fairlead/shop/web/internal"
	o := objectsOf(aService("shop/web:80"), aSlice("shop/web", nil, "10.0.0.1"), class, was)
	o.Records = map[routing.Key]record.Record{key: {Members: map[string]record.Member{"shop/web": {Served: true, LastAccepted: &record.Accepted{Annotations: was.Annotations, Spec: was.Spec}}}}}
	snapshots, _ := Place(o, ClassOptions{})
	config, found := Translate(snapshots[0], Certificates{})
	const at = " Ingress shop/web metadata.annotations[fairlead.dev/health-check-port]"
	compare(t, "told", told(found), []string{"warning LastGood Ingress shop/web", "error TargetPortNotAllowed" + at, "error TargetPortNotAllowed" + at})
	b := config.Backends["shop/web:80"]
	compare(t, "port and path of the checks", b.Health.Port+" "+b.Health.Path, "traffic-port /up")
}

// TestANamespaceHasALimitedNumberOfPorts also holds a health check on a port of its own to the
// limit.
func TestANamespaceHasALimitedNumberOfPorts(t *testing.T) {
	given := []any{aClass("fairlead", v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "g"}}})}
	for i := range mostTargetPorts + 1 {
		name := fmt.Sprintf("shop/s%02d", i)
		given = append(given, aService(name+":80"), aSlice(name, onPort(int32(8000+i)), fmt.Sprintf("10.0.0.%d", i+1)),
			anIngress(name, annotated("group", "g"), aged(int64(100-i)), ruled(fmt.Sprintf("s%02d.test", i), prefixed("/", fmt.Sprintf("s%02d:80", i)))))
	}
	given = append(given,
		anIngress("shop/checks", annotated("group", "g"), annotated("health-check-port", "9999"), aged(10), ruled("checks.test", prefixed("/", "s00:80"))),
		aService("shop/same:80"), aSlice("shop/same", onPort(8000), "10.0.1.1"),
		anIngress("shop/same", annotated("group", "g"), aged(5), ruled("same.test", prefixed("/", "same:80"))),
		aService("pay/web:80"), aSlice("pay/web", onPort(8100), "10.0.1.2"), anIngress("pay/web", annotated("group", "g"), aged(1), ruled("pay.test", prefixed("/", "web:80"))))
	config, found := translated(t, nil, given...)
	const all = "namespace shop has targets on 30 different ports of this load balancer already, which is all that it may have; let Services share ports"
	var said []string
	for _, d := range found {
		said = append(said, d.String())
	}
	compare(t, "told", said, []string{
		"error TargetPortNotAllowed Ingress shop/checks metadata.annotations[fairlead.dev/health-check-port]: targets are checked on the port that serves, and not on 9999: " + all,
		"error TargetPortNotAllowed Ingress shop/s30 spec.rules[0].http.paths[0].backend.service: Service shop/s30 has targets on port 8030, which are left out: " + all,
	})
	for id, want := range map[routing.BackendID]int{"shop/s00:80": 1, "shop/s29:80": 1, "shop/s30:80": 0, "shop/same:80": 1, "pay/web:80": 1} {
		if got := len(config.Backends[id].Targets); got != want {
			t.Errorf("%s has %d targets, want %d", id, got, want)
		}
	}
	compare(t, "port of the checks", config.Backends["shop/s00:80"].Health.Port, "traffic-port")
}

func TestTargetsThatComeLaterKeepToTheLimitOfPorts(t *testing.T) {
	target := func(port int32) routing.Target { return routing.Target{Address: "10.0.0.1", Port: port} }
	others := map[int32]bool{}
	for i := range int32(mostTargetPorts - 1) {
		others[8000+i] = true
	}
	want := []routing.Target{target(8000), target(9000), target(9001)}
	compare(t, "the first that is new", WithinPorts(want, nil, others), []routing.Target{target(8000), target(9000)})
	compare(t, "the one that is there", WithinPorts(want, []routing.Target{target(9001)}, others), []routing.Target{target(8000), target(9001)})
	compare(t, "all", WithinPorts(want, nil, nil), want)
}

// by has an endpoint name a Pod.
func by(pod string, uid types.UID) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: pod, UID: uid}
	}
}

func TestAnEndpointIsATargetIfItsPodSaysSo(t *testing.T) {
	with := func(change func(*corev1.Pod), addresses ...string) *corev1.Pod {
		p := aPod("shop/web-1", addresses...)
		change(p)
		return p
	}
	uid := func(uid types.UID) func(*corev1.Pod) { return func(p *corev1.Pod) { p.UID = uid } }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	ref := func(kind, namespace string) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: "web-1"}
		}
	}
	web := aPod("shop/web-1", "10.0.0.1")
	cases := map[string]struct {
		class  v1alpha1.LoadBalancerClassSpec
		slice  func(*discoveryv1.EndpointSlice)
		pods   []*corev1.Pod
		blind  bool
		target bool
		left   string // what is said of it
	}{
		"by name":                             {slice: by("web-1", ""), pods: []*corev1.Pod{web}, target: true},
		"by name and namespace":               {slice: ref("Pod", "shop"), pods: []*corev1.Pod{web}, target: true},
		"by UID":                              {slice: by("web-1", "1"), pods: []*corev1.Pod{with(uid("1"), "10.0.0.1")}, target: true},
		"by its second address":               {slice: by("web-1", ""), pods: []*corev1.Pod{aPod("shop/web-1", "fd00::1", "10.0.0.1")}, target: true},
		"one that has not started":            {slice: by("web-1", ""), pods: []*corev1.Pod{with(phase(corev1.PodPending), "10.0.0.1")}, target: true},
		"none that is named":                  {pods: []*corev1.Pod{web}, left: "it names none"},
		"something else of that name":         {slice: ref("Node", ""), pods: []*corev1.Pod{web}, left: "it names none"},
		"a Pod of another namespace":          {slice: ref("Pod", "pay"), pods: []*corev1.Pod{web}, left: "it names none"},
		"a Pod that is not there":             {slice: by("web-2", ""), pods: []*corev1.Pod{web}, left: "there is no Pod web-2"},
		"another that has its name":           {slice: by("web-1", "2"), pods: []*corev1.Pod{with(uid("1"), "10.0.0.1")}, left: "there is no Pod web-1"},
		"one that has another address":        {slice: by("web-1", ""), pods: []*corev1.Pod{aPod("shop/web-1", "10.0.0.2")}, left: "Pod web-1 does not have it"},
		"one that has no address yet":         {slice: by("web-1", ""), pods: []*corev1.Pod{aPod("shop/web-1")}, left: "Pod web-1 does not have it"},
		"one that has succeeded":              {slice: by("web-1", ""), pods: []*corev1.Pod{with(phase(corev1.PodSucceeded), "10.0.0.1")}, left: "Pod web-1 has ended"},
		"one that has failed":                 {slice: by("web-1", ""), pods: []*corev1.Pod{with(phase(corev1.PodFailed), "10.0.0.1")}, left: "Pod web-1 has ended"},
		"anything, where the class allows it": {class: v1alpha1.LoadBalancerClassSpec{ForeignEndpoints: true}, target: true},
		"one of which nothing is known":       {slice: by("web-1", ""), blind: true, target: true},
		"none, where no Pods are known":       {blind: true, left: "it names none"},
		"another, where not all are known":    {slice: by("web-1", ""), pods: []*corev1.Pod{aPod("shop/web-1", "10.0.0.2")}, blind: true, left: "Pod web-1 does not have it"},
	}
	for name, c := range cases {
		for _, targetType := range []string{v1alpha1.TargetTypeIP, v1alpha1.TargetTypeInstance} {
			t.Run(name+", on "+targetType, func(t *testing.T) {
				now := endpoints.Objects{
					Service: aService("shop/web:80", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }),
					Slices:  endpoints.SliceList{aSlice("shop/web", c.slice, "10.0.0.1")}, Nodes: []*corev1.Node{aNode("a", "10.1.0.1")},
					Pods: c.pods, PodsKnown: !c.blind,
				}
				class := Class{LoadBalancerClassSpec: c.class}
				found := endpoints.Find(&class.LoadBalancerClassSpec, routing.Backend{Service: "shop/web", Port: "80", TargetType: targetType}, now)
				compare(t, "is a target", len(found.Targets) == 1, c.target)
				compare(t, "disputed", found.Disputed, !c.target && targetType == v1alpha1.TargetTypeInstance)
				if c.left == "" && found.Left != "" || !strings.Contains(found.Left, c.left) {
					t.Errorf("what is said of it is %q, want %q", found.Left, c.left)
				}
			})
		}
	}
}

// TestAPodThatMayFollowIsWaitedFor: nothing is said of its endpoint yet, which is no new target and
// may stay one.
func TestAPodThatMayFollowIsWaitedFor(t *testing.T) {
	now := endpoints.Objects{
		Service: aService("shop/web:80", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }), PodsKnown: true,
		Slices: endpoints.SliceList{aSlice("shop/web", by("web-1", ""), "10.0.0.1"), aSlice("shop/web", by("web-2", ""), "10.0.0.2")},
		Pods:   []*corev1.Pod{aPod("shop/web-1", "10.0.0.1")}, Nodes: []*corev1.Node{aNode("a", "10.1.0.1")},
		Awaited: map[endpoints.Claim]bool{{Namespace: "shop", Pod: "web-1", Address: "10.0.0.1"}: true, {Namespace: "shop", Pod: "web-2", Address: "10.0.0.2"}: true},
	}
	backend := routing.Backend{Service: "shop/web", Port: "80", TargetType: v1alpha1.TargetTypeIP}
	compare(t, "ip targets", endpoints.Find(&v1alpha1.LoadBalancerClassSpec{}, backend, now), endpoints.Found{
		Targets: []routing.Target{{Address: "10.0.0.1", Port: 8080}}, Awaited: []routing.Target{{Address: "10.0.0.2", Port: 8080}}, Doubted: true,
	})
	backend.TargetType = v1alpha1.TargetTypeInstance
	compare(t, "nodes", endpoints.Find(&v1alpha1.LoadBalancerClassSpec{}, backend, now), endpoints.Found{Doubted: true, Disputed: true})
}

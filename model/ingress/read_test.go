package ingress

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/settings"
)

func TestAnnotationValues(t *testing.T) {
	cases := map[string]struct{ good, bad []string }{
		"listen-ports": {[]string{"HTTP:80", "HTTP:80,HTTPS:443", " HTTP:80, HTTPS:8443 ", `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80,"HTTPS":443}]`}, []string{"", "80", "HTTP", "HTTP:", "http:80", "HTTP:0", "HTTP:65536", "HTTP:80,HTTPS:80", "HTTP:80,", "TCP:80", "[]", "[{}]", "[80]", `[{"HTTP":"80"}]`, `[{"HTTP":80}`, `[{"HTTP":80,"HTTP":81}]`, `[{"HTTP":80}] ` + "x", `[{"HTTP":80}][]`, `[{"HTTP":80.5}]`, `[[{"HTTP":80}]]`, strings.Repeat("[", 16<<10), ports(51)}},
		"conditions": {
			[]string{`[{"method": ["GET"]}]`, `[{"header": {"x": [yes, 1.10, 2020-01-01]}}]`, "# two lines\n- method:\n  - GET # or\n  - 'PUT'\n", "- path: /\n  source: [10.0.0.1]\n- backend: web\n  header: {x: [a]}\n- header: {y: [b]}"},
			[]string{
				"", "[]", "{}", "[{}]", "method: [GET]", `[{"method": []}]`, `[{"method": ["get"]}]`, `[{"methods": ["GET"]}]`, `[{"method": "GET"}]`,
				`[{"header": {"Host": ["a"]}}]`, `[{"header": {"a b": ["a"]}}]`, `[{"header": {"a": [""]}}]`, `[{"header": {"a": ["ü"]}}]`, `[{"header": {"a": ["1"], "A": ["2"]}}]`,
				`[{"query": {"a*": ["1"]}}]`, `[{"query": {"a": ["1 2"]}}]`, `[{"query": {"a": ["%20"]}}]`,
				`[{"source": ["10.0.0.1/8"]}]`, `[{"source": ["a.com"]}]`, `[{"source": ["fe80::1%eth0"]}]`,
				"- &a {method: [GET]}", "- method: [&a GET]", "- {method: [GET]}\n- *a", "- method: [!!str GET]", "- method: !x [GET]", "- {<<: {path: /}, method: [GET]}", "- &a", "!!seq []",
				`[{"method": ["GET"], "method": ["PUT"]}]`, `[{"header": {"a": ["1"], "a": ["2"]}}]`, `[{"Method": ["GET"]}]`, `[{"method": ["GET"], "path": null}]`, `[{"method": [null]}]`, `[{"method": [["GET"]]}]`,
				`[{[]: a}]`, "- method: [GET]\n---\n- method: [PUT]", strings.Repeat("[", 16<<10), strings.Repeat("- ", 8<<10), strings.Repeat("{a: ", 4<<10), "[" + strings.Repeat("{method: [GET]},", 101) + "]",
				seventeenConditions(),
				`[{"path": "/nobody", "method": ["GET"]}]`, `[{"backend": "nobody", "method": ["GET"]}]`, `[{"method": ["GET"]}, {"path": "/", "method": ["PUT"]}]`,
			},
		},
		"health-check-port":            {[]string{"health", "8080a"}, nil}, // names, which the class does not take
		"health-check-timeout-seconds": {nil, []string{"15"}},              // the interval
	}
	class := &Class{LoadBalancerClassSpec: v1alpha1.LoadBalancerClassSpec{Order: true}}
	for _, s := range settings.Table {
		if short, is := strings.CutPrefix(s.Annotation, settings.Prefix); is {
			c := cases[short]
			c.good, c.bad = append(c.good, s.Good...), append(c.bad, s.Bad...)
			cases[short] = c
		}
	}
	for name, c := range cases {
		for _, value := range c.good {
			ing := anIngress("shop/web", annotated(name, value), ruled("a.com", prefixed("/", "web:80")))
			listens := map[string]string{"ssl-redirect": "HTTP:80,HTTPS:" + strings.TrimSuffix(value, ",all"), "listener-attributes": "HTTP:80,HTTPS:443", "mutual-authentication": "HTTPS:443"}[name]
			if listens != "" { // about ports of the Ingress
				ing = anIngress("shop/web", annotated(name, value), annotated("listen-ports", listens), secured("tls", "a.com"), ruled("a.com", prefixed("/", "web:80")))
			}
			if _, found := readAnnotations(ing, class); found != nil {
				t.Errorf("%s: %q is refused: %v", name, value, found)
			}
		}
		for _, value := range c.bad {
			_, found := readAnnotations(anIngress("shop/web", annotated(name, value), ruled("a.com", prefixed("/", "web:80"))), class)
			compare(t, name+": "+value, told(found), []string{"error AnnotationInvalid Ingress shop/web metadata.annotations[fairlead.dev/" + name + "]"})
		}
	}
}

func TestAnnotationPermission(t *testing.T) {
	const at = " Ingress shop/web metadata.annotations[fairlead.dev/"
	inAction := anIngress("shop/web", annotated("alb.ingress.kubernetes.io/actions.web", `{"type": "fixed-response"}`),
		ruled("a.com", prefixed("/b", "web:80"), prefixed("/", "web:use-annotation")))
	permitted := func(names ...string) v1alpha1.LoadBalancerClassSpec {
		return v1alpha1.LoadBalancerClassSpec{Annotations: &names}
	}
	cases := map[string]struct {
		class v1alpha1.LoadBalancerClassSpec
		ing   *networkingv1.Ingress
		told  []string
	}{
		"unset allows all but order":                     {v1alpha1.LoadBalancerClassSpec{}, anIngress("shop/web", annotated("group", "a"), annotated("order", "1")), []string{"warning AnnotationNotAllowed" + at + "order]"}},
		"order is permitted by name":                     {v1alpha1.LoadBalancerClassSpec{Order: true}, anIngress("shop/web", annotated("order", "1")), nil},
		"a list allows what it names":                    {permitted("group", "fairlead.dev/scheme"), anIngress("shop/web", annotated("group", "a"), annotated("scheme", "internet-facing")), nil},
		"a list allows nothing else":                     {permitted("group"), anIngress("shop/web", annotated("health-check-path", "/a")), []string{"warning AnnotationNotAllowed" + at + "health-check-path]"}},
		"an empty list allows none":                      {permitted(), anIngress("shop/web", annotated("target-type", "instance")), []string{"warning AnnotationNotAllowed" + at + "target-type]"}},
		"less exposed than asked for is ignored":         {permitted(), anIngress("shop/web", annotated("scheme", "internet-facing")), []string{"warning AnnotationNotAllowed" + at + "scheme]"}},
		"more exposed than asked for is refused":         {v1alpha1.LoadBalancerClassSpec{Scheme: "internet-facing"}, anIngress("shop/web", annotated("scheme", "internal")), []string{"error AnnotationNotAllowed" + at + "scheme]"}},
		"conditions that are not allowed are refused":    {permitted(), anIngress("shop/web", annotated("conditions", `[{"method": ["GET"]}]`)), []string{"error AnnotationNotAllowed" + at + "conditions]"}},
		"the class pins the scheme":                      {v1alpha1.LoadBalancerClassSpec{Scheme: "internal"}, anIngress("shop/web", annotated("scheme", "internet-facing")), []string{"warning AnnotationNotAllowed" + at + "scheme]"}},
		"the class pins the name":                        {v1alpha1.LoadBalancerClassSpec{LoadBalancerName: "edge"}, anIngress("shop/web", annotated("load-balancer-name", "other")), []string{"warning AnnotationNotAllowed" + at + "load-balancer-name]"}},
		"the pinned name may be said":                    {v1alpha1.LoadBalancerClassSpec{LoadBalancerName: "edge"}, anIngress("shop/web", annotated("load-balancer-name", "edge")), nil},
		"the pinned scheme may be said":                  {v1alpha1.LoadBalancerClassSpec{Scheme: "internal"}, anIngress("shop/web", annotated("scheme", "internal")), nil},
		"fewer ports than asked for are ignored":         {permitted(), anIngress("shop/web", annotated("listen-ports", "HTTP:80,HTTP:81")), []string{"warning AnnotationNotAllowed" + at + "listen-ports]"}},
		"a port that was not asked for is refused":       {permitted(), anIngress("shop/web", annotated("listen-ports", "HTTPS:443")), []string{"error AnnotationNotAllowed" + at + "listen-ports]"}},
		"what is not allowed is not read":                {permitted(), anIngress("shop/web", annotated("scheme", "public")), []string{"warning AnnotationNotAllowed" + at + "scheme]"}},
		"conditions are refused without being read":      {permitted(), anIngress("shop/web", annotated("conditions", `- &a [`)), []string{"error AnnotationNotAllowed" + at + "conditions]"}},
		"the ports of the class, in JSON":                {permitted(), anIngress("shop/web", annotated("listen-ports", `[{"HTTP": 80}]`)), []string{"warning AnnotationNotAllowed" + at + "listen-ports]"}},
		"ports that are not understood are refused":      {permitted(), anIngress("shop/web", annotated("listen-ports", "80")), []string{"error AnnotationNotAllowed" + at + "listen-ports]"}},
		"a web ACL that is not allowed is refused":       {permitted(), anIngress("shop/web", annotated("wafv2-acl", "!")), []string{"error AnnotationNotAllowed" + at + "wafv2-acl]"}},
		"ranges that are not understood are refused":     {permitted(), anIngress("shop/web", annotated("inbound", "office")), []string{"error AnnotationNotAllowed" + at + "inbound]"}},
		"no more than 16 KiB are looked into":            {v1alpha1.LoadBalancerClassSpec{}, anIngress("shop/web", annotated("conditions", strings.Repeat("#", 16<<10)+"\n")), []string{"error AnnotationInvalid" + at + "conditions]"}},
		"no more than 16 KiB are compared":               {permitted(), anIngress("shop/web", annotated("listen-ports", "HTTP:80"+strings.Repeat(" ", 16<<10))), []string{"error AnnotationNotAllowed" + at + "listen-ports]"}},
		"a backend that is an annotation":                {v1alpha1.LoadBalancerClassSpec{}, inAction, []string{"warning AnnotationForeign Ingress shop/web metadata.annotations[alb.ingress.kubernetes.io/actions.web]", "error AnnotationForeign Ingress shop/web spec.rules[0].http.paths[1].backend"}},
		"the class serves it as it is":                   {v1alpha1.LoadBalancerClassSpec{ForeignAnnotations: v1alpha1.ForeignWarn}, inAction, []string{"warning AnnotationForeign Ingress shop/web metadata.annotations[alb.ingress.kubernetes.io/actions.web]"}},
		"a port of this name":                            {v1alpha1.LoadBalancerClassSpec{}, anIngress("shop/web", ruled("a.com", prefixed("/", "web:use-annotation"))), nil},
		"an unknown annotation":                          {v1alpha1.LoadBalancerClassSpec{}, anIngress("shop/web", annotated("colour", "red")), []string{"warning AnnotationUnknown" + at + "colour]"}},
		"annotations of others":                          {permitted(), anIngress("shop/web", annotated("a.test/scheme", "b")), nil},
		"the class's annotation cannot be forbidden":     {permitted(), anIngress("shop/web", annotated(settings.IngressClass, "fairlead")), nil},
		"a timeout that does not fit the class's checks": {v1alpha1.LoadBalancerClassSpec{HealthCheck: v1alpha1.HealthCheck{IntervalSeconds: 10}}, anIngress("shop/web", annotated("health-check-timeout-seconds", "10")), []string{"error AnnotationInvalid" + at + "health-check-timeout-seconds]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, found := readAnnotations(c.ing, &Class{Name: "fairlead", LoadBalancerClassSpec: c.class})
			compare(t, "told", told(found), c.told)
		})
	}
}

func TestUnknownAnnotationSuggestsWhatWasMeant(t *testing.T) {
	_, found := readAnnotations(anIngress("shop/web", annotated("healthcheck_path", "/")), &Class{})
	if want := "no annotation has this name; did you mean fairlead.dev/health-check-path?"; found[0].Message != want {
		t.Errorf("told %q, want %q", found[0].Message, want)
	}
}

func TestWhoMayConnectIsNeverMoreThanIsAskedFor(t *testing.T) {
	none := v1alpha1.LoadBalancerClassSpec{}
	office := v1alpha1.LoadBalancerClassSpec{Inbound: []string{"10.1.0.0/16"}}
	cases := map[string]struct {
		class   v1alpha1.LoadBalancerClassSpec
		asked   string
		want    []string
		refused bool
	}{
		"everybody, in other words":                      {none, "::/0,0.0.0.0/0", nil, false},
		"some, sorted, each once":                        {none, "10.2.0.0/16, 10.1.0.0/16,10.2.0.0/16", []string{"10.1.0.0/16", "10.2.0.0/16"}, false},
		"the class admits part of them":                  {office, "10.0.0.0/8", []string{"10.1.0.0/16"}, false},
		"the class admits others":                        {office, "10.1.2.0/24", []string{"10.1.0.0/16"}, true},
		"the class does not let its authors say":         {v1alpha1.LoadBalancerClassSpec{Annotations: &[]string{}}, "10.0.0.0/8", nil, true},
		"the security groups of the class say":           {v1alpha1.LoadBalancerClassSpec{SecurityGroups: []string{"a"}}, "10.0.0.0/8", nil, true},
		"everybody was asked for, and the class said so": {office, "0.0.0.0/0,::/0", []string{"10.1.0.0/16"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := readAnnotations(anIngress("shop/web", annotated("inbound", c.asked)), &Class{Name: "fairlead", LoadBalancerClassSpec: c.class})
			compare(t, "who may connect", got.Inbound, c.want)
			if hasError(found) != c.refused {
				t.Errorf("refused %t, want %t: %v", hasError(found), c.refused, found)
			}
		})
	}
}

func TestSettingsUnderAClass(t *testing.T) {
	class := v1alpha1.LoadBalancerClassSpec{
		Scheme: "internet-facing", TargetType: "instance", ListenPorts: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 8080}},
	}
	cases := map[string]struct {
		class v1alpha1.LoadBalancerClassSpec
		ing   *networkingv1.Ingress
		want  settings.Values
	}{
		"nobody says anything": {v1alpha1.LoadBalancerClassSpec{}, anIngress("shop/web"),
			settings.Values{Scheme: "internal", TargetType: "ip", Ports: []v1alpha1.ListenPort{{Protocol: "HTTP", Port: 80}}}},
		"the class does": {class, anIngress("shop/web"),
			settings.Values{Scheme: "internet-facing", TargetType: "instance", Ports: class.ListenPorts}},
		"the Ingress does": {class, anIngress("shop/web", annotated("target-type", "ip"), annotated("listen-ports", "HTTPS:443")),
			settings.Values{Scheme: "internet-facing", TargetType: "ip", Ports: []v1alpha1.ListenPort{{Protocol: "HTTPS", Port: 443}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := readAnnotations(c.ing, &Class{Name: "fairlead", LoadBalancerClassSpec: c.class})
			if got.Scheme != c.want.Scheme || got.TargetType != c.want.TargetType {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			compare(t, "ports", got.Ports, c.want.Ports)
		})
	}
}

// ports are as many ports as an annotation lists.
func ports(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("HTTP:%d", i+1))
	}
	return strings.Join(out, ",")
}

func seventeenConditions() string {
	var out strings.Builder
	for i := range 17 {
		fmt.Fprintf(&out, "- header: {x-%d: [a]}\n", i)
	}
	return out.String()
}

func TestARefusalQuotesAtMost100Characters(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	for _, a := range settings.Table {
		if a.Annotation == "" {
			continue
		}
		for _, value := range []string{long, "[{\"" + long + "\": 1}]", "- {" + long + ": a}", "- header: {" + long + ": [a]}", "- header: {a: [" + long + "]}", "- *" + long, "HTTP:" + long, "a=b," + long, "200," + long} {
			_, found := readAnnotations(anIngress("shop/web", annotated(a.Annotation, value), ruled("a.com", prefixed("/", "web:80"))), &Class{})
			for _, d := range found {
				if strings.Contains(d.Message, strings.Repeat("ü", 101)) {
					t.Errorf("%s: %.300s", a.Annotation, d.Message)
				}
			}
		}
	}
}

func TestMemoryOfAnAnnotationIsLinear(t *testing.T) {
	const a = 8000
	for name, text := range map[string]string{
		"an alias of a long text":    `- header: {"x-a": [&a "` + strings.Repeat("A", a) + `",` + strings.Repeat("*a,", 2000) + `*a]}`,
		"aliases of aliases":         "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
		"deep lists":                 strings.Repeat("[", 16<<10),
		"deep mappings":              strings.Repeat("{a: ", 4<<10),
		"deep blocks":                strings.Repeat("- ", 8<<10),
		"complex keys":               strings.Repeat("? ", 8<<10),
		"many texts":                 "- header: {a: [" + strings.Repeat("a,", 8000) + "]}",
		"many entries":               "[" + strings.Repeat("{},", 5000) + "]",
		"a merge key":                "- &a {method: [GET]}\n- {<<: *a}",
		"an alias that lacks a name": "- *",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = settings.ReadConditions(text)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 24<<20 {
			t.Errorf("%s of %d bytes allocates %d KiB", name, len(text), got>>10)
		}
	}
}

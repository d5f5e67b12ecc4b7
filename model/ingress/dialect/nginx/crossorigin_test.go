package nginx_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/settings"
)

const ofOrigins = "routing.http.response.access_control_"

// allowing returns Ingresses, each with its own host and annotations: "name: value", of ingress-nginx unless the name has a slash.
func allowing(each ...[]string) (all []*networkingv1.Ingress) {
	all = many(len(each))
	for i, annotations := range each {
		all[i].Namespace, all[i].Annotations, all[i].Spec.TLS = "shop", map[string]string{}, nil
		for _, a := range annotations {
			name, value, _ := strings.Cut(a, ": ")
			if !strings.Contains(name, "/") {
				name = nginx.Prefix + name
			}
			all[i].Annotations[name] = value
		}
	}
	return all
}

// read returns what Ingresses are read as. Formers are the listener attributes of former versions, by the place of an Ingress.
func read(all []*networkingv1.Ingress, class *v1alpha1.LoadBalancerClassSpec, formers map[int]string) (out []dialect.Reading) {
	kept := func(ing *networkingv1.Ingress) nginx.Former {
		attributes, is := formers[slices.Index(all, ing)]
		return nginx.Former{Served: is, ListenerAttributes: attributes, Group: nginx.DefaultClass}
	}
	config := nginx.ReadConfig(map[string]string{"hsts": "false"})
	w := nginx.NewWorld(all, config, class, func(_, _ string, hosts []string) []string { return hosts }, kept, nil)
	for _, ing := range all {
		out = append(out, w.Read(dialect.Input{Ingress: ing}))
	}
	return out
}

// refusals returns the keys of what refuses an Ingress.
func refusals(r dialect.Reading) (out []string) {
	for _, v := range r.Verdicts {
		if v.Outcome == dialect.Refused {
			out = append(out, strings.TrimPrefix(v.Key, nginx.Prefix))
		}
	}
	return out
}

// The ports of an Ingress send the headers of enable-cors, or the Ingress is refused.
func TestPortsSendTheHeadersForOtherOrigins(t *testing.T) {
	const on = "enable-cors: true"
	own := func(ports ...v1alpha1.PortSettings) v1alpha1.LoadBalancerClassSpec {
		return v1alpha1.LoadBalancerClassSpec{Ports: ports}
	}
	origin := map[string]string{ofOrigins + "allow_origin.header_value": "https://class.example"}
	for name, c := range map[string]struct {
		of          v1alpha1.LoadBalancerClassSpec
		annotations []string
		tls         bool
		want        string // in the attributes
		refused     string
	}{
		"over HTTP":                       {annotations: []string{on}, want: "80:" + ofOrigins + "allow_origin.header_value=*,80:" + ofOrigins + "allow_credentials.header_value=true,80:" + ofOrigins + `allow_methods.header_value=GET\, PUT\, POST\, DELETE\, PATCH\, OPTIONS,`},
		"over HTTPS, too":                 {annotations: []string{on}, tls: true, want: "443:" + ofOrigins + "max_age.header_value=1728000"},
		"TLS ends in front":               {of: v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Service: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": "arn:aws:acm:eu-west-1:123456789012:certificate/1"}}}, annotations: []string{on}, want: "443:" + ofOrigins + "max_age.header_value=1728000"},
		"an origin in lower case":         {annotations: []string{on, "cors-allow-origin: https://Shop.Example"}, want: "allow_origin.header_value=https://shop.example,"},
		"no credentials":                  {annotations: []string{on, "cors-allow-credentials: false"}, want: "allow_origin.header_value=*,80:" + ofOrigins + "allow_methods"},
		"beside others":                   {annotations: []string{on, settings.ListenerAttributes + ": 80:a=b"}, want: "80:a=b,80:" + ofOrigins},
		"several origins":                 {annotations: []string{on, "cors-allow-origin: https://a.example, https://b.example"}, refused: "cors-allow-origin"},
		"a star in an origin":             {annotations: []string{on, "cors-allow-origin: https://*.example"}, refused: "cors-allow-origin"},
		"a header that is too long":       {annotations: []string{on, "cors-allow-headers: " + strings.Repeat("x", 1025)}, refused: "cors-allow-headers"},
		"an origin that is too long":      {annotations: []string{on, "cors-allow-origin: https://" + strings.Repeat("a", 120)}, refused: "cors-allow-origin"},
		"a tab":                           {annotations: []string{on, "cors-allow-methods: GET,\tPUT"}, refused: "cors-allow-methods"},
		"the author has some":             {annotations: []string{on, settings.ListenerAttributes + ": 80:" + ofOrigins + "max_age.header_value=1"}, refused: "enable-cors"},
		"the author chooses ports":        {annotations: []string{on, settings.ListenPorts + ": HTTP:8080"}, refused: "enable-cors"},
		"the class has some":              {of: own(v1alpha1.PortSettings{Port: 443, Attributes: origin}), annotations: []string{on}, refused: "enable-cors"},
		"the class has some for a port":   {of: own(v1alpha1.PortSettings{Port: 8080, Attributes: origin}), annotations: []string{on}, want: "allow_origin.header_value=*"},
		"for several namespaces":          {of: v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}, annotations: []string{on}, refused: "enable-cors"},
		"in a group of its own, for that": {of: v1alpha1.LoadBalancerClassSpec{Groups: []v1alpha1.SharedGroup{{Name: "edge"}}}, annotations: []string{on, settings.Group + ": own"}, want: "allow_origin.header_value=*"},
		"where each is answered 503":      {annotations: []string{on, "whitelist-source-range: here"}},
		"off":                             {annotations: []string{"enable-cors: false", "cors-allow-origin: https://*.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := allowing(c.annotations)
			if c.tls {
				all[0].Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{all[0].Spec.Rules[0].Host}, SecretName: "tls"}}
			}
			r := read(all, &c.of, nil)[0]
			if got := strings.Join(refusals(r), " "); got != c.refused {
				t.Fatalf("%q refuses it, want %q", got, c.refused)
			}
			got := r.Annotations[settings.ListenerAttributes]
			if c.refused == "" && (!strings.Contains(got, c.want) || c.want == "" && got != "") {
				t.Errorf("the ports have %q, want %q", got, c.want)
			}
			if !c.tls && c.of.NGINX == nil && strings.Contains(got, "443:") {
				t.Errorf("port 443 has attributes without HTTPS: %q", got)
			}
		})
	}
}

// A load balancer sends the headers of one Ingress with the answers of all, so that all have the same, or some are refused: whichever
// would change what it sends or, where it sends nothing yet, those that ask for headers that others do not.
func TestIngressesOfALoadBalancerAgreeAboutOrigins(t *testing.T) {
	attributesOf := func(annotations ...string) string {
		return read(allowing(annotations), &v1alpha1.LoadBalancerClassSpec{}, nil)[0].Annotations[settings.ListenerAttributes]
	}
	on, short := []string{"enable-cors: true"}, []string{"enable-cors: true", "cors-max-age: 17"}
	long := []string{"enable-cors: true", "cors-max-age: 172"}
	apart := func(annotations []string) []string { return append(slices.Clone(annotations), settings.Group+": own") }
	for name, c := range map[string]struct {
		each    [][]string
		formers map[int]string
		refused []int
	}{
		"the same":                          {each: [][]string{on, on}},
		"one wants none":                    {each: [][]string{on, nil, on}, refused: []int{0, 2}},
		"others":                            {each: [][]string{on, short}, refused: []int{1}},
		"others, on another load balancer":  {each: [][]string{on, apart(short)}},
		"none, on another load balancer":    {each: [][]string{on, apart(nil)}},
		"others, of another scheme":         {each: [][]string{on, append(slices.Clone(short), settings.Scheme+": internet-facing")}},
		"none, of the same scheme by name":  {each: [][]string{on, {settings.Scheme + ": internal"}}, refused: []int{0}},
		"one is refused for something else": {each: [][]string{on, {"auth-type: basic", "auth-secret: users"}}},
		"one that comes wants none":         {each: [][]string{on, on, nil}, formers: map[int]string{0: attributesOf(on...), 1: attributesOf(on...)}, refused: []int{2}},
		"one no longer wants any":           {each: [][]string{nil, on}, formers: map[int]string{0: attributesOf(on...), 1: attributesOf(on...)}, refused: []int{0}},
		"none of them wants any any longer": {each: [][]string{nil, nil}, formers: map[int]string{0: attributesOf(on...), 1: attributesOf(on...)}},
		"one wants others now":              {each: [][]string{long, short}, formers: map[int]string{0: attributesOf(short...), 1: attributesOf(short...)}, refused: []int{0}},
		"all want others now":               {each: [][]string{short, short}, formers: map[int]string{0: attributesOf(long...), 1: attributesOf(long...)}},
		"a longer age is another one":       {each: [][]string{short, long}, formers: map[int]string{0: attributesOf(long...), 1: attributesOf(long...)}, refused: []int{0}},
		"one wants some now":                {each: [][]string{on, nil}, formers: map[int]string{0: "", 1: ""}, refused: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []int
			all := allowing(c.each...)
			for i, r := range read(all, &v1alpha1.LoadBalancerClassSpec{}, c.formers) {
				of := refusals(r)
				if len(of) > 0 && of[0] != "auth-secret" {
					refused = append(refused, i)
				}
				for _, v := range r.Verdicts {
					if v.Outcome == dialect.Refused && of[0] != "auth-secret" && !strings.Contains(v.Message, "Ingress shop/") {
						t.Errorf("Ingress %d is refused without the name of another: %s", i, v.Message)
					}
				}
			}
			if fmt.Sprint(refused) != fmt.Sprint(c.refused) {
				t.Errorf("Ingresses %v are refused, want %v", refused, c.refused)
			}
		})
	}
}

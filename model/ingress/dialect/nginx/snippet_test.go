package nginx_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// The manifest of ingress-nginx for a Network Load Balancer that ends TLS has a server that leads all requests over HTTP to HTTPS.
func TestHTTPSnippetOfTheManifestForAWS(t *testing.T) {
	const published = "server {\n  listen 2443;\n  return 308 https://$host$request_uri;\n}\n"
	ends := map[string]string{"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": "arn:aws:acm:eu-west-1:123456789012:certificate/1",
		"service.beta.kubernetes.io/aws-load-balancer-ssl-ports": "https", "service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
	passes := map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
	for name, c := range map[string]struct {
		snippet string
		service map[string]string
		served  bool
	}{
		"as published":        {published, ends, true},
		"in one line":         {"server{listen 8000;return 301 https://$host$request_uri;}", ends, true},
		"TLS does not end":    {published, passes, false},
		"without a Service":   {published, nil, false},
		"to another host":     {strings.Replace(published, "$host", "x.example", 1), ends, false},
		"something beside it": {published + "deny 10.0.0.0/8;", ends, false},
		"another code":        {strings.Replace(published, "308", "403", 1), ends, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := allowing(nil)
			of := v1alpha1.LoadBalancerClassSpec{NGINX: &v1alpha1.NGINX{Config: map[string]string{"http-snippet": c.snippet}, Service: c.service}}
			w := nginx.NewWorld(all, nginx.ReadConfig(of.NGINX.Config), &of, func(_, _ string, hosts []string) []string { return hosts }, nil, nil)
			r := w.Read(dialect.Input{Ingress: all[0]})
			if got := r.Refuses(); got == c.served {
				t.Fatalf("it is refused: %v; %v", got, r.Verdicts)
			}
			if !c.served {
				return
			}
			if r.Annotations[settings.SSLRedirect] != "443" {
				t.Errorf("it is read as %v", r.Annotations)
			}
			for _, host := range []string{all[0].Spec.Rules[0].Host, "other.example"} {
				q := nginx.Question{Request: routing.Request{Port: 80, Host: host + ":80", Path: "/.well-known/acme-challenge/x/", Method: "GET"}, RawQuery: "a=b"}
				if got, want := w.Answer(q).Location, "https://"+host+"/.well-known/acme-challenge/x/?a=b"; got != want {
					t.Errorf("nginx leads to %q, want %q", got, want)
				}
				if causes := w.Differences(q); len(causes) == 0 || !w.Tells(causes[0]) {
					t.Errorf("nothing tells that requests for %s get another code: %v", host, causes)
				}
				q.Secure, q.Port = true, 443
				if got := w.Answer(q); got.Location != "" {
					t.Errorf("over HTTPS, nginx leads to %q", got.Location)
				}
			}
		})
	}
}

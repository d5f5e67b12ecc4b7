package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// This file tests migrate.

// migrateFiles are Ingresses for the AWS Load Balancer Controller.
const migrateFiles = "testdata/migrate"

func TestMigrateReports(t *testing.T) {
	for dialect, to := range map[string]string{"alb": "testdata/migrate-", "nginx": "testdata/migrate-nginx-"} {
		for _, format := range []string{"text", "markdown"} {
			got := fairlead(t, "migrate", "--from", dialect, "--provider", "aws", "-f", migratedFiles[dialect], "-o", format)
			if got.code != exitLess || got.err != "" {
				t.Errorf("exit code %d, want that of a refused Ingress\n%s", got.code, got.err)
			}
			page.Check(t, to+format+".txt", got.out)
		}
	}
}

// migrateIngress is an Ingress of the class alb.
func migrateIngress(annotation string) string {
	return strings.Replace(strings.Replace(ingressYAML("web", "web.example.com", "/"), "ingressClassName: fairlead",
		"ingressClassName: alb", 1), "namespace: shop}", "namespace: shop, annotations: {"+annotation+"}}", 1)
}

func TestMigrateEnds(t *testing.T) {
	text, err := os.ReadFile(migrateFiles + "/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	class, rest, _ := strings.Cut(string(text), "---\n")
	parameters := strings.Replace(class, "ingress.k8s.aws/alb}", `ingress.k8s.aws/alb,
  parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}`, 1) + "---\n"
	ours := `apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: alb}
spec: {scheme: internal}
---
`
	const edge = `apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: edge}
spec: {scheme: internal}
---
`
	const binding = `---
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {namespace: shop, name: old, labels: {a: b}}
spec: {serviceRef: {name: web, port: 80}, targetGroupARN: "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/old/0"}
`
	permits := strings.Replace(ours, "scheme: internal", `targetGroupBindings: [{namespaceSelector: {}, targetGroups: ["*:targetgroup/old/*"]}]`, 1)
	permits = strings.Replace(permits, `"*:`, `"arn:*:`, 1)
	const scheme = "alb.ingress.kubernetes.io/scheme: internet-facing"
	const one = "---\napiVersion: v1\nkind: Service\nmetadata: {name: one, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
	cases := map[string]struct {
		manifests string
		args      []string
		code      int
		says      string
	}{
		"all the same":         {migrateIngress(scheme), nil, exitDone, "1 Ingress: 1 same, 0 changed"},
		"something is dropped": {migrateIngress("alb.ingress.kubernetes.io/acm-pca-arn: arn"), nil, exitToDo, "dropped alb.ingress.kubernetes.io/acm-pca-arn"},
		"something is refused": {rest, nil, exitLess, "refused shop/guarded"},
		"a default backend is refused": {strings.Replace(migrateIngress(scheme), "spec:\n", "spec:\n  defaultBackend: {service: {name: one, port: {number: 81}}}\n", 1) + one, nil, exitLess,
			"1 of 2 request classes are answered the same on alb; 0 may change; 1 is refused"},
		"parameters are missing": {parameters + migrateIngress(scheme), nil, exitLess, "IngressClassParams edge"},
		"parameters are read":    {parameters + edge + migrateIngress("a: b"), nil, exitDone, "1 Ingress: 1 same"},
		"parameters decide":      {parameters + edge + migrateIngress(scheme), nil, exitDone, "    same scheme\n"},
		"parameters of ours are": {ours + parameters + edge + migrateIngress("a: b"), nil, exitDone, "1 same, 0 changed"},
		"the class does not allow": {ours + class + "---\n" + migrateIngress(scheme), nil, exitToDo,
			"the class does not allow it"},
		"a binding without permission": {migrateIngress(scheme) + binding, nil, exitLess,
			"ask the owner of a class to add it to `targetGroupBindings`"},
		"a binding": {permits + class + "---\n" + migrateIngress("a: b") + binding, nil, exitDone,
			"class alb permits it; the endpoints of Service shop/web"},
		"a binding of the controller": {migrateIngress(scheme) + strings.Replace(binding, "a: b", "ingress.k8s.aws/stack: b", 1), nil,
			exitDone, "1 Ingress: 1 same, 0 changed"},
		"the class is broken": {strings.Replace(ours, "scheme: internal", "securityGroups: [a], inbound: [10.0.0.0/8]", 1) +
			class + "---\n" + migrateIngress(scheme), nil, exitLess, "security groups of one's own"},
		"the name of the class": {strings.Replace(migrateIngress(scheme), "Name: alb", "Name: edge", 1),
			[]string{"--class-name", "edge"}, exitDone, "1 Ingress: 1 same"},
		"a path is refused": {migrateIngress("alb.ingress.kubernetes.io/backend-protocol-version: GRPC"), nil, exitLess,
			"    refused spec.rules[0].http.paths[0]\n"},
		"another class":            {ingressYAML("web", "web.example.com", "/"), nil, exitFail, "no Ingress has a class"},
		"none is named":            {migrateIngress(scheme), []string{"--class-name=false"}, exitFail, "no Ingress has a class"},
		"a bad file":               {migrateIngress(scheme) + "---\nkind: [\n", nil, exitFail, "a.yaml"},
		"a bad annotation of ours": {migrateIngress(scheme + ", fairlead.dev/order: many"), nil, exitLess, "refused fairlead.dev/order"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": c.manifests})
			got := fairlead(t, append([]string{"migrate", "--from", "alb", "--provider", "aws", "-f", dir}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
				t.Errorf("exit code %d, want %d, and %q\n%s%s", got.code, c.code, c.says, got.out, got.err)
			}
		})
	}
	for _, args := range [][]string{{"-f", migrateFiles}, {"--from", "nginx", "-f", migrateFiles}, {"--from", "alb"},
		{"--from", "alb", "--live", "-f", migrateFiles}, {"--from", "nginx", "--config-map", "a/b", "-f", migratedFiles["nginx"]}, {"--from", "alb", filepath.Join(t.TempDir(), "none")}} {
		if got := fairlead(t, append([]string{"migrate"}, args...)...); got.code != exitFail || got.err == "" {
			t.Errorf("migrate %v ends with %d\n%s", args, got.code, got.err)
		}
	}
}

// nginxIngress is an Ingress of ingress-nginx with annotations, a host and paths. The name begins with its namespace.
func nginxIngress(name, host, annotations string, paths ...string) string {
	out := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + ", namespace: " + name[:1] +
		", annotations: {" + annotations + "}}\nspec:\n  ingressClassName: nginx\n  rules:\n  - host: " + host + "\n    http:\n      paths:\n"
	for _, path := range paths {
		out += "      - {path: '" + path + "', pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}\n"
	}
	return out + "---\n"
}

// TestMigrateFromNGINX is about what the report says first, and what it says of load balancers.
func TestMigrateFromNGINX(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("/a%d/(.*)", i))
	}
	const prefix, class = "nginx.ingress.kubernetes.io/", "apiVersion: fairlead.dev/v1alpha1\nkind: ClusterLoadBalancerClass\n" +
		"metadata: {name: nginx}\nspec: {hosts: Shared, groups: [{name: edge, namespaceSelector: {}}]}\n---\n"
	secure := func(manifests, host string) string {
		return strings.Replace(manifests, "  rules:", "  tls: [{hosts: ["+host+"], secretName: a}]\n  rules:", 1)
	}
	tls := secure(nginxIngress("a", "a.example.com", "", "/", "/a/"), "a.example.com")
	regex := nginxIngress("a", "a.example.com", prefix+`use-regex: "true"`, "/"+strings.Repeat("long", 20))
	const front = "apiVersion: v1\nkind: Service\nmetadata: {name: front, namespace: edge, labels: {app.kubernetes.io/name: ingress-nginx}, annotations: " +
		"{service.beta.kubernetes.io/aws-load-balancer-internal: 'true', service.beta.kubernetes.io/aws-load-balancer-ssl-cert: " +
		"'arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012'}}\n" +
		"spec: {type: LoadBalancer, ports: [{port: 443}]}\n---\n"
	rules := nginxIngress("a1", "a1.example.com", prefix+`rewrite-target: "/$1"`, many...)
	rules += nginxIngress("a2", "a2.example.com", prefix+`rewrite-target: "/$1"`, many...)
	two := nginxIngress("a", "a.example.com", "", "/a") + nginxIngress("b", "a.example.com", "", "/b")
	const web = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: b}\nspec: {ports: [{port: 81}]}\n---\n"
	next := strings.NewReplacer("name: web", "name: next")
	canary := nginxIngress("b", "b.example.com", "", "/", "/same") + next.Replace(nginxIngress("b2", "b.example.com",
		prefix+"canary: 'true', "+prefix+"canary-weight: '10'", "/")) + strings.Replace(web, "81", "80", 1) + next.Replace(web)
	for what, c := range map[string]struct {
		manifests, provider string
		says, not           string
	}{
		"the same":                 {nginxIngress("a", "a.example.com", "", "/", "/a"), "aws", "2 of 2 request classes are answered the same on alb; 0 change;", ": 301"},
		"HTTP and HTTPS":           {tls, "aws", "2 of 4 request classes are answered the same on alb; 2 change; 0 are refused;", ""},
		"the answers":              {tls, "aws", "ingress-nginx: 308 to https://a.example.com/a\n      alb: 301 to https://a.example.com/a/\n", ""},
		"refused":                  {tls + nginxIngress("b", "b.example.com", prefix+"auth-type: basic", "/"), "aws", "1 is refused; 1 Ingress needs a decision.", ""},
		"ignored by ingress-nginx": {nginxIngress("b", "b.example.com", prefix+`configuration-snippet: "x"`, "/"), "aws", "0 are refused; 1 Ingress needs", ""},
		"what an ALB cannot":       {regex, "aws", "0 of 1 request class is answered the same on alb; 0 change; 1 is refused", "the fake cloud"},
		"what the fake can":        {regex, "fake", "1 of 1 request class is answered the same on the fake cloud; 0 change; 0 are refused", "on alb"},
		"that it is the fake":      {regex, "fake", "--provider aws says what an ALB does", ""},
		"rules":                    {nginxIngress("a", "a.example.com", "", "/a", "/b"), "aws", "nginx/a/@nginx/internal: 1 Ingress: 1 of 100 rules, 2 before packing; 1 of 100 target groups", "quota"},
		"too many rules":           {rules, "aws", "of 100 rules (too many: quota L-7EED9B64), ", "all the same"},
		"what to do":               {rules, "aws", "Raise the quota, or divide the Ingresses", ""},
		"a host of two namespaces": {two, "aws", "0 of 2 request classes are answered the same on alb; 2 change;", ""},
		"which a group can share":  {two + class, "aws", "2 of 2 request classes are answered the same on alb; 0 change;", ""},
		"the Service":              {front + tls, "aws", "Service edge/front is the one of ingress-nginx", "may face the internet"},
		"a port that is missing":   {nginxIngress("b", "b.example.com", "", "/") + web, "aws", "1 of 1 request class is answered the same on alb; 0 change; 0 are refused; 0 Ingresses", "refused spec"},
		"a canary without a port": {canary, "aws",
			": its share of the requests is answered 503. Instead of a canary, ingress-nginx asks", "refused spec"},
		"which changes a class":          {canary, "aws", "1 of 2 request classes are answered the same on alb; 1 changes; 0 are refused; 0 Ingresses", ""},
		"over HTTPS, too":                {secure(canary, "b.example.com"), "aws", "1 of 4 request classes are answered the same on alb; 3 change; 0 are refused; 0 Ingresses", ""},
		"what an ALB cannot, over HTTPS": {secure(regex, "a.example.com"), "aws", "0 of 2 request classes are answered the same on alb; 0 change; 2 are refused", ""},
		"an ALB by its name":             {tls, "aws", "an ALB redirects with 301", "the load balancer redirects"},
		"and others":                     {tls, "fake", "the load balancer redirects with 301", "an ALB redirects"},
		"where TLS ends":                 {front + nginxIngress("a", "a.example.com", "", "/"), "aws", "2 of 100 rules", ""},
		"and what to do about that":      {two, "aws", "list a group in the class, with `hosts: Shared`", ""},
	} {
		t.Run(what, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": c.manifests})
			got := fairlead(t, "migrate", "--from", "nginx", "--provider", c.provider, "-f", dir)
			if !strings.Contains(got.out, c.says) || c.not != "" && strings.Contains(got.out, c.not) {
				t.Errorf("exit code %d, want %q, and not %q\n%s%s", got.code, c.says, c.not, got.out, got.err)
			}
		})
	}
}

// TestMessagesNameTheLoadBalancer of the provider that the class of the Ingress has.
func TestMessagesNameTheLoadBalancer(t *testing.T) {
	const classes = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: CONTROLLER, parameters: " +
		"{apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: nginx}}\n---\napiVersion: fairlead.dev/v1alpha1\n" +
		"kind: ClusterLoadBalancerClass\nmetadata: {name: nginx}\nspec: {dialect: nginx, providerName: PROVIDER}\n---\n"
	const limit, cors = "nginx.ingress.kubernetes.io/limit-rps: '1'", "nginx.ingress.kubernetes.io/enable-cors: 'true', " +
		"nginx.ingress.kubernetes.io/cors-allow-origin: 'https://*.a.com'"
	const rewrite = "nginx.ingress.kubernetes.io/rewrite-target: /$1"
	ingresses := nginxIngress("a", "a.example.com", limit, "/") + nginxIngress("b", "b.example.com", cors, "/") +
		nginxIngress("c", "c.example.com", rewrite, `/(\bx.*)`) + nginxIngress("d", "d.example.com", rewrite, `/[[:alpha:]](.*)`) + nginxIngress("e", "e.example.com", "", "/")
	write := func(provider, controller string) string {
		return directory(t, map[string]string{"a.yaml": strings.NewReplacer("PROVIDER", provider, "CONTROLLER", controller).Replace(classes) + ingresses})
	}
	for _, c := range []struct{ provider, says, not string }{
		{"aws", "an ALB", "the load balancer "}, {"fake", "the load balancer", "an ALB "},
	} {
		for _, message := range []string{" limits no rates", " sends one value of a header", " may read in another way", " compares hosts as they are sent"} {
			for _, args := range [][]string{
				{"migrate", "--from", "nginx", "--provider", "aws,fake", "-f", write(c.provider, "k8s.io/ingress-nginx")},
				{"migrate", "--from", "nginx", "--provider", c.provider, "-f", write(c.provider, "k8s.io/ingress-nginx")},
				{"plan", "--provider", "fake,aws", "-f", write(c.provider, "fairlead.dev/ingress")},
			} {
				got := fairlead(t, args...)
				if said := got.out + got.err; !strings.Contains(said, c.says+message) || strings.Contains(said, c.not+strings.TrimPrefix(message, " ")) || strings.Contains(said, "{LB}") {
					t.Errorf("%v: it does not say %q\n%s", args, c.says+message, said)
				}
			}
		}
	}
}

// TestMessagesNameWhatAuthorsWrote where a Backend stands for a Service, or a path for the default backend, on the way.
func TestMessagesNameWhatAuthorsWrote(t *testing.T) {
	const nginx, alb = "nginx.ingress.kubernetes.io/", "alb.ingress.kubernetes.io/"
	const there = "apiVersion: v1\nkind: Service\nmetadata: {name: there, namespace: a}\nspec: {ports: [{port: 80}]}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: gone, namespace: a}\nspec: {ports: [{port: 81}]}\n---\n"
	const action = alb + `actions.weighted: '{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"there","servicePort":80,"weight":1},` +
		`{"serviceName":"gone","servicePort":80,"weight":1}]}}'`
	const gone, weighted = "{service: {name: gone, port: {number: 80}}}", "{service: {name: weighted, port: {name: use-annotation}}}"
	entry := regexp.MustCompile(`\[\d+\]`)
	for what, c := range map[string]struct{ from, annotations, byDefault, backend, field string }{
		"a rewrite":            {"nginx", nginx + "rewrite-target: /$1", "", gone, "spec.rules[0].http.paths[1].backend.service"},
		"a list of clients":    {"nginx", nginx + "whitelist-source-range: 10.0.0.0/8", "", gone, "spec.rules[0].http.paths[1].backend.service"},
		"a plain path":         {"nginx", "", "", gone, "spec.rules[0].http.paths[1].backend.service"},
		"a default of a host":  {"nginx", "", gone, "", "spec.defaultBackend.service"},
		"which is rewritten":   {"nginx", nginx + "rewrite-target: /$1", gone, "", "spec.defaultBackend.service"},
		"a default alone":      {"nginx", "", gone, "none", "spec.defaultBackend.service"},
		"an action":            {"alb", action, "", weighted, "spec.rules[0].http.paths[1].backend.service"},
		"a Service of the ALB": {"alb", "", "", gone, "spec.rules[0].http.paths[1].backend.service"},
		"a default action":     {"alb", action, weighted, "", "spec.defaultBackend.service"},
		"a resource":           {"alb", "", "", "{resource: {apiGroup: example.com, kind: gone, name: gone}}", "spec.rules[0].http.paths[1].backend.resource"},
		"a default resource":   {"alb", "", "{resource: {apiGroup: example.com, kind: gone, name: gone}}", "", "spec.defaultBackend.resource"},
	} {
		t.Run(what, func(t *testing.T) {
			text := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: a, annotations: {" + alb + "target-type: ip, " + c.annotations + "}}\nspec:\n" +
				"  ingressClassName: " + c.from + "\n"
			if c.byDefault != "" {
				text += "  defaultBackend: " + c.byDefault + "\n"
			}
			if c.backend != "none" {
				text += "  rules:\n  - host: a.example.com\n    http:\n      paths:\n" +
					"      - {path: /x, pathType: Prefix, backend: {service: {name: there, port: {number: 80}}}}\n"
			}
			if strings.HasPrefix(c.backend, "{") {
				text += "      - {path: /y, pathType: Prefix, backend: " + c.backend + "}\n"
			}
			dir := directory(t, map[string]string{"a.yaml": there + text})
			for command, field := range map[string]*regexp.Regexp{"migrate": regexp.MustCompile(`"field": "(spec.*)",\n *"outcome": ".*",\n *"message": ".*/gone`),
				"plan": regexp.MustCompile(`"source": "Ingress a/web (.*)",\n *"message": ".*/gone`)} {
				got := fairlead(t, command, "--from", c.from, "--provider", "aws", "-o", "json", "-f", dir)
				all := field.FindAllStringSubmatch(got.out, -1)
				if len(all) == 0 {
					t.Errorf("%s does not name the backend\n%s%s", command, got.out, got.err)
				}
				for _, found := range all {
					if found[1] != c.field && found[1] != entry.ReplaceAllString(c.field, "[]") { // of several Ingresses together
						t.Errorf("%s names %s, want %s", command, found[1], c.field)
					}
				}
			}
		})
	}
}

// TestMigrateReadsLogsOfNGINX in the default format, which has no host.
func TestMigrateReadsLogsOfNGINX(t *testing.T) {
	line := func(request, status, service, address string) string {
		return `203.0.113.7 - - [29/Nov/2026:10:00:00 +0000] "` + request + ` HTTP/1.1" ` + status + ` 612 "http://a/?q=\x22] [x] " "curl \x22" 300 0.005 [` +
			service + "] [] " + address + " 0123456789abcdef\n"
	}
	const pod, none = "10.0.0.1:80 612 0.004 200", "- - - -"
	tls := strings.Replace(nginxIngress("a", "a.example.com", "", "/", "/a/"), "  rules:", "  tls: [{hosts: [a.example.com], secretName: a}]\n  rules:", 1)
	plain := nginxIngress("b", "b.example.com", "nginx.ingress.kubernetes.io/proxy-body-size: 8m", "/")
	refused := strings.Replace(nginxIngress("a2", "c.example.com", "nginx.ingress.kubernetes.io/auth-type: basic", "/"), "name: web", "name: admin", 1)
	also := nginxIngress("b2", "b.example.com", "", "/y")
	const cors = "nginx.ingress.kubernetes.io/enable-cors: 'true', nginx.ingress.kubernetes.io/cors-allow-origin: 'https://x.example'"
	pages := nginxIngress("d", "d.example.com", cors, "/")
	for what, c := range map[string]struct {
		logs string
		code int
		says string
	}{
		"over HTTPS":               {line("GET /", "200", "a-web-80", pod), exitLess, "1 answered the same\n"},
		"over HTTP":                {line("GET /", "308", "a-web-80", none), exitLess, "1 answered in another way"},
		"the Ingress and the key":  {line("GET /", "308", "a-web-80", none), exitLess, "changed: 1 request of Ingress a/a, nginx.ingress.kubernetes.io/ssl-redirect\n    such as curl http://a.example.com/, answered 308 ("},
		"the path decides":         {line("GET /y/z", "200", "b-web-80", pod), exitLess, "1 answered the same\n"},
		"an annotation has none":   {line("GET /x?y=z", "404", "b-web-80", pod), exitLess, "1 answered the same, though an annotation"},
		"no Pod":                   {line("GET /x", "503", "b-web-80", none), exitLess, "1 answered the same, though an annotation"},
		"several Pods":             {line("GET /x", "200", "b-web-80", "10.0.0.1:80, 10.0.0.2:80 0, 612 0.000, 0.004 502, 200"), exitLess, "1 answered the same, though"},
		"refused":                  {line("GET /x", "401", "a-admin-80", none), exitLess, "1 of Ingresses that are refused"},
		"another Service":          {line("GET /", "200", "c-web-80", pod), exitLess, "1 of no path of these Ingresses"},
		"a host that no rule has":  {line("GET /", "404", "upstream-default-backend", pod), exitLess, "1 of no path of these Ingresses"},
		"the slash":                {line("GET /a", "301", "-", none), exitLess, "1 for which it depends on the host or the scheme"},
		"another answer":           {line("GET /", "403", "b-web-80", none), exitLess, "1 answered as these Ingresses do not say"},
		"a preflight":              {line("OPTIONS /", "204", "d-web-80", none), exitLess, "1 answered the same\n"},
		"one of another origin":    {line("OPTIONS /", "200", "d-web-80", pod), exitLess, "1 answered in another way\n"},
		"what is no HTTP":          {line(`\x16\x03`, "400", "", none), exitLess, "1 of no path of these Ingresses"},
		"what the log cannot show": {line("GET /", "200", "a-web-80", pod), exitLess, "has neither the host nor the scheme, headers nor cookies"},
		"lines of the controller":  {"I1129 10:00:00.000000       7 main.go:1] starting\n2026/11/29 10:00:00 [error] 1#1: x\n\n" + line("GET /", "200", "a-web-80", pod), exitLess, "1 request in the logs"},
		"a line of something else": {line("GET /", "200", "a-web-80", pod) + "odd\n", exitFail, "1 line of the logs could not be read"},
		"another format":           {strings.Repeat(`{"status": 200}`+"\n", 2000), exitFail, "a.log:1000: it does not have the default format of ingress-nginx"},
		"a short one":              {`203.0.113.7 - - [29/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl"` + "\n", exitFail, "log-format-upstream"},
		"nothing":                  {"", exitFail, "default format"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": tls + plain + refused + also + pages})
			logs := filepath.Join(directory(t, map[string]string{"a.log": c.logs}), "a.log")
			got := fairlead(t, "migrate", "--from", "nginx", "--provider", "aws", "-f", dir, "--logs", logs)
			if got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
				t.Errorf("exit code %d, want %d, and %q\n%s%s", got.code, c.code, c.says, got.out, got.err)
			}
		})
	}
}

// TestPlanFromAnotherController reads its classes as Fairlead's.
func TestPlanFromAnotherController(t *testing.T) {
	plan := []string{"plan", "--provider", "aws", "-f", migrateFiles}
	if got := fairlead(t, append(plan, "--from", "alb")...); !strings.Contains(got.out, "host = plain.example.com") {
		t.Errorf("exit code %d, and it says\n%s%s", got.code, got.out, got.err)
	}
	if got := fairlead(t, plan...); got.code == exitToDo || strings.Contains(got.out, "host = plain.example.com") {
		t.Errorf("without the flag: exit code %d, and it says\n%s%s", got.code, got.out, got.err)
	}
	if got := fairlead(t, "run", "--from", "alb"); got.code != exitFail || !strings.Contains(got.err, "--read-only") {
		t.Errorf("run ends with %d\n%s", got.code, got.err)
	}
}

// TestMigrateReplaysLogs of load balancers that the AWS Load Balancer Controller named.
func TestMigrateReplaysLogs(t *testing.T) {
	to := func(group, line string) string {
		return strings.Replace(line, ` - - - "Root`, ` - - arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/`+group+`/0123456789abcdef "Root`, 1)
	}
	line := func(balancer, url, actions, status string) string {
		return `http 2026-07-02T22:20:00.186641Z app/` + balancer + `/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 ` +
			status + ` - 34 366 "GET ` + url + ` HTTP/1.1" "curl" - - - "Root=1" "-" "-" 1 2026-07-02T22:22:48.364000Z "` + actions +
			`" "-" "-" "-" "-" "-" "-"` + "\n"
	}
	const plain, name = "http://plain.example.com:80/", "k8s-shop-plain-0123456789"
	of := func(group string) string {
		return strings.Replace(migrateIngress("alb.ingress.kubernetes.io/group.name: "+group), "name: web,", "name: "+group+",", 1)
	}
	files := migrateIngress("alb.ingress.kubernetes.io/success-codes: '200'")
	files += "---\n" + strings.NewReplacer("name: web,", "name: plain,", "web.example.com", "plain.example.com").Replace(files)
	secure := strings.NewReplacer("name: web,", "name: plain,", "web.example.com", "plain.example.com").Replace(migrateIngress(
		`alb.ingress.kubernetes.io/certificate-arn: "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"`))
	alike := strings.NewReplacer("name: web,", "name: a,", "namespace: shop", "namespace: edge").Replace(migrateIngress("a: b"))
	payments := strings.Replace(files, "service: {name: plain,", "service: {name: payments-v1,", 1) + `      - path: /v2
        pathType: Prefix
        backend: {service: {name: payments-v2, port: {number: 80}}}
`
	const old = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/old/0123456789abcdef"
	outside := strings.Replace(strings.NewReplacer("name: web,", "name: plain,", "web.example.com", "plain.example.com").Replace(migrateIngress(
		`alb.ingress.kubernetes.io/actions.plain: '{"type": "forward", "targetGroupARN": "`+old+`"}'`)), "port: {number: 80}", "port: {name: use-annotation}", 1) + `---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: alb}
spec: {allowedTargetGroups: ["` + old + `"]}
`
	const service = `---
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: shop}
spec: {type: NodePort, ports: [{port: 80}]}
`
	for what, c := range map[string]struct {
		logs, files string
		code        int
		says        string
	}{
		"they agree":             {line(name, plain, "forward", "200"), files, exitDone, "1 line, 1 compared, 0 disagree"},
		"a name by a stranger":   {line("shop", plain, "forward", "200") + line(name, plain, "forward", "200"), files, exitDone, "2 lines, 1 compared"},
		"another answer":         {line(name, plain, "redirect", "301"), files, exitToDo, "1 disagree"},
		"a group":                {line("k8s-outeredge-0123456789", "http://web.example.com:80/", "forward", "200"), of("outer-edge") + "---\n" + of("inner"), exitDone, "1 compared"},
		"names that begin alike": {line("k8s-edge-0123456789", "http://web.example.com:80/", "forward", "200"), of("edge") + "---\n" + alike, exitFail, "several may have such a name"},
		"a port that is not there": {line(name, plain, "redirect", "301") + line("k8s-shop-web-0123456789", "http://web.example.com:80/", "forward", "200"),
			secure + "---\n" + migrateIngress("a: b"), exitToDo, "1 of ports"},
		"one of them is clear": {line("k8s-edge-0123456789", "http://web.example.com:80/", "redirect", "301") + line("k8s-edge-a-0123456789", "http://web.example.com:80/", "forward", "200"),
			of("edge") + "---\n" + alike, exitFail, "several may have such a name"},
		"the Service":                       {to("k8s-shop-plain-0123456789", line(name, plain, "forward", "200")), files, exitDone, "1 compared, 0 disagree"},
		"another Service":                   {to("k8s-shop-api-0123456789", line(name, plain, "forward", "200")), files, exitToDo, "1 disagree"},
		"the Service of another namespace":  {to("k8s-edge-plain-0123456789", line(name, plain, "forward", "200")), files, exitToDo, "1 disagree"},
		"a target group of another name":    {to("mine", line(name, plain, "forward", "200")), files, exitDone, "0 disagree, 1 whose Service is not compared"},
		"Services that begin alike":         {to("k8s-shop-payments-0123456789", line(name, plain, "forward", "200")), payments, exitDone, "1 whose Service is not compared"},
		"one that begins like the Services": {to("k8s-shop-payment-0123456789", line(name, plain, "forward", "200")), payments, exitToDo, "1 disagree"},
		"a target group of others":          {to("old", line(name, plain, "forward", "200")), outside, exitDone, "1 compared, 0 disagree"},
		"another one":                       {to("other", line(name, plain, "forward", "200")), outside, exitToDo, "1 disagree"},
		"a Service in place of one":         {to("k8s-shop-web-0123456789", line(name, plain, "forward", "200")), outside, exitToDo, "1 disagree"},
		"a Service that is missing":         {line(name, plain, "fixed-response", "503"), files, exitDone, "1 compared, 0 disagree"},
		"a Service that is there":           {line(name, plain, "fixed-response", "503"), files + service, exitToDo, "1 disagree"},
		"a line that is none":               {"odd\n", files, exitFail, "a.log"},
		"a path that nobody wrote":          {line(name, "http://plain.example.com:80/", "fixed-response", "404"), files, exitToDo, "1 disagree"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := directory(t, map[string]string{"a.yaml": c.files})
			logs := filepath.Join(directory(t, map[string]string{"a.log": c.logs}), "a.log")
			got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", dir, "--logs", logs)
			if got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
				t.Errorf("exit code %d, want %d, and %q\n%s%s", got.code, c.code, c.says, got.out, got.err)
			}
		})
	}
}

// TestMigrateWritesIngressClassParams as fields of the class and annotations.
func TestMigrateWritesIngressClassParams(t *testing.T) {
	from := directory(t, map[string]string{"a.yaml": migrateIngress("a: b") + `---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: edge}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: edge}
spec: {scheme: internet-facing, inboundCIDRs: [10.0.0.0/8]}
`})
	dir := filepath.Join(t.TempDir(), "moved")
	got := fairlead(t, "migrate", "--from", "alb", "--provider", "aws", "-f", from, "--write", dir)
	text, err := os.ReadFile(filepath.Join(dir, "parameters.alb.yaml"))
	if err != nil || got.code != exitDone || !strings.Contains(string(text), "scheme: internet-facing") ||
		!strings.Contains(string(text), "10.0.0.0/8") {
		t.Errorf("exit code %d, %v\n%s%s%s", got.code, err, text, got.out, got.err)
	}
}

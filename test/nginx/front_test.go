package nginx

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	frontend "fairlead.dev/fairlead/model/ingress/dialect/nginx"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
)

const ofAWS = "service.beta.kubernetes.io/aws-load-balancer-"

// classFor draws what a class says about ingress-nginx, beside its ConfigMap.
func classFor(random *rand.Rand) v1alpha1.NGINX {
	d := dice{random}
	out := v1alpha1.NGINX{}
	if d.chance(20) {
		out.CaseFolding = d.one("exact", "lower", "off")
	}
	if d.chance(10) {
		out.Changed = "Refuse"
	}
	if d.chance(25) {
		out.Service = map[string]string{ofAWS + "ssl-cert": "arn:aws:acm:eu-west-1:123456789012:certificate/1", ofAWS + "ssl-ports": d.one("https", "443", "*")}
		switch d.IntN(3) {
		case 0:
			out.Service[ofAWS+"backend-protocol"] = "http"
		case 1:
			out.Service[ofAWS+"type"] = "nlb"
		case 2:
			out.Service[ofAWS+"backend-protocol"] = "ssl"
		}
	}
	return out
}

// behind returns a request as the load balancer of the controller's Service passes it on.
func behind(c v1alpha1.NGINX, r Request) Request {
	if !r.TLS || c.Service == nil || c.Service[ofAWS+"backend-protocol"] == "ssl" {
		return r
	}
	r.TLS, r.Port = false, 443
	if c.Service[ofAWS+"backend-protocol"] == "http" {
		r.Headers = slices.DeleteFunc(slices.Clone(r.Headers), func(h string) bool {
			return strings.HasPrefix(strings.ToLower(h), "x-forwarded-proto:")
		})
		r.Headers = append(r.Headers, "X-Forwarded-Proto: https")
	}
	return r
}

// accepting returns a class that accepts what is undocumented, so that less is refused.
func accepting(of v1alpha1.NGINX) v1alpha1.LoadBalancerClassSpec {
	return v1alpha1.LoadBalancerClassSpec{NGINX: &of, Undocumented: v1alpha1.UndocumentedAccept}
}

func worldOf(c *Cluster, class v1alpha1.LoadBalancerClassSpec, memory frontend.Memory) *frontend.World {
	var all []*networking.Ingress
	for i := range c.Ingresses {
		all = append(all, &c.Ingresses[i])
	}
	return frontend.NewWorld(all, frontend.ReadConfig(c.Config), &class,
		func(namespace, secret string, _ []string) []string {
			if found, err := c.certificate(namespace + "/" + secret); err == nil {
				return found.names
			}
			return nil
		}, nil, memory)
}

// questionOf returns a request as the front end sees it.
func questionOf(r Request) frontend.Question {
	path, query, _ := strings.Cut(r.Target, "?")
	q := frontend.Question{Request: routing.Request{Port: 80, Host: r.Host, Path: path, Method: r.Method, Source: r.From, Header: map[string][]string{}},
		Secure: r.TLS, RawQuery: query, Mark: strings.HasSuffix(r.Target, "?")}
	if r.TLS {
		q.Port = 443
	}
	if !q.Source.IsValid() {
		q.Source = netip.MustParseAddr("127.0.0.1")
	}
	for _, h := range r.Headers {
		name, value, _ := strings.Cut(h, ": ")
		q.Header[name] = append(q.Header[name], value)
	}
	return q
}

// resultOf returns an answer of nginx as the front end compares it.
func resultOf(a Answer, q frontend.Question) frontend.Result {
	if a.Refused != "" {
		return frontend.Result{Status: -1}
	}
	sent := ""
	for _, name := range strings.Fields("Origin Credentials Methods Headers") {
		sent += headerOf(a, "Access-Control-Allow-"+name)
	}
	sent += headerOf(a, "Access-Control-Expose-Headers") + headerOf(a, "Access-Control-Max-Age")
	if a.Pod == nil {
		out := frontend.Answer{Status: a.Status, Location: a.Location, CrossOrigin: sent}
		return out.Result(q)
	}
	namespace, rest, _ := strings.Cut(a.Pod.Service, "/")
	service, port, _ := strings.Cut(rest, ":")
	return frontend.Result{To: []frontend.Share{{Namespace: namespace, Service: service, Port: port, Weight: 1}}, Host: a.Pod.Header.Get("Host"), Target: strings.TrimSuffix(a.Pod.Target, "?"), CrossOrigin: sent}
}

func headerOf(a Answer, name string) string {
	if value := a.Header.Get(name); value != "" {
		return name + ": " + value + "\n"
	}
	return ""
}

// many is how many clusters are drawn: with 200 requests to each, 20,000 requests, and a million at night.
func many() int {
	switch {
	case testing.Short():
		return *clusters
	case nightly.Is():
		return 250 * *clusters
	}
	return 5 * *clusters
}

// TestTheModelAnswersAsNginx compares the model of the front end with nginx.
func TestTheModelAnswersAsNginx(t *testing.T) {
	t.Logf("-seed %d", *seed)
	o := Idle(t)
	asked, skipped, located, wrong := 0, 0, 0, 0
	for i := range many() {
		random := rand.New(rand.NewPCG(*seed+uint64(i), 1))
		c := RandomCluster(random)
		simple(&c)
		err := o.Load(c)
		if errors.Is(err, ErrConfiguration) || errors.Is(err, ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		of := classFor(random)
		w := worldOf(&c, accepting(of), nil)
		told := false
		for range *requests {
			r := RandomRequest(random, &c)
			if !isOrdinary(r) {
				continue
			}
			r.Body = ""
			r.Headers = slices.DeleteFunc(r.Headers, func(h string) bool { return strings.HasPrefix(h, "X-Oracle") })
			q := questionOf(r)
			a := w.Answer(q)
			if w.Refuses(a.Of) {
				skipped++
				continue
			}
			asked++
			nginx := o.Ask(behind(of, r))
			if at := slices.IndexFunc(o.Locations, func(l Location) bool { return l.ID == nginx.Where && !strings.HasPrefix(l.ID, "www ") }); at >= 0 {
				if located++; o.Locations[at].Ingress != a.Of {
					t.Errorf("cluster %d: %+v\n is answered by %+v of nginx, and by %q of the model\n%s", *seed+uint64(i), r, o.Locations[at], a.Of, described(&c))
				}
			}
			header := ""
			if behind(of, r).TLS {
				header = w.Config.HSTS
			}
			if got := nginx.Header.Get("Strict-Transport-Security"); nginx.Pod != nil && got != header {
				t.Errorf("cluster %d: %+v\n is answered with HSTS %q by nginx, and %q is expected", *seed+uint64(i), r, got, header)
			}
			got, want := a.Result(q), resultOf(nginx, q)
			if (got.Status == 0 || got.Status == 403) && len(a.To) > 0 && !c.hasPods(a.To[0]) {
				got = frontend.Result{Status: 503, CrossOrigin: got.CrossOrigin}
			}
			if !got.Equal(want) {
				if wrong++; told || wrong > 100 {
					continue
				}
				told = true
				t.Errorf("cluster %d: %+v\n is answered with %+v\n by nginx      %+v\n%s", *seed+uint64(i), r, got, want, described(&c))
			}
		}
	}
	t.Logf("%d asked, %d of them by a location of the same Ingress, %d skipped, %d wrong", asked, located, skipped, wrong)
}

// hasPods reports whether a Service of the cluster has Pods.
func (c *Cluster) hasPods(s frontend.Share) bool {
	return !strings.HasPrefix(s.Service, "empty") && s.Port != "99" && c.service(s.Namespace+"/"+s.Service) != nil
}

func described(c *Cluster) string {
	var b strings.Builder
	for _, ing := range c.Ingresses {
		b.WriteString("  " + ing.Namespace + "/" + ing.Name + " " + ing.CreationTimestamp.UTC().Format("05"))
		for k, v := range ing.Annotations {
			b.WriteString(" " + strings.TrimPrefix(k, prefix) + "=" + v)
		}
		for _, r := range ing.Spec.Rules {
			b.WriteString("\n    " + r.Host)
			for _, p := range r.HTTP.Paths {
				b.WriteString(" " + string(*p.PathType) + " " + p.Path + "->" + p.Backend.Service.Name)
			}
		}
		if ing.Spec.DefaultBackend != nil {
			b.WriteString("\n    default " + ing.Spec.DefaultBackend.Service.Name)
		}
		for _, tls := range ing.Spec.TLS {
			b.WriteString("\n    tls " + strings.Join(tls.Hosts, ",") + " " + tls.SecretName)
		}
		b.WriteString("\n")
	}
	for k, v := range c.Config {
		b.WriteString("  config " + k + "=" + v + "\n")
	}
	return b.String()
}

// simple takes out of a cluster what Fairlead refuses and what changes the answers of other Ingresses.
func simple(c *Cluster) {
	c.DefaultBackend = ""
	c.Serve("other", "web", "api", "old", "new", "errors")
	for _, key := range []string{"custom-http-errors", "ssl-reject-handshake", "block-cidrs", "block-user-agents", "block-referers", "global-auth-url",
		"enable-real-ip", "proxy-real-ip-cidr", "forwarded-for-header", "annotation-value-word-blocklist"} {
		delete(c.Config, key)
	}
	for _, ing := range c.Ingresses {
		for _, key := range []string{"auth-tls-secret", "server-snippet", "custom-http-errors", "default-backend"} {
			delete(ing.Annotations, prefix+key)
		}
		if d := ing.Spec.DefaultBackend; d != nil && (d.Service.Name == "none" || d.Service.Name == "empty-0") {
			d.Service.Name = "old"
		}
		for _, rule := range ing.Spec.Rules {
			for i := range rule.HTTP.Paths {
				if s := rule.HTTP.Paths[i].Backend.Service; s.Name == "none" || s.Name == "empty-0" {
					s.Name = "old"
				}
			}
		}
	}
}

// TestChangesAreTold asks Fairlead what it answers: where that is not what nginx does, a verdict tells it.
func TestChangesAreTold(t *testing.T) {
	t.Logf("-seed %d", *seed)
	asked, changed, untold := 0, 0, 0
	for i := range many() {
		random := rand.New(rand.NewPCG(*seed+uint64(i), 1))
		c := RandomCluster(random)
		simple(&c)
		w := worldOf(&c, accepting(classFor(random)), nil)
		if !slices.ContainsFunc(c.Ingresses, func(ing networking.Ingress) bool { return !w.Refuses(ing.Namespace + "/" + ing.Name) }) {
			continue
		}
		told := false
		for range *requests {
			r := RandomRequest(random, &c)
			if !isOrdinary(r) {
				continue
			}
			q := questionOf(r)
			a := w.Answer(q)
			asked++
			causes := w.Differences(q)
			if len(causes) == 0 {
				continue
			}
			changed++
			if cause := causes[slices.IndexFunc(append(causes, frontend.Cause{}), func(c frontend.Cause) bool { return c == frontend.Cause{} || !w.Tells(c) })%len(causes)]; !w.Tells(cause) {
				if untold++; told || untold > 40 {
					continue
				}
				told = true
				t.Errorf("cluster %d: %+v\n is answered with %+v\n by nginx      %+v\n for %v %s\n%s", *seed+uint64(i), r, w.Result(q), a.Result(q), cause, a.Of, described(&c))
			}
		}
	}
	t.Logf("%d asked, %d changed, %d of them untold", asked, changed, untold)
}

// TestWhatIsReadIsServed compiles what is read, as the operator does, and compares its answers with those that verdicts are
// about.
func TestWhatIsReadIsServed(t *testing.T) {
	t.Logf("-seed %d", *seed)
	asked, wrong := 0, 0
	for i := range many() {
		random := rand.New(rand.NewPCG(*seed+uint64(i), 1))
		c := RandomCluster(random)
		simple(&c)
		maps.DeleteFunc(c.Config, func(key, _ string) bool { return !strings.HasPrefix(key, "hsts") })
		table, w, found, ports := compiled(&c)
		if table == nil {
			continue
		}
		for _, l := range ports {
			const attribute = "routing.http.response.strict_transport_security.header_value"
			if got := l.Settings.Attributes[attribute]; l.Port == 443 && got != w.Config.HSTS {
				t.Errorf("cluster %d: over HTTPS, HSTS is %q, and of nginx %q\n%s", *seed+uint64(i), got, w.Config.HSTS, described(&c))
			}
		}
		told := false
		for range *requests {
			r := RandomRequest(random, &c)
			if !isOrdinary(r) {
				continue
			}
			q := questionOf(r)
			asked++
			got, want := frontend.ResultOf(table, q), w.Result(q)
			if got.CrossOrigin = sentBy(ports, q.Port); r.TLS && want.CrossOrigin == "" { // it may have no certificate
				got.CrossOrigin = ""
			}
			if !got.Equal(want) {
				if wrong++; told || wrong > 60 {
					continue
				}
				told = true
				t.Errorf("cluster %d: %+v\n is answered with %+v\n and expected    %+v\n%s%s", *seed+uint64(i), q, got, want, described(&c), found)
			}
		}
	}
	t.Logf("%d asked, %d wrong", asked, wrong)
}

// sentBy returns the headers that a port sends to other origins.
func sentBy(ports []lb.Listener, port int32) (out string) {
	for _, l := range ports {
		for _, name := range strings.Fields("Allow-Origin Allow-Credentials Allow-Methods Allow-Headers Expose-Headers Max-Age") {
			attribute := "routing.http.response.access_control_" + strings.ToLower(strings.ReplaceAll(name, "-", "_")) + ".header_value"
			if value := l.Settings.Attributes[attribute]; l.Port == port && value != "" {
				out += "Access-Control-" + name + ": " + value + "\n"
			}
		}
	}
	return out
}

// compiled compiles what is read of a cluster, as the operator does, where each host has a certificate. It returns the table, what
// verdicts are about, the errors and the ports; no table if nothing is served.
func compiled(c *Cluster) (table *precedence.Table, w *frontend.World, errs string, ports []lb.Listener) {
	facts := lb.Facts{Certificates: map[string][]lb.CertificateID{}}
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: meta.ObjectMeta{Name: "nginx"}, Spec: v1alpha1.LoadBalancerClassSpec{
		Dialect: v1alpha1.DialectNGINX, Undocumented: v1alpha1.UndocumentedAccept, Hosts: v1alpha1.HostsShared}}
	if slices.ContainsFunc(c.Ingresses, func(ing networking.Ingress) bool { return ing.Namespace != c.Ingresses[0].Namespace }) {
		class.Spec.Groups = []v1alpha1.SharedGroup{{Name: "all"}}
	}
	if c.Config != nil {
		class.Spec.NGINX = &v1alpha1.NGINX{Config: c.Config}
	}
	objects := ingress.Objects{ClusterLoadBalancerClasses: []*v1alpha1.ClusterLoadBalancerClass{class},
		IngressClasses: []*networking.IngressClass{{ObjectMeta: meta.ObjectMeta{Name: "nginx"}, Spec: networking.IngressClassSpec{
			Controller: ingress.ControllerName, Parameters: &networking.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
				Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "nginx"}}}}}
	for _, name := range []string{"default", "other"} {
		objects.Namespaces = append(objects.Namespaces, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
	}
	for i := range c.Ingresses {
		ing := c.Ingresses[i].DeepCopy()
		ing.Spec.IngressClassName = new("nginx")
		for j := range ing.Spec.TLS {
			ing.Spec.TLS[j].SecretName = ""
			for _, host := range ing.Spec.TLS[j].Hosts {
				facts.Certificates[host] = []lb.CertificateID{"any"}
			}
		}
		for _, r := range ing.Spec.Rules {
			for _, host := range []string{r.Host, "www." + r.Host, strings.TrimPrefix(r.Host, "www."), "alias.example", "b.example", "c.example", "x.a.example"} {
				facts.Certificates[host] = []lb.CertificateID{"any"}
			}
		}
		objects.Ingresses = append(objects.Ingresses, ing)
	}
	for i := range c.Services {
		objects.Services = append(objects.Services, &c.Services[i])
	}
	snapshots, unplaced := ingress.Place(objects, ingress.ClassOptions{})
	if len(snapshots) != 1 {
		return nil, nil, "", nil
	}
	built := model.Compile(snapshots[0], facts, lb.Literal())
	for _, d := range slices.Concat(unplaced, snapshots[0].Diagnostics, built.Diagnostics) {
		if d.Severity == diag.Error {
			errs += "  " + d.String() + "\n"
		}
	}
	return built.Table, frontend.NewWorld(objects.Ingresses, frontend.ReadConfig(c.Config), &class.Spec,
		func(_, _ string, hosts []string) []string { return hosts }, nil, nil), errs, built.LoadBalancer.Listeners
}

// isOrdinary reports whether a load balancer passes a request on: HTTP/1.1 with a path and the name of a host.
func isOrdinary(r Request) bool {
	if slices.ContainsFunc(r.Headers, func(h string) bool { return strings.HasSuffix(h, ": ") }) {
		return false
	}
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	return (r.Version == "" || r.Version == "HTTP/1.1") && strings.HasPrefix(r.Target, "/") && !strings.ContainsAny(r.Target, " #") && hostName.MatchString(name)
}

var hostName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*\.{0,2}$`)

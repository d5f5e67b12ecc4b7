package incumbent_test

import (
	stdcmp "cmp"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/diag"
	compiler "fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/incumbent"
	"fairlead.dev/fairlead/test/nightly"
)

// This file compares the dialect with the evaluator: the same Ingresses, and the same requests.

var clusters = flag.Int("clusters", 300, "random clusters that are compared")

// arn is a certificate that both accept.
const arn = "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"

// unlimited is a cloud that has all that the evaluator has: whether an ALB can say it is not compared.
var unlimited = func() lb.Capabilities {
	c := lb.Literal()
	c.Auth, c.OtherTargetGroups = true, true
	return c
}()

// A world is a cluster as both read it.
type world struct {
	cluster incumbent.Cluster
	groups  map[string]incumbent.Group
	fails   map[string]error
	builds  map[string]model.Built       // by the evaluator's name of the group
	refused map[string]string            // groups of which Fairlead refuses an Ingress, with the reason
	members map[string][]compiler.Member // by group
	// readings are those of the members, by group
	readings map[string][]*dialect.Reading
}

// compile reads a cluster by the evaluator and by the dialect.
func compile(t *testing.T, c incumbent.Cluster) world {
	t.Helper()
	w := world{cluster: c, builds: map[string]model.Built{}, refused: map[string]string{},
		members: map[string][]compiler.Member{}, readings: map[string][]*dialect.Reading{}}
	w.groups, w.fails = incumbent.Build(c)
	o := compiler.Objects{Ingresses: c.Ingresses, Services: c.Services, Secrets: c.Secrets}
	class := &v1alpha1.ClusterLoadBalancerClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	class.Spec = v1alpha1.LoadBalancerClassSpec{Dialect: v1alpha1.DialectALB,
		AllowedTargetGroups: slices.Sorted(maps.Values(c.TargetGroups))}
	o.ClusterLoadBalancerClasses = append(o.ClusterLoadBalancerClasses, class)
	o.IngressClasses = append(o.IngressClasses, &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: "alb"},
		Spec: networkingv1.IngressClassSpec{Controller: compiler.ControllerName,
			Parameters: &networkingv1.IngressClassParametersReference{APIGroup: new(v1alpha1.Group),
				Kind: v1alpha1.KindClusterLoadBalancerClass, Name: "alb"}},
	})
	snapshots, unplaced := compiler.Place(o, compiler.ClassOptions{})
	groupOf := func(namespace, name string) string {
		for _, ing := range c.Ingresses {
			if ing.Namespace == namespace && ing.Name == name {
				if group, is := ing.Annotations["alb.ingress.kubernetes.io/group.name"]; is {
					return group
				}
			}
		}
		return namespace + "/" + name
	}
	served := map[string]bool{}
	for _, s := range snapshots {
		for _, m := range s.Members {
			served[m.Owner.String()] = true
		}
	}
	for _, d := range unplaced {
		if name := d.Source.Object(); d.Severity == diag.Error && d.Source.Kind == "Ingress" && !served[name] {
			w.refused[groupOf(d.Source.Namespace, d.Source.Name)] = d.String()
		}
	}
	for _, s := range snapshots {
		q := model.Ask(s)
		f := lb.Facts{Certificates: map[string][]lb.CertificateID{}, Names: map[lb.CertificateID][]string{}}
		for _, host := range q.CertificateHosts {
			for _, domain := range c.Certificates {
				_, below, _ := strings.Cut(host, ".")
				if id := lb.CertificateID("cert:" + domain); domain == host || domain == "*."+below {
					f.Certificates[host] = append(f.Certificates[host], id)
					f.Names[id] = []string{domain}
				}
			}
		}
		f.Names[arn] = []string{"a.example.com", "*.example.com", "*.a.example.com", "b.example.org"}
		built := model.Compile(s, f, unlimited)
		group := groupOf(s.Members[0].Namespace, s.Members[0].Name)
		w.builds[group] = built
		for _, d := range built.Diagnostics { // refused for what a Service says
			if d.Severity == diag.Error && d.Reason == diag.AnnotationForeign {
				w.refused[group] = d.String()
			}
		}
		w.members[group] = s.Members
		for _, reading := range s.Readings {
			w.readings[group] = append(w.readings[group], reading)
		}
	}
	return w
}

// simple returns a cluster whose Ingresses are of one class, and whose groups are of one namespace: classes
// with parameters are compared on their own, and groups across namespaces have other settings.
func simple(c incumbent.Cluster) incumbent.Cluster {
	c.Classes = []incumbent.Class{{Name: "alb"}}
	for _, ing := range c.Ingresses {
		ing.Spec.IngressClassName = new("alb")
		delete(ing.Annotations, "kubernetes.io/ingress.class")
		for key, value := range ing.Annotations {
			value = strings.ReplaceAll(value, "arn:cert", arn)
			ing.Annotations[key] = strings.ReplaceAll(value, "arn:other", strings.Replace(arn, "/1", "/2", 1))
		}
		for _, rule := range ing.Spec.Rules {
			for i := 0; rule.HTTP != nil && i < len(rule.HTTP.Paths); i++ {
				if p := &rule.HTTP.Paths[i]; p.Path != "" && p.Path[0] != '/' {
					p.Path = "/" + p.Path // the API server takes no other
				}
			}
		}
		const group = "alb.ingress.kubernetes.io/group.name"
		if name := ing.Annotations[group]; name != "" && ing.Namespace != "default" {
			ing.Annotations[group] = name + "." + ing.Namespace
		}
	}
	return c
}

// said writes the answer of a table as the evaluator does.
func said(b model.Built, r routing.Request) string {
	l := slices.IndexFunc(b.LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port == r.Port })
	if l < 0 {
		return "closed"
	}
	secure := b.LoadBalancer.Listeners[l].Protocol == routing.HTTPS
	a := b.Table.Match(r).Action
	text := signIn(a.Auth)
	switch {
	case a.Fixed != nil:
		kind := stdcmp.Or(a.Fixed.ContentType, "-")
		if a.Fixed.Body == "" && (a.Fixed.ContentType == "" || a.Fixed.Status == 404) {
			return text + strconv.Itoa(a.Fixed.Status)
		}
		return text + fmt.Sprintf("fixed %d %s %q", a.Fixed.Status, kind, a.Fixed.Body)
	case a.Redirect != nil:
		protocol, port := "http", strconv.Itoa(int(r.Port))
		if secure {
			protocol = "https"
		}
		url := strings.NewReplacer("#{protocol}", protocol, "#{port}", port).Replace(a.Redirect.Template())
		return text + fmt.Sprintf("%d %s", a.Redirect.Status, url)
	}
	var names []string
	for _, w := range a.Forward {
		backend := b.Table.Backends[w.Backend]
		if strings.HasPrefix(string(w.Backend), "arn:") {
			names = append(names, string(w.Backend)+weight(a, w))
			continue
		}
		if len(a.Forward) == 1 && strings.HasSuffix(backend.Service, "/gone") {
			return text + "503" // there is no such Service, so the target group is empty
		}
		name := backend.Service + ":" + string(backend.Port)
		if backend.Protocol != routing.HTTP || backend.Version != routing.VersionHTTP1 {
			name += "/" + string(backend.Protocol)
		}
		if backend.Version != routing.VersionHTTP1 {
			name += "/" + string(backend.Version)
		}
		names = append(names, name+weight(a, w))
	}
	slices.Sort(names)
	text += "forward " + strings.Join(names, " ")
	if a.StickySeconds > 0 {
		text += fmt.Sprintf(" sticky %ds", a.StickySeconds)
	}
	if w := a.Rewrite; w != nil && w.URL != "" {
		text += fmt.Sprintf(", url %q to %q", w.URL, w.URLReplacement)
	}
	if w := a.Rewrite; w != nil && w.Host != "" {
		text += fmt.Sprintf(", host %q to %q", w.Host, w.HostReplacement)
	}
	return text
}

func weight(a routing.Action, w routing.Weighted) string {
	if len(a.Forward) == 1 {
		return ""
	}
	return fmt.Sprintf("*%d", w.Weight)
}

func signIn(a *routing.Auth) string {
	if a == nil {
		return ""
	}
	cookie := a.Cookie
	if at := strings.LastIndexByte(cookie, '-'); at > 0 {
		cookie = cookie[:at] // Fairlead adds a digest
	}
	parameters := a.Parameters
	if parameters == nil {
		parameters = map[string]string{}
	}
	session := fmt.Sprintf("params %v scope %q cookie %s timeout %d unauthenticated %s then ", parameters, a.Scope,
		cookie, a.TimeoutSeconds, a.OnMissing)
	switch a.Kind {
	case routing.OIDC:
		return fmt.Sprintf("oidc %s %s %s %s secret %s %s", a.Issuer, a.AuthorizationEndpoint, a.TokenEndpoint,
			a.UserInfoEndpoint, a.Secret, session)
	case routing.Cognito:
		return fmt.Sprintf("cognito %s %s %s %s", a.UserPool, a.ClientID, a.UserPoolDomain, session)
	}
	text := fmt.Sprintf("jwt %s %s", a.KeysEndpoint, a.Issuer)
	for _, c := range a.Claims {
		text += fmt.Sprintf(" %s(%s)=%s", c.Name, c.Format, strings.Join(c.Values, "|"))
	}
	return text + " then "
}

// circle is a redirect that changes at most the host, to the one that it is for.
var circle = regexp.MustCompile(`30[12] https?://[^/]*/#\{path\}\?#\{query\}$`)

// quoted is what authors wrote, in a message.
var quoted = regexp.MustCompile(`"([^"\\]|\\.)*"…?`)

var noWeight = regexp.MustCompile(`forward [^ ,]*\*0(,|$)`)

// normal returns the answer of the evaluator in the words of said.
func normal(a incumbent.Answer) string {
	text := string(a)
	for _, status := range []string{"404", "503"} { // a fixed response without body or type
		text = strings.TrimSuffix(strings.Replace(text, "fixed "+status+" - \"\"", status, 1), "")
	}
	if to := noWeight.FindStringIndex(text); to != nil {
		return text[:to[0]] + "503" // the only target group has no weight
	}
	return text
}

// TestTheDialectAnswersAsTheController compares answers over random clusters. What differs was reported, by
// a verdict of the Ingress.
func TestTheDialectAnswersAsTheController(t *testing.T) {
	t.Logf("-seed %d", *seed)
	counts, most := map[string]int{}, nightly.Times(*clusters)
	for i := range uint64(most) {
		c := simple(incumbent.Random(*seed + i))
		w := compile(t, c)
		for name, group := range w.groups {
			counts["groups"]++
			if why := w.refused[name]; why != "" {
				counts["refused"]++
				counts["refused: "+quoted.ReplaceAllString(why[strings.Index(why, ": ")+2:], "_")]++
				continue
			}
			built, is := w.builds[name]
			if !is {
				t.Errorf("seed %d: no load balancer for group %s", *seed+i, name)
				continue
			}
			w.witnesses(t, *seed+i, name, counts)
			for _, l := range built.LoadBalancer.Listeners {
				if diff := cmp.Diff(w.certificates(name, l.Port), l.Certificates); diff != "" {
					t.Errorf("seed %d, group %s: port %d has other certificates (-controller +dialect):\n%s", *seed+i, name, l.Port, diff)
				}
				counts["certificates"] += len(l.Certificates)
			}
			for _, r := range c.Requests(*seed+i, 60) {
				if !strings.HasPrefix(r.Path, "/") {
					continue // no client sends it
				}
				want, got := normal(group.Answer(r)), said(built, r)
				counts["requests"]++
				if want == got {
					continue
				}
				if told := w.tells(name, r, want, got); told != "" {
					counts["told: "+told]++
					if len(w.members[name]) == 1 && told != leftOut && !w.changes(name) {
						t.Errorf("seed %d, group %s, %+v\nthe controller: %s\nthe dialect:    %s\nand no verdict says that it is changed", *seed+i, name, r, want, got)
						break
					}
					continue
				}
				t.Errorf("seed %d, group %s, %+v\nthe controller: %s\nthe dialect:    %s, as %s", *seed+i, name, r, want, got,
					built.Table.Match(r).Why())
				if t.Failed() && counts["requests"] > 0 {
					counts["different"]++
				}
				if counts["different"] > 10 {
					t.FailNow()
				}
			}
		}
	}
	if counts["refused"]*2 > counts["groups"] || counts["requests"] < 60*most {
		t.Errorf("%d requests are compared, and %d groups are refused", counts["requests"], counts["refused"])
	}
	for _, what := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] }) {
		t.Logf("%7d %.200s", counts[what], what)
	}
}

// leftOut is told by the compiler.
const leftOut = "a redirect to itself is left out"

// changes reports whether something about a group is changed, or cannot be said to a cloud.
func (w world) changes(group string) bool {
	return slices.ContainsFunc(w.builds[group].Diagnostics, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && d.Reason == diag.NotExpressible
	}) || slices.ContainsFunc(w.readings[group], func(r *dialect.Reading) bool {
		return slices.ContainsFunc(r.Verdicts, func(v dialect.Verdict) bool { return v.Outcome == dialect.Changed })
	})
}

// TestListenersHaveTheCertificatesOfTheController: all that members name or that are found for a host, and the first of the
// first member by default.
func TestListenersHaveTheCertificatesOfTheController(t *testing.T) {
	const head = "group.name: g\nlisten-ports: [{\"HTTPS\":443}]\n"
	two := strings.Replace(arn, "/1", "/2", 1)
	for name, c := range map[string]struct {
		ingresses []string
		want      []lb.CertificateID
	}{
		"two Ingresses name different ones for a host": {
			[]string{head + "certificate-arn: " + two + "\nhost a.example.com\nPrefix / a:80", head + "certificate-arn: " + arn + "\nhost a.example.com\nPrefix /b b:81"},
			[]lb.CertificateID{lb.CertificateID(two), arn},
		},
		"one names one, and one has it found": {
			[]string{head + "certificate-arn: " + arn + "\nhost a.example.com\nPrefix / a:80", head + "host a.example.com\nPrefix /b b:81"},
			[]lb.CertificateID{arn, "cert:*.example.com"},
		},
		"spec.tls lists a host without a rule": {
			[]string{head + "tls b.example.org\nhost a.example.com\nPrefix / a:80"}, []lb.CertificateID{"cert:*.example.com", "cert:b.example.org"},
		},
		"only spec.tls names a host": {[]string{head + "tls b.example.org\ndefault a:80"}, []lb.CertificateID{"cert:b.example.org"}},
		"a condition is on another host": {
			[]string{head + `conditions.a: [{"field":"host-header","hostHeaderConfig":{"values":["b.example.org"]}}]` + "\nhost a.example.com\nPrefix / a:80"},
			[]lb.CertificateID{"cert:*.example.com"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ingresses []*networkingv1.Ingress
			for i, text := range c.ingresses {
				ingresses = append(ingresses, ingress(fmt.Sprintf("default/i%d", i), text))
			}
			all := cluster(ingresses...)
			all.Certificates = append(all.Certificates, "b.example.org")
			w := compile(t, simple(all))
			if diff := cmp.Diff(c.want, w.certificates("g", 443)); diff != "" {
				t.Errorf("the controller's are others (-want +got):\n%s%v", diff, w.fails)
			}
			at := slices.IndexFunc(w.builds["g"].LoadBalancer.Listeners, func(l lb.Listener) bool { return l.Port == 443 })
			if at < 0 {
				t.Fatalf("port 443 is closed: %v, %v", w.refused, w.builds["g"].Diagnostics)
			}
			if diff := cmp.Diff(c.want, w.builds["g"].LoadBalancer.Listeners[at].Certificates); diff != "" {
				t.Errorf("the dialect's are others (-want +got):\n%s", diff)
			}
			for _, host := range []string{"a.example.com", "b.example.org"} {
				r := routing.Request{Port: 443, Host: host, Path: "/", Method: "GET", Source: netip.MustParseAddr("198.51.100.1")}
				if want, got := normal(w.groups["g"].Answer(r)), said(w.builds["g"], r); want != got {
					t.Errorf("the controller answers %s with %s, and the dialect with %s", host, want, got)
				}
			}
		})
	}
}

// certificates returns those of the controller's listener, the default one first, and the others sorted.
func (w world) certificates(group string, port int32) (out []lb.CertificateID) {
	for _, arn := range w.groups[group].Certificates(port) {
		out = append(out, lb.CertificateID(arn))
	}
	if len(out) > 0 {
		slices.Sort(out[1:])
	}
	return out
}

// witnesses checks that a request shows each change. In a group, an Ingress does not know the others.
func (w world) witnesses(t *testing.T, seed uint64, group string, counts map[string]int) {
	for _, reading := range w.readings[group] {
		for _, v := range reading.Verdicts {
			if v.Outcome != dialect.Changed {
				continue
			}
			counts["changes"]++
			at, err := url.Parse(v.Request.URL)
			if err != nil || v.Request.URL == "" {
				t.Errorf("seed %d, group %s: no request shows that %s is changed: %v", seed, group, v.Key, err)
				continue
			}
			port, _ := strconv.ParseInt(at.Port(), 10, 32)
			r := routing.Request{Port: int32(port), Host: at.Hostname(), Path: at.Path, Method: v.Request.Method, Header: v.Request.Headers,
				Query: at.Query(), Source: netip.MustParseAddr(stdcmp.Or(v.Request.Source, "198.51.100.1"))}
			want, got := normal(w.groups[group].Answer(r)), said(w.builds[group], r)
			switch {
			case want != got:
				counts["changes that their request shows"]++
			case got == "503":
				counts["changes of what has no Service, which may come"]++
			case len(w.members[group]) > 1:
				counts["changes that others of the group hide"]++
			default:
				t.Errorf("seed %d, group %s: %s is changed, and %+v is answered %s by both: %s", seed, group, v.Key, r, got, v.Message)
			}
		}
	}
}

// tells returns the difference that a verdict of a group announces; "" if none does.
func (w world) tells(group string, r routing.Request, want, got string) string {
	behind, loops := w.groups[group].Dropped(r)
	withoutQuery := strings.TrimSuffix(got, "?#{query}")
	is := func(a incumbent.Answer) bool { return normal(a) == got || normal(a) == withoutQuery }
	switch {
	case slices.ContainsFunc(w.builds[group].Diagnostics, func(d diag.Diagnostic) bool {
		return d.Reason == diag.RedirectLoop && (circle.MatchString(want) || strings.HasSuffix(want, fmt.Sprintf("://#{host}:%d%s", r.Port, r.Path)))
	}):
		return leftOut
	case withoutQuery == want:
		return "the query is kept"
	case slices.ContainsFunc(behind, is):
		return "rules behind a redirect for hosts by expressions are served"
	case slices.ContainsFunc(loops, is):
		return "hosts and paths beside the one that is redirected to are redirected"
	case (got == "503" || strings.HasPrefix(got, "302 https://#{host}:") && strings.HasSuffix(got, "/#{path}?#{query}")) && w.groups[group].SignsIn(r):
		return "no request over HTTP is forwarded without a sign-in"
	}
	return ""
}

package incumbent_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
	"fairlead.dev/fairlead/test/incumbent"
)

// This file asks the load balancers that the controller makes, and the evaluator.

// What the controller makes of random clusters answers as the evaluator says. Groups that the evaluator fails have no load
// balancer, or the controller says what AWS refuses.
func TestWhatItMakesAnswersAsItsEvaluator(t *testing.T) {
	t.Logf("-seed %d", *seed)
	groups, refused, asked, forwards := 0, 0, 0, 0
	for i := range uint64(16) {
		c := simple(incumbent.Random(*seed + i))
		w := newSite(t)
		w.holds(&c)
		built, fails := incumbent.Build(c)
		_, err := w.try()
		balancers := w.balancers()
		for group, failure := range fails {
			if balancers[group] != "" && !strings.Contains(failure.Error(), "FailedDeployModel") {
				t.Errorf("seed %d: the group %s has a load balancer, and fails: %v", *seed+i, group, failure)
			}
		}
		for group, g := range built {
			groups++
			// AWS refuses more than the evaluator knows: protocols and their versions that do not go together.
			failed := failureOf(err, group)
			if strings.Contains(failed, "operation error Elastic Load Balancing v2: Create") {
				refused++
				continue
			}
			if failed != "" || balancers[group] == "" {
				t.Errorf("seed %d: the group %s: %s", *seed+i, group, failed)
				continue
			}
			for _, r := range c.Requests(*seed+i, 40) {
				if r.Source.Is6() { // load balancers have no such addresses
					continue
				}
				asked++
				want := filled(normal(g.Answer(r)), r)
				got := w.ask(balancers[group], r, want)
				if strings.Contains(got, "forward") {
					forwards++
				}
				if got != want {
					t.Errorf("seed %d: %s answers %+v with\n\t%s\nwant\n\t%s", *seed+i, group, r, got, want)
				}
			}
		}
	}
	t.Logf("%d groups, %d of them refused, %d requests, %d of them forwarded", groups, refused, asked, forwards)
	if groups-refused < 8 || forwards < 20 {
		t.Errorf("%d groups with %d requests that are forwarded are too few", groups-refused, forwards)
	}
}

// failureOf returns what a Pass says of a group.
func failureOf(err error, group string) string {
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, group+": ") {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// holds has the site hold a cluster, with ARNs of certificates and target groups that are there.
func (w *site) holds(c *incumbent.Cluster) {
	made, err := w.elb.CreateTargetGroup(w.Context(), &elbv2.CreateTargetGroupInput{Name: aws.String("old"), Protocol: elb.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: aws.String(albsim.VPC)})
	w.must(err)
	later := time.Now().Add(1000 * time.Hour)
	for _, domain := range c.Certificates {
		w.sim.Issue(later, acmtypes.CertificateStatusIssued, domain)
	}
	instead := strings.NewReplacer(c.TargetGroups["old"], *made.TargetGroups[0].TargetGroupArn,
		arn, w.sim.Issue(later, acmtypes.CertificateStatusIssued, "named.example.net"),
		strings.Replace(arn, "/1", "/2", 1), w.sim.Issue(later, acmtypes.CertificateStatusIssued, "other.example.net"))
	c.TargetGroups["old"] = *made.TargetGroups[0].TargetGroupArn
	for _, ing := range c.Ingresses {
		for key, value := range ing.Annotations {
			ing.Annotations[key] = instead.Replace(value)
		}
		if ing.DeletionTimestamp != nil { // one that nothing holds is gone
			continue
		}
		w.create(ing.DeepCopy())
	}
	for _, s := range c.Services {
		w.create(s.DeepCopy())
	}
	for _, s := range c.Secrets {
		w.create(s.DeepCopy())
	}
}

// balancers are the names of load balancers, by group.
func (w *site) balancers() map[string]string {
	out := map[string]string{}
	lbs, err := w.elb.DescribeLoadBalancers(w.Context(), &elbv2.DescribeLoadBalancersInput{})
	w.must(err)
	for _, lb := range lbs.LoadBalancers {
		tags, err := w.elb.DescribeTags(w.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{*lb.LoadBalancerArn}})
		w.must(err)
		for _, tag := range tags.TagDescriptions[0].Tags {
			if *tag.Key == "ingress.k8s.aws/stack" {
				out[*tag.Value] = *lb.DNSName
			}
		}
	}
	return out
}

// filled replaces what a request fills in, and leaves out what an answer of the simulator does not have: types of content,
// the parts of a sign-in, and transforms.
func filled(want string, r routing.Request) string {
	head, rest := "", want
	if before, after, has := strings.Cut(want, " then "); has {
		head, rest = strings.Fields(before)[0]+" then ", after
	}
	rest, _, _ = strings.Cut(rest, ", url ")
	rest, _, _ = strings.Cut(rest, ", host ")
	if f, is := strings.CutPrefix(rest, "fixed "); is {
		parts := strings.SplitN(f, " ", 3)
		rest = "fixed " + parts[0] + " " + parts[2]
	}
	if f, is := strings.CutPrefix(rest, "forward "); is {
		var names []string
		for _, name := range strings.Fields(f) {
			name, weight, weighs := strings.Cut(name, "*")
			if strings.HasPrefix(name, "arn:") {
				name = "old"
			} else if parts := strings.SplitN(name, "/", 3); len(parts) == 3 { // the protocol
				name = parts[0] + "/" + parts[1]
			}
			if weighs {
				name += "*" + weight
			}
			if !strings.HasSuffix(name, "*0") && name != "sticky" && !strings.HasSuffix(name, "0s") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if rest = "forward " + strings.Join(names, " "); len(names) == 0 {
			rest = "503"
		}
	}
	host, _, _ := strings.Cut(r.Host, ":")
	rest = strings.NewReplacer("#{host}", host, "#{path}", strings.TrimPrefix(r.Path, "/"), "#{query}", query(r)).Replace(rest)
	return head + strings.TrimSuffix(usualPort.ReplaceAllString(rest, "$1$2"), "?")
}

// usualPort is that of a URL's protocol.
var usualPort = regexp.MustCompile(`(http://[^/:]+):80\b|(https://[^/:]+):443\b`)

func query(r routing.Request) string {
	var out []string
	for _, k := range slices.Sorted(keysOf(r.Query)) {
		for _, v := range r.Query[k] {
			out = append(out, k+"="+v)
		}
	}
	return strings.Join(out, "&")
}

func keysOf(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// ask asks a load balancer, and says the answer as the evaluator does.
func (w *site) ask(dns string, r routing.Request, want string) string {
	in := matching.Request{Port: r.Port, Method: r.Method, Host: r.Host, Path: r.Path, Query: query(r), Source: r.Source.String(), Headers: map[string]string{}}
	for k, v := range r.Header {
		in.Headers[strings.ToLower(k)] = strings.Join(v, ",")
	}
	a := w.sim.Ask(dns, in, matching.Reading{})
	if a.Status == 400 && a.Rule == "" && len(a.Forward) == 0 {
		in.TLS, in.SNI = true, r.Host
		a = w.sim.Ask(dns, in, matching.Reading{})
	}
	head := map[string]string{"": "", "authenticate-oidc": "oidc then ", "authenticate-cognito": "cognito then ", "jwt-validation": "jwt then "}[a.Auth]
	switch {
	case a.Refused:
		return "closed"
	case a.Location != "":
		// The simulator takes a query that is empty for one that is not said.
		if to, _, has := strings.Cut(a.Location, "?"); has && !strings.Contains(want, "?") {
			a.Location = to
		}
		return head + strconv.Itoa(a.Status) + " " + a.Location
	case len(a.Forward) > 0:
		return head + w.forwards(a, want)
	case strings.HasSuffix(want, strconv.Itoa(a.Status)):
		return head + strconv.Itoa(a.Status)
	}
	return head + fmt.Sprintf("fixed %d %q", a.Status, a.Body)
}

// forwards says to which ports of Services a request is forwarded, by the bindings of target groups.
func (w *site) forwards(a albsim.Answer, want string) string {
	var names []string
	for _, share := range a.Forward {
		name := share.Group
		for _, b := range w.bindings() {
			if b.GetName() != share.Group {
				continue
			}
			ref := b.Object["spec"].(map[string]any)["serviceRef"].(map[string]any)
			var service corev1.Service
			w.must(w.client.Get(w.Context(), types.NamespacedName{Namespace: b.GetNamespace(), Name: ref["name"].(string)}, &service))
			for _, p := range service.Spec.Ports {
				if fmt.Sprint(ref["port"]) == p.Name || fmt.Sprint(ref["port"]) == strconv.Itoa(int(p.Port)) {
					name = fmt.Sprintf("%s/%s:%d", service.Namespace, service.Name, p.Port)
				}
			}
		}
		if len(a.Forward) > 1 || strings.Contains(want, "*") {
			name += "*" + strconv.Itoa(int(share.Weight))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return "forward " + strings.Join(names, " ")
}

package adoption

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// base has the classes, nodes and Services.
const base = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: alb}
spec:
  dialect: alb
  adoption: {from: alb, clusterName: CLUSTER}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Node
metadata: {name: node-a}
spec: {providerID: "aws:///eu-west-1a/i-0000000000000000a"}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-b}
spec: {providerID: "aws:///eu-west-1b/i-0000000000000000b"}
status: {conditions: [{type: Ready, status: "True"}]}
`

// service has a Service with two Pods.
func service(name string, port, target, nodePort int) string {
	out := fmt.Sprintf(`
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: %[1]s, uid: uid-of-%[1]s}
spec:
  type: NodePort
  selector: {app: %[1]s}
  ports: [{name: http, port: %[2]d, targetPort: %[3]d, nodePort: %[4]d, protocol: TCP}]
`, name, port, target, nodePort)
	for node, ip := range map[string]string{"a": "10.0.100.10", "b": "10.0.101.10"} {
		out += fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: %[1]s-%[2]s, labels: {app: %[1]s}}
spec: {nodeName: node-%[2]s}
status: {podIP: %[3]s, podIPs: [{ip: %[3]s}], phase: Running, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: shop, name: %[1]s-%[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: %[4]d, protocol: TCP}]
endpoints: [{addresses: [%[3]s], nodeName: node-%[2]s, conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: %[1]s-%[2]s}}]
`, name, node, ip, target)
	}
	return out
}

// theIngress has one Ingress of the class, with annotations of the controller and lines of paths.
func theIngress(name string, annotations map[string]string, rules ...string) string {
	out := "\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  namespace: shop\n  name: " + name + "\n  annotations:\n    made: by-hand\n"
	for key, value := range annotations {
		out += fmt.Sprintf("    alb.ingress.kubernetes.io/%s: '%s'\n", key, value)
	}
	out += "spec:\n  ingressClassName: alb\n  rules:\n"
	host := "none"
	for _, line := range rules {
		f := strings.Fields(line) // host path type service port
		if f[0] != host {
			host = f[0]
			out += "  - host: " + host + "\n    http:\n      paths:\n"
		}
		port := "number: " + f[4]
		if f[4] == "http" {
			port = "name: http"
		}
		out += fmt.Sprintf("      - {path: %s, pathType: %s, backend: {service: {name: %s, port: {%s}}}}\n", f[1], f[2], f[3], port)
	}
	return out
}

// one is an Ingress without a group, and a group of two with HTTPS. Both use the Service web, the group twice.
func oneAndTwo() string {
	group := map[string]string{"group.name": "all", "scheme": "internet-facing", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "target-type": "ip"}
	return base + service("web", 80, 8080, 30080) + service("api", 80, 9090, 30090) +
		theIngress("one", map[string]string{"target-type": "ip"}, "a.example.com /api Prefix api 80", "a.example.com / Prefix web http") +
		theIngress("two", group, "a.example.com /api Prefix api 80", "a.example.com / Prefix web 80") +
		theIngress("three", group, "b.example.com /x Exact api http", "b.example.com / Prefix web http")
}

var someRequests = requestsOf([]string{"a.example.com", "b.example.com", "c.example.com"}, []string{"/", "/api", "/api/v1", "/apis", "/x", "/x/y"})

func newOneAndTwo(t *testing.T) *site {
	t.Helper()
	return newOneAndTwoOf(t, oneAndTwo())
}

func newOneAndTwoOf(t *testing.T, objects string) *site {
	t.Helper()
	s := newSite(t, objects)
	s.sim.Issue(time.Now().Add(1000*time.Hour), acmtypes.CertificateStatusIssued, "a.example.com", "*.example.com")
	s.startTheirs()
	s.learn(someRequests...)
	return s
}

// takeAll takes everything over. The user replaces the class once nothing of the controller is left in the cluster.
func (s *site) takeAll() {
	s.Helper()
	for range 4 {
		done, err := s.take(false)
		if err != nil {
			s.Fatal(err)
		}
		if done {
			return
		}
		s.replaceClass(ingress.ControllerName)
	}
	s.Fatal("it is never done")
}

func (s *site) releaseAll() {
	s.Helper()
	for range 4 {
		done, err := s.release()
		if err != nil {
			s.Fatal(err)
		}
		if done {
			return
		}
		s.replaceClass("ingress.k8s.aws/alb")
	}
	s.Fatal("it is never done")
}

// TestFridayAndMonday: load balancers are taken over without a change but of tags, are changed by ordinary plans, and are
// given back as they were.
func TestFridayAndMonday(t *testing.T) {
	s := newOneAndTwo(t)
	before, objects := s.inventory(), s.inCluster()
	s.takeAll()
	s.right("after they were taken over")
	calls := map[string]int{}
	for _, w := range s.wrote {
		calls[w]++
	}
	t.Logf("taking over wrote %v", calls)
	for what := range calls {
		if !slices.ContainsFunc([]string{"AddTags", "RemoveTags", "CreateTags", "DeleteTags", "SetSecurityGroups", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "patch", "create", "delete"},
			func(prefix string) bool { return strings.HasPrefix(what, prefix) }) {
			t.Errorf("it wrote %s", what)
		}
	}
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after it, the plan is %q", steps)
	}
	taken := s.inventory()
	s.accident()
	if diff := cmp.Diff(taken, s.inventory()); diff != "" {
		t.Errorf("the controller, started by accident, changed\n%s", diff)
	}
	s.wrote = nil
	if err := s.operate(); err != nil || len(s.wrote) > 0 {
		t.Errorf("the operator wrote %q, %v", s.wrote, err)
	}
	s.releaseAll()
	s.right("after they were given back")
	if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
		t.Errorf("after they were given back\n%s", diff)
	}
	if diff := cmp.Diff(objects, s.inCluster()); diff != "" {
		t.Errorf("after they were given back\n%s", diff)
	}
	s.startTheirs()
	if diff := cmp.Diff(before, s.inventory(ourShared)); diff != "" {
		t.Errorf("after they were given back and the controller started\n%s", diff)
	}
}

// ourShared begins the name of the security group that Fairlead makes for all of its load balancers. It goes with the
// last of them.
const ourShared = " fl-shared-"

// less returns the lines that have no such text.
func less(lines []string, text string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.Contains(l, text) || strings.Contains(l, ourShared) })
}

// TestChangesAfterATakeover: an Ingress that changes afterwards is served by ordinary plans, without the controller, and
// what is given back then is repaired by the controller without a wrong answer.
func TestChangesAfterATakeover(t *testing.T) {
	s := newOneAndTwo(t)
	s.takeAll()
	s.asTheirs(func() error {
		ing := parse(t, theIngress("three", map[string]string{"group.name": "all", "scheme": "internet-facing", "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "target-type": "ip"},
			"b.example.com /x Exact api http", "b.example.com / Prefix web http", "d.example.com / Prefix api 80"))[0]
		present := &networkingv1.Ingress{}
		if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(ing), present); err != nil {
			return err
		}
		ing.SetResourceVersion(present.GetResourceVersion())
		ing.SetFinalizers(present.GetFinalizers())
		return s.kube.Update(t.Context(), ing)
	})
	for range 3 {
		if err := s.operate(); err != nil {
			t.Fatal(err)
		}
	}
	s.right("after a change")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("after a change, the plan is %q", steps)
	}
	added := append(slices.Clone(someRequests), requestsOf([]string{"d.example.com"}, []string{"/", "/y"})...)
	s.learn(added...)
	anew, had := s.anew(), s.resources()
	s.releaseAll()
	s.right("after it was given back")
	wanted := s.asked
	s.learn(someRequests...) // what the controller makes anew has no targets at first, as each new Service of its own
	s.startTheirs()
	s.right("after it was given back and the controller started")
	s.asked = wanted
	s.right("once the controller has made what is new")
	var made []string
	for _, resource := range s.resources() {
		if !slices.Contains(had, resource) {
			made = append(made, resource)
		}
	}
	if want := []string{"shop/three-api:80"}; !slices.Equal(made, want) || len(anew) != 1 ||
		!strings.Contains(anew[0], "target group api:80 of Ingress shop/three: the controller makes one") {
		t.Errorf("the controller made %q, want %q, and it was said %q", made, want, anew)
	}
}

// anew is what release says about target groups that the controller will make.
func (s *site) anew() (out []string) {
	s.Helper()
	taker := s.taker(s.cloud())
	found, err := taker.Releasable(s.Context(), s.cloud())
	if err != nil {
		s.Fatal(err)
	}
	for i := range found {
		r, err := taker.Owned(s.Context(), &found[i])
		if err != nil {
			s.Fatal(err)
		}
		one, err := taker.Anew(s.Context(), &found[i], r, slices.Collect(maps.Keys(r.Finalizers)))
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, one...)
	}
	return out
}

// resources are the target groups of the controller, as it names them.
func (s *site) resources() (out []string) {
	s.Helper()
	for _, g := range must(s, func() (*elbv2.DescribeTargetGroupsOutput, error) {
		return s.elb.DescribeTargetGroups(s.Context(), &elbv2.DescribeTargetGroupsInput{})
	}).TargetGroups {
		for _, tag := range must(s, func() (*elbv2.DescribeTagsOutput, error) {
			return s.elb.DescribeTags(s.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{*g.TargetGroupArn}})
		}).TagDescriptions[0].Tags {
			if name := strings.TrimPrefix(*tag.Key, adopt.Was); name == "ingress.k8s.aws/resource" {
				out = append(out, *tag.Value)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestAccidentsOnTheWay: the controller is started by accident before and after the user replaces the class, and again.
func TestAccidentsOnTheWay(t *testing.T) {
	for name, class := range map[string]bool{"with its class": false, "with the class of Fairlead": true} {
		s := newOneAndTwo(t)
		if done, err := s.take(false); done || err != nil {
			t.Fatal(done, err)
		}
		before := s.inventory()
		s.accident()
		if class {
			s.replaceClass(ingress.ControllerName)
			s.accident()
		}
		s.right(name)
		if diff := cmp.Diff(before, s.inventory()); diff != "" {
			t.Errorf("%s, it changed\n%s", name, diff)
		}
		s.takeAll()
		s.right(name + ", once it is taken over")
		if steps := s.plan(); len(steps) > 0 {
			t.Errorf("%s, the plan is then %q", name, steps)
		}
	}
}

// TestALoadBalancerMadeByHand: one of Terraform, which no controller made, is taken over by its ARN and given back.
func TestALoadBalancerMadeByHand(t *testing.T) {
	s := newSite(t, byHandObjects())
	s.makeByHand()
	s.learn(someRequests...)
	before := s.inventory()
	cloud := s.cloud()
	all, err := adoption.WantedOf(t.Context(), cloud, s.objects(), ingress.ClassOptions{}, adoption.OfDialect(""))
	if err != nil || len(all) != 1 {
		t.Fatal(err, len(all))
	}
	w := all[0]
	arn := s.loadBalancer()
	take := func(named map[string]lb.GroupID) adoption.Outcome {
		w.Named = named
		out, err := s.taker(s.cloud()).TakeFound(t.Context(), arn, w.Wanted, w.Members, false, requests.OfCommand)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := take(nil); out.Done() || len(s.wrote) > 0 {
		t.Errorf("without the Services of its target groups: %+v, %q", out, s.wrote)
	}
	if out := take(s.handGroups()); !out.Done() || out.State != adoption.Taken {
		t.Fatalf("%+v", out)
	}
	s.right("once it is taken over")
	if steps := s.plan(); len(steps) > 0 {
		t.Errorf("the plan is %q", steps)
	}
	releasable, err := s.taker(s.cloud()).Releasable(t.Context(), s.cloud())
	if err != nil || len(releasable) != 1 || releasable[0].Key != w.LoadBalancer.Key {
		t.Fatalf("release finds %+v, %v", releasable, err)
	}
	seen, err := s.cloud().Observe(t.Context(), w.LoadBalancer.Key, false)
	if err != nil {
		t.Fatal(err)
	}
	if changed := adopt.Changed(seen, releasable[0].Tags, true); len(changed) > 0 {
		t.Errorf("not as it was found: %q", changed)
	}
	out, err := s.taker(s.cloud()).ReleaseFound(t.Context(), arn, w.LoadBalancer.Key, w.Members, false)
	if err != nil || !out.Done() || out.State != adoption.Released {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff(less(before, ourShared), s.inventory(ourShared)); diff != "" {
		t.Errorf("once it is given back\n%s", diff)
	}
	if left := s.inCluster(); len(left) != 1 {
		t.Errorf("these are left: %v", left)
	}
}

// TestTheCallsForTwentyIngresses: a group of 20 Ingresses of one Service is taken over by tags alone, besides what lets the load
// balancer connect to its targets. Resources with equal changes share calls.
func TestTheCallsForTwentyIngresses(t *testing.T) {
	objects := base + service("web", 80, 8080, 30080)
	for i := range 20 {
		objects += theIngress(fmt.Sprintf("i%02d", i), map[string]string{"group.name": "all", "target-type": "ip"}, fmt.Sprintf("a.example.com /%d Prefix web 80", i))
	}
	s := newSite(t, objects)
	s.startTheirs()
	s.learn(matching.Request{Port: 80, Host: "a.example.com", Path: "/7"})
	s.takeAll()
	s.right("once it is taken over")
	calls := map[string]int{}
	for _, w := range s.wrote {
		if !strings.Contains(w, " ") { // one of AWS
			calls[w]++
		}
	}
	want := map[string]int{"SetSecurityGroups": 1, "CreateSecurityGroup": 1, "AuthorizeSecurityGroupIngress": 1,
		"AddTags": 6, "RemoveTags": 2, "CreateTags": 2, "DeleteTags": 1}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	page, err := os.ReadFile("../../docs/how-to/keep-your-load-balancers.md")
	if err != nil {
		t.Fatal(err)
	}
	all, tags := 0, 0
	for call, n := range calls {
		if all += n; strings.HasSuffix(call, "Tags") {
			tags += n
		}
	}
	if text := fmt.Sprintf("%d writes in AWS, %d of tags", all, tags); !strings.Contains(strings.Join(strings.Fields(string(page)), " "), text) {
		t.Errorf("the page does not say that there are %s", text)
	}
}

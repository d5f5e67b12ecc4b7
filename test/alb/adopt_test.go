package alb

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	budget "fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/test/albsim"
)

// This file finds load balancers that the AWS Load Balancer Controller made.

// theirTags are the tags that the controller gives to what it makes for a group (its
// pkg/deploy/tracking/provider.go).
func theirTags(resource string) map[string]string {
	return map[string]string{"elbv2.k8s.aws/cluster": albsim.Cluster, "ingress.k8s.aws/stack": "all", "ingress.k8s.aws/resource": resource}
}

func elbTags(tags map[string]string) (out []elb.Tag) {
	for k, v := range tags {
		out = append(out, elb.Tag{Key: sdk.String(k), Value: sdk.String(v)})
	}
	return out
}

// twoIngresses has three paths to two Services.
func twoIngresses() theirGroup {
	web, api := &theirTarget{"web", "80"}, &theirTarget{"api", "80"}
	return theirGroup{ingresses: []theirIngress{
		{name: "a", hosts: []string{"a.example.com"}, paths: map[string][]theirPath{"a.example.com": {{"/", "Prefix", web, ""}, {"/api", "Prefix", api, ""}}}},
		{name: "b", hosts: []string{"b.example.com"}, paths: map[string][]theirPath{"b.example.com": {{"/", "Prefix", web, ""}}}},
	}}
}

// TestALoadBalancerOfTheControllerIsFound: it is found by its tags, with all that it is, and answers as is wanted.
func TestALoadBalancerOfTheControllerIsFound(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.serve("a", map[string]string{"/": "web", "/api": "api"})
		w.serve("b", map[string]string{"/": "web"})
		w.service("web", 2)
		w.service("api", 1)
		made := w.makeTheirs(twoIngresses())
		name := *made.balancer.LoadBalancerName
		for _, group := range made.groups {
			_, err := made.api.RegisterTargets(w.Context(), &elbapi.RegisterTargetsInput{TargetGroupArn: &group, Targets: []elb.TargetDescription{{Id: sdk.String("10.0.0.9"), Port: sdk.Int32(8080)}}})
			made.must(err)
		}
		facts, err := w.cloud.Lookup(w.Context(), lb.Questions{Others: adopt.OfController()})
		if err != nil {
			t.Fatal(err)
		}
		if len(facts.Others) != 1 || facts.Others[0].Name != name {
			t.Fatalf("found %+v", facts.Others)
		}
		other := facts.Others[0]
		if len(other.TargetGroups) != 3 || other.RuleCount() != 3 || len(other.Tags) != 1+1+3+3+2 {
			t.Errorf("it has %d target groups and %d rules, and %d have tags", len(other.TargetGroups), other.RuleCount(), len(other.Tags))
		}
		s := w.snapshot()
		built := model.Compile(s, lb.Facts{}, w.caps(s))
		got := adopt.Compare(&other, adopt.Wanted{Table: built.Table, LoadBalancer: built.LoadBalancer, Dialect: w.caps(s).Dialect, AnySubnets: true}, budget.OfCommand)
		if !got.Same() {
			t.Errorf("differences: %+v", got)
		}
		groups := map[string]int{}
		for _, r := range got.Resources {
			if r.Kind == adopt.TargetGroup {
				groups[r.Wanted]++
			}
		}
		if groups["shop/web:80"] != 2 || groups["shop/api:80"] != 1 {
			t.Errorf("groups: %v", groups)
		}
	})
}

// adopt runs the command on manifests against the account.
func (w *world) adopt(manifests string, args ...string) (code int, out, problems string) {
	w.Helper()
	server := httptest.NewServer(w.sim)
	w.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": albsim.Region, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_SESSION_TOKEN": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_MAX_ATTEMPTS": "3",
	} {
		w.Setenv(name, value)
	}
	args = append([]string{"adopt", "--provider", "aws", "--aws-vpc-id", albsim.VPC, "--installation-id", "test", "--from", "alb", "--cluster-name", albsim.Cluster, "-f", "-"}, args...)
	var stdout, stderr bytes.Buffer
	code = cli.Run(w.Context(), args, cli.Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug()}}, cli.Streams{In: strings.NewReader(manifests), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestAdoptPrintsWhatItsSchemaSays(t *testing.T) {
	w := newWorld(t, albsim.Options{})
	w.makeTheirs(twoIngresses())
	schema, err := jsonschema.NewCompiler().Compile("../../docs/reference/adopt.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, manifests := range map[string]string{"a class of the controller": twoIngresses().manifests(), "one of Fairlead": ourManifests(twoIngresses().manifests())} {
		w := &world{T: t, sim: w.sim}
		code, out, problems := w.adopt(manifests, "--key", "alb/shop/@all/internal", "-o", "json")
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err == nil {
			err = schema.Validate(value)
		}
		if code != 0 || err != nil {
			t.Errorf("%s: exit code %d, %v: %s%s", name, code, err, out, problems)
		}
	}
}

// ourManifests are of a class of Fairlead with the dialect.
func ourManifests(theirs string) string {
	return theirs + "---\n" + `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec:
  controller: fairlead.dev/ingress
  parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: alb, scope: Cluster}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: alb}
spec: {dialect: alb}
`
}

func TestAdoptSaysWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(string) string
		code int
		says []string
	}{
		"nothing": {func(s string) string { return s }, 0, []string{
			"1 load balancer of cluster " + albsim.Cluster + " compared, 0 of them differ", "k8s-all-0123456789, for all, is wanted as alb/shop/@all/internal", "answers: the same for all requests (3 rules",
			"target groups: 3 are 2 wanted ones",
		}},
		"a path": {func(s string) string { return strings.Replace(s, "path: /api", "path: /other", 1) }, 2, []string{"curl http://a.example.com/api", "1 of them differ"}},
		"a restriction": {func(s string) string {
			return strings.Replace(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/inbound-cidrs: 10.0.0.0/8\n", 1)
		}, 2, []string{"inbound"}},
		"a health check": {func(s string) string {
			return strings.Replace(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/healthcheck-path: /up\n", 1)
		}, 2, []string{"target group shop/web:80", "path: is /, wanted /up"}},
		"an attribute": {func(s string) string {
			return strings.Replace(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=120\n", 1)
		}, 2, []string{"load balancer, idle_timeout.timeout_seconds: is 60, wanted 120"}},
		"another type of targets": {func(s string) string {
			return strings.ReplaceAll(s, "target-type: 'ip'", "target-type: 'instance'")
		}, 2, []string{"target groups: 0 are 0 wanted ones", "its target type is ip, and that of shop/web:80"}},
		"subnets": {func(s string) string {
			return strings.Replace(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/subnets: subnet-1a, subnet-1c\n", 1)
		}, 2, []string{"load balancer, subnets: is "}},
		"the scheme": {func(s string) string {
			return strings.ReplaceAll(s, "group.name: 'all'\n", "group.name: 'all'\n    alb.ingress.kubernetes.io/scheme: internet-facing\n")
		}, 3, []string{"scheme"}},
		"another group": {func(s string) string { return strings.ReplaceAll(s, "group.name: 'all'", "group.name: 'some'") }, 2, []string{"found k8s-all-0123456789, for all: no Ingress asks for it", "wanted alb/shop/@some/internal: none was found that was made for it"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, albsim.Options{})
			w.makeTheirs(twoIngresses())
			w.sim.Forget()
			code, out, problems := w.adopt(c.edit(twoIngresses().manifests()))
			if code != c.code {
				t.Errorf("exit code %d: %s%s", code, out, problems)
			}
			for _, text := range c.says {
				if !strings.Contains(out+problems, text) {
					t.Errorf("it does not say %q: %s%s", text, out, problems)
				}
			}
			if strings.Contains(out, `\n`) {
				t.Errorf("it has an escaped end of a line: %s", out)
			}
			for _, call := range w.sim.Calls() {
				if call.Write {
					t.Errorf("it makes the call %s", call)
				}
			}
		})
	}
}

// TestLoadBalancersThatAreNotRead: those of other clusters and in other networks are told, and not read.
func TestLoadBalancersThatAreNotRead(t *testing.T) {
	w := newWorld(t, albsim.Options{})
	m := w.makeTheirs(twoIngresses())
	elsewhere := aws.New(aws.Options{Config: w.sim.Config(), Installation: "test", VPC: "vpc-2"})
	facts, err := elsewhere.Lookup(t.Context(), lb.Questions{Others: adopt.OfController()})
	if err != nil || len(facts.Others) != 1 || facts.Others[0].NotRead != "it is in "+albsim.VPC+", and Fairlead looks at vpc-2" || facts.Others[0].Listeners != nil {
		t.Errorf("another VPC: %v, %+v", err, facts.Others)
	}
	code, out, problems := w.adopt(twoIngresses().manifests(), "--cluster-name", "other")
	if code != 2 || !strings.Contains(out, "1 load balancer of other clusters left alone: "+albsim.Cluster+".") || !strings.Contains(out, "wanted alb/shop/@all/internal: none was found") {
		t.Errorf("another cluster: exit code %d: %s%s", code, out, problems)
	}
	code, out, problems = w.adopt(twoIngresses().manifests(), "--cluster-name", "")
	if code != 1 || !strings.Contains(problems, albsim.Cluster+" has 1 load balancer") {
		t.Errorf("no cluster: exit code %d: %s%s", code, out, problems)
	}
	code, out, problems = w.adopt(twoIngresses().manifests(), "--key", "alb/shop/@al/internal")
	if code != 1 || !strings.Contains(problems, "they ask for: alb/shop/@all/internal") {
		t.Errorf("no such key: exit code %d: %s%s", code, out, problems)
	}
	code, out, problems = w.adopt(twoIngresses().manifests(), "--key", "k8s-all-0123456789")
	if code != 0 || !strings.Contains(out, "k8s-all-0123456789, for all, is wanted as alb/shop/@all/internal\n") {
		t.Errorf("its name in AWS: exit code %d: %s%s", code, out, problems)
	}
	if code, out, problems = (&world{T: t, sim: albsim.New(albsim.Options{})}).adopt(twoIngresses().manifests(), "--cluster-name", ""); code != 1 ||
		!strings.Contains(problems, "found: no load balancer of the controller, so look at --aws-region and at the account\n") {
		t.Errorf("an empty account: exit code %d: %s%s", code, out, problems)
	}
	m.tag(*m.balancer.LoadBalancerArn, "ingress.k8s.aws/stack")
	if code, out, problems = w.adopt(twoIngresses().manifests()); code != 2 || !strings.Contains(out, "found k8s-all-0123456789, for others: no Ingress asks for it") {
		t.Errorf("another group: exit code %d: %s%s", code, out, problems)
	}
}

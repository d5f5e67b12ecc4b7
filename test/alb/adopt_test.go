package alb

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/santhosh-tekuri/jsonschema/v6"
	networkingv1 "k8s.io/api/networking/v1"

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

// theirGroup makes a load balancer for the Ingresses as the controller does: a target group for each Ingress and Service,
// a rule for each path, and two security groups. It returns its name.
func (w *world) theirGroup() string {
	w.Helper()
	api, network := elbapi.NewFromConfig(w.sim.OwnersConfig()), ec2.NewFromConfig(w.sim.OwnersConfig())
	must := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	securityGroup := func(name, resource string) string {
		var tags []ec2types.Tag
		for k, v := range theirTags(resource) {
			tags = append(tags, ec2types.Tag{Key: sdk.String(k), Value: sdk.String(v)})
		}
		made, err := network.CreateSecurityGroup(w.Context(), &ec2.CreateSecurityGroupInput{
			GroupName: &name, Description: sdk.String("[k8s] Managed SecurityGroup for LoadBalancer"), VpcId: sdk.String(albsim.VPC),
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: tags}},
		})
		must(err)
		return *made.GroupId
	}
	front, back := securityGroup("k8s-all-0123456789", "ManagedLBSecurityGroup"), securityGroup("k8s-traffic-0123456789", "backend-sg")
	_, err := network.AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &front, IpPermissions: []ec2types.IpPermission{{
		IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(80), ToPort: sdk.Int32(80), IpRanges: []ec2types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}},
	}}})
	must(err)
	subnets, err := network.DescribeSubnets(w.Context(), &ec2.DescribeSubnetsInput{})
	must(err)
	var zones []string
	known := map[string]bool{}
	for _, s := range subnets.Subnets {
		if !known[*s.AvailabilityZone] {
			known[*s.AvailabilityZone], zones = true, append(zones, *s.SubnetId)
		}
	}
	made, err := api.CreateLoadBalancer(w.Context(), &elbapi.CreateLoadBalancerInput{
		Name: sdk.String("k8s-all-0123456789"), Scheme: elb.LoadBalancerSchemeEnumInternal, Type: elb.LoadBalancerTypeEnumApplication,
		Subnets: zones, SecurityGroups: []string{front, back}, Tags: elbTags(theirTags("LoadBalancer")),
	})
	must(err)
	balancer := made.LoadBalancers[0]
	listener, err := api.CreateListener(w.Context(), &elbapi.CreateListenerInput{
		LoadBalancerArn: balancer.LoadBalancerArn, Port: sdk.Int32(80), Protocol: elb.ProtocolEnumHttp, Tags: elbTags(theirTags("80")),
		DefaultActions: []elb.Action{{Type: elb.ActionTypeEnumFixedResponse, FixedResponseConfig: &elb.FixedResponseActionConfig{StatusCode: sdk.String("404"), ContentType: sdk.String("text/plain")}}},
	})
	must(err)
	priority := 0
	for _, ing := range w.Ingresses {
		groups := map[string]string{}
		for _, r := range ing.Spec.Rules {
			for _, p := range slices.SortedFunc(slices.Values(r.HTTP.Paths), func(a, b networkingv1.HTTPIngressPath) int { return len(b.Path) - len(a.Path) }) {
				service := p.Backend.Service.Name
				if groups[service] == "" {
					id := fmt.Sprintf("%s/%s-%s:80", ing.Namespace, ing.Name, service)
					group, err := api.CreateTargetGroup(w.Context(), &elbapi.CreateTargetGroupInput{
						Name: sdk.String("k8s-" + ing.Name + "-" + service), Protocol: elb.ProtocolEnumHttp, ProtocolVersion: sdk.String("HTTP1"), Port: sdk.Int32(8080),
						VpcId: sdk.String(albsim.VPC), TargetType: elb.TargetTypeEnumIp, Tags: elbTags(theirTags(id)),
						HealthCheckPath: sdk.String("/"), HealthCheckIntervalSeconds: sdk.Int32(15), HealthyThresholdCount: sdk.Int32(2), Matcher: &elb.Matcher{HttpCode: sdk.String("200")},
					})
					must(err)
					groups[service] = *group.TargetGroups[0].TargetGroupArn
				}
				paths := []string{p.Path, p.Path + "/*"}
				if p.Path == "/" {
					paths = []string{"/*"}
				}
				priority++
				arn := groups[service]
				_, err := api.CreateRule(w.Context(), &elbapi.CreateRuleInput{
					ListenerArn: listener.Listeners[0].ListenerArn, Priority: sdk.Int32(int32(priority)), Tags: elbTags(theirTags(fmt.Sprintf("80:%d", priority))),
					Conditions: []elb.RuleCondition{{Field: sdk.String("host-header"), HostHeaderConfig: &elb.HostHeaderConditionConfig{Values: []string{r.Host}}},
						{Field: sdk.String("path-pattern"), PathPatternConfig: &elb.PathPatternConditionConfig{Values: paths}}},
					Actions: []elb.Action{{Type: elb.ActionTypeEnumForward, TargetGroupArn: &arn}},
				})
				must(err)
			}
		}
	}
	return *balancer.LoadBalancerName
}

// TestALoadBalancerOfTheControllerIsFound: it is found by its tags, with all that it is, and answers as is wanted.
func TestALoadBalancerOfTheControllerIsFound(t *testing.T) {
	inBubble(t, albsim.Options{}, func(w *world) {
		w.serve("a", map[string]string{"/": "web", "/api": "api"})
		w.serve("b", map[string]string{"/": "web"})
		w.service("web", 2)
		w.service("api", 1)
		name := w.theirGroup()
		facts, err := w.cloud.Lookup(w.Context(), lb.Questions{Others: &lb.Marks{Tags: map[string]string{"elbv2.k8s.aws/cluster": albsim.Cluster}}})
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
		got := adopt.Compare(other, adopt.Wanted{Table: built.Table, LoadBalancer: built.LoadBalancer}, w.caps(s).Dialect, budget.OfCommand)
		if !got.Empty() {
			t.Errorf("differences: %+v", got.Report)
		}
		for _, d := range got.Settings {
			t.Errorf("%+v", d)
		}
		if len(got.Groups) != 3 {
			t.Errorf("groups: %v", got.Groups)
		}
	})
}

const theirManifests = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: shop
  name: a
  annotations:
    alb.ingress.kubernetes.io/group.name: all
    alb.ingress.kubernetes.io/target-type: ip
spec:
  ingressClassName: alb
  rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /api, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  namespace: shop
  name: b
  annotations:
    alb.ingress.kubernetes.io/group.name: all
    alb.ingress.kubernetes.io/target-type: ip
spec:
  ingressClassName: alb
  rules:
  - host: b.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: api}
spec: {ports: [{port: 80, targetPort: 8080}]}
`

// adopt runs the command on manifests against the account.
func (w *world) adopt(manifests string, args ...string) (code int, out, problems string) {
	w.Helper()
	server := httptest.NewServer(w.sim)
	w.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": albsim.Region, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_SESSION_TOKEN": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_MAX_ATTEMPTS": "1",
	} {
		w.Setenv(name, value)
	}
	args = append([]string{"adopt", "--provider", "aws", "--aws-vpc-id", albsim.VPC, "--installation-id", "test", "-f", "-"}, args...)
	var stdout, stderr bytes.Buffer
	code = cli.Run(w.Context(), args, cli.Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug()}}, cli.Streams{In: strings.NewReader(manifests), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// TestAdoptPrintsWhatItsSchemaSays also sees that the load balancer of an ARN is compared with that of a key.
func TestAdoptPrintsWhatItsSchemaSays(t *testing.T) {
	w := newWorld(t, albsim.Options{})
	w.serve("a", map[string]string{"/": "web", "/api": "api"})
	w.serve("b", map[string]string{"/": "web"})
	w.theirGroup()
	all, err := elbapi.NewFromConfig(w.sim.OwnersConfig()).DescribeLoadBalancers(t.Context(), &elbapi.DescribeLoadBalancersInput{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/reference/adopt.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for from, args := range map[string][]string{
		"alb": nil,
		"arn:" + *all.LoadBalancers[0].LoadBalancerArn: {"--key", "alb/shop/@all/internal"},
		"tags:ingress.k8s.aws/resource=LoadBalancer":   {"--key", "alb/shop/@all/internal"},
		"tags:elbv2.k8s.aws/cluster=" + albsim.Cluster: {"--key", "alb/shop/@all/internal"},
	} {
		w := &world{T: t, sim: w.sim}
		manifests := theirManifests
		if from != "alb" { // another class than the controller's
			manifests = ourManifests(manifests)
		}
		code, out, problems := w.adopt(manifests, append(args, "--from", from, "-o", "json")...)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err == nil {
			err = schema.Validate(value)
		}
		if code != 0 || err != nil {
			t.Errorf("%s: exit code %d, %v: %s%s", from, code, err, out, problems)
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
			"1 load balancer compared, 0 of them differ", "k8s-all-0123456789 of all is wanted as alb/shop/@all/internal", "answers: the same for all requests (3 rules",
			"target groups: 3 are 2 wanted ones",
		}},
		"a path": {func(s string) string { return strings.Replace(s, "path: /api", "path: /other", 1) }, 2, []string{"curl http://a.example.com/api", "1 of them differ"}},
		"a restriction": {func(s string) string {
			return strings.Replace(s, "group.name: all\n", "group.name: all\n    alb.ingress.kubernetes.io/inbound-cidrs: 10.0.0.0/8\n", 1)
		}, 2, []string{"inbound"}},
		"a health check": {func(s string) string {
			return strings.Replace(s, "group.name: all\n", "group.name: all\n    alb.ingress.kubernetes.io/healthcheck-path: /up\n", 1)
		}, 2, []string{"target group shop/web:80", "path: is /, wanted /up"}},
		"an attribute": {func(s string) string {
			return strings.Replace(s, "group.name: all\n", "group.name: all\n    alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=120\n", 1)
		}, 2, []string{"load balancer, idle_timeout.timeout_seconds: is 60, wanted 120"}},
		"another type of targets": {func(s string) string {
			return strings.ReplaceAll(s, "target-type: ip", "target-type: instance")
		}, 2, []string{"target groups: 0 are 0 wanted ones", "is for nothing that is wanted"}},
		"another group": {func(s string) string { return strings.ReplaceAll(s, "group.name: all", "group.name: some") }, 1, []string{"No Ingress asks for these:", "k8s-all-0123456789 of all"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, albsim.Options{})
			w.serve("a", map[string]string{"/": "web", "/api": "api"})
			w.serve("b", map[string]string{"/": "web"})
			w.theirGroup()
			w.sim.Forget()
			code, out, problems := w.adopt(c.edit(theirManifests), "--from", "alb")
			if code != c.code {
				t.Errorf("exit code %d: %s%s", code, out, problems)
			}
			for _, text := range c.says {
				if !strings.Contains(out+problems, text) {
					t.Errorf("it does not say %q: %s%s", text, out, problems)
				}
			}
			for _, call := range w.sim.Calls() {
				if call.Write {
					t.Errorf("it makes the call %s", call)
				}
			}
		})
	}
}

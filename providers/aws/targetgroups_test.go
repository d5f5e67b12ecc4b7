package aws_test

import (
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
)

const key lb.Key = "fairlead/shop/web/internal"

// newCloud is a provider on an account of its own.
func newCloud(o albsim.Options) (*albsim.Sim, *aws.Provider) {
	sim := albsim.New(o)
	return sim, aws.New(aws.Options{Config: sim.Config(), Installation: "test", VPC: albsim.VPC, Settle: time.Nanosecond})
}

// A target group of each kind is made as it is wanted, and seen as it was made, however deep the
// look.
func TestKindsOfTargetGroups(t *testing.T) {
	health := routing.HealthCheck{Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"}
	grpc := health
	grpc.Path, grpc.SuccessCodes = "/AWS.ALB/healthcheck", "0-5,12"
	const node = "i-0123456789abcdef0"
	pod, six := []lb.Target{{Address: "10.0.0.9", Port: 8080}}, []lb.Target{{Address: "fd00::9", Port: 8080}}
	for name, g := range map[string]lb.TargetGroup{
		"pods":                    {TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Health: health, Targets: pod},
		"pods that speak TLS":     {TargetType: "ip", Protocol: "HTTPS", Version: "HTTP1", Family: "ipv4", Health: health, Targets: pod},
		"pods that speak HTTP/2":  {TargetType: "ip", Protocol: "HTTP", Version: "HTTP2", Family: "ipv4", Health: health, Targets: pod},
		"pods that speak gRPC":    {TargetType: "ip", Protocol: "HTTPS", Version: "GRPC", Family: "ipv4", Health: grpc, Targets: pod},
		"pods reached over IPv6":  {TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv6", Health: health, Targets: six},
		"nodes on two node ports": {TargetType: "instance", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Health: health, Targets: []lb.Target{{Address: node, Port: 30080}, {Address: node, Port: 30081}}},
	} {
		t.Run(name, func(t *testing.T) {
			sim, cloud := newCloud(albsim.Options{})
			sim.AddInstance(node, "subnet-private0", "10.0.100.9")
			g.ID, g.Service, g.Port = "shop/web:80/"+lb.GroupID(strings.ReplaceAll(name, " ", "-")), "shop/web", "80"
			g.Digest = lb.DigestOf(g.Health)
			seen := &lb.Observed{Key: key}
			apply(t, cloud, seen, plan.CreateTargetGroup{Group: g}, plan.RegisterTargets{Group: g.ID, Targets: g.Targets})
			sees(t, cloud, seen)
		})
	}
}

// apply carries out steps and keeps what was seen true.
func apply(t *testing.T, cloud *aws.Provider, seen *lb.Observed, steps ...plan.Step) {
	t.Helper()
	for _, step := range steps {
		result, err := cloud.Apply(t.Context(), seen, step)
		if err != nil {
			t.Fatal(err)
		}
		step.Do(seen, result)
	}
}

// sees compares what AWS has with what was kept, however deep the look.
func sees(t *testing.T, cloud *aws.Provider, kept *lb.Observed) {
	t.Helper()
	for _, deep := range []bool{false, true} {
		got, err := cloud.Observe(t.Context(), key, deep)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept, got, cmpopts.IgnoreFields(lb.Observed{}, "Read")); diff != "" {
			t.Errorf("deep %v: (-kept +observed)\n%s", deep, diff)
		}
	}
}

// Attributes are written, changed in place, and put back to AWS's defaults when they are not asked
// for any more, though what somebody else has set is left alone. A deep look finds what somebody
// has changed.
func TestAttributesOfTargetGroups(t *testing.T) {
	const delay, sticky, algorithm = "deregistration_delay.timeout_seconds", "stickiness.enabled", "load_balancing.algorithm.type"
	sim, cloud := newCloud(albsim.Options{})
	g := lb.TargetGroup{ID: "shop/web:80", Service: "shop/web", Port: "80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4", Health: routing.HealthCheck{
		Path: "/", Port: "traffic-port", Protocol: "HTTP", IntervalSeconds: 15, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200",
	}}
	client := elb.NewFromConfig(sim.Config())
	seen := &lb.Observed{Key: key}
	has := func(want map[string]string) {
		t.Helper()
		out, err := client.DescribeTargetGroupAttributes(t.Context(), &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &seen.TargetGroups[0].Handle})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, a := range out.Attributes {
			if _, asked := want[*a.Key]; asked {
				got[*a.Key] = *a.Value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got)\n%s", diff)
		}
	}
	with := func(attributes map[string]string) lb.TargetGroup {
		g := g
		g.Attributes, g.Digest = attributes, lb.DigestOf(lb.GroupSettings{HealthCheck: g.Health, Attributes: attributes})
		return g
	}

	apply(t, cloud, seen, plan.CreateTargetGroup{Group: with(map[string]string{delay: "30", sticky: "true"})})
	has(map[string]string{delay: "30", sticky: "true", algorithm: "round_robin"})
	sees(t, cloud, seen)

	apply(t, cloud, seen, plan.ModifyTargetGroup{Group: with(map[string]string{delay: "60"})})
	has(map[string]string{delay: "60", sticky: "false"})
	sees(t, cloud, seen)

	foreign := func(name, value string) {
		_, err := client.ModifyTargetGroupAttributes(t.Context(), &elb.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &seen.TargetGroups[0].Handle, Attributes: []types.TargetGroupAttribute{{Key: &name, Value: &value}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	foreign(algorithm, "weighted_random")
	sees(t, cloud, seen)
	foreign(delay, "5")
	if got, err := cloud.Observe(t.Context(), key, true); err != nil || got.TargetGroups[0].Digest == seen.TargetGroups[0].Digest {
		t.Errorf("a deep look does not see that an attribute was changed: %v", err)
	}

	apply(t, cloud, seen, plan.ModifyTargetGroup{Group: with(nil)})
	has(map[string]string{delay: "300", sticky: "false", algorithm: "weighted_random"})
	sees(t, cloud, seen)
}

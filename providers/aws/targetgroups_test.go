package aws_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// A target group of each kind is made as it is wanted, and seen as it was made, however deep the look.
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
			for _, step := range []plan.Step{plan.CreateTargetGroup{Group: g}, plan.RegisterTargets{Group: g.ID, Targets: g.Targets}} {
				result, err := cloud.Apply(t.Context(), seen, step)
				if err != nil {
					t.Fatal(err)
				}
				step.Do(seen, result)
			}
			for _, deep := range []bool{false, true} {
				got, err := cloud.Observe(t.Context(), key, deep)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(seen, got); diff != "" {
					t.Errorf("deep %v: (-kept +observed)\n%s", deep, diff)
				}
			}
		})
	}
}

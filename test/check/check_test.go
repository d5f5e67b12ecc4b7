// Package check runs `fairlead check` against accounts in which something is wrong: those of
// albsim, over HTTP, and of moto.
package check

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/moto"
	"fairlead.dev/fairlead/test/page"
)

// policyFile is what the documentation gives the operator's role.
const policyFile = "../../docs/iam-policy.json"

// said is what the command printed, and how it ended.
type said struct {
	out, err string
	code     int
}

// run runs the command against an endpoint.
func run(t *testing.T, endpoint string, args ...string) said {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": albsim.Region, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_SESSION_TOKEN": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_MAX_ATTEMPTS": "1",
	} {
		t.Setenv(name, value)
	}
	with := cli.Providers{Clouds: map[string]clouds.Cloud{"aws": aws.Plug()}}
	var out, err bytes.Buffer
	args = append([]string{"check", "--provider", "aws", "--kubeconfig", "none"}, args...)
	code := cli.Run(t.Context(), args, with, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return said{out.String(), err.String(), code}
}

// lines are those of a sign.
func (s said) lines(sign string) []string {
	var out []string
	for line := range strings.Lines(s.out) {
		if strings.HasPrefix(line, sign+" ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// serve serves an account.
func serve(t *testing.T, o albsim.Options) (*albsim.Sim, string) {
	t.Helper()
	sim := albsim.New(o)
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return sim, server.URL
}

// allowing is the policy of the documentation, with more actions and without some.
func allowing(t *testing.T, more []string, without ...string) func(iam.Ask) bool {
	t.Helper()
	policy, err := iam.ReadPolicy(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	return func(a iam.Ask) bool {
		return slices.Contains(more, a.Action) || !slices.Contains(without, a.Action) && policy.Allows(a)
	}
}

// simulation is the action that lets the caller ask IAM.
var simulation = []string{"iam:SimulatePrincipalPolicy"}

//go:generate go test . -run ^TestAnAccountInWhichAllIsWell$ -update

func TestAnAccountInWhichAllIsWell(t *testing.T) {
	for name, o := range map[string]albsim.Options{
		"simulated": {Authorize: allowing(t, simulation)},
		"operator":  {Authorize: allowing(t, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := serve(t, o)
			before := sim.Inventory()
			got := run(t, endpoint, "--aws-cluster-name", albsim.Cluster)
			if got.code != 0 || got.err != "" {
				t.Errorf("exit code %d, error %q", got.code, got.err)
			}
			page.Check(t, "testdata/"+name+".txt", got.out)
			for _, c := range sim.Calls() {
				if c.Write && c.Error == "" {
					t.Errorf("%s changes something", c)
				}
			}
			for what, n := range sim.Inventory() {
				if n != before[what] {
					t.Errorf("%d %s became %d", before[what], what, n)
				}
			}
		})
	}
}

// Each thing that is wrong is named in one line, and nothing else is.
func TestWhatIsWrongIsNamedInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		options albsim.Options
		prepare func(*testing.T, *albsim.Sim)
		want    string
	}{
		"a right that IAM denies": {
			options: albsim.Options{Authorize: allowing(t, simulation, "elasticloadbalancing:CreateRule")},
			want:    "✗ elasticloadbalancing:CreateRule: denied, as IAM says; allow it as docs/iam-policy.json does in Change",
		},
		"a right that a dry run shows to be missing": {
			options: albsim.Options{Authorize: allowing(t, nil, "ec2:CreateSecurityGroup")},
			want:    "✗ ec2:CreateSecurityGroup: denied, as AWS says; allow it as docs/iam-policy.json does in MakeSecurityGroups, MakeSecurityGroupsInVPC",
		},
		"a right that a read shows to be missing": {
			options: albsim.Options{Authorize: allowing(t, nil, "elasticloadbalancing:DescribeRules")},
			want:    "✗ elasticloadbalancing:DescribeRules: denied, as AWS says; allow it as docs/iam-policy.json does in Read",
		},
		"a subnet with a value by which it is not chosen": {
			prepare: func(_ *testing.T, s *albsim.Sim) {
				s.ChangeSubnet("subnet-public2", nil, map[string]string{"kubernetes.io/role/elb": "true"})
			},
			want: `✗ subnet subnet-public2: the tag kubernetes.io/role/elb has the value "true", by which it is not chosen; give the tag the value 1`,
		},
		"a private subnet that is tagged public": {
			prepare: func(_ *testing.T, s *albsim.Sim) {
				s.ChangeSubnet("subnet-private2", nil, map[string]string{"kubernetes.io/role/elb": "1"})
			},
			want: "✗ subnet subnet-private2: the tag kubernetes.io/role/elb is on a subnet without a route to an internet gateway; tag it kubernetes.io/role/internal-elb instead, or give it the route",
		},
		"a subnet without free addresses": {
			prepare: func(_ *testing.T, s *albsim.Sim) {
				s.ChangeSubnet("subnet-private2", func(s *ec2types.Subnet) { s.AvailableIpAddressCount = awssdk.Int32(7) }, nil)
			},
			want: "✗ subnet subnet-private2: 7 addresses are free, and AWS requires 8; free some, or tag another subnet of eu-west-1c",
		},
		"a quota that is full": {
			options: albsim.Options{Limits: albsim.Limits{LoadBalancers: 1}},
			prepare: func(t *testing.T, s *albsim.Sim) {
				made := &elb.CreateLoadBalancerInput{Name: awssdk.String("other"), Subnets: []string{"subnet-public0", "subnet-public1"}}
				if _, err := elb.NewFromConfig(s.Config()).CreateLoadBalancer(t.Context(), made); err != nil {
					t.Fatal(err)
				}
			},
			want: `✗ quota "Application Load Balancers per Region" (L-53DA6B97): 1 of 1 are used; ask AWS to raise it, or delete what nothing uses`,
		},
		"nodes without the tag of the cluster": {
			prepare: func(_ *testing.T, s *albsim.Sim) { s.ChangeSubnet(albsim.NodeGroup, nil, map[string]string{}) },
			want:    "✗ security groups of nodes: none in vpc-0a1b2c3d4e5f60718 has the tag kubernetes.io/cluster/CLUSTER; tag the security group of the nodes, or mend --aws-cluster-name",
		},
		"two VPCs, of which none is named": {
			prepare: func(_ *testing.T, s *albsim.Sim) { s.AddVPC("vpc-other") },
			want:    `✗ VPC: no node is an instance; the VPCs of the region are ["vpc-0a1b2c3d4e5f60718" "vpc-other"]; name it with --aws-vpc-id`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim, endpoint := serve(t, c.options)
			if c.prepare != nil {
				c.prepare(t, sim)
			}
			got := run(t, endpoint, "--aws-cluster-name", albsim.Cluster)
			if wrong := got.lines("✗"); got.code != 1 || got.err != "" || len(wrong) != 1 || wrong[0] != c.want {
				t.Errorf("exit code %d, error %q, wrong:\n%s\nwant:\n%s", got.code, got.err, strings.Join(wrong, "\n"), c.want)
			}
		})
	}
}

// Each action of the policy has a line of its own, whether or not it can be tried.
func TestEachActionOfThePolicyIsChecked(t *testing.T) {
	policy, err := iam.ReadPolicy(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	_, endpoint := serve(t, albsim.Options{})
	got := run(t, endpoint, "--aws-cluster-name", albsim.Cluster, "-o", "json")
	var report struct{ Findings []check.Finding }
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatal(err)
	}
	for _, s := range policy.Statement {
		for _, action := range s.Action {
			if !slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.ID == "aws/iam/"+action && f.State == check.OK }) {
				t.Errorf("%s is not found to be allowed where all is", action)
			}
		}
	}
}

func TestCredentialsThatAreGoodForNothing(t *testing.T) {
	_, endpoint := serve(t, albsim.Options{Refuse: func(any) error {
		return albsim.Refusal("InvalidClientTokenId", "The security token included in the request is invalid.")
	}})
	got := run(t, endpoint)
	if wrong := got.lines("✗"); got.code != 1 || len(wrong) != 1 || !strings.HasPrefix(wrong[0], "✗ identity: InvalidClientTokenId: ") || !strings.Contains(wrong[0], "credentials are not valid") {
		t.Errorf("exit code %d, it says\n%s", got.code, got.out)
	}
}

// moto answers otherwise than albsim. In an account of its the subnets that are tagged public have
// no route to the internet, one has a tag of another value, and the rest is well or not known.
func TestMoto(t *testing.T) {
	server := moto.Start(t)
	account := server.Default(t)
	tag := &ec2.CreateTagsInput{Resources: account.Private[:1], Tags: []ec2types.Tag{{Key: awssdk.String("kubernetes.io/role/internal-elb"), Value: awssdk.String("yes")}}}
	if _, err := ec2.NewFromConfig(account.Config).CreateTags(t.Context(), tag); err != nil {
		t.Fatal(err)
	}
	got := run(t, server.URL, "--aws-vpc-id", account.VPC)
	want := []string{
		"✗ subnet " + account.Private[0] + `: the tag kubernetes.io/role/internal-elb has the value "yes", by which it is not chosen; give the tag the value 1`,
		"✗ subnets of internal load balancers: choosing subnets of " + account.VPC + ": 1 availability zones have one that is tagged kubernetes.io/role/internal-elb, and that has 8 free addresses; AWS asks for two; those of Local Zones, Wavelength Zones and Outposts have to be named by the class; tag a subnet in each of two zones, or name subnets in the class",
	}
	for _, id := range account.Public {
		want = append(want, "✗ subnet "+id+": the tag kubernetes.io/role/elb is on a subnet without a route to an internet gateway; tag it kubernetes.io/role/internal-elb instead, or give it the route")
	}
	wrong := got.lines("✗")
	slices.Sort(want)
	slices.Sort(wrong)
	if got.code != 1 || len(got.lines("✓")) < 20 || !slices.Equal(wrong, want) {
		t.Errorf("exit code %d, error %q, it says\n%s\nwant\n%s", got.code, got.err, got.out, strings.Join(want, "\n"))
	}
}

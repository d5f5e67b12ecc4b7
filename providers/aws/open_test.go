package aws

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/awscalls"
)

// This file opens AWS with settings of a process.

// environment has the SDK of this process call an account, and returns it. No instance is around
// the process.
func environment(t *testing.T) *albsim.Sim {
	t.Helper()
	sim := albsim.New(albsim.Options{})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	awscalls.Environment(t, server.URL)
	return sim
}

func TestOpen(t *testing.T) {
	nodes := func(ids ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return ids, nil }
	}
	for name, c := range map[string]struct {
		access  client.Access
		env     map[string]string
		change  func(*albsim.Sim)
		wantVPC string
		failure string
	}{
		"region and VPC are named": {access: client.Access{Region: albsim.Region, VPC: albsim.VPC}, wantVPC: albsim.VPC},
		"the region of the environment, and the only VPC": {
			access: client.Access{Nodes: nodes("fargate-1")}, env: map[string]string{"AWS_REGION": albsim.Region}, wantVPC: albsim.VPC,
		},
		"no region": {access: client.Access{VPC: albsim.VPC}, failure: "finding the region: name it with --aws-region or AWS_REGION, for the instance does not: "},
		"two VPCs": {
			access: client.Access{Region: albsim.Region, Nodes: nodes()}, change: func(sim *albsim.Sim) { sim.AddVPC("vpc-2") },
			failure: "asking AWS as arn:aws:iam::123456789012:role/fairlead: finding the VPC: name it with --aws-vpc-id, for neither the instance nor a node tells, nor is there just one: ",
		},
		"a VPC without subnets": {
			access:  client.Access{Region: albsim.Region, VPC: "vpc-2"},
			failure: "asking AWS as arn:aws:iam::123456789012:role/fairlead: vpc-2 has no subnets in eu-west-1: is it in another region or account?",
		},
		"subnets that cannot be read": {
			access: client.Access{Region: albsim.Region, VPC: albsim.VPC}, change: func(sim *albsim.Sim) {
				sim.Refuse(func(in any) error {
					if _, who := in.(*sts.GetCallerIdentityInput); who {
						return nil
					}
					return albsim.Refusal("UnauthorizedOperation", "You are not authorized to perform this operation.")
				})
			},
			failure: "asking AWS as arn:aws:iam::123456789012:role/fairlead: reading the subnets of " + albsim.VPC,
		},
		"credentials that AWS does not know": {
			access: client.Access{Region: albsim.Region, VPC: albsim.VPC},
			change: func(sim *albsim.Sim) {
				sim.Refuse(func(any) error { return albsim.Refusal("AuthFailure", "unknown") })
			},
			failure: "asking AWS in eu-west-1 whose credentials these are: ",
		},
		"a profile that is not there": {
			access: client.Access{Region: albsim.Region, VPC: albsim.VPC}, env: map[string]string{"AWS_PROFILE": "missing"},
			failure: "reading the settings of AWS: ",
		},
		"rates of an unknown class": {access: client.Access{Rates: providers.Rates{"none": {PerSecond: 1, Burst: 1}}}, failure: "reading the rates of calls: "},
	} {
		t.Run(name, func(t *testing.T) {
			sim := environment(t)
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if c.change != nil {
				c.change(sim)
			}
			c.access.Installation = "test"
			p, err := Open(t.Context(), c.access)
			if c.failure != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.failure) {
					t.Errorf("the error is %v, want one that begins with %q", err, c.failure)
				}
				return
			}
			if err != nil || p.options.VPC != c.wantVPC || p.clients.Region != albsim.Region || p.clients.Installation != "test" {
				t.Errorf("opened %+v, error %v", p, err)
			}
		})
	}
}

// parsed parses flags.
func parsed(t *testing.T, args ...string) (*settings, *pflag.FlagSet) {
	t.Helper()
	s, flags := &settings{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	s.flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s, flags
}

func TestFlagsSayWhereToWork(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want client.Access
	}{
		"no flags": {nil, client.Access{}},
		"all flags": {
			[]string{"--aws-region=eu-west-1", "--aws-vpc-id=vpc-1", "--aws-cluster-name=shop", "--aws-security-groups=none", "--aws-rates=write=3/20"},
			client.Access{Region: "eu-west-1", VPC: "vpc-1", Cluster: "shop", UnmanagedGroups: true, Rates: providers.Rates{"write": {PerSecond: 3, Burst: 20}}},
		},
		"the usual value is named": {[]string{"--aws-security-groups=managed"}, client.Access{}},
	} {
		s, flags := parsed(t, c.args...)
		c.want.Installation, c.want.Deadlines = "test", client.Deadlines{Attempt: 1, Call: 2}
		got := s.access(clouds.Environment{AttemptTimeout: 1, CallTimeout: 2}, "test")
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(logr.Logger{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if usual := flags.Lookup("aws-security-groups").DefValue; usual != "managed" {
			t.Errorf("the usual value of --aws-security-groups is %q", usual)
		}
	}
}

func TestTheOperatorIsToldOfRequests(t *testing.T) {
	s, _ := parsed(t)
	var told string
	got := s.access(clouds.Environment{OnRequest: func(service, operation, result string) {
		told += service + " " + operation + " " + result
	}}, "")
	got.OnRequest(client.Request{Service: "EC2", Operation: "DescribeVpcs", Result: "ok"})
	if told != "EC2 DescribeVpcs ok" {
		t.Errorf("told %q", told)
	}
}

// A cloud is opened for one installation, whose name may not be known.
func TestAnInstallationWithoutAName(t *testing.T) {
	environment(t)
	unknown := errors.New("unknown")
	_, err := Plug().Live(t.Context(), clouds.Environment{Installation: func(context.Context) (string, error) { return "", unknown }})
	if !errors.Is(err, unknown) {
		t.Errorf("the error is %v", err)
	}
	plug := Plug()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	plug.Flags(flags)
	if err := flags.Parse([]string{"--aws-region=" + albsim.Region, "--aws-vpc-id=" + albsim.VPC}); err != nil {
		t.Fatal(err)
	}
	live, err := plug.Live(t.Context(), clouds.Environment{Installation: func(context.Context) (string, error) { return "test", nil }})
	if err != nil || live.(liveProvider).options.Installation != "test" || plug.Place() != albsim.Region {
		t.Errorf("opened %+v, error %v", live, err)
	}
}

func TestTextsWithoutTheAccount(t *testing.T) {
	const text = `123456789012 asks as arn:aws:sts::123456789012:assumed-role/fairlead/pod, role/Admin and user/ada, about vpc-0a1, subnet-1, sg-2, i-3 and "1234"`
	const want = `ACCOUNT asks as arn:aws:sts::ACCOUNT:assumed-role/NAME, role/NAME and user/NAME, about vpc-ID, subnet-ID, sg-ID, i-ID and "1234"`
	if got := Plug().Redact(text); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

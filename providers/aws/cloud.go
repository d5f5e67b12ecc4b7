package aws

import (
	"context"
	"errors"
	"regexp"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/preflight"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/trials"
)

// This file has the flags of AWS, and opens AWS for a binary.

// settings holds the flags.
type settings struct {
	region, vpc, cluster string
	groups               groups
	rates                providers.Rates
}

// Plug returns AWS for a binary.
func Plug() clouds.Cloud {
	s := &settings{}
	return clouds.Cloud{
		Adopts:  true,
		Called:  "an ALB",
		Flags:   s.flags,
		Offline: func() (clouds.Offline, error) { return Offline{}, nil },
		Live: func(ctx context.Context, around clouds.Environment) (clouds.Live, error) {
			installation, err := around.Installation(ctx)
			if err != nil {
				return nil, err
			}
			p, err := Open(ctx, s.access(around, installation))
			return liveProvider{p}, err
		},
		Check: func(ctx context.Context, around clouds.Environment) []check.Finding {
			return preflight.Check(ctx, s.access(around, ""))
		},
		Prove: func(ctx context.Context, around clouds.Environment,
			installation string) (trials.Cloud, error) {
			return Open(ctx, s.access(around, installation))
		},
		TrialMakes: "up to 2 internal load balancers, 5 target groups, " +
			"2 imported certificates and 3 security groups",
		TrialCosts: "The load balancers are billed by the hour;\n" +
			"imported certificates count against the account's quota of a year.",
		Redact:           redact,
		Place:            func() string { return s.region },
		DisabledFeatures: s.disabledFeatures,
	}
}

func (s *settings) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.region, "aws-region", "",
		"`REGION` of AWS; unset: AWS_REGION, else that of the instance that this process runs on")
	flags.StringVar(&s.vpc, "aws-vpc-id", "", "`VPC` of AWS for the load balancers; unset: that of "+
		"the instance, else of the cluster's nodes, else the only one of the region")
	flags.StringVar(&s.cluster, "aws-cluster-name", "",
		"`NAME` in the tags kubernetes.io/cluster/NAME that AWS resources of the cluster have: the "+
			"security groups of nodes with this tag are opened to load balancers; unset: no security "+
			"group of nodes is changed")
	s.groups = managed
	flags.Var(&s.groups, "aws-security-groups", "`WHICH` security groups the operator manages: "+
		"managed, those of load balancers and, with --aws-cluster-name, of nodes; or none: load "+
		"balancers get the default group of the VPC")
	flags.TextVar(&s.rates, "aws-rates", providers.Rates{},
		"`RATES` of calls to AWS, by class of calls, such as write=3/20,modify=3/20 for 3 a second and "+
			"20 at once; unset: those that AWS publishes")
}

// access returns the Access of an installation.
func (s *settings) access(around clouds.Environment, installation string) client.Access {
	out := client.Access{
		Installation: installation, Region: s.region, VPC: s.vpc, Cluster: s.cluster,
		UnmanagedGroups: s.groups == unmanaged, Nodes: around.Nodes, Rates: s.rates,
		Deadlines:  client.Deadlines{Attempt: around.AttemptTimeout, Call: around.CallTimeout},
		OnInFlight: around.OnInFlight, Log: around.Log,
	}
	if around.OnRequest != nil {
		out.OnRequest = func(r client.Request) { around.OnRequest(r.Service, r.Operation, r.Result) }
	}
	return out
}

// disabledFeatures describes what is not done without the name of the cluster.
func (s *settings) disabledFeatures() string {
	if s.groups == unmanaged || s.cluster != "" {
		return ""
	}
	return "without --aws-cluster-name no security group of nodes or pods is changed: " +
		"load balancers reach only targets that admit them already"
}

// groups is the value of --aws-security-groups.
type groups string

const (
	managed   groups = "managed"
	unmanaged groups = "none"
)

func (g *groups) String() string { return string(*g) }

func (g *groups) Set(v string) error {
	if groups(v) != managed && groups(v) != unmanaged {
		return errors.New("it can be managed or none")
	}
	*g = groups(v)
	return nil
}

func (g *groups) Type() string { return "groups" }

// liveProvider is a Live with nothing to close.
type liveProvider struct{ *Provider }

func (liveProvider) Close() {}

// These match values that identify an account.
var (
	accountIDs = regexp.MustCompile(`\b\d{12}\b`)
	principals = regexp.MustCompile(`\b(assumed-role|role|user)/[^\s"',;]+`)
	networkIDs = regexp.MustCompile(`\b(vpc|subnet|sg|i|eni|igw|rtb)-[0-9a-z]+\b`)
)

// redact returns a text without the values that identify an account.
func redact(text string) string {
	text = accountIDs.ReplaceAllString(text, "ACCOUNT")
	text = principals.ReplaceAllString(text, "$1/NAME")
	return networkIDs.ReplaceAllString(text, "$1-ID")
}

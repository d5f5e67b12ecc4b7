package preflight

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file tests the assumptions (assumptions.go) on an existing load balancer. The rules of the
// tests have priorities that no plan uses, and are deleted. A refusal for another reason is no
// evidence, and rules that AWS has accepted are read back.

// A trial has the load balancer on which assumptions are tested.
type trial struct {
	*Trials
	balancer string // its ARN
	listener string
	next     int32 // priority
	// actions and transforms are those of rules; without any, they have a fixed response.
	actions    []elb.Action
	transforms []elb.RuleTransform
}

// An outcome is the result of a trial.
type outcome struct {
	state  check.State
	detail string
}

func holds(detail string) outcome { return outcome{check.OK, detail} }
func wrong(detail string) outcome { return outcome{check.Wrong, detail} }

// unknownOutcome returns the outcome of a trial that failed with an error.
func unknownOutcome(err error) outcome {
	return outcome{check.Unknown, "not known: " + client.Describe(err)}
}

// trials has the trials that need no requests, by the ID of the assumption.
var tested = map[string]func(*trial, context.Context) outcome{
	"source-of-parking":     (*trial).trySourceAddress,
	"values-of-a-condition": (*trial).tryValues,
	"regular-expressions":   (*trial).tryExpressions,

	"rewrite-before-redirect": (*trial).tryRewrittenRedirect,
	"case-flag":               (*trial).tryCaseFlag,

	"priorities-at-once": (*trial).trySwap,
	"read-back":          (*trial).tryReadBack,
	"create-again":       (*trial).tryRepeatedCreation,
	"reads-lag":          (*trial).measureLag,
	"index-of-tags":      (*trial).measureIndexLag,
	"account-limits":     (*trial).tryWildcards,
}

// testedByTaking has the trials on a load balancer that is taken over.
var testedByTaking = map[string]func(*trial, context.Context) outcome{
	"tags-at-once": (*trial).tryTagsAtOnce,
	"taken-name":   (*trial).tryTakenName,
}

const (
	takesRequests = "it takes requests from within the VPC"
	takesTargets  = "it takes targets whose health changes"
	takesOthers   = "the account has to be otherwise for it"
	takesWAF      = "the run asks for no web ACL"
	takesQuota    = "it would use up a quota of the account"
	trueEitherWay = "nothing depends on it"
	takesAdopt    = "it takes --adopt"
	takesNoRole   = "it takes an account without the role of Elastic Load Balancing"
)

// untestable has the other assumptions, each with the reason why it is not tested.
var untestable = map[string]string{
	"health-needs-a-rule":        takesTargets,
	"health-of-a-released-group": takesTargets,
	"first-check":                takesRequests,
	"host-of-a-pattern":          takesRequests,
	"header-of-a-pattern":        takesRequests,
	"headers-of-all-answers":     takesRequests,
	"star-of-a-host":             takesRequests,
	"host-with-port":             takesRequests,
	"path-decoding":              takesRequests,
	"path-normalisation":         takesRequests,
	"waf-in-a-partition":         takesWAF,
	"targets-at-once":            "it takes targets that AWS refuses",
	"zones-of-targets":           "it takes targets outside of the subnets of the VPC",
	"zones-without-cross-zone":   "it takes targets outside of the subnets of the VPC",
	"names-of-zones":             takesOthers,
	"rules-of-a-security-group":  takesQuota,
	"deployment":                 takesRequests,
	"internal-dualstack":         "it takes subnets with IPv6",
	"order-of-lists":             trueEitherWay,
	"role-just-made":             takesNoRole,
	"default-in-the-list":        takesQuota,
	"imports-count":              takesQuota,
	"renewals-count":             takesQuota,
	"import-keeps-tags":          trueEitherWay,
	"lingering":                  trueEitherWay,
	"rates":                      takesQuota,
	"canonical-ranges":           trueEitherWay,
	"policy-of-https":            trueEitherWay,
	"new-to-waf":                 takesWAF,
	"first-load-balancer":        takesNoRole,
	"tags-at-once":               takesAdopt,
	"taken-name":                 takesAdopt,
}

// Trials test the assumptions in an account, and delete the resources of runs.
type Trials struct {
	client.Clients
	security *network.SecurityGroups
	account  subject
	lag      time.Duration // the time for which AWS may not find a new resource
}

// A subject is the provider whose assumptions are tested.
type subject interface {
	Capabilities(class lb.Class) lb.Capabilities
	// LoadBalancer returns the load balancer of a key, or nil.
	LoadBalancer(ctx context.Context, key lb.Key) (*elb.LoadBalancer, error)
}

// NewTrials returns the Trials for a provider.
func NewTrials(
	c client.Clients, security *network.SecurityGroups, account subject, lag time.Duration,
) *Trials {
	return &Trials{Clients: c, security: security, account: account, lag: lag}
}

// Try tests the assumptions that need no requests, and returns a finding for each assumption.
func (p *Trials) Try(ctx context.Context, key lb.Key) []check.Finding {
	t := &trial{Trials: p, next: 40000}
	err := t.locate(ctx, key)
	var out []check.Finding
	for _, a := range Assumptions {
		out = append(out, t.findingOf(ctx, a, tested[a.ID], err))
	}
	return out
}

// findingOf tests an assumption. Without a test, or after an error, it is not tried.
func (t *trial) findingOf(
	ctx context.Context, a Assumption, try func(*trial, context.Context) outcome, err error,
) check.Finding {
	f := check.Unsure(
		"prove/assumption/"+a.ID, strings.TrimSuffix(a.Text, "."), "not tried: "+untestable[a.ID], "",
	)
	if try == nil {
		return f
	}
	switch cut := context.Cause(ctx); {
	case err != nil:
		f.Detail = "not tried: " + client.Describe(err)
	case cut != nil:
		f.Detail = "not tried: " + cut.Error()
	default:
		found := try(t, ctx)
		f.State, f.Detail = found.state, found.detail
	}
	if f.State == check.Wrong {
		f.Advice = "please report it"
	}
	return f
}

// locate finds the load balancer and one of its listeners.
func (t *trial) locate(ctx context.Context, key lb.Key) error {
	there, err := t.account.LoadBalancer(ctx, key)
	if err != nil {
		return err
	}
	if there == nil {
		return fmt.Errorf("load balancer %s does not exist", key)
	}
	t.balancer = aws.ToString(there.LoadBalancerArn)
	return t.locateListener(ctx, string(key))
}

// locateListener finds a listener of the load balancer, which has a name for people.
func (t *trial) locateListener(ctx context.Context, name string) error {
	out, err := t.ELB.DescribeListeners(ctx, &elbapi.DescribeListenersInput{
		LoadBalancerArn: aws.String(t.balancer),
	})
	if err != nil {
		return client.Explain("reading listeners", err)
	}
	if len(out.Listeners) == 0 {
		return fmt.Errorf("load balancer %s has no listener", name)
	}
	t.listener = aws.ToString(out.Listeners[0].ListenerArn)
	return nil
}

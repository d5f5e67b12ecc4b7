package aws

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/account"
	"fairlead.dev/fairlead/providers/aws/balancers"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/listeners"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/providers/aws/targets"
)

var _ providers.Provider = (*Provider)(nil)

// Options configure a Provider.
type Options struct {
	Config aws.Config
	// Installation distinguishes resources of this operator from those of others.
	Installation string
	// VPC is the VPC of the load balancers.
	VPC string
	// Cluster is the name in the tags of the nodes' security groups; "": these are not changed.
	Cluster string
	// UnmanagedGroups: security groups are neither created nor changed, and load balancers get the
	// default one of the VPC.
	UnmanagedGroups bool
	// Settle is the time for which AWS may use a resource after the last rule that names it has
	// changed. Zero is AWS's longest time.
	Settle time.Duration
	// Lag is the time for which AWS may not find a new resource. Zero is two minutes.
	Lag time.Duration
	// Rates are the rates of calls; see Published. Calls of a class without one have no limit.
	Rates providers.Rates
	// OnRequest is called after each call of AWS, if it is not nil.
	OnRequest func(client.Request)
	// OnInFlight is called when the number of calls under way at an endpoint changes, or its limit, if
	// it is not nil.
	OnInFlight func(service, calls string, underWay, limit int)
	// Deadlines limit the time of calls; zero values are the defaults.
	Deadlines client.Deadlines
}

// A Provider manages Application Load Balancers. Its collaborators hold its state, each with a lock
// of its own, and do not use the Provider. A collaborator may call others while it holds its lock,
// in one direction only: network.Nodes iterates over the members of targets.Store.
type Provider struct {
	options Options
	clients client.Clients

	recent     *client.Recent
	limits     *account.Limits
	conditions *account.ConditionSupport

	balancers      *balancers.Store
	listeners      *listeners.Store
	targetGroups   *targets.Store
	subnets        *network.Subnets
	securityGroups *network.SecurityGroups
	nodes          *network.Nodes
	firewalls      *network.Firewalls
	certificates   *certificates.Store
	webACLs        *balancers.WebACLs
	protections    *balancers.Shields

	releases *listeners.Releases // resources that steps stopped using, and when they can be deleted
}

// New makes a Provider. It makes no calls.
func New(o Options) *Provider {
	p := &Provider{options: o, releases: listeners.NewReleases(cmp.Or(o.Settle, lb.ALB().Settle))}
	p.recent = client.NewRecent(o.Lag, p.forgetMissing)
	deadlines := o.Deadlines.WithDefaults()
	pacer := client.NewPacer(client.PacerOptions{
		Rates: o.Rates, Deadlines: deadlines, OnRequest: o.OnRequest, OnInFlight: o.OnInFlight,
	})
	c := client.NewClients(o.Config, o.Installation, o.VPC, pacer.AddTo, deadlines.AddTo, p.recent.AddTo)
	p.clients, p.limits, p.conditions = c, account.NewLimits(c.ELB), account.NewConditionSupport(c.API)
	p.subnets = network.NewSubnets(c.EC2, c.VPC, c.Region)
	p.securityGroups = network.NewSecurityGroups(c.Owner, c.EC2, c.VPC, p.recent)
	p.nodes = network.NewNodes(c.ELB, p.securityGroups, o.Cluster, o.UnmanagedGroups, allTargets{p})
	p.firewalls = network.NewFirewalls(
		c.ELB, p.securityGroups, p.nodes, o.UnmanagedGroups, p.releases.DeleteUnused,
	)
	p.targetGroups = targets.New(c.API, c.VPC, p.limits, p.subnets, p.nodes, p.releases.DeleteUnused)
	p.webACLs = balancers.NewWebACLs(c.API, c.WAF, p.releases)
	p.protections = balancers.NewShields(c.API, c.Shield)
	p.balancers = balancers.New(c.API, balancers.Network{
		Subnets: p.subnets, SecurityGroups: p.securityGroups, Nodes: p.nodes, Firewalls: p.firewalls,
	}, p.targetGroups, p.protections, p.limits)
	p.listeners = listeners.New(c.API, p.firewalls, p.targetGroups, p.conditions, p.releases)
	p.certificates = certificates.New(c.API, c.ACM,
		func(arn string) bool { return p.recent.Knows(":certificate/", arn) }, p.releases.DeleteUnused)
	return p
}

// allTargets returns the targets of all target groups of a Provider. network.Nodes needs their
// ports, and is made before the target groups.
type allTargets struct{ *Provider }

func (t allTargets) AllMembers(yield func(lb.TargetHealth) bool) {
	t.targetGroups.AllMembers(yield)
}

func (t allTargets) PortsInUse(ctx context.Context, shared string) (map[int32]bool, error) {
	return t.targetGroups.PortsInUse(ctx, shared)
}

// Term returns a Provider for one term of an operator. It has the same options and no state,
// because the operator of another term may have changed everything since.
func (p *Provider) Term() providers.Provider { return New(p.options) }

// Capabilities returns the limits of the account, or the published ones until they are known,
// lowered by the class.
func (p *Provider) Capabilities(class lb.Class) lb.Capabilities {
	c := p.limits.Last().Limit(lb.ALB())
	c.Inbound = !p.options.UnmanagedGroups
	p.conditions.Limit(&class, &c)
	return c.Restrict(class)
}

// Lookup answers the questions of the compiler. If an answer cannot be read, Lookup returns the
// last one, if there is one.
func (p *Provider) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	facts := lb.Facts{Names: map[lb.CertificateID][]string{}, Now: time.Now()}
	if reflect.DeepEqual(q, lb.Questions{Provider: q.Provider}) {
		return facts, nil // the load balancer is being deleted, and needs no facts
	}
	if len(q.TargetGroups) > 0 {
		err := p.targetGroups.LookUp(ctx, q.TargetGroups, &facts)
		return facts, err
	}
	if q.Others != nil {
		var err error
		facts.Others, err = p.others(ctx, q.Others)
		return facts, err
	}
	facts.SettingsRefused = q.RefuseSettings(noSettings)
	if err := p.limits.Load(ctx, q.Limits); err != nil {
		facts.LimitsUnread = p.limits.Last() == nil
		if facts.LimitsUnread && client.IsTimeout(err) {
			return lb.Facts{}, err // the next calls would wait as long
		}
		facts.Stale = append(facts.Stale, err.Error())
	}
	if err := p.certificates.Discover(ctx, q.CertificateHosts, &facts); err != nil {
		return lb.Facts{}, err
	}
	if err := p.certificates.LookUpNames(ctx, q.NamedCertificates, &facts); err != nil {
		return lb.Facts{}, err
	}
	var err error
	if facts.WebACLs, err = p.webACLs.LookUp(ctx, q.WebACLs); err != nil {
		facts.Unguarded = err.Error()
	}
	if q.Shield {
		facts.Unshielded = p.protections.Unavailable(ctx)
	}
	err = p.balancers.Place(ctx, q.Network, &facts)
	if q.Network.Key != "" {
		facts.Unmet = append(facts.Unmet, p.nodes.Refused()...)
	}
	if ctx.Err() != nil { // the facts are incomplete
		return lb.Facts{}, context.Cause(ctx)
	}
	return facts, err
}

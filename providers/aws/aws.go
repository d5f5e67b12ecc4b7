package aws

import (
	"cmp"
	"context"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/retry"
	"fairlead.dev/fairlead/providers/aws/throttle"
)

var _ providers.Provider = (*Provider)(nil)

// Options say where load balancers are created, and by which installation.
type Options struct {
	Config aws.Config
	// Installation distinguishes resources of this operator from those of others.
	Installation string
	// VPC is the VPC of the load balancers.
	VPC string
	// Cluster is the name by which the security groups of the nodes are found; with "", none are
	// changed.
	Cluster string
	// Unfenced leaves all security groups alone: load balancers get the default one of the VPC.
	Unfenced bool
	// Settle is how long AWS may use a resource that no rule names any more. Zero is the most that AWS
	// takes.
	Settle time.Duration
	// Lag is how long AWS may not find a new resource. Zero is two minutes.
	Lag time.Duration
	// Rates are the rates of calls; see Published. Calls of a class without one have no limit.
	Rates providers.Rates
	// Requested is called after each call of AWS, if it is not nil.
	Requested func(throttle.Request)
	// Deadlines are how long calls may take; those that are zero are the usual ones.
	Deadlines throttle.Deadlines
}

// A Provider keeps Application Load Balancers. Its collaborators hold its state, each with a lock
// of its own, and do not know the Provider. A collaborator may call others while it holds its lock,
// in one direction only: nodes iterates the members of targetGroups.
type Provider struct {
	options  Options
	region   string
	vpc      string
	cluster  string
	unfenced bool

	tags    resource.API
	elb     *elb.Client
	ec2     *ec2.Client
	acm     *acm.Client
	waf     *wafv2.Client
	shields *shield.Client

	recent     *recent
	limits     accountLimits
	conditions conditionSupport
	role       linkedRole // of Elastic Load Balancing

	balancers      balancers
	subnets        subnets
	securityGroups securityGroups
	nodes          nodes
	firewalls      firewalls
	targetGroups   targetGroups
	certificates   *certificates.Store

	webACLs     webACLs
	protections shieldProtections

	releases releases    // what steps stopped using, and when that can be deleted
	fresh    retry.Gates // of new listeners
}

// New makes a Provider. It makes no calls.
func New(o Options) *Provider {
	config := o.Config
	made := &recent{lag: cmp.Or(o.Lag, recentFor)}
	config.APIOptions = append(slices.Clip(config.APIOptions),
		throttle.NewPacer(o.Rates, o.Requested).Into, o.Deadlines.Usual().Into, made.into)
	own := resource.API{
		Owner: resource.Owner{Installation: o.Installation}, ELB: elb.NewFromConfig(config),
		Tagging: resourcegroupstaggingapi.NewFromConfig(config),
	}
	p := &Provider{
		options: o, region: config.Region, vpc: o.VPC, cluster: o.Cluster, unfenced: o.Unfenced,
		tags: own, elb: own.ELB,
		ec2: ec2.NewFromConfig(config), acm: acm.NewFromConfig(config),
		waf: wafv2.NewFromConfig(config), shields: shield.NewFromConfig(config),
		recent:     made,
		limits:     accountLimits{elb: own.ELB, oldest: time.Now()},
		conditions: conditionSupport{API: own},
		releases:   releases{settle: cmp.Or(o.Settle, lb.ALB().Settle)},
	}
	p.subnets = subnets{ec2: p.ec2, vpc: p.vpc, region: p.region, misplaced: map[netip.Prefix]bool{}}
	p.securityGroups = securityGroups{Owner: own.Owner, ec2: p.ec2, vpc: p.vpc, recent: made}
	p.nodes = nodes{
		Owner: own.Owner, security: &p.securityGroups, elb: own.ELB, cluster: o.Cluster, unfenced: o.Unfenced,
		members: p.targetGroups.allMembers, portsInUse: p.targetGroups.portsInUse,
		users: map[lb.Key]bool{}, ports: newNodePorts(), groupsLock: make(chan struct{}, 1),
	}
	p.firewalls = firewalls{
		Owner: own.Owner, security: &p.securityGroups, nodes: &p.nodes, elb: own.ELB, releases: &p.releases,
		unfenced: o.Unfenced, known: map[lb.Key]string{}, replaced: map[lb.Key]bool{},
	}
	p.targetGroups = targetGroups{
		API: own, vpc: o.VPC, limits: &p.limits, subnets: &p.subnets, nodes: &p.nodes, releases: &p.releases,
		arns: map[groupName]string{}, members: map[string]membership{}, untagged: map[string]lb.Key{},
	}
	p.balancers = balancers{
		API: own, subnets: &p.subnets, security: &p.securityGroups,
		places: map[lb.Key]place{}, sightings: map[lb.Key]sighting{}, undeletable: map[string]bool{},
	}
	p.certificates = certificates.New(own, p.acm,
		func(arn string) bool { return made.knows(":certificate/", arn) }, p.releases.deleteUnused)
	p.webACLs = webACLs{API: own, waf: p.waf, releases: &p.releases}
	p.protections = shieldProtections{API: own, shields: p.shields}
	made.forgetMissing = p.forgetMissing
	return p
}

// Term returns a Provider for one term of an operator. It has the same options and no state: the
// operator of another term may have changed everything since.
func (p *Provider) Term() providers.Provider { return New(p.options) }

// Capabilities returns the limits of the account, or the published ones until they are known, as
// far as the class leaves them.
func (p *Provider) Capabilities(class lb.Class) lb.Capabilities {
	c := p.limits.last().within(lb.ALB())
	c.Inbound = !p.unfenced
	p.conditions.limit(&class, &c)
	return c.For(class)
}

// Lookup answers the questions of the compiler. An answer that cannot be read is the one from
// before, if there is one.
func (p *Provider) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	facts := lb.Facts{Names: map[lb.CertificateID][]string{}, Now: time.Now()}
	if reflect.DeepEqual(q, lb.Questions{Provider: q.Provider}) {
		return facts, nil // the load balancer is to be deleted, and needs no facts
	}
	facts.SettingsRefused = q.RefuseSettings(noSettings)
	if err := p.limits.load(ctx, q.Limits); err != nil {
		facts.LimitsUnread = p.limits.last() == nil
		if facts.LimitsUnread && throttle.Late(err) {
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
	if facts.WebACLs, err = p.webACLs.lookUp(ctx, q.WebACLs); err != nil {
		facts.Unguarded = err.Error()
	}
	if q.Shield {
		facts.Unshielded = p.protections.unavailable(ctx)
	}
	err = p.balancers.place(ctx, q.Network, &facts)
	if ctx.Err() != nil { // facts that were not read for that reason are none
		return lb.Facts{}, context.Cause(ctx)
	}
	return facts, err
}

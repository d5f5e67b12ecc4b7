package albsim

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	shield "github.com/aws/aws-sdk-go-v2/service/shield/types"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"fairlead.dev/fairlead/test/albsim/iam"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file is an account in one region, and what a test can say about it.

// The account that is simulated.
const (
	Region  = "eu-west-1"
	Account = "123456789012"
)

// Options are what a test can choose. The zero Options are an account with AWS's default quotas,
// where everything happens at once and no call is limited.
type Options struct {
	Limits Limits
	// Rates are the token buckets; nil for none.
	Rates Rates
	// Propagation is how long after the first change of a load balancer's listeners and rules these,
	// and those made meanwhile, are deployed.
	Propagation time.Duration
	// Provisioning is how long a new load balancer takes to be active.
	Provisioning time.Duration
	// Linger is how long what was detached is still said to be in use, and how long a new listener
	// is not found by those who ask for it at once.
	Linger time.Duration
	// Indexing is how long after the tags of a resource change it is found by these. Ghosts is how
	// long one that was deleted is still found, if that is longer.
	Indexing, Ghosts time.Duration
	// Lag is how long what was made is not found by calls that name it, and is in no list.
	Lag time.Duration
	// Past has half of the reads show an earlier state, of a moment within the Lag, drawn with this
	// seed; 0 for none.
	Past uint64
	// TagsAside has AWS answer who makes what is there already, but for its tags, with what is there.
	// It does not say whether it does.
	TagsAside bool
	// RenewalsCount has an import in the place of another certificate count among the imports of a
	// year. AWS does not say whether it does.
	RenewalsCount bool
	// DefaultVPC: the VPC is the default one. There a call that revokes rules of which some are not
	// there revokes the others, and says which are unknown
	// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RevokeSecurityGroupIngress.html).
	DefaultVPC bool
	// Respelt has rules described otherwise than they were sent: lists in another order, hosts, names
	// and what else is compared without regard to case in another case, ranges of addresses in another
	// spelling. AWS does not say whether it does.
	Respelt bool
	// Health is how long a target takes to be healthy once its group is in use.
	Health time.Duration
	// Sick reports whether a target fails its checks. It has to be safe for concurrent use.
	Sick func(targetGroup string, target elb.TargetDescription) bool
	// FirstUse says that the account has no service-linked role for Elastic Load Balancing yet. The
	// first load balancer makes it, and none can be made before the Lag is over: how that is said is
	// undocumented, and is in turn one of what is near.
	FirstUse bool
	// Authorize says whether the caller's policies allow what a call takes; nil where they allow all.
	Authorize func(iam.Ask) bool
	// Refuse refuses calls by what they say, with a Refusal; nil where it refuses none. It is asked
	// before the account is.
	Refuse func(in any) error
	// Misread changes what a call asks for before it is carried out, so that something else is done.
	Misread func(in any)
	// Amend changes the answer of a call that was carried out, given what was asked, or refuses it
	// after all. It may not change what the answer points to, which the account may have.
	Amend func(in, out any) error
	// Fault chooses which calls break. It is called before each call.
	Fault func(Call) Fault
	// Serial returns the time that a call takes at an endpoint that carries out one call of a service
	// after another, also those whose callers no longer wait. Zero is a call that takes no time and
	// waits for no other. A nil Serial is an endpoint where no call takes time.
	Serial func(Call) time.Duration
	// AccessLog gets a line in AWS's format for each request that is asked; nil for no lines.
	AccessLog func(line string)
	// After is called after each call, when the simulator can be asked again.
	After func(Call)
}

// A Sim is the simulator.
type Sim struct {
	options  Options
	services map[string]service
	requests atomic.Int64
	lines    map[string]chan struct{} // by service, full while a call takes its time; see serial.go

	mu            sync.Mutex
	caller        string // the access key of the call that is carried out
	calls         []Call
	buckets       map[string]*bucket
	serial        int
	past          *past                    // nil where every read is of the present
	madeAt        map[string]time.Time     // by ARN or ID, what is seen later only
	loadBalancers map[string]*loadBalancer // by ARN
	listeners     map[string]*listener
	rules         map[string]*rule
	targetGroups  map[string]*targetGroup
	users         map[string][]string          // by target group, the load balancers whose rules name it; nil until it is asked for
	touched       bool                         // listeners or rules have changed since the last follow
	drains        time.Time                    // when the next target is drained; zero if none drains
	tags          map[string]map[string]string // by ARN, or by ID for EC2's
	index         index                        // what they are found by
	lingering     map[string]time.Time         // until when something deleted or detached still counts as in use
	net           network
	certificates  map[string]*certificate
	imports       []time.Time // those that count among the imports of a year
	acls          []waf.WebACLSummary
	webACLs       map[string]string            // by the ARN of the load balancer
	protections   map[string]shield.Protection // of Shield, by the ARN of the resource
	unsubscribed  bool                         // from Shield
	roleMissing   bool                         // the service-linked role, which the first load balancer makes
	roleMade      time.Time                    // when it was, by the first load balancer
	roleRefusals  int                          // since, for it could not be used
	buckets3      map[string]bool              // buckets of S3 that logs can be written into
	trustStores   map[string]string            // names, by ARN
	logged        int                          // lines in access logs
}

// New is an account with a VPC and nothing else.
func New(o Options) *Sim {
	o.Limits = o.Limits.withDefaults()
	s := &Sim{
		options: o, services: services(), buckets: map[string]*bucket{},
		loadBalancers: map[string]*loadBalancer{}, listeners: map[string]*listener{}, rules: map[string]*rule{},
		targetGroups: map[string]*targetGroup{}, tags: map[string]map[string]string{}, lingering: map[string]time.Time{},
		certificates: map[string]*certificate{}, webACLs: map[string]string{}, protections: map[string]shield.Protection{},
		trustStores: map[string]string{}, roleMissing: o.FirstUse, lines: map[string]chan struct{}{},
	}
	for name := range s.services {
		s.lines[name] = make(chan struct{}, 1)
	}
	s.net = newNetwork(s)
	if o.Past != 0 && o.Lag > 0 {
		s.past = newPast(o.Past)
	}
	return s
}

// Access keys.
const (
	operatorsKey = "AKIDSIMULATED"
	ownersKey    = "AKIDOWNER"
)

// Config is how the SDK reaches the simulator without a network between, with the operator's
// credentials.
func (s *Sim) Config() aws.Config { return s.configOf(operatorsKey) }

// OwnersConfig is the same with credentials of the account's owner, whom no policy keeps from
// anything.
func (s *Sim) OwnersConfig() aws.Config { return s.configOf(ownersKey) }

func (s *Sim) configOf(key string) aws.Config {
	return aws.Config{
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider(key, "secret", ""),
		BaseEndpoint: aws.String("http://albsim.invalid"),
		HTTPClient:   doer{s},
	}
}

// Limits are the quotas of the account. Zero stands for AWS's default.
type Limits struct {
	LoadBalancers, RulesPerLoadBalancer, TargetGroupsPerLoadBalancer, TargetGroups int
	ListenersPerLoadBalancer, CertificatesPerLoadBalancer                          int
	VerifyingPerLoadBalancer                                                       int // listeners that verify the certificates of clients
	TargetsPerLoadBalancer, TargetsPerGroup                                        int
	ValuesPerRule, WildcardsPerRule, GroupsPerAction                               int
	// ValuesPerCondition is three in AWS's guide, and five in what it answers.
	ValuesPerCondition                                          int
	SecurityGroups, RulesPerSecurityGroup, ImportedCertificates int
	GroupsPerInterface                                          int // security groups of a network interface
	// ImportsPerYear are the certificates that are imported within 365 days, those that were deleted
	// since among them: 5,000 as the guide says
	// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html), and 20 in some accounts
	// (https://github.com/aws/aws-cdk/issues/13651).
	ImportsPerYear int
}

// ofConditions are the limits of the conditions of a rule.
func (l Limits) ofConditions() matching.Limits {
	return matching.Limits{
		PerCondition: l.ValuesPerCondition, PerRule: l.ValuesPerRule, Wildcards: l.WildcardsPerRule,
	}
}

func (l Limits) withDefaults() Limits {
	return Limits{
		LoadBalancers:               cmp.Or(l.LoadBalancers, 50),
		RulesPerLoadBalancer:        cmp.Or(l.RulesPerLoadBalancer, 100),
		TargetGroupsPerLoadBalancer: cmp.Or(l.TargetGroupsPerLoadBalancer, 100),
		TargetGroups:                cmp.Or(l.TargetGroups, 3000),
		ListenersPerLoadBalancer:    cmp.Or(l.ListenersPerLoadBalancer, 50),
		CertificatesPerLoadBalancer: cmp.Or(l.CertificatesPerLoadBalancer, 25),
		VerifyingPerLoadBalancer:    cmp.Or(l.VerifyingPerLoadBalancer, 2),
		TargetsPerLoadBalancer:      cmp.Or(l.TargetsPerLoadBalancer, 1000),
		TargetsPerGroup:             cmp.Or(l.TargetsPerGroup, 1000),
		ValuesPerRule:               cmp.Or(l.ValuesPerRule, 5),
		ValuesPerCondition:          cmp.Or(l.ValuesPerCondition, 5),
		WildcardsPerRule:            cmp.Or(l.WildcardsPerRule, 5),
		GroupsPerAction:             cmp.Or(l.GroupsPerAction, 5),
		SecurityGroups:              cmp.Or(l.SecurityGroups, 2500),
		RulesPerSecurityGroup:       cmp.Or(l.RulesPerSecurityGroup, 60),
		GroupsPerInterface:          cmp.Or(l.GroupsPerInterface, 5),
		ImportedCertificates:        cmp.Or(l.ImportedCertificates, 2500),
		ImportsPerYear:              cmp.Or(l.ImportsPerYear, 5000),
	}
}

// SetLimits changes the quotas, as a support case does.
func (s *Sim) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Limits = l.withDefaults()
}

// Break chooses the calls that break from now on.
func (s *Sim) Break(fault func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Fault = fault
}

// Refuse chooses the calls that are refused from now on.
func (s *Sim) Refuse(refuse func(in any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Refuse = refuse
}

// Misread changes what calls ask for from now on.
func (s *Sim) Misread(misread func(in any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Misread = misread
}

// Amend changes the answers of calls from now on.
func (s *Sim) Amend(amend func(in, out any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Amend = amend
}

// Watch is called after each call from now on.
func (s *Sim) Watch(after func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.After = after
}

func (s *Sim) now() time.Time { return time.Now() }

// nextID is 16 hexadecimal digits, other ones each time and the same ones in each run.
func (s *Sim) nextID() string {
	s.serial++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d", s.serial))
	return hex.EncodeToString(sum[:8])
}

// linger notes that something counts as in use for a while.
func (s *Sim) linger(id string) {
	if s.options.Linger > 0 {
		s.lingering[id] = s.now().Add(s.options.Linger)
	}
}

// lingers reports whether something still counts as in use.
func (s *Sim) lingers(id string) bool { return s.now().Before(s.lingering[id]) }

// doer is the simulator as the SDK's HTTP client.
type doer struct{ *Sim }

func (d doer) Do(r *http.Request) (*http.Response, error) { return d.RoundTrip(r) }

// Inventory counts what there is in the account, so that a test sees what was left behind.
func (s *Sim) Inventory() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{
		"load balancers": len(s.loadBalancers), "listeners": len(s.listeners), "rules": len(s.rules), "target groups": len(s.targetGroups),
		"certificates": len(s.certificates), "security groups": len(s.net.groups),
		"protections": len(s.protections),
	}
}

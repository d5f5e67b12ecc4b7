// Package account keeps what is known of the account: its limits, the conditions that rules can
// have, and its service-linked role.
package account

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/cache"
)

// This file reads the account's limits: at the start, with the deep observation of a load balancer,
// and when a limit is exceeded. They hardly ever change in between.

// The least age at which limits are read again: where Ingresses wait for a limit to be raised, and
// with a deep observation.
const (
	limitsAwaited = 9 * time.Minute
	limitsAge     = time.Hour
)

// ByName has the limits of an account, by AWS's names.
type ByName map[string]int

// Limits keeps the limits that were read last.
type Limits struct {
	elb  *elbapi.Client
	read cache.Value[ByName]

	mu     sync.Mutex
	oldest time.Time // of a reading that is recent enough
}

// NewLimits returns Limits that are not read yet.
func NewLimits(api *elbapi.Client) *Limits {
	return &Limits{elb: api, oldest: time.Now()}
}

// Last returns the limits that were read last, or nil.
func (a *Limits) Last() ByName { return a.read.Last() }

// toldByAWS is a limit that AWS lists among many others. An answer without it comes from a
// simulator of AWS: it repeats an old example of the documentation, by which a load balancer takes
// 30 targets, and does not enforce it. The published limits count then.
const toldByAWS = "condition-values-per-alb-rule"

// Load makes sure that the limits are known. Awaited says that one of them is exceeded.
func (a *Limits) Load(ctx context.Context, awaited bool) error {
	a.mu.Lock()
	when := a.oldest
	a.mu.Unlock()
	if awaited {
		when = time.Now().Add(-limitsAwaited)
	}
	_, err := a.read.Since(when, func() (ByName, error) {
		found := ByName{}
		pages := elbapi.NewDescribeAccountLimitsPaginator(a.elb, &elbapi.DescribeAccountLimitsInput{
			PageSize: aws.Int32(400),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			err = awserr.Explain("reading the account's limits", err)
			if errors.Is(err, providers.ErrDenied) {
				break // an older role, without this right, goes on with the published limits
			} else if err != nil {
				return nil, err
			}
			for _, l := range page.Limits {
				if most, err := strconv.Atoi(aws.ToString(l.Max)); err == nil {
					found[aws.ToString(l.Name)] = most
				}
			}
		}
		if found[toldByAWS] == 0 {
			return nil, nil
		}
		return found, nil
	})
	return err
}

// Expire has the limits read again, unless they were read lately.
func (a *Limits) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.oldest = time.Now().Add(-limitsAge)
}

// Within returns capabilities with the limits of an account, as far as these are known.
func (l ByName) Within(c lb.Capabilities) lb.Capabilities {
	for name, limit := range map[string]*int{
		"rules-per-application-load-balancer":                   &c.Rules,
		"target-groups-per-application-load-balancer":           &c.TargetGroups,
		"listeners-per-application-load-balancer":               &c.Listeners,
		"certificates-per-application-load-balancer":            &c.Certificates,
		"targets-per-application-load-balancer":                 &c.TargetsPerLoadBalancer,
		"targets-per-target-group":                              &c.TargetsPerGroup,
		"condition-values-per-alb-rule":                         &c.ValuesPerRule,
		"condition-wildcards-per-alb-rule":                      &c.WildcardsPerRule,
		"target-groups-per-action-on-application-load-balancer": &c.TargetsPerForward,
	} {
		if most := l[name]; most > 0 {
			*limit = most
		}
	}
	return c
}

// Explained says of a limit of the account, too, how much there is.
func (a *Limits) Explained(doing string, err error) error {
	return awserr.ExplainWith(doing, err, a.Last())
}

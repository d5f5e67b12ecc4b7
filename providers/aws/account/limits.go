// Package account caches properties of the account: its limits, the conditions that it supports,
// and its service-linked role.
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
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads the account's limits: at the start, with the deep observation of a load balancer,
// and when a limit is exceeded. They hardly ever change in between.

// The least age at which limits are read again: while Ingresses wait for a limit to be raised, and
// with a deep observation.
const (
	limitsAwaited = 9 * time.Minute
	limitsAge     = time.Hour
)

// Values holds the limits of an account, by AWS's names.
type Values map[string]int

// Limits caches the limits of the account.
type Limits struct {
	elb  *elbapi.Client
	read client.Cached[Values]

	mu     sync.Mutex
	oldest time.Time // the least time of a read that is recent enough
}

// NewLimits returns Limits that are not read yet.
func NewLimits(api *elbapi.Client) *Limits {
	return &Limits{elb: api, oldest: time.Now()}
}

// Last returns the limits that were read last, or nil.
func (a *Limits) Last() Values { return a.read.Last() }

// limitOfAWS is the name of a limit that AWS always lists. An answer without it comes from a
// simulator of AWS: it has an old example of the documentation, with 30 targets for a load
// balancer, and does not enforce it. Then the published limits apply.
const limitOfAWS = "condition-values-per-alb-rule"

// Load reads the limits if they are too old. exceeded is true if one of them was exceeded, and may have been raised.
func (a *Limits) Load(ctx context.Context, exceeded bool) error {
	a.mu.Lock()
	when := a.oldest
	a.mu.Unlock()
	if exceeded {
		when = time.Now().Add(-limitsAwaited)
	}
	_, err := a.read.ReadSince(when, func() (Values, error) {
		found := Values{}
		pages := elbapi.NewDescribeAccountLimitsPaginator(a.elb, &elbapi.DescribeAccountLimitsInput{
			PageSize: aws.Int32(400),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			err = client.Explain("reading the account's limits", err)
			if errors.Is(err, providers.ErrDenied) {
				break // with an older role, without this right, the published limits apply
			} else if err != nil {
				return nil, err
			}
			for _, l := range page.Limits {
				if most, err := strconv.Atoi(aws.ToString(l.Max)); err == nil {
					found[aws.ToString(l.Name)] = most
				}
			}
		}
		if found[limitOfAWS] == 0 {
			return nil, nil
		}
		return found, nil
	})
	return err
}

// Expire makes the next Load read the limits again, unless they were read lately.
func (a *Limits) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.oldest = time.Now().Add(-limitsAge)
}

// Limit returns capabilities with the known limits of an account.
func (l Values) Limit(c lb.Capabilities) lb.Capabilities {
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

// Explain returns an error of AWS in its class, like client.Explain. It adds the size of an
// exceeded limit.
func (a *Limits) Explain(doing string, err error) error {
	return client.ExplainWith(doing, err, a.Last())
}

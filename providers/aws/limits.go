package aws

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file knows the account's limits. They are read at the start, when a load balancer is looked
// at deeply, and when one is in the way; in between nobody asks, for they hardly ever change.

// How old a reading is at the least before it is repeated: where somebody waits for a limit to be
// raised, and where a load balancer is looked at deeply.
const (
	limitsAwaited = 9 * time.Minute
	limitsAge     = time.Hour
)

// Limits are those of an account, by AWS's names.
type limits map[string]int

// toldByAWS is a limit that AWS tells among many others. An answer without it comes from who
// imitates AWS: it repeats an old example out of the documentation, by which a load balancer takes
// 30 targets, and keeps nobody to it. What AWS publishes counts then.
const toldByAWS = "condition-values-per-alb-rule"

// readLimits makes sure that the limits are known. Awaited says that one of them is in the way.
func (p *Provider) readLimits(ctx context.Context, awaited bool) error {
	p.mu.Lock()
	when := p.limitsSince
	p.mu.Unlock()
	if due := time.Now().Add(-limitsAwaited); awaited && due.After(when) {
		when = due
	}
	_, err := p.limits.since(when, func() (limits, error) {
		found := limits{}
		pages := elbapi.NewDescribeAccountLimitsPaginator(p.elb, &elbapi.DescribeAccountLimitsInput{PageSize: aws.Int32(400)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err = explained("reading the account's limits", err); errors.Is(err, providers.ErrDenied) {
				break // a role from before this was asked for goes on with the limits that AWS publishes
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

// doubtLimits has the limits read again, unless that was not long ago.
func (p *Provider) doubtLimits() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if due := time.Now().Add(-limitsAge); due.After(p.limitsSince) {
		p.limitsSince = due
	}
}

// within are capabilities with the limits of an account, as far as these are known.
func (l limits) within(c lb.Capabilities) lb.Capabilities {
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

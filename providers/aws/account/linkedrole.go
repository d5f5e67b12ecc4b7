package account

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file waits for the service-linked role, which Elastic Load Balancing creates with the first
// load balancer of an account
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-service-linked-roles.html).
// IAM is eventually consistent: a new role is not visible everywhere at once
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html). The answer of Elastic Load
// Balancing until it can use the role is not documented, and no public report quotes it. The answer
// of ECS in the same case is "unable to assume the service linked role"
// (https://github.com/awslabs/ecs-refarch-continuous-deployment/pull/39).

// A LinkedRole holds the time since which the role may exist.
type LinkedRole struct {
	mu sync.Mutex
	// when AWS first created a load balancer for this process, or could not use the role
	answered time.Time
	unused   client.Backoff
}

// The first wait until the role can be used, and the longest.
const (
	roleWait    = 5 * time.Second
	roleWaitMax = 45 * time.Second
)

// CheckWait returns ErrPending if it is too early to try again.
func (r *LinkedRole) CheckWait() error {
	if r.unused.TooEarly("") {
		return fmt.Errorf(
			"a moment ago, Elastic Load Balancing could not use its service-linked role: %w",
			providers.ErrPending)
	}
	return nil
}

// MayBeNew reports whether the role may have been created a moment ago, or may not exist yet.
func (r *LinkedRole) MayBeNew() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered.IsZero() || time.Since(r.answered) < client.DefaultLag
}

// markAnswered records that AWS has answered: the role exists from now on.
func (r *LinkedRole) markAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered.IsZero() {
		r.answered = time.Now()
	}
}

// roleName matches the name of the role in answers.
var roleName = regexp.MustCompile(
	`(?i)service[- ]linked role|AWSServiceRoleForElasticLoadBalancing`,
)

// Explain returns the error of a call that creates a load balancer: ErrPending if the new role may
// be the reason. A denial that names an action is about a missing right.
func (r *LinkedRole) Explain(young bool, err error) error {
	if err == nil {
		r.markAnswered()
		r.unused.Forget("")
		return nil
	}
	text, code := err.Error(), client.ErrorCode(err)
	denied := slices.Contains([]string{"AccessDenied", "UnauthorizedOperation"}, code)
	if code == "" || client.RefusedAction.MatchString(text) || !denied && !roleName.MatchString(text) {
		return err // AWS may return it before it looks for the role
	}
	r.markAnswered()
	if !young {
		return err
	}
	r.unused.Wait("", roleWait, roleWaitMax)
	return fmt.Errorf("%s; the service-linked role of Elastic Load Balancing may have been created a "+
		"moment ago; creating the load balancer is tried again: %w", client.Describe(err),
		providers.ErrPending)
}

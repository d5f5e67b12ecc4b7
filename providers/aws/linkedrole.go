package aws

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/errorcode"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file waits for the role that Elastic Load Balancing makes for itself at the first load
// balancer of an account
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-service-linked-roles.html).
// IAM is eventually consistent: what was just made is not known everywhere at once
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html). What Elastic Load Balancing
// answers until it can use the role is undocumented, and no public report tells. ECS says in that
// place that it is "unable to assume the service linked role"
// (https://github.com/awslabs/ecs-refarch-continuous-deployment/pull/39).

// A linkedRole knows since when the role may be there.
type linkedRole struct {
	mu       sync.Mutex
	answered time.Time // when AWS first made a load balancer for this process, or said that it could not use the role
	unused   retry.Backoff
}

// early reports whether it is too early to try again.
func (r *linkedRole) early() error {
	if r.unused.Early("") {
		return fmt.Errorf("a moment ago, Elastic Load Balancing could not use its service-linked role: %w", providers.ErrPending)
	}
	return nil
}

// young reports whether the role may have been made a moment ago, or is made by a call from now on.
func (r *linkedRole) young() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered.IsZero() || time.Since(r.answered) < recentFor
}

// note notes that there is a role.
func (r *linkedRole) note() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered.IsZero() {
		r.answered = time.Now()
	}
}

// ofRole is how answers name the role.
var ofRole = regexp.MustCompile(`(?i)service[- ]linked role|AWSServiceRoleForElasticLoadBalancing`)

// waits is the error of a call that made a load balancer, which is ErrPending where it may be for
// the role alone. A denial that names an action is of a right that is missing.
func (r *linkedRole) waits(young bool, err error) error {
	if err == nil {
		r.note()
		r.unused.Forget("")
		return nil
	}
	text, code := err.Error(), errorcode.Of(err)
	denied := slices.Contains([]string{"AccessDenied", "UnauthorizedOperation"}, code)
	if code == "" || refusedAction.MatchString(text) || !denied && !ofRole.MatchString(text) {
		return err // which may come before AWS looks for the role
	}
	r.note()
	if !young {
		return err
	}
	r.unused.Wait("", activeWait, activeWaitMax)
	return fmt.Errorf("%s; the service-linked role of Elastic Load Balancing may have been made a moment ago, and is waited for: %w", describe(err), providers.ErrPending)
}

package client

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"
)

// This file distinguishes a resource that AWS does not find yet from one that does not exist. AWS's
// services are eventually consistent: a call right after the creation of a resource may not find it
// (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html). AWS publishes no
// bound.

// DefaultLag is the time for which a resource that this process created counts as existing,
// whatever AWS answers. Options.Lag replaces it.
const DefaultLag = 2 * time.Minute

// unfound has the error codes for a resource that AWS does not find, each with a part of the ARNs
// or IDs of such resources.
var unfound = map[string]string{
	"LoadBalancerNotFound":            ":loadbalancer/",
	"ListenerNotFound":                ":listener/",
	"RuleNotFound":                    ":listener-rule/",
	"TargetGroupNotFound":             ":targetgroup/",
	"CertificateNotFound":             ":certificate/",
	"ResourceNotFound":                ":certificate/", // of Certificate Manager
	"InvalidGroup.NotFound":           "sg-",
	"InvalidSecurityGroup":            "sg-",
	"InvalidSecurityGroupID.NotFound": "sg-",
	"WAFNonexistentItem":              ":loadbalancer/",
	"InvalidResource":                 ":loadbalancer/", // of Shield
}

// The wait before a call that did not find a new resource is repeated: the first, and the longest.
const (
	tooSoonWait    = time.Second
	tooSoonWaitMax = 15 * time.Second
)

// Recent holds the resources that this process created a moment ago, by ARN or ID.
type Recent struct {
	// forgetMissing forgets IDs that AWS does not find, and reports whether one was known. The next
	// try does not use it.
	forgetMissing func(ids []string) bool
	Lag           time.Duration // the time for which a resource counts as new

	mu   sync.Mutex
	made map[string]time.Time
	// waits are the calls that did not find a resource.
	waits map[about]unseen
}

// about identifies calls of one operation that name one resource.
type about struct{ operation, id string }

// An unseen holds the answer that a resource was not found, and the time until which it answers
// other calls.
type unseen struct {
	said error
	end  time.Time
	next time.Duration
}

// NewRecent returns Resources without state. A lag of zero is DefaultLag.
func NewRecent(lag time.Duration, forgetMissing func(ids []string) bool) *Recent {
	return &Recent{Lag: cmp.Or(lag, DefaultLag), forgetMissing: forgetMissing}
}

// AddTo adds the Resources to the middleware of each call of the SDK.
func (r *Recent) AddTo(stack *middleware.Stack) error {
	watch := middleware.InitializeMiddlewareFunc("Recent", r.recordCall)
	return stack.Initialize.Add(watch, middleware.After) //nolint:misspell // the SDK names it so
}

// recordCall records the resources that a call created or deleted. It marks the error that a new
// resource does not exist with awserr.TooSoon.
func (r *Recent) recordCall(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	began := time.Now()
	operation := awsmiddleware.GetOperationName(ctx)
	if early := r.Early(operation, in.Parameters); early != nil {
		return middleware.InitializeOutput{}, middleware.Metadata{}, early
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	switch {
	case err != nil:
		kind, known := unfound[ErrorCode(err)]
		switch {
		case !known:
		case r.knew(began, kind, in.Parameters):
			err = markTooSoon(err)
			r.wait(operation, kind, in.Parameters, err)
		// Not Describe, Delete or Deregister.
		case !strings.HasPrefix(operation, "D") && r.forgetMissing(idsOf(kind, in.Parameters)):
			err = markTooSoon(err)
		}
	case strings.HasPrefix(operation, "Delete"):
		r.remove(textsIn(reflect.ValueOf(in.Parameters)))
	default:
		r.add(madeBy(in.Parameters, out.Result))
	}
	return out, metadata, err
}

// idsOf returns the ARNs or IDs of a kind in a call.
func idsOf(kind string, call any) []string {
	return slices.DeleteFunc(textsIn(reflect.ValueOf(call)), func(text string) bool {
		return !strings.Contains(text, kind)
	})
}

// Early returns the earlier answer for a call that is too early, and nil for a call that is to be
// made.
func (r *Recent) Early(operation string, call any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waits) == 0 {
		return nil
	}
	now := time.Now()
	for _, text := range textsIn(reflect.ValueOf(call)) {
		if w := r.waits[about{operation, text}]; now.Before(w.end) && now.Sub(r.made[text]) < r.Lag {
			return w.said
		}
	}
	return nil
}

// wait delays calls of an operation that did not find a resource of a kind. Each delay is longer
// than the last.
func (r *Recent) wait(operation, kind string, call any, said error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, text := range textsIn(reflect.ValueOf(call)) {
		if !strings.Contains(text, kind) {
			continue
		}
		if r.waits == nil {
			r.waits = map[about]unseen{}
		}
		of := about{operation, text}
		if w := r.waits[of]; now.Before(w.end) {
			continue // of a call at the same time
		}
		this := max(tooSoonWait, r.waits[of].next)
		r.waits[of] = unseen{said, now.Add(this), min(tooSoonWaitMax, this*3/2)}
	}
}

// Unfound reports whether a call did not find a resource that this process created a moment ago,
// and will be repeated.
func (r *Recent) Unfound(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, w := range r.waits {
		if of.id == id && time.Now().Before(w.end) && time.Since(r.made[id]) < r.Lag {
			return true
		}
	}
	return false
}

// madeBy returns the ARNs or IDs of the resources that a call created. The answer may also name
// resources that existed before: the target groups that a rule forwards to, the certificates and
// the trust store that an Ingress names.
func madeBy(in, out any) []string {
	var made []*string
	switch out := out.(type) {
	case *elb.CreateLoadBalancerOutput:
		made = Map(out.LoadBalancers, func(b elbtypes.LoadBalancer) *string {
			return b.LoadBalancerArn
		})
	case *elb.CreateListenerOutput:
		made = Map(out.Listeners, func(l elbtypes.Listener) *string { return l.ListenerArn })
	case *elb.CreateRuleOutput:
		made = Map(out.Rules, func(r elbtypes.Rule) *string { return r.RuleArn })
	case *elb.CreateTargetGroupOutput:
		made = Map(out.TargetGroups, func(g elbtypes.TargetGroup) *string {
			return g.TargetGroupArn
		})
	case *ec2.CreateSecurityGroupOutput:
		made = append(made, out.GroupId)
	case *acm.ImportCertificateOutput:
		// with an ARN, it replaces that certificate
		if asked, is := in.(*acm.ImportCertificateInput); is && asked.CertificateArn == nil {
			made = append(made, out.CertificateArn)
		}
	}
	return Map(made, aws.ToString)
}

// add adds resources that were created.
func (r *Recent) add(made []string) {
	if len(made) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.made, func(_ string, at time.Time) bool { return now.Sub(at) >= r.Lag })
	maps.DeleteFunc(r.waits, func(of about, _ unseen) bool { return r.made[of.id].IsZero() })
	if r.made == nil {
		r.made = map[string]time.Time{}
	}
	for _, id := range made {
		r.made[id] = now
	}
}

// remove removes resources that were deleted, and those inside them.
func (r *Recent) remove(texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range texts {
		inside := pathOf(text) + "/"
		maps.DeleteFunc(r.made, func(id string, _ time.Time) bool {
			return id == text || strings.HasPrefix(text, "arn:") && strings.HasPrefix(pathOf(id), inside)
		})
	}
}

// pathOf returns the path in the ARN of a load balancer, a listener or a rule. The path of a
// resource begins with that of the resource that it is in; those of load balancers have the parts
// app/NAME/ID. The path of a target group has the parts NAME/ID.
func pathOf(arn string) string {
	_, resource, found := strings.Cut(arn, ":elasticloadbalancing:")
	if !found {
		return arn
	}
	_, path, _ := strings.Cut(resource, "/")
	return path
}

// Unlisted returns a resource that this process created a moment ago for a load balancer, and that
// an observation did not find; "" for none.
func (r *Recent) Unlisted(name string, found map[string]bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for arn, at := range r.made {
		if strings.HasPrefix(pathOf(arn), "app/"+name+"/") && time.Since(at) < r.Lag && !found[arn] {
			return arn
		}
	}
	return ""
}

// Knows reports whether a call is about a resource of a kind that was created a moment ago.
func (r *Recent) Knows(kind string, call any) bool { return r.knew(time.Now(), kind, call) }

// knew reports whether a call was about a resource of a kind that had been created a moment before.
func (r *Recent) knew(then time.Time, kind string, call any) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range textsIn(reflect.ValueOf(call)) {
		if then.Sub(r.made[text]) < r.Lag && strings.Contains(text, kind) {
			return true
		}
	}
	return false
}

// textsIn returns all strings in a call or in its answer.
func textsIn(v reflect.Value) []string {
	var out []string
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Pointer, reflect.Interface:
		return textsIn(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = append(out, textsIn(v.Field(i))...)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			out = append(out, textsIn(v.Index(i))...)
		}
	default: // numbers, and fields of the SDK itself
	}
	return out
}

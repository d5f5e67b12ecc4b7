package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/providers"
)

// refused is an error as the SDK gives it.
func refused(service, operation, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: &awshttp.ResponseError{
		RequestID:     "4711",
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}}, Err: &smithy.GenericAPIError{Code: code, Message: message}},
	}}
}

// TestWhatAWSRefusesIsExplained reads what people are told: AWS's words, the request, and what to
// do.
func TestWhatAWSRefusesIsExplained(t *testing.T) {
	const elbv2 = "Elastic Load Balancing v2"
	for name, c := range map[string]struct {
		err   error
		class error
		says  []string
		hides string
	}{
		"an action that AWS names": {
			refused(elbv2, "CreateRule", "AccessDenied", "User: arn:aws:sts::1:assumed-role/r/s is not authorized to perform: elasticloadbalancing:AddTags on resource: arn:aws:elb:x because no identity-based policy allows it"),
			providers.ErrDenied, []string{"AccessDenied: User: ", "(request 4711)", "allow the operator's role elasticloadbalancing:AddTags on arn:aws:elb:x, as docs/iam-policy.json does"}, "",
		},
		"an action on nothing in particular": {
			refused("ACM", "ListCertificates", "AccessDeniedException", "User: u is not authorized to perform: acm:ListCertificates on resource: *"),
			providers.ErrDenied, []string{"allow the operator's role acm:ListCertificates, as"}, "",
		},
		"an action without a resource": {
			refused("ACM", "ListCertificates", "AccessDeniedException", "User: u is not authorized to perform: acm:ListCertificates"),
			providers.ErrDenied, []string{"allow the operator's role acm:ListCertificates, as"}, "",
		},
		"an action of a service that has no policy here": {
			refused("Route 53", "ListHostedZones", "AccessDenied", "no"),
			providers.ErrDenied, []string{"the operator's role lacks a permission"}, "",
		},
		"a resource that AWS does not find yet": {
			markTooSoon(refused(elbv2, "CreateRule", "TargetGroupNotFound", "no")),
			providers.ErrPending, []string{"TargetGroupNotFound: no", "was created a moment ago"}, "",
		},
		"load balancers, where the message mentions a year": {
			refused(elbv2, "CreateLoadBalancer", "TooManyLoadBalancers", "50 load balancers in the last year"),
			providers.ErrNoRoom, []string{"L-53DA6B97"}, "L-3808DC70",
		},
		"an action that AWS hides": {
			refused("EC2", "AuthorizeSecurityGroupIngress", "UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: 4HafAqB-x_y"),
			providers.ErrDenied, []string{"UnauthorizedOperation: You are not authorized to perform this operation. (request", "allow the operator's role ec2:AuthorizeSecurityGroupIngress, as"}, "4HafAqB",
		},
		"a token that has run out": {
			refused("STS", "GetCallerIdentity", "ExpiredTokenException", "The security token included in the request is expired"),
			providers.ErrDenied, []string{"the operator's credentials are not valid"}, "",
		},
		"a region that is not enabled":           {refused("EC2", "DescribeSubnets", "OptInRequired", "no"), providers.ErrDenied, []string{"enable the region"}, ""},
		"rules":                                  {refused(elbv2, "CreateRule", "TooManyRules", "101"), providers.ErrNoRoom, []string{`"Rules per Application Load Balancer" (L-7EED9B64) is used up: ask AWS`}, ""},
		"load balancers":                         {refused(elbv2, "CreateLoadBalancer", "TooManyLoadBalancers", "51"), providers.ErrNoRoom, []string{`"Application Load Balancers per Region" (L-53DA6B97) of 50, unless AWS has raised it, is used up: ask AWS`}, ""},
		"listeners":                              {refused(elbv2, "CreateListener", "TooManyListeners", "51"), providers.ErrNoRoom, []string{"L-B6DF7632"}, ""},
		"certificates":                           {refused(elbv2, "AddListenerCertificates", "TooManyCertificates", "26"), providers.ErrNoRoom, []string{"L-9365A611"}, ""},
		"target groups of the region":            {refused(elbv2, "CreateTargetGroup", "TooManyTargetGroups", "3001"), providers.ErrNoRoom, []string{"L-B22855CB"}, ""},
		"target groups of a load balancer":       {refused(elbv2, "CreateRule", "TooManyUniqueTargetGroupsPerLoadBalancer", "101"), providers.ErrRejected, []string{"L-822D1B1B", "does not raise it"}, ""},
		"targets":                                {refused(elbv2, "RegisterTargets", "TooManyTargets", "1001"), providers.ErrNoRoom, []string{"L-A0D0B863", "L-7E6692B2"}, ""},
		"security groups":                        {refused("EC2", "CreateSecurityGroup", "SecurityGroupLimitExceeded", "2501"), providers.ErrNoRoom, []string{"L-E79EC296"}, ""},
		"rules of a security group":              {refused("EC2", "AuthorizeSecurityGroupIngress", "RulesPerSecurityGroupLimitExceeded", "61"), providers.ErrNoRoom, []string{"L-0EA8095F"}, ""},
		"security groups of a network interface": {refused("EC2", "ModifyNetworkInterfaceAttribute", "SecurityGroupsPerInterfaceLimitExceeded", "6"), providers.ErrNoRoom, []string{"L-2AFB9258) of 5, unless"}, ""},
		"certificates of the account":            {refused("ACM", "ImportCertificate", "LimitExceededException", "2501"), providers.ErrNoRoom, []string{"L-D2CB7DE9, L-3808DC70) of 2500, or 5000, unless", "until there is room"}, ""},
		"certificates of a year":                 {refused("ACM", "ImportCertificate", "LimitExceededException", "Error: you have reached your limit of 20 certificates in the last year."), providers.ErrNoRoom, []string{`the quota "Imported certificates in last 365 days" (L-3808DC70) of 5000, unless`, "makes no room", "until there is room"}, "L-D2CB7DE9"},
		"tags":                                   {refused(elbv2, "AddTags", "TooManyTags", "51"), providers.ErrRejected, []string{"a quota is used up, and AWS does not raise it"}, ""},
		"a value that AWS does not take":         {refused(elbv2, "CreateRule", "ValidationError", "Condition value 'a' contains a character that is not valid"), providers.ErrRejected, []string{"contains a character that is not valid (request 4711)"}, ""},
		"too many calls":                         {refused(elbv2, "CreateRule", "Throttling", "Rate exceeded"), providers.ErrThrottled, []string{"share its rates"}, ""},
		"too many calls, in EC2's words":         {refused("EC2", "DescribeSubnets", "RequestLimitExceeded", "no"), providers.ErrThrottled, nil, ""},
		"a security group in use":                {refused("EC2", "DeleteSecurityGroup", "InvalidGroup.InUse", "no"), providers.ErrPending, nil, ""},
		"a trust store that is being made":       {refused(elbv2, "CreateListener", "TrustStoreNotReady", "no"), providers.ErrPending, nil, ""},
		"what is in use":                         {refused(elbv2, "DeleteTargetGroup", "ResourceInUse", "no"), providers.ErrPending, nil, ""},
		"a prefix list that is not there":        {refused("EC2", "AuthorizeSecurityGroupIngress", "InvalidPrefixListID.NotFound", "The prefix list ID 'pl-1' does not exist"), providers.ErrRejected, []string{"'pl-1'"}, ""},
		"a prefix list, in the other spelling":   {refused("EC2", "AuthorizeSecurityGroupIngress", "InvalidPrefixListId.NotFound", "no"), providers.ErrRejected, nil, ""},
		"a rule of a security group that is odd": {refused("EC2", "AuthorizeSecurityGroupIngress", "InvalidPermission.Malformed", "no"), providers.ErrRejected, nil, ""},
		"a clock that is wrong":                  {refused("EC2", "DescribeSubnets", "RequestExpired", "no"), providers.ErrDenied, []string{"set the clock"}, ""},
		"a certificate that is no good":          {refused("ACM", "ImportCertificate", "InvalidParameterException", "no"), providers.ErrRejected, nil, ""},
		"a certificate that is being changed":    {refused("ACM", "ImportCertificate", "ConflictException", "no"), providers.ErrPending, nil, ""},
		"a tag that a tag policy forbids":        {refused("ACM", "ImportCertificate", "TagPolicyException", "no"), providers.ErrRejected, nil, ""},
		"web ACLs":                               {refused("WAFV2", "AssociateWebACL", "WAFLimitsExceededException", "no"), providers.ErrNoRoom, []string{"a quota is used up: ask AWS"}, ""},
		"a web ACL of a pricing plan":            {refused("WAFV2", "AssociateWebACL", "WAFFeatureNotIncludedInPricingPlanException", "no"), providers.ErrRejected, nil, ""},
		"protections":                            {refused("Shield", "CreateProtection", "LimitsExceededException", "no"), providers.ErrNoRoom, nil, ""},
		"a resource that cannot be protected":    {refused("Shield", "CreateProtection", "InvalidResourceException", "no"), providers.ErrRejected, nil, ""},
		"a protection that changes":              {refused("Shield", "DeleteProtection", "OptimisticLockException", "no"), providers.ErrPending, nil, ""},
		"capacity that is being reserved":        {refused(elbv2, "SetSubnets", "CapacityReservationPending", "no"), providers.ErrPending, nil, ""},
		"health that AWS cannot tell":            {refused(elbv2, "DescribeTargetHealth", "HealthUnavailable", "no"), providers.ErrPending, nil, ""},
		"a tag that is given twice":              {refused(elbv2, "CreateLoadBalancer", "DuplicateTagKeys", "no"), providers.ErrRejected, nil, ""},
		"what nobody knows":                      {refused(elbv2, "CreateRule", "InternalFailure", "oops"), nil, []string{"InternalFailure: oops (request 4711)"}, ""},
		"a call that was never answered":         {&smithy.OperationError{ServiceID: elbv2, OperationName: "CreateRule", Err: context.DeadlineExceeded}, context.DeadlineExceeded, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Explain("working", c.err)
			for _, class := range []error{providers.ErrDenied, providers.ErrPending, providers.ErrRejected, providers.ErrNoRoom, providers.ErrThrottled, context.DeadlineExceeded} {
				if is := errors.Is(got, class); is != errors.Is(c.class, class) {
					t.Errorf("%q is %v: %v", got, class, is)
				}
			}
			for _, says := range append(c.says, "working: ") {
				if !strings.Contains(got.Error(), says) {
					t.Errorf("%q does not say %q", got, says)
				}
			}
			if c.hides != "" && strings.Contains(got.Error(), c.hides) {
				t.Errorf("%q says what nobody can read", got)
			}
		})
	}
}

// What the account says of its limits is said of those that are used up, and what AWS publishes of
// no other.
func TestHowMuchThereIsOfAQuota(t *testing.T) {
	known := map[string]int{"application-load-balancers": 70}
	for code, want := range map[string]string{
		"TooManyLoadBalancers": "(L-53DA6B97) of 70 is used up",
		"TooManyTargetGroups":  "(L-B22855CB) of 3000, unless AWS has raised it, is used up",
		"TooManyRules":         "(L-7EED9B64) is used up",
		"TooManyActions":       "a quota is used up, and AWS does not raise it",
	} {
		got := ExplainWith("creating", refused("Elastic Load Balancing v2", "Create", code, "no"), known)
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// An answer without the ID of a request is described without one.
func TestARequestWithoutAnIDIsNotNamed(t *testing.T) {
	err := &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadGateway}},
		Err:      &smithy.GenericAPIError{Code: "BadGateway", Message: "no answer"},
	}}
	if got := Describe(err); got != "BadGateway: no answer" {
		t.Errorf("it is described as %q", got)
	}
}

// An error has its own code, and none once it is known that the resource will be found.
func TestAnErrorHasItsCodeOnly(t *testing.T) {
	notFound := refused("Elastic Load Balancing v2", "DescribeRules", "RuleNotFoundException", "no")
	for name, c := range map[string]struct {
		err   error
		codes []string
		want  bool
	}{
		"no error":          {nil, []string{"RuleNotFound", ""}, false},
		"its code":          {notFound, []string{"ListenerNotFound", "RuleNotFound"}, true},
		"another code":      {notFound, []string{"ListenerNotFound"}, false},
		"it comes too soon": {markTooSoon(notFound), []string{"RuleNotFound"}, false},
	} {
		if got := HasCode(c.err, c.codes...); got != c.want {
			t.Errorf("%s: is one of %q: %v, want %v", name, c.codes, got, c.want)
		}
	}
}

// An answer that lacks what it must have is an error that says so.
func TestAnswersThatLackAPart(t *testing.T) {
	const says = "AWS answered CreateRule without the rule"
	if got, err := RequireOne([]string{"first", "second"}, "CreateRule", "the rule"); err != nil || *got != "first" {
		t.Errorf("of a list there is %v, %v", got, err)
	}
	if got, err := RequireOne[string](nil, "CreateRule", "the rule"); got != nil || err == nil || err.Error() != says {
		t.Errorf("of an empty list there is %v, %v", got, err)
	}
	if got, err := RequireID(aws.String("arn"), "CreateRule", "the rule"); err != nil || got != "arn" {
		t.Errorf("of a text there is %q, %v", got, err)
	}
	for _, empty := range []*string{nil, aws.String("")} {
		if got, err := RequireID(empty, "CreateRule", "the rule"); got != "" || err == nil || err.Error() != says {
			t.Errorf("of no text there is %q, %v", got, err)
		}
	}
}

package awserr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/providers"
)

// This file gives advice about an error of AWS: which permission the operator's role lacks, which
// quota is used up.

// AWS names the action that it refuses, and the resource; or it does so in an encoded message,
// which only a role with a permission for it can decode.
var (
	RefusedAction = regexp.MustCompile(`not authorized to perform: ([a-z0-9-]+:[A-Za-z0-9]+)(?: on ` +
		`resource: ([^ ]+))?`)
	encoded = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)
)

// prefixes are the beginnings of actions in policies, by the name of the service in the SDK.
var prefixes = map[string]string{
	"ACM": "acm", "EC2": "ec2", "Elastic Load Balancing v2": "elasticloadbalancing",
	"Resource Groups Tagging API": "tag", "Shield": "shield", "STS": "sts", "WAFV2": "wafv2",
}

// permit says which action the operator's role has to be allowed: the one that AWS names, else the
// one with the name of the call.
func permit(err error) string {
	var call *smithy.OperationError
	action, on := "", ""
	if said := RefusedAction.FindStringSubmatch(err.Error()); said != nil {
		if action = said[1]; said[2] != "" && said[2] != "*" {
			on = " on " + said[2]
		}
	} else if errors.As(err, &call) && prefixes[call.Service()] != "" {
		action = prefixes[call.Service()] + ":" + call.Operation()
	}
	if action == "" {
		return "the operator's role lacks a permission: docs/iam-policy.json has all that it needs"
	}
	if section := besides[action]; section != "" {
		return fmt.Sprintf("allow the operator's role %s%s; docs/aws/iam.md says when it needs more "+
			"than docs/iam-policy.json, under %q", action, on, section)
	}
	return fmt.Sprintf("allow the operator's role %s%s, as docs/iam-policy.json does", action, on)
}

// besides are the actions that may be refused although the role has docs/iam-policy.json, with the
// sections of docs/aws/iam.md that say why.
var besides = map[string]string{
	"acm:AddTagsToCertificate":               "What AWS cannot express",
	"acm:ImportCertificate":                  "What AWS cannot express",
	"cognito-idp:DescribeUserPoolClient":     "User pools",
	"elasticloadbalancing:DeleteRule":        "Rules that others have made",
	"elasticloadbalancing:ModifyRule":        "Rules that others have made",
	"elasticloadbalancing:SetRulePriorities": "Rules that others have made",
	"shield:DeleteProtection":                "What AWS cannot express",
	"shield:TagResource":                     "What AWS cannot express",
}

// unusable are errors that no policy causes, with advice where the credentials are not the cause.
var unusable = map[string]string{
	"AuthFailure": "", "ExpiredToken": "", "InvalidClientTokenId": "", "SignatureDoesNotMatch": "",
	"UnrecognizedClient": "", "IncompleteSignature": "",
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/CommonErrors.html: the
	// request reached the service more than 15 minutes after, or before, the time that it is stamped
	// with.
	"RequestExpired": "set the clock of the operator's node",
	"OptInRequired":  "enable the region, or the service, for the account",
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
	"Blocked": "AWS has blocked the account: ask AWS Support",
}

// AdviseOnCredentials returns advice about credentials that cannot be used.
func AdviseOnCredentials(code string) string {
	if advice := unusable[code]; advice != "" {
		return advice
	}
	return "the operator's credentials are not valid: see to its service account, or to the clock " +
		"of its node"
}

// A Quota is a limit, by its name and its code in Service Quotas. Quotas that the whole account
// shares have a size: the account's own limit where it is known, else the published one.
type Quota struct {
	Name, Code string
	Limit      string // the name in the account's limits, where these have it
	Usual      string
}

// Quotas are the quotas that errors are about, by code.
var Quotas = map[string]Quota{
	"TooManyLoadBalancers":                     {"Application Load Balancers per Region", "L-53DA6B97", "application-load-balancers", "50"},
	"TooManyRules":                             {"Rules per Application Load Balancer", "L-7EED9B64", "", ""},
	"TooManyListeners":                         {"Listeners per Application Load Balancer", "L-B6DF7632", "", ""},
	"TooManyCertificates":                      {"Certificates per Application Load Balancer", "L-9365A611", "", ""},
	"TooManyTargetGroups":                      {"Target Groups per Region", "L-B22855CB", "target-groups", "3000"},
	"TooManyUniqueTargetGroupsPerLoadBalancer": {"Target Groups per Application Load Balancer", "L-822D1B1B", "", ""},
	"TooManyTargets":                           {"Targets per Target Group per Region, or Targets per Application Load Balancer", "L-A0D0B863, L-7E6692B2", "", ""},
	"SecurityGroupLimitExceeded":               {"VPC security groups per Region", "L-E79EC296", "", "2500"},
	"RulesPerSecurityGroupLimitExceeded":       {"Inbound or outbound rules per security group", "L-0EA8095F", "", "60"},
	"SecurityGroupsPerInterfaceLimitExceeded":  {"Security groups per network interface", "L-2AFB9258", "", "5"},
	"LimitExceeded":                            {"Imported certificates, or Imported certificates in last 365 days", "L-D2CB7DE9, L-3808DC70", "", "2500, or 5000"},
	importsOfAYear:                             {"Imported certificates in last 365 days", "L-3808DC70", "", "5000"},
}

// importsOfAYear stands for the code of Certificate Manager where the quota of imports in a year is
// used up. The quota of certificates has the same code; the message of this one mentions the year
// (https://github.com/hashicorp/terraform-provider-aws/issues/14025).
const importsOfAYear = "LimitExceeded in the last year"

var yearly = regexp.MustCompile(`(?i)\b(last|per) year\b|\b365 days\b`)

// quotaIn returns the key in Quotas of the quota that an error is about.
func quotaIn(code string, err error) string {
	if code == "LimitExceeded" && yearly.MatchString(err.Error()) {
		return importsOfAYear
	}
	return code
}

// fixed are limits that AWS does not raise, and that no other user of the account can free.
var fixed = []string{"TargetGroupAssociationLimit", "TooManyActions", "TooManyTags",
	"TooManyUniqueTargetGroupsPerLoadBalancer"}

// raise says which quota is used up, its size, and advice: other users of the account may free some
// of it, and AWS may raise it, unless it is fixed.
func raise(code string, known map[string]int) (advice string, class error) {
	name := "a quota is used up"
	if q, named := Quotas[code]; named {
		name = fmt.Sprintf("the quota %q (%s)%s is used up", q.Name, q.Code, q.most(known))
	}
	if slices.Contains(fixed, code) {
		return name + ", which AWS raises for nobody: serve less from this load balancer",
			providers.ErrRejected
	}
	if code == importsOfAYear {
		return name + ": ask AWS to raise it; to delete certificates makes no room, and those that " +
			"were imported earlier are served on", providers.ErrNoRoom
	}
	return name + ": ask AWS to raise it, or serve less", providers.ErrNoRoom
}

// most returns the size of a quota in words.
func (q Quota) most(known map[string]int) string {
	switch most := known[q.Limit]; {
	case most > 0:
		return fmt.Sprintf(" of %d", most)
	case q.Usual != "":
		return fmt.Sprintf(" of %s, unless AWS has raised it,", q.Usual)
	}
	return ""
}

// readable returns a message without its encoded part.
func readable(message string) string {
	return strings.TrimSpace(encoded.ReplaceAllString(message, ""))
}

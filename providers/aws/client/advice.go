package client

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/providers"
)

// This file adds advice to an error of AWS: the permission that the operator's role lacks, the
// quota that is used up.

// AWS names the action that it refuses, and the resource, in plain text or in an encoded message.
// Only a role with a permission for it can decode that.
var (
	RefusedAction = regexp.MustCompile(`not authorized to perform: ([a-z0-9-]+:[A-Za-z0-9]+)(?: on ` +
		`resource: ([^ ]+))?`)
	encoded = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)
)

// prefixes has the prefix of actions in policies, by the name of the service in the SDK.
var prefixes = map[string]string{
	"ACM": "acm", "EC2": "ec2", "Elastic Load Balancing v2": "elasticloadbalancing",
	"Resource Groups Tagging API": "tag", "Shield": "shield", "STS": "sts", "WAFV2": "wafv2",
}

// adviseOnPermission names the action to allow for the operator's role: the one that AWS names,
// else the one with the name of the call.
func adviseOnPermission(err error) string {
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
	if section := actionSections[action]; section != "" {
		return fmt.Sprintf("allow the operator's role %s%s; docs/how-to/iam.md says when it needs more "+
			"than docs/iam-policy.json, under %q", action, on, section)
	}
	return fmt.Sprintf("allow the operator's role %s%s, as docs/iam-policy.json does", action, on)
}

// actionSections has the actions that AWS may refuse although the role has docs/iam-policy.json,
// each with the section of docs/how-to/iam.md that explains it.
var actionSections = map[string]string{
	"acm:AddTagsToCertificate":               "What AWS cannot express",
	"acm:ImportCertificate":                  "What AWS cannot express",
	"cognito-idp:DescribeUserPoolClient":     "User pools",
	"elasticloadbalancing:DeleteRule":        "Rules from other tools",
	"elasticloadbalancing:DeregisterTargets": "Target groups from other tools",
	"elasticloadbalancing:ModifyRule":        "Rules from other tools",
	"elasticloadbalancing:RegisterTargets":   "Target groups from other tools",
	"elasticloadbalancing:SetRulePriorities": "Rules from other tools",
	"shield:DeleteProtection":                "What AWS cannot express",
	"shield:TagResource":                     "What AWS cannot express",
}

// credentialErrors has errors of invalid credentials. Those with another cause have advice.
var credentialErrors = map[string]string{
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
	if advice := credentialErrors[code]; advice != "" {
		return advice
	}
	return "the operator's credentials are not valid: check its service account, and the clock " +
		"of its node"
}

// A Quota has the name and the code of a quota in Service Quotas. A quota of the whole account has
// a size: the account's own limit if it is known, else the published one.
type Quota struct {
	Name, Code string
	Limit      string // the name in the account's limits; "" if they lack it
	Default    string
}

// Quotas has the quota for each error code.
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
	yearlyImports:                              {"Imported certificates in last 365 days", "L-3808DC70", "", "5000"},
}

// yearlyImports stands for the code of Certificate Manager if the quota of imports in a year is
// used up. The quota of certificates has the same code; the message of this one mentions the year
// (https://github.com/hashicorp/terraform-provider-aws/issues/14025).
const yearlyImports = "LimitExceeded in the last year"

var yearly = regexp.MustCompile(`(?i)\b(last|per) year\b|\b365 days\b`)

// quotaIn returns the key in Quotas for an error.
func quotaIn(code string, err error) string {
	if code == "LimitExceeded" && yearly.MatchString(err.Error()) {
		return yearlyImports
	}
	return code
}

// fixedLimits has the limits that AWS does not raise, and that no other user of the account can
// free.
var fixedLimits = []string{"TargetGroupAssociationLimit", "TooManyActions", "TooManyTags",
	"TooManyUniqueTargetGroupsPerLoadBalancer"}

// adviseOnQuota names the quota that is used up, with its size and advice. Other users of the
// account may free some of it, and AWS may raise it, unless it is fixed.
func adviseOnQuota(code string, known map[string]int) (advice string, class error) {
	name := "a quota is used up"
	if q, named := Quotas[code]; named {
		name = fmt.Sprintf("the quota %q (%s)%s is used up", q.Name, q.Code, q.describeSize(known))
	}
	if slices.Contains(fixedLimits, code) {
		return name + ", and AWS does not raise it: serve fewer routes with this load balancer",
			providers.ErrRejected
	}
	if code == yearlyImports {
		return name + ": ask AWS to raise it; deleting certificates makes no room, and certificates " +
			"that were imported earlier stay served", providers.ErrNoRoom
	}
	return name + ": ask AWS to raise it, or serve fewer routes", providers.ErrNoRoom
}

// describeSize returns the size of a quota in words.
func (q Quota) describeSize(known map[string]int) string {
	switch most := known[q.Limit]; {
	case most > 0:
		return fmt.Sprintf(" of %d", most)
	case q.Default != "":
		return fmt.Sprintf(" of %s, unless AWS has raised it,", q.Default)
	}
	return ""
}

// withoutEncodedPart returns a message without its encoded part.
func withoutEncodedPart(message string) string {
	return strings.TrimSpace(encoded.ReplaceAllString(message, ""))
}

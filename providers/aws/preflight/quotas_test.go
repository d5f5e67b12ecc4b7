package preflight

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
)

func TestImportsOfTheYear(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	recently := acmtypes.CertificateSummary{ImportedAt: aws.Time(now.AddDate(0, -11, 0))}
	yearAgo := acmtypes.CertificateSummary{ImportedAt: aws.Time(now.Add(-365 * 24 * time.Hour))}
	before := acmtypes.CertificateSummary{ImportedAt: aws.Time(now.AddDate(0, -13, 0))}
	for name, c := range map[string]struct {
		found []acmtypes.CertificateSummary
		want  check.State
		says  string
	}{
		"none":                   {nil, check.OK, "at least 0 are used"},
		"one of the year":        {[]acmtypes.CertificateSummary{recently, yearAgo, before, {}}, check.OK, "at least 1 are used"},
		"all that AWS publishes": {slices.Repeat([]acmtypes.CertificateSummary{recently}, 5000), check.Unknown, "at least 5000 are used"},
	} {
		got := importsOfTheYear("id", "title", c.found, now)
		if got.State != c.want || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

const (
	balancersTitle = `aws/quota/load-balancers | quota "Application Load Balancers per Region" (L-53DA6B97) | `
	targetsTitle   = `aws/quota/target-groups | quota "Target Groups per Region" (L-B22855CB) | `
	groupsTitle    = `aws/quota/security-groups | quota "VPC security groups per Region" (L-E79EC296) | `
	importedTitle  = `aws/quota/imported-certificates | quota "Imported certificates" (L-D2CB7DE9) | `
	importsTitle   = `aws/quota/imports-of-the-year | quota "Imported certificates in last 365 days" (L-3808DC70) | `
)

func TestQuotas(t *testing.T) {
	a := located(t, client.Access{})
	limit := func(name, most string) elb.Limit { return elb.Limit{Name: aws.String(name), Max: aws.String(most)} }
	a.limits = []elb.Limit{limit("condition-values-per-alb-rule", "5"), limit("application-load-balancers", "2"), limit("target-groups", "4")}
	a.balancers = []elb.LoadBalancer{{Type: "application"}, {Type: "network"}, {Type: "application"}}
	a.targetGroups, a.groups = 3, make([]ec2types.SecurityGroup, 2)
	recently := aws.Time(time.Now().AddDate(0, -1, 0))
	a.certificates = []acmtypes.CertificateSummary{{Type: "IMPORTED", ImportedAt: recently}, {Type: "AMAZON_ISSUED"}, {Type: "IMPORTED"}}
	a.checkQuotas(t.Context())
	a.expect(t, "quotas",
		"wrong "+balancersTitle+"2 of 2 are used | ask AWS to raise it, or delete what nothing uses",
		"ok "+targetsTitle+"3 of 4 are used | ",
		"ok "+groupsTitle+"2 of 2500 are used, unless AWS has changed the limit | ",
		"ok "+importedTitle+"2 of 2500 are used, unless AWS has changed the limit | ",
		"ok "+importsTitle+"at least 1 are used: deleted ones count, but AWS does not list them; AWS allows 5000, and some accounts 20 | ",
	)
}

func TestQuotasThatAreNotRead(t *testing.T) {
	a := located(t, client.Access{})
	for _, call := range []string{"DescribeAccountLimits", "DescribeLoadBalancers", "DescribeTargetGroups", "DescribeSecurityGroups", "ListCertificates"} {
		a.refuse[call] = failure
	}
	a.checkQuotas(t.Context())
	a.expect(t, "nothing is reported",
		"unknown aws/quotas | limits of the account | reading the account's limits: InternalFailure: no | ",
		"unknown "+balancersTitle+"listing load balancers: InternalFailure: no | ", "unknown "+targetsTitle+"listing target groups: InternalFailure: no | ",
		"unknown "+groupsTitle+"reading security groups: InternalFailure: no | ", "unknown "+importedTitle+"listing certificates: InternalFailure: no | ", "unknown "+importsTitle+"listing certificates: InternalFailure: no | ",
	)
	// An old role does not have the right to read the limits.
	a = located(t, client.Access{})
	a.refuse["DescribeAccountLimits"] = denied
	a.checkQuotas(t.Context())
	a.expect(t, "the limits are denied, and an answer is empty",
		"unknown aws/quotas | limits of the account | AWS answered DescribeAccountLimits without the limits of the account, or denied it; those that AWS publishes are taken for them | ",
		"ok "+balancersTitle+"0 of 50 are used, unless AWS has changed the limit | ", "ok "+targetsTitle+"0 of 3000 are used, unless AWS has changed the limit | ",
		"unknown "+groupsTitle+"AWS answered DescribeSecurityGroups without the default group that each VPC has | ",
		"ok "+importedTitle+"0 of 2500 are used, unless AWS has changed the limit | ",
		"ok "+importsTitle+"at least 0 are used: deleted ones count, but AWS does not list them; AWS allows 5000, and some accounts 20 | ",
	)
}

func TestHowMuchOfAQuotaIsUsed(t *testing.T) {
	for _, c := range []struct {
		used, most int
		usual      string
		want       check.State
	}{
		{1, 2, "1", check.OK}, {2, 2, "3", check.Wrong}, {3, 2, "3", check.Wrong}, {0, 1, "", check.OK},
		{49, 0, "50", check.OK}, {50, 0, "50", check.Unknown}, {51, 0, "50", check.Unknown}, {-1, 0, "many", check.Unknown},
	} {
		if got := quotaFinding("id", "title", c.used, c.most, c.usual); got.State != c.want || (got.Advice == "") != (c.want == check.OK) {
			t.Errorf("%d of %d, usually %s: %+v", c.used, c.most, c.usual, got)
		}
	}
}

package preflight

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file checks the quotas that all programs in the account share.

// quotaName returns the name and the code of a quota in Service Quotas.
func quotaName(code string) string {
	q := client.Quotas[code]
	return fmt.Sprintf("%q (%s)", q.Name, q.Code)
}

// checkQuotas compares the number of resources with the quotas.
func (i *inspection) checkQuotas(ctx context.Context) {
	if err := i.limits.Load(ctx, false); err != nil {
		i.addFailure("aws/quotas", "limits of the account", err)
	} else if i.limits.Last() == nil {
		i.addFailure("aws/quotas", "limits of the account", client.MissingError("DescribeAccountLimits",
			"the limits of the account, or denied it; those that AWS publishes are taken for them"))
	}
	for _, used := range []struct {
		id, code string
		count    func(context.Context) (int, error)
	}{
		{"load-balancers", "TooManyLoadBalancers", i.loadBalancers},
		{"target-groups", "TooManyTargetGroups", i.targetGroups},
		{"security-groups", "SecurityGroupLimitExceeded", i.securityGroups},
		{"imported-certificates", "LimitExceeded", i.importedCertificates},
	} {
		q := client.Quotas[used.code]
		if used.code == "LimitExceeded" { // two in one
			q = client.Quota{Name: "Imported certificates", Code: "L-D2CB7DE9", Default: "2500"}
		}
		id, title := "aws/quota/"+used.id, fmt.Sprintf("quota %q (%s)", q.Name, q.Code)
		n, err := used.count(ctx)
		if err != nil {
			i.addFailure(id, title, err)
			continue
		}
		i.note(quotaFinding(id, title, n, i.limits.Last()[q.Limit], q.Default))
	}
	i.checkImports(ctx)
}

// The quota of imports in a year that AWS publishes
// (https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html), and that of some new accounts
// (https://github.com/panther-labs/panther/pull/386).
const (
	usualImports = 5000
	fewImports   = 20
)

// checkImports reports the known imports of the last year. AWS lists existing certificates only,
// but the imports of deleted ones count, too.
func (i *inspection) checkImports(ctx context.Context) {
	const id, title = "aws/quota/imports-of-the-year",
		`quota "Imported certificates in last 365 days" (L-3808DC70)`
	found, err := i.listImported(ctx)
	if err != nil {
		i.addFailure(id, title, err)
		return
	}
	i.note(importsOfTheYear(id, title, found, time.Now()))
}

func importsOfTheYear(
	id, title string, found []acmtypes.CertificateSummary, now time.Time,
) check.Finding {
	n := 0
	for _, c := range found {
		if c.ImportedAt != nil && now.Sub(*c.ImportedAt) < 365*24*time.Hour {
			n++
		}
	}
	detail := fmt.Sprintf("at least %d are used: deleted ones count, but AWS does not list them; AWS "+
		"allows %d, and some accounts %d", n, usualImports, fewImports)
	if n >= usualImports {
		return check.Unsure(id, title, detail, "ask AWS to raise it, or have certificates issued by AWS")
	}
	return check.Good(id, title, detail)
}

// quotaFinding reports the use of a quota. most is the account's own limit, or 0 if only the usual
// one is known.
func quotaFinding(id, title string, used, most int, usual string) check.Finding {
	const raise = "ask AWS to raise it, or delete what nothing uses"
	if most > 0 {
		detail := fmt.Sprintf("%d of %d are used", used, most)
		if used >= most {
			return check.Bad(id, title, detail, raise)
		}
		return check.Good(id, title, detail)
	}
	detail := fmt.Sprintf("%d of %s are used, unless AWS has changed the limit", used, usual)
	if n, err := strconv.Atoi(usual); err != nil || used >= n {
		return check.Unsure(id, title, detail, raise)
	}
	return check.Good(id, title, detail)
}

func (i *inspection) loadBalancers(ctx context.Context) (int, error) {
	n := 0
	pages := elbapi.NewDescribeLoadBalancersPaginator(i.ELB, &elbapi.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, client.Explain("listing load balancers", err)
		}
		for _, b := range page.LoadBalancers {
			if b.Type == elb.LoadBalancerTypeEnumApplication {
				n++
			}
		}
	}
	return n, nil
}

func (i *inspection) targetGroups(ctx context.Context) (int, error) {
	n := 0
	pages := elbapi.NewDescribeTargetGroupsPaginator(i.ELB, &elbapi.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, client.Explain("listing target groups", err)
		}
		n += len(page.TargetGroups)
	}
	return n, nil
}

func (i *inspection) securityGroups(ctx context.Context) (int, error) {
	found, err := i.security.Describe(ctx, &ec2.DescribeSecurityGroupsInput{})
	// https://docs.aws.amazon.com/vpc/latest/userguide/default-security-group.html
	if err == nil && len(found) == 0 {
		err = client.MissingError("DescribeSecurityGroups", "the default group that each VPC has")
	}
	return len(found), err
}

func (i *inspection) importedCertificates(ctx context.Context) (int, error) {
	found, err := i.listImported(ctx)
	return len(found), err
}

// listImported returns the certificates that AWS did not issue.
func (i *inspection) listImported(ctx context.Context) ([]acmtypes.CertificateSummary, error) {
	var out []acmtypes.CertificateSummary
	pages := acm.NewListCertificatesPaginator(i.ACM, &acm.ListCertificatesInput{
		Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("listing certificates", err)
		}
		for _, c := range page.CertificateSummaryList {
			if c.Type == acmtypes.CertificateTypeImported {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

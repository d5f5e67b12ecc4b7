package preflight

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"fairlead.dev/fairlead/model/check"
)

func TestImportsOfTheYear(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	recently := acmtypes.CertificateSummary{ImportedAt: aws.Time(now.AddDate(0, -11, 0))}
	before := acmtypes.CertificateSummary{ImportedAt: aws.Time(now.AddDate(0, -13, 0))}
	for name, c := range map[string]struct {
		found []acmtypes.CertificateSummary
		want  check.State
		says  string
	}{
		"none":                   {nil, check.OK, "at least 0 are used"},
		"one of the year":        {[]acmtypes.CertificateSummary{recently, before, {}}, check.OK, "at least 1 are used"},
		"all that AWS publishes": {slices.Repeat([]acmtypes.CertificateSummary{recently}, 5000), check.Unknown, "at least 5000 are used"},
	} {
		got := importsOfTheYear("id", "title", c.found, now)
		if got.State != c.want || !strings.Contains(got.Detail, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

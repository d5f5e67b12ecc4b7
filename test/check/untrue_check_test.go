package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/albsim"
)

// That something is not found tells that an action is allowed only by the code that the action has
// for it.
func TestARightIsNotKnownByAnyCode(t *testing.T) {
	leave := []string{"GetCallerIdentity", "DescribeVpcs", "DescribeSubnets", "DescribeRouteTables"}
	endpoint := serveUntrue(t, albsim.New(albsim.Options{}), func(w http.ResponseWriter, r request) bool {
		return !slices.Contains(leave, r.action) && refused(w, r, "EndpointNotFound", "no")
	})
	got := run(t, endpoint, "--aws-cluster-name", albsim.Cluster)
	for _, line := range got.lines("✓") {
		if strings.Contains(line, "a missing resource") {
			t.Errorf("it says %s", line)
		}
	}
	if want := "? elasticloadbalancing:DescribeRules: not known"; !strings.Contains(got.out, want) {
		t.Errorf("it does not say %q:\n%s", want, got.out)
	}
}

// An endpoint that answers everything and says nothing is not one where everything is allowed.
func TestAnswersThatSayNothingAllowNothing(t *testing.T) {
	leave := []string{"GetCallerIdentity", "DescribeVpcs", "DescribeSubnets", "DescribeRouteTables"}
	got := run(t, serveUntrue(t, albsim.New(albsim.Options{}), func(w http.ResponseWriter, r request) bool {
		return !slices.Contains(leave, r.action) && nothing(w, r)
	}), "--aws-cluster-name", albsim.Cluster)
	for _, want := range []string{
		"? limits of the account: AWS answered DescribeAccountLimits without",
		`? quota "VPC security groups per Region" (L-E79EC296): AWS answered DescribeSecurityGroups without`,
		"? iam:SimulatePrincipalPolicy: IAM does not say what the role may do: AWS answered SimulatePrincipalPolicy without a decision",
		"? elasticloadbalancing:DescribeRules: not known: the endpoint does not answer ListenerNotFound",
		"? ec2:CreateSecurityGroup: not known",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("it does not say %q:\n%s", want, got.out)
		}
	}
}

// An answer that is not of AWS is no fault of the credentials.
func TestAnEndpointThatIsNotOfAWS(t *testing.T) {
	for name, answer := range map[string]untrue{
		"an empty answer":      func(http.ResponseWriter, request) bool { return true },
		"an answer without it": nothing,
		"a page": func(w http.ResponseWriter, _ request) bool {
			fmt.Fprint(w, "<html><body>Sign in</body></html>")
			return true
		},
		"a page that says no": func(w http.ResponseWriter, _ request) bool {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html><body>Bad Gateway</body></html>")
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, serveUntrue(t, albsim.New(albsim.Options{}), answer))
			wrong := got.lines("✗")
			if got.code != 1 || len(wrong) != 1 || !strings.HasPrefix(wrong[0], "✗ identity: the endpoint") || !strings.Contains(wrong[0], "not of AWS") || strings.Contains(wrong[0], "credentials") {
				t.Errorf("exit code %d, it says\n%s%s", got.code, got.out, got.err)
			}
		})
	}
}

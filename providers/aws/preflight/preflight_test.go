package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/awscalls"
)

// environment has the SDK of this process call a server. No instance is around the process.
func environment(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	awscalls.Environment(t, server.URL)
}

// caller answers GetCallerIdentity.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
func caller(arn string) string {
	return "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>" + arn + "</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>"
}

func TestIdentity(t *testing.T) {
	const me = "arn:aws:iam::123456789012:role/fairlead"
	const flag, setting = "ok aws/region | region | eu-west-1, of --aws-region | ", "ok aws/region | region | eu-west-1, of --aws-region, AWS_REGION or the profile | "
	const found = "ok aws/identity | identity | " + me + " | "
	const where = " | see where AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_STS and the profile lead, and whether a proxy answers instead"
	for name, c := range map[string]struct {
		region string
		env    map[string]string
		status int
		answer string
		want   []string // the beginnings of findings
	}{
		"the region is a flag":    {region: "eu-west-1", status: 200, answer: caller(me), want: []string{flag, found}},
		"the region is a setting": {env: map[string]string{"AWS_REGION": "eu-west-1"}, status: 200, answer: caller(me), want: []string{setting, found}},
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-identity-documents.html
		"the region is that of the instance": {
			env: map[string]string{"AWS_EC2_METADATA_DISABLED": "false"}, status: 200, answer: caller(me), want: []string{"ok aws/region | region | eu-west-1, of the instance that this process runs on | ", found},
		},
		"there is no region": {want: []string{"wrong aws/region | region | no region is set, and this process does not run on an instance | name it with --aws-region or AWS_REGION"}},
		"there is no profile": {
			region: "eu-west-1", env: map[string]string{"AWS_PROFILE": "missing"},
			want: []string{"wrong aws/region | region | the settings of AWS cannot be read: failed to get shared config profile, missing | mend AWS_PROFILE or ~/.aws/config"},
		},
		"AWS does not know the caller": {
			region: "eu-west-1", status: 403, answer: "<ErrorResponse><Error><Code>InvalidClientTokenId</Code><Message>The security token is invalid</Message></Error></ErrorResponse>",
			want: []string{flag, "wrong aws/identity | identity | InvalidClientTokenId: The security token is invalid | the operator's credentials are not valid: "},
		},
		"the answer has no ARN": {
			region: "eu-west-1", status: 200, answer: caller(""),
			want: []string{flag, `wrong aws/identity | identity | the endpoint answers GetCallerIdentity with the ARN "", which is none: the answer is empty, or not of AWS` + where},
		},
		"the answer has another ARN": {
			region: "eu-west-1", status: 200, answer: caller("ada"),
			want: []string{flag, `wrong aws/identity | identity | the endpoint answers GetCallerIdentity with the ARN "ada", which is none: the answer is empty, or not of AWS` + where},
		},
		"a proxy answers": {
			region: "eu-west-1", status: 200, answer: "<html>sign in",
			want: []string{flag, "wrong aws/identity | identity | the endpoint's answer to GetCallerIdentity is not of AWS: "},
		},
		"a proxy refuses": {
			region: "eu-west-1", status: 403, answer: "<html></html>",
			want: []string{flag, "wrong aws/identity | identity | the endpoint's answer to GetCallerIdentity is not of AWS: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
				w.WriteHeader(c.status)
				answer := c.answer
				if strings.HasPrefix(r.URL.Path, "/latest/") {
					answer = `{"region":"eu-west-1"}` // a token takes any form
				}
				if _, err := w.Write([]byte(answer)); err != nil {
					t.Error(err)
				}
			})
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			i := &inspection{access: client.Access{Region: c.region}}
			good := i.identify(t.Context())
			got := lines(i.findings)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("findings %q, want %q", got, c.want)
			}
			if want := slices.Contains(c.want, found); good != want || (i.me.AccountID != "") != want || want && i.sdk.Region != "eu-west-1" {
				t.Errorf("it goes on: %v, as %v in %s", good, i.me, i.sdk.Region)
			}
		})
	}
}

// Where STS cannot be reached, the credentials are not to blame.
func TestSTSThatIsNotReached(t *testing.T) {
	environment(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1") // no server listens there
	i := &inspection{access: client.Access{Region: "eu-west-1"}}
	i.identify(t.Context())
	const want = "let this process reach STS in eu-west-1: by a route to the internet, a proxy, or a VPC endpoint"
	if f := i.findings[len(i.findings)-1]; f.State != check.Wrong || f.Advice != want {
		t.Errorf("%+v", f)
	}
	of := func(service string, err error) error {
		return fmt.Errorf("calling: %w", &smithy.OperationError{ServiceID: service, Err: err})
	}
	unsent := &smithyhttp.RequestSendError{Err: failure}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the call itself":             {of("STS", unsent), true},
		"the call for the role":       {of("STS", of("STS", unsent)), true},
		"the instance has the role":   {of("STS", of("ec2imds", unsent)), false},
		"the answer is a refusal":     {of("STS", failure), false},
		"the call is not even made":   {errors.New("no credentials"), false},
		"something else was not sent": {unsent, false},
	} {
		if got := isUnreached(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheVPC(t *testing.T) {
	lost := errors.New("no API server")
	const title = "aws/vpc | VPC | "
	nodes := func(err error, ids ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return ids, err }
	}
	for name, c := range map[string]struct {
		access   client.Access
		instance bool // this process runs on it
		none     bool // subnets
		refuse   error
		want     string
		calls    []string
	}{
		"named":     {access: client.Access{VPC: "vpc-1"}, want: "ok " + title + "vpc-1, named by --aws-vpc-id, with 1 subnets | ", calls: []string{"DescribeSubnets"}},
		"around it": {instance: true, want: "ok " + title + "vpc-2, that of the instance that this process runs on, with 1 subnets | ", calls: []string{"GetMetadata", "GetMetadata", "DescribeSubnets"}},
		"of a node": {
			access: client.Access{Nodes: nodes(nil, "fargate-1", "i-1")}, want: "ok " + title + "vpc-3, that of node i-1, with 1 subnets | ",
			calls: []string{"GetMetadata", "DescribeInstances", "DescribeSubnets"},
		},
		"of the first node": {
			access: client.Access{Nodes: nodes(nil, "i-0", "i-1")}, want: "ok " + title + "vpc-3, that of node i-0, with 1 subnets | ",
			calls: []string{"GetMetadata", "DescribeInstances", "DescribeSubnets"},
		},
		"of no node": {
			access: client.Access{Nodes: nodes(nil, "fargate-1")}, want: "ok " + title + "vpc-4, the only one of the region, with 1 subnets | ",
			calls: []string{"GetMetadata", "DescribeVpcs", "DescribeSubnets"},
		},
		"the only one":           {want: "ok " + title + "vpc-4, the only one of the region, with 1 subnets | ", calls: []string{"GetMetadata", "DescribeVpcs", "DescribeSubnets"}},
		"nodes are not known":    {access: client.Access{Nodes: nodes(lost, "i-1")}, want: "wrong " + title + "no API server | name it with --aws-vpc-id", calls: []string{"GetMetadata"}},
		"without subnets":        {access: client.Access{VPC: "vpc-1"}, none: true, want: "wrong " + title + "vpc-1, named by --aws-vpc-id, has no subnets in eu-west-1 | see whether it is in another region or account; --aws-vpc-id names another one", calls: []string{"DescribeSubnets"}},
		"subnets cannot be read": {access: client.Access{VPC: "vpc-1"}, refuse: failure, want: "unknown " + title + "reading the subnets of vpc-1: InternalFailure: no | ", calls: []string{"DescribeSubnets"}},
	} {
		a := newAccount(c.access)
		if !c.none {
			a.subnets = []ec2types.Subnet{subnet("subnet-a", "eu-west-1a", 251)}
		}
		a.refuse["DescribeSubnets"] = c.refuse
		a.answerPlaces(c.instance)
		good := a.locate(t.Context())
		a.expect(t, name, c.want)
		if good != strings.HasPrefix(c.want, "ok ") || good && len(a.subnets) != 1 {
			t.Errorf("%s: it goes on: %v", name, good)
		}
		awscalls.Expect(t, name, a.aws.Calls(), c.calls)
	}
}

// answerPlaces has an instance in vpc-2, if there is one, nodes in vpc-3, and the region vpc-4.
func (c *accountOf) answerPlaces(instance bool) {
	awscalls.On(&c.aws, func(in *imds.GetMetadataInput) (*imds.GetMetadataOutput, error) {
		text := map[string]string{"mac": "02:00", "network/interfaces/macs/02:00/vpc-id": "vpc-2"}[in.Path]
		if !instance || text == "" {
			return nil, failure
		}
		return &imds.GetMetadataOutput{Content: io.NopCloser(strings.NewReader(text))}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
		return &ec2.DescribeInstancesOutput{Reservations: []ec2types.Reservation{{Instances: []ec2types.Instance{{VpcId: aws.String("vpc-3")}}}}}, nil
	})
	awscalls.On(&c.aws, func(in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
		return &ec2.DescribeVpcsOutput{Vpcs: []ec2types.Vpc{{VpcId: aws.String("vpc-4")}}}, nil
	})
}

// Where AWS does not know the caller, nothing else is asked. Where the VPC is not found, rights are
// looked at all the same.
func TestCheck(t *testing.T) {
	policy(t, `{"Statement":[{"Sid":"Read","Action":"ec2:DescribeVpcs","Resource":"*"}]}`)
	for name, c := range map[string]struct {
		identity string
		subnets  string
		want     []string // the IDs of findings
	}{
		"an unknown caller": {identity: "", want: []string{"aws/region", "aws/identity"}},
		"an empty VPC":      {identity: role.String(), want: []string{"aws/region", "aws/identity", "aws/vpc", "aws/iam/ec2:DescribeVpcs"}},
		"all is there": {
			identity: role.String(), subnets: "<item><subnetId>subnet-a</subnetId></item>",
			want: []string{
				"aws/region", "aws/identity", "aws/vpc", "aws/subnets/internet-facing", "aws/subnets/internal", "aws/node-security-groups", "aws/quotas",
				"aws/quota/load-balancers", "aws/quota/target-groups", "aws/quota/security-groups", "aws/quota/imported-certificates", "aws/quota/imports-of-the-year",
				"aws/iam/ec2:DescribeVpcs",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, func(w http.ResponseWriter, r *http.Request) {
				answer := ""
				switch r.FormValue("Action") {
				case "GetCallerIdentity":
					answer = caller(c.identity)
				case "DescribeSubnets":
					answer = "<DescribeSubnetsResponse><subnetSet>" + c.subnets + "</subnetSet></DescribeSubnetsResponse>"
				case "DescribeRouteTables":
					answer = "<DescribeRouteTablesResponse/>"
				case "SimulatePrincipalPolicy":
					answer = decided("", "ec2:DescribeVpcs", "allowed")
				default:
					w.WriteHeader(http.StatusBadRequest)
				}
				if _, err := w.Write([]byte(answer)); err != nil {
					t.Error(err)
				}
			})
			var got []string
			for _, f := range Check(t.Context(), client.Access{Region: "eu-west-1", VPC: "vpc-1"}) {
				got = append(got, f.ID)
			}
			awscalls.Expect(t, "findings", got, c.want)
		})
	}
}

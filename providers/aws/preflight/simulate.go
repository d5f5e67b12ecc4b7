package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
)

// This file asks IAM what the policies of a role allow. It is the only call of IAM that is made,
// and made by hand: the client of the SDK is larger than all that is used of it here.
//
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html

// A simulation is what IAM is asked about: actions on a resource, in a context.
type simulation struct {
	principal string
	actions   []string
	resource  string
	context   map[string]string // by key of conditions
}

// decisions are those of IAM on each action: allowed, explicitDeny or implicitDeny.
type decisions map[string]string

// principal is the ARN that policies are attached to: of a session, that of its role. The path of a
// role is not in the ARN of its sessions; a role with one is not found by this.
func principal(me arn.ARN) string {
	session, assumed := strings.CutPrefix(me.Resource, "assumed-role/")
	if me.Service == "sts" && assumed {
		role, _, _ := strings.Cut(session, "/")
		me.Service, me.Resource = "iam", "role/"+role
	}
	return me.String()
}

// iamEndpoints are where IAM is in a partition, and the region that requests to it are signed for.
// https://docs.aws.amazon.com/general/latest/gr/iam-service.html
var iamEndpoints = map[string]struct{ url, region string }{
	"aws":        {"https://iam.amazonaws.com", "us-east-1"},
	"aws-cn":     {"https://iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	"aws-us-gov": {"https://iam.us-gov.amazonaws.com", "us-gov-west-1"},
}

// errNoIAM says that it is not known where IAM is.
var errNoIAM = errors.New("the endpoint of IAM in this partition is not known: " +
	"AWS_ENDPOINT_URL_IAM names it")

// simulate asks IAM, page by page.
func simulate(
	ctx context.Context, sdk aws.Config, partition string, s simulation,
) (decisions, error) {
	form := url.Values{
		"Action": {"SimulatePrincipalPolicy"}, "Version": {"2010-05-08"},
		"PolicySourceArn": {s.principal}, "ResourceArns.member.1": {s.resource},
	}
	for n, action := range s.actions {
		form.Set(fmt.Sprintf("ActionNames.member.%d", n+1), action)
	}
	for n, key := range slices.Sorted(maps.Keys(s.context)) {
		entry := fmt.Sprintf("ContextEntries.member.%d.", n+1)
		form.Set(entry+"ContextKeyName", key)
		form.Set(entry+"ContextKeyType", "string")
		form.Set(entry+"ContextKeyValues.member.1", s.context[key])
	}
	out := decisions{}
	for {
		var page struct {
			Result struct {
				Evaluated []struct {
					Action   string `xml:"EvalActionName"`
					Decision string `xml:"EvalDecision"`
				} `xml:"EvaluationResults>member"`
				More   bool   `xml:"IsTruncated"`
				Marker string `xml:"Marker"`
			} `xml:"SimulatePrincipalPolicyResult"`
		}
		if err := askIAM(ctx, sdk, partition, form, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Result.Evaluated {
			out[e.Action] = e.Decision
		}
		if !page.Result.More || page.Result.Marker == "" || page.Result.Marker == form.Get("Marker") {
			return out, nil
		}
		form.Set("Marker", page.Result.Marker)
	}
}

// mostOfAnswer is how much of an answer of IAM is read.
const mostOfAnswer = 1 << 20

// askIAM makes a call of IAM, and reads its answer.
func askIAM(
	ctx context.Context, sdk aws.Config, partition string, form url.Values, answer any,
) error {
	endpoint := iamEndpoints[partition]
	if sdk.BaseEndpoint != nil {
		endpoint.url = *sdk.BaseEndpoint
	}
	if own := os.Getenv("AWS_ENDPOINT_URL_IAM"); own != "" {
		endpoint.url = own
	}
	if endpoint.url == "" {
		return errNoIAM
	}
	if endpoint.region == "" {
		endpoint.region = sdk.Region
	}
	request, err := signedRequest(ctx, sdk, endpoint.url, endpoint.region, form.Encode())
	if err != nil {
		return fmt.Errorf("asking IAM: %w", err)
	}
	client := sdk.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking IAM: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostOfAnswer))
	if err != nil {
		return fmt.Errorf("asking IAM: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var refused struct {
			Code    string `xml:"Error>Code"`
			Message string `xml:"Error>Message"`
		}
		if err := xml.Unmarshal(text, &refused); err != nil || refused.Code == "" {
			return fmt.Errorf("asking IAM: it answers %s", response.Status)
		}
		return &smithy.GenericAPIError{Code: refused.Code, Message: refused.Message}
	}
	if err := xml.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("reading the answer of IAM: %w", err)
	}
	return nil
}

// signedRequest returns a request to IAM with a form, signed with the credentials of the SDK.
func signedRequest(ctx context.Context, sdk aws.Config, url, region, form string) (*http.Request,
	error) {
	address := strings.TrimSuffix(url, "/") + "/"
	//nolint:gosec // the endpoint is the operator's own choice
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	credentials, err := sdk.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(form))
	return request, v4.NewSigner().SignHTTP(ctx, credentials, request,
		hex.EncodeToString(digest[:]), "iam", region, time.Now())
}

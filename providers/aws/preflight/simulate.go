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

// This file asks IAM what the policies of a role allow. It is the only call of IAM, and is made
// without the SDK, whose client would be larger than this file.
//
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html

// A simulation is a question for IAM: actions on a resource, in a context.
type simulation struct {
	principal string
	actions   []string
	resource  string
	context   map[string]string // by condition key
}

// decisions has IAM's decision on each action: allowed, explicitDeny or implicitDeny.
type decisions map[string]string

// policyOwner returns the ARN that policies are attached to: for a session, that of its role. The
// ARN of a session lacks the path of the role, so a role with a path is not found.
func policyOwner(me arn.ARN) string {
	session, assumed := strings.CutPrefix(me.Resource, "assumed-role/")
	if me.Service == "sts" && assumed {
		role, _, _ := strings.Cut(session, "/")
		me.Service, me.Resource = "iam", "role/"+role
	}
	return me.String()
}

// iamEndpoints has the endpoint of IAM in a partition, and the region for which requests are
// signed. https://docs.aws.amazon.com/general/latest/gr/iam-service.html
var iamEndpoints = map[string]struct{ url, region string }{
	"aws":        {"https://iam.amazonaws.com", "us-east-1"},
	"aws-cn":     {"https://iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	"aws-us-gov": {"https://iam.us-gov.amazonaws.com", "us-gov-west-1"},
}

// errNoIAM is the error for a partition without a known endpoint of IAM.
var errNoIAM = errors.New("the endpoint of IAM in this partition is not known: " +
	"AWS_ENDPOINT_URL_IAM names it")

// simulate asks IAM, and reads all pages.
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

// mostOfAnswer limits the bytes of an answer of IAM.
const mostOfAnswer = 1 << 20

// askIAM makes one call of IAM.
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

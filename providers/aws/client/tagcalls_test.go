package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers"
)

// A wire answers each request with the next of its answers, and keeps the requests.
type wire struct {
	t       *testing.T
	answers []string // of status 200, or of 400 if they have an Error
	asked   []string // bodies
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.asked = append(w.asked, string(body))
	if len(w.asked) > len(w.answers) {
		w.t.Fatalf("call %d is one too many: %s", len(w.asked), body)
	}
	answer, status := w.answers[len(w.asked)-1], http.StatusOK
	if strings.Contains(answer, "Error") {
		status = http.StatusBadRequest
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// apiOf returns the API of an installation, with these answers.
func apiOf(t *testing.T, answers ...string) (API, *wire) {
	t.Helper()
	w := &wire{t: t, answers: answers}
	config := aws.Config{Region: "eu-west-1", HTTPClient: w, RetryMaxAttempts: 1, Credentials: aws.AnonymousCredentials{}}
	return API{Owner: Owner{"test"}, ELB: elbapi.NewFromConfig(config), Tagging: resourcegroupstaggingapi.NewFromConfig(config)}, w
}

const (
	removed = `<RemoveTagsResponse><RemoveTagsResult/></RemoveTagsResponse>`
	added   = `<AddTagsResponse><AddTagsResult/></AddTagsResponse>`
	denied  = `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`
	lost    = `<DescribeTagsResponse><DescribeTagsResult><TagDescriptions>
		<member><ResourceArn>arn:1</ResourceArn><Tags><member><Key>team</Key><Value>web</Value></member></Tags></member>
		<member><ResourceArn>arn:2</ResourceArn><Tags><member><Key>fairlead.dev/installation</Key><Value>test</Value></member></Tags></member>
		</TagDescriptions></DescribeTagsResult></DescribeTagsResponse>`
)

// Resources are found by all of the tags, on every page.
func TestResourcesAreFoundByTheirTags(t *testing.T) {
	r, asked := apiOf(t,
		`{"PaginationToken":"more","ResourceTagMappingList":[{"ResourceARN":"arn:1","Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}]}`,
		`{"ResourceTagMappingList":[{"ResourceARN":"arn:2","Tags":[{"Key":"a","Value":"1"}]}]}`)
	got, err := r.Find(t.Context(), map[string]string{"b": "", "a": "1"}, "elasticloadbalancing:targetgroup")
	if diff := cmp.Diff(map[string]map[string]string{"arn:1": {"a": "1", "b": "2"}, "arn:2": {"a": "1"}}, got); err != nil || diff != "" {
		t.Errorf("%v; found (-want +got):\n%s", err, diff)
	}
	const filters = `"TagFilters":[{"Key":"a","Values":["1"]},{"Key":"b"}]`
	if !strings.Contains(asked.asked[0], filters) || !strings.Contains(asked.asked[1], `"PaginationToken":"more"`) {
		t.Errorf("asked %q, want %s", asked.asked, filters)
	}
	r, _ = apiOf(t, `{"__type":"AccessDeniedException","message":"Error"}`)
	if _, err := r.Find(t.Context(), nil); !errors.Is(err, providers.ErrDenied) {
		t.Errorf("an answer that denies it is %v", err)
	}
}

// AWS describes the tags of up to 20 resources in a call
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html).
func TestTagsAreReadInBatches(t *testing.T) {
	var arns []string
	for i := range 21 {
		arns = append(arns, fmt.Sprint("arn:", i))
	}
	r, asked := apiOf(t, lost, lost)
	got, err := r.TagsOf(t.Context(), arns)
	want := map[string]map[string]string{"arn:1": {"team": "web"}, "arn:2": {"fairlead.dev/installation": "test"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v; tags (-want +got):\n%s", err, diff)
	}
	for i, want := range []int{20, 1} {
		if got := strings.Count(asked.asked[i], "ResourceArns.member."); got != want {
			t.Errorf("call %d is about %d, want %d", i, got, want)
		}
	}
	r, _ = apiOf(t, denied)
	if _, err := r.TagsOf(t.Context(), arns); !errors.Is(err, providers.ErrDenied) {
		t.Errorf("an answer that denies it is %v", err)
	}
}

// Tags that are too many go before others are written; an error ends both.
func TestTagsAreReplaced(t *testing.T) {
	before := map[string]string{TagDigest: "1", "somebody": "else"}
	for name, c := range map[string]struct {
		before  map[string]string
		answers []string
		calls   []string
		err     error
	}{
		"one goes":       {before, []string{removed, added}, []string{"RemoveTags", "AddTags"}, nil},
		"none goes":      {map[string]string{"somebody": "else"}, []string{added}, []string{"AddTags"}, nil},
		"one may not go": {before, []string{denied}, []string{"RemoveTags"}, providers.ErrDenied},
		"none may come":  {before, []string{removed, denied}, []string{"RemoveTags", "AddTags"}, providers.ErrDenied},
	} {
		r, asked := apiOf(t, c.answers...)
		err := r.Retag(t.Context(), "arn:1", c.before, map[string]string{"team": "web"})
		var calls []string
		for _, body := range asked.asked {
			form, unread := url.ParseQuery(body)
			if unread != nil {
				t.Fatal(unread)
			}
			calls = append(calls, form.Get("Action"))
			if form.Get("ResourceArns.member.1") != "arn:1" || form.Get("TagKeys.member.1")+form.Get("Tags.member.1.Key") == "" {
				t.Errorf("%s: asked %s", name, body)
			}
		}
		if !errors.Is(err, c.err) || !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %v after %v, want %v after %v", name, err, calls, c.err, c.calls)
		}
	}
}

// The error about a resource that has the name of this installation and lacks its tags prints the
// command that adds them. It does not where the tags are those of another installation.
func TestResourcesWithoutTags(t *testing.T) {
	ours := map[string]string{"b": "2", "a": "1"}
	const command = "aws elbv2 add-tags --resource-arns arn:1 --tags 'Key=a,Value=1' 'Key=b,Value=2'"
	err := ExplainUntagged("the load balancer", "arn:1", map[string]string{"team": "web"}, ours)
	if !errors.Is(err, providers.ErrRejected) || !strings.Contains(err.Error(), command) {
		t.Errorf("%v", err)
	}
	err = ExplainUntagged("the load balancer", "arn:1", map[string]string{TagInstallation: "other"}, ours)
	if !errors.Is(err, providers.ErrRejected) || strings.Contains(err.Error(), "add-tags") {
		t.Errorf("%v", err)
	}
	no := fmt.Errorf("no: %w", providers.ErrDenied)
	for name, c := range map[string]struct {
		err   error
		tags  map[string]string
		added bool
	}{
		"denied, without tags": {no, nil, true},
		"denied, with tags":    {no, map[string]string{TagInstallation: "test"}, false},
		"failed, without tags": {providers.ErrPending, nil, false},
	} {
		got := ExplainDenied(c.err, "the rule", "arn:1", c.tags, ours)
		if !errors.Is(got, c.err) || strings.Contains(got.Error(), command) != c.added {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Of rules that may not be changed, those that have lost their tags are named.
func TestDeniedRulesAreExplained(t *testing.T) {
	no := fmt.Errorf("no: %w", providers.ErrDenied)
	r, _ := apiOf(t, lost)
	err := r.ExplainDeniedRules(t.Context(), "k", no, "arn:1", "arn:2")
	if !errors.Is(err, no) || !strings.Contains(err.Error(), "arn:1") || strings.Contains(err.Error(), "arn:2") {
		t.Errorf("%v", err)
	}
	r, _ = apiOf(t, denied)
	if err := r.ExplainDeniedRules(t.Context(), "k", no, "arn:1"); err.Error() != no.Error() {
		t.Errorf("where tags may not be read, it is %v", err)
	}
	r, _ = apiOf(t)
	if err := r.ExplainDeniedRules(t.Context(), "k", providers.ErrPending, "arn:1"); !errors.Is(err, providers.ErrPending) {
		t.Errorf("where nothing is denied, it is %v", err)
	}
}

package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/providers/aws/client"
)

// iam answers the requests to IAM.
type iam struct {
	requests []*http.Request
	forms    []string
	answer   func(form url.Values) (status int, body string)
}

func (i *iam) Do(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	i.requests, i.forms = append(i.requests, r), append(i.forms, string(text))
	status, body := i.answer(form)
	if status == 0 {
		return nil, errors.New(body)
	}
	var from io.Reader = strings.NewReader(body)
	if body == "cut off" {
		from = io.MultiReader(from, failing{})
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Body: io.NopCloser(from)}, nil
}

// failing cannot be read.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func (i *iam) config() aws.Config {
	return aws.Config{Region: "eu-west-1", HTTPClient: i, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
}

// decided is an answer of IAM, given actions with decisions in turn.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
func decided(more string, actions ...string) string {
	out := "<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult>" + more + "<EvaluationResults>"
	for n := 0; n < len(actions); n += 2 {
		out += "<member><EvalActionName>" + actions[n] + "</EvalActionName><EvalDecision>" + actions[n+1] + "</EvalDecision></member>"
	}
	return out + "</EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>"
}

const truncated = "<IsTruncated>true</IsTruncated>"

var question = simulation{
	principal: "arn:aws:iam::123456789012:role/fairlead", actions: []string{"ec2:A", "ec2:B"}, resource: "arn:aws:ec2:eu-west-1:123456789012:vpc/1",
	context: map[string]string{"b": "2", "a": "1"},
}

func TestASimulation(t *testing.T) {
	const asked = "Action=SimulatePrincipalPolicy&ActionNames.member.1=ec2:A&ActionNames.member.2=ec2:B" +
		"&ContextEntries.member.1.ContextKeyName=a&ContextEntries.member.1.ContextKeyType=string&ContextEntries.member.1.ContextKeyValues.member.1=1" +
		"&ContextEntries.member.2.ContextKeyName=b&ContextEntries.member.2.ContextKeyType=string&ContextEntries.member.2.ContextKeyValues.member.1=2"
	const rest = "&PolicySourceArn=arn:aws:iam::123456789012:role/fairlead&ResourceArns.member.1=arn:aws:ec2:eu-west-1:123456789012:vpc/1&Version=2010-05-08"
	all := decisions{"ec2:A": "allowed", "ec2:B": "implicitDeny"}
	for name, c := range map[string]struct {
		pages   map[string]string // by marker
		want    decisions
		markers []string
	}{
		"one page":                   {map[string]string{"": decided("", "ec2:A", "allowed", "ec2:B", "implicitDeny")}, all, []string{""}},
		"two pages":                  {map[string]string{"": decided(truncated+"<Marker>2</Marker>", "ec2:A", "allowed"), "2": decided("<Marker>3</Marker>", "ec2:B", "implicitDeny")}, all, []string{"", "2"}},
		"more without a marker":      {map[string]string{"": decided(truncated+"<Marker>2</Marker>", "ec2:A", "allowed"), "2": decided(truncated, "ec2:B", "implicitDeny")}, all, []string{"", "2"}},
		"more behind the same place": {map[string]string{"": decided(truncated+"<Marker>2</Marker>", "ec2:A", "allowed"), "2": decided(truncated+"<Marker>2</Marker>", "ec2:B", "implicitDeny")}, all, []string{"", "2"}},
	} {
		i := &iam{answer: func(form url.Values) (int, string) {
			page := c.pages[form.Get("Marker")]
			delete(c.pages, form.Get("Marker"))
			return http.StatusOK, page
		}}
		got, err := simulate(t.Context(), i.config(), "aws", question)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, decisions (-want +got):\n%s", name, err, diff)
		}
		var want, forms []string
		for n, marker := range c.markers {
			if marker != "" {
				marker = "&Marker=" + marker
			}
			want = append(want, asked+marker+rest)
			if text, err := url.QueryUnescape(i.forms[n]); err == nil {
				forms = append(forms, text)
			}
		}
		if diff := cmp.Diff(want, forms); diff != "" || len(i.forms) != len(want) {
			t.Errorf("%s: %d forms (-want +got):\n%s", name, len(i.forms), diff)
		}
	}
}

func TestWhereIAMIs(t *testing.T) {
	const own = "http://own.test/"
	for name, c := range map[string]struct {
		partition, base, env string
		want, region         string
	}{
		"the usual one":                 {"aws", "", "", "https://iam.amazonaws.com/", "us-east-1"},
		"another partition":             {"aws-cn", "", "", "https://iam.cn-north-1.amazonaws.com.cn/", "cn-north-1"},
		"the endpoint of all services":  {"aws", "http://all.test", "", "http://all.test/", "us-east-1"},
		"its own endpoint":              {"aws-us-gov", "http://all.test", own, own, "us-gov-west-1"},
		"a partition that is not known": {"aws-iso", "", own, own, "eu-west-1"},
	} {
		t.Setenv("AWS_ENDPOINT_URL_IAM", c.env)
		i := &iam{answer: func(url.Values) (int, string) { return http.StatusOK, decided("") }}
		config := i.config()
		if c.base != "" {
			config.BaseEndpoint = aws.String(c.base)
		}
		if _, err := simulate(t.Context(), config, c.partition, question); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := i.requests[0]
		if r.Method != http.MethodPost || r.URL.String() != c.want || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded; charset=utf-8" ||
			!strings.Contains(r.Header.Get("Authorization"), "/"+c.region+"/iam/aws4_request") {
			t.Errorf("%s: %s %s %v", name, r.Method, r.URL, r.Header)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_IAM", "")
	if _, err := simulate(t.Context(), (&iam{}).config(), "aws-iso", question); !errors.Is(err, errNoIAM) {
		t.Errorf("an unknown partition: %v", err)
	}
}

func TestAnswersOfIAMThatAreNone(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_IAM", "")
	const refused = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
		code   string
	}{
		"no connection":         {0, "unreachable", "asking IAM: unreachable", ""},
		"a refusal":             {403, refused, "api error AccessDenied: no", "AccessDenied"},
		"a refusal in no words": {403, "<ErrorResponse/>", "asking IAM: it answers 403 Forbidden", ""},
		"half a refusal":        {403, "<E><Error><Code>AccessDenied</Code></Error>", "asking IAM: it answers 403 Forbidden", ""},
		"a page of a proxy":     {502, "bad <gateway", "asking IAM: it answers 502 Bad Gateway", ""},
		"an answer in no form":  {200, "bad <gateway", "reading the answer of IAM: ", ""},
		"half an answer":        {200, "cut off", "asking IAM: connection reset", ""},
	} {
		i := &iam{answer: func(url.Values) (int, string) { return c.status, c.body }}
		_, err := simulate(t.Context(), i.config(), "aws", question)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || client.ErrorCode(err) != c.code {
			t.Errorf("%s: the error is %v, want %s", name, err, c.want)
		}
	}
	config := (&iam{}).config()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("expired") })
	if _, err := simulate(t.Context(), config, "aws", question); err == nil || err.Error() != "asking IAM: expired" {
		t.Errorf("without credentials: %v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL_IAM", "http://[")
	if _, err := simulate(t.Context(), config, "aws", question); err == nil || !strings.HasPrefix(err.Error(), "asking IAM: parse ") {
		t.Errorf("an endpoint that is none: %v", err)
	}
}

// Of an answer without an end, no more than its limit is read.
func TestALongAnswerOfIAM(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_IAM", "")
	long := strings.Replace(decided(""), "</Eval", strings.Repeat(" ", mostOfAnswer)+"</Eval", 1)
	i := &iam{answer: func(url.Values) (int, string) { return http.StatusOK, long }}
	if _, err := simulate(t.Context(), i.config(), "aws", question); err == nil || !strings.HasPrefix(err.Error(), "reading the answer of IAM: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestPrincipals(t *testing.T) {
	for _, c := range [][2]string{
		{"arn:aws:sts::123456789012:assumed-role/fairlead/pod", "arn:aws:iam::123456789012:role/fairlead"},
		{"arn:aws:iam::123456789012:user/ada", "arn:aws:iam::123456789012:user/ada"},
		{"arn:aws:sts::123456789012:federated-user/ada", "arn:aws:sts::123456789012:federated-user/ada"},
		{"arn:aws:iam::123456789012:assumed-role/x/y", "arn:aws:iam::123456789012:assumed-role/x/y"},
	} {
		me, err := arn.Parse(c[0])
		if got := policyOwner(me); err != nil || got != c[1] {
			t.Errorf("the principal of %s is %s, want %s", c[0], got, c[1])
		}
	}
}

// Actions of a statement on one resource are asked about together.
func TestRightsAreSimulated(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_IAM", "")
	all := []right{
		{"Read", "ec2:A", "*", nil}, {"Read", "ec2:B", "*", nil}, {"Make", "ec2:A", "arn:1", map[string]string{"a": "1"}}, {"Make", "ec2:C", "arn:2", nil},
	}
	decision := map[string]string{"ec2:A": "allowed", "ec2:B": "explicitDeny", "ec2:C": "implicitDeny"}
	i := &iam{answer: func(form url.Values) (int, string) {
		var out []string
		for n := 1; form.Has(fmt.Sprint("ActionNames.member.", n)); n++ {
			action := form.Get(fmt.Sprint("ActionNames.member.", n))
			out = append(out, action, decision[action])
		}
		return http.StatusOK, decided("", out...)
	}}
	a := newAccount(client.Access{})
	a.sdk = i.config()
	got, err := a.simulateRights(t.Context(), all)
	yes, no := verdict{true, true, "as IAM says"}, verdict{true, false, "as IAM says"}
	if want := []verdict{yes, no, yes, no}; err != nil || !slices.Equal(got, want) || len(i.forms) != 3 {
		t.Errorf("%d calls, error %v, verdicts %v, want %v", len(i.forms), err, got, want)
	}
	decision["ec2:C"] = "perhaps"
	if _, err := a.simulateRights(t.Context(), all); err == nil || err.Error() != "AWS answered SimulatePrincipalPolicy without a decision on ec2:C" {
		t.Errorf("a decision that is none: %v", err)
	}
	i.answer = func(url.Values) (int, string) { return 0, "unreachable" }
	if _, err := a.simulateRights(t.Context(), all); err == nil || err.Error() != "asking IAM: unreachable" {
		t.Errorf("IAM does not answer: %v", err)
	}
}

package alb

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
)

// This file gives a process its identity in the ways in which clusters do, and looks at whom AWS
// hears of; and it names endpoints in the ways in which the SDK has them named, and looks at who is
// asked.

// hears is a simulator that notes the key that each request is signed with.
type hears struct {
	*albsim.Sim
	mu   sync.Mutex
	keys map[string]bool
}

func (h *hears) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, signer, found := strings.Cut(r.Header.Get("Authorization"), "Credential="); found {
		key, _, _ := strings.Cut(signer, "/")
		h.mu.Lock()
		h.keys[key] = true
		h.mu.Unlock()
	}
	h.Sim.ServeHTTP(w, r)
}

// setenv sets the variables of the SDK, and no other ones.
func setenv(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestIdentityOfAPod(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of-the-service-account"), 0o600); err != nil {
		t.Fatal(err)
	}
	const credentials = `{"AccessKeyId": "ASIAOFAPOD", "SecretAccessKey": "secret", "Token": "session", "Expiration": "2099-01-01T00:00:00Z"}`
	asked := "" // who was shown what
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = w.Write([]byte(credentials))
	}))
	defer agent.Close()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") == "AssumeRoleWithWebIdentity" {
			asked = r.FormValue("RoleArn") + " " + r.FormValue("WebIdentityToken")
		}
		_, _ = fmt.Fprint(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
			`<AccessKeyId>ASIAOFAROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>`+
			`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
	}))
	defer tokens.Close()
	for name, c := range map[string]struct {
		variables  map[string]string
		asked, key string
	}{
		"a role for the service account": {
			map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/fairlead", "AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ENDPOINT_URL_STS": tokens.URL},
			"arn:aws:iam::123456789012:role/fairlead of-the-service-account", "ASIAOFAROLE",
		},
		"EKS Pod Identity": {
			map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token},
			"/v1/credentials of-the-service-account", "ASIAOFAPOD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim := &hears{Sim: albsim.New(albsim.Options{}), keys: map[string]bool{}}
			server := httptest.NewServer(sim)
			defer server.Close()
			setenv(t, map[string]string{"AWS_ENDPOINT_URL": server.URL})
			for name, value := range c.variables {
				t.Setenv(name, value)
			}
			asked = ""
			if _, err := aws.Open(t.Context(), client.Access{Region: albsim.Region, VPC: albsim.VPC}); err != nil {
				t.Fatal(err)
			}
			if asked != c.asked {
				t.Errorf("what was shown is %q, want %q", asked, c.asked)
			}
			if len(sim.keys) != 1 || !sim.keys[c.key] {
				t.Errorf("calls are signed with %v, want %s alone", sim.keys, c.key)
			}
		})
	}
}

// asking notes who is asked, and sends nothing.
type asking struct {
	mu    sync.Mutex
	hosts []string
}

func (a *asking) Do(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.hosts, r.URL.Host) {
		a.hosts = append(a.hosts, r.URL.Host)
	}
	return nil, fmt.Errorf("nobody is to be asked")
}

func TestEndpointsAreTheSDKs(t *testing.T) {
	for name, c := range map[string]struct {
		variables map[string]string
		want      []string // for load balancers, and for tags
	}{
		"as everywhere":        {nil, []string{"elasticloadbalancing.us-east-1.amazonaws.com", "tagging.us-east-1.amazonaws.com"}},
		"validated for FIPS":   {map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, []string{"elasticloadbalancing-fips.us-east-1.amazonaws.com", "tagging-fips.us-east-1.amazonaws.com"}},
		"over IPv6, too":       {map[string]string{"AWS_USE_DUALSTACK_ENDPOINT": "true"}, []string{"elasticloadbalancing.us-east-1.api.aws", "tagging.us-east-1.api.aws"}},
		"one for all services": {map[string]string{"AWS_ENDPOINT_URL": "http://all.test"}, []string{"all.test"}},
		"one of each service": {
			map[string]string{"AWS_ENDPOINT_URL": "http://all.test", "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2": "http://elb.test", "AWS_ENDPOINT_URL_RESOURCE_GROUPS_TAGGING_API": "http://tags.test"},
			[]string{"elb.test", "tags.test"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDOFATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1"})
			for name, value := range c.variables {
				t.Setenv(name, value)
			}
			var asked asking
			sdk, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithHTTPClient(&asked))
			if err != nil {
				t.Fatal(err)
			}
			cloud := aws.New(aws.Options{Config: sdk, Installation: "test", VPC: albsim.VPC})
			if facts, err := cloud.Lookup(t.Context(), lb.Questions{Limits: true}); err == nil && !facts.LimitsUnread {
				t.Error("the account's limits are known, though nobody was asked")
			}
			if _, err := cloud.List(t.Context()); err == nil {
				t.Error("what is ours is known, though nobody was asked")
			}
			if diff := cmp.Diff(c.want, asked.hosts); diff != "" {
				t.Errorf("who is asked (-want +got):\n%s", diff)
			}
		})
	}
}

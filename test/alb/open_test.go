package alb

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file starts the provider the way a process does, which finds by itself where it is.

// instance is the metadata of one in the VPC of the simulator.
func instance() http.Handler {
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"GET /latest/meta-data/mac": "0e:00:00:00:00:01",
		"GET /latest/meta-data/network/interfaces/macs/0e:00:00:00:00:01/vpc-id": albsim.VPC,
		"GET /latest/dynamic/instance-identity/document":                         `{"region": "` + albsim.Region + `"}`,
		"PUT /latest/api/token": "token",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			_, _ = w.Write([]byte(text))
		})
	}
	return mux
}

func TestOpen(t *testing.T) {
	nodes := func(ids ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return ids, nil }
	}
	sim := albsim.New(albsim.Options{Authorize: operator().allow})
	sim.AddInstance("i-0123456789abcdef0", "subnet-private0", "10.0.0.5")
	server, metadata := httptest.NewServer(sim), httptest.NewServer(instance())
	defer server.Close()
	defer metadata.Close()
	anywhere := map[string]string{"AWS_ENDPOINT_URL": server.URL}
	crowded := albsim.New(albsim.Options{Authorize: operator().allow})
	crowded.AddVPC("vpc-other")
	several := httptest.NewServer(crowded)
	defer several.Close()
	for name, c := range map[string]struct {
		access   client.Access
		variable map[string]string
		on       bool   // the process can ask its instance
		want     string // in the error
	}{
		"all is said":                    {client.Access{Region: albsim.Region, VPC: albsim.VPC}, anywhere, false, ""},
		"the instance tells":             {client.Access{}, anywhere, true, ""},
		"a node tells":                   {client.Access{Region: albsim.Region, Nodes: nodes("fargate-ip-10-0-0-6", "i-0123456789abcdef0")}, anywhere, false, ""},
		"the region is the SDK's":        {client.Access{VPC: albsim.VPC}, map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": albsim.Region}, false, ""},
		"only EC2 can be reached":        {client.Access{Region: albsim.Region, VPC: albsim.VPC}, map[string]string{"AWS_ENDPOINT_URL": metadata.URL, "AWS_ENDPOINT_URL_EC2": server.URL}, false, ""},
		"nobody tells the region":        {client.Access{VPC: albsim.VPC}, anywhere, false, "finding the region: name it with --aws-region or AWS_REGION"},
		"there is one VPC":               {client.Access{Region: albsim.Region, Nodes: nodes("fargate-ip-10-0-0-6")}, anywhere, false, ""},
		"nobody tells the VPC":           {client.Access{Region: albsim.Region, Nodes: nodes()}, map[string]string{"AWS_ENDPOINT_URL": several.URL}, false, "finding the VPC: name it with --aws-vpc-id"},
		"a node that AWS does not know":  {client.Access{Region: albsim.Region, Nodes: nodes("i-0123456789abcdef1")}, anywhere, false, "reading instance i-0123456789abcdef1: "},
		"a VPC of somewhere else":        {client.Access{Region: albsim.Region, VPC: "vpc-0123456789abcdef0"}, map[string]string{"AWS_ENDPOINT_URL_STS": server.URL, "AWS_ENDPOINT_URL_EC2": server.URL}, false, ":role/fairlead: vpc-0123456789abcdef0 has no subnets in " + albsim.Region},
		"AWS is not where it is said to": {client.Access{Region: albsim.Region, VPC: albsim.VPC}, map[string]string{"AWS_ENDPOINT_URL": metadata.URL}, false, "whose credentials these are"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"} {
				t.Setenv(v, "")
			}
			for k, v := range map[string]string{
				"AWS_ACCESS_KEY_ID": "AKIDOFATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
				"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL, "AWS_EC2_METADATA_DISABLED": map[bool]string{true: "false", false: "true"}[c.on],
			} {
				t.Setenv(k, v)
			}
			for k, v := range c.variable {
				t.Setenv(k, v)
			}
			_, err := aws.Open(t.Context(), c.access)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestOpenWithoutPermission says that it is not the network.
func TestOpenWithoutPermission(t *testing.T) {
	server := httptest.NewServer(albsim.New(albsim.Options{Authorize: func(a iam.Ask) bool { return a.Action != "ec2:DescribeSubnets" }}))
	defer server.Close()
	for k, v := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "AKIDOFATEST", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(k, v)
	}
	if _, err := aws.Open(t.Context(), client.Access{Region: albsim.Region, VPC: albsim.VPC}); !errors.Is(err, providers.ErrDenied) || !strings.Contains(err.Error(), albsim.VPC) {
		t.Errorf("error %v, want one that is denied and names %s", err, albsim.VPC)
	}
}

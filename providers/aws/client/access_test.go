package client

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
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"fairlead.dev/fairlead/test/awscalls"
)

// This file finds the region and the VPC of a process.

// paths answers requests for the metadata of an instance, by path
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html). It waits
// where an answer is "silent", and breaks off one that is "broken".
type paths map[string]string

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func (p paths) Do(r *http.Request) (*http.Response, error) {
	answer, known := p[r.URL.Path]
	status, body := http.StatusOK, io.Reader(strings.NewReader(answer))
	switch {
	case r.URL.Path == "/latest/api/token":
		body = strings.NewReader("token")
	case answer == "silent":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case answer == "broken":
		body = broken{}
	case !known:
		status = http.StatusNotFound
	}
	h := http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"60"}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body)}, nil
}

func instanceOf(p paths) *imds.Client {
	return imds.New(imds.Options{HTTPClient: p, Retryer: aws.NopRetryer{}})
}

const (
	mac = "/latest/meta-data/mac"
	own = "/latest/meta-data/network/interfaces/macs/0a:1b/vpc-id"
)

func TestTheRegionOfTheInstance(t *testing.T) {
	const document = "/latest/dynamic/instance-identity/document"
	if got, err := ReadRegion(t.Context(), instanceOf(paths{document: `{"region":"eu-west-1"}`})); got != "eu-west-1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ReadRegion(t.Context(), instanceOf(nil)); got != "" || err == nil {
		t.Errorf("of no instance: %q, %v", got, err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := ReadRegion(t.Context(), instanceOf(paths{document: "silent"})); err == nil || time.Since(began) != metadataTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// The VPC is that of the instance, else that of the first node that is one, else the only VPC.
func TestTheVPC(t *testing.T) {
	instance := paths{mac: "0a:1b", own: "vpc-own\n"}
	for name, c := range map[string]struct {
		instance paths
		nodes    []string
		vpcs     []string // of the region
		want     string
		err      string
	}{
		"of the instance":            {instance, []string{"i-node"}, []string{"vpc-only"}, "vpc-own", ""},
		"of a node":                  {nil, []string{"fargate-ip-10-0-0-1", "i-node", "i-gone"}, []string{"vpc-only"}, "vpc-node", ""},
		"of a node that is gone":     {nil, []string{"i-gone"}, []string{"vpc-only"}, "", "instance i-gone does not exist"},
		"of a node that is denied":   {nil, []string{"i-denied"}, []string{"vpc-only"}, "", "reading instance i-denied: UnauthorizedOperation"},
		"the only one":               {nil, []string{"fargate-ip-10-0-0-1"}, []string{"vpc-only"}, "vpc-only", ""},
		"one of two":                 {nil, nil, []string{"vpc-a", "vpc-b"}, "", `the VPCs of the region are ["vpc-a" "vpc-b"]`},
		"of several that are denied": {nil, nil, nil, "", "listing VPCs: UnauthorizedOperation"},
		"nodes are not told":         {nil, []string{"untold"}, []string{"vpc-only"}, "", "no nodes"},
		"of no interface":            {paths{own: "vpc-own"}, nil, []string{"vpc-only"}, "vpc-only", ""},
		"of another interface":       {paths{mac: "2c:3d", own: "vpc-own"}, nil, []string{"vpc-only"}, "vpc-only", ""},
		"an answer that breaks off":  {paths{mac: "0a:1b", own: "broken"}, nil, []string{"vpc-only"}, "vpc-only", ""},
	} {
		cloud := ec2.NewFromConfig(awscalls.Config(func(in any) (any, error) {
			switch in := in.(type) {
			case *ec2.DescribeInstancesInput:
				switch in.InstanceIds[0] {
				case "i-node":
					return &ec2.DescribeInstancesOutput{Reservations: []ec2types.Reservation{{}, {
						Instances: []ec2types.Instance{{VpcId: aws.String("vpc-node")}},
					}}}, nil
				case "i-gone":
					return &ec2.DescribeInstancesOutput{}, nil
				}
			case *ec2.DescribeVpcsInput:
				out := &ec2.DescribeVpcsOutput{}
				for _, id := range c.vpcs {
					out.Vpcs = append(out.Vpcs, ec2types.Vpc{VpcId: aws.String(id)})
				}
				if c.vpcs != nil {
					return out, nil
				}
			}
			return nil, awscalls.Refused("UnauthorizedOperation", "no")
		}))
		got, err := FindVPC(t.Context(), instanceOf(c.instance), cloud, func(context.Context) ([]string, error) {
			if slices.Contains(c.nodes, "untold") {
				return nil, errors.New("no nodes")
			}
			return c.nodes, nil
		})
		if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, c.want, c.err)
		}
	}
}

func TestAnInstanceThatIsSilentIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := ReadVPC(t.Context(), instanceOf(paths{mac: "silent"})); err == nil || time.Since(began) != metadataTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestRemarksOfTheSDKAreLogged: it prints them on standard error otherwise, among the lines of
// commands. The instance refuses tokens, which the SDK remarks.
func TestRemarksOfTheSDKAreLogged(t *testing.T) {
	instance := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(instance.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", instance.URL)
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	var log strings.Builder
	write := func(_, args string) { fmt.Fprintln(&log, args) }
	a := Access{Region: "eu-west-1", Log: funcr.New(write, funcr.Options{Verbosity: 1})}
	sdk, err := a.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = ReadVPC(t.Context(), imds.NewFromConfig(sdk))
	if !strings.Contains(log.String(), `"severity"="WARN" "remark"="falling back to IMDSv1`) {
		t.Errorf("the log is %q", log.String())
	}
	a.Log = logr.Logger{} // a command has none
	if sdk, err = a.Settings(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = ReadVPC(t.Context(), imds.NewFromConfig(sdk))
}

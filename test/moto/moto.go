// Package moto runs moto, an emulator of AWS that this project did not write, and holds the AWS
// provider to its contract against it. moto takes the whole life of a load balancer over the wire
// and forgives much: deviations_test.go lists what it does otherwise than AWS. What AWS refuses is
// test/albsim's to say.
package moto

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/test/nightly"
)

// This file starts moto, and makes accounts with a network in it.

// command is where `make moto` puts it, seen from the packages below test/.
const command = "../../.cache/moto/bin/moto_server"

// Region is where all of a test's resources are.
const Region = "eu-west-1"

// patience is how long moto may take to start. A busy machine is slow, not broken.
const patience = 2 * time.Minute

// A Server is a running moto.
type Server struct {
	URL string

	mu       sync.Mutex
	accounts int
}

// Start runs moto on a loopback port for as long as the test runs.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no emulator")
	}
	nightly.Only(t, "it asks an emulator that forgives much")
	if _, err := os.Stat(command); err != nil {
		t.Fatalf("looking for moto: %s: `make moto` installs it", err)
	}
	// The shell waits for its input to end, which it does with the test, however that ends.
	run := exec.Command("sh", "-c", `"$0" -H 127.0.0.1 -p 0 & read -r _; kill -9 $!`, command) //nolint:noctx // it ends with its input
	leash, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &transcript{url: make(chan string, 1)}
	run.Stdout, run.Stderr = said, said
	if err := run.Start(); err != nil {
		t.Fatalf("starting moto: %s", err)
	}
	t.Cleanup(func() {
		_ = leash.Close()
		_ = run.Wait() // how it was killed is nobody's interest
	})
	select {
	case url := <-said.url:
		return &Server{URL: url}
	case <-time.After(patience):
		t.Fatalf("moto does not start; it says:\n%s", said)
		return nil
	}
}

// A transcript is what moto says, among it where it is.
type transcript struct {
	url chan string

	mu   sync.Mutex
	text []byte
	told bool
}

// serving is how moto says where it is.
var serving = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told {
		return len(p), nil // a line for each request
	}
	s.text = append(s.text, p...)
	if found := serving.FindSubmatch(s.text); found != nil {
		s.told = true
		s.url <- string(found[1])
	}
	return len(p), nil
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// An Account is one of moto's, empty but for a network.
type Account struct {
	Config aws.Config
	VPC    string
	// Public and Private are subnets in two zones each, tagged for what they are.
	Public, Private []string
}

// Account makes one that nobody else has.
func (s *Server) Account(t testing.TB) *Account {
	t.Helper()
	s.mu.Lock()
	s.accounts++
	id := fmt.Sprintf("%012d", 100_000_000_000+s.accounts)
	s.mu.Unlock()
	a := &Account{Config: s.config()}
	a.Config.HTTPClient = &http.Client{Transport: inAccount(id)}
	a.network(t)
	return a
}

// Default is the account of whoever names none.
func (s *Server) Default(t testing.TB) *Account {
	t.Helper()
	a := &Account{Config: s.config()}
	a.network(t)
	return a
}

// config is how the SDK reaches moto. What moto answers is a test's to see, so nothing of it is
// tried again; only a connection that breaks is, as everywhere, for its server drops one now and
// then.
func (s *Server) config() aws.Config {
	return aws.Config{
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDEMULATED", "secret", ""),
		BaseEndpoint: aws.String(s.URL),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Retryables = []retry.IsErrorRetryable{retry.NoRetryCanceledError{}, retry.RetryableConnectionError{}}
			})
		},
	}
}

// inAccount is a transport that says whose its requests are.
type inAccount string

func (id inAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Moto-Account-Id", string(id))
	return http.DefaultTransport.RoundTrip(r)
}

// network makes a VPC with a public and a private subnet in each of two zones.
func (a *Account) network(t testing.TB) {
	t.Helper()
	cloud := ec2.NewFromConfig(a.Config)
	made, err := cloud.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		t.Fatalf("making a VPC: %s", err)
	}
	a.VPC = aws.ToString(made.Vpc.VpcId)
	for i, zone := range []string{"a", "b"} {
		for j, role := range []string{"elb", "internal-elb"} {
			subnet, err := cloud.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
				VpcId: aws.String(a.VPC), CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/24", 2*i+j)), AvailabilityZone: aws.String(Region + zone),
				TagSpecifications: []ec2types.TagSpecification{{
					ResourceType: ec2types.ResourceTypeSubnet,
					Tags:         []ec2types.Tag{{Key: aws.String("kubernetes.io/role/" + role), Value: aws.String("1")}},
				}},
			})
			if err != nil {
				t.Fatalf("making a subnet: %s", err)
			}
			into := []*[]string{&a.Public, &a.Private}[j]
			*into = append(*into, aws.ToString(subnet.Subnet.SubnetId))
		}
	}
}

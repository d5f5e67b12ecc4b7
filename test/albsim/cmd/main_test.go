package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/test/albsim"
)

// This file lets the SDK talk to the command over a socket.

func TestTheSDKIsAnswered(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, nil, write) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint, _, found := strings.Cut(strings.TrimPrefix(line, "export AWS_ENDPOINT_URL="), " ")
	if !found {
		t.Fatalf("it says %q", line)
	}
	client := elb.NewFromConfig(aws.Config{
		Region: albsim.Region, BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
	})
	made, err := client.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{Name: aws.String("one"), Subnets: []string{"subnet-public0", "subnet-public1"}})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
	if err != nil || len(listed.LoadBalancers) != 1 || *listed.LoadBalancers[0].DNSName != *made.LoadBalancers[0].DNSName {
		t.Errorf("%v, %v", listed, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestOnlyLoopbackAddressesAreServed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "localhost:80"} {
		if err := run(t.Context(), []string{"-listen", address}, io.Discard); err == nil {
			t.Errorf("%s is served", address)
		}
	}
}

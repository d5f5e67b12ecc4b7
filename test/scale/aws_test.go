package scale

import (
	"flag"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"fairlead.dev/fairlead/test/albsim"
)

// This file puts the AWS provider behind the operator. The simulated account is in the process of
// the test, so that its memory and its processor time are not the operator's.

var (
	provider  = flag.String("provider", "fake", "rows only: fake, or aws for a simulated account whose quotas and rates are enough")
	writeTime = flag.Duration("write-time", 0, "rows of aws only: how long each write takes, one after another")
)

// enough is more than any size takes. An account's own rates would have 10,000 Ingresses take hours.
const enough = 1_000_000

// simulateAWS has an operator serve from an account of its own, whose calls it adds to the journal.
func simulateAWS(t testing.TB, o *operator) {
	sim := albsim.New(albsim.Options{
		Limits: albsim.Limits{
			LoadBalancers: enough, TargetGroups: enough, RulesPerLoadBalancer: enough, TargetGroupsPerLoadBalancer: enough,
			TargetsPerLoadBalancer: enough, TargetsPerGroup: enough, SecurityGroups: enough, RulesPerSecurityGroup: enough,
		},
		Serial: func(c albsim.Call) time.Duration {
			if c.Write {
				return *writeTime
			}
			return 0
		},
		After: func(c albsim.Call) {
			method := "Observe"
			if c.Write {
				method = "Apply"
			}
			o.add(call{At: c.At, Method: method, What: c.String()})
		},
	})
	account := httptest.NewServer(sim)
	t.Cleanup(account.Close)
	o.command.Args = append(o.command.Args, "--provider=aws", "--aws-region="+albsim.Region, "--aws-vpc-id="+albsim.VPC,
		"--aws-rates=read=10000/10000,modify=10000/10000,targets=10000/10000,write=10000/10000,ec2-read=10000/10000,ec2-write=10000/10000")
	o.command.Env = append(o.command.Env, "AWS_ENDPOINT_URL="+account.URL, "AWS_ACCESS_KEY_ID=AKIDOFATEST",
		"AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
}

package aws_test

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/providertest"
	"fairlead.dev/fairlead/test/albsim"
)

func TestContract(t *testing.T) {
	port := int32(8080)
	providertest.Test(t, func(*testing.T) providers.Provider {
		return aws.New(aws.Options{Config: albsim.New(albsim.Options{}).Config(), Installation: "test", VPC: albsim.VPC, Settle: time.Nanosecond})
	}, func(*testing.T) lb.Target {
		port++
		return lb.Target{Address: "10.0.0.9", Port: port}
	})
}

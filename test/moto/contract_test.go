package moto

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/providertest"
)

// This file holds the provider to the contract.

// A provider for globs: moto knows no regular expressions.
type globs struct{ *aws.Provider }

func (p globs) Capabilities(class lb.Class) lb.Capabilities {
	class.NoRegularExpressions = true
	return p.Provider.Capabilities(class)
}

// start makes an operator's provider in an account.
func start(a *Account) globs {
	return globs{aws.New(aws.Options{Config: a.Mended(), Installation: "test", VPC: a.VPC, Settle: time.Nanosecond})}
}

func TestContract(t *testing.T) {
	server, addresses := Start(t), 0
	providertest.Test(t, func(t *testing.T) providers.Provider {
		return start(server.Account(t))
	}, func(*testing.T) lb.Target {
		addresses++
		return lb.Target{Address: fmt.Sprintf("10.0.0.%d", addresses), Port: 8080}
	})
}

// What moto says of an account's limits is an example, which it keeps nobody to.
func TestLimitsThatAreAnExampleCountForNothing(t *testing.T) {
	cloud := start(Start(t).Account(t))
	if _, err := cloud.Lookup(t.Context(), lb.Questions{Limits: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := cloud.Capabilities(lb.Class{}).TargetsPerLoadBalancer, lb.ALB().TargetsPerLoadBalancer; got != want {
		t.Errorf("a load balancer takes %d targets, want %d, as AWS publishes", got, want)
	}
}

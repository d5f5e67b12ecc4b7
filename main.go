// Fairlead turns Kubernetes Ingresses into cloud load balancers. This file is the plug board: it
// is the only one that names the clouds.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/fake"
	"fairlead.dev/fairlead/providers/prove"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx := context.Background()
	if cli.Lasts(os.Args[1:]) { // the others have nothing to put in order, and end where they are
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return cli.Run(ctx, os.Args[1:], plugged(), streams)
}

// plugged are the providers that this binary has.
func plugged() cli.Providers {
	return cli.Providers{
		Offline: map[string]func() (cli.Offline, error){
			"aws":  func() (cli.Offline, error) { return aws.Offline{}, nil },
			"fake": func() (cli.Offline, error) { return fake.New(fake.Options{}) },
		},
		Local: func() (cli.Local, error) {
			return fake.New(fake.Options{Serve: true, CheckEvery: 200 * time.Millisecond})
		},
		Check: map[string]cli.Checker{
			"aws": func(ctx context.Context, o cli.LiveOptions) []check.Finding {
				return access("", o).Check(ctx)
			},
			"fake": func(context.Context, cli.LiveOptions) []check.Finding {
				return []check.Finding{check.Good("fake", "fake cloud", "it needs nothing")}
			},
		},
		Prove: map[string]cli.Prover{
			"aws": func(ctx context.Context, o cli.LiveOptions, installation string) (prove.Cloud, error) {
				return aws.Open(ctx, access(installation, o))
			},
		},
		Live: map[string]func(context.Context, cli.LiveOptions) (cli.Live, error){
			"aws": func(ctx context.Context, o cli.LiveOptions) (cli.Live, error) {
				installation, err := o.Installation(ctx)
				if err != nil {
					return nil, err
				}
				cloud, err := aws.Open(ctx, access(installation, o))
				return lasting{cloud}, err
			},
			"fake": func(_ context.Context, o cli.LiveOptions) (cli.Live, error) {
				cloud, err := fake.New(fake.Options{Serve: true, CheckEvery: time.Second, State: o.State, Network: o.Network, Latency: o.Latency, WarmUp: o.WarmUp})
				return cli.Lives{Local: cloud}, err
			},
		},
	}
}

// access is where an installation works in AWS.
func access(installation string, o cli.LiveOptions) aws.Access {
	out := aws.Access{Installation: installation, Region: o.Region, VPC: o.VPC, Cluster: o.Cluster, Unfenced: o.SecurityGroups == "none", Nodes: o.Nodes, Rates: o.Rates, Deadlines: aws.Deadlines{Attempt: o.AttemptTimeout, Call: o.CallTimeout}}
	if o.Requested != nil {
		out.Requested = func(r aws.Request) { o.Requested(r.Service, r.Operation, r.Result) }
	}
	return out
}

// lasting is a cloud that outlives the process: there is nothing to close.
type lasting struct{ *aws.Provider }

func (lasting) Close() {}

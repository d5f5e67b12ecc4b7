// Fairlead turns Kubernetes Ingresses into cloud load balancers. This file is the plug board: it
// is the only one that names the clouds.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx := context.Background()
	if cli.RunsUntilInterrupted(os.Args[1:]) { // the others have nothing to put in order, and end where they are
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	} else if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // most of what a command makes stays in use until it ends
	}
	with := cli.Providers{Clouds: map[string]clouds.Cloud{
		"aws":  aws.Plug(),
		"fake": fake.Plug(),
	}}
	return cli.Run(ctx, os.Args[1:], with, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

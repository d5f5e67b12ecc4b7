// Fairlead turns Kubernetes Ingresses into cloud load balancers. This file is the plug board: it
// is the only one that names the clouds.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
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
		collectLater()
	}
	with := cli.Providers{Clouds: map[string]clouds.Cloud{
		"aws":  aws.Plug(),
		"fake": fake.Plug(),
	}}
	return cli.Run(ctx, os.Args[1:], with, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// collectLater has garbage collections wait until there are 128 MiB, which most commands never have. Beyond that they are rarer than
// by default, as most of what a command makes stays in use until it ends.
func collectLater() {
	const least, percent = 128 << 20, 150
	debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, least))
	var collected func(struct{})
	again := func() { runtime.AddCleanup(new([16]byte), collected, struct{}{}) }
	collected = func(struct{}) {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc < least*100/(100+percent) {
			again()
			return
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
	again()
}

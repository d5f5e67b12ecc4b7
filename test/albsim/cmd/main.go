// Command cmd serves the simulated AWS account of package albsim over HTTP, so that an operator, a
// CLI or an SDK in another process works against it:
//
//	go run ./test/albsim/cmd -listen 127.0.0.1:4566
//	export AWS_ENDPOINT_URL=http://127.0.0.1:4566 AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any
//
// It answers every call that is signed, whoever signed it; it is for loopback addresses only. What
// it keeps is gone when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"time"

	"fairlead.dev/fairlead/test/albsim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("albsim", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to serve on; port 0 is any that is free")
	var o albsim.Options
	flags.DurationVar(&o.Provisioning, "provisioning", 0, "how long a new load balancer takes to be active")
	flags.DurationVar(&o.Propagation, "propagation", 0, "how long a change of rules takes to be live")
	flags.DurationVar(&o.Linger, "linger", 0, "how long what was detached is said to be in use")
	flags.DurationVar(&o.Health, "health", 0, "how long a target takes to be healthy")
	limited := flags.Bool("limited", false, "refuse calls beyond the rates that AWS publishes")
	calls := flags.Bool("calls", false, "print every call")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *limited {
		o.Rates = albsim.Published()
	}
	if *calls {
		o.After = func(c albsim.Call) { fmt.Fprintln(out, c.At.Format(time.TimeOnly), c, c.Error) }
	}
	at, err := netip.ParseAddrPort(*listen)
	if err != nil || !at.Addr().IsLoopback() {
		return fmt.Errorf("listening on %q: it has to be a loopback address and a port", *listen)
	}
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", at.String())
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Fprintf(out, "export AWS_ENDPOINT_URL=http://%s AWS_REGION=%s\n", socket.Addr(), albsim.Region)
	server := &http.Server{Handler: albsim.New(o), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // whoever is being answered has been told to stop, too
	if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

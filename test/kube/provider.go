package kube

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// This file runs a provider that is out of the tree beside the operator.

// startProvider starts the provider of the options, and returns the flags of an operator that uses
// it. Its load balancers are at the addresses at which those of the fake cloud would be, on the
// ports that Ingresses ask for.
func (c *Cluster) startProvider(ctx context.Context) (flags []string, err error) {
	socket := filepath.Join(c.dir, "provider.sock")
	c.commands[provider] = c.options.Provider
	c.provider, err = c.command(provider, []string{
		"run", "--listen=unix:" + socket, "--state=" + filepath.Join(c.dir, "provider"), "--address=" + balancerNetwork, "--real-ports",
	})
	if err != nil {
		return nil, err
	}
	for {
		if conn, err := new(net.Dialer).DialContext(ctx, "unix", socket); err == nil {
			return []string{"--provider=caddy=unix://" + socket}, conn.Close()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the provider does not listen: %w\n%s", ctx.Err(), c.provider.tail())
		case <-c.provider.done:
			return nil, fmt.Errorf("the provider has ended:\n%s", c.provider.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

package fake

import (
	"context"
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file describes the fake cloud to a binary: its settings, and how to open it.

// settings holds the flags.
type settings struct {
	state           string
	network         netip.Prefix
	latency, warmUp time.Duration
}

// Plug returns the fake cloud for a binary.
func Plug() clouds.Cloud {
	s := &settings{}
	return clouds.Cloud{
		Default: true,
		Flags:   s.flags,
		Offline: func() (clouds.Offline, error) { return New(Options{}) },
		Live: func(context.Context, clouds.Environment) (clouds.Live, error) {
			c, err := New(Options{Serve: true, CheckEvery: time.Second, State: s.state, Network: s.network,
				Latency: s.latency, WarmUp: s.warmUp})
			return clouds.SharedLocal{Local: c}, err
		},
		Unseen: func() string {
			if s.state != "" {
				return ""
			}
			return "they are in the memory of the operator, unless its --fake-state names a file, and yours the same"
		},
		Local: func() (clouds.Local, error) {
			return New(Options{Serve: true, CheckEvery: 200 * time.Millisecond})
		},
		Check: func(context.Context, clouds.Environment) []check.Finding {
			return []check.Finding{check.Good("fake", "fake cloud", "it needs nothing")}
		},
	}
}

func (s *settings) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.state, "fake-state", "", "`FILE` with the state of the fake cloud, which "+
		"outlives the operator; replicas that name the same file share the cloud")
	flags.TextVar(&s.network, "fake-addresses", netip.Prefix{},
		"`NETWORK` of this machine for the addresses of the fake cloud's load balancers, such as "+
			"192.0.2.0/24 or, for one load balancer, 192.0.2.1/32; unset: loopback")
	flags.DurationVar(&s.latency, "fake-latency", 0, "how long each call to the fake cloud takes")
	flags.DurationVar(&s.warmUp, "fake-warm-up", 0,
		"how long a new target of the fake cloud is not checked and receives no requests")
}

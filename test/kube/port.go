package kube

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Ports lie below those that a system gives to connections by itself: a port that is stopped to be
// started again would be taken by the very client that tries to reach it.
const (
	lowestPort  = 20000
	highestPort = 29999
)

var portsTried atomic.Int64

// freePort is one that nobody listens on. Packages are tested at the same time, so that each
// process begins to look elsewhere.
func freePort() (int, error) {
	const span = highestPort - lowestPort + 1
	const apart = 97 // prime to span: neighbouring processes are far from each other
	for range span {
		port := lowestPort + (os.Getpid()*apart+int(portsTried.Add(1)))%span
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("finding a free port: %w", err)
		}
		return port, nil
	}
	return 0, errors.New("finding a free port: all are taken")
}

package fake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/model/lb"
)

// This file is where load balancers are reached: each at a loopback address of its own.

// address is a new load balancer's name and IP address. They follow from the key, so that a demo
// prints the same ones each time; only where two keys meet does the later one move on.
func (c *Cloud) address(key lb.Key) lb.Address {
	taken := map[string]bool{}
	for _, r := range c.records {
		for _, ip := range r.observed.Address.IPs {
			taken[ip] = true
		}
	}
	sum := sha256.Sum256([]byte(key))
	ip := loopback(sum)
	for taken[ip.String()] {
		ip = next(ip)
	}
	if c.options.Serve && !bindable(ip) {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // some systems have no other
	}
	return lb.Address{Hostname: fmt.Sprintf("lb-%x.fake.fairlead.localhost", sum[:4]), IPs: []string{ip.String()}}
}

// first and last bound the addresses that are given out: 127.0.0.0/16 is left to everybody else,
// and the last address of the network is for broadcasts.
const first, last = 0x7f_01_00_01, 0x7f_ff_ff_fe

// loopback is the address that a hash falls on.
func loopback(sum [sha256.Size]byte) netip.Addr {
	return fromNumber(first + binary.BigEndian.Uint32(sum[:])%(last-first+1))
}

// next is the address after ip, or the first one.
func next(ip netip.Addr) netip.Addr {
	if ip = ip.Next(); ip == fromNumber(last+1) {
		return fromNumber(first)
	}
	return ip
}

func fromNumber(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

// bindable reports whether listeners can be opened at an address.
func bindable(ip netip.Addr) bool {
	l, err := listen(ip.String(), 0)
	return err == nil && l.Close() == nil
}

// bind opens the first port that it may among a listener's own, the one that it had instead when
// it was last open, and any that is free.
func bind(ip string, own, instead int32) (net.Listener, error) {
	var errs []error
	for _, port := range slices.Compact([]int32{own, cmp.Or(instead, own), 0}) {
		l, err := listen(ip, port)
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("opening port %d at %s: %w", own, ip, errs[len(errs)-1])
}

func listen(ip string, port int32) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(ip, strconv.Itoa(int(port))))
}

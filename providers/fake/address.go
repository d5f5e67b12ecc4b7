package fake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file chooses the addresses of load balancers: each has its own while there are enough.

// A network is the range of addresses for load balancers.
type network struct{ first, last uint32 }

// loopback is the range if no network is named. It leaves 127.0.0.0/16 to other programs, and the
// last address to broadcasts.
var loopback = network{0x7f_01_00_01, 0x7f_ff_ff_fe}

// networkOf returns the addresses of a prefix, without the first and the last one, which are the
// network and broadcast addresses.
func networkOf(prefix netip.Prefix) (network, error) {
	if !prefix.Addr().Is4() {
		return network{}, fmt.Errorf("%s is not an IPv4 network", prefix)
	}
	first := prefix.Masked().Addr().As4()
	n := network{first: binary.BigEndian.Uint32(first[:])}
	n.last = n.first | uint32(1<<(32-prefix.Bits())-1)
	if prefix.Bits() < 31 {
		n.first, n.last = n.first+1, n.last-1
	}
	return n, nil
}

// pick returns the address that a hash points to, or the next one that is free. If none is free,
// load balancers share addresses.
func (n network) pick(hash uint32, taken map[string]bool) netip.Addr {
	size := n.last - n.first + 1
	for i := range size {
		if ip := n.at(hash%size + i); !taken[ip.String()] {
			return ip
		}
	}
	return n.at(hash % size)
}

// at returns an address by its number, modulo the size of the network.
func (n network) at(i uint32) netip.Addr {
	size := n.last - n.first + 1
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n.first+i%size)))
}

// setNetwork chooses the range, and checks that this machine has it.
func (c *Cloud) setNetwork() error {
	c.network = loopback
	if !c.options.Network.IsValid() {
		return nil
	}
	var err error
	if c.network, err = networkOf(c.options.Network); err != nil {
		return fmt.Errorf("choosing addresses: %w", err)
	}
	if ip := c.network.at(0); c.options.Serve && !canBind(ip) {
		return fmt.Errorf("choosing addresses: %s is not an address of this machine", ip)
	}
	return nil
}

// address returns the name and the IP address of a new load balancer. They follow from the key, so
// that a demo prints the same ones each time, unless two keys collide.
func (c *Cloud) address(key lb.Key) lb.Address {
	taken := map[string]bool{}
	for _, r := range c.records {
		for _, ip := range r.observed.Address.IPs {
			taken[ip] = true
		}
	}
	sum := sha256.Sum256([]byte(key))
	ip := c.network.pick(binary.BigEndian.Uint32(sum[:]), taken)
	if c.options.Serve && c.network == loopback && !canBind(ip) {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // some systems have no other loopback address
	}
	return lb.Address{Hostname: fmt.Sprintf("%s-%x.fake.fairlead.localhost",
		cmp.Or(strings.ToLower(key.Name()), "lb"), sum[:4]), IPs: []string{ip.String()}}
}

// canBind reports whether listeners can be opened at an address.
func canBind(ip netip.Addr) bool {
	l, err := listen(ip.String(), 0)
	return err == nil && l.Close() == nil
}

// bind opens the first possible port among those given; zero stands for any free port. In a named
// network only the listener's own port is possible: clients there use that.
func (c *Cloud) bind(r *record, own int32, ports ...int32) (net.Listener, error) {
	if len(r.observed.Address.IPs) == 0 {
		return nil, fmt.Errorf("opening port %d: load balancer %s has no address", own, r.observed.Key)
	}
	if c.options.Network.IsValid() {
		ports = []int32{own}
	}
	ip := r.observed.Address.IPs[0]
	var errs []error
	for _, port := range ports {
		l, err := listen(ip, port)
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("opening port %d at %s: %w", own, ip, errs[len(errs)-1])
}

func listen(ip string, port int32) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp",
		net.JoinHostPort(ip, strconv.Itoa(int(port))))
}

package endpoints

import "net/netip"

// This file lists addresses that are never targets, even if an EndpointSlice or a Node has them. At
// such an address, the load balancer would connect to itself, to its host, or to services of the
// cloud's network.

// NeverTarget returns the kind of an address that is never a target; "" for others. The API server
// refuses most of these in EndpointSlices:
// https://kubernetes.io/docs/concepts/services-networking/service/#custom-endpointslices, "The
// endpoint IPs must not be: loopback, or link-local".
func NeverTarget(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "no address"
	}
	ip = embedded(ip.WithZone(""))
	switch {
	case ip.IsUnspecified() || thisNetwork.Contains(ip):
		return "unspecified"
	case ip.IsLoopback():
		return "loopback"
	case ip.IsLinkLocalUnicast(): // 169.254.169.254 is among these
		return "link-local"
	case ip.IsMulticast() || ip == broadcast:
		return "multicast"
	case cloudServices.Contains(ip):
		return "of the cloud's own services"
	}
	return ""
}

var (
	// thisNetwork has the addresses of "this network": RFC 1122, section 3.2.1.3.
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	// cloudServices has the IPv6 services of AWS for each instance: its metadata at fd00:ec2::254,
	// DNS at fd00:ec2::253, time at fd00:ec2::123 and Pod Identity at fd00:ec2::23.
	cloudServices = netip.MustParsePrefix("fd00:ec2::/32")
	// nat64 has IPv4 addresses as NAT64 writes them: RFC 6052, section 2.1.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// compatible has the IPv4-compatible addresses of RFC 4291, section 2.5.5.1. ::1 and :: are in the
	// range, and are none.
	compatible = netip.MustParsePrefix("::/96")
)

// embedded returns the IPv4 address in an IPv6 address; any other address is returned as it is.
func embedded(ip netip.Addr) netip.Addr {
	if ip.Is4In6() {
		return ip.Unmap()
	}
	if bytes := ip.As16(); ip.Is6() &&
		(nat64.Contains(ip) || compatible.Contains(ip) && [2]byte(bytes[12:14]) != [2]byte{}) {
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip
}

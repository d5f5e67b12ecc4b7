package endpoints

import "net/netip"

// This file knows addresses that are never targets, whatever an EndpointSlice or a Node says: there
// the load balancer, or the host that it runs on, would talk to itself or to the services of the
// cloud's own network.

// NeverTarget says of what kind an address is that is never a target, or "". The API server refuses
// most of these in EndpointSlices:
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
	// thisNetwork are the addresses of "this network": RFC 1122, section 3.2.1.3.
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	// cloudServices has what AWS serves over IPv6 beside each instance: its metadata at fd00:ec2::254,
	// DNS at fd00:ec2::253, time at fd00:ec2::123 and Pod Identity at fd00:ec2::23.
	cloudServices = netip.MustParsePrefix("fd00:ec2::/32")
	// nat64 are IPv4 addresses as NAT64 reaches them: RFC 6052, section 2.1.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// compatible is how RFC 4291, section 2.5.5.1, wrote IPv4 addresses. ::1 and :: are not of that
	// kind.
	compatible = netip.MustParsePrefix("::/96")
)

// embedded is the IPv4 address that an IPv6 one stands for; else it is the address itself.
func embedded(ip netip.Addr) netip.Addr {
	if ip.Is4In6() {
		return ip.Unmap()
	}
	if bytes := ip.As16(); ip.Is6() && (nat64.Contains(ip) || compatible.Contains(ip) && [2]byte(bytes[12:14]) != [2]byte{}) {
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip
}

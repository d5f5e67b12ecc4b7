package fake_test

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/fake"
)

// Load balancers get addresses of the network that is named, each its own while there are any.
func TestAddressesAreOfTheNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		network string
		want    []string // addresses of six load balancers
	}{
		"the ends of a network are not for hosts":     {"192.0.2.0/29", []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"}},
		"whichever address of it names the network":   {"192.0.2.5/29", []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"}},
		"a network of two has no ends":                {"192.0.2.2/31", []string{"192.0.2.2", "192.0.2.3"}},
		"a single address is shared by all":           {"192.0.2.7/32", []string{"192.0.2.7"}},
		"the end of all addresses is not gone beyond": {"255.255.255.254/31", []string{"255.255.255.254", "255.255.255.255"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := start(t, fake.Options{Network: netip.MustParsePrefix(c.network)})
			got := map[string]int{}
			for i := range 6 {
				got[address(t, cloud, lb.Key(fmt.Sprintf("fairlead/shop/web-%d/internal", i)))]++
			}
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func address(t *testing.T, cloud *fake.Cloud, key lb.Key) string {
	t.Helper()
	result, err := cloud.Apply(t.Context(), &lb.Observed{Key: key}, plan.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Key: key}})
	if err != nil || len(result.Address.IPs) != 1 {
		t.Fatalf("error %v, address %+v", err, result.Address)
	}
	return result.Address.IPs[0]
}

// In a network that somebody named, a listener has its own port or is not opened: who was promised
// port 80 of an address is not led elsewhere.
func TestListenersKeepTheirPortsInANetworkThatIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := http80(rule("- -", fixed(201)))
	l.Port = target(t, taken.Addr()).Port
	cloud := start(t, fake.Options{Serve: true, Network: netip.MustParsePrefix("127.0.0.1/32")})
	address(t, cloud, shop)
	create := plan.CreateListener{Listener: l}
	if _, err := cloud.Apply(t.Context(), &lb.Observed{Key: shop}, create); err == nil || !strings.Contains(err.Error(), "opening port") {
		t.Errorf("opening a port that is taken: error %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	o := program(t, cloud, loadBalancer(shop, nil, l))
	if got := ask(t, dial(t, taken.Addr().String()), "GET / HTTP/1.1", "Host: a"); got.status != 201 || o.Address.Ports != nil {
		t.Errorf("status %d at %s, address %+v", got.status, taken.Addr(), o.Address)
	}
}

func TestNetworksThatCannotServe(t *testing.T) {
	for name, c := range map[string]struct{ network, want string }{
		"not of this machine": {"192.0.2.0/24", "192.0.2.1 is not an address of this machine"},
		"IPv6":                {"2001:db8::/64", "2001:db8::/64 is not an IPv4 network"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fake.New(fake.Options{Serve: true, Network: netip.MustParsePrefix(c.network)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

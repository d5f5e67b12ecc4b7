package alb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/test/albsim"
)

// This file admits the clients of prefix lists, which take as many rules as they can have entries.

// admitted are the clients that the security groups of the load balancer admit, over all of its own,
// and how many of these there are. Each list is admitted once for each port.
func (w *world) admitted() (clients []string, groups int) {
	w.Helper()
	b, _, _ := w.balancer()
	found, err := ec2.NewFromConfig(w.sim.OwnersConfig()).DescribeSecurityGroups(w.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: b.SecurityGroups})
	if err != nil {
		w.Fatal(err)
	}
	for _, g := range found.SecurityGroups {
		if strings.HasPrefix(sdk.ToString(g.Description), "Where") {
			continue
		}
		groups++
		for _, p := range g.IpPermissions {
			for _, r := range p.IpRanges {
				clients = append(clients, fmt.Sprint(*p.FromPort, " ", *r.CidrIp))
			}
			for _, r := range p.PrefixListIds {
				clients = append(clients, fmt.Sprint(*p.FromPort, " ", *r.PrefixListId))
			}
		}
	}
	slices.Sort(clients)
	return clients, groups
}

func (w *world) expectAdmitted(when string, groups int, want ...string) {
	w.Helper()
	if got, in := w.admitted(); !slices.Equal(got, want) || in != groups {
		w.Errorf("%s, it admits %q in %d groups, want %q in %d", when, got, in, want, groups)
	}
}

// TestCloudFrontAloneOnTwoPorts has the list of CloudFront, which weighs 55 of the 60 rules of a
// security group, on two ports and then three.
func TestCloudFrontAloneOnTwoPorts(t *testing.T) {
	for _, lag := range []time.Duration{0, 30 * time.Second} {
		o := usual()
		if lag > 0 {
			o = albsim.Real(drawn(t), lag)
		}
		inBubble(t, o, func(w *world) {
			w.service("web", 1)
			w.serve("site", map[string]string{"/": "web"})
			const list = albsim.CloudFrontList
			w.annotate("inbound", list)
			w.annotate("listen-ports", "HTTP:80")
			w.settle()
			w.expectAdmitted("on one port", 1, "80 "+list)
			w.annotate("listen-ports", "HTTP:80,HTTP:81")
			w.settle()
			w.expectAdmitted("on two ports", 2, "80 "+list, "81 "+list)
			w.annotate("listen-ports", "HTTP:80,HTTP:81,HTTP:82")
			w.settle()
			w.expectAdmitted("on three ports", 3, "80 "+list, "81 "+list, "82 "+list)
			time.Sleep(5 * time.Minute)
			w.restart()
			w.rests("a restart")
			w.annotate("inbound", "10.0.0.0/8")
			w.settle()
			w.expectAdmitted("narrowed", 3, "80 10.0.0.0/8", "81 10.0.0.0/8", "82 10.0.0.0/8")
			w.annotate("inbound", list)
			w.settle()
			w.expectAdmitted("as before", 3, "80 "+list, "81 "+list, "82 "+list)
			w.remove("site")
			w.settle()
			time.Sleep(10 * time.Minute)
			w.settle()
			if left := w.sim.Inventory()["security groups"]; left != 1 {
				t.Errorf("%d security groups are left", left)
			}
		})
	}
}

// TestTooManyClientsAreRefusedByName has clients of five ports that the security groups of a load
// balancer can admit on four: the fifth stays as it was, and what does not fit is named.
func TestTooManyClientsAreRefusedByName(t *testing.T) {
	inBubble(t, usual(), func(w *world) {
		const list = "pl-0aaaaaaaaaaaaaaaa"
		w.sim.AddPrefixList(list, 50)
		w.service("web", 1)
		w.serve("site", map[string]string{"/": "web"})
		w.annotate("inbound", "10.0.0.0/8")
		w.annotate("listen-ports", "HTTP:80,HTTP:81,HTTP:82,HTTP:83,HTTP:84")
		w.settle()
		w.annotate("inbound", list)
		w.tryFor(time.Minute)
		got, groups := w.admitted()
		old := slices.DeleteFunc(slices.Clone(got), func(c string) bool { return strings.HasSuffix(c, list) })
		if groups != 4 || len(got) != 5 || len(old) != 1 {
			t.Fatalf("it admits %q in %d groups", got, groups)
		}
		port, _, _ := strings.Cut(old[0], " ")
		want := "the clients to admit take 50 for " + list + " on port " + port + ": name fewer clients or ports"
		if _, err := w.try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say that %s: %.900v", want, err)
		}
	})
}

// TestARaisedQuotaOfRulesIsUsed has a list that is too large for a security group of 60 rules, in an
// account whose groups have 130. Without that quota it is refused before anything is written.
func TestARaisedQuotaOfRulesIsUsed(t *testing.T) {
	for _, quota := range []int{130, 60} {
		o := usual()
		o.Limits.RulesPerSecurityGroup = quota
		inBubble(t, o, func(w *world) {
			const list = "pl-0aaaaaaaaaaaaaaaa"
			w.sim.AddPrefixList(list, 100)
			var ranges, want []string
			for i := range 40 {
				ranges = append(ranges, fmt.Sprintf("10.0.%d.0/24", i))
				want = append(want, "80 "+ranges[i])
			}
			slices.Sort(want)
			w.service("web", 1)
			w.serve("site", map[string]string{"/": "web"})
			w.annotate("inbound", strings.Join(ranges, ","))
			w.settle()
			w.annotate("inbound", strings.Join(append(ranges, list), ","))
			if quota > 100 {
				w.settle()
				w.expectAdmitted("with the list", 2, append(want, "80 "+list)...)
				return
			}
			w.tryFor(time.Minute)
			w.expectAdmitted("without room", 1, want...)
			if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "the clients to admit take 100 for "+list+" on port 80") {
				t.Errorf("it does not say what does not fit: %.900v", err)
			}
			w.remove("site")
			w.tryFor(time.Minute)
			time.Sleep(10 * time.Minute)
			w.settle()
			if left := w.sim.Inventory()["security groups"]; left != 1 {
				t.Errorf("%d security groups are left", left)
			}
		})
	}
}

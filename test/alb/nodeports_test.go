package alb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/test/albsim"
)

// This file has more node ports than a security group has room for rules.

// onNodes are Services of nodes, each with a node port of its own from 30001 on.
func (w *world) onNodes(from, to int) {
	for n := from; n <= to; n++ {
		name := fmt.Sprintf("service-%d", n)
		w.service(name, 1)
		w.serve(name, map[string]string{"/": name}).Annotations["fairlead.dev/target-type"] = "instance"
	}
}

// reaching has somebody look after every write whether the nodes admit load balancers on some node
// ports.
func (w *world) reaching(from, to int32) {
	w.sim.Watch(func(c albsim.Call) {
		if !c.Write {
			return
		}
		admitted := w.fences()["nodes"]
		for port := from; port <= to; port++ {
			if !slices.ContainsFunc(admitted, func(rule string) bool { return opens(rule, port) }) {
				w.Errorf("after %s port %d is not reached: %v", c, port, admitted)
			}
		}
	})
}

// opens reports whether a rule of the nodes admits load balancers on a port.
func opens(rule string, port int32) bool {
	var from, to int32
	ports, source, _ := strings.Cut(rule, " ")
	if n, _ := fmt.Sscanf(ports, "%d-%d", &from, &to); n < 2 { // one port has no end
		to = from
	}
	return source == "shared" && from <= port && port <= to
}

// foreign adds a rule that others made to the nodes' group.
func (w *world) foreign(port int32, from string) {
	w.Helper()
	if _, err := ec2.NewFromConfig(w.sim.OwnersConfig()).AuthorizeSecurityGroupIngress(w.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: new(albsim.NodeGroup), IpPermissions: []ec2types.IpPermission{tcp(port, from)},
	}); err != nil {
		w.Fatal(err)
	}
}

// shared are the rules of the nodes that admit load balancers.
func (w *world) shared() []string {
	w.Helper()
	return slices.DeleteFunc(w.fences()["nodes"], func(rule string) bool { return !strings.HasSuffix(rule, " shared") })
}

// few expects that the nodes admit load balancers by few rules, and of the ports around the first
// node port on some.
func (w *world) few(when string, from, to int32) {
	w.Helper()
	got := w.shared()
	if len(got) > 22 {
		w.Errorf("%s the nodes have %d rules: %v", when, len(got), got)
	}
	for port := int32(29900); port < 30100; port++ {
		if open := slices.ContainsFunc(got, func(rule string) bool { return opens(rule, port) }); open != (from <= port && port <= to) {
			w.Errorf("%s the nodes admit port %d: %v, %v", when, port, open, got)
		}
	}
}

func TestNodePortsShareARuleBeforeTheGroupIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.nodes(1)
		w.foreign(30005, "192.0.2.0/24")
		w.onNodes(1, 20)
		w.annotate("health-check-port", "10250")
		w.settle()
		if got := w.shared(); len(got) != 21 || slices.ContainsFunc(got, func(rule string) bool { return strings.Contains(rule, "-") }) {
			t.Fatalf("the nodes admit %v", got)
		}
		w.reaching(30001, 30020)
		w.onNodes(21, 80)
		w.settle()
		w.few("with 80", 30001, 30080)
		w.rests("they share a rule")
		w.restart()
		w.settle()
		w.rests("a restart")
		w.reaching(30001, 30080)
		w.onNodes(81, 81)
		w.settle()
		w.few("with one more", 30001, 30081)
		w.reaching(30062, 30079)
		for n := range 60 {
			w.remove(fmt.Sprintf("service-%d", n+2))
		}
		w.settle()
		time.Sleep(2 * time.Hour)
		w.remove("service-81")
		w.settle()
		time.Sleep(2 * time.Hour)
		w.remove("service-1")
		w.settle()
		time.Sleep(2 * time.Hour)
		w.remove("service-80")
		w.settle()
		w.few("with fewer", 30062, 30079)
		w.sim.Watch(nil)
		w.Ingresses = nil
		w.settle()
		if got := w.fences()["nodes"]; !slices.Equal(got, []string{"30005 192.0.2.0/24"}) {
			t.Errorf("in the end the nodes admit %v", got)
		}
	})
}

func TestNodePortsShareARuleWhereOthersHaveMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, albsim.Options{})
		w.nodes(1)
		for n := range 44 {
			w.foreign(int32(5000+n), "192.0.2.0/24")
		}
		for n := range 24 {
			w.reaching(30001, int32(30000+n))
			w.onNodes(n+1, n+1)
			w.settle()
		}
		if got := w.shared(); !slices.Equal(got, []string{"30001-30024 shared"}) {
			t.Errorf("the nodes admit %v", got)
		}
		if got := w.fences()["nodes"]; len(got) != 45 {
			t.Errorf("the rules of others are %v", got)
		}
		w.rests("the last of them")
	})
}

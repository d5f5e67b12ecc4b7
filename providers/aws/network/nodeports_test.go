package network

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// noTargets are no targets at all.
type noTargets struct{}

func (noTargets) AllMembers(func(lb.TargetHealth) bool) {}

func (noTargets) PortsInUse(context.Context, string) (map[int32]bool, error) { return nil, nil }

func TestPortsToWhichNoHealthCheckGoesAreForgotten(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		n := NewNodes(nil, &SecurityGroups{}, "", false, noTargets{})
		n.AddCheckPorts([]int32{9000, 9001})
		time.Sleep(longestDrain)
		n.AddCheckPorts([]int32{9002}) // of a target group that is being made
		n.removeCheckPorts(map[int32]bool{9001: true})
		for port, want := range map[int32]bool{9000: false, 9001: true, 9002: true} {
			if got := n.isInUse(port); got != want {
				t.Errorf("port %d is needed: %t, want %t", port, got, want)
			}
		}
	})
}

package alb

import (
	"testing"
	"testing/synctest"

	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/test/albsim"
)

// This file has another process delete what a provider knows: the operator of a term between two
// others, or a person.

func TestWhatAnotherProcessDeletedIsMadeAgain(t *testing.T) {
	for name, returned := range map[string]func(before *aws.Provider) *aws.Provider{
		"by the provider of the next term": func(before *aws.Provider) *aws.Provider { return before.Term().(*aws.Provider) },
		"by the one that knew it":          func(before *aws.Provider) *aws.Provider { return before },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, albsim.Options{})
				w.service("web", 2)
				w.serve("site", map[string]string{"/": "web"})
				w.finish()
				first := w.cloud

				w.restart() // another operator leads
				ingresses := w.Ingresses
				w.Ingresses = nil
				w.finish()
				if left := w.sim.Inventory(); left["load balancers"] > 0 || left["security groups"] > 1 { // that of the nodes stays
					t.Fatalf("it left %v", left)
				}

				w.restart()
				w.cloud = returned(first)
				w.Ingresses = ingresses
				w.finish()
				if a := w.request("site"); len(a.Forward) == 0 {
					t.Errorf("it is answered %+v", a)
				}
			})
		})
	}
}

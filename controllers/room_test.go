package controllers_test

import (
	"fmt"
	"testing"
	"time"
)

// This file is about load balancers with more Ingresses than there is room for in their records.

// The room is for eight Ingresses. Those of bob that came last give way to alice, and are served
// again where others of his go.
func TestACrowdGivesWayToNeighbours(t *testing.T) {
	alice, bob, watching := neighbours(t, 6*time.Second)
	alice.stop()
	watchingLittle := func(s *settings) {
		watching(s)
		s.operator.Classes.Room = 8*(96+len(bob.namespace)+len("/b0")) + 10
	}
	alice.run(watchingLittle)
	name := func(i int) string { return fmt.Sprintf("b%d", i) }
	const crowd = 8
	for i := range crowd {
		ing := bob.enter(name(i), name(i)+".test")
		bob.answers(name(i), "http://"+name(i)+".test/", "bob")
		if i >= crowd-3 {
			laterThan(ing)
		}
	}
	for _, host := range []string{"a1", "a2"} {
		alice.enter(host, host+".test")
		alice.answers(host, "http://"+host+".test/", "alice")
	}
	bob.told(name(6), "TooComplex")
	bob.told(name(7), "TooComplex")
	alice.calm()
	for i := range crowd {
		ing := bob.ingress(name(i))
		if served := len(ing.Status.LoadBalancer.Ingress) > 0; served != (i < 6) || served != (len(ing.Finalizers) > 0) {
			t.Errorf("%s has the status %v and the finalizers %v", ing.Name, ing.Status.LoadBalancer, ing.Finalizers)
		}
	}

	// An operator that starts keeps to it.
	alice.stop()
	alice.run(watchingLittle)
	bob.remove(name(0))
	bob.answers(name(6), "http://b6.test/", "bob")
	bob.remove(name(7)) // it was held by nothing
	bob.remove(name(1))
	bob.remove(name(6))
	alice.calm()
	for _, host := range []string{"a1", "a2"} {
		alice.answers(host, "http://"+host+".test/", "alice")
	}
	for _, m := range alice.report(alice.groupReport()).Status.Memory.Members {
		if gone := m.Ingress == bob.namespace+"/"+name(7) || m.Ingress == bob.namespace+"/"+name(6); gone {
			t.Errorf("%s is remembered", m.Ingress)
		}
	}
}

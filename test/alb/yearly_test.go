package alb

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/test/albsim"
	"fairlead.dev/fairlead/test/albsim/matching"
)

// This file uses up the imports of a year.

// What an account has imported already is served on, routes come and go, and the certificate that
// does not fit is refused by the name of the quota, and asked for again no more often than a limit
// may be raised.
func TestImportsOfAYear(t *testing.T) {
	for _, renewals := range []bool{false, true} {
		t.Run(fmt.Sprint("renewals count ", renewals), func(t *testing.T) {
			o := slow()
			o.Limits = albsim.Limits{ImportsPerYear: 2}
			o.RenewalsCount = renewals
			inBubble(t, o, func(w *world) { w.useUpTheYear(renewals) })
		})
	}
}

func (w *world) useUpTheYear(renewals bool) {
	w.Helper()
	const says = `the quota "Imported certificates in last 365 days" (L-3808DC70)`
	twoSecrets(w)
	w.settle()
	w.showsOwn("at first", "one.example.com", "two.example.com")
	address := w.seen.Address.Hostname

	w.secret("three", 0, "three.example.com")
	w.secured(w.serve("three", map[string]string{"/": "web"}), "three")
	w.settle()
	if why := w.refusalOf("three"); !strings.Contains(why, says) {
		w.Errorf("the third certificate is refused with %q, which does not say %q", why, says)
	}

	// Routes are none of its business.
	w.serve("four", map[string]string{"/": "web"})
	w.settle()
	w.forwards(address, "three")
	w.forwards(address, "four")

	// A renewal is in the place of another one, and the one before it is served where that does not
	// fit either.
	w.secret("one", 1, "one.example.com")
	w.sim.Forget()
	if err := w.rest(); renewals && (!errors.Is(err, providers.ErrNoRoom) || !strings.Contains(fmt.Sprint(err), says)) || !renewals && err != nil {
		w.Errorf("a renewal ends with %v", err)
	}
	if tried := asked(w, "ImportCertificate"); tried != 1 {
		w.Errorf("the renewal was tried %d times", tried)
	}
	w.serve("five", map[string]string{"/": "web"})
	if err := w.rest(); (err != nil) != renewals {
		w.Errorf("another Ingress after a renewal ends with %v", err)
	}
	w.forwards(address, "five")
	w.look(false)
	w.showsOwn("after a renewal", "one.example.com", "two.example.com")

	if !renewals { // where they count, the operator waits as long for the plan that was refused
		w.triesSeldom()
	}

	time.Sleep(366 * 24 * time.Hour)
	w.settle()
	if why := w.refusalOf("three"); why != "" {
		w.Errorf("a year later it is still refused: %s", why)
	}
	w.showsOwn("a year later", "one.example.com", "two.example.com", "three.example.com")
}

// forwards says that requests for an Ingress in plain HTTP reach a Service.
func (w *world) forwards(address, name string) {
	w.Helper()
	time.Sleep(time.Minute)
	answer := w.sim.Ask(address, matching.Request{Port: 80, Host: name + ".example.com", Path: "/"}, matching.Reading{})
	if len(answer.Forward) == 0 {
		w.Errorf("%s is not served: %+v", name, answer)
	}
}

// triesSeldom says that imports that were refused are tried again, and no more often than others
// may make room.
func (w *world) triesSeldom() {
	w.Helper()
	w.sim.Forget()
	for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(patience) {
		w.settle()
	}
	if tried := asked(w, "ImportCertificate"); tried == 0 || tried > int(time.Hour/retried) {
		w.Errorf("imports were tried %d times in an hour, want some, and at most one in %s", tried, retried)
	}
}

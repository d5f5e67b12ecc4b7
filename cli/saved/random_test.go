package saved

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/nightly"
	"fairlead.dev/fairlead/test/tables"
)

// This file shows that a table that was printed and read again is compared as the table itself.

var (
	seed      = flag.Uint64("seed", 0, "seed of random tables; 0 takes a new one")
	pairsMade = flag.Int("tables", 500, "random pairs of tables")
)

// again is a table that was printed and read.
func again(t *testing.T, table *precedence.Table) *precedence.Table {
	t.Helper()
	text, err := json.Marshal(State{Tables: TablesOf([]*precedence.Table{table})})
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	out, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestSavedTablesAreComparedAsTheTablesThemselves(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", *seed)
	changes, pairs := 0, nightly.Times(*pairsMade)
	report := func(before, after *precedence.Table) compare.Report {
		return compare.Tables([]*precedence.Table{before}, []*precedence.Table{after}, requests.OfCommand)
	}
	for n := range pairs {
		g := &tables.Generator{Rand: rand.New(rand.NewPCG(*seed, uint64(n)))}
		config := g.Config()
		config.HostsOwned = g.IntN(2) == 0
		if g.IntN(2) == 0 {
			config.Routes[0].Listed = &routing.Listed{By: "*.a.test"}
			config.Settings.Scheme, config.Settings.SecurityGroups = "internet-facing", []string{"sg-1"}
			config.Protection = routing.Protection{WebACL: "acl", Shield: routing.ShieldOn}
			l := &config.Listeners[0]
			l.Inbound, l.TLSPolicy = []string{"10.0.0.0/8"}, "strict"
			l.Mutual = &routing.MutualAuthentication{Mode: "verify", TrustStore: "store"}
			l.Certificates = []routing.CertificateID{"one"}
			config.Certificates = []routing.Certificate{{ID: "one", Hosts: []string{"x.a.test"}, Secrets: []string{"a/one"}}}
		}
		before, after := tables.Named(config), tables.Named(g.Changed(config))
		want := report(before, after)
		text := func(r compare.Report) string {
			out, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		for name, got := range map[string]compare.Report{
			"the first is saved": report(again(t, before), after), "the second is saved": report(before, again(t, after)),
		} {
			if diff := cmp.Diff(text(want), text(got)); diff != "" {
				t.Fatalf("-seed=%d, pair %d, %s (-want +got):\n%s", *seed, n, name, diff)
			}
		}
		if same := report(before, again(t, before)); !same.Empty() {
			t.Fatalf("-seed=%d, pair %d: a saved table differs from itself: %+v", *seed, n, same)
		}
		changes += len(want.Changes)
	}
	if changes < pairs {
		t.Errorf("%d pairs had %d changes: too few to show anything", pairs, changes)
	}
}

// The secret of a client is not in what is printed.
func TestSecretsAreNotSaved(t *testing.T) {
	table := precedence.New(routing.Config{Routes: []routing.Route{{Action: routing.Action{Auth: &routing.Auth{
		Kind: routing.OIDC, Secret: "shop/client", ClientSecret: "hunter2", ClientID: "id",
	}}}}})
	text, err := json.Marshal(State{Tables: TablesOf([]*precedence.Table{table})})
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
	if strings.Contains(said, "hunter2") || strings.Contains(said, routing.Secret("hunter2").Digest()) || !strings.Contains(said, `"secret":"shop/client"`) {
		t.Errorf("printed %s", said)
	}
}

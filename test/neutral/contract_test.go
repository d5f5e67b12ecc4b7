package neutral

import (
	"os/exec"
	"path/filepath"
	"testing"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/providertest"
)

// This file holds Caddy to what holds for every provider.

// TestContract runs the contract over the wire.
func TestContract(t *testing.T) {
	for name, clause := range providertest.Clauses(func(t *testing.T) providers.Provider {
		return caddy(t, "--shutdown-delay", "1ms")
	}, providertest.Listening) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clause(t)
		})
	}
}

// TestProviderCheck runs the command that anyone can run.
func TestProviderCheck(t *testing.T) {
	fairlead := filepath.Join(t.TempDir(), "fairlead")
	if err := build("../..", fairlead); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), fairlead, "provider", "check", startCaddy(t, "--shutdown-delay", "1ms"), "--pause", "100ms").CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s", out)
}

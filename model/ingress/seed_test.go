package ingress

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seed = flag.Uint64("seed", 0, "the seed of tests that draw their input; 0 for one that is drawn itself")

// drawing is a source of random input. The seed is printed, so that -seed can repeat a failure.
func drawing(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	for s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, s))
}

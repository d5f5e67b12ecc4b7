package albsim

import (
	"math/rand/v2"
	"time"
)

// Real is an account as AWS may be: things take their time, reads and the index of tags lag behind
// writes, rights are asked that a call takes beyond its own, and what AWS leaves undocumented turns
// out as the seed says.
func Real(seed uint64, lag time.Duration) Options {
	rng := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // nothing is guarded by it
	return Options{
		Rates: Published(), Provisioning: 90 * time.Second, Propagation: 10 * time.Second, Linger: 20 * time.Second, Health: 20 * time.Second,
		Indexing: lag, Ghosts: 20 * time.Minute, Lag: lag, FirstUse: true, TagsAside: rng.IntN(2) == 0,
		Limits: Limits{ValuesPerCondition: []int{3, 5}[rng.IntN(2)]}, RenewalsCount: rng.IntN(2) == 0,
		Respelt: rng.IntN(2) == 0, Past: seed | 1, DefaultVPC: rng.IntN(2) == 0,
	}
}

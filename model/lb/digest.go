package lb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/model/routing"
)

// A Digest stands for settings on both sides of a diff: "v1:" and a hash. The values ride on the
// desired side only. A digest of another version says nothing about the values: it must be
// observed deeply, never taken for a difference.
type Digest string

const digestVersion = "v1:"

// DigestOf is the digest of plain data.
func DigestOf(settings any) Digest {
	text, err := json.Marshal(settings)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", settings) // settings are plain data, which always marshals
	}
	sum := sha256.Sum256(text)
	return Digest(digestVersion + hex.EncodeToString(sum[:8]))
}

// A cloud takes the secrets with which a load balancer makes itself known to identity providers, and
// does not tell them: a digest of those that were written stands for them.

// clientSecrets is a digest of the secrets that a listener's actions were given; "" where there are
// none.
func clientSecrets(l *Listener) Digest {
	given := map[string]bool{}
	for a := range l.SignIns() {
		if a.ClientSecret != "" {
			given[a.Key()+a.ClientSecret.Digest()] = true
		}
	}
	if len(given) == 0 {
		return ""
	}
	return DigestOf(slices.Sorted(maps.Keys(given)))
}

// KeepClientSecrets has each listener with a secret that could not be read go on with those that it
// has, which the digests stand for, by port. Until it can be read, a change of another secret on
// that listener waits, too.
func (l *LoadBalancer) KeepClientSecrets(has map[int32]Digest) {
	for i := range l.Listeners {
		on := &l.Listeners[i]
		for a := range on.SignIns() {
			if a.KeepsClientSecret {
				on.Settings.ClientSecrets = has[on.Port]
				on.Digest = DigestOf(on.Settings)
				break
			}
		}
	}
}

// SignIns are those that a listener asks users for, some of them more than once.
func (l *Listener) SignIns() func(yield func(*routing.Auth) bool) {
	return func(yield func(*routing.Auth) bool) {
		if l.Default.Auth != nil && !yield(l.Default.Auth) {
			return
		}
		for _, r := range l.Rules {
			if r.Action.Auth != nil && !yield(r.Action.Auth) {
				return
			}
		}
	}
}

package v1alpha1

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// This file names the LoadBalancer of a key. The name is the only way from one to the other that
// needs no lookup, so it is the same for ever: another name would be an object without a memory.

// nameLength is the longest name that also fits into a label's value.
const nameLength = 63

var lowercase = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Name returns the name of the LoadBalancer of a key: as much of the key as a name can say, for
// people, and a digest of all of it. Names of Ingresses hold dashes and dots and can be as long as
// any name, so that no readable spelling tells every two keys apart. The scope is the namespace
// that the operator looks after, or "" for all: operators of two namespaces may each have a load
// balancer of one group that both may join.
func Name(key, scope string) string {
	text := key
	if scope != "" {
		text += "\n" + scope
	}
	sum := sha256.Sum256([]byte(text))
	digest := lowercase.EncodeToString(sum[:8]) // 13 letters, so that no second key has them
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == '@':
			return -1 // it marks groups, next to a slash
		}
		return '-'
	}, key)
	readable = readable[:min(len(readable), nameLength-len(digest)-1)]
	return strings.TrimLeft(strings.TrimRight(readable, "-")+"-"+digest, "-")
}

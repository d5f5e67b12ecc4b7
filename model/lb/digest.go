package lb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

package lb

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Digest is a version and a hash of settings. Only the wanted load balancer also has the values.
// If the version of a digest differs, read the settings from the cloud; do not treat it as a
// difference.
type Digest string

const digestVersion = "v1:"

// DigestOf returns the digest of plain data.
func DigestOf(settings any) Digest {
	text, err := json.Marshal(settings)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", settings) // settings are plain data, which always marshals
	}
	sum := sha256.Sum256(text)
	return Digest(digestVersion + hex.EncodeToString(sum[:8]))
}

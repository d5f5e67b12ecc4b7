package aws

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file is what things are called in AWS. A name is the same each time, so that what was made
// before an answer was lost is found again.

// An owner is an installation. It gives names and tags to what it makes, and knows it by them.
type owner struct{ installation string }

// namePrefix begins all names that we make.
const namePrefix = "fl-"

// nameLength is the longest name of a load balancer or a target group.
const nameLength = 32

// loadBalancerName is the name of the load balancer under a key: the one that its Ingresses ask
// for, or one that nobody else makes.
func (o owner) loadBalancerName(key lb.Key) string {
	return cmp.Or(key.Name(), o.derivedName(key))
}

// derivedName is the name of what a load balancer has one of, whatever its own name is.
func (o owner) derivedName(key lb.Key) string {
	return name(string(key), o.installation, string(key))
}

// targetGroupName is the name of a target group.
func (o owner) targetGroupName(key lb.Key, id lb.GroupID) string {
	return name(string(id), o.installation, string(key), string(id))
}

// name is readable text behind which a hash of what it stands for makes it unique.
func name(text string, of ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:12]
	var readable strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			readable.WriteRune(r)
		} else {
			readable.WriteByte('-')
		}
	}
	prefix := namePrefix + readable.String()
	prefix = strings.TrimRight(prefix[:min(len(prefix), nameLength-len(hash)-1)], "-")
	return prefix + "-" + hash
}

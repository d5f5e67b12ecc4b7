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

// namePrefix begins all names that we make.
const namePrefix = "fl-"

// nameLength is the longest name of a load balancer or a target group.
const nameLength = 32

// loadBalancerName is the name of the load balancer under a key: the one that its Ingresses ask
// for, or one that nobody else makes.
func (p *Provider) loadBalancerName(key lb.Key) string {
	return cmp.Or(key.Name(), p.derivedName(key))
}

// derivedName is the name of what a load balancer has one of, whatever its own name is.
func (p *Provider) derivedName(key lb.Key) string {
	return name(string(key), p.installation, string(key))
}

// targetGroupName is the name of a target group.
func (p *Provider) targetGroupName(key lb.Key, id lb.GroupID) string {
	return name(string(id), p.installation, string(key), string(id))
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

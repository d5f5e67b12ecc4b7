package client

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// This file has the names of resources. The name of a resource is always the same, so that it is
// found if its creation had no answer.

// An Owner is an installation. It determines the names and tags of its resources.
type Owner struct{ Installation string }

// NamePrefix begins the names of our load balancers, target groups and security groups.
const NamePrefix = "fl-"

// nameLength is the longest name of a load balancer or a target group.
const nameLength = 32

// LoadBalancerName returns the name of the load balancer of a key: the one in its Ingresses, or a
// derived one.
func (o Owner) LoadBalancerName(key lb.Key) string {
	return cmp.Or(key.Name(), o.DerivedName(key))
}

// DerivedName returns the unique name for a load balancer of a key, and for its other resources.
func (o Owner) DerivedName(key lb.Key) string {
	return ResourceName(string(key), o.Installation, string(key))
}

// TargetGroupName returns the name of a target group.
func (o Owner) TargetGroupName(key lb.Key, id lb.GroupID) string {
	return ResourceName(string(id), o.Installation, string(key), string(id))
}

// ResourceName returns a readable name with a hash of its parts, which makes it unique.
func ResourceName(text string, of ...string) string {
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
	prefix := NamePrefix + readable.String()
	prefix = strings.TrimRight(prefix[:min(len(prefix), nameLength-len(hash)-1)], "-")
	return prefix + "-" + hash
}

package routing

// This file is what stands before a whole load balancer.

// Protection is what was asked for of it; what is empty nobody asked about.
type Protection struct {
	WebACL string `json:"webACL,omitempty"` // as the cloud calls it, or NoWebACL
	Shield string `json:"shield,omitempty"` // ShieldOn or ShieldOff
}

// What protection can be besides a web ACL's name.
const (
	NoWebACL  = "none"
	ShieldOn  = "on"
	ShieldOff = "off"
	// Unsettled is what it is not known how to do. What there is stays, and nothing begins without it.
	Unsettled = "unsettled"
)

// Guarded reports whether a web ACL is asked for.
func (p Protection) Guarded() bool { return p.WebACL != "" && p.WebACL != NoWebACL }

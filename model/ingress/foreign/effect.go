package foreign

// This file says what an annotation can do, and how Fairlead serves the Ingress that has it.

// An Effect is what an annotation does where the controller that it is for reads it.
type Effect uint8

const (
	// Harmless annotations make no difference to what requests get: logs, descriptions, and what
	// controllers note for themselves.
	Harmless Effect = iota
	// Changes are annotations that make requests be answered differently, but not fewer of them:
	// redirects, rewrites, timeouts, health checks, names, weights.
	Changes
	// Restricts are annotations that keep requests or clients away: authentication, ranges of
	// addresses, firewalls, client certificates, conditions, limits of rates, and configuration that
	// can contain any of these.
	Restricts
)

func (e Effect) String() string { return [...]string{"harmless", "changes", "restricts"}[e] }

// A Port is a port that Fairlead listens on.
type Port struct {
	Protocol string // HTTP or HTTPS
	Number   int32
}

// Served is how Fairlead serves an Ingress, as far as the effect of an annotation depends on it.
type Served struct {
	Internal   bool     // the load balancer cannot be reached from the internet
	DualStack  bool     // it can be reached over IPv6
	TargetType string   // what requests are sent to, ip or instance
	Ports      []Port   // those that the Ingress is served on whether or not it has TLS
	TLS        bool     // hosts are served on HTTPS ports besides, since spec.tls names them
	Wider      bool     // a path is served for more than itself, as those of type Prefix are
	Inbound    []string // ranges of clients that may connect; nil for all clients
	// the name or the ARN of the web ACL that stands before the load balancer; "" for none
	WebACL         string
	SecurityGroups []string // those that the class brings, by ID or name
	// Annotations are those of Fairlead that the Ingress has. What one of them says is said.
	Annotations map[string]string
}

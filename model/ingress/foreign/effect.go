package foreign

// This file has the effects of annotations, and how Fairlead serves the Ingress that has one.

// An Effect is the effect of an annotation in its own controller.
type Effect uint8

const (
	// Harmless annotations do not change the answers to requests: logs, descriptions, and notes of
	// controllers.
	Harmless Effect = iota
	// Changes annotations change answers, but refuse no requests: redirects to other places,
	// rewrites, timeouts, health checks, names, weights.
	Changes
	// Restricts annotations refuse requests or clients: authentication, address ranges, firewalls,
	// client certificates, conditions, rate limits, and configuration that can contain any of these.
	// Those that ask for HTTPS restrict while requests would be forwarded from a port without TLS.
	Restricts
)

func (e Effect) String() string { return [...]string{"harmless", "changes", "restricts"}[e] }

// A Port is a port that Fairlead listens on.
type Port struct {
	Protocol string // HTTP or HTTPS
	Number   int32
}

// A Served holds how Fairlead serves an Ingress, where the effect of annotations depends on it.
type Served struct {
	Internal   bool   // the load balancer cannot be reached from the internet
	DualStack  bool   // it can be reached over IPv6
	TargetType string // ip or instance
	Ports      []Port // the ports that serve the Ingress with or without TLS
	TLS        bool   // HTTPS ports also serve hosts, since spec.tls names them
	Wider      bool   // a path matches more than itself, such as a Prefix
	// ForwardsNothing: all requests are answered with redirects or fixed responses.
	ForwardsNothing bool
	// Redirected: requests over HTTP are redirected to HTTPS, but for ACME challenges.
	Redirected bool
	Inbound    []string // ranges of clients that may connect; nil for all clients
	// the name or the ARN of the web ACL of the load balancer; "" for none
	WebACL         string
	SecurityGroups []string // those of the class, by ID or name
	// Annotations has the Ingress's annotations of Fairlead.
	Annotations map[string]string
}

package lb

// A Takeover says which wanted load balancer one of others becomes, and which of its parts are which wanted ones.
type Takeover struct {
	Want LoadBalancer
	// Groups has the ID of the wanted target group of each found one, by handle. Several found ones can be one wanted one.
	// Those that are not in it are not wanted.
	Groups map[string]GroupID
	// Differ has the handles of the load balancer, listeners and target groups whose settings differ from the wanted ones.
	Differ map[string]bool
	// Shapes has the shape of each listener that keeps its rules, by port; see ObservedListener.
	Shapes map[int32]string
	// Stay has the handles of listeners that no Ingress asks for, and that stay as they are, with all that is theirs.
	Stay map[string]bool
	// Firewall is the security group that says which clients may connect; "" if the Ingresses name security groups.
	Firewall string
	// Kept are security groups of others that the load balancer keeps besides.
	Kept []string
}

// A TagChange changes the tags of some resources, which need the same change: first some are added, then others are removed,
// so that tags that are renamed are never lost.
type TagChange struct {
	Handles []string          `json:"handles"`
	Add     map[string]string `json:"add,omitempty"`
	Remove  []string          `json:"remove,omitempty"`
}

package lb

// A GroupKey names a target group of a load balancer.
type GroupKey struct {
	Key Key
	ID  GroupID
}

// String returns both names.
func (k GroupKey) String() string { return string(k.Key) + " " + string(k.ID) }

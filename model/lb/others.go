package lb

// Marks say which load balancers that others made are asked about: one, or all with some tags.
type Marks struct {
	Handle string            // its name in the cloud, such as an ARN
	Tags   map[string]string // an empty value stands for any
}

// An Other is a load balancer that others made, as the cloud has it. Its target groups have their
// names in the cloud as IDs, and Read has all of its settings, whoever wrote them.
type Other struct {
	Observed
	Name string
	// Tags has the tags of the load balancer, of its listeners, rules, target groups and security
	// groups, by handle.
	Tags map[string]map[string]string
}

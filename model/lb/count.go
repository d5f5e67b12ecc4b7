package lb

// This file counts what clouds limit.

// Counts are how many there are of what a cloud limits in one load balancer.
type Counts struct {
	Rules        int // defaults not counted
	TargetGroups int
	Certificates int // default certificates not counted
	Listeners    int
	Verifying    int // listeners that verify the certificates of clients
}

// Counts are those of a load balancer that is wanted.
func (l LoadBalancer) Counts() Counts {
	c := Counts{TargetGroups: len(l.TargetGroups), Listeners: len(l.Listeners)}
	for _, listener := range l.Listeners {
		c.Rules += len(listener.Rules)
		c.Certificates += max(0, len(listener.Certificates)-1)
		if listener.Verifies {
			c.Verifying++
		}
	}
	return c
}

// Counts are those of a load balancer that is there.
func (o *Observed) Counts() Counts {
	c := Counts{Rules: o.RuleCount(), TargetGroups: len(o.TargetGroups), Listeners: len(o.Listeners)}
	for _, listener := range o.Listeners {
		c.Certificates += max(0, len(listener.Certificates)-1)
		if listener.Verifies {
			c.Verifying++
		}
	}
	return c
}

// Limits are how many of each there may be; zero is no limit.
func (c Capabilities) Limits() Counts {
	return Counts{Rules: c.Rules, TargetGroups: c.TargetGroups, Certificates: c.Certificates, Listeners: c.Listeners, Verifying: c.Verifying}
}

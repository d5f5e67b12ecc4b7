package look

import "fairlead.dev/fairlead/model/lb"

// This file has the defaults that AWS gives to attributes.

// LoadBalancerDefaults, internalDefaults, TargetGroupDefaults and ListenerDefaults have AWS's
// defaults. Attributes that depend on another one have none, and listener attributes without one
// default to the empty string.
var (
	LoadBalancerDefaults = lb.ALBDefaults(false)
	internalDefaults     = lb.ALBDefaults(true)
	TargetGroupDefaults  = lb.ALBGroupDefaults()
	ListenerDefaults     = lb.ALBListenerDefaults()
)

// lateAttributes are the attributes of load balancers that AWS may refuse for a reason outside of
// them: the others do not wait for these.
var lateAttributes = func() map[string]bool {
	out := map[string]bool{}
	for name, row := range lb.ALB().BalancerAttributes {
		if row.Late {
			out[name] = true
		}
	}
	return out
}()

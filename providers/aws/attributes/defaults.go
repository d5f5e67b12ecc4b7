package attributes

import "fairlead.dev/fairlead/model/lb"

// This file has the defaults that AWS gives to attributes.

// LoadBalancerDefaults, TargetGroupDefaults and ListenerDefaults have AWS's defaults. Attributes
// that depend on another one have none, and listener attributes without one default to the empty
// string.
var (
	LoadBalancerDefaults = lb.ALBDefaults()
	TargetGroupDefaults  = lb.ALBGroupDefaults()
	ListenerDefaults     = lb.ALBListenerDefaults()
)

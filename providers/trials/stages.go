package trials

import (
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the wanted load balancers.

// The load balancers of a run.
const (
	first  lb.Key = "fairlead/prove/first/internal"
	second lb.Key = "fairlead/prove/second/internal"
)

// Their target groups.
const (
	web  lb.GroupID = "prove/web:80"
	api  lb.GroupID = "prove/api:80"
	late lb.GroupID = "prove/late:80"
)

// Host is the host of the rules and certificates of a run. Nothing resolves it.
const Host = "shop.prove.example.com"

// clients are the permitted clients. The address is reserved for documentation (RFC 5737).
var clients = []string{"192.0.2.1/32"}

// A life has the wanted load balancers of a run.
type life struct {
	subnets []string
	targets []lb.Target
	tag     string
}

// balancer returns a load balancer, with its parts in the order of the IDs.
func (l life) balancer(key lb.Key, groups []lb.TargetGroup, certificates []lb.Certificate,
	listeners ...lb.Listener) lb.LoadBalancer {
	settings := routing.Settings{
		Scheme: "internal", IPFamily: "ipv4", Subnets: l.subnets, Tags: map[string]string{"stage": l.tag},
	}
	return lb.LoadBalancer{
		Key: key, Digest: lb.DigestOf(settings), Settings: settings, Listeners: listeners,
		TargetGroups: groups, Certificates: certificates,
	}
}

func listener(port int32, protocol routing.Protocol, certificates []lb.Certificate,
	rules ...lb.Rule) lb.Listener {
	settings := lb.ListenerSettings{Inbound: clients}
	l := lb.Listener{
		Port: port, Protocol: protocol, Default: lb.FromRouting(routing.Status(404)), Rules: rules,
		Settings: settings, Digest: lb.DigestOf(settings),
	}
	for _, c := range certificates {
		l.Certificates = append(l.Certificates, c.ID)
	}
	return l
}

func rule(path string, action lb.Action) lb.Rule {
	return lb.Rule{
		Action: action, Conditions: []lb.Condition{{Field: "host", Values: []string{Host}},
			{Field: "path", Values: []string{path}}},
	}
}

func forward(id lb.GroupID) lb.Action { return lb.FromRouting(routing.To(id)) }

// group returns a target group, with the target of the run if there is one.
func (l life) group(id lb.GroupID, check string) lb.TargetGroup {
	health := routing.HealthCheck{Path: check, Protocol: "HTTP", Port: "traffic-port",
		IntervalSeconds: 5,
		TimeoutSeconds:  2, HealthyThreshold: 2, UnhealthyThreshold: 2, SuccessCodes: "200"}
	return lb.TargetGroup{ID: id, Service: "prove/web", Port: "80", TargetType: "ip", Protocol: "HTTP",
		Version: "HTTP1",
		Family:  "ipv4", Digest: lb.DigestOf(health), Health: health, Targets: l.targets}
}

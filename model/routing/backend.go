package routing

import (
	"encoding/json"
	"strconv"

	"fairlead.dev/fairlead/model/diag"
)

// A BackendID identifies a backend within one load balancer by the properties that cannot change in
// place: Service, port, IP family, target type and protocol. It is "shop/web:80", with properties
// that are not the default after a slash: "shop/web:80/ipv6". That of a target group that others
// made is its name in the cloud.
type BackendID string

// A Protocol is the protocol of clients, or of targets.
type Protocol string

// The protocols.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
)

// A Version is the version of HTTP of targets.
type Version string

// The versions of HTTP of targets.
const (
	VersionHTTP1 Version = "HTTP1"
	VersionHTTP2 Version = "HTTP2"
	VersionGRPC  Version = "GRPC"
)

// A Backend is a Service port as a target of requests, shared by every Ingress of a load
// balancer that uses it.
type Backend struct {
	ID BackendID
	// TargetGroup is the name in the cloud of a target group that others made, which the backend
	// stands for; "" for a Service. Then only it and the ID are set.
	TargetGroup string

	Service    string      // namespace/name
	Port       ServicePort // the Service's port number, or a name if it has no such port
	TargetType string      // ip or instance
	NodeLabels string      // a selector of labels, such as "name=value,…": of the nodes that are targets; "" for all
	Protocol   Protocol    // towards the target
	Version    Version
	Family     string      // ipv4 or ipv6
	Provider   string      // settings that only the provider understands, as JSON
	Health     HealthCheck // mutable: not part of the identity
	Attributes []Attribute // mutable too; by name
	Targets    []Target    // the endpoints to register first, sorted
}

// An Attribute is a setting by its name in the cloud, with the Ingress that sets it.
type Attribute struct {
	Name, Value string
	Owner       Owner
	Source      diag.Source
}

// A ServicePort is the number of a Service's port, or a name that no port of the Service has.
// In JSON a number is a number.
type ServicePort string

// MarshalJSON prints a number as a number.
func (p ServicePort) MarshalJSON() ([]byte, error) {
	if _, err := strconv.ParseUint(string(p), 10, 16); err == nil {
		return []byte(p), nil
	}
	return json.Marshal(string(p))
}

// UnmarshalJSON reads what MarshalJSON prints.
func (p *ServicePort) UnmarshalJSON(data []byte) error {
	var number json.Number
	if err := json.Unmarshal(data, &number); err == nil {
		*p = ServicePort(number)
		return nil
	}
	return json.Unmarshal(data, (*string)(p))
}

// A Target is one address that serves a backend.
type Target struct {
	Address string `json:"address"` // an IP address, a host name, or an instance
	Port    int32  `json:"port"`
	// Instance is the cloud's ID of the node at Address, until it is known which of the two the cloud
	// uses.
	Instance string `json:"-"`
}

func (t Target) String() string { return t.Address + ":" + strconv.Itoa(int(t.Port)) }

// A HealthCheck has the settings of a target group's health check.
type HealthCheck struct {
	Path               string `json:"path,omitempty"`
	Port               string `json:"port,omitempty"` // a number, or "traffic-port"
	Protocol           string `json:"protocol,omitempty"`
	IntervalSeconds    int    `json:"intervalSeconds,omitempty"`
	TimeoutSeconds     int    `json:"timeoutSeconds,omitempty"`
	HealthyThreshold   int    `json:"healthyThreshold,omitempty"`
	UnhealthyThreshold int    `json:"unhealthyThreshold,omitempty"`
	SuccessCodes       string `json:"successCodes,omitempty"`
}

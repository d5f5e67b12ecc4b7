package v1

import "encoding/json"

// Settings are the settings of a load balancer.
type Settings struct {
	Scheme         string            `json:"scheme,omitempty" enum:"internal,internet-facing"`
	IPFamily       string            `json:"ipFamily,omitempty" enum:"ipv4,dualstack,dualstack-without-public-ipv4"`
	Subnets        []string          `json:"subnets,omitempty"`
	SecurityGroups []string          `json:"securityGroups,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	// Provider is spec.provider of the class: settings that only this provider understands.
	Provider json.RawMessage `json:"provider,omitempty"`
}

// A LoadBalancer has the load balancer of a step, without its listeners, which have steps of their own.
type LoadBalancer struct {
	Settings Settings `json:"settings"`
	// Digest is the digest of the settings. A provider stores it with the load balancer, and reports it unless it
	// reports the settings themselves.
	Digest string `json:"digest,omitempty"`
	// Protected says that the cloud has to refuse to delete the load balancer.
	Protected bool `json:"protected,omitempty"`
}

// A Listener answers on one port: with the first rule that matches, else with its default action.
type Listener struct {
	Port     int32  `json:"port"`
	Protocol string `json:"protocol" enum:"HTTP,HTTPS"`
	// Certificates are IDs: the default one first. In modifyListener, the others do not count.
	Certificates []string         `json:"certificates,omitempty"`
	Settings     ListenerSettings `json:"settings"`
	Digest       string           `json:"digest,omitempty"` // stands for Settings
	Default      Action           `json:"default"`
}

// ListenerSettings are the settings of a whole port.
type ListenerSettings struct {
	// Inbound are the ranges of addresses that may connect; none: all.
	Inbound    []string           `json:"inbound,omitempty"`
	TLSPolicy  string             `json:"tlsPolicy,omitempty"`
	Attributes map[string]string  `json:"attributes,omitempty"`
	Clients    *ClientCertificate `json:"clientCertificates,omitempty"`
	Tags       map[string]string  `json:"tags,omitempty"`
	// SecretsDigest is the digest of the client secrets of all actions of the listener.
	SecretsDigest string `json:"secretsDigest,omitempty"`
}

// ClientCertificate says how certificates of clients are handled.
type ClientCertificate struct {
	Mode             string `json:"mode" enum:"off,passthrough,verify"`
	TrustStore       string `json:"trustStore,omitempty"`
	IgnoreExpiry     bool   `json:"ignoreExpiry,omitempty"`
	AdvertiseCANames bool   `json:"advertiseCANames,omitempty"`
}

// A Rule sends the requests that fulfil all of its conditions to its action.
type Rule struct {
	Conditions []Condition `json:"conditions"`
	Action     Action      `json:"action"`
}

// A Condition holds if any of its values does. It has Values or Regex.
type Condition struct {
	Field string `json:"field" enum:"host,path,header,method,query,source"`
	// Name of the header or of the query parameter. A condition on the query without a name has pairs as
	// values, "name=value", and values of any parameter.
	Name string `json:"name,omitempty"`
	// Values are texts in which "*" is any text and "?" any one byte, without an escape for either; of
	// the field source, ranges of addresses. Whether "*" in a host stands for one label only is for
	// the provider to say, in its Capabilities.
	Values []string `json:"values,omitempty"`
	// Regex are regular expressions in the syntax of RE2, each of which has to match the whole text.
	Regex []string `json:"regex,omitempty"`
}

// An Action is the answer to a request.
type Action struct {
	Kind string `json:"kind" enum:"forward,fixed,redirect"`

	Forward  *Forward  `json:"forward,omitempty"`
	Fixed    *Fixed    `json:"fixed,omitempty"`
	Redirect *Redirect `json:"redirect,omitempty"`

	// Auth requires a sign-in or a token before the rest of the action.
	Auth *Auth `json:"auth,omitempty"`
	// Rewrite changes a request on its way to a target.
	Rewrite *Rewrite `json:"rewrite,omitempty"`
}

// A Forward sends requests to target groups, by their weights.
type Forward struct {
	Targets []Weighted `json:"targetGroups"`
	// StickySeconds is how long a client stays with the target group that answered it first; 0: not at
	// all.
	StickySeconds int32 `json:"stickySeconds,omitempty"`
}

// Weighted is a target group with its weight. Its share of requests is the weight over the sum of all weights.
type Weighted struct {
	TargetGroup string `json:"targetGroup"`
	Weight      int32  `json:"weight"`
}

// Fixed is a response of the load balancer itself.
type Fixed struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
}

// A Redirect sends the client to another URL. A part of the URL that is missing or "" stays as it is, the query
// included: it cannot be removed. #{protocol}, #{host}, #{port}, #{path} and #{query} in a part stand for those of the
// request; #{path} is without its first slash, and #{port} that of the listener.
type Redirect struct {
	Status int    `json:"status"`
	Scheme string `json:"scheme,omitempty"`
	Host   string `json:"host,omitempty"`
	Port   string `json:"port,omitempty"`
	Path   string `json:"path,omitempty"`
	Query  string `json:"query,omitempty"`
}

// A Rewrite replaces the first match of an expression, in the syntax of RE2. $1 to $9 in a
// replacement stand for groups. What does not match stays as it is.
type Rewrite struct {
	URL             string `json:"url,omitempty"` // of the path and, behind a question mark, the query
	URLReplacement  string `json:"urlReplacement,omitempty"`
	Host            string `json:"host,omitempty"`
	HostReplacement string `json:"hostReplacement,omitempty"`
}

// Auth requires a signed-in user, or a token.
type Auth struct {
	Kind string `json:"kind" enum:"oidc,cognito,jwt"`

	Issuer                string  `json:"issuer,omitempty"`
	AuthorizationEndpoint string  `json:"authorizationEndpoint,omitempty"`
	TokenEndpoint         string  `json:"tokenEndpoint,omitempty"`
	UserInfoEndpoint      string  `json:"userInfoEndpoint,omitempty"`
	KeysEndpoint          string  `json:"keysEndpoint,omitempty"`
	Claims                []Claim `json:"claims,omitempty"`
	UserPool              string  `json:"userPool,omitempty"`
	UserPoolDomain        string  `json:"userPoolDomain,omitempty"`

	ClientID       string            `json:"clientID,omitempty"`
	OnMissing      string            `json:"onMissing,omitempty" enum:"authenticate,allow,deny"`
	Scope          string            `json:"scope,omitempty"`
	Cookie         string            `json:"cookie,omitempty"`
	TimeoutSeconds int64             `json:"timeoutSeconds,omitempty"`
	Parameters     map[string]string `json:"parameters,omitempty"`

	// ClientSecret is in steps only. A provider never reports it.
	ClientSecret string `json:"clientSecret,omitempty"`
	// KeepClientSecret says that the client secret is the one that the cloud has.
	KeepClientSecret bool `json:"keepClientSecret,omitempty"`
}

// A Claim is a claim that a token needs.
type Claim struct {
	Name   string   `json:"name"`
	Format string   `json:"format" enum:"single-string,string-array,space-separated-values"`
	Values []string `json:"values"`
}

// A TargetGroup is a set of targets that rules forward to. Everything except Settings stays the same as long as it
// exists.
type TargetGroup struct {
	ID         string `json:"id"`
	Service    string `json:"service"` // namespace/name
	Port       string `json:"port"`    // of the Service: a number or a name
	TargetType string `json:"targetType,omitempty" enum:"ip,instance"`
	Protocol   string `json:"protocol,omitempty" enum:"HTTP,HTTPS"` // towards targets
	Version    string `json:"version,omitempty" enum:"HTTP1,HTTP2,GRPC"`
	Family     string `json:"family,omitempty" enum:"ipv4,ipv6"`
	// Provider is spec.provider of the Backend: settings that only this provider understands. Other settings make
	// another target group, with its own ID.
	Provider json.RawMessage `json:"provider,omitempty"`
	Settings GroupSettings   `json:"settings"`
	Digest   string          `json:"digest,omitempty"` // stands for Settings
}

// GroupSettings are the settings of a target group that change in place.
type GroupSettings struct {
	Health     HealthCheck       `json:"healthCheck"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// A HealthCheck says how targets are checked.
type HealthCheck struct {
	Path               string `json:"path,omitempty"`
	Port               string `json:"port,omitempty"` // a number, or traffic-port
	Protocol           string `json:"protocol,omitempty" enum:"HTTP,HTTPS"`
	IntervalSeconds    int    `json:"intervalSeconds,omitempty"`
	TimeoutSeconds     int    `json:"timeoutSeconds,omitempty"`
	HealthyThreshold   int    `json:"healthyThreshold,omitempty"`
	UnhealthyThreshold int    `json:"unhealthyThreshold,omitempty"`
	SuccessCodes       string `json:"successCodes,omitempty"` // such as 200 or 200-299 or 200,301
}

// A Target is a member of a target group.
type Target struct {
	Address string `json:"address"` // an IP address, a host name, or an instance
	Port    int32  `json:"port"`
}

// A Certificate is a certificate that comes from a Secret.
type Certificate struct {
	ID    string            `json:"id"`
	Hosts []string          `json:"hosts"`          // the names in it
	Kind  string            `json:"kind,omitempty"` // what does not change when it is renewed
	Tags  map[string]string `json:"tags,omitempty"`
	// Digest is the digest of Tags.
	Digest string `json:"digest,omitempty"`
	// Chain and Key are PEM, in steps that import or replace. A provider never reports the key.
	Chain string `json:"chain,omitempty"`
	Key   string `json:"key,omitempty"`
}

// Package saved has routing tables as plan prints them, and as diff reads them again.
package saved

import (
	"time"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file has the JSON of routing tables: keys may be added, and none may change. It has all that
// decides the answers to requests, and no secrets.

// A Table has the routes of one load balancer.
type Table struct {
	Key            routing.Key        `json:"key"`
	Scheme         string             `json:"scheme"`
	SecurityGroups []string           `json:"securityGroups,omitempty"`
	Protection     routing.Protection `json:"protection"`
	// MissesFallThrough is hostMiss: LessSpecific.
	MissesFallThrough bool `json:"missesFallThrough,omitempty"`
	HostsOwned        bool `json:"hostsOwned,omitempty"`
	// InOrder: the first route that matches a request answers it.
	InOrder      bool          `json:"inOrder,omitempty"`
	Listeners    []listener    `json:"listeners"`
	Certificates []certificate `json:"certificates,omitempty"`
	Routes       []route       `json:"routes"`
	Names        []name        `json:"names,omitempty"`
	Defaults     []fallback    `json:"defaults,omitempty"`
	// Closed has hosts that no less specific host answers for.
	Closed []closedHost `json:"closed,omitempty"`
}

type listener struct {
	Port         int32                         `json:"port"`
	Protocol     routing.Protocol              `json:"protocol"`
	Certificates []routing.CertificateID       `json:"certificates,omitempty"`
	TLSPolicy    string                        `json:"tlsPolicy,omitempty"`
	Mutual       *routing.MutualAuthentication `json:"mutual,omitempty"`
	Inbound      []string                      `json:"inbound,omitempty"`
}

type certificate struct {
	ID    routing.CertificateID `json:"id"`
	Hosts []string              `json:"hosts"`
	// Secrets are namespace/name of those that hold it.
	Secrets []string `json:"secrets,omitempty"`
}

type closedHost struct {
	Host      routing.Host `json:"host"`
	Port      int32        `json:"port"`
	GivenUpBy string       `json:"givenUpBy,omitempty"`
}

type route struct {
	Host       routing.Host `json:"host"`
	Listed     *host        `json:"listed,omitempty"`
	Path       path         `json:"path"`
	When       []condition  `json:"when,omitempty"`
	Action     action       `json:"action"`
	Ports      []int32      `json:"ports"`
	Owner      owner        `json:"owner"`
	Index      int          `json:"index"`
	Spelt      string       `json:"spelt,omitempty"`
	BySpelling bool         `json:"bySpelling,omitempty"`
	Source     place        `json:"source"`
}

// A host is a host that spec.tls lists, with its settings.
type host struct {
	By routing.Host `json:"by"`
}

type path struct {
	Type  string `json:"type"` // Exact, Prefix, Glob or Regex
	Value string `json:"value"`
}

type condition struct {
	Field  string   `json:"field"`
	Name   string   `json:"name,omitempty"`
	Regex  bool     `json:"regex,omitempty"`
	Values []string `json:"values"`
}

type name struct {
	Host   routing.Host `json:"host"`
	Listed *host        `json:"listed,omitempty"`
	Owner  owner        `json:"owner"`
	Ports  []int32      `json:"ports"`
	Beside bool         `json:"beside,omitempty"`
	Unsaid []int32      `json:"unsaid,omitempty"`
	Source place        `json:"source"`
}

type fallback struct {
	Action action  `json:"action"`
	Ports  []int32 `json:"ports"`
	Plain  bool    `json:"plain,omitempty"`
	Owner  owner   `json:"owner"`
	Source place   `json:"source"`
}

type owner struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created,omitzero"`
	Order     int       `json:"order,omitempty"`
}

type place struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Field     string `json:"field,omitempty"`
}

func placeOf(s diag.Source) place { return place{s.Kind, s.Namespace, s.Name, s.Field} }

func (p place) source() diag.Source {
	return diag.Source{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Field: p.Field}
}

type action struct {
	Forward       []weighted       `json:"forward,omitempty"`
	StickySeconds int32            `json:"stickySeconds,omitempty"`
	Fixed         *fixed           `json:"fixed,omitempty"`
	Redirect      *redirect        `json:"redirect,omitempty"`
	Rewrite       *routing.Rewrite `json:"rewrite,omitempty"`
	SignIn        *signIn          `json:"signIn,omitempty"`

	SSLRedirect *routing.SSLRedirect `json:"sslRedirect,omitempty"`
}

type weighted struct {
	Backend routing.BackendID `json:"backend"`
	Weight  int32             `json:"weight"`
}

type fixed struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
}

type redirect struct {
	Status int    `json:"status"`
	Scheme string `json:"scheme,omitempty"`
	Host   string `json:"host,omitempty"`
	Port   string `json:"port,omitempty"`
	Path   string `json:"path,omitempty"`
	Query  string `json:"query,omitempty"`
}

// signIn has the settings for users to sign in, without the client's secret.
type signIn struct {
	Auth       routing.Auth `json:"auth"`
	Secret     string       `json:"secret,omitempty"` // namespace/name
	SecurePort int32        `json:"securePort,omitempty"`
}

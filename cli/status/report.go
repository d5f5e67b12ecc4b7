// Package status says which load balancers, hosts and routes there are, and what is wrong with them.
package status

import (
	"time"

	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
)

// This file has the JSON that status prints. Other programs rely on it: keys may be added, and none may change. Lists are
// never null.

// A Report is what is served, and what is wrong.
type Report struct {
	// LoadBalancers has those that need attention first.
	LoadBalancers []LoadBalancer `json:"loadBalancers"`
	// Hosts are the hosts of each load balancer and port.
	Hosts       []Host             `json:"hosts"`
	Diagnostics []Finding          `json:"diagnostics"`
	Problems    manifests.Problems `json:"problems"`
	Summary     Summary            `json:"summary"`
}

// A Summary has counts.
type Summary struct {
	LoadBalancers int `json:"loadBalancers"`
	// Attention is how many of them need attention.
	Attention int          `json:"attention"`
	Ingresses int          `json:"ingresses"`
	Hosts     int          `json:"hosts"`
	Routes    int          `json:"routes"`
	Findings  output.Tally `json:"findings"`
}

// A LoadBalancer is one that Ingresses ask for, or that the operator still reports.
type LoadBalancer struct {
	Key   lb.Key `json:"key"`
	Class string `json:"class"`
	// State is "ok", "attention", or "unknown" if no operator reports it.
	State string `json:"state"`
	// Address is what clients connect to; empty where it is not known.
	Address string   `json:"address,omitempty"`
	Members []string `json:"members"`
	// Conditions are those of the LoadBalancer.
	Conditions []Condition `json:"conditions"`
	Listeners  []Listener  `json:"listeners"`
	Rules      Use         `json:"rules"`
	// Certificates do not count the default ones of listeners.
	Certificates Use      `json:"certificates"`
	Endpoints    *Targets `json:"endpoints,omitempty"`
	// LastChange is the last plan that had steps.
	LastChange *Change `json:"lastChange,omitempty"`
	LastError  string  `json:"lastError,omitempty"`
	// NotKnown has what is not known here, each with the command that knows it.
	NotKnown []NotKnown `json:"notKnown"`
}

// A Condition is one of a LoadBalancer.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// A Listener is a port.
type Listener struct {
	Port         int32    `json:"port"`
	Protocol     string   `json:"protocol"`
	Rules        int      `json:"rules"`
	Certificates []string `json:"certificates"`
}

// A Use is how much of a limit is used. A limit of 0 is none.
type Use struct {
	Used  int `json:"used"`
	Limit int `json:"limit"`
}

// Targets are endpoints of Services in Kubernetes, by their readiness there. What the health checks of the cloud say is
// not known here.
type Targets struct {
	Ready    int `json:"ready"`
	NotReady int `json:"notReady"`
}

// A Change is a plan that the operator made, and how much of it was done.
type Change struct {
	At      time.Time `json:"at,omitzero"`
	Summary string    `json:"summary"`
	Done    int       `json:"done"`
	Steps   []string  `json:"steps"`
	// Omitted is the number of further steps.
	Omitted int `json:"omitted,omitempty"`
}

// NotKnown is something that is not known here, and the command that knows it.
type NotKnown struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// A Host is one host of one port of a load balancer.
type Host struct {
	// Host is a name, a wildcard, or * for requests for any other host.
	Host         string `json:"host"`
	Port         int32  `json:"port"`
	Protocol     string `json:"protocol"`
	LoadBalancer lb.Key `json:"loadBalancer"`
	// Routes are in the order of precedence. Those that no request reaches come last.
	Routes []Route `json:"routes"`
	// Default answers requests that match no route.
	Default Route `json:"default"`
	// Refused are the errors of Ingresses that name the host.
	Refused []Finding `json:"refused"`
	// RefusedPaths are their paths that are not served, each with the answer that requests get instead.
	RefusedPaths []Route `json:"refusedPaths"`
}

// A Route is a path of a host, with its answer.
type Route struct {
	Path string `json:"path,omitempty"`
	// Type is Exact, Prefix, Glob or Regex.
	Type string `json:"type,omitempty"`
	// When has further conditions.
	When string `json:"when,omitempty"`
	// URL is a request that gets this answer, if its conditions hold.
	URL     string         `json:"url,omitempty"`
	Answer  string         `json:"answer"`
	Outcome answer.Outcome `json:"outcome"`
	// Endpoints are those of all Services of the answer, if they are known.
	Endpoints *Targets `json:"endpoints,omitempty"`
	SignIn    string   `json:"signIn,omitempty"`
	Rewrite   string   `json:"rewrite,omitempty"`
	Ingress   string   `json:"ingress,omitempty"`
	Source    string   `json:"source,omitempty"`
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"`
	// Unreachable: no request reaches the route, as the routes of Behind match all of its requests.
	Unreachable bool     `json:"unreachable,omitempty"`
	Behind      []string `json:"behind,omitempty"`
	// RefusedFor is the reason why a path is refused.
	RefusedFor diag.Reason `json:"refusedFor,omitempty"`
}

// A Finding is a diagnostic, with its place among the files and the page about its reason.
type Finding struct {
	diag.Diagnostic
	Namespace string `json:"namespace,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	// Meaning and Remedy are those of the reason.
	Meaning string `json:"meaning"`
	Remedy  string `json:"remedy"`
	Page    string `json:"page"`
}

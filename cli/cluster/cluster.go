// Package cluster looks at what the operator needs of a cluster, and changes nothing.
package cluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/check"
)

// A Cluster answers what is asked about it.
type Cluster interface {
	// Version is that of the API server: 1.36.
	Version(ctx context.Context) (string, error)
	// Definition is the CustomResourceDefinition of a name, as JSON has it; nil where there is none.
	Definition(ctx context.Context, name string) (map[string]any, error)
	Classes(ctx context.Context) ([]networkingv1.IngressClass, error)
	Webhooks(ctx context.Context) ([]Webhook, error)
	// Answers reports whether a Service is there, and whether something answers for it.
	Answers(ctx context.Context, namespace, service string) (there, ready bool, err error)
	// Leases are the namespaces in which operators of Fairlead hold a lease of a name.
	Leases(ctx context.Context, name string) ([]string, error)
	// May reports whether the caller is allowed something.
	May(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error)
}

// Options are what the operator is told.
type Options struct {
	Oldest, Newest int    // minor versions of Kubernetes 1 that are supported
	Namespace      string // the only one that is served, or empty
	Lease          string // the name of the operator's lease
}

// Check looks at all of it.
func Check(ctx context.Context, c Cluster, o Options) []check.Finding {
	version := checkVersion(ctx, c, o)
	out := []check.Finding{version}
	if version.ID == Silent {
		return out // the rest would say the same
	}
	out = append(out, checkKinds(ctx, c)...)
	out = append(out, checkRights(ctx, c, o)...)
	out = append(out, checkClasses(ctx, c)...)
	out = append(out, checkWebhooks(ctx, c)...)
	return append(out, checkOthers(ctx, c, o)...)
}

// Silent is the ID of the finding of an API server that does not answer.
const Silent = "cluster/silent"

func checkVersion(ctx context.Context, c Cluster, o Options) check.Finding {
	const id, title = "cluster/version", "API server"
	version, err := c.Version(ctx)
	if err != nil {
		return check.Bad(Silent, title, err.Error(), "see to --kubeconfig and the network, or leave the cluster out with --kubeconfig none")
	}
	var major, minor int
	supported := fmt.Sprintf("1.%d to 1.%d are supported", o.Oldest, o.Newest)
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return check.Unsure(id, title, fmt.Sprintf("its version is %q; %s", version, supported), "")
	}
	switch {
	case major == 1 && minor < o.Oldest:
		return check.Bad(id, title, fmt.Sprintf("it is of version %s; %s", version, supported), "upgrade the cluster, or use a release of Fairlead that was made for it")
	case major != 1 || minor > o.Newest:
		return check.Unsure(id, title, fmt.Sprintf("it is of version %s; %s", version, supported), "see whether a newer release of Fairlead was made for it")
	}
	return check.Good(id, title, fmt.Sprintf("it is of version %s; %s", version, supported))
}

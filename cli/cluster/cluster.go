// Package cluster checks what the operator needs of a cluster, and changes nothing.
package cluster

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// This file is the interface to a cluster.

// A Cluster answers the questions of the checks.
type Cluster interface {
	// Version returns that of the API server: 1.36.
	Version(ctx context.Context) (string, error)
	// Definition returns a CustomResourceDefinition in its JSON form, or nil if it does not exist.
	Definition(ctx context.Context, name string) (map[string]any, error)
	Classes(ctx context.Context) ([]networkingv1.IngressClass, error)
	Webhooks(ctx context.Context) ([]Webhook, error)
	// Answers reports whether a Service exists, and whether it has a ready endpoint.
	Answers(ctx context.Context, namespace, service string) (there, ready bool, err error)
	// Leases returns the namespaces in which operators of Fairlead hold a lease of a name.
	Leases(ctx context.Context, name string) ([]string, error)
	// IsAllowed reports whether the caller has a permission.
	IsAllowed(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error)
}

// Options describe the operator.
type Options struct {
	Oldest, Newest int    // minor versions of Kubernetes 1 that are supported
	Namespace      string // the only one that is served, or empty
	Lease          string // the name of the operator's lease
}

// A Webhook is one of a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
type Webhook struct {
	Kind, Configuration, Name string
	Client                    admissionv1.WebhookClientConfig
	Rules                     []admissionv1.RuleWithOperations
	FailurePolicy             *admissionv1.FailurePolicyType
}

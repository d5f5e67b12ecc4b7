package cluster

import (
	"context"
	"fmt"
	"regexp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file reads a cluster through its API server.

// Live is a Cluster behind an API server.
type Live struct {
	Client    client.Client
	Discovery discovery.ServerVersionInterface
}

var digits = regexp.MustCompile(`^\d+`)

// Version returns the version of the API server, such as 1.36, without the suffix that vendors append.
func (l Live) Version(context.Context) (string, error) {
	info, err := l.Discovery.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the version: %w", err)
	}
	return info.Major + "." + digits.FindString(info.Minor), nil
}

// Definition returns a CustomResourceDefinition, or nil if it does not exist.
func (l Live) Definition(ctx context.Context, name string) (map[string]any, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	err := l.Client.Get(ctx, client.ObjectKey{Name: name}, out)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinition: %w", err)
	}
	return out.Object, nil
}

// Classes returns all IngressClasses.
func (l Live) Classes(ctx context.Context) ([]networkingv1.IngressClass, error) {
	var list networkingv1.IngressClassList
	if err := l.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing IngressClasses: %w", err)
	}
	return list.Items, nil
}

// Webhooks returns all validating and mutating webhooks.
func (l Live) Webhooks(ctx context.Context) ([]Webhook, error) {
	var validating admissionv1.ValidatingWebhookConfigurationList
	if err := l.Client.List(ctx, &validating); err != nil {
		return nil, fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	var mutating admissionv1.MutatingWebhookConfigurationList
	if err := l.Client.List(ctx, &mutating); err != nil {
		return nil, fmt.Errorf("listing MutatingWebhookConfigurations: %w", err)
	}
	var out []Webhook
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			out = append(out, Webhook{"ValidatingWebhookConfiguration", c.Name, w.Name, w.ClientConfig,
				w.Rules, w.FailurePolicy})
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			out = append(out, Webhook{"MutatingWebhookConfiguration", c.Name, w.Name, w.ClientConfig,
				w.Rules, w.FailurePolicy})
		}
	}
	return out, nil
}

// Answers reports whether a Service exists, and whether it has a ready endpoint.
func (l Live) Answers(
	ctx context.Context, namespace, service string,
) (there, ready bool, err error) {
	var found corev1.Service
	err = l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: service}, &found)
	if apierrors.IsNotFound(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("reading the Service %s/%s: %w", namespace, service, err)
	}
	var slices discoveryv1.EndpointSliceList
	if err := l.Client.List(ctx, &slices, client.InNamespace(namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return true, false, fmt.Errorf("listing EndpointSlices in %s: %w", namespace, err)
	}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return true, true, nil
			}
		}
	}
	return true, found.Spec.Type == corev1.ServiceTypeExternalName, nil
}

// Leases returns the namespaces in which a lease of this name is held.
func (l Live) Leases(ctx context.Context, name string) ([]string, error) {
	var list coordinationv1.LeaseList
	if err := l.Client.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, fmt.Errorf("listing Leases: %w", err)
	}
	var out []string
	for _, lease := range list.Items {
		if held := lease.Spec.HolderIdentity; held != nil && *held != "" {
			out = append(out, lease.Namespace)
		}
	}
	return out, nil
}

// IsAllowed reports whether the caller has a permission.
func (l Live) IsAllowed(
	ctx context.Context, what authorizationv1.ResourceAttributes,
) (bool, error) {
	spec := authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: spec}
	if err := l.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking what the caller may do: %w", err)
	}
	return review.Status.Allowed, nil
}

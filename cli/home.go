package cli

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/scheme"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file is the cluster that a cloud is used for, as far as a cloud may ask about it: whose load
// balancers these are, and which instances are its nodes.

// A home is a cluster, or the part of it that is served.
type home struct {
	kubeconfig   string
	namespace    string
	installation string // as it is set, or empty
}

// config is how to reach the API server.
func (h home) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = h.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("finding the cluster: there is none around this process, and neither --kubeconfig nor KUBECONFIG names one")
	}
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "fairlead"
	// The API server shares itself out among those who ask. At most one request is under way for
	// each load balancer that is being reconciled.
	config.QPS = -1
	return config, nil
}

func (h home) client() (client.Client, error) {
	config, err := h.config()
	if err != nil {
		return nil, err
	}
	out, err := client.New(config, client.Options{Scheme: scheme.New()})
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return out, nil
}

// surroundings are what a cloud is told of the cluster.
func (h home) surroundings() clouds.Surroundings {
	return clouds.Surroundings{Installation: h.installationID, Nodes: h.instances}
}

// installationID tells what this operator makes from what others do: those of other clusters, which
// have another namespace kube-system, and those of other namespaces.
func (h home) installationID(ctx context.Context) (string, error) {
	if h.installation != "" {
		return h.installation, nil
	}
	cluster, err := h.client()
	if err != nil {
		return "", err
	}
	var found corev1.NamespaceList
	if err := cluster.List(ctx, &found, client.MatchingFields{"metadata.name": metav1.NamespaceSystem}); err != nil {
		return "", fmt.Errorf("reading the UID of %s, which names this operator unless --installation-id does: %w", metav1.NamespaceSystem, err)
	}
	if len(found.Items) == 0 {
		return "", fmt.Errorf("reading the UID of %s, which names this operator unless --installation-id does: it is not there", metav1.NamespaceSystem)
	}
	id := string(found.Items[0].UID)
	if h.namespace != "" {
		id += "/" + h.namespace
	}
	return id, nil
}

// instances are what the cloud calls the nodes; one page of them.
func (h home) instances(ctx context.Context) ([]string, error) {
	cluster, err := h.client()
	if err != nil {
		return nil, err
	}
	var nodes corev1.NodeList
	if err := cluster.List(ctx, &nodes, client.Limit(100)); err != nil {
		return nil, fmt.Errorf("listing Nodes: %w", err)
	}
	var out []string
	for i := range nodes.Items {
		if id := endpoints.AddressesOf(&nodes.Items[i]).Instance; id != "" {
			out = append(out, id)
		}
	}
	return out, nil
}

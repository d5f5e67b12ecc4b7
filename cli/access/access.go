// Package access reaches the cluster that a command works on: the flags that name it, its API
// server, and the questions that a cloud has about it.
package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file is the cluster that a cloud is used for, as far as a cloud may ask about it: whose load
// balancers these are, and which instances are its nodes.

// A home is a cluster, or the part of it that is served.
type Cluster struct {
	Kubeconfig   string
	Namespace    string
	installation string // as it is set, or empty
}

// Config is how to reach the API server.
func (h Cluster) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = h.Kubeconfig
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

func (h Cluster) Client() (client.Client, error) {
	config, err := h.Config()
	if err != nil {
		return nil, err
	}
	out, err := client.New(config, client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return out, nil
}

// Surroundings are what a cloud is told of the cluster.
func (h Cluster) Surroundings() clouds.Surroundings {
	return clouds.Surroundings{Installation: h.installationID, Nodes: h.Instances}
}

// installationID tells what this operator makes from what others do: those of other clusters, which
// have another namespace kube-system, and those of other namespaces.
func (h Cluster) installationID(ctx context.Context) (string, error) {
	if h.installation != "" {
		return h.installation, nil
	}
	cluster, err := h.Client()
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
	if h.Namespace != "" {
		id += "/" + h.Namespace
	}
	return id, nil
}

// Instances are what the cloud calls the nodes; one page of them.
func (h Cluster) Instances(ctx context.Context) ([]string, error) {
	cluster, err := h.Client()
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

// Flags say which cluster is meant, or which part of it.
func (h *Cluster) Flags(flags *pflag.FlagSet) {
	h.ClusterFlags(flags)
	flags.StringVar(&h.installation, "installation-id", "", "`TEXT` in the cloud's tags that tells what this operator makes from what others do; unset: the UID of the namespace kube-system, and the namespace that is served")
}

// ClusterFlags say which cluster, and which part of it.
func (h *Cluster) ClusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&h.Kubeconfig, "kubeconfig", "", "`FILE` that says which cluster; unset: KUBECONFIG, else the cluster around this process")
	flags.StringVar(&h.Namespace, "namespace", "", "the only `NAMESPACE` whose Ingresses are served; unset: all")
}

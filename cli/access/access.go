// Package access reaches what a command works on: a cluster, by the flags that name it, and clouds of the binary or
// providers that are other processes, by names and URLs.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/providers/clouds"
)

// NoCluster is the value of --kubeconfig that stands for no cluster.
const NoCluster = "none"

// A Cluster is the cluster that a command works on, or a namespace of it.
type Cluster struct {
	Kubeconfig   string
	context      string // of the kubeconfig; empty for the current one
	Namespace    string // empty for all
	installation string // the value of --installation-id
}

// ConnectionFlags adds the flags that name the cluster, and a namespace of it.
func (c *Cluster) ConnectionFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "",
		"`FILE` with the connection to the cluster; "+
			"unset: KUBECONFIG, else ~/.kube/config, else the cluster that this process runs in")
	flags.StringVar(&c.context, "context", "",
		"`NAME` of a context of the kubeconfig; unset: its current one")
	flags.StringVarP(&c.Namespace, "namespace", "n", "",
		"serve only the Ingresses of this `NAMESPACE`; unset: those of all namespaces")
}

// Flags adds these flags, and the one that marks what the operator makes in the cloud.
func (c *Cluster) Flags(flags *pflag.FlagSet) {
	c.ConnectionFlags(flags)
	flags.StringVar(&c.installation, "installation-id", "",
		"`TEXT` in the tags of the cloud's resources that marks those of this operator; unset: the UID "+
			"of the namespace kube-system, and --namespace")
}

// Config returns the connection to the API server.
func (c Cluster) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: c.context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("finding the cluster: " +
			"this process is not in a cluster, neither --kubeconfig nor KUBECONFIG names one, " +
			"and there is no ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config.UserAgent = "fairlead"
	// The API server limits its clients itself (API Priority and Fairness). At most one request is
	// under way for each load balancer that is being reconciled.
	config.QPS = -1
	return config, nil
}

// Watcher returns a client of the API server that watches objects.
func (c Cluster) Watcher() (client.WithWatch, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	out, err := client.NewWithWatch(config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return out, nil
}

// Client returns a client of the API server.
func (c Cluster) Client() (client.Client, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	out, err := client.New(config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return out, nil
}

// Environment describes the cluster to a cloud.
func (c Cluster) Environment() clouds.Environment {
	return clouds.Environment{Installation: c.installationID, Nodes: c.instances}
}

// Name returns the name of the context of the kubeconfig, and the address of the API server; empty if there is none.
func (c Cluster) Name() (name, server string) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	if raw, err := rules.Load(); err == nil {
		name = cmp.Or(c.context, raw.CurrentContext)
	}
	if config, err := c.Config(); err == nil {
		server = config.Host
	}
	return name, server
}

// NamesContext reports whether a context of the kubeconfig was named.
func (c Cluster) NamesContext() bool { return c.context != "" }

// installationID returns the text in tags that marks the resources of this operator. Operators of
// other clusters have another namespace kube-system, and those of one namespace append its name.
func (c Cluster) installationID(ctx context.Context) (string, error) {
	if c.installation != "" {
		return c.installation, nil
	}
	cluster, err := c.Client()
	if err != nil {
		return "", err
	}
	const system = metav1.NamespaceSystem
	const doing = "reading the UID of " + system +
		", which names this operator unless --installation-id does"
	var found corev1.NamespaceList
	if err := cluster.List(ctx, &found, client.MatchingFields{"metadata.name": system}); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	if len(found.Items) == 0 {
		return "", errors.New(doing + ": it is not there")
	}
	id := string(found.Items[0].UID)
	if c.Namespace != "" {
		id += "/" + c.Namespace
	}
	return id, nil
}

// KnownInstances returns the instances of the nodes, or none where the cluster cannot be asked.
func (c Cluster) KnownInstances(ctx context.Context) ([]string, error) {
	if c.Kubeconfig == NoCluster {
		return nil, nil
	}
	ids, err := c.instances(ctx)
	if err != nil {
		return nil, nil //nolint:nilerr // the check of the cluster reports it
	}
	return ids, nil
}

// instances returns the cloud's names of the first hundred nodes.
func (c Cluster) instances(ctx context.Context) ([]string, error) {
	cluster, err := c.Client()
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

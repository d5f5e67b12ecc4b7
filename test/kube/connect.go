package kube

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// This file is how tests and commands reach the API server.

// connect writes the kubeconfig and reads the administrator's configuration from it, so that both
// are the same.
func (c *Cluster) connect() error {
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.CurrentContext = name
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:               "https://" + host + ":" + strconv.Itoa(c.port),
		CertificateAuthority: c.authority.path("ca.crt"),
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: c.authority.admin}
	c.Kubeconfig = filepath.Join(c.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, c.Kubeconfig); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	read, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	read.QPS = -1
	read.WarningHandler = rest.NoWarnings{} // they are for people
	c.Config = read
	return nil
}

// As is the configuration of somebody else, to whom RBAC gives no more than the test has bound:
// "system:serviceaccount:fairlead:operator" is a service account.
func (c *Cluster) As(user string, groups ...string) *rest.Config {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}

// Client is the administrator's.
func (c *Cluster) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Namespace makes one for a test, so that tests which share a control plane share nothing else.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	client := c.Client(t).CoreV1().Namespaces()
	made, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %s", err)
	}
	return made.Name
}

// awaitServer waits until the API server says that it is ready and has made the namespace that
// everybody takes for granted.
func (c *Cluster) awaitServer(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return c.await(ctx, func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// await asks again until the answer is good, or can never be.
func (c *Cluster) await(ctx context.Context, ask func(context.Context) error) error {
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-often.C:
		case <-c.etcd.done:
			return errors.New("etcd has ended:\n" + c.etcd.tail())
		case <-c.server.done:
			return errors.New("kube-apiserver has ended:\n" + c.server.tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for kube-apiserver: %w; it says:\n%s", err, c.server.tail())
		}
	}
}

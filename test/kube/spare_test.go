package kube

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// objectsOf are the names of all objects that an API server serves, kind by kind.
func objectsOf(t *testing.T, c *Cluster) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, kinds, err := c.Client(t).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, group := range kinds {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range group.APIResources {
			if strings.Contains(k.Name, "/") || !slices.Contains(k.Verbs, "list") {
				continue
			}
			all, err := client.Resource(version.WithResource(k.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("listing %s of %s: %s", k.Name, version, err)
			}
			out = append(out, version.String()+" "+k.Name)
			for _, o := range all.Items {
				if k.Name != "leases" && k.Name != "ipaddresses" && k.Name != "endpointslices" && k.Name != "endpoints" {
					out = append(out, version.String()+" "+k.Name+" "+o.GetNamespace()+"/"+o.GetName())
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestTheNextTestFindsNothing: a control plane that a test has had is as a new one, whatever the test has made,
// changed and deleted.
func TestTheNextTestFindsNothing(t *testing.T) {
	var first *Cluster
	var want []string
	t.Run("first", func(t *testing.T) {
		first = Start(t, Options{})
		Eventually(t, "the API server has made its own objects", func() bool {
			before := len(want)
			want = objectsOf(t, first)
			return before == len(want) && slices.Contains(want, "v1 services default/kubernetes") && slices.Contains(want, "v1 namespaces /kube-public")
		})
		client, namespace := first.Client(t), first.Namespace(t)
		if _, err := client.NetworkingV1().Ingresses(namespace).Create(t.Context(), anIngress("web", "web"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "of-a-test"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		first.Command(t) // installs the class
		dynamics, err := dynamic.NewForConfig(first.Config)
		if err != nil {
			t.Fatal(err)
		}
		kinds := dynamics.Resource(definitions)
		if err := kinds.Delete(t.Context(), "loadbalancers.fairlead.dev", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("next", func(t *testing.T) {
		next := Start(t, Options{})
		if next != first {
			t.Fatal("it has a control plane of its own, and starting one takes seconds")
		}
		var got []string
		Eventually(t, "all kinds are served", func() bool {
			got = objectsOf(t, next)
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Errorf("it finds\n%s\nand a new one has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		next.Command(t)
		if _, err := next.Client(t).NetworkingV1().IngressClasses().Get(t.Context(), Class, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

package kube

import (
	"net/http"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestMain(m *testing.M) { Main(m, Options{}) }

// anIngress routes everything to a Service.
func anIngress(name, service string) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
}

func TestTheAPIServerIsReal(t *testing.T) {
	c := Shared(t)
	ingresses := c.Client(t).NetworkingV1().Ingresses(c.Namespace(t))

	made, err := ingresses.Create(t.Context(), anIngress("web", "web"), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a good Ingress is refused: %s", err)
	}
	if made.UID == "" || made.Generation != 1 {
		t.Errorf("a stored Ingress has UID %q and generation %d", made.UID, made.Generation)
	}
	if _, err := ingresses.Create(t.Context(), anIngress("bad", "No Service"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a bad Ingress: %v, want it to be refused as invalid", err)
	}
	if _, err := ingresses.Create(t.Context(), anIngress("web", "web"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the same Ingress again: %v, want it to be refused as there already", err)
	}
}

func TestRBACHolds(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	client, err := kubernetes.NewForConfig(c.As("system:serviceaccount:" + namespace + ":operator"))
	if err != nil {
		t.Fatal(err)
	}
	list := func() error {
		_, err := client.NetworkingV1().Ingresses(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(); !apierrors.IsForbidden(err) {
		t.Fatalf("before it is bound: %v, want it to be forbidden", err)
	}
	admin := c.Client(t).RbacV1()
	meta := metav1.ObjectMeta{Name: "operator"}
	if _, err := admin.Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{networkingv1.GroupName}, Resources: []string{"ingresses"}, Verbs: []string{"list"},
	}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "operator"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the binding counts", func() bool { return list() == nil })
}

func TestDefinitionsAreServed(t *testing.T) {
	c := Shared(t)
	found, err := readDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		t.Run(d.GetName(), func(t *testing.T) {
			spec := d.Object["spec"].(map[string]any)
			plural := spec["names"].(map[string]any)["plural"].(string)
			for _, v := range spec["versions"].([]any) {
				path := "/apis/" + spec["group"].(string) + "/" + v.(map[string]any)["name"].(string) + "/" + plural
				var code int
				c.Client(t).Discovery().RESTClient().Get().AbsPath(path).Do(t.Context()).StatusCode(&code)
				if code != http.StatusOK {
					t.Errorf("GET %s: %d", path, code)
				}
			}
		})
	}
}

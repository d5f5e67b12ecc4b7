package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file stores the operator's reports and records on a real API server.

// clientOf reads and writes our kinds, and the definitions of kinds.
func clientOf(t *testing.T, c *kube.Cluster) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// newLoadBalancer makes the object of a key; its status is for the caller to set.
func newLoadBalancer(t *testing.T, c *kube.Cluster, key string) (client.Client, *v1alpha1.LoadBalancer) {
	t.Helper()
	api := clientOf(t, c)
	made := &v1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Name(key, "")},
		Spec:       v1alpha1.LoadBalancerSpec{Key: key},
	}
	if err := api.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return api, made
}

func someStatus() v1alpha1.LoadBalancerStatus {
	at := metav1.NewTime(time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC))
	return v1alpha1.LoadBalancerStatus{
		Address:     "shop.example.com",
		IPs:         []string{"192.0.2.1"},
		Members:     []string{"shop/web", "shop/cart"},
		MemberCount: 2,
		Listeners:   []v1alpha1.ListenerStatus{{Port: 80, Protocol: v1alpha1.ProtocolHTTP, Rules: 3}},
		Rules:       3,
		RuleLimit:   100,
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted, LastTransitionTime: at},
			{Type: v1alpha1.ConditionProgrammed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProgrammed, LastTransitionTime: at},
			{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAsExpected, LastTransitionTime: at},
		},
		LastPlan: &v1alpha1.PlanStatus{At: at, Summary: "1 to create, 0 to change, 0 to delete", Done: 1, Steps: []v1alpha1.PlanStep{{Op: "create rule", ID: "80/1"}}},
		Memory: v1alpha1.Memory{
			// No scheme of today: a version before this one may have known it.
			Class: &v1alpha1.LoadBalancerClassSpec{Scheme: "of-old", ListenPorts: []v1alpha1.ListenPort{{Protocol: "GOPHER", Port: 70}}},
			Members: []v1alpha1.MemberMemory{{
				Ingress: "shop/web", Served: true, Previous: "fairlead/shop/web/internal", PublishedAt: &at,
				LastAccepted: &v1alpha1.AcceptedVersion{
					At:          at,
					Annotations: map[string]string{"fairlead.dev/group": "shop"},
					Spec:        networkingv1.IngressSpec{IngressClassName: new("fairlead"), TLS: []networkingv1.IngressTLS{{Hosts: []string{"shop.example.com"}}}},
				},
				Rejections: []v1alpha1.Rejection{{Version: "0123", Message: "too long", Capabilities: "4567"}},
			}},
		},
	}
}

// TestStatusIsStoredAsItIs: nothing of a report or a memory is pruned, defaulted or judged.
func TestStatusIsStoredAsItIs(t *testing.T) {
	api, made := newLoadBalancer(t, kube.Shared(t), "fairlead/@stored/internal")
	made.Status = someStatus()
	if err := api.Status().Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	var stored v1alpha1.LoadBalancer
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(made), &stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someStatus(), stored.Status); diff != "" {
		t.Errorf("the status, stored (-want +got):\n%s", diff)
	}
}

func TestKeyDoesNotChange(t *testing.T) {
	api, made := newLoadBalancer(t, kube.Shared(t), "fairlead/@kept/internal")
	made.Spec.Key = "fairlead/@other/internal"
	if err := api.Update(t.Context(), made); !apierrors.IsInvalid(err) {
		t.Errorf("another key: %v, want it to be refused", err)
	}
}

// A status of three megabytes is written compressed, and read as it was.
func TestACompressedStatusIsStored(t *testing.T) {
	api, made := newLoadBalancer(t, kube.Shared(t), "fairlead/@crowded/internal")
	made.Status = someStatus()
	members := made.Status.Memory.Members
	for i := range 300 {
		m := *members[0].DeepCopy()
		m.Ingress = fmt.Sprintf("shop/web-%03d", i)
		m.LastAccepted.Annotations = map[string]string{"fairlead.dev/health-check-path": "/" + strings.Repeat(m.Ingress, 900)}
		members = append(members, m)
	}
	made.Status.Memory.Members = members
	if lost, err := made.Status.Trim(v1alpha1.MaxSize); err != nil || len(lost) > 0 {
		t.Fatalf("%d members lost their version, error %v", len(lost), err)
	}
	written := made.DeepCopy()
	written.Status.Memory = made.Status.Memory.Stored()
	if err := api.Status().Update(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	var stored v1alpha1.LoadBalancer
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(made), &stored); err != nil {
		t.Fatal(err)
	}
	if err := stored.Status.Memory.Expand(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members, stored.Status.Memory.Members); diff != "" {
		t.Errorf("the members, stored (-want +got):\n%.2000s", diff)
	}
}

// TestTrimmedStatusIsStored: what Trim leaves of far too much is small enough.
func TestTrimmedStatusIsStored(t *testing.T) {
	api, made := newLoadBalancer(t, kube.Shared(t), "fairlead/@large/internal")
	made.Status = someStatus()
	member := made.Status.Memory.Members[0]
	draw := rand.New(rand.NewPCG(1, 1)) // numbers that cannot be compressed to less than two thirds
	made.Status.Memory.Members = nil
	for i := range 300 {
		member.Ingress = fmt.Sprintf("shop/web-%03d", i)
		var noise strings.Builder
		for noise.Len() < 10_000 {
			fmt.Fprintf(&noise, "/%x", draw.Uint64())
		}
		member.LastAccepted = member.LastAccepted.DeepCopy()
		member.LastAccepted.Annotations = map[string]string{"fairlead.dev/health-check-path": noise.String()}
		made.Status.Memory.Members = append(made.Status.Memory.Members, member)
	}
	if err := api.Status().Update(t.Context(), made.DeepCopy()); err == nil {
		t.Fatal("three megabytes can be stored: then this test shows nothing")
	}
	lost, err := made.Status.Trim(v1alpha1.MaxSize)
	if err != nil || len(lost) == 0 || len(lost) == 300 {
		t.Fatalf("%d of 300 members lost their version, error %v", len(lost), err)
	}
	made.Status.Memory = made.Status.Memory.Stored()
	if err := api.Status().Update(t.Context(), made); err != nil {
		t.Errorf("with %d versions dropped: %s", len(lost), err)
	}
}

// TestColumns is `kubectl get loadbalancers`.
func TestColumns(t *testing.T) {
	c := kube.Shared(t)
	api, made := newLoadBalancer(t, c, "fairlead/@columns/internal")
	made.Status = someStatus()
	if err := api.Status().Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	text, err := c.Client(t).Discovery().RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "loadbalancers", made.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		got[column.Name] = table.Rows[0].Cells[i]
	}
	delete(got, "Age")
	want := map[string]any{
		"Name": made.Name, "Address": "shop.example.com", "Members": 2.0, "Rules": 3.0, "Limit": 100.0, "Accepted": "True",
		"Programmed": "True", "Degraded": "False", "Plan": "1 to create, 0 to change, 0 to delete", "Error": nil, "Missing": nil,
		"Adoption": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the columns (-want +got):\n%s", diff)
	}
}

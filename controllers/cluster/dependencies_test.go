package cluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/lb"
)

func TestDirectory(t *testing.T) {
	d := NewDependencies()
	shop := RefTo(KindIngress, "ns", "shop")
	secret, service := RefTo(KindSecret, "ns", "tls"), RefTo(KindService, "ns", "web")
	want := func(what string, got, want []lb.Key) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	want("a new Ingress", d.Place(shop, []lb.Key{"a"}), []lb.Key{"a"})
	want("one that moves concerns both", d.Place(shop, []lb.Key{"b"}), []lb.Key{"a", "b"})
	d.Release(shop, "a")
	want("until it is let go of", d.DependentsOf(shop), []lb.Key{"b"})
	want("one that is not there", d.Place(RefTo(KindIngress, "ns", "other"), nil), nil)

	d.SetReferences("b", []Ref{secret, service})
	d.SetReferences("c", []Ref{service})
	want("a Service of two", d.DependentsOf(service), []lb.Key{"b", "c"})
	want("a Secret of one", d.DependentsOf(secret), []lb.Key{"b"})
	want("another namespace's", d.DependentsOf(RefTo(KindService, "other", "web")), nil)
	d.SetReferences("b", []Ref{service})
	want("a Secret that is not named any more", d.DependentsOf(secret), nil)
	d.SetReferences("b", nil)
	d.SetReferences("c", nil)
	d.Release(shop, "b")
	if len(d.Dependents)+len(d.Members)+len(d.Refs) > 0 {
		t.Errorf("what nobody depends on is kept: %+v", d)
	}
}

func TestBeside(t *testing.T) {
	d := NewDependencies()
	const key, elsewhere lb.Key = "fairlead/ns/@all/internal", "fairlead/ns/@some/internal=edge"
	for ing, in := range map[string]lb.Key{
		"own": key, "facing": "fairlead/ns/@all/internet-facing", "named": "fairlead/ns/@all/internal=edge", "other": elsewhere,
	} {
		d.Place(RefTo(KindIngress, "ns", ing), []lb.Key{in})
	}
	want := func(what string, of lb.Key, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(d.MembersOfSiblings(of)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	want("those that ask for another scheme or name", key, "ns/facing", "ns/named")
	want("nobody", elsewhere)
	d.Release(RefTo(KindIngress, "ns", "named"), "fairlead/ns/@all/internal=edge")
	want("without those that were let go of", key, "ns/facing")
}

// The members under a class are those of its load balancers that were not released. What has no
// members any more is not kept.
func TestMembersUnderAClass(t *testing.T) {
	d := NewDependencies()
	web, api := RefTo(KindIngress, "ns", "web"), RefTo(KindIngress, "ns", "api")
	const one, other lb.Key = "public/ns/@all/internal", "private/ns/@all/internal"
	d.Place(web, []lb.Key{one})
	d.Place(api, []lb.Key{one, other})
	want := func(moment, class string, want ...string) {
		t.Helper()
		if got := slices.Sorted(slices.Values(d.MembersOfClass(class))); !slices.Equal(got, want) {
			t.Errorf("%s the members under %s are %q, want %q", moment, class, got, want)
		}
	}
	want("in the beginning", "public", "ns/api", "ns/web")
	want("in the beginning", "private", "ns/api")
	d.Release(web, one)
	want("when one has left", "public", "ns/api")
	d.Release(api, one)
	d.Release(api, other)
	want("when all have left", "public")
	if len(d.groups)+len(d.classes) > 0 {
		t.Errorf("there are groups %v and classes %v", d.groups, d.classes)
	}
}

func TestChangedReach(t *testing.T) {
	node := func(edits ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.1"}},
			Images:     []corev1.ContainerImage{{Names: []string{"echo"}}},
		}}
		for _, edit := range edits {
			edit(n)
		}
		return n
	}
	cases := map[string]struct {
		edit    func(*corev1.Node)
		matters bool
	}{
		"a heartbeat":        {edit: func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(1, 0) }},
		"another image":      {edit: func(n *corev1.Node) { n.Status.Images = nil }},
		"an annotation":      {edit: func(n *corev1.Node) { n.Annotations = map[string]string{"team": "a"} }},
		"a label":            {edit: func(n *corev1.Node) { n.Labels = map[string]string{"team": "a"} }, matters: true},
		"cordoned":           {edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		"not ready":          {edit: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, matters: true},
		"left out":           {edit: func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }, matters: true},
		"another address":    {edit: func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.1.0.2" }, matters: true},
		"being deleted":      {edit: func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.Unix(1, 0)) }, matters: true},
		"known to the cloud": {edit: func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///zone/i-1" }, matters: true},
		"shut down": {edit: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/shutdown"}}
		}, matters: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ChangedNode(node(), node(c.edit)); got != c.matters {
				t.Errorf("it matters: %v, want %v", got, c.matters)
			}
			slim, err := slimNode(node(c.edit))
			if err != nil || endpoints.AddressesOf(slim.(*corev1.Node)) != endpoints.AddressesOf(node(c.edit)) {
				t.Errorf("in the cache it is another node: %v, error %v", slim, err)
			}
		})
	}
}

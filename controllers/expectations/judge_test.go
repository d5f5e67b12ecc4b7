package expectations

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/expect"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

var ref = cluster.RefTo(cluster.KindConfigMap, "platform", "rules")

// table has a Prefix path of shop.example, which an Ingress sends to a backend, and a listener.
func table(path, backend string, edit func(*routing.Config)) *precedence.Table {
	owner := routing.Owner{Namespace: "shop", Name: "web"}
	c := routing.Config{
		Key:       "fairlead/shop/web/internal",
		Listeners: []routing.Listener{{Port: 80, Protocol: routing.HTTP}},
		Names:     []routing.Name{{Host: "shop.example", Owner: owner, Ports: []int32{80}}},
		Routes: []routing.Route{{Host: "shop.example", Path: routing.Path{Type: routing.Prefix, Value: path}, Owner: owner, Ports: []int32{80},
			Action: routing.Action{Forward: []routing.Weighted{{Backend: routing.BackendID(backend), Weight: 1}}}}},
	}
	if edit != nil {
		edit(&c)
	}
	return precedence.New(c)
}

// Without expectations, a plan may take away and protect, and add nothing.
func TestWhatMayChangeWithoutExpectations(t *testing.T) {
	inbound := func(c *routing.Config) { c.Listeners[0].Inbound = []string{"10.0.0.0/8"} }
	signIn := func(c *routing.Config) { c.Routes[0].Action.Auth = &routing.Auth{Kind: routing.OIDC} }
	for name, c := range map[string]struct {
		now, next *precedence.Table
		want      string
	}{
		"nothing":                   {table("/a", "A", nil), table("/a", "A", nil), ""},
		"a new load balancer":       {nil, table("/a", "A", nil), v1alpha1.ReasonExpectations},
		"no load balancer any more": {table("/a", "A", nil), nil, ""},
		"fewer paths":               {table("/a", "A", nil), table("/a/b", "A", nil), ""},
		"more paths":                {table("/a/b", "A", nil), table("/a", "A", nil), v1alpha1.ReasonExpectations},
		"another Service":           {table("/a", "A", nil), table("/a", "B", nil), v1alpha1.ReasonExpectations},
		"fewer clients":             {table("/a", "A", nil), table("/a", "A", inbound), ""},
		"more clients":              {table("/a", "A", inbound), table("/a", "A", nil), v1alpha1.ReasonExpectations},
		"users sign in":             {table("/a", "A", nil), table("/a", "A", signIn), ""},
		"users do not sign in":      {table("/a", "A", signIn), table("/a", "A", nil), v1alpha1.ReasonExpectations},
	} {
		t.Run(name, func(t *testing.T) {
			j := Judge(Set{ConfigMap: ref, Unread: "gone"}, c.now, c.next)
			if got := j.Reason(); got != c.want {
				t.Errorf("the reason is %q, want %q: %s", got, c.want, j.Message())
			}
		})
	}
}

// An expectation that requests violate already withholds nothing that makes it no worse. One that
// is not decided counts as violated.
func TestWhatMayChangeUnderExpectations(t *testing.T) {
	all, err := expect.Read("expectations: [{name: signed-in, requests: {paths: [{prefix: /admin}]}, must: {signIn: true}}]")
	if err != nil {
		t.Fatal(err)
	}
	guarded := func(c *routing.Config) {
		admin := c.Routes[0]
		admin.Path.Value = "/admin"
		admin.Action.Auth = &routing.Auth{Kind: routing.OIDC}
		c.Routes = append(c.Routes, admin)
	}
	undecided := func(c *routing.Config) {
		c.Routes[0].Path = routing.Path{Type: routing.Regex, Value: `/admin(/(a|b)*a(a|b){40})?`}
	}
	for name, c := range map[string]struct {
		now, next *precedence.Table
		want      string
		standing  int
	}{
		"it holds":                 {table("/a", "A", nil), table("/a", "A", nil), "", 0},
		"it is violated anew":      {table("/a", "A", nil), table("/admin", "A", nil), v1alpha1.ReasonExpectation, 0},
		"by a new load balancer":   {nil, table("/admin", "A", nil), v1alpha1.ReasonExpectation, 0},
		"it is violated as before": {table("/admin", "A", nil), table("/admin", "B", nil), "", 1},
		"by fewer requests":        {table("/admin", "A", nil), table("/admin/x", "A", nil), "", 1},
		"by more requests":         {table("/admin/x", "A", nil), table("/admin", "A", nil), v1alpha1.ReasonExpectation, 0},
		"by the path of another":   {table("/", "A", guarded), table("/", "A", nil), v1alpha1.ReasonExpectation, 0},
		"no longer":                {table("/admin", "A", nil), table("/a", "A", nil), "", 0},
		"it is not decided":        {table("/a", "A", nil), table("/a", "A", undecided), v1alpha1.ReasonExpectation, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := Judge(Set{ConfigMap: ref, All: all}, c.now, c.next)
			if got := j.Reason(); got != c.want || len(j.StillViolated) != c.standing {
				t.Errorf("the reason is %q and %d stand, want %q and %d: %s", got, len(j.StillViolated), c.want, c.standing, j.Message())
			}
		})
	}
}

// What cannot be read has no expectations and a reason.
func TestAConfigMapThatCannotBeRead(t *testing.T) {
	text := "expectations: [{name: x, must: {answered: true}}]"
	object := func(text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "rules"}, Data: map[string]string{"a": text}}
	}
	forbidden := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("forbidden")
	}}
	for name, c := range map[string]struct {
		from client.Reader
		want string
	}{
		"it can":        {fake.NewClientBuilder().WithObjects(object(text)).Build(), ""},
		"it is missing": {fake.NewClientBuilder().Build(), "there is no such ConfigMap"},
		"it is broken":  {fake.NewClientBuilder().WithObjects(object("x: y")).Build(), `data "a", line 1`},
		"it may not be": {fake.NewClientBuilder().WithInterceptorFuncs(forbidden).Build(), "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(c.from, nil, nil)
			for range 2 { // it is parsed once
				set := r.Read(t.Context(), ref)
				if (set.Unread == "") != (c.want == "") || !strings.Contains(set.Unread, c.want) || (len(set.All) == 1) != (c.want == "") {
					t.Errorf("read %+v, want %q", set, c.want)
				}
			}
		})
	}
}

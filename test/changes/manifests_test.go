// Package changes compares what fairlead diff says of two directories of manifests with a small
// matcher that is written from the documentation of Ingress v1 and of Fairlead, and shares no code
// with the compiler.
package changes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// This file makes random directories of manifests.

// What manifests are made of. No host is below the wildcard by more than one label.
var (
	theHosts   = []string{"a.t.test", "b.t.test", "*.t.test", "c.test", ""}
	thePaths   = []string{"/", "/a", "/a/", "/a/b", "/a/b/", "/ab", "/b", "/a/b/c"}
	theGlobs   = []string{"/a*", "/*b", "/a/?", "/*"}
	theSpaces  = []string{"ann", "bob", "cy"}
	theTypes   = []networkingv1.PathType{exact, prefix, specific}
	conditions = []string{`"method": ["GET"]`, `"header": {"x-a": ["yes"]}`, `"query": {"v": ["1"]}`}
)

const (
	group    = "fairlead.dev/group"
	exact    = networkingv1.PathTypeExact
	prefix   = networkingv1.PathTypePrefix
	specific = networkingv1.PathTypeImplementationSpecific
)

// A state is what one directory has.
type state struct {
	ingresses []*networkingv1.Ingress
	shared    bool // hosts have no owners
}

// A maker makes random manifests.
type maker struct{ *rand.Rand }

// state returns random manifests.
func (m maker) state() state {
	var s state
	s.shared = m.IntN(2) == 0
	for i := range 1 + m.IntN(5) {
		s.ingresses = append(s.ingresses, m.ingress(i))
	}
	return s
}

// changed returns the manifests with a few changes, or others.
func (m maker) changed(s state) state {
	if m.IntN(8) == 0 {
		return m.state()
	}
	next := state{shared: s.shared}
	for _, ing := range s.ingresses {
		next.ingresses = append(next.ingresses, ing.DeepCopy())
	}
	for round := range m.IntN(4) {
		at := m.IntN(len(next.ingresses))
		switch old := next.ingresses[at]; m.IntN(5) {
		case 0:
			next.ingresses = slices.Delete(next.ingresses, at, at+1)
		case 1:
			next.ingresses = append(next.ingresses, m.ingress(10+round))
		case 2:
			next.ingresses[at].CreationTimestamp = m.age()
		default:
			other := m.ingress(0)
			other.Name, other.Namespace, other.CreationTimestamp = old.Name, old.Namespace, old.CreationTimestamp
			if other.Spec.IngressClassName = old.Spec.IngressClassName; m.IntN(2) == 0 {
				delete(other.Annotations, group)
				if name, is := old.Annotations[group]; is {
					other.Annotations[group] = name
				}
			}
			next.ingresses[at] = other
		}
		if len(next.ingresses) == 0 {
			return next
		}
	}
	if m.IntN(20) == 0 {
		next.shared = !s.shared
	}
	return next
}

// age is one of a few times, so that Ingresses are equally old at times. Files need not have one.
func (m maker) age() metav1.Time {
	if m.IntN(3) == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(time.Unix(int64(1_700_000_000+m.IntN(3)), 0).UTC())
}

// ingress returns a random Ingress. Its TLS has all hosts of its rules, or none.
func (m maker) ingress(number int) *networkingv1.Ingress {
	class := []string{"one", "one", "one", "two", "nginx"}[m.IntN(5)]
	ing := &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: theSpaces[m.IntN(len(theSpaces))], Name: fmt.Sprintf("i%d", number),
			CreationTimestamp: m.age(), Annotations: map[string]string{}},
		Spec: networkingv1.IngressSpec{IngressClassName: &class},
	}
	if m.IntN(4) > 0 {
		ing.Annotations[group] = "all"
	}
	special := m.IntN(6) == 0
	hosts := slices.Clone(theHosts)
	m.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for _, host := range hosts[:1+m.IntN(3)] {
		if special && host == "" {
			continue
		}
		ing.Spec.Rules = append(ing.Spec.Rules, m.rule(host, special))
	}
	if !special && m.IntN(3) == 0 || len(ing.Spec.Rules) == 0 {
		backend := m.backend()
		ing.Spec.DefaultBackend = &backend
	}
	if special && len(ing.Spec.Rules) > 0 && m.IntN(2) == 0 {
		ing.Annotations["fairlead.dev/conditions"] = fmt.Sprintf(`[{"backend": %q, %s}]`,
			ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name, conditions[m.IntN(len(conditions))])
	}
	if m.IntN(3) == 0 {
		if named := hostsOf(ing); len(named) > 0 {
			ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: named}}
		}
	}
	return ing
}

func (m maker) rule(host string, special bool) networkingv1.IngressRule {
	out := networkingv1.IngressRule{Host: host}
	out.HTTP = &networkingv1.HTTPIngressRuleValue{}
	for range 1 + m.IntN(3) {
		kind := theTypes[m.IntN(len(theTypes))]
		path := thePaths[m.IntN(len(thePaths))]
		if special && kind == specific {
			path = theGlobs[m.IntN(len(theGlobs))]
		}
		out.HTTP.Paths = append(out.HTTP.Paths,
			networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: m.backend()})
	}
	return out
}

func (m maker) backend() networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: fmt.Sprintf("s%d", m.IntN(3)), Port: networkingv1.ServiceBackendPort{Number: 80}}}
}

// hostsOf are the hosts of rules, without the empty one.
func hostsOf(ing *networkingv1.Ingress) []string {
	var out []string
	for _, r := range ing.Spec.Rules {
		if r.Host != "" {
			out = append(out, r.Host)
		}
	}
	return out
}

// classesYAML are the classes and Services of all directories: Fairlead's two, whose groups have all
// namespaces, and that of another controller.
func classesYAML(shared bool) string {
	var b strings.Builder
	hosts := ""
	if shared {
		hosts = ", hosts: Shared"
	}
	for _, name := range []string{"one", "two"} {
		fmt.Fprintf(&b, `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: %s}
spec:
  controller: fairlead.dev/ingress
  parameters: {apiGroup: fairlead.dev, kind: ClusterLoadBalancerClass, name: all}
---
`, name)
	}
	fmt.Fprintf(&b, `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: fairlead.dev/v1alpha1
kind: ClusterLoadBalancerClass
metadata: {name: all}
spec: {groups: [{name: all, namespaceSelector: {}}]%s}
`, hosts)
	for _, space := range theSpaces {
		for i := range 3 {
			fmt.Fprintf(&b, `---
apiVersion: v1
kind: Service
metadata: {name: s%d, namespace: %s}
spec: {ports: [{port: 80}]}
`, i, space)
		}
	}
	return b.String()
}

// write writes the manifests into a directory, in one file or in several.
func (s state) write(t *testing.T, dir string, rng *rand.Rand) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"classes.yaml": classesYAML(s.shared)}
	for i, ing := range s.ingresses {
		text, err := yaml.Marshal(ing)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("f%d.yaml", rng.IntN(i+1))
		files[name] += "---\n" + string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

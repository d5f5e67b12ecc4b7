package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/settings"
)

// This file decides which Ingresses may set whole ports and load balancers. On a load balancer of
// one namespace, all members may. In a group across namespaces, the class decides, and the
// Ingresses of the namespace that it names as the owner of the group. Settings of other members do
// not count; a member that would be exposed without its setting is not served (packages listeners
// and policies).

// sharedGroup returns a group across namespaces of the class, or nil.
func (c *Class) sharedGroup(name string) *v1alpha1.SharedGroup {
	at := slices.IndexFunc(c.Groups, func(g v1alpha1.SharedGroup) bool { return g.Name == name })
	if at < 0 {
		return nil
	}
	return &c.Groups[at]
}

// ownerOf returns the namespace that owns a group across namespaces; "" for none.
func (c *Class) ownerOf(group string) string {
	if g := c.sharedGroup(group); g != nil {
		return g.Owner
	}
	return ""
}

// sharedGroupOf returns the group across namespaces that an Ingress names, or "".
func (c *Class) sharedGroupOf(ing *networkingv1.Ingress) string {
	group := ing.Annotations[settings.Group]
	if c.sharedGroup(group) == nil ||
		!settings.Of(settings.Group).Allows(&c.LoadBalancerClassSpec, group) {
		return ""
	}
	return group
}

// countsSettingsOf reports whether the settings of a namespace count for whole load balancers and
// ports, in a group or in none.
func (c *Class) countsSettingsOf(namespace, group string) bool {
	return group == "" || c.ownerOf(group) == namespace
}

// selects reports whether a valid selector selects a namespace with these labels.
func selects(s *metav1.LabelSelector, namespace map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(namespace))
}

// excludes returns why a namespace may not be on a load balancer: the selector of its group across
// namespaces does not select the namespace. It returns "" if the namespace may, and if the class no
// longer has the group: then all members move away, within the moveGrace.
func (c *Class) excludes(key routing.Key, namespace string, labels map[string]string) string {
	group := c.sharedGroup(key.SharedGroup())
	if group == nil || selects(&group.NamespaceSelector, labels) {
		return ""
	}
	return fmt.Sprintf("class %s does not let namespace %s be in its group %s", c.Name, namespace,
		group.Name)
}

package classes

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

// This file decides whose settings count that are about a whole port or load balancer. On a load
// balancer of one namespace they are those of every member. In a group across namespaces they are
// those of the class, and of the Ingresses of the namespace that the class names as the owner of
// the group. What another member asks for does not count; where it would be exposed without it, it
// is not served (packages listeners and policies).

// sharedGroup is a group across namespaces of the class, or nil.
func (c *Class) sharedGroup(name string) *v1alpha1.SharedGroup {
	at := slices.IndexFunc(c.Groups, func(g v1alpha1.SharedGroup) bool { return g.Name == name })
	if at < 0 {
		return nil
	}
	return &c.Groups[at]
}

// OwnerOf is the namespace that owns a group across namespaces; "" for none.
func (c *Class) OwnerOf(group string) string {
	if g := c.sharedGroup(group); g != nil {
		return g.Owner
	}
	return ""
}

// SharedGroupOf is the group across namespaces that an Ingress asks for, or "".
func (c *Class) SharedGroupOf(ing *networkingv1.Ingress) string {
	group := ing.Annotations[settings.Group]
	if c.sharedGroup(group) == nil ||
		!settings.Of(settings.Group).Allows(&c.LoadBalancerClassSpec, group) {
		return ""
	}
	return group
}

// CountsSettingsOf reports whether the settings of a namespace count for the whole of a load
// balancer and its ports: that of a group across namespaces, or of no such group.
func (c *Class) CountsSettingsOf(namespace, group string) bool {
	return group == "" || c.OwnerOf(group) == namespace
}

// Selects reports whether a selector, which has been validated, selects a namespace with labels.
func Selects(s *metav1.LabelSelector, namespace map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(namespace))
}

// Excludes says why a namespace may not be on a load balancer: it is that of a group across
// namespaces, whose selector does not select the namespace. It is "" where the namespace may be
// there, and where the class has no such group any more: then all of its members move away, which
// takes the moveGrace.
func (c *Class) Excludes(key routing.Key, namespace string, labels map[string]string) string {
	group := c.sharedGroup(key.SharedGroup())
	if group == nil || Selects(&group.NamespaceSelector, labels) {
		return ""
	}
	return fmt.Sprintf("class %s does not let namespace %s be in its group %s", c.Name, namespace,
		group.Name)
}

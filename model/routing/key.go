package routing

import "strings"

// This file has the keys of load balancers.

// A Key identifies a load balancer by its properties that cannot change in place. It is
// "class/namespace/name/scheme" for the load balancer of one Ingress,
// "class/namespace/@group/scheme" for a group within a namespace, and "class/@group/scheme" for a
// group across namespaces. A load balancer of another provider than the operator's first has the
// provider after the scheme, and one with a chosen name has it at the end:
// "class/namespace/name/scheme@provider=name".
type Key string

// NewKey makes a key from the class with the Ingress or group, from the scheme and name that its
// Ingresses ask for, and from the provider of its class. The provider is "" for the operator's
// first, and the name is "" if none is chosen.
func NewKey(whose []string, scheme, provider, name string) Key {
	key := strings.Join(append(whose, scheme), "/")
	if provider != "" {
		key += "@" + provider
	}
	if name != "" {
		key += "=" + name
	}
	return Key(key)
}

// bindings begins the keys of bindings in place of a class: no class has such a name.
const bindings = "@binding/"

// NewBindingKey makes the key under which the target group of a TargetGroupBinding is kept, which has no
// load balancer.
func NewBindingKey(namespace, name, provider string) Key {
	return NewKey([]string{strings.TrimSuffix(bindings, "/"), namespace, name}, "", provider, "")
}

// Binding returns the namespace and the name of the TargetGroupBinding that a key stands for.
func (k Key) Binding() (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(string(k), bindings)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// Class returns the name of the class.
func (k Key) Class() string {
	class, _, _ := strings.Cut(string(k), "/")
	return class
}

// AcrossNamespaces reports whether the load balancer is for a group across namespaces.
func (k Key) AcrossNamespaces() bool {
	_, rest, _ := strings.Cut(string(k), "/")
	return strings.HasPrefix(rest, "@")
}

// Whose returns the key without scheme, provider and name: it is equal for all load balancers of a
// group.
func (k Key) Whose() string { return string(k[:strings.LastIndexByte(string(k), '/')+1]) }

// Tenant returns the beginning of the key that all load balancers of a class and a namespace have,
// or of a class and a group across namespaces: "class/namespace/" or "class/@group/".
func (k Key) Tenant() string {
	class, rest, _ := strings.Cut(string(k), "/")
	of, _, _ := strings.Cut(rest, "/")
	return class + "/" + of + "/"
}

// SharedGroup returns the name of the group across namespaces, or "".
func (k Key) SharedGroup() string {
	parts := strings.Split(string(k), "/")
	if len(parts) != 3 {
		return ""
	}
	group, _ := strings.CutPrefix(parts[1], "@")
	return group
}

// Scheme returns the scheme.
func (k Key) Scheme() string {
	where, _ := k.asked()
	scheme, _, _ := strings.Cut(where, "@")
	return scheme
}

// Provider returns the name of the provider, or "" for the operator's first.
func (k Key) Provider() string {
	where, _ := k.asked()
	_, provider, _ := strings.Cut(where, "@")
	return provider
}

// Name returns the name that its Ingresses ask for, or "".
func (k Key) Name() string {
	_, name := k.asked()
	return name
}

func (k Key) asked() (where, name string) {
	where, name, _ = strings.Cut(string(k[len(k.Whose()):]), "=")
	return where, name
}

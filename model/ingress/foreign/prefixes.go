package foreign

import "strings"

// This file finds the controller of an annotation by its prefix.

// controllerOfParentDomain returns the controller whose prefix is a parent domain of a prefix, as
// nginx.org is of custom.nginx.org; nil for none. Subdomains of kubernetes.io are looked up in all
// tables instead.
func controllerOfParentDomain(prefix string) *controller {
	for rest := prefix; ; {
		_, parent, found := strings.Cut(rest, ".")
		if !found {
			return nil
		}
		if c := byPrefix[parent]; c != nil && !strings.HasSuffix(parent, "kubernetes.io") {
			return c
		}
		rest = parent
	}
}

// controllerOf returns the controller of an annotation, with the parts of its key; nil if no
// Ingress controller is known for it.
func controllerOf(key string) (c *controller, prefix, name string) {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = splitWithoutSlash(key)
	}
	lower := strings.ToLower(name)
	c = byPrefix[strings.ToLower(prefix)]
	if c == nil {
		c = controllerOfParentDomain(strings.ToLower(prefix))
	}
	if c == nil || c.others && c.find(lower) == nil {
		if other := unlistedOf(strings.ToLower(prefix), lower); other != nil {
			c = other
		}
	}
	return c, prefix, name
}

// splitWithoutSlash splits a key that has '.', '-' or '_' after a known prefix, or that a
// controller reads without a slash. It returns "" for all others.
func splitWithoutSlash(key string) (prefix, name string) {
	lower := strings.ToLower(key)
	if as := withoutSlash[lower]; as != "" {
		prefix, name, _ = strings.Cut(as, "/")
		return prefix, name
	}
	for p := range byPrefix {
		if len(p) > len(prefix) && len(key) > len(p)+1 && strings.Contains(p, ".") &&
			strings.HasPrefix(lower, p) && strings.ContainsRune(".-_", rune(lower[len(p)])) {
			prefix, name = p, key[len(p)+1:]
		}
	}
	return prefix, name
}

// withoutSlash has the keys that controllers read without a slash: the Kong Ingress Controller
// before 0.8, docs/references/annotations.md.
var withoutSlash = map[string]string{
	"plugins.konghq.com": "konghq.com/plugins", "configuration.konghq.com": "konghq.com/override",
}

package foreign

import "strings"

// This file finds the controller of an annotation by its prefix.

// beneath is the controller of a prefix that a prefix is a subdomain of, as custom.nginx.org is of
// nginx.org; nil for none. Prefixes of Kubernetes' own domain are looked up in all tables instead.
func beneath(prefix string) *controller {
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

// controllerOf is the controller that an annotation is for, with the parts of its key; nil if it is
// none of an Ingress controller.
func controllerOf(key string) (c *controller, prefix, name string) {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = unslashed(key)
	}
	lower := strings.ToLower(name)
	c = byPrefix[strings.ToLower(prefix)]
	if c == nil {
		c = beneath(strings.ToLower(prefix))
	}
	if c == nil || c.others && c.find(lower) == nil {
		if other := unlistedOf(strings.ToLower(prefix), lower); other != nil {
			c = other
		}
	}
	return c, prefix, name
}

// unslashed are the prefix and the name of a key without a slash: a prefix of the table that
// something other than a slash stands behind, or a key that a controller reads so. The names are ""
// for all others.
func unslashed(key string) (prefix, name string) {
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

// withoutSlash are the keys that controllers read without a slash: the Kong Ingress Controller
// before 0.8, docs/references/annotations.md.
var withoutSlash = map[string]string{
	"plugins.konghq.com": "konghq.com/plugins", "configuration.konghq.com": "konghq.com/override",
}

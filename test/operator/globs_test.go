package operator

import (
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file serves from an API that does not understand regular expressions, and nobody has said
// so.

func TestRegularExpressionsAreNotUnderstood(t *testing.T) {
	t.Parallel()
	a := emulated(t)
	a.globs = false
	w := newWorld(t, a)
	w.replace(t)
	w.serve(t, "web", "10.0.0.10")
	w.create(t, w.ingress("many", "web", "/a", "/b", "/c", "/d"))
	kube.Eventually(t, "the Ingress is served without", func() bool { return w.hostname(t, "many") != "" && len(w.rules(t)) > 2 })
	w.count(t, work{"restart, nothing changed", 1 + 11, 0, func() { w.replace(t) }, w.looked(1)})
	w.delete(t, w.ingress("many", "web"))
	kube.Eventually(t, "all that was made is gone", func() bool { return w.ingresses(t) == 0 && w.empty(t) })
}

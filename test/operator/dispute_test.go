package operator

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/test/kube"
)

// This file has two clusters that look after one load balancer: a clone runs with the installation
// of the first cluster.

// Each of them repairs what the other one changes, until one finds its change undone twice in a row
// and leaves it. No request is answered by anything but what one of the clusters asks for.
func TestTwoClustersWithOneInstallationEndTheirDispute(t *testing.T) {
	t.Parallel()
	const looks, longest = 3 * time.Second, 8 * time.Minute
	cluster := kube.Start(t, kube.Options{})
	first := worldIn(t, cluster, cluster.Namespace(t), simulated(t))
	first.install(t)
	for i := range 2 {
		first.serve(t, backend(i), pods(i, 1)...)
	}
	first.create(t, first.ingress(site(0), backend(0), "/"))
	first.flags = []string{"--drift-interval=" + looks.String()}
	first.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return first.hostname(t, site(0)) != "" && first.behindOf(t, 0, 0) })
	at := first.hostname(t, site(0))
	either := []string{behind(0), behind(1), behind(0) + " " + behind(1), behind(1) + " " + behind(0)}
	v := first.vigilOver(at, map[string][]string{hostOf(0): either})

	second := worldIn(t, cluster.Clone(t, cluster.Backup(t)), first.namespace, first.account)
	second.point(t, site(0), backend(1))
	second.flags = first.flags
	second.replace(t)
	disputed := func(w *world) bool { return w.condition(t, v1alpha1.ConditionProgrammed) == v1alpha1.ReasonDisputed }
	began := time.Now()
	for !disputed(first) && !disputed(second) {
		if time.Since(began) > longest {
			t.Fatal("neither of them leaves it to the other")
		}
		time.Sleep(looks)
	}
	t.Logf("the dispute has lasted for %s", time.Since(began).Round(time.Second))

	first.proxy.forget()
	second.proxy.forget()
	time.Sleep(4 * looks) // in which each would repair it
	for name, w := range map[string]*world{"first": first, "second": second} {
		if _, writes, which := w.proxy.cost(); writes > 0 {
			t.Errorf("the %s cluster has made %d changes since: %s", name, writes, which)
		}
	}
	if disputed(first) && disputed(second) {
		t.Error("both have left it")
	}
	v.judge(t, "meanwhile")
}

package operator

import (
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file has a cluster cloned from a copy of etcd, which has the UID of its kube-system.

// A clone that has an installation of its own makes a load balancer of its own, although its
// records name that of the first cluster. The first one's is changed by neither: each request to it
// is answered as before.
func TestACloneWithItsOwnInstallationLeavesTheFirstClusterAlone(t *testing.T) {
	t.Parallel()
	cluster := kube.Start(t, kube.Options{})
	first := worldIn(t, cluster, cluster.Namespace(t), simulated(t))
	first.install(t)
	for i := range 2 {
		first.serve(t, backend(i), pods(i, 1)...)
	}
	first.create(t, first.ingress(site(0), backend(0), "/"))
	first.replace(t)
	kube.Eventually(t, "the Ingress is served", func() bool { return first.hostname(t, site(0)) != "" && first.behindOf(t, 0, 0) })
	at := first.hostname(t, site(0))
	v := first.vigilOver(at, map[string][]string{hostOf(0): {behind(0)}})

	second := worldIn(t, cluster.Clone(t, cluster.Backup(t)), first.namespace, first.account)
	second.point(t, site(0), backend(1)) // the clone is used for something else
	second.flags = []string{"--installation-id=clone"}
	first.proxy.forget()
	second.replace(t)
	kube.Eventually(t, "the clone has a load balancer of its own", func() bool {
		now := second.hostname(t, site(0))
		return now != "" && now != at && second.behindOf(t, 0, 1)
	})
	second.delete(t, first.ingress(site(0), backend(0), "/"))
	kube.Eventually(t, "the clone takes away its own", func() bool { return second.ingresses(t) == 0 && second.balancers(t) == 1 })
	if _, writes, which := first.proxy.cost(); writes > 0 || first.hostname(t, site(0)) != at {
		t.Errorf("the first cluster is reached at %q and was at %q, and has made %d changes: %s", first.hostname(t, site(0)), at, writes, which)
	}
	v.judge(t, "meanwhile")
}

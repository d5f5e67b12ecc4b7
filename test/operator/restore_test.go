package operator

import (
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

// This file has the API server restored from an older state.

// A restoring is a cluster from whose etcd a copy was taken, and what was made and changed since.
type restoring struct {
	*world
	copied      kube.Backup
	before, all int // Ingresses when the copy was taken, and since
	may         map[string][]string
	host        string
}

// newRestoring has Ingresses of one group. The first of them was changed since the copy was taken.
func newRestoring(t *testing.T, flags ...string) *restoring {
	t.Helper()
	cluster := kube.Start(t, kube.Options{})
	r := &restoring{world: worldIn(t, cluster, cluster.Namespace(t), simulated(t)), before: 2, all: 7, may: map[string][]string{}}
	r.install(t)
	r.flags = flags
	r.make(t, 0, r.before)
	r.replace(t)
	served := func(n int) func() bool {
		return func() bool { return r.served(t, n, n) && r.proxy.quiet() > rest }
	}
	kube.Eventually(t, "the first ones are served", served(r.before))
	r.host = r.hostname(t, site(0))
	r.copied = cluster.Backup(t)
	r.make(t, r.before, r.all)
	kube.Eventually(t, "all are served", served(r.all))
	r.point(t, site(1), backend(2))
	kube.Eventually(t, "the second one was changed", func() bool { return r.behindOf(t, 1, 2) && r.proxy.quiet() > rest })
	for i := range r.all {
		r.may[hostOf(i)] = []string{behind(i)}
	}
	r.may[hostOf(1)] = []string{behind(1), behind(2)}
	return r
}

// make makes Ingresses with Services of their own.
func (r *restoring) make(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		r.serve(t, backend(i), pods(i, 1)...)
		r.create(t, r.ingress(site(i), backend(i), "/"))
	}
}

// An operator that starts after what was made since the copy is there again changes nothing, and no
// request is lost.
func TestARestoreChangesNothingOnceTheObjectsAreBack(t *testing.T) {
	t.Parallel()
	r := newRestoring(t)
	v := r.vigilOver(r.host, r.may)
	r.replica.Kill() // or it has no right to write: its Deployment is restored, too
	r.cluster.Restore(t, r.copied)
	r.make(t, r.before, r.all)
	r.point(t, site(1), backend(2))
	r.proxy.forget()
	r.replace(t)
	kube.Eventually(t, "all say where they are reached", func() bool {
		return allOf(r.all, func(i int) bool { return r.hostname(t, site(i)) == r.host }) && r.proxy.quiet() > rest
	})
	if _, writes, which := r.proxy.cost(); writes > 0 {
		t.Errorf("%d writes to the cloud: %s", writes, which)
	}
	v.ask("afterwards")
	v.judge(t, "after the restore")
}

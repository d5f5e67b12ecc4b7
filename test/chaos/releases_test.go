package chaos

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/controllers/cluster"
)

// This file looks at each Ingress that is gone: the operator has let go of it, so nothing of it is
// served any more.

// soon is how long what was changed may not be seen, beside the time that AWS takes.
const soon = 300 * time.Millisecond

// watchReleases watches the Ingresses until the test ends.
func (j *judge) watchReleases(t *testing.T, w *world) {
	t.Helper()
	c, err := client.NewWithWatch(w.cluster.Config, client.Options{Scheme: cluster.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	at := releases{judge: j, addresses: map[string]map[string]bool{}}
	go func() {
		for t.Context().Err() == nil { // a watch lasts for half an hour or so
			events, err := c.Watch(t.Context(), &networkingv1.IngressList{}, client.InNamespace(w.namespace))
			if err != nil {
				time.Sleep(time.Second)
				continue
			}
			for e := range events.ResultChan() {
				if o, ok := e.Object.(*networkingv1.Ingress); ok {
					at.see(o, e.Type == watch.Deleted)
				}
			}
		}
	}()
}

// releases are the addresses that Ingresses have had, by name.
type releases struct {
	*judge
	addresses map[string]map[string]bool
}

// see follows an Ingress.
func (r releases) see(o *networkingv1.Ingress, gone bool) {
	if r.addresses[o.Name] == nil {
		r.addresses[o.Name] = map[string]bool{}
	}
	for _, at := range o.Status.LoadBalancer.Ingress {
		r.addresses[o.Name][at.Hostname] = true
	}
	if gone {
		at := slices.Sorted(maps.Keys(r.addresses[o.Name]))
		delete(r.addresses, o.Name)
		time.AfterFunc(r.delay+soon, func() { r.over(o.Name, at) })
	}
}

// over tells where an Ingress that is gone is served. One that exists was taken by force, or has
// come back.
func (r releases) over(name string, addresses []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if versions := r.sites[name]; len(versions) > 0 && versions[len(versions)-1].routes != nil {
		return
	}
	for _, at := range addresses {
		for _, path := range asked {
			if got := r.answer(at, name, path); got != "404" && got != refused {
				r.tell("after it was let go", fmt.Sprintf("%s%s is answered by %q", name, path, got))
			}
		}
	}
}

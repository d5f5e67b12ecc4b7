package nginx

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/ingress/dialect"
	frontend "fairlead.dev/fairlead/model/ingress/dialect/nginx"
)

// TestNothingStaleIsRemembered changes random Ingresses one at a time: what is read with the memory of the states before is what is
// read without one.
func TestNothingStaleIsRemembered(t *testing.T) {
	t.Logf("-seed %d", *seed)
	var memory sync.Map
	for i := range many() {
		random := dice{rand.New(rand.NewPCG(*seed+uint64(i), 2))}
		c := Cluster{Secrets: randomSecrets(), Config: RandomCluster(random.Rand).Config}
		for k := range 4 {
			c.Ingresses = append(c.Ingresses, random.apart(k)...)
		}
		of := classFor(random.Rand)
		readings := func(w *frontend.World) map[string]string {
			out := map[string]string{}
			for j := range c.Ingresses {
				r := w.Read(dialect.Input{Ingress: &c.Ingresses[j], Class: &v1alpha1.LoadBalancerClassSpec{}})
				out[r.Namespace+"/"+r.Name] = fmt.Sprintf("%v %v", r.Annotations, dialect.JSON(r.Spec))
				for _, v := range r.Verdicts {
					out[r.Namespace+"/"+r.Name] += fmt.Sprintf("\n  %s %s %q %s", v.Key, v.Outcome, v.Message, v.Request.Curl())
				}
			}
			return out
		}
		for step := range 8 {
			did := "read first"
			if step > 0 {
				did = random.edit(&c)
			}
			got, want := readings(worldOf(&c, accepting(of), &memory)), readings(worldOf(&c, accepting(of), nil))
			for key := range want {
				if got[key] != want[key] {
					t.Errorf("cluster %d, step %d, %s: with memory, %s is read as %s\nand without as %s\n%s", *seed+uint64(i), step, did, key,
						got[key], want[key], described(&c))
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}

// apart returns the Ingresses of a random cluster, with hosts of their own in most of them.
func (d dice) apart(k int) []networking.Ingress {
	all := RandomCluster(d.Rand).Ingresses
	for i := range all {
		all[i].Name += fmt.Sprint("-", k)
		apart := func(host string) string {
			switch {
			case d.chance(3):
				return d.one("*.example", "any.example", "*.k1.example")
			case d.chance(5) || host == "" && d.chance(30):
				return host
			}
			return strings.TrimSuffix(host, "example") + fmt.Sprintf("k%d.example", k)
		}
		for j := range all[i].Spec.Rules {
			all[i].Spec.Rules[j].Host = strings.TrimPrefix(apart(all[i].Spec.Rules[j].Host), ".")
		}
		for j := range all[i].Spec.TLS {
			for h, host := range all[i].Spec.TLS[j].Hosts {
				all[i].Spec.TLS[j].Hosts[h] = apart(host)
			}
		}
	}
	return all
}

// edit changes one Ingress, or what holds for all, and says what.
func (d dice) edit(c *Cluster) string {
	c.Ingresses = slices.Clone(c.Ingresses)
	for i := range c.Ingresses {
		c.Ingresses[i] = *c.Ingresses[i].DeepCopy()
	}
	more := d.apart(d.IntN(5))
	if len(c.Ingresses) == 0 || len(more) == 0 {
		c.Ingresses = append(c.Ingresses, more...)
		return "add all"
	}
	at, other := d.IntN(len(c.Ingresses)), &more[d.IntN(len(more))]
	one := &c.Ingresses[at]
	switch d.IntN(12) {
	case 0:
		c.Ingresses = slices.Delete(c.Ingresses, at, at+1)
		return "remove " + one.Name
	case 1:
		other.Name += "-more"
		if !slices.ContainsFunc(c.Ingresses, func(o networking.Ingress) bool { return o.Name == other.Name && o.Namespace == other.Namespace }) {
			c.Ingresses = append(c.Ingresses, *other)
		}
		return "add " + other.Name
	case 2:
		c.Config = RandomCluster(d.Rand).Config
		return "change the ConfigMap"
	case 3:
		one.CreationTimestamp = meta.NewTime(time.Unix(int64(d.IntN(5)), 0))
		return "change the age of " + one.Name
	case 4, 7, 8:
		if one.Spec.TLS = nil; d.chance(70) {
			hosts := c.Ingresses[d.IntN(len(c.Ingresses))].Spec.Rules
			for _, rule := range hosts[:min(len(hosts), 2)] {
				one.Spec.TLS = append(one.Spec.TLS, networking.IngressTLS{Hosts: []string{rule.Host}, SecretName: d.one("a", "b", "wild", "none")})
			}
		}
		return "change the TLS of " + one.Name
	case 5:
		one.Spec.Rules = other.Spec.Rules
		return "change the rules of " + one.Name
	case 6:
		one.Spec.DefaultBackend = other.Spec.DefaultBackend
		return "change the default backend of " + one.Name
	}
	for key := range one.Annotations {
		if d.chance(50) {
			delete(one.Annotations, key)
		}
	}
	if before := one.Annotations; before == nil || reflect.DeepEqual(before, other.Annotations) || d.chance(50) {
		one.Annotations = other.Annotations
	}
	return "change the annotations of " + one.Name
}

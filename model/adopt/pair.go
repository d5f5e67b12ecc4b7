package adopt

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/lb"
)

// A Pair is a found load balancer and the wanted one that it is. One of both is nil if there is none.
type Pair struct {
	Found  *lb.Other
	Wanted *Wanted
	// Why says why one of both is nil.
	Why string
}

// Pairs pairs the load balancers that the controller made for a cluster with the wanted ones: by the group, or the
// Ingress, in the tags. Of several wanted ones, which differ in class or namespace, one with the found scheme counts if it
// is the only one.
func Pairs(found []lb.Other, wanted []Wanted, cluster string) (out []Pair) {
	whose := make([][]int, len(found)) // the wanted ones that each found one can be
	why := make([]string, len(found))
	names := map[int][]string{}
	for i := range found {
		whose[i], why[i] = wantedFor(&found[i], wanted, cluster)
		for _, at := range whose[i] {
			names[at] = append(names[at], found[i].Name)
		}
	}
	for i := range found {
		p := Pair{Found: &found[i], Why: why[i]}
		if p.Why == "" {
			at := whose[i][0]
			if p.Wanted = &wanted[at]; len(names[at]) > 1 {
				p.Wanted, p.Why = nil, fmt.Sprintf("%s is wanted once, and found %d times: %s", wanted[at].LoadBalancer.Key,
					len(names[at]), strings.Join(names[at], ", "))
			}
		}
		out = append(out, p)
	}
	for i := range wanted {
		if names[i] == nil && !wanted[i].LoadBalancer.Empty() {
			out = append(out, Pair{Wanted: &wanted[i], Why: "none was found that was made for it"})
		}
	}
	return out
}

// wantedFor returns which wanted load balancer a found one is; a reason if it is not one.
func wantedFor(o *lb.Other, wanted []Wanted, cluster string) (whose []int, why string) {
	if other := ClusterOf(o); other != cluster {
		return nil, "it is of cluster " + other
	}
	if o.NotRead != "" {
		return nil, o.NotRead
	}
	var ofScheme []int
	for i := range wanted {
		key := wanted[i].LoadBalancer.Key
		if !IsOfKey(Stack(o), key) {
			continue
		}
		whose = append(whose, i)
		if o.Read != nil && o.Read.LoadBalancer != nil && o.Read.LoadBalancer.Scheme == key.Scheme() {
			ofScheme = append(ofScheme, i)
		}
	}
	switch {
	case len(whose) == 0:
		return nil, "no Ingress asks for it"
	case len(whose) == 1:
		return whose, ""
	case len(ofScheme) == 1 && sameOwners(wanted, whose):
		return ofScheme, ""
	}
	var keys []string
	for _, i := range whose {
		keys = append(keys, string(wanted[i].LoadBalancer.Key))
	}
	slices.Sort(keys)
	return whose, fmt.Sprintf("%d are wanted in its place: %s; list its group in groups of the class if its Ingresses are of several "+
		"namespaces", len(keys), strings.Join(keys, ", "))
}

// sameOwners reports whether wanted load balancers differ in scheme and name only.
func sameOwners(wanted []Wanted, some []int) bool {
	return !slices.ContainsFunc(some, func(i int) bool {
		return wanted[i].LoadBalancer.Key.Whose() != wanted[some[0]].LoadBalancer.Key.Whose()
	})
}

// PairsByName pairs load balancers that people made with the wanted ones of their names.
func PairsByName(found []lb.Other, wanted []Wanted) (out []Pair) {
	for i := range found {
		p := Pair{Found: &found[i], Why: found[i].NotRead}
		at := slices.IndexFunc(wanted, func(w Wanted) bool { return w.LoadBalancer.Key.Name() == found[i].Name })
		switch {
		case p.Why != "":
		case at < 0:
			p.Why = "no Ingress asks for a load balancer of this name: set loadBalancerName of a class, or fairlead.dev/load-balancer-name"
		default:
			p.Wanted = &wanted[at]
		}
		out = append(out, p)
	}
	return out
}

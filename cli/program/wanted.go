package program

import (
	"context"
	"strconv"

	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file compiles load balancers that are taken over from another controller.

// A Wanted is a load balancer that Ingresses ask for in place of one that another controller made.
type Wanted struct {
	adopt.Wanted
	Members []string // its Ingresses, as namespace/name
}

// WantedOf returns the load balancers that Ingresses of a dialect ask for.
func WantedOf(ctx context.Context, cloud clouds.Offline, objects ingress.Objects, options ingress.ClassOptions, dialect string,
) ([]Wanted, error) {
	taken := &taking{Offline: cloud, anySubnets: map[lb.Key]bool{}}
	names := map[string]map[string]string{}
	for _, s := range objects.Services {
		of := map[string]string{}
		for _, p := range s.Spec.Ports {
			of[strconv.Itoa(int(p.Port))] = p.Name
		}
		names[s.Namespace+"/"+s.Name] = of
	}
	var out []Wanted
	snapshots, _ := ingress.Place(objects, options)
	for _, s := range snapshots {
		if s.Class.Dialect != dialect {
			continue
		}
		p, err := Compile(ctx, taken, s, nil)
		if err != nil {
			return nil, err
		}
		w := Wanted{Wanted: adopt.Wanted{Table: p.Table, LoadBalancer: p.LoadBalancer, Dialect: p.Capabilities.Dialect,
			PortNames: names, AnySubnets: taken.anySubnets[s.Key]}}
		for _, m := range s.Members {
			w.Members = append(w.Members, m.Owner.String())
		}
		out = append(out, w)
	}
	return out, nil
}

// Plain returns what package adopt compares.
func Plain(all []Wanted) []adopt.Wanted {
	out := make([]adopt.Wanted, len(all))
	for i, w := range all {
		out[i] = w.Wanted
	}
	return out
}

// taking is a cloud whose load balancers are taken over: the names that these have are not taken by others.
type taking struct {
	clouds.Offline
	anySubnets map[lb.Key]bool // nothing asks for subnets
}

// Lookup is that of the cloud.
func (t *taking) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	if n := q.Network; n.Key != "" {
		t.anySubnets[n.Key] = len(n.Subnets)+len(n.SubnetTags) == 0
	}
	facts, err := t.Offline.Lookup(ctx, q)
	facts.NameTaken = ""
	return facts, err
}

package adoption

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
)

// This file compiles load balancers that are taken over from another controller.

// A Wanted is a load balancer that Ingresses ask for in place of one that another controller made.
type Wanted struct {
	adopt.Wanted
	Members []string // its Ingresses, as namespace/name
}

// A Cloud is what compiling needs of one.
type Cloud interface {
	Asked
	Capabilities(class lb.Class) lb.Capabilities
}

// WantedOf returns those of the load balancers that Ingresses ask for that are chosen.
func WantedOf(ctx context.Context, cloud Cloud, objects ingress.Objects, options ingress.ClassOptions,
	chosen func(ingress.Snapshot) bool) ([]Wanted, error) {
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
		if !chosen(s) {
			continue
		}
		asked := model.Ask(s)
		n := asked.Network
		// A cloud does not choose subnets and security groups for a name that is taken.
		asked.Network.Key = lb.Key(strings.TrimSuffix(string(n.Key), "="+n.Key.Name()))
		facts, err := cloud.Lookup(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("looking up what %s needs to know: %w", s.Key, err)
		}
		facts.NameTaken = "" // by the load balancer that is taken over
		facts.AddObserved(&lb.Observed{Key: s.Key})
		can := cloud.Capabilities(model.ClassOf(s))
		built := model.Compile(s, facts, can)
		w := Wanted{Wanted: adopt.Wanted{Table: built.Table, LoadBalancer: built.LoadBalancer, Dialect: can.Dialect, PortNames: names,
			AnySubnets: n.Key != "" && len(n.Subnets)+len(n.SubnetTags) == 0}}
		for _, m := range s.Members {
			w.Members = append(w.Members, m.Owner.String())
		}
		out = append(out, w)
	}
	return out, nil
}

// OfDialect chooses the load balancers of classes with a dialect; "" chooses all.
func OfDialect(dialect string) func(ingress.Snapshot) bool {
	return func(s ingress.Snapshot) bool { return dialect == "" || s.Class.Dialect == dialect }
}

// Plain returns what package adopt compares.
func Plain(all []Wanted) []adopt.Wanted {
	out := make([]adopt.Wanted, len(all))
	for i, w := range all {
		out[i] = w.Wanted
	}
	return out
}

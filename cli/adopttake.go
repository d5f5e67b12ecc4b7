package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
)

// This file takes load balancers over with the rights of the user.

// chosen are the load balancers that a command changes, and the consents.
type chosen struct {
	key    string
	all    bool
	yes    bool
	accept []string
}

func (c *chosen) flags(cmd *cobra.Command, doing string) {
	cmd.Flags().StringVar(&c.key, "key", "", "only the load balancer with this `KEY`, or with this name in AWS, which stays the same "+
		"when its Ingresses get another class")
	cmd.Flags().BoolVar(&c.all, "all", false, "all load balancers, with --yes")
	cmd.Flags().BoolVar(&c.yes, "yes", false, doing)
	cmd.Flags().StringArrayVar(&c.accept, "accept", nil,
		"consent to what differs, or is lost, of the load balancer with this `KEY`, or this name; may be repeated")
}

// check returns an error for flags that do not go together.
func (c *chosen) check() error {
	switch {
	case c.yes && (c.key == "") == !c.all:
		return errors.New("which load balancers? with --yes, --key names one of them, and --all is for all")
	case !c.yes && c.all:
		return errors.New("--all is for --yes: without it, all are printed")
	case !c.yes && len(c.accept) > 0:
		return errors.New("--accept is for --yes")
	}
	return nil
}

// covers reports whether a load balancer is chosen.
func (c *chosen) covers(key lb.Key, name string) bool {
	return c.key == "" || c.key == string(key) || c.key == name
}

// accepts reports whether what differs is consented to.
func (c *chosen) accepts(key lb.Key, name string) bool {
	return slices.Contains(c.accept, string(key)) || slices.Contains(c.accept, name)
}

// A progress says how far a load balancer has come.
type progress struct {
	Key  lb.Key `json:"key"`
	Name string `json:"name"`
	adoption.Outcome
	// Holders are the owners of its resources, by their tags.
	Holders []string `json:"holders,omitempty"`
	// FormerClasses are the IngressClasses that the Ingresses had, each as a manifest in JSON.
	FormerClasses []string `json:"formerClasses,omitempty"`
	// Next is what to do now.
	Next   string `json:"next,omitempty"`
	byHand bool   // no controller made it
}

// lines describes a progress for people.
func (p progress) lines() []string {
	out := []string{fmt.Sprintf("%s, %s: %s", p.Name, p.Key, cmp.Or(p.State, "not recorded"))}
	changes := "the controller will change"
	if p.byHand {
		changes = "not as it was found"
	}
	for _, list := range []struct {
		title string
		of    []string
	}{
		{"now", p.Holders}, {"in the way", p.Obstacles}, {"waits", p.Switch}, {"cannot be restored", p.Lost},
		{changes, p.Changes}, {"left", p.Left},
	} {
		for _, text := range list.of {
			out = append(out, fmt.Sprintf("  %s: %s", list.title, text))
		}
	}
	if p.Next != "" {
		out = append(out, "  next: "+p.Next)
	}
	for _, class := range p.FormerClasses {
		out = append(out, "  their former IngressClass, for kubectl apply:", class)
	}
	return out
}

// cannot returns the error that the provider does not support the command.
func (m *migrating) cannot(do string) error {
	return fmt.Errorf("the provider %s cannot %s: the first one that --provider names has to be a cloud that can, such as aws",
		m.Provider.First(), do)
}

// taker returns the Taker of the provider, with the rights of the user.
func (m *migrating) taker(cloud providers.Provider) (*adoption.Taker, error) {
	adopter, can := providers.AdopterOf(cloud, "")
	if !can {
		return nil, m.cannot("take load balancers over")
	}
	kube, err := m.cluster.Client()
	if err != nil {
		return nil, err
	}
	out := adoption.NewTaker(kube, adopter, records.NewAdoptionStore(kube, kube, m.cluster.Namespace))
	out.Patience, out.ReadLag = time.Minute, providers.ReadLag
	out.InTheWay = func(ctx context.Context) ([]string, error) { return adoption.InTheWay(ctx, kube, time.Now()) }
	return out, nil
}

// take takes over the load balancers that were chosen, as far as that is possible now.
func (a *adopting) take(ctx context.Context, cloud providers.Provider, found []lb.Other, wanted []adoption.Wanted,
) (out []progress, err error) {
	taker, err := a.taker(cloud)
	if err != nil {
		return nil, err
	}
	members := map[lb.Key][]string{}
	for _, w := range wanted {
		members[w.LoadBalancer.Key] = w.Members
	}
	var prepared []string
	var failed error
	for _, p := range a.pairs(found, wanted) {
		if p.Found == nil || p.Wanted == nil {
			continue
		}
		key := p.Wanted.LoadBalancer.Key
		one, err := taker.TakeFound(ctx, p.Found.Handle, *p.Wanted, members[key], a.accepts(key, p.Found.Name), requests.OfCommand)
		did := progress{Key: key, Name: p.Found.Name, Outcome: one}
		switch {
		case len(one.Switch) > 0:
			prepared = append(prepared, members[key]...)
		case one.Done() && err == nil:
			did.Next = "the operator serves it; fairlead adopt --finish deletes what giving it back would need"
		}
		if out = append(out, did); err != nil {
			failed = err
			break
		}
	}
	endangered, err := taker.Endangered(ctx, prepared)
	for i := range out {
		if len(out[i].Switch) > 0 {
			out[i].Next = switchClass(out[i].Outcome, endangered)
		}
	}
	return out, errors.Join(failed, err)
}

// switchClass says how Ingresses get a class of Fairlead. Others of their class still have finalizers of the controller.
func switchClass(o adoption.Outcome, endangered []string) string {
	next := "give these Ingresses a class of Fairlead, and run the command again: "
	if o.NeedsAnnotationRemoved() {
		return next + "remove the annotation kubernetes.io/ingress.class, which goes before the IngressClass, and set ingressClassName"
	}
	if len(endangered) > 0 {
		return next + "change their ingressClassName. Do not replace their IngressClass yet: the controller, once started, would " +
			"delete the load balancers of other Ingresses of it, which are not prepared: " + diag.Cut(strings.Join(endangered, ", "))
	}
	return next + "replace their IngressClass, whose controller cannot be changed, or change their ingressClassName " +
		"(docs/how-to/keep-your-load-balancers.md)"
}

// unfinished is the error of a command after which something is left to do: the one that ended it, if there is one, which
// is printed.
func unfinished(all []progress, ended error) error {
	if ended != nil {
		return ended
	}
	for _, p := range all {
		if !p.Done() {
			return errToDo
		}
	}
	return nil
}

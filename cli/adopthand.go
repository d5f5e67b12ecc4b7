package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file finds load balancers that no controller made.

// byHand says which load balancers these are, and of which Services their target groups are.
type byHand struct {
	arn    string
	tags   map[string]string
	groups map[string]string
}

func (h *byHand) given() bool { return h.arn != "" || h.tags != nil }

// find returns the load balancers.
func (h *byHand) find(ctx context.Context, cloud providers.Provider) ([]lb.Other, error) {
	if h.tags != nil {
		facts, err := cloud.Lookup(ctx, lb.Questions{Others: h.tags})
		if err == nil && facts.Others == nil {
			err = adoption.ErrCannotSay
		}
		return facts.Others, err
	}
	adopter, can := providers.AdopterOf(cloud, "")
	if !can {
		return nil, adoption.ErrCannotSay
	}
	one, err := adopter.Found(ctx, h.arn)
	if err != nil || one == nil {
		return nil, err
	}
	return []lb.Other{*one}, nil
}

// named returns the target groups by their ARNs.
func (h *byHand) named() map[string]lb.GroupID {
	out := map[string]lb.GroupID{}
	for arn, id := range h.groups {
		out[arn] = lb.GroupID(id)
	}
	return out
}

// A sourceValue is the flag --from of adopt.
type sourceValue struct{ of *adopting }

func (v *sourceValue) Type() string { return "string" }

func (v *sourceValue) String() string {
	if v.of == nil {
		return ""
	}
	return v.of.From
}

// Set implements pflag.Value.
func (v *sourceValue) Set(text string) error {
	v.of.From, v.of.hand.arn, v.of.hand.tags = "", "", nil
	kind, rest, _ := strings.Cut(text, ":")
	key, value, isPair := strings.Cut(rest, "=")
	switch {
	case text == "alb":
		v.of.From = text
	case kind == "arn" && strings.HasPrefix(rest, "aws"): // arn:aws-us-gov:… and arn:aws-cn:… are other partitions
		v.of.hand.arn = text
	case kind == "tags" && isPair && key != "":
		v.of.hand.tags = map[string]string{key: value}
	default:
		return fmt.Errorf("it can be alb, an ARN (arn:aws:…) or tags:KEY=VALUE")
	}
	return nil
}

// notInTerraform matches what names in Terraform do not have.
var notInTerraform = regexp.MustCompile(`[^0-9A-Za-z_-]+`)

// terraform returns the blocks with which Terraform lets go of what is taken over, and those with which it gets it back
// (https://developer.hashicorp.com/terraform/language/block/removed and .../block/import). The names of its resources are
// not known: these are made of the load balancer's.
func terraform(all []foundBalancer) string {
	var removed, back strings.Builder
	for _, f := range all {
		for i, r := range f.Resources {
			kind := map[adopt.Kind]string{adopt.LoadBalancer: "aws_lb", adopt.Listener: "aws_lb_listener",
				adopt.Rule: "aws_lb_listener_rule", adopt.TargetGroup: "aws_lb_target_group"}[r.Kind]
			if kind == "" || r.Stays || r.Kind == adopt.TargetGroup && r.Wanted == "" {
				continue // Fairlead does not take it
			}
			address := fmt.Sprintf("%s.%s_%d", kind, notInTerraform.ReplaceAllString(f.Name, "_"), i)
			fmt.Fprintf(&removed, "removed {\n  from = %s\n  lifecycle { destroy = false }\n}\n", address)
			fmt.Fprintf(&back, "import {\n  to = %s\n  id = %q\n}\n", address, r.Handle)
		}
	}
	if removed.Len() == 0 {
		return ""
	}
	return "For Terraform, with the names that it has for these resources, before the load balancer is taken over:\n\n" + removed.String() +
		"\nAnd once it is given back:\n\n" + back.String()
}

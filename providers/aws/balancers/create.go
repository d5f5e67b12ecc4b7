package balancers

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/aws/attributes"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/resource"
)

// This file creates and deletes load balancers.

// Create creates a load balancer.
func (bs *Store) Create(
	ctx context.Context, seen *lb.Observed, want lb.LoadBalancer,
) (plan.Result, error) {
	if err := bs.role.Early(); err != nil {
		return plan.Result{}, err
	}
	name := bs.LoadBalancerName(want.Key)
	subnets := want.Settings.Subnets
	if len(subnets) == 0 { // none fit, or Lookup was not asked for them
		var err error
		if subnets, err = bs.subnets.Choose(ctx, lb.Network{Scheme: want.Settings.Scheme}, nil); err != nil {
			return plan.Result{}, err
		}
	}
	groups, firewall, err := bs.firewalls.Ensure(ctx, want)
	if err != nil {
		return plan.Result{}, err
	}
	// An earlier operator may have registered targets, and the nodes close their ports after the last
	// load balancer.
	if err := bs.nodes.OpenPorts(ctx, want.Key, bs.targets.PortsOf(seen)); err != nil {
		return plan.Result{}, err
	}
	tags := bs.tagsFor(want)
	if !complete(want.Settings) {
		tags = resource.Unsigned(tags)
	}
	in := &elbapi.CreateLoadBalancerInput{
		Name: aws.String(name), Type: elb.LoadBalancerTypeEnumApplication,
		Scheme:        elb.LoadBalancerSchemeEnum(want.Settings.Scheme),
		IpAddressType: elb.IpAddressType(want.Settings.IPFamily), Subnets: subnets,
		SecurityGroups: groups, Tags: resource.ELBTags(tags),
	}
	young := bs.role.Young()
	out, err := bs.ELB.CreateLoadBalancer(ctx, in)
	err = bs.role.Explain(young, err)
	made := &balancer{}
	switch {
	case awserr.Is(err, "DuplicateLoadBalancerName"): // created before, with other settings
		if made, err = bs.own(ctx, want.Key); err != nil {
			return plan.Result{}, err
		}
		if _, err = bs.firewalls.Write(ctx, made.LoadBalancer, seen, want, bs.targets.PortsOf(seen)); err == nil {
			err = bs.writeSettings(ctx, made, want)
		}
	case err != nil:
		return plan.Result{}, bs.limits.Explained("creating load balancer "+name, err)
	default:
		var there *elb.LoadBalancer
		if there, err = awserr.Only(out.LoadBalancers, "CreateLoadBalancer", "a load balancer"); err == nil {
			_, err = awserr.Required(there.LoadBalancerArn, "CreateLoadBalancer", "an ARN")
		}
		if err != nil {
			return plan.Result{}, err
		}
		made.LoadBalancer, made.tags = *there, tags
		if Active(&made.LoadBalancer) { // AWS makes none in a moment: it was there, just as it is asked for
			if made, err = bs.own(ctx, want.Key); err != nil {
				return plan.Result{}, err
			}
		}
		if !complete(want.Settings) {
			err = bs.writeSettings(ctx, made, want)
		}
	}
	return plan.Result{
		Handle: aws.ToString(made.LoadBalancerArn), Firewall: firewall,
		Address: AddressOf(&made.LoadBalancer),
		Active:  Active(&made.LoadBalancer),
	}, err
}

// Delete deletes a load balancer that exists.
func (bs *Store) Delete(ctx context.Context, seen *lb.Observed) error {
	if seen.Protected == lb.ByClass { // the class no longer asks for it
		if err := attributes.OfLoadBalancers(bs.ELB).Write(ctx, seen.Handle, []attributes.Attribute{{Key: aws.String(lb.DeletionProtection), Value: aws.String("false")}}); err != nil {
			return awserr.Explain("letting load balancer "+seen.Handle+" be deleted", err)
		}
	}
	if seen.Protection.Shield == lb.ShieldOn { // AWS keeps a protection after its load balancer
		if err := bs.protections.Remove(ctx, seen); err != nil {
			return err
		}
	}
	_, err := bs.ELB.DeleteLoadBalancer(ctx, &elbapi.DeleteLoadBalancerInput{
		LoadBalancerArn: aws.String(seen.Handle),
	})
	if awserr.Is(err, "OperationNotPermitted") { // Observe reads its deletion protection next time
		bs.refuseDeletion(seen.Handle)
	}
	return awserr.Explain("deleting load balancer "+seen.Handle, err)
}

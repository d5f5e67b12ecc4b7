package balancers

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file creates and deletes load balancers.

// Create creates a load balancer.
func (bs *Store) Create(
	ctx context.Context, seen *lb.Observed, want lb.LoadBalancer,
) (plan.Result, error) {
	if err := bs.role.CheckWait(); err != nil {
		return plan.Result{}, err
	}
	name := bs.LoadBalancerName(want.Key)
	subnets, err := bs.subnetsFor(ctx, want)
	if err != nil {
		return plan.Result{}, err
	}
	groups, firewall, err := bs.firewalls.Ensure(ctx, want)
	if err != nil {
		return plan.Result{}, err
	}
	// An earlier operator may have registered targets, and the nodes' ports are closed after the last
	// load balancer.
	if err := bs.nodes.OpenPorts(ctx, want.Key, bs.targets.PortsOf(seen)); err != nil {
		return plan.Result{}, err
	}
	tags := bs.tagsFor(want)
	if !complete(want.Settings) {
		tags = client.WithoutDigest(tags)
	}
	in := &elbapi.CreateLoadBalancerInput{
		Name: aws.String(name), Type: elb.LoadBalancerTypeEnumApplication,
		Scheme:        elb.LoadBalancerSchemeEnum(want.Settings.Scheme),
		IpAddressType: elb.IpAddressType(want.Settings.IPFamily), Subnets: subnets,
		SecurityGroups: groups, Tags: client.ELBTags(tags),
	}
	young := bs.role.MayBeNew()
	out, err := bs.ELB.CreateLoadBalancer(ctx, in)
	err = bs.role.Explain(young, err)
	var made *balancer
	switch {
	case client.HasCode(err, "DuplicateLoadBalancerName"): // created before, with other settings
		if made, err = bs.readOwned(ctx, want.Key); err != nil {
			return plan.Result{}, err
		}
		_, err = bs.firewalls.Write(ctx, made.LoadBalancer, seen, want, bs.targets.PortsOf(seen))
		if err == nil {
			err = bs.writeSettings(ctx, made, want)
		}
	case client.HasCode(err, zoneUnsupported):
		return plan.Result{}, bs.explainZone("creating load balancer "+name, want.Key, subnets, err)
	case err != nil:
		return plan.Result{}, bs.limits.Explain("creating load balancer "+name, err)
	default:
		if made, err = bs.created(ctx, want.Key, out, tags); err != nil {
			return plan.Result{}, err
		}
		if !complete(want.Settings) {
			err = bs.writeSettings(ctx, made, want)
		}
	}
	return plan.Result{
		Handle: aws.ToString(made.LoadBalancerArn), Firewall: firewall,
		Address: AddressOf(&made.LoadBalancer), Active: Active(&made.LoadBalancer),
	}, err
}

// zoneUnsupported is AWS's answer that it offers no load balancers in a zone.
const zoneUnsupported = "AvailabilityZoneNotSupported"

// explainZone returns ErrPending if AWS names zones without load balancers for the first time: the
// next try is made without them, if two others remain. Else it returns ErrRejected, with advice.
func (bs *Store) explainZone(doing string, key lb.Key, subnets []string, err error) error {
	zones := bs.subnets.MarkUnsupported(subnets, err.Error())
	bs.ForgetPlace(key)
	if len(zones) > 0 {
		return fmt.Errorf("%s: %s; it is tried without %s: %w", doing, client.Describe(err),
			strings.Join(zones, ", "), providers.ErrPending)
	}
	return fmt.Errorf("%s: %s; name subnets of other zones in the class, or take the tags from those "+
		"of this zone: %w", doing, client.Describe(err), providers.ErrRejected)
}

// subnetsFor returns the subnets of a load balancer. It chooses them if Lookup did not.
func (bs *Store) subnetsFor(ctx context.Context, want lb.LoadBalancer) ([]string, error) {
	if len(want.Settings.Subnets) > 0 {
		return want.Settings.Subnets, nil
	}
	return bs.subnets.Choose(ctx, lb.Network{
		Scheme: want.Settings.Scheme, IPFamily: want.Settings.IPFamily,
	}, nil)
}

// created returns the load balancer in AWS's answer to its creation.
func (bs *Store) created(
	ctx context.Context, key lb.Key, out *elbapi.CreateLoadBalancerOutput, tags map[string]string,
) (*balancer, error) {
	there, err := client.RequireOne(out.LoadBalancers, "CreateLoadBalancer", "a load balancer")
	if err != nil {
		return nil, err
	}
	if _, err := client.RequireID(there.LoadBalancerArn, "CreateLoadBalancer", "an ARN"); err != nil {
		return nil, err
	}
	if Active(there) { // a new one takes minutes: this one existed, with the same settings
		return bs.readOwned(ctx, key)
	}
	return &balancer{LoadBalancer: *there, tags: tags}, nil
}

// Delete deletes a load balancer that exists. One with a name that Ingresses ask for may have been given back to others since
// it was observed.
func (bs *Store) Delete(ctx context.Context, seen *lb.Observed) error {
	if seen.Key.Name() != "" {
		tags, err := bs.TagsOf(ctx, []string{seen.Handle})
		if client.HasCode(err, "LoadBalancerNotFound") {
			return nil
		}
		if err != nil {
			return err
		}
		if !bs.Owns(seen.Key, tags[seen.Handle]) {
			return fmt.Errorf("load balancer %s no longer has the tags of %s, and is not deleted: %w", seen.Handle, seen.Key,
				providers.ErrPending)
		}
	}
	if seen.Protected == lb.ByClass { // the class no longer asks for it
		if err := look.OfLoadBalancers(bs.ELB, "").Write(ctx, seen.Handle,
			[]look.Attribute{{Key: aws.String(lb.DeletionProtection),
				Value: aws.String("false")}}); err != nil {
			return client.Explain("letting load balancer "+seen.Handle+" be deleted", err)
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
	if client.HasCode(err, "OperationNotPermitted") { // Observe reads its deletion protection next time
		bs.refuseDeletion(seen.Handle)
	}
	if client.HasCode(err, "ResourceInUse") {
		return fmt.Errorf("deleting load balancer %s: %s; take away its association with another "+
			"service, such as a VPC endpoint service or Global Accelerator: %w", seen.Handle,
			client.Describe(err), providers.ErrPending)
	}
	return client.Explain("deleting load balancer "+seen.Handle, err)
}

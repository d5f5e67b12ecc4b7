package incumbent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file has the rules by which targets let load balancers in (pkg/networking/networking_manager.go, pod_eni_info_resolver.go,
// node_eni_info_resolver.go). They are of all bindings together: of a security group, a protocol and a source there is one
// rule, from the lowest port to the highest.

// endpointRules are what a process knows of them.
type endpointRules struct {
	byBinding map[types.NamespacedName]map[string][]permission // by security group
	groups    map[string]bool                                  // security groups of targets
	found     bool                                             // those with the tag of the cluster were asked for
}

// admitTo computes the rules of a binding, and brings those of all about.
func (c *Controller) admitTo(ctx context.Context, name types.NamespacedName, b binding, pods []*corev1.Pod, nodes []*corev1.Node) error {
	if b.Networking == nil {
		return c.admitAll(ctx, name, nil)
	}
	byGroup := map[string][]*corev1.Pod{}
	for _, p := range pods {
		id, err := c.groupOfAddress(ctx, p)
		if err != nil {
			return err
		}
		byGroup[id] = append(byGroup[id], p)
	}
	for _, n := range nodes {
		id, err := c.groupOfInstance(ctx, instanceOf(n))
		if err != nil {
			return err
		}
		byGroup[id] = nil
	}
	rules := map[string][]permission{}
	for id, of := range byGroup {
		for _, r := range b.Networking.Ingress {
			for _, from := range r.From {
				for _, p := range r.Ports {
					some, err := rulesOf(from, p, of)
					if err != nil {
						return err
					}
					rules[id] = append(rules[id], some...)
				}
			}
		}
	}
	return c.admitAll(ctx, name, rules)
}

// rulesOf returns the rules of a peer and a port. A named port is that of each Pod.
func rulesOf(from peer, p port, pods []*corev1.Pod) (out []permission, err error) {
	one := permission{protocol: "tcp", to: 65535}
	if aws.ToString(p.Protocol) == "UDP" {
		one.protocol = "udp"
	}
	switch {
	case from.SecurityGroup != nil:
		one.group = from.SecurityGroup.GroupID
	case from.IPBlock != nil:
		one.v4 = from.IPBlock.CIDR
	default:
		return nil, errors.New("a peer needs a security group or a range of addresses")
	}
	if p.Port == nil {
		return []permission{one}, nil
	}
	numbers := map[int32]bool{}
	if p.Port.Type == intstr.Int {
		numbers[p.Port.IntVal] = true
	}
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			for _, named := range container.Ports {
				if p.Port.Type == intstr.String && named.Name == p.Port.StrVal {
					numbers[named.ContainerPort] = true
				}
			}
		}
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("no Pod has a port %s", p.Port)
	}
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		one.from, one.to = n, n
		out = append(out, one)
	}
	return out, nil
}

// groupOfAddress returns the security group of the interface that has the address of a Pod.
func (c *Controller) groupOfAddress(ctx context.Context, p *corev1.Pod) (string, error) {
	found, err := c.EC2.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []ec2types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{c.VPC}}, {Name: aws.String("addresses.private-ip-address"), Values: []string{p.Status.PodIP}}}})
	if err != nil {
		return "", err
	}
	if len(found.NetworkInterfaces) > 0 {
		return c.endpointGroup(ctx, found.NetworkInterfaces[0].Groups)
	}
	var n corev1.Node
	if err := c.Client.Get(ctx, types.NamespacedName{Name: p.Spec.NodeName}, &n); err != nil {
		return "", fmt.Errorf("no interface has the address %s of Pod %s: %w", p.Status.PodIP, p.Name, err)
	}
	return c.groupOfInstance(ctx, instanceOf(&n))
}

func (c *Controller) groupOfInstance(ctx context.Context, id string) (string, error) {
	found, err := c.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return "", err
	}
	for _, r := range found.Reservations {
		for _, i := range r.Instances {
			return c.endpointGroup(ctx, i.NetworkInterfaces[0].Groups)
		}
	}
	return "", fmt.Errorf("no instance %s", id)
}

// endpointGroup returns the only security group of an interface, or the only one of several that has the tag of the cluster.
func (c *Controller) endpointGroup(ctx context.Context, groups []ec2types.GroupIdentifier) (string, error) {
	if len(groups) == 1 {
		return *groups[0].GroupId, nil
	}
	var ids, tagged []string
	for _, g := range groups {
		ids = append(ids, *g.GroupId)
	}
	found, err := c.describeGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
	if err != nil {
		return "", err
	}
	for _, g := range found {
		if _, has := tagsOfGroup(g)["kubernetes.io/cluster/"+c.ClusterName]; has {
			tagged = append(tagged, *g.GroupId)
		}
	}
	if len(tagged) != 1 {
		return "", fmt.Errorf("%d security groups of an interface have the tag of the cluster, and one is needed", len(tagged))
	}
	return tagged[0], nil
}

// admitAll notes the rules of a binding, and has all security groups of targets have the rules of all bindings. It revokes
// rules once it knows those of every binding that has some: then also in security groups that no binding needs.
func (c *Controller) admitAll(ctx context.Context, name types.NamespacedName, of map[string][]permission) error {
	r := &c.rules
	if r.byBinding == nil {
		r.byBinding, r.groups = map[types.NamespacedName]map[string][]permission{}, map[string]bool{}
	}
	r.byBinding[name] = of
	for id := range of {
		r.groups[id] = true
	}
	all, complete, err := c.allRules(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(all)) {
		errs = append(errs, c.admit(ctx, id, all[id], true, complete))
	}
	if complete {
		errs = append(errs, c.collectUnused(ctx, all))
	}
	return errors.Join(errs...)
}

// collect revokes rules that no binding needs.
func (c *Controller) collect(ctx context.Context) error {
	if c.rules.byBinding == nil {
		c.rules.byBinding, c.rules.groups = map[types.NamespacedName]map[string][]permission{}, map[string]bool{}
	}
	all, complete, err := c.allRules(ctx)
	if err != nil || !complete {
		return err
	}
	return c.collectUnused(ctx, all)
}

func (c *Controller) collectUnused(ctx context.Context, used map[string][]permission) error {
	if !c.rules.found {
		found, err := c.securityGroups(ctx, map[string]string{"kubernetes.io/cluster/" + c.ClusterName: "owned,shared"})
		if err != nil {
			return err
		}
		for _, g := range found {
			c.rules.groups[*g.GroupId] = true
		}
		c.rules.found = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.rules.groups)) {
		if _, needed := used[id]; needed {
			continue
		}
		err := c.admit(ctx, id, nil, true, true)
		if answered(err, "InvalidGroup.NotFound") {
			delete(c.rules.groups, id)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allRules merges the rules of all bindings by security group, and reports whether those of all are known. A binding whose
// spec has none does not count.
func (c *Controller) allRules(ctx context.Context) (out map[string][]permission, complete bool, err error) {
	objects, err := c.listBindings(ctx)
	if err != nil {
		return nil, false, err
	}
	with := map[types.NamespacedName]bool{}
	for _, object := range objects {
		b, err := readBinding(object)
		if err != nil {
			return nil, false, err
		}
		if b.Networking != nil {
			with[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = true
		}
	}
	maps.DeleteFunc(c.rules.byBinding, func(name types.NamespacedName, _ map[string][]permission) bool { return !with[name] })
	type from struct{ id, protocol, v4, group string }
	merged := map[from]permission{}
	for _, of := range c.rules.byBinding {
		for id, rules := range of {
			for _, p := range rules {
				at := from{id, p.protocol, p.v4, p.group}
				if p.v4 != "" { // ranges of addresses stay apart
					at.v4 = fmt.Sprint(p)
				}
				if was, has := merged[at]; has {
					p.from, p.to = min(p.from, was.from), max(p.to, was.to)
				}
				merged[at] = p
			}
		}
	}
	out = map[string][]permission{}
	for at, p := range merged {
		out[at.id] = append(out[at.id], p)
	}
	for _, rules := range out {
		slices.SortFunc(rules, func(a, b permission) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return out, len(c.rules.byBinding) == len(with), nil
}

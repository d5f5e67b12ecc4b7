package look

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/providers/aws/client"
)

// This file writes the attributes of load balancers, listeners and target groups, and reads them
// back. It sets the wanted attributes, resets those that are no longer wanted to AWS's default, and
// does not change those that this operator never wrote. A tag lists the written ones.

// An Attribute has a name and a value. The SDK's types for the other resources have the same
// fields.
type Attribute = elb.TargetGroupAttribute

// A Kind reads and writes the attributes of one kind of resource.
type Kind struct {
	usual map[string]string // AWS's defaults; an attribute that depends on another one has none
	late  map[string]bool   // they are set in a call of their own, the last
	blank bool              // the default of all other attributes is the empty string
	Write func(ctx context.Context, arn string, some []Attribute) error
	Read  func(ctx context.Context, arn string) ([]Attribute, error)
}

// OfLoadBalancers returns the kind of load balancers. AWS's defaults depend on their scheme.
func OfLoadBalancers(api *elbapi.Client, scheme elb.LoadBalancerSchemeEnum) Kind {
	usual := LoadBalancerDefaults
	if scheme == elb.LoadBalancerSchemeEnumInternal {
		usual = internalDefaults
	}
	return Kind{
		usual: usual, late: lateAttributes,
		Write: func(ctx context.Context, arn string, some []Attribute) error {
			_, err := api.ModifyLoadBalancerAttributes(ctx, &elbapi.ModifyLoadBalancerAttributesInput{
				LoadBalancerArn: aws.String(arn),
				Attributes: client.Map(some, func(a Attribute) elb.LoadBalancerAttribute {
					return elb.LoadBalancerAttribute(a)
				}),
			})
			return err
		},
		Read: func(ctx context.Context, arn string) ([]Attribute, error) {
			out, err := api.DescribeLoadBalancerAttributes(
				ctx, &elbapi.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(arn)},
			)
			if err != nil {
				return nil, err
			}
			return client.Map(out.Attributes, func(a elb.LoadBalancerAttribute) Attribute {
				return Attribute(a)
			}), nil
		},
	}
}

func OfListeners(api *elbapi.Client) Kind {
	return Kind{
		usual: ListenerDefaults,
		blank: true,
		Write: func(ctx context.Context, arn string, some []Attribute) error {
			_, err := api.ModifyListenerAttributes(ctx, &elbapi.ModifyListenerAttributesInput{
				ListenerArn: aws.String(arn),
				Attributes: client.Map(some, func(a Attribute) elb.ListenerAttribute {
					return elb.ListenerAttribute(a)
				}),
			})
			return err
		},
		Read: func(ctx context.Context, arn string) ([]Attribute, error) {
			out, err := api.DescribeListenerAttributes(ctx, &elbapi.DescribeListenerAttributesInput{
				ListenerArn: aws.String(arn),
			})
			if err != nil {
				return nil, err
			}
			return client.Map(out.Attributes, func(a elb.ListenerAttribute) Attribute {
				return Attribute(a)
			}), nil
		},
	}
}

func OfTargetGroups(api *elbapi.Client) Kind {
	return Kind{
		usual: TargetGroupDefaults,
		Write: func(ctx context.Context, arn string, some []Attribute) error {
			_, err := api.ModifyTargetGroupAttributes(ctx, &elbapi.ModifyTargetGroupAttributesInput{
				TargetGroupArn: aws.String(arn), Attributes: some,
			})
			return err
		},
		Read: func(ctx context.Context, arn string) ([]Attribute, error) {
			out, err := api.DescribeTargetGroupAttributes(
				ctx, &elbapi.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(arn)},
			)
			if err != nil {
				return nil, err
			}
			return out.Attributes, nil
		},
	}
}

// attributeBatch is the number of attributes in one call.
const attributeBatch = 20

// isAttribute reports whether an entry of the tag is an attribute: only the names of attributes
// have dots.
func isAttribute(written string) bool {
	return strings.Contains(written, ".") && !strings.HasPrefix(written, client.TagWritten)
}

// WriteAll sets the wanted attributes, and resets those in the tag that are no longer wanted. It
// adds names to the tag before it sets the attributes, so that they can be reset after a failure,
// and removes names afterwards.
func (of Kind) WriteAll(ctx context.Context, r client.API, arn string, want map[string]string,
	before, after map[string]string) error {
	listed := client.WrittenIn(before)
	values, before := maps.Clone(want), maps.Clone(before)
	for _, name := range listed {
		usual, known := of.usual[name]
		if _, wanted := want[name]; !wanted && isAttribute(name) && (known || of.blank) {
			values = With(values, name, usual)
		}
	}
	if all := union(listed, slices.Sorted(maps.Keys(want))); len(all) > len(listed) {
		listing := map[string]string{}
		client.ListWritten(listing, all)
		if err := r.Tag(ctx, arn, listing); err != nil {
			return err
		}
		for name, value := range listing {
			before = With(before, name, value)
		}
	}
	var early, late []Attribute
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a := Attribute{Key: aws.String(name), Value: aws.String(values[name])}
		if of.late[name] {
			late = append(late, a)
		} else {
			early = append(early, a)
		}
	}
	for _, some := range [][]Attribute{early, late} {
		for part := range slices.Chunk(some, attributeBatch) {
			if err := of.Write(ctx, arn, part); err != nil {
				return client.Explain("setting the attributes of "+arn, err)
			}
		}
	}
	return r.Retag(ctx, arn, before, after)
}

// union returns the elements of both lists, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// With sets a value in a map, which may be nil, and returns the map.
func With(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}

// Some returns the attributes that are wanted, with the values that they have.
func Some(have, wanted map[string]string) map[string]string {
	var out map[string]string
	for name := range wanted {
		if value, has := have[name]; has {
			out = With(out, name, value)
		}
	}
	return out
}

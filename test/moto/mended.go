package moto

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"
)

// This file makes four calls do what they do in AWS, on their way out of the SDK, where moto does
// otherwise and a load balancer's life hangs on it: what is there already is not made a second
// time, another default certificate leaves the others alone, and a resource takes 50 tags. Everything else goes to moto as it
// is.

// Mended is the configuration of who is to find AWS's behaviour.
func (a *Account) Mended() aws.Config {
	config := a.Config.Copy()
	m := mender{elbapi.NewFromConfig(a.Config)}
	config.APIOptions = append(config.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("AsInAWS", m.handle), middleware.After) //nolint:misspell // a field of the library
	})
	return config
}

// A mender knows moto as it is.
type mender struct{ plain *elbapi.Client }

func (m mender) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, meta middleware.Metadata, err error) {
	switch p := in.Parameters.(type) {
	case *elbapi.CreateLoadBalancerInput:
		err = m.nameTaken(ctx, p)
	case *elbapi.CreateListenerInput:
		err = m.portTaken(ctx, p)
	case *elbapi.ModifyListenerInput:
		return m.modifyListener(ctx, p, in, next)
	case *elbapi.AddTagsInput:
		return m.addTags(ctx, p, in, next)
	}
	if err != nil {
		return out, meta, err
	}
	return next.HandleInitialize(ctx, in)
}

// nameTaken refuses the name of a load balancer that is there.
func (m mender) nameTaken(ctx context.Context, p *elbapi.CreateLoadBalancerInput) error {
	_, err := m.plain.DescribeLoadBalancers(ctx, &elbapi.DescribeLoadBalancersInput{Names: []string{aws.ToString(p.Name)}})
	if err == nil {
		return &elb.DuplicateLoadBalancerNameException{}
	}
	if missing := (*elb.LoadBalancerNotFoundException)(nil); errors.As(err, &missing) {
		return nil
	}
	return err
}

// portTaken refuses the port of a listener that is there.
func (m mender) portTaken(ctx context.Context, p *elbapi.CreateListenerInput) error {
	there, err := m.plain.DescribeListeners(ctx, &elbapi.DescribeListenersInput{LoadBalancerArn: p.LoadBalancerArn})
	if err == nil && slices.ContainsFunc(there.Listeners, func(l elb.Listener) bool { return *l.Port == *p.Port }) {
		return &elb.DuplicateListenerException{}
	}
	return err
}

// modifyListener attaches the certificates again that were served by name before.
func (m mender) modifyListener(ctx context.Context, p *elbapi.ModifyListenerInput, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	before, err := m.plain.DescribeListenerCertificates(ctx, &elbapi.DescribeListenerCertificatesInput{ListenerArn: p.ListenerArn})
	if err != nil {
		return middleware.InitializeOutput{}, middleware.Metadata{}, err
	}
	out, meta, err := next.HandleInitialize(ctx, in)
	if err != nil || len(p.Certificates) == 0 {
		return out, meta, err
	}
	for _, c := range before.Certificates {
		if aws.ToBool(c.IsDefault) || *c.CertificateArn == *p.Certificates[0].CertificateArn {
			continue
		}
		if _, err := m.plain.AddListenerCertificates(ctx, &elbapi.AddListenerCertificatesInput{
			ListenerArn: p.ListenerArn, Certificates: []elb.Certificate{{CertificateArn: c.CertificateArn}},
		}); err != nil {
			return out, meta, err
		}
	}
	return out, meta, nil
}

// addTags adds tags beyond the ten that moto takes one after the other: it takes any number at once where none is.
func (m mender) addTags(ctx context.Context, p *elbapi.AddTagsInput, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	out, meta, err := next.HandleInitialize(ctx, in)
	if full := (*elb.TooManyTagsException)(nil); !errors.As(err, &full) {
		return out, meta, err
	}
	for _, arn := range p.ResourceArns {
		there, err := m.plain.DescribeTags(ctx, &elbapi.DescribeTagsInput{ResourceArns: []string{arn}})
		if err != nil {
			return out, meta, err
		}
		all := slices.Clone(p.Tags)
		var names []string
		for _, t := range there.TagDescriptions[0].Tags {
			names = append(names, *t.Key)
			if !slices.ContainsFunc(p.Tags, func(n elb.Tag) bool { return *n.Key == *t.Key }) {
				all = append(all, t)
			}
		}
		if len(all) > 50 {
			return out, meta, &elb.TooManyTagsException{}
		}
		if _, err := m.plain.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: names}); err != nil {
			return out, meta, err
		}
		if _, err := m.plain.AddTags(ctx, &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: all}); err != nil {
			return out, meta, err
		}
	}
	return middleware.InitializeOutput{Result: &elbapi.AddTagsOutput{}}, meta, nil
}

package network

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/grants"
)

// This file changes which sources may connect to which ports of a security group.

// allow adds grants to a security group. Where some exist already, it adds the others.
func (s *SecurityGroups) allow(ctx context.Context, group string, some []grants.Grant) error {
	err := s.add(ctx, group, some)
	if awserr.Is(err, "InvalidPermission.Duplicate") {
		return s.replace(ctx, group, some, func(grants.Grant) bool { return false })
	}
	return awserr.Explain("admitting to security group "+group, err)
}

// add adds grants to a security group with one call.
func (s *SecurityGroups) add(ctx context.Context, group string, some []grants.Grant) error {
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range some {
		in.IpPermissions = append(in.IpPermissions, g.Permission())
	}
	_, err := s.ec2.AuthorizeSecurityGroupIngress(ctx, in)
	return err
}

// replace replaces the grants of a security group that are ours: it adds before it revokes.
func (s *SecurityGroups) replace(ctx context.Context, group string, want []grants.Grant,
	ours func(grants.Grant) bool) error {
	found, err := s.Describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return err
	}
	there, err := awserr.Only(found, "DescribeSecurityGroups", "security group "+group)
	if err != nil {
		return err
	}
	have := grants.Read(*there)
	missing := slices.DeleteFunc(slices.Clone(want), func(g grants.Grant) bool {
		return slices.Contains(have, g)
	})
	surplus := slices.DeleteFunc(have, func(g grants.Grant) bool {
		return !ours(g) || slices.Contains(want, g)
	})
	if err := s.addMissing(ctx, group, missing); err != nil {
		return err
	}
	return s.revoke(ctx, group, surplus)
}

// addMissing adds grants to a security group. Where AWS says that some exist, though it does not
// list them yet, it adds them one by one, so that revoking does not wait for the list.
func (s *SecurityGroups) addMissing(
	ctx context.Context, group string, missing []grants.Grant,
) error {
	if len(missing) == 0 {
		return nil
	}
	err := s.add(ctx, group, missing)
	if !awserr.Is(err, "InvalidPermission.Duplicate") {
		return awserr.Explain("admitting to security group "+group, err)
	}
	if len(missing) == 1 {
		return nil
	}
	for _, g := range missing {
		if err := s.add(ctx, group, []grants.Grant{g}); err != nil &&
			!awserr.Is(err, "InvalidPermission.Duplicate") {
			return awserr.Explain("admitting to security group "+group, err)
		}
	}
	return nil
}

// revoke removes grants from a security group.
func (s *SecurityGroups) revoke(ctx context.Context, group string, some []grants.Grant) error {
	if len(some) == 0 {
		return nil
	}
	in := &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range some {
		in.IpPermissions = append(in.IpPermissions, g.Permission())
	}
	_, err := s.ec2.RevokeSecurityGroupIngress(ctx, in)
	if awserr.Is(err, "InvalidPermission.NotFound") {
		return nil
	}
	return awserr.Explain("shutting out of security group "+group, err)
}

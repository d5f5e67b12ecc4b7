package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/providers/aws/awserr"
)

// This file changes which sources may connect to which ports of a security group.

// allow adds grants to a security group. Where some exist already, it adds the others.
func (s *securityGroups) allow(ctx context.Context, group string, grants []grant) error {
	err := s.add(ctx, group, grants)
	if awserr.Is(err, "InvalidPermission.Duplicate") {
		return s.replace(ctx, group, grants, func(grant) bool { return false })
	}
	return awserr.Explain("admitting to security group "+group, err)
}

// add adds grants to a security group with one call.
func (s *securityGroups) add(ctx context.Context, group string, grants []grant) error {
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range grants {
		in.IpPermissions = append(in.IpPermissions, g.permission())
	}
	_, err := s.ec2.AuthorizeSecurityGroupIngress(ctx, in)
	return err
}

// replace replaces the grants of a security group that are ours: it adds before it revokes.
func (s *securityGroups) replace(ctx context.Context, group string, want []grant, ours func(grant) bool) error {
	found, err := s.describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return err
	}
	there, err := awserr.Only(found, "DescribeSecurityGroups", "security group "+group)
	if err != nil {
		return err
	}
	have := grantsIn(*there)
	missing := slices.DeleteFunc(slices.Clone(want), func(g grant) bool { return slices.Contains(have, g) })
	surplus := slices.DeleteFunc(have, func(g grant) bool { return !ours(g) || slices.Contains(want, g) })
	if err := s.addMissing(ctx, group, missing); err != nil {
		return err
	}
	return s.revoke(ctx, group, surplus)
}

// addMissing adds grants to a security group. Where AWS says that some exist, though it does not
// list them yet, it adds them one by one, so that revoking does not wait for the list.
func (s *securityGroups) addMissing(ctx context.Context, group string, missing []grant) error {
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
		if err := s.add(ctx, group, []grant{g}); err != nil && !awserr.Is(err, "InvalidPermission.Duplicate") {
			return awserr.Explain("admitting to security group "+group, err)
		}
	}
	return nil
}

// revoke removes grants from a security group.
func (s *securityGroups) revoke(ctx context.Context, group string, grants []grant) error {
	if len(grants) == 0 {
		return nil
	}
	in := &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range grants {
		in.IpPermissions = append(in.IpPermissions, g.permission())
	}
	_, err := s.ec2.RevokeSecurityGroupIngress(ctx, in)
	if awserr.Is(err, "InvalidPermission.NotFound") {
		return nil
	}
	return awserr.Explain("shutting out of security group "+group, err)
}

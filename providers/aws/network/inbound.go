package network

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/grants"
)

// This file changes the sources that can connect to ports of a security group.

// ensureGrants adds grants to a security group. If some exist already, it adds the others.
func (s *SecurityGroups) ensureGrants(
	ctx context.Context, group string, list []grants.Grant,
) error {
	err := s.addGrants(ctx, group, list)
	if awserr.Is(err, "InvalidPermission.Duplicate") {
		return s.replaceGrants(ctx, group, list, func(grants.Grant) bool { return false })
	}
	return awserr.Explain("admitting to security group "+group, err)
}

// addGrants adds grants to a security group with one call.
func (s *SecurityGroups) addGrants(ctx context.Context, group string, list []grants.Grant) error {
	in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range list {
		in.IpPermissions = append(in.IpPermissions, g.Permission())
	}
	_, err := s.ec2.AuthorizeSecurityGroupIngress(ctx, in)
	return err
}

// replaceGrants replaces our grants of a security group: it adds before it revokes.
func (s *SecurityGroups) replaceGrants(ctx context.Context, group string, want []grants.Grant,
	ours func(grants.Grant) bool) error {
	found, err := s.Describe(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return err
	}
	there, err := awserr.RequireOne(found, "DescribeSecurityGroups", "security group "+group)
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
	if err := s.addMissingGrants(ctx, group, missing); err != nil {
		return err
	}
	return s.revokeGrants(ctx, group, surplus)
}

// addMissingGrants adds grants to a security group. If AWS answers that some exist, but does not
// list them yet, it adds them one by one, so that revoking does not wait for the list.
func (s *SecurityGroups) addMissingGrants(
	ctx context.Context, group string, missing []grants.Grant,
) error {
	if len(missing) == 0 {
		return nil
	}
	err := s.addGrants(ctx, group, missing)
	if !awserr.Is(err, "InvalidPermission.Duplicate") {
		return awserr.Explain("admitting to security group "+group, err)
	}
	if len(missing) == 1 {
		return nil
	}
	for _, g := range missing {
		if err := s.addGrants(ctx, group, []grants.Grant{g}); err != nil &&
			!awserr.Is(err, "InvalidPermission.Duplicate") {
			return awserr.Explain("admitting to security group "+group, err)
		}
	}
	return nil
}

// revokeGrants removes grants from a security group.
func (s *SecurityGroups) revokeGrants(
	ctx context.Context, group string, list []grants.Grant,
) error {
	if len(list) == 0 {
		return nil
	}
	in := &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group)}
	for _, g := range list {
		in.IpPermissions = append(in.IpPermissions, g.Permission())
	}
	_, err := s.ec2.RevokeSecurityGroupIngress(ctx, in)
	if awserr.Is(err, "InvalidPermission.NotFound") {
		return nil
	}
	return awserr.Explain("shutting out of security group "+group, err)
}

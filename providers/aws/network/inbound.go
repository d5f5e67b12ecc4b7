package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/grants"
)

// This file changes the sources that can connect to ports of a security group.

// permissionsOf returns grants in the form of EC2.
func permissionsOf(list []grants.Grant) []ec2types.IpPermission {
	return convert.Map(list, grants.Grant.Permission)
}

// ensureGrants adds grants to a security group, unless they exist.
func (s *SecurityGroups) ensureGrants(
	ctx context.Context, group string, list []grants.Grant,
) error {
	return s.authorize(ctx, group, permissionsOf(list))
}

// replaceGrants replaces our grants of a security group: it adds before it revokes. After a change
// it reads the group again: another writer, or a late read, may have left a difference.
func (s *SecurityGroups) replaceGrants(ctx context.Context, group string, want []grants.Grant,
	ours func(grants.Grant) bool) error {
	for range 2 {
		missing, surplus, err := s.compareGrants(ctx, group, want, ours)
		if err != nil || len(missing)+len(surplus) == 0 {
			return err
		}
		if err := s.authorize(ctx, group, permissionsOf(missing)); err != nil {
			return err
		}
		if err := s.revoke(ctx, group, permissionsOf(surplus)); err != nil {
			return err
		}
	}
	missing, surplus, err := s.compareGrants(ctx, group, want, ours)
	if err != nil || len(missing)+len(surplus) == 0 {
		return err
	}
	return fmt.Errorf("security group %s was changed, and does not list what it should: %v are "+
		"missing, %v are too many: %w", group, missing, surplus, providers.ErrPending)
}

// compareGrants reads a security group, and returns the wanted grants that it lacks, and those of
// ours that are not wanted.
func (s *SecurityGroups) compareGrants(ctx context.Context, group string, want []grants.Grant,
	ours func(grants.Grant) bool) (missing, surplus []grants.Grant, err error) {
	found, err := s.readToChange(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return nil, nil, err
	}
	there, err := awserr.RequireOne(found, "DescribeSecurityGroups", "security group "+group)
	if err != nil {
		return nil, nil, err
	}
	have := grants.Read(*there)
	missing = slices.DeleteFunc(slices.Clone(want), func(g grants.Grant) bool {
		return slices.Contains(have, g)
	})
	surplus = slices.DeleteFunc(have, func(g grants.Grant) bool {
		return !ours(g) || slices.Contains(want, g)
	})
	return missing, surplus, nil
}

package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file reads, creates, tags and deletes security groups. Each load balancer has two: its
// firewall, which permits clients to connect to ports (firewalls.go), and the shared group of all
// load balancers, which the nodes admit (nodegroups.go). If a class names security groups, or the
// operator does not manage them, there are neither.

// SecurityGroups makes the calls for the security groups of an owner in a VPC.
type SecurityGroups struct {
	client.Owner
	ec2    *ec2.Client
	vpc    string
	recent *client.Recent
	// Weights has the weights of prefix lists.
	Weights *Weights
	// written has the rules that this process wrote a moment ago.
	written writtenRules
}

// NewSecurityGroups returns the security groups of an owner in a VPC.
func NewSecurityGroups(
	owner client.Owner, api *ec2.Client, vpc string, made *client.Recent,
) *SecurityGroups {
	return &SecurityGroups{Owner: owner, ec2: api, vpc: vpc, recent: made, Weights: NewWeights(api)}
}

// ensure creates a security group with tags, or adds them to our existing group with the name. A
// group that this process created a moment ago may not be found by its name yet.
func (s *SecurityGroups) ensure(
	ctx context.Context, name, about, made string, tags map[string]string,
) (string, error) {
	if s.recent.Unfound(made) {
		return made, nil
	}
	out, err := s.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(name), Description: aws.String(about), VpcId: aws.String(s.vpc),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags),
		}},
	})
	if client.HasCode(err, "InvalidGroup.Duplicate") { // it exists already
		found, err := s.readOwned(ctx, name)
		if err != nil {
			return "", err
		}
		if found == nil && s.recent.Knows("sg-", made) {
			return made, nil
		}
		if found == nil {
			return "", s.explainConflict(ctx, name)
		}
		return aws.ToString(found.GroupId), s.retag(ctx, *found, tags)
	}
	if err != nil {
		return "", client.Explain("creating security group "+name, err)
	}
	return client.RequireID(out.GroupId, "CreateSecurityGroup", "an ID")
}

// explainConflict returns the reason why an existing security group is not found among ours: it has
// no tag of this installation, or it was created a moment ago and is not listed yet.
func (s *SecurityGroups) explainConflict(ctx context.Context, name string) error {
	found, err := s.Describe(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(VPCFilter(s.vpc),
		ec2types.Filter{Name: aws.String("group-name"), Values: []string{name}},
	)})
	switch {
	case err != nil:
		return err
	case len(found) == 0 || hasTag(found[0].Tags, client.TagInstallation, s.Installation):
		return fmt.Errorf(
			"AWS has security group %s, and does not list it yet: %w", name, providers.ErrPending,
		)
	}
	return fmt.Errorf("security group %s belongs to another installation, or has lost its tags: %w",
		name, providers.ErrRejected)
}

// ec2Tags returns tags in the form of EC2.
func ec2Tags(tags map[string]string) []ec2types.Tag {
	var out []ec2types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, ec2types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

// TagsIn returns the tags of a security group.
func TagsIn(g ec2types.SecurityGroup) map[string]string {
	out := map[string]string{}
	for _, t := range g.Tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// retag adds the tags that a security group lacks, and removes those of ours that it should no
// longer have.
func (s *SecurityGroups) retag(
	ctx context.Context, g ec2types.SecurityGroup, after map[string]string,
) error {
	before, id := TagsIn(g), aws.ToString(g.GroupId)
	var gone []ec2types.Tag
	for _, name := range client.SurplusTags(before, after) {
		gone = append(gone, ec2types.Tag{Key: aws.String(name)})
	}
	if len(gone) > 0 {
		if _, err := s.ec2.DeleteTags(ctx,
			&ec2.DeleteTagsInput{Resources: []string{id}, Tags: gone}); err != nil {
			return client.Explain("removing tags of security group "+id, err)
		}
	}
	missing := maps.Clone(after)
	maps.DeleteFunc(missing, func(name, value string) bool {
		there, has := before[name]
		return has && there == value
	})
	if len(missing) == 0 {
		return nil
	}
	_, err := s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{id}, Tags: ec2Tags(missing),
	})
	return client.Explain("tagging security group "+id, err)
}

// Retag adds tags to security groups, and removes others.
func (s *SecurityGroups) Retag(ctx context.Context, ids []string, add map[string]string, gone []string) error {
	about := strings.Join(ids, ", ")
	if len(add) > 0 {
		if _, err := s.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: ec2Tags(add)}); err != nil {
			return client.Explain("tagging security group "+about, err)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := s.ec2.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids, Tags: client.Map(gone,
		func(name string) ec2types.Tag { return ec2types.Tag{Key: aws.String(name)} })})
	return client.Explain("removing tags of security group "+about, err)
}

// readID returns the ID of our security group with a name, or "".
func (s *SecurityGroups) readID(ctx context.Context, name string) (string, error) {
	found, err := s.readOwned(ctx, name)
	if found == nil {
		return "", err
	}
	return aws.ToString(found.GroupId), nil
}

// readOwned returns our security group with a name, or nil.
func (s *SecurityGroups) readOwned(
	ctx context.Context, name string,
) (*ec2types.SecurityGroup, error) {
	found, err := s.Describe(ctx, &ec2.DescribeSecurityGroupsInput{Filters: append(VPCFilter(s.vpc),
		ec2types.Filter{Name: aws.String("group-name"), Values: []string{name}},
		ec2types.Filter{
			Name: aws.String("tag:" + client.TagInstallation), Values: []string{s.Installation},
		},
	)})
	if len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Describe reads all pages of security groups.
func (s *SecurityGroups) Describe(ctx context.Context, in *ec2.DescribeSecurityGroupsInput) (
	out []ec2types.SecurityGroup, err error,
) {
	if in.GroupIds != nil {
		found, err := s.ec2.DescribeSecurityGroups(ctx, in)
		if client.HasCode(err, "InvalidGroup.NotFound") { // a load balancer has it: it was made or replaced a moment ago
			return nil, fmt.Errorf("reading security groups of a load balancer: %s: %w", client.Describe(err), providers.ErrPending)
		}
		if err != nil {
			return nil, client.Explain("reading security groups", err)
		}
		return found.SecurityGroups, nil
	}
	pages := ec2.NewDescribeSecurityGroupsPaginator(s.ec2, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("reading security groups", err)
		}
		out = append(out, page.SecurityGroups...)
	}
	return out, nil
}

// FindIDs returns the IDs of security groups. Each is given by ID or name.
func (s *SecurityGroups) FindIDs(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found, err := s.Describe(ctx, &ec2.DescribeSecurityGroupsInput{Filters: VPCFilter(s.vpc)})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		at := slices.IndexFunc(found, func(g ec2types.SecurityGroup) bool {
			return slices.Contains([]string{aws.ToString(g.GroupId), aws.ToString(g.GroupName)}, name) ||
				hasTag(g.Tags, "Name", name)
		})
		if at < 0 {
			return nil, fmt.Errorf("choosing security groups of %s: none has the ID or the name %s: %w",
				s.vpc, name, providers.ErrRejected)
		}
		out = append(out, aws.ToString(found[at].GroupId))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Delete deletes a security group, if it exists.
func (s *SecurityGroups) Delete(ctx context.Context, id string) error {
	_, err := s.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(id)})
	if client.HasCode(err, "InvalidGroup.NotFound") {
		return nil
	}
	return client.Explain("deleting security group "+id, err)
}

package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file changes the sources that can connect to the ports of a load balancer. They are rules of
// its firewall. Rules that do not fit into it are in further security groups, its parts, which the
// load balancer has, too.

const (
	// rulesPerGroup is how many inbound rules a security group can have, unless AWS has raised the
	// quota. EC2 does not say whether it has: the attributes of an account lack it
	// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeAccountAttributes.html).
	rulesPerGroup = 60
	// rulesPerInterface is the most that AWS raises that quota to, times the groups of an interface
	// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).
	rulesPerInterface = 1000
	// groupsPerInterface is how many security groups a load balancer has, unless AWS has changed the
	// quota (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).
	groupsPerInterface = 5
)

// A wall is the firewall of a load balancer, with what attaches further groups to that.
type wall struct {
	key      lb.Key
	firewall string
	attach   func(ctx context.Context, groups []string) error
}

// permissionsOf returns grants in the form of EC2.
func permissionsOf(list []look.Grant) []ec2types.IpPermission {
	return client.Map(list, look.Grant.Permission)
}

// open adds grants to a wall, unless they exist. It reads nothing if they fit into the firewall.
func (f *Firewalls) open(ctx context.Context, w wall, list []look.Grant) error {
	err := f.security.authorize(ctx, w.firewall, permissionsOf(list))
	if !isFull(err) {
		return err
	}
	return f.spread(ctx, w, list)
}

// replace replaces our grants of a wall: it adds before it revokes. After a change it reads the
// groups again: another writer, or a late read, may have left a difference.
func (f *Firewalls) replace(ctx context.Context, w wall, want []look.Grant,
	ours func(look.Grant) bool) error {
	for range 2 {
		missing, surplus, err := f.compare(ctx, w, want, ours)
		if err != nil || len(missing) == 0 && len(surplus) == 0 {
			return err
		}
		err = f.security.authorize(ctx, w.firewall, permissionsOf(missing))
		if isFull(err) {
			err = f.spread(ctx, w, missing)
		}
		if err != nil {
			return err
		}
		for group, list := range surplus {
			if err := f.security.revoke(ctx, group, permissionsOf(list)); err != nil {
				return err
			}
		}
	}
	missing, surplus, err := f.compare(ctx, w, want, ours)
	if err != nil || len(missing) == 0 && len(surplus) == 0 {
		return err
	}
	return fmt.Errorf("security group %s was changed, and does not list what it should: %v are "+
		"missing, %v are too many: %w", w.firewall, missing, surplus, providers.ErrPending)
}

// compare reads the groups of a wall, and returns the wanted grants that they lack, and those of
// ours that are not wanted, by group.
func (f *Firewalls) compare(ctx context.Context, w wall, want []look.Grant,
	ours func(look.Grant) bool) (missing []look.Grant, surplus map[string][]look.Grant,
	err error) {
	groups, err := f.readParts(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	missing, surplus = slices.Clone(want), map[string][]look.Grant{}
	for _, g := range groups {
		have := look.ReadGrants(g)
		missing = slices.DeleteFunc(missing, func(g look.Grant) bool {
			return slices.Contains(have, g)
		})
		have = slices.DeleteFunc(have, func(g look.Grant) bool {
			return !ours(g) || slices.Contains(want, g)
		})
		if len(have) > 0 {
			surplus[aws.ToString(g.GroupId)] = have
		}
	}
	return missing, surplus, nil
}

// partName returns the name of a part of a firewall; the first one is the firewall itself.
func (f *Firewalls) partName(key lb.Key, part int) string {
	if part == 1 {
		return f.nameOf(key)
	}
	return f.nameOf(key) + "-" + strconv.Itoa(part)
}

// partOf returns which part of a firewall has a name; zero for none.
func (f *Firewalls) partOf(key lb.Key, name string) int {
	rest, is := strings.CutPrefix(name, f.nameOf(key))
	if is && rest == "" {
		return 1
	}
	part, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
	if !is || err != nil || part < 2 {
		return 0
	}
	return part
}

// readParts reads the groups of a wall, by part.
func (f *Firewalls) readParts(
	ctx context.Context, w wall,
) (map[int]ec2types.SecurityGroup, error) {
	name := f.nameOf(w.key)
	found, err := f.security.readToChange(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: append(VPCFilter(f.security.vpc),
			ec2types.Filter{Name: aws.String("group-name"), Values: []string{name, name + "-*"}},
		),
	})
	if err != nil {
		return nil, err
	}
	out := map[int]ec2types.SecurityGroup{}
	for _, g := range found {
		part := f.partOf(w.key, aws.ToString(g.GroupName))
		if part == 1 || part > 1 && hasTag(g.Tags, client.TagInstallation, f.Installation) {
			out[part] = g
		}
	}
	if aws.ToString(out[1].GroupId) == w.firewall {
		return out, nil
	}
	if f.security.recent.Knows("sg-", w.firewall) {
		return nil, fmt.Errorf("AWS has security group %s, and does not list it yet: %w", w.firewall,
			providers.ErrPending)
	}
	return nil, client.MissingError("DescribeSecurityGroups", "security group "+w.firewall)
}

// spread adds grants to the groups of a wall that have room, and creates further ones if the load
// balancer can have them. If the grants do not fit, it adds none. Walls are spread one at a time:
// several ports may need the room of the same groups.
func (f *Firewalls) spread(ctx context.Context, w wall, list []look.Grant) error {
	select {
	case f.spreading <- struct{}{}:
		defer func() { <-f.spreading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	groups, err := f.readParts(ctx, w)
	if err != nil {
		return err
	}
	most, err := f.security.mostParts(ctx)
	if err != nil {
		return err
	}
	kept := f.takenOf(w.key).kept
	most = max(1, most-len(kept))
	places, err := f.place(ctx, w, groups, most, list)
	if err != nil {
		return err
	}
	ids := make([]string, len(places.of))
	for _, i := range places.order {
		id := aws.ToString(groups[i+1].GroupId)
		made := len(places.of[i]) > 0 && id == ""
		if made {
			if id, err = f.createPart(ctx, w, groups[1], i+1); err != nil {
				return err
			}
		}
		err := f.security.authorize(ctx, id, permissionsOf(places.of[i]))
		if isFull(err) && places.why != nil {
			if made {
				return errors.Join(places.why, f.security.Delete(ctx, id))
			}
			return places.why
		}
		if err != nil {
			return err
		}
		ids[i] = id
	}
	attached := []string{w.firewall}
	for _, id := range ids[1:] {
		if id != "" {
			attached = append(attached, id)
		}
	}
	if f.hasParts(w.key, attached[1:]) {
		return nil
	}
	shared, err := f.nodes.sharedGroup(ctx, w.key)
	if err != nil {
		return err
	}
	if err := w.attach(ctx, besides(append(slices.Clip(attached), shared), kept)); err != nil {
		return err
	}
	f.setParts(w.key, attached[1:])
	return nil
}

// A placement has the grants for each part of a wall.
type placement struct {
	of    [][]look.Grant
	order []int // of parts: the fullest first, so that AWS takes all of them, or none
	why   error // there is no room if the quota has not been raised
}

// place decides which part of a wall gets each of some grants that it lacks. If they do not fit by
// the usual quota, they are placed by the highest one, and AWS decides.
func (f *Firewalls) place(ctx context.Context, w wall, groups map[int]ec2types.SecurityGroup,
	most int, list []look.Grant) (placement, error) {
	lists := look.ListsIn(list)
	for _, g := range groups {
		lists = append(lists, ListsIn(g)...)
		list = slices.DeleteFunc(slices.Clone(list), func(l look.Grant) bool {
			return slices.Contains(look.ReadGrants(g), l)
		})
	}
	weigh, unread := f.security.Weights.Read(ctx, lists)
	used, total := make([]int, most), 0
	for i := range used {
		used[i] = RulesIn(groups[i+1], weigh)
	}
	for _, g := range list {
		total += weigh(g.Source)
	}
	room := roomBy(rulesPerGroup, used)
	out := placement{}
	places, fits := look.PlaceGrants(room, list, weigh)
	if !fits {
		out.why = explainRoom(w.firewall, list, weigh, room, unread)
		// AWS has just refused all of them in the firewall.
		quota := min(rulesPerInterface/(most+1), used[0]+total-1)
		if places, fits = look.PlaceGrants(roomBy(quota, used), list, weigh); !fits {
			return placement{}, out.why
		}
	}
	out.of = places
	for i, some := range places {
		for _, g := range some {
			used[i] += weigh(g.Source)
		}
		out.order = append(out.order, i)
	}
	slices.SortStableFunc(out.order, func(a, b int) int { return used[b] - used[a] })
	return out, nil
}

func roomBy(quota int, used []int) []int {
	room := make([]int, len(used))
	for i := range room {
		room[i] = max(0, quota-used[i])
	}
	return room
}

// explainRoom says what does not fit into the security groups of a load balancer.
func explainRoom(firewall string, list []look.Grant, weigh func(string) int, room []int,
	unread error) error {
	var needs []string
	for _, g := range list {
		needs = append(needs, fmt.Sprintf("%d for %s on port %d", weigh(g.Source), g.Source, g.Port))
	}
	why := ""
	if unread != nil {
		why = "; prefix lists count as one rule, as they could not be read: " + client.Describe(unread)
	}
	quota := client.Quotas["RulesPerSecurityGroupLimitExceeded"]
	return fmt.Errorf("security group %s, and the others that the load balancer can have beside it, "+
		"have room for %v more rules of the quota %q (%s), and the clients to admit take %s%s: name "+
		"fewer clients or ports: %w", firewall, room, quota.Name, quota.Code,
		strings.Join(needs, ", "), why, providers.ErrNoRoom)
}

// mostParts returns how many groups the wall of a load balancer can have: those of a network
// interface, but for the shared one.
func (s *SecurityGroups) mostParts(ctx context.Context) (int, error) {
	const attribute = "vpc-max-security-groups-per-interface"
	out, err := s.ec2.DescribeAccountAttributes(ctx, &ec2.DescribeAccountAttributesInput{
		AttributeNames: []ec2types.AccountAttributeName{attribute},
	})
	if err != nil {
		return 0, client.Explain("reading how many security groups a network interface has", err)
	}
	for _, a := range out.AccountAttributes {
		if aws.ToString(a.AttributeName) == attribute && len(a.AttributeValues) == 1 {
			most, err := strconv.Atoi(aws.ToString(a.AttributeValues[0].AttributeValue))
			if err == nil && most > 1 {
				return most - 1, nil
			}
		}
	}
	return groupsPerInterface - 1, nil
}

// createPart creates a part of a firewall, with the tags of that.
func (f *Firewalls) createPart(
	ctx context.Context, w wall, firewall ec2types.SecurityGroup, part int,
) (string, error) {
	tags := TagsIn(firewall)
	tags[client.TagPart] = strconv.Itoa(part)
	about := describeFirewall(w.key)
	id, err := f.security.ensure(ctx, f.partName(w.key, part), about, "", tags)
	if errors.Is(err, providers.ErrRejected) {
		return "", fmt.Errorf("making room for more clients: %w", err)
	}
	return id, err
}

package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
)

// This file creates target groups and changes their health checks and attributes; AWS cannot change
// their other settings.

// anyPort is the port of each target group. It has no effect, because each target is registered
// with its own port.
const anyPort = 80

// Create creates a target group.
func (gs *Store) Create(
	ctx context.Context, seen *lb.Observed, g lb.TargetGroup,
) (plan.Result, error) {
	gs.nodes.AddCheckPorts(network.CheckPort(g.Health))
	if err := gs.nodes.OpenPorts(ctx, seen.Key, network.CheckPort(g.Health)); err != nil {
		return plan.Result{}, err
	}
	name := gs.TargetGroupName(seen.Key, g.ID)
	tags := gs.tagsFor(seen.Key, g)
	if len(g.Attributes) > 0 {
		tags = client.WithoutDigest(tags)
	}
	wanted := client.ToHealth(g)
	wanted.TargetGroupName, wanted.VpcId, wanted.Port = aws.String(name), aws.String(gs.vpc),
		aws.Int32(anyPort)
	wanted.Protocol, wanted.ProtocolVersion = elb.ProtocolEnum(g.Protocol),
		aws.String(string(g.Version))
	wanted.TargetType = elb.TargetTypeEnum(g.TargetType)
	wanted.IpAddressType = elb.TargetGroupIpAddressTypeEnum(g.Family)
	out, err := gs.ELB.CreateTargetGroup(
		ctx, client.ToCreateTargetGroup(wanted, client.ELBTags(tags)),
	)
	made := &elb.TargetGroup{}
	if err == nil {
		made, err = client.RequireOne(out.TargetGroups, "CreateTargetGroup", "a target group")
		if err != nil {
			return plan.Result{}, err
		}
	}
	// The group existed, with other settings, or with the same ones, and may be in use.
	if client.HasCode(err, "DuplicateTargetGroupName") || len(made.LoadBalancerArns) > 0 {
		arn, err := gs.findARN(ctx, seen.Key, g.ID)
		if err != nil {
			return plan.Result{}, err
		}
		return plan.Result{Handle: arn}, gs.write(ctx, seen.Key, arn, g)
	}
	if err != nil {
		return plan.Result{}, gs.limits.Explain("creating target group "+name, err)
	}
	arn, err := client.RequireID(made.TargetGroupArn, "CreateTargetGroup", "an ARN")
	if err != nil {
		return plan.Result{}, err
	}
	gs.setARN(seen.Key, g.ID, arn)
	gs.addEmpty(arn)
	if len(g.Attributes) == 0 {
		return plan.Result{Handle: arn}, nil
	}
	return plan.Result{Handle: arn}, look.OfTargetGroups(gs.ELB).WriteAll(
		ctx, gs.API, arn, g.Attributes, tags, gs.tagsFor(seen.Key, g),
	)
}

// tagsFor returns the tags of a target group after its settings were written.
func (gs *Store) tagsFor(key lb.Key, g lb.TargetGroup) map[string]string {
	tags := gs.Owned(key, g.Tags)
	tags[client.TagGroup], tags[client.TagService], tags[client.TagPort] = string(g.ID),
		g.Service, string(g.Port)
	client.MarkTags(tags, g.Tags)
	client.ListWritten(tags, slices.Sorted(maps.Keys(g.Attributes)))
	tags[client.TagDigest] = string(g.Digest)
	return tags
}

// Modify changes the settings of a target group.
func (gs *Store) Modify(ctx context.Context, seen *lb.Observed, g lb.TargetGroup) error {
	if _, err := gs.findARN(ctx, seen.Key, g.ID); err != nil {
		return err
	}
	gs.nodes.AddCheckPorts(network.CheckPort(g.Health))
	if err := gs.nodes.OpenPorts(ctx, seen.Key, network.CheckPort(g.Health)); err != nil {
		return err
	}
	return gs.each(ctx, seen.Key, g.ID, func(arn string) error { return gs.write(ctx, seen.Key, arn, g) })
}

// write writes the health check of a target group, and then its attributes.
func (gs *Store) write(ctx context.Context, key lb.Key, arn string, g lb.TargetGroup) error {
	health := client.ToHealth(g)
	_, err := gs.ELB.ModifyTargetGroup(ctx, &elbapi.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(arn), Matcher: health.Matcher,
		HealthCheckPath: health.HealthCheckPath, HealthCheckPort: health.HealthCheckPort,
		HealthCheckProtocol:        health.HealthCheckProtocol,
		HealthCheckIntervalSeconds: health.HealthCheckIntervalSeconds,
		HealthCheckTimeoutSeconds:  health.HealthCheckTimeoutSeconds,
		HealthyThresholdCount:      health.HealthyThresholdCount,
		UnhealthyThresholdCount:    health.UnhealthyThresholdCount,
	})
	if err != nil {
		return client.Explain("changing target group "+arn, err)
	}
	tags, err := gs.TagsOf(ctx, []string{arn})
	if err != nil {
		return err
	}
	return look.OfTargetGroups(gs.ELB).WriteAll(
		ctx, gs.API, arn, g.Attributes, tags[arn], gs.tagsFor(key, g),
	)
}

// PortsInUse returns the ports of all targets and health checks of the installation, and of all load balancers that have
// the shared security group.
func (gs *Store) PortsInUse(ctx context.Context, shared string) (map[int32]bool, error) {
	there, err := gs.ofInstallation(ctx, shared)
	if err != nil {
		return nil, err
	}
	health := make([][]lb.TargetHealth, len(there))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(client.ParallelReads)
	for i, g := range there {
		reads.Go(providers.CatchPanics(ctx, func() (err error) {
			health[i], err = gs.refreshHealth(ctx, aws.ToString(g.TargetGroupArn))
			if client.HasCode(err, "TargetGroupNotFound") {
				return nil // deleted a moment ago
			}
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	used := map[int32]bool{}
	for i, g := range there {
		for _, port := range network.CheckPort(
			routing.HealthCheck{Port: aws.ToString(g.HealthCheckPort)}) {
			used[port] = true
		}
		for _, t := range health[i] {
			used[t.Port] = true
		}
	}
	return used, nil
}

// ofInstallation returns the target groups of load balancers that have the shared security group, the other ones of the
// installation, and those whose tags cannot be read. It does not use the index of tags, which may lack an existing target
// group, whose ports would be closed. The names of target groups that others made are not ours: of a load balancer that is
// taken over, each counts from the moment when it gets the shared security group.
func (gs *Store) ofInstallation(ctx context.Context, shared string) ([]elb.TargetGroup, error) {
	sharing, err := gs.balancersWith(ctx, shared)
	if err != nil {
		return nil, err
	}
	var all, out []elb.TargetGroup
	pages := elbapi.NewDescribeTargetGroupsPaginator(gs.ELB, &elbapi.DescribeTargetGroupsInput{
		PageSize: aws.Int32(400),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("reading target groups", err)
		}
		for _, g := range page.TargetGroups {
			switch {
			case slices.ContainsFunc(g.LoadBalancerArns, func(arn string) bool { return sharing[arn] }):
				out = append(out, g)
			case aws.ToString(g.VpcId) == gs.vpc && strings.HasPrefix(aws.ToString(g.TargetGroupName),
				client.NamePrefix):
				all = append(all, g)
			}
		}
	}
	for part := range slices.Chunk(all, client.TagBatch) {
		tags, err := gs.TagsOf(ctx, client.Map(part, func(g elb.TargetGroup) string {
			return aws.ToString(g.TargetGroupArn)
		}))
		// one that was deleted a moment ago fails the call for all of them
		if err != nil && !client.HasCode(err, "TargetGroupNotFound") {
			return nil, err
		}
		for _, g := range part {
			if found, read := tags[aws.ToString(g.TargetGroupArn)]; !read ||
				found[client.TagInstallation] == gs.Installation {
				out = append(out, g)
			}
		}
	}
	return out, nil
}

// balancersWith returns the ARNs of the load balancers that have a security group.
func (gs *Store) balancersWith(ctx context.Context, group string) (map[string]bool, error) {
	out := map[string]bool{}
	pages := elbapi.NewDescribeLoadBalancersPaginator(gs.ELB, &elbapi.DescribeLoadBalancersInput{
		PageSize: aws.Int32(400),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("reading which load balancers have security group "+group, err)
		}
		for _, b := range page.LoadBalancers {
			if slices.Contains(b.SecurityGroups, group) {
				out[aws.ToString(b.LoadBalancerArn)] = true
			}
		}
	}
	return out, nil
}

// The first wait for the health of targets, and the longest.
const (
	healthWait    = 5 * time.Second
	healthWaitMax = 30 * time.Second
)

// AwaitHealthy returns nil once a target group has a healthy target.
func (gs *Store) AwaitHealthy(ctx context.Context, key lb.Key, id lb.GroupID) error {
	arn, err := gs.findARN(ctx, key, id)
	if err != nil {
		return err
	}
	if !gs.unhealthy.TooEarly(arn) {
		targets, err := gs.refreshHealth(ctx, arn)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(targets, func(t lb.TargetHealth) bool {
			return t.State == lb.HealthHealthy
		}) {
			gs.unhealthy.Forget(arn)
			return nil
		}
		if err := gs.nodes.OpenPorts(ctx, key, gs.nodes.RecheckUnhealthy(targets)); err != nil {
			return err
		}
		gs.unhealthy.Wait(arn, healthWait, healthWaitMax)
	}
	return fmt.Errorf("target group %s has no healthy target: %w", id, providers.ErrPending)
}

// Delete deletes a target group, unless AWS still uses it.
func (gs *Store) Delete(ctx context.Context, seen *lb.Observed, id lb.GroupID) error {
	g := seen.TargetGroup(id)
	if g == nil {
		return nil
	}
	arns := gs.known(seen.Key, id)
	if !slices.Contains(arns, g.Handle) {
		arns = append(slices.Clip(arns), g.Handle)
	}
	var ports []int32
	var errs []error
	for _, arn := range arns {
		errs = append(errs, gs.deleteOne(ctx, seen, arn))
		for _, t := range gs.membersOf(arn).members {
			ports = append(ports, t.Port)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	gs.setARN(seen.Key, id, "")
	return gs.nodes.ReleasePorts(ctx, ports)
}

// deleteOne deletes one of the target groups of an ID.
func (gs *Store) deleteOne(ctx context.Context, seen *lb.Observed, arn string) error {
	err := gs.deleteUnused(ctx, seen, arn, func() error {
		_, err := gs.ELB.DeleteTargetGroup(ctx, &elbapi.DeleteTargetGroupInput{TargetGroupArn: aws.String(arn)})
		return err
	})
	if err != nil && !client.HasCode(err, "TargetGroupNotFound") {
		return client.Explain("deleting target group "+arn, err)
	}
	gs.unhealthy.Forget(arn)
	return nil
}

// Read reads the target groups of rules, and our other target groups.
func (gs *Store) Read(
	ctx context.Context, l *look.Look, indexed map[string]map[string]string,
) error {
	attached := map[string]bool{}
	if l.Balancer != nil {
		pages := elbapi.NewDescribeTargetGroupsPaginator(gs.ELB, &elbapi.DescribeTargetGroupsInput{
			LoadBalancerArn: l.Balancer.LoadBalancerArn,
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if client.HasCode(err, "TargetGroupNotFound") { // it has none
				break
			}
			if err != nil {
				return client.Explain("reading target groups", err)
			}
			for _, g := range page.TargetGroups {
				attached[aws.ToString(g.TargetGroupArn)] = true
			}
			l.Groups = append(l.Groups, page.TargetGroups...)
		}
	}
	loose := gs.knownARNs(l.Key) // the index of tags may lack them yet
	for arn := range indexed {
		if strings.Contains(arn, ":targetgroup/") {
			loose = append(loose, arn)
		}
	}
	slices.Sort(loose)
	loose = slices.DeleteFunc(slices.Compact(loose), func(arn string) bool { return attached[arn] })
	for part := range slices.Chunk(loose, client.TagBatch) {
		found, err := gs.describeExisting(ctx, part)
		if err != nil {
			return err
		}
		l.Groups = append(l.Groups, found...)
	}
	gs.removeMissing(l.Key, loose, l.Groups)
	slices.SortFunc(l.Groups, byUse)
	return nil
}

// byUse sorts target groups: those that a rule names first, and then by ARN.
func byUse(a, b elb.TargetGroup) int {
	return cmp.Or(cmp.Compare(min(1, len(b.LoadBalancerArns)), min(1, len(a.LoadBalancerArns))),
		cmp.Compare(aws.ToString(a.TargetGroupArn), aws.ToString(b.TargetGroupArn)))
}

// AllObserved returns our target groups in canonical form, by ID. Of several that are one, it returns the first, with what
// holds for all of them. One that no rule names is neither ready nor needed.
func (gs *Store) AllObserved(l *look.Look) []lb.ObservedTargetGroup {
	var out []lb.ObservedTargetGroup
	used := map[lb.GroupID]bool{}
	for _, g := range l.Groups {
		if !l.IsOurs(g.TargetGroupArn) { // a rule of others may forward to target groups of others
			continue
		}
		one, named := gs.ToObserved(l, g), len(g.LoadBalancerArns) > 0
		at := slices.IndexFunc(out, func(o lb.ObservedTargetGroup) bool { return o.ID == one.ID })
		if at < 0 {
			out, used[one.ID] = append(out, one), named
			continue
		}
		first := &out[at]
		if first.Digest != one.Digest {
			first.Digest = "" // a change writes all of them
		}
		if named || !used[one.ID] {
			first.Registered, first.Ready = first.Registered && one.Registered, first.Ready && one.Ready
		}
	}
	slices.SortFunc(out, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// ToObserved converts a target group to canonical form.
func (gs *Store) ToObserved(l *look.Look, g elb.TargetGroup) lb.ObservedTargetGroup {
	arn := aws.ToString(g.TargetGroupArn)
	tags := l.Tags[arn]
	out := lb.ObservedTargetGroup{Handle: arn, TargetGroup: lb.TargetGroup{
		ID: l.IDOf(arn), Service: tags[client.TagService],
		Port: routing.ServicePort(tags[client.TagPort]), TargetType: string(g.TargetType),
		Protocol: routing.Protocol(g.Protocol),
		Version:  routing.Version(aws.ToString(g.ProtocolVersion)), Family: string(g.IpAddressType),
		Digest: lb.Digest(tags[client.TagDigest]),
	}}
	if l.Deep && out.Digest != "" && !l.Assumed[arn] { // without one they were not written completely
		out.Digest = lb.DigestOf(SettingsOf(l, g))
	}
	for _, t := range l.Health[arn] {
		if t.State != lb.HealthDraining {
			out.Registered = true
		}
		if t.State == lb.HealthHealthy {
			out.Ready = true
		}
	}
	return out
}

// SettingsOf returns the live values that a deep look read of the settings of a target group.
func SettingsOf(l *look.Look, g elb.TargetGroup) lb.GroupSettings {
	arn := aws.ToString(g.TargetGroupArn)
	return lb.GroupSettings{HealthCheck: client.FromHealth(g), Attributes: l.Attributes[arn],
		Tags: client.WrittenTags(l.Tags[arn])}
}

// describeExisting reads the target groups that exist.
func (gs *Store) describeExisting(ctx context.Context, arns []string) ([]elb.TargetGroup, error) {
	out, err := gs.ELB.DescribeTargetGroups(ctx, &elbapi.DescribeTargetGroupsInput{
		TargetGroupArns: arns,
	})
	switch {
	case client.HasCode(err, "TargetGroupNotFound") && len(arns) == 1:
		return nil, nil
	case client.HasCode(err, "TargetGroupNotFound"): // one that is missing fails the call for all of them
		var found []elb.TargetGroup
		for _, arn := range arns {
			one, err := gs.describeExisting(ctx, []string{arn})
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		return found, nil
	case err != nil:
		return nil, client.Explain("reading target groups", err)
	}
	return out.TargetGroups, nil
}

// PortsOf returns the known ports of the members of a load balancer's target groups.
func (gs *Store) PortsOf(seen *lb.Observed) []int32 {
	var out []int32
	for _, g := range seen.TargetGroups {
		for _, arn := range gs.known(seen.Key, g.ID) {
			out = append(out, network.PortsOfMembers(gs.membersOf(arn).members)...)
		}
	}
	return out
}

// TagsOfTaken returns the tags of a target group that was taken over, and had the settings that were read. It has a digest
// if these are the wanted ones; same is false if they are known not to be.
func (gs *Store) TagsOfTaken(key lb.Key, want lb.TargetGroup, read lb.GroupSettings, same bool) map[string]string {
	tags := gs.tagsFor(key, want)
	read.Attributes, read.Tags = look.Some(read.Attributes, want.Attributes), want.Tags
	if !same || want.Digest != lb.DigestOf(read) {
		return client.WithoutDigest(tags)
	}
	return tags
}

// DeleteLeft deletes a target group that others left, unless a rule names it or its tags are not theirs, and reports whether
// it is gone.
func (gs *Store) DeleteLeft(
	ctx context.Context, arn string, theirs func(tags map[string]string) bool,
) (gone bool, err error) {
	found, err := gs.describeExisting(ctx, []string{arn})
	if err != nil || len(found) == 0 || len(found[0].LoadBalancerArns) > 0 {
		return err == nil && len(found) == 0, err
	}
	tags, err := gs.TagsOf(ctx, []string{arn})
	if err != nil || !theirs(tags[arn]) {
		return false, err
	}
	_, err = gs.ELB.DeleteTargetGroup(ctx, &elbapi.DeleteTargetGroupInput{TargetGroupArn: aws.String(arn)})
	if err != nil && !client.HasCode(err, "TargetGroupNotFound") {
		return false, client.Explain("deleting target group "+arn, err)
	}
	gs.Remove([]string{arn})
	return true, nil
}

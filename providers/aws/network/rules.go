package network

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/fairlead/providers/aws/client"
)

// This file adds rules to security groups and revokes them. EC2 carries a call out whole or not at
// all: if one of its rules exists already, it adds none, and if one does not exist, "no rules are
// revoked" (API_RevokeSecurityGroupIngress.html in
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/). Then the rules are written one by one.
//
// A read may show the rules as they were before a change
// (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html). So a change is
// computed from what EC2 lists, corrected by what this process wrote a moment ago.

// A ruleID identifies a rule of a security group: its TCP ports, and its source.
type ruleID struct {
	group, source string
	from, to      int32
}

// A writtenRule is a rule that this process added or revoked a moment ago.
type writtenRule struct {
	ec2types.IpPermission
	exists bool
	at     time.Time
}

// writtenRules has the rules that this process wrote a moment ago.
type writtenRules struct {
	mu    sync.Mutex
	rules map[ruleID]writtenRule
}

// note records that rules were added to a group, or revoked, and forgets those that are older than
// an age.
func (w *writtenRules) note(
	group string, rules []ec2types.IpPermission, exist bool, age time.Duration,
) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.rules == nil {
		w.rules = map[ruleID]writtenRule{}
	}
	maps.DeleteFunc(w.rules, func(_ ruleID, r writtenRule) bool { return now.Sub(r.at) >= age })
	for _, r := range rules {
		w.rules[idOfRule(group, r)] = writtenRule{r, exist, now}
	}
}

// has reports whether this process added a rule to a group within an age.
func (w *writtenRules) has(group string, rule ec2types.IpPermission, age time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.rules[idOfRule(group, rule)]
	return r.exists && time.Since(r.at) < age
}

// forget removes the chosen rules: EC2 has been read since they were written.
func (w *writtenRules) forget(chosen func(ruleID) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.rules, func(id ruleID, _ writtenRule) bool { return chosen(id) })
}

// correct returns a security group with the rules that this process wrote within an age.
func (w *writtenRules) correct(g ec2types.SecurityGroup, age time.Duration) ec2types.SecurityGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := aws.ToString(g.GroupId)
	late := map[ruleID]writtenRule{}
	for of, r := range w.rules {
		if of.group == id && time.Since(r.at) < age {
			late[of] = r
		}
	}
	if len(late) == 0 {
		return g
	}
	rules := slices.DeleteFunc(singleRules(g.IpPermissions), func(p ec2types.IpPermission) bool {
		r, written := late[idOfRule(id, p)]
		delete(late, idOfRule(id, p))
		return written && !r.exists
	})
	for _, r := range late {
		if r.exists {
			rules = append(rules, r.IpPermission)
		}
	}
	g.IpPermissions = rules
	return g
}

// idOfRule identifies a rule that has one source.
func idOfRule(group string, p ec2types.IpPermission) ruleID {
	id := ruleID{group: group, from: aws.ToInt32(p.FromPort), to: aws.ToInt32(p.ToPort)}
	switch {
	case aws.ToString(p.IpProtocol) != "tcp":
		id.source = aws.ToString(p.IpProtocol) // never ours
	case len(p.IpRanges) > 0:
		id.source = aws.ToString(p.IpRanges[0].CidrIp)
	case len(p.Ipv6Ranges) > 0:
		id.source = aws.ToString(p.Ipv6Ranges[0].CidrIpv6)
	case len(p.PrefixListIds) > 0:
		id.source = aws.ToString(p.PrefixListIds[0].PrefixListId)
	case len(p.UserIdGroupPairs) > 0:
		id.source = aws.ToString(p.UserIdGroupPairs[0].GroupId)
	}
	return id
}

// singleRules returns rules with one source each.
func singleRules(rules []ec2types.IpPermission) []ec2types.IpPermission {
	var out []ec2types.IpPermission
	for _, p := range rules {
		add := func(one ec2types.IpPermission) {
			one.IpProtocol, one.FromPort, one.ToPort = p.IpProtocol, p.FromPort, p.ToPort
			out = append(out, one)
		}
		for _, r := range p.IpRanges {
			add(ec2types.IpPermission{IpRanges: []ec2types.IpRange{r}})
		}
		for _, r := range p.Ipv6Ranges {
			add(ec2types.IpPermission{Ipv6Ranges: []ec2types.Ipv6Range{r}})
		}
		for _, r := range p.PrefixListIds {
			add(ec2types.IpPermission{PrefixListIds: []ec2types.PrefixListId{r}})
		}
		for _, r := range p.UserIdGroupPairs {
			add(ec2types.IpPermission{UserIdGroupPairs: []ec2types.UserIdGroupPair{r}})
		}
	}
	return out
}

// readToChange reads security groups whose rules are to be changed.
func (s *SecurityGroups) readToChange(
	ctx context.Context, in *ec2.DescribeSecurityGroupsInput,
) ([]ec2types.SecurityGroup, error) {
	found, err := s.Describe(ctx, in)
	for i, g := range found {
		found[i] = s.written.correct(g, s.recent.Lag)
	}
	return found, err
}

// authorize adds rules with one source each to a security group. Rules that exist stay. It makes no
// call for those that this process added a moment ago.
func (s *SecurityGroups) authorize(
	ctx context.Context, group string, rules []ec2types.IpPermission,
) error {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r ec2types.IpPermission) bool {
		return s.written.has(group, r, s.recent.Lag)
	})
	return s.write("admitting to", group, rules, true, "InvalidPermission.Duplicate",
		func(rules []ec2types.IpPermission) error {
			_, err := s.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: aws.String(group), IpPermissions: rules,
			})
			return err
		})
}

// revoke removes rules with one source each from a security group, unless they do not exist.
func (s *SecurityGroups) revoke(
	ctx context.Context, group string, rules []ec2types.IpPermission,
) error {
	return s.write("shutting out of", group, rules, false, "InvalidPermission.NotFound",
		func(rules []ec2types.IpPermission) error {
			_, err := s.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{
				GroupId: aws.String(group), IpPermissions: rules,
			})
			return err
		})
}

// write makes a call for all rules, or one for each if AWS answers with done: one of them is
// already as it should be, and AWS has changed none. exist says whether they exist after it.
func (s *SecurityGroups) write(doing, group string, rules []ec2types.IpPermission, exist bool,
	done string, call func([]ec2types.IpPermission) error) error {
	if len(rules) == 0 {
		return nil
	}
	err := call(rules)
	if client.HasCode(err, done) && len(rules) > 1 {
		for i := range rules {
			if err := s.write(doing, group, rules[i:i+1], exist, done, call); err != nil {
				return err
			}
		}
		return nil
	}
	if client.HasCode(err, "RulesPerSecurityGroupLimitExceeded") {
		return fullError{client.Explain(doing+" security group "+group, err)}
	}
	if err != nil && !client.HasCode(err, done) {
		return client.Explain(doing+" security group "+group, err)
	}
	s.written.note(group, rules, exist, s.recent.Lag)
	return nil
}

// A fullError is AWS's answer that rules do not fit into a security group. None was added.
type fullError struct{ error }

func (e fullError) Unwrap() error { return e.error }

// isFull reports whether an error is a fullError.
func isFull(err error) bool { return errors.As(err, &fullError{}) }

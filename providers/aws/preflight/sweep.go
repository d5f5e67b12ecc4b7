package preflight

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/providers/trials"
)

// This file finds the resources that runs of the trial created, and deletes them. It reads the tags
// of the resources themselves: the Resource Groups Tagging API may not list new resources yet.

// ourNames is the prefix of the names of our load balancers and target groups.
const ourNames = "fl-"

// ofARun reports whether a load balancer or a target group of a run can have a name.
func ofARun(name string) bool {
	return strings.HasPrefix(name, ourNames) || strings.HasPrefix(name, formerNames)
}

// A remnant is a resource that a run created, with its installation and the call that deletes it.
type remnant struct {
	id, installation string
	remove           func(context.Context) error
}

// Sweep deletes the resources of the installation, load balancers first. It returns the resources
// that it found, each with the error of its deletion. AWS may accept a deletion and complete it
// later: all resources are deleted once Sweep finds none. The error is that of failed reads.
func (p *Trials) Sweep(ctx context.Context) (found []string, err error) {
	if !strings.HasPrefix(p.Installation, trials.Prefix) {
		return nil, nil // the installation is not that of a run
	}
	all, err := p.remnants(ctx, p.Installation)
	for _, r := range all {
		text := r.id
		if err := r.remove(ctx); err != nil {
			text += " (" + client.Describe(err) + ")"
		}
		found = append(found, text)
	}
	return found, err
}

// Installations returns the installations of runs that still have resources.
func (p *Trials) Installations(ctx context.Context) ([]string, error) {
	found, err := p.remnants(ctx, trials.Prefix)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, r := range found {
		all[r.installation] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// remnants returns the resources of installations whose names begin with a text, in the order in
// which they can be deleted. If some reads fail, it returns the other resources and the error.
func (p *Trials) remnants(ctx context.Context, prefix string) ([]remnant, error) {
	var out []remnant
	var failed []error
	for _, find := range []func(context.Context, string) ([]remnant, error){
		p.balancersLeft, p.groupsLeft, p.certificatesLeft, p.firewallsLeft,
	} {
		found, err := find(ctx, prefix)
		out, failed = append(out, found...), append(failed, err)
	}
	return out, errors.Join(failed...)
}

func (p *Trials) balancersLeft(ctx context.Context, prefix string) ([]remnant, error) {
	var arns []string
	pages := elbapi.NewDescribeLoadBalancersPaginator(p.ELB, &elbapi.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("listing load balancers", err)
		}
		for _, b := range page.LoadBalancers {
			if ofARun(aws.ToString(b.LoadBalancerName)) {
				arns = append(arns, aws.ToString(b.LoadBalancerArn))
			}
		}
	}
	return p.marked(ctx, prefix, arns, func(ctx context.Context, arn string) error {
		_, err := p.ELB.DeleteLoadBalancer(ctx, &elbapi.DeleteLoadBalancerInput{
			LoadBalancerArn: aws.String(arn),
		})
		return err
	})
}

func (p *Trials) groupsLeft(ctx context.Context, prefix string) ([]remnant, error) {
	var arns []string
	pages := elbapi.NewDescribeTargetGroupsPaginator(p.ELB, &elbapi.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("listing target groups", err)
		}
		for _, g := range page.TargetGroups {
			if ofARun(aws.ToString(g.TargetGroupName)) {
				arns = append(arns, aws.ToString(g.TargetGroupArn))
			}
		}
	}
	return p.marked(ctx, prefix, arns, func(ctx context.Context, arn string) error {
		_, err := p.ELB.DeleteTargetGroup(ctx, &elbapi.DeleteTargetGroupInput{
			TargetGroupArn: aws.String(arn),
		})
		return err
	})
}

// marked returns the resources whose own tags name such an installation.
func (p *Trials) marked(ctx context.Context, prefix string, arns []string,
	remove func(context.Context, string) error) ([]remnant, error) {
	tags, err := p.TagsOf(ctx, arns)
	if err != nil {
		return nil, err
	}
	var out []remnant
	for _, arn := range arns {
		id := installationIn(tags[arn], prefix)
		if cluster := tags[arn][formerCluster]; id == "" && strings.HasPrefix(cluster, prefix) && strings.Contains(arn, "/"+ourNames) {
			id = cluster // it was given to the other controller
		}
		if id != "" {
			out = append(out, remnant{arn, id, func(ctx context.Context) error { return remove(ctx, arn) }})
		}
	}
	return out, nil
}

// certificatesLeft returns the certificates that were imported for the host of the runs. The error
// names those whose tags could not be read.
func (p *Trials) certificatesLeft(ctx context.Context, prefix string) ([]remnant, error) {
	var out []remnant
	var failed []error
	pages := acm.NewListCertificatesPaginator(p.ACM, &acm.ListCertificatesInput{
		Includes: &acmtypes.Filters{KeyTypes: []acmtypes.KeyAlgorithm{acmtypes.KeyAlgorithmEcPrime256v1}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, errors.Join(append(failed, client.Explain("listing certificates", err))...)
		}
		for _, c := range page.CertificateSummaryList {
			if aws.ToString(c.DomainName) != trials.Host {
				continue
			}
			tags, err := p.ACM.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{
				CertificateArn: c.CertificateArn,
			})
			if client.HasCode(err, "ResourceNotFound") {
				continue // it was deleted
			}
			if err != nil {
				failed = append(failed, client.Explain("reading the tags of "+aws.ToString(c.CertificateArn)+
					", which has the host of such runs", err))
				continue
			}
			found := map[string]string{}
			for _, t := range tags.Tags {
				found[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			if id := installationIn(found, prefix); id != "" {
				out = append(out, remnant{aws.ToString(c.CertificateArn), id, func(ctx context.Context) error {
					_, err := p.ACM.DeleteCertificate(ctx, &acm.DeleteCertificateInput{
						CertificateArn: c.CertificateArn,
					})
					return err
				}})
			}
		}
	}
	return out, errors.Join(failed...)
}

// firewallsLeft returns the security groups of runs. Rules that refer to each other do not prevent
// the deletion: the rules of a group are deleted with it.
func (p *Trials) firewallsLeft(ctx context.Context, prefix string) ([]remnant, error) {
	var found []ec2types.SecurityGroup
	for _, tag := range []string{tagTrial, client.TagInstallation} {
		some, err := p.security.Describe(ctx, &ec2.DescribeSecurityGroupsInput{
			Filters: append(network.VPCFilter(p.VPC), ec2types.Filter{
				Name: aws.String("tag:" + tag), Values: []string{prefix + "*"},
			}),
		})
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	var out []remnant
	for _, g := range found {
		id := installationIn(network.TagsIn(g), prefix)
		known := slices.ContainsFunc(out, func(r remnant) bool { return r.id == aws.ToString(g.GroupId) })
		if id != "" && !known {
			out = append(out, remnant{aws.ToString(g.GroupId), id, func(ctx context.Context) error {
				return p.security.Delete(ctx, aws.ToString(g.GroupId))
			}})
		}
	}
	return out, nil
}

// installationIn returns the installation that tags name, or "".
func installationIn(tags map[string]string, prefix string) string {
	for _, name := range []string{tagTrial, client.TagInstallation} {
		if id := tags[name]; strings.HasPrefix(id, prefix) {
			return id
		}
	}
	return ""
}

package listeners

import (
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file reads listeners with their rules and certificates.

// Read reads the listeners of the load balancer.
func (ls *Store) Read(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if l.Balancer == nil {
		return nil
	}
	pages := elbapi.NewDescribeListenersPaginator(ls.ELB, &elbapi.DescribeListenersInput{
		LoadBalancerArn: l.Balancer.LoadBalancerArn,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return client.Explain("reading listeners", err)
		}
		l.Listeners = append(l.Listeners, page.Listeners...)
	}
	return nil
}

// ReadRules reads the rules of a listener.
func ReadRules(ctx context.Context, api *elbapi.Client, listener string) ([]elb.Rule, error) {
	var out []elb.Rule
	pages := elbapi.NewDescribeRulesPaginator(api, &elbapi.DescribeRulesInput{
		ListenerArn: aws.String(listener), PageSize: aws.Int32(400),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("reading rules", err)
		}
		out = append(out, page.Rules...)
	}
	return out, nil
}

// CertificatesOf reads the certificates that a listener serves.
func (ls *Store) CertificatesOf(ctx context.Context, listener string) ([]elb.Certificate, error) {
	var out []elb.Certificate
	pages := elbapi.NewDescribeListenerCertificatesPaginator(
		ls.ELB, &elbapi.DescribeListenerCertificatesInput{ListenerArn: aws.String(listener)},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, client.Explain("reading a listener's certificates", err)
		}
		out = append(out, page.Certificates...)
	}
	return out, nil
}

// ToObserved returns a listener in canonical form.
func (ls *Store) ToObserved(l *look.Look, of elb.Listener) lb.ObservedListener {
	arn := aws.ToString(of.ListenerArn)
	out := lb.ObservedListener{
		Port: aws.ToInt32(of.Port), Protocol: routing.Protocol(of.Protocol), Handle: arn,
		Digest:        listenerDigest(l, of),
		Default:       client.FromActions(of.DefaultActions, l.IDOf),
		Verifies:      fromMutual(of.MutualAuthentication, false).Verifies(),
		ClientSecrets: writtenSecretsIn(l.Tags[arn]), Shape: l.Tags[arn][client.TagShape],
	}
	out.Others = l.Balancer != nil && l.Tags[aws.ToString(l.Balancer.LoadBalancerArn)][client.TagTaken] != "" &&
		l.Tags[arn][client.TagInstallation] == ""
	var rest []lb.CertificateID
	for _, c := range l.Served[arn] {
		id := l.CertificateID(aws.ToString(c.CertificateArn))
		if aws.ToBool(c.IsDefault) {
			out.Certificates = []lb.CertificateID{id}
		} else {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	listed := false
	for _, id := range slices.Compact(rest) {
		if slices.Contains(out.Certificates, id) {
			listed = true
			continue
		}
		out.Certificates = append(out.Certificates, id)
	}
	if _, full := ls.full.Load(arn); len(out.Certificates) > 1 && !listed && !full {
		out.Digest = "" // it is written again, with its default certificate in the list
	}
	for _, r := range l.Rules[arn] {
		priority, err := strconv.Atoi(aws.ToString(r.Priority))
		if err != nil {
			continue // the default rule, which is the listener's default action
		}
		out.Rules = append(out.Rules, lb.ObservedRule{
			Priority: priority, Handle: aws.ToString(r.RuleArn), Rule: client.FromRule(r, l.IDOf),
		})
	}
	slices.SortFunc(out.Rules, func(a, b lb.ObservedRule) int { return a.Priority - b.Priority })
	return out
}

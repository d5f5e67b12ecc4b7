package aws

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/awserr"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/convert"
	"fairlead.dev/fairlead/providers/aws/resource"
	"fairlead.dev/fairlead/providers/aws/retry"
)

// This file carries out steps, each with one call or a few.

// Apply makes one step true.
func (p *Provider) Apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	ctx = providers.About(ctx, seen.Key)
	p.balancers.takeSighting(seen.Key)
	result, err := p.apply(ctx, seen, step)
	if err == nil {
		p.releases.releaseUnused(seen, step)
	}
	return result, err
}

func (p *Provider) apply(ctx context.Context, seen *lb.Observed, step plan.Step) (plan.Result, error) {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		return p.createLoadBalancer(ctx, seen, s.LoadBalancer)
	case plan.ModifyLoadBalancer:
		return p.modifyLoadBalancer(ctx, seen, s.LoadBalancer)
	case plan.DeleteLoadBalancer:
		return plan.Result{}, p.deleteLoadBalancer(ctx, seen)
	case plan.GuardLoadBalancer:
		return plan.Result{}, p.webACLs.attach(ctx, seen, s.WebACL)
	case plan.ShieldLoadBalancer:
		return plan.Result{}, p.protections.set(ctx, seen, s.Shield)
	case plan.DeleteFirewall:
		return plan.Result{}, p.firewalls.delete(ctx, seen)
	case plan.ImportCertificate:
		arn, err := p.certificates.Import(ctx, seen, s.Certificate)
		return plan.Result{Handle: arn}, err
	case plan.ReplaceCertificate:
		return plan.Result{}, p.certificates.Replace(ctx, seen, s)
	case plan.ModifyCertificate:
		return plan.Result{}, p.certificates.Modify(ctx, seen, s.Certificate)
	case plan.DeleteCertificate:
		return plan.Result{}, p.certificates.Delete(ctx, seen, s.Certificate)
	case plan.CreateTargetGroup:
		return p.targetGroups.create(ctx, seen, s.Group)
	case plan.ModifyTargetGroup:
		return plan.Result{}, p.targetGroups.modify(ctx, seen, s.Group)
	case plan.RegisterTargets:
		arn, err := p.targetGroups.arnOf(ctx, seen.Key, s.Group)
		if err != nil {
			return plan.Result{}, err
		}
		in, err := p.targetGroups.register(ctx, seen.Key, arn, s.Targets)
		if err != nil || len(in.taken) > 0 { // some are registered: the targets reconciler adds the others
			return plan.Result{}, err
		}
		return plan.Result{}, in.err()
	case plan.AwaitTargets:
		return plan.Result{}, p.targetGroups.awaitHealthy(ctx, seen.Key, s.Group)
	case plan.DeleteTargetGroup:
		return plan.Result{}, p.targetGroups.delete(ctx, seen, s.Group)
	case plan.CreateListener:
		return p.createListener(ctx, seen, s.Listener)
	case plan.ModifyListener:
		return plan.Result{}, p.modifyListener(ctx, seen, s.Listener)
	case plan.AttachCertificate:
		return plan.Result{}, p.attachCertificate(ctx, seen, s.Port, s.Certificate)
	case plan.DetachCertificate:
		return plan.Result{}, p.detachCertificate(ctx, seen, s.Port, s.Certificate)
	case plan.DeleteListener:
		return plan.Result{}, p.deleteListener(ctx, seen, s.Port)
	case plan.CreateRule:
		return p.createRule(ctx, seen, s)
	case plan.ModifyRule:
		return plan.Result{}, p.modifyRule(ctx, seen, s)
	case plan.DeleteRule:
		return plan.Result{}, p.deleteRule(ctx, seen, s)
	case plan.RespaceRules:
		return plan.Result{}, p.respaceRules(ctx, seen, s)
	}
	return plan.Result{}, fmt.Errorf("step %s is not known", step.Op())
}

func (p *Provider) createLoadBalancer(ctx context.Context, seen *lb.Observed, want lb.LoadBalancer) (plan.Result, error) {
	if err := p.role.early(); err != nil {
		return plan.Result{}, err
	}
	name := p.tags.LoadBalancerName(want.Key)
	subnets := want.Settings.Subnets
	if len(subnets) == 0 { // none fit, or Lookup was not asked for them
		var err error
		if subnets, err = p.subnets.choose(ctx, lb.Network{Scheme: want.Settings.Scheme}, nil); err != nil {
			return plan.Result{}, err
		}
	}
	groups, firewall, err := p.firewalls.ensure(ctx, want)
	if err != nil {
		return plan.Result{}, err
	}
	if err := p.openPortsBehind(ctx, want.Key, seen); err != nil {
		return plan.Result{}, err
	}
	tags := p.balancerTags(want)
	if !complete(want.Settings) {
		tags = resource.Unsigned(tags)
	}
	in := &elbapi.CreateLoadBalancerInput{
		Name: aws.String(name), Type: elb.LoadBalancerTypeEnumApplication, Scheme: elb.LoadBalancerSchemeEnum(want.Settings.Scheme),
		IpAddressType: elb.IpAddressType(want.Settings.IPFamily), Subnets: subnets, SecurityGroups: groups, Tags: resource.ELBTags(tags),
	}
	young := p.role.young()
	out, err := p.elb.CreateLoadBalancer(ctx, in)
	err = p.role.explain(young, err)
	made := &balancer{}
	switch {
	case awserr.Is(err, "DuplicateLoadBalancerName"): // created before, with other settings
		if made, err = p.balancers.own(ctx, want.Key); err != nil {
			return plan.Result{}, err
		}
		if _, err = p.firewalls.write(ctx, made, seen, want, p.targetGroups.portsOf(seen)); err == nil {
			err = p.writeSettings(ctx, made, want)
		}
	case err != nil:
		return plan.Result{}, p.limits.explained("creating load balancer "+name, err)
	default:
		var there *elb.LoadBalancer
		if there, err = awserr.Only(out.LoadBalancers, "CreateLoadBalancer", "a load balancer"); err == nil {
			_, err = awserr.Required(there.LoadBalancerArn, "CreateLoadBalancer", "an ARN")
		}
		if err != nil {
			return plan.Result{}, err
		}
		made.LoadBalancer, made.tags = *there, tags
		if active(&made.LoadBalancer) { // AWS makes none in a moment: it was there, just as it is asked for
			if made, err = p.balancers.own(ctx, want.Key); err != nil {
				return plan.Result{}, err
			}
		}
		if !complete(want.Settings) {
			err = p.writeSettings(ctx, made, want)
		}
	}
	return plan.Result{
		Handle: aws.ToString(made.LoadBalancerArn), Firewall: firewall, Address: addressOf(&made.LoadBalancer),
		Active: active(&made.LoadBalancer),
	}, err
}

func (p *Provider) deleteLoadBalancer(ctx context.Context, seen *lb.Observed) error {
	if !seen.Exists {
		return nil
	}
	if seen.Protected == lb.ByClass { // the class no longer asks for it
		if err := balancerAttributes(p.elb).write(ctx, seen.Handle, []attribute{{Key: aws.String(deletionProtection), Value: aws.String("false")}}); err != nil {
			return awserr.Explain("letting load balancer "+seen.Handle+" be deleted", err)
		}
	}
	if seen.Protection.Shield == lb.ShieldOn { // AWS keeps a protection after its load balancer
		if err := p.protections.remove(ctx, seen); err != nil {
			return err
		}
	}
	_, err := p.elb.DeleteLoadBalancer(ctx, &elbapi.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(seen.Handle)})
	if awserr.Is(err, "OperationNotPermitted") { // Observe reads its deletion protection next time
		p.balancers.refuseDeletion(seen.Handle)
	}
	if err == nil {
		p.forgetDeleted(seen.Key, seen.Handle)
	}
	return awserr.Explain("deleting load balancer "+seen.Handle, err)
}

// forgetDeleted forgets a load balancer that was deleted.
func (p *Provider) forgetDeleted(key lb.Key, arn string) {
	p.balancers.remove(key, arn)
	p.firewalls.setReplaced(key, false)
	p.releases.rerouted.Forget(arn)
	p.webACLs.unready.Forget(arn)
}

func (p *Provider) createListener(ctx context.Context, seen *lb.Observed, want lb.Listener) (plan.Result, error) {
	actions, err := convert.ToActions(want.Default, p.targetGroups.lookUp(ctx, seen.Key))
	if err != nil {
		return plan.Result{}, err
	}
	tags := p.listenerTags(seen.Key, want)
	if len(want.Settings.Attributes) > 0 {
		tags = resource.Unsigned(tags)
	}
	secure, err := p.security(ctx, seen, want, nil)
	if err != nil {
		return plan.Result{}, err
	}
	in := &elbapi.CreateListenerInput{
		LoadBalancerArn: aws.String(seen.Handle), Port: aws.Int32(want.Port), Protocol: elb.ProtocolEnum(want.Protocol), DefaultActions: actions,
		Tags: resource.ELBTags(tags), Certificates: secure.certificates, SslPolicy: secure.policy, MutualAuthentication: secure.mutual,
	}
	if err := p.firewalls.openPort(ctx, seen, want); err != nil {
		return plan.Result{}, err
	}
	arn, tags, err := p.makeListener(ctx, seen, in, tags)
	if err != nil {
		return plan.Result{}, err
	}
	for _, id := range want.Certificates[min(1, len(want.Certificates)):] {
		if err := p.addCertificate(ctx, seen, arn, id); err != nil {
			return plan.Result{}, err
		}
	}
	if digest, signed := tags[resource.TagDigest]; signed && digest == string(want.Digest) {
		return plan.Result{Handle: arn}, nil
	}
	return plan.Result{Handle: arn}, listenerAttributes(p.elb).writeAll(ctx, p.tags, arn, want.Settings.Attributes, tags, p.listenerTags(seen.Key, want))
}

// makeListener creates a listener, or modifies the one that an earlier, incomplete attempt created.
// It returns the ARN of the listener, and its tags.
func (p *Provider) makeListener(ctx context.Context, seen *lb.Observed, in *elbapi.CreateListenerInput, tags map[string]string) (string, map[string]string, error) {
	port := aws.ToInt32(in.Port)
	out, err := p.elb.CreateListener(ctx, in)
	if err == nil {
		made, err := awserr.Only(out.Listeners, "CreateListener", "a listener")
		if err != nil {
			return "", nil, err
		}
		arn, err := awserr.Required(made.ListenerArn, "CreateListener", "an ARN")
		if err != nil {
			return "", nil, err
		}
		p.fresh.Set(arn, retry.NewGate(0, listenerPause, listenerPause))
		return arn, tags, nil
	}
	if !awserr.Is(err, "DuplicateListener") {
		return "", nil, awserr.Explain(fmt.Sprintf("creating listener %d", port), err)
	}
	arn, err := p.listenerOn(ctx, seen, port)
	if err != nil {
		return "", nil, err
	}
	if _, err := p.elb.ModifyListener(ctx, &elbapi.ModifyListenerInput{
		ListenerArn: aws.String(arn), Protocol: in.Protocol, DefaultActions: in.DefaultActions,
		Certificates: in.Certificates, SslPolicy: policyFor("", in.Protocol, in.SslPolicy), MutualAuthentication: in.MutualAuthentication,
	}); err != nil {
		return "", nil, awserr.Explain(fmt.Sprintf("changing listener %d, which was made before", port), err)
	}
	found, err := p.tags.TagsOf(ctx, []string{arn})
	return arn, found[arn], err
}

// listenerOn finds the listener on a port.
func (p *Provider) listenerOn(ctx context.Context, seen *lb.Observed, port int32) (string, error) {
	l := &look{balancer: &elb.LoadBalancer{LoadBalancerArn: aws.String(seen.Handle)}}
	if err := p.readListeners(ctx, l, nil); err != nil {
		return "", err
	}
	at := slices.IndexFunc(l.listeners, func(l elb.Listener) bool { return aws.ToInt32(l.Port) == port })
	if at < 0 {
		return "", fmt.Errorf("listener %d is not there", port)
	}
	return aws.ToString(l.listeners[at].ListenerArn), nil
}

func (p *Provider) modifyListener(ctx context.Context, seen *lb.Observed, want lb.Listener) error {
	l := seen.Listener(want.Port)
	if l == nil {
		return fmt.Errorf("listener %d is not there", want.Port)
	}
	actions, err := convert.ToActions(want.Default, p.targetGroups.lookUp(ctx, seen.Key))
	if err != nil {
		return err
	}
	same := l.Digest == want.Digest
	var before map[string]string
	lost := func(err error) error { return err }
	if !same {
		tags, err := p.tags.TagsOf(ctx, []string{l.Handle})
		if err != nil {
			return err
		}
		before = tags[l.Handle]
		lost = func(err error) error {
			return resource.ExplainDenied(err, fmt.Sprintf("listener %d", want.Port), l.Handle, before, p.tags.Owned(seen.Key, nil))
		}
	}
	gone := slices.DeleteFunc(resource.WrittenIn(before), func(name string) bool { return slices.Contains(writtenOfListener(want.Settings), name) })
	secure, err := p.security(ctx, seen, want, gone)
	if err != nil {
		return err
	}
	in := &elbapi.ModifyListenerInput{
		ListenerArn: aws.String(l.Handle), Protocol: elb.ProtocolEnum(want.Protocol), DefaultActions: actions,
		Certificates: secure.certificates, SslPolicy: policyFor(l.Protocol, elb.ProtocolEnum(want.Protocol), secure.policy), MutualAuthentication: secure.mutual,
	}
	// The former default certificate is attached by name (SNI) if the listener still wants it. If not,
	// it is detached: it may have been attached by name before it was the default.
	var former lb.CertificateID
	if len(l.Certificates) > 0 && len(want.Certificates) > 0 && l.Certificates[0] != want.Certificates[0] {
		former = l.Certificates[0]
	}
	stays := slices.Contains(want.Certificates, former)
	if stays {
		if err := p.addCertificate(ctx, seen, l.Handle, former); err != nil {
			return err
		}
	}
	if _, err := p.elb.ModifyListener(ctx, in); err != nil {
		return lost(awserr.Explain(fmt.Sprintf("changing listener %d", want.Port), err))
	}
	if former != "" && !stays {
		if err := p.detachCertificate(ctx, seen, want.Port, former); err != nil {
			return err
		}
	}
	if same {
		return nil
	}
	if err := p.firewalls.changePort(ctx, seen, want.Port, grantsTo(want.Port, want.Settings.Inbound)); err != nil {
		return err
	}
	if err := p.writeSecrets(ctx, seen, l, want); err != nil {
		return err
	}
	return listenerAttributes(p.elb).writeAll(ctx, p.tags, l.Handle, want.Settings.Attributes, before, p.listenerTags(seen.Key, want))
}

func (p *Provider) deleteListener(ctx context.Context, seen *lb.Observed, port int32) error {
	l := seen.Listener(port)
	if l == nil {
		return nil
	}
	if seen.Firewall == "" { // the port of a listener that is gone is not closed later
		if err := p.firewalls.explainMissing(seen.Key); err != nil {
			return err
		}
	}
	return p.releases.deleteListener(ctx, l.Handle, func() error {
		_, err := p.elb.DeleteListener(ctx, &elbapi.DeleteListenerInput{ListenerArn: aws.String(l.Handle)})
		if err != nil && !awserr.Is(err, "ListenerNotFound") {
			return awserr.Explain(fmt.Sprintf("deleting listener %d", port), err)
		}
		return p.firewalls.changePort(ctx, seen, port, nil)
	})
}

func (p *Provider) attachCertificate(ctx context.Context, seen *lb.Observed, port int32, id lb.CertificateID) error {
	l := seen.Listener(port)
	if l == nil {
		return fmt.Errorf("listener %d is not there", port)
	}
	return p.addCertificate(ctx, seen, l.Handle, id)
}

func (p *Provider) addCertificate(ctx context.Context, seen *lb.Observed, listener string, id lb.CertificateID) error {
	arn, err := certificates.ARN(seen, id)
	if err != nil {
		return err
	}
	_, err = p.elb.AddListenerCertificates(ctx, &elbapi.AddListenerCertificatesInput{
		ListenerArn: aws.String(listener), Certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}},
	})
	return awserr.Explain("attaching certificate "+string(id), err)
}

func (p *Provider) detachCertificate(ctx context.Context, seen *lb.Observed, port int32, id lb.CertificateID) error {
	l := seen.Listener(port)
	if l == nil {
		return nil
	}
	arn, err := certificates.ARN(seen, id)
	if err != nil {
		return err
	}
	_, err = p.elb.RemoveListenerCertificates(ctx, &elbapi.RemoveListenerCertificatesInput{
		ListenerArn: aws.String(l.Handle), Certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}},
	})
	if awserr.Is(err, "CertificateNotFound") {
		return nil
	}
	return awserr.Explain("detaching certificate "+string(id), err)
}

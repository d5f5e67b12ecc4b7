package listeners

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file creates, changes and deletes listeners.

// Create creates a listener with its certificates and attributes. It leaves one that was observed.
func (ls *Store) Create(
	ctx context.Context, seen *lb.Observed, want lb.Listener,
) (plan.Result, error) {
	if there := seen.Listener(want.Port); there != nil {
		if there.Protocol != want.Protocol {
			return plan.Result{}, fmt.Errorf("listener %d is there for %s", want.Port, there.Protocol)
		}
		return plan.Result{Handle: there.Handle}, nil
	}
	actions, err := client.ToActions(want.Default, ls.groups.ARNFinder(ctx, seen.Key))
	if err != nil {
		return plan.Result{}, err
	}
	tags := ls.tagsFor(seen.Key, want)
	if len(want.Settings.Attributes) > 0 {
		tags = client.WithoutDigest(tags)
	}
	secure, err := ls.security(ctx, seen, want, nil)
	if err != nil {
		return plan.Result{}, err
	}
	in := &elbapi.CreateListenerInput{
		LoadBalancerArn: aws.String(seen.Handle), Port: aws.Int32(want.Port),
		Protocol: elb.ProtocolEnum(want.Protocol), DefaultActions: actions,
		Tags: client.ELBTags(tags), Certificates: secure.certificates, SslPolicy: secure.policy,
		MutualAuthentication: secure.mutual,
	}
	if err := ls.firewalls.OpenPort(ctx, seen, want); err != nil {
		return plan.Result{}, err
	}
	arn, tags, err := ls.makeListener(ctx, seen, in, want.Default, tags)
	if err != nil {
		return plan.Result{}, err
	}
	if err := ls.listDefault(ctx, seen, arn, want.Certificates); err != nil {
		return plan.Result{}, err
	}
	for _, id := range want.Certificates[min(1, len(want.Certificates)):] {
		if err := ls.addCertificate(ctx, seen, arn, id); err != nil {
			return plan.Result{}, err
		}
	}
	if tags[client.TagDigest] == string(want.Digest) {
		return plan.Result{Handle: arn}, nil
	}
	return plan.Result{Handle: arn}, look.OfListeners(ls.ELB).WriteAll(
		ctx, ls.API, arn, want.Settings.Attributes, tags, ls.tagsFor(seen.Key, want),
	)
}

// makeListener creates a listener, or changes the one that an earlier, incomplete attempt created.
// It returns the ARN of the listener, and its tags.
func (ls *Store) makeListener(
	ctx context.Context, seen *lb.Observed, in *elbapi.CreateListenerInput, to lb.Action,
	tags map[string]string,
) (string, map[string]string, error) {
	port := aws.ToInt32(in.Port)
	out, err := ls.ELB.CreateListener(ctx, in)
	if err == nil {
		made, err := client.RequireOne(out.Listeners, "CreateListener", "a listener")
		if err != nil {
			return "", nil, err
		}
		arn, err := client.RequireID(made.ListenerArn, "CreateListener", "an ARN")
		if err != nil {
			return "", nil, err
		}
		return arn, tags, nil
	}
	if !client.HasCode(err, "DuplicateListener") {
		return "", nil, client.ExplainForward(fmt.Sprintf("creating listener %d", port), to, err)
	}
	arn, err := ls.findListener(ctx, seen, port)
	if err != nil {
		return "", nil, err
	}
	if _, err := ls.ELB.ModifyListener(ctx, &elbapi.ModifyListenerInput{
		ListenerArn: aws.String(arn), Protocol: in.Protocol, DefaultActions: in.DefaultActions,
		Certificates: in.Certificates, SslPolicy: policyFor("", in.Protocol, in.SslPolicy),
		MutualAuthentication: in.MutualAuthentication,
	}); err != nil {
		return "", nil, client.ExplainForward(
			fmt.Sprintf("changing listener %d, which was made before", port), to, err,
		)
	}
	found, err := ls.TagsOf(ctx, []string{arn})
	return arn, found[arn], err
}

// findListener returns the ARN of the listener on a port.
func (ls *Store) findListener(ctx context.Context, seen *lb.Observed, port int32) (string, error) {
	l := &look.Look{Balancer: &elb.LoadBalancer{LoadBalancerArn: aws.String(seen.Handle)}}
	if err := ls.Read(ctx, l, nil); err != nil {
		return "", err
	}
	at := slices.IndexFunc(l.Listeners, func(l elb.Listener) bool {
		return aws.ToInt32(l.Port) == port
	})
	if at < 0 {
		return "", fmt.Errorf("listener %d does not exist", port)
	}
	return aws.ToString(l.Listeners[at].ListenerArn), nil
}

// Modify changes a listener.
func (ls *Store) Modify(ctx context.Context, seen *lb.Observed, want lb.Listener) error {
	l := seen.Listener(want.Port)
	if l == nil {
		return fmt.Errorf("listener %d does not exist", want.Port)
	}
	actions, err := client.ToActions(want.Default, ls.groups.ARNFinder(ctx, seen.Key))
	if err != nil {
		return err
	}
	same := l.Digest == want.Digest
	var before map[string]string // its tags, if it changes
	if !same {
		tags, err := ls.TagsOf(ctx, []string{l.Handle})
		if err != nil {
			return err
		}
		before = tags[l.Handle]
	}
	gone := slices.DeleteFunc(client.WrittenIn(before), func(name string) bool {
		return slices.Contains(writtenOfListener(want.Settings), name)
	})
	secure, err := ls.security(ctx, seen, want, gone)
	if err != nil {
		return err
	}
	in := &elbapi.ModifyListenerInput{
		ListenerArn: aws.String(l.Handle), Protocol: elb.ProtocolEnum(want.Protocol),
		DefaultActions:       actions,
		Certificates:         secure.certificates,
		SslPolicy:            policyFor(l.Protocol, elb.ProtocolEnum(want.Protocol), secure.policy),
		MutualAuthentication: secure.mutual,
	}
	former := formerDefault(l, want)
	stays := slices.Contains(want.Certificates, former)
	if stays {
		if err := ls.addCertificate(ctx, seen, l.Handle, former); err != nil {
			return err
		}
	}
	if _, err := ls.ELB.ModifyListener(ctx, in); err != nil {
		err = client.ExplainForward(fmt.Sprintf("changing listener %d", want.Port), want.Default, err)
		if same {
			return err
		}
		return client.ExplainDenied(
			err, fmt.Sprintf("listener %d", want.Port), l.Handle, before, ls.Owned(seen.Key, nil),
		)
	}
	if former != "" || l.Digest == "" { // without a digest, the list may lack it
		if err := ls.listDefault(ctx, seen, l.Handle, servedBy(l, want, former)); err != nil {
			return err
		}
	}
	if former != "" && !stays {
		if err := ls.DetachCertificate(ctx, seen, want.Port, former); err != nil {
			return err
		}
	}
	if same {
		return nil
	}
	return ls.writeBeside(ctx, seen, l, want, before)
}

// writeBeside writes the parts of a listener that other calls change: the clients of its port, the
// client secrets of its rules, its attributes and its tags.
func (ls *Store) writeBeside(
	ctx context.Context, seen *lb.Observed, l *lb.ObservedListener, want lb.Listener,
	before map[string]string,
) error {
	if err := ls.firewalls.ChangePort(ctx, seen, want.Port, &want); err != nil {
		return err
	}
	if err := ls.writeSecrets(ctx, seen, l, want); err != nil {
		return err
	}
	return look.OfListeners(ls.ELB).WriteAll(
		ctx, ls.API, l.Handle, want.Settings.Attributes, before, ls.tagsFor(seen.Key, want),
	)
}

// formerDefault returns the default certificate of a listener that gets another one; "" if it
// stays. It is attached by name (SNI) if the listener still wants it. If not, it is detached: it
// may have been attached by name before it was the default.
func formerDefault(l *lb.ObservedListener, want lb.Listener) lb.CertificateID {
	if len(l.Certificates) == 0 || len(want.Certificates) == 0 ||
		l.Certificates[0] == want.Certificates[0] {
		return ""
	}
	return l.Certificates[0]
}

// servedBy returns the wanted certificates of a listener, and those that stay beside them until they are detached.
func servedBy(l *lb.ObservedListener, want lb.Listener, former lb.CertificateID) []lb.CertificateID {
	out := slices.Clone(want.Certificates)
	for _, id := range l.Certificates {
		if id != former && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Delete deletes a listener, if it exists.
func (ls *Store) Delete(ctx context.Context, seen *lb.Observed, port int32) error {
	l := seen.Listener(port)
	if l == nil {
		return nil
	}
	if seen.Firewall == "" { // the port of a deleted listener is not closed later
		if err := ls.firewalls.ExplainMissing(seen.Key); err != nil {
			return err
		}
	}
	return ls.releases.DeleteListener(ctx, l.Handle, func() error {
		_, err := ls.ELB.DeleteListener(ctx, &elbapi.DeleteListenerInput{
			ListenerArn: aws.String(l.Handle),
		})
		if err != nil && !client.HasCode(err, "ListenerNotFound") {
			return client.Explain(fmt.Sprintf("deleting listener %d", port), err)
		}
		return ls.firewalls.ChangePort(ctx, seen, port, nil)
	})
}

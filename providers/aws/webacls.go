package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file puts web ACLs of AWS WAF before load balancers. A tag says which one was put there:
// without it nobody asks, and what somebody else put there stays.

// How long web ACLs are known by their names, and how long a name that is missing: it may just have
// been made.
const (
	webACLLife  = time.Hour
	webACLPause = time.Minute
)

// webACLs maps those that are asked for to their ARNs. One that goes by its ARN is not looked for.
// The error is why others are left out: they cannot be listed, so that those of the last list are
// known only, or they cannot be put before load balancers. The Ingresses that ask for these are
// told, and no other route waits for them.
func (p *Provider) webACLs(ctx context.Context, asked []string) (map[string]string, error) {
	out, why := p.namedWebACLs(ctx, asked)
	for name, arn := range out {
		if denied := p.barred.why(arn); denied != nil {
			delete(out, name)
			why = denied
		}
	}
	return out, why
}

// namedWebACLs are those that are asked for, by ARN, as far as that is known. The error is why
// others are not.
func (p *Provider) namedWebACLs(ctx context.Context, asked []string) (map[string]string, error) {
	out, why := map[string]string{}, error(nil)
	for _, name := range asked {
		if strings.HasPrefix(name, "arn:") {
			out[name] = name
			continue
		}
		read := func() (map[string]string, error) { return p.readWebACLs(ctx) }
		named, err := p.acls.since(time.Now().Add(-webACLLife), read)
		if err == nil && named[name] == "" {
			named, err = p.acls.since(time.Now().Add(-webACLPause), read)
		}
		if err != nil {
			named, why = p.acls.last(), err
		}
		if named[name] != "" {
			out[name] = named[name]
		}
	}
	return out, why
}

// readWebACLs reads the ARNs of those of the region, by name.
func (p *Provider) readWebACLs(ctx context.Context) (map[string]string, error) {
	named := map[string]string{}
	in := &wafv2.ListWebACLsInput{Scope: waf.ScopeRegional, Limit: aws.Int32(100)}
	for {
		page, err := p.waf.ListWebACLs(ctx, in)
		if missing(err) {
			return named, nil // there is no AWS WAF here, and so no web ACL: the Ingresses that ask for one are told
		}
		if err != nil {
			return nil, explained("listing web ACLs", err)
		}
		for _, acl := range page.WebACLs {
			named[aws.ToString(acl.Name)] = aws.ToString(acl.ARN)
		}
		if aws.ToString(page.NextMarker) == "" || len(page.WebACLs) == 0 {
			return named, nil
		}
		in.NextMarker = page.NextMarker
	}
}

// missing reports whether an error says that there is no such service: its endpoint has no address,
// as in partitions that lack it, or the account is not signed up for it.
func missing(err error) bool {
	var unknown *net.DNSError
	return errors.As(err, &unknown) && unknown.IsNotFound || is(err, "OptInRequired", "UnknownEndpoint")
}

// guard puts a web ACL before a load balancer, in place of any other; "" takes away what was put
// there.
func (p *Provider) guard(ctx context.Context, seen *lb.Observed, want string) error {
	arn := seen.Handle
	var err error
	switch {
	case !(lb.Protection{WebACL: want}).Guarded() && p.releases.rerouted.Early(arn):
		return fmt.Errorf("rules of %s that ask for a web ACL went a moment ago: %w", arn, providers.ErrPending)
	case want == "":
		return p.unguard(ctx, arn)
	case want == lb.Unsettled:
		return fmt.Errorf("guarding %s: the web ACL that is asked for is not there: %w", arn, providers.ErrRejected)
	case p.unjoined.Early(arn):
		return fmt.Errorf("AWS WAF did not know %s a moment ago: %w", arn, providers.ErrPending)
	case want == lb.NoWebACL:
		err = p.disassociate(ctx, arn)
	default:
		_, err = p.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{ResourceArn: aws.String(arn), WebACLArn: aws.String(want)})
	}
	if is(err, "WAFUnavailableEntity") { // so it says of load balancers that were made a moment ago
		p.unjoined.Wait(arn, activeWait, activeWaitMax)
	}
	if err != nil {
		// One that is not found may be there, and the load balancer not be known yet.
		unfound := is(err, "WAFNonexistentItem")
		err = explained(fmt.Sprintf("giving %s the web ACL %s", arn, want), err)
		lasts := errors.Is(err, providers.ErrDenied) || errors.Is(err, providers.ErrRejected) && !unfound
		if lasts && want != lb.NoWebACL {
			p.barred.note(want, err)
			err = fmt.Errorf("%s; what asks for it is left out: %w", err.Error(), providers.ErrPending)
		}
		return err
	}
	p.unjoined.Forget(arn)
	return p.tag(ctx, arn, map[string]string{tagWebACL: want})
}

// unguard takes away the web ACL that was put before a load balancer, if it still stands there.
func (p *Provider) unguard(ctx context.Context, arn string) error {
	tags, err := p.tagsOf(ctx, []string{arn})
	if err != nil {
		return err
	}
	there, err := p.webACLOf(ctx, arn)
	if err != nil {
		return err
	}
	if there == tags[arn][tagWebACL] && there != lb.NoWebACL {
		if err := p.disassociate(ctx, arn); err != nil {
			return explained("taking the web ACL from "+arn, err)
		}
	}
	return p.untag(ctx, arn, []string{tagWebACL})
}

func (p *Provider) disassociate(ctx context.Context, arn string) error {
	_, err := p.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{ResourceArn: aws.String(arn)})
	return err
}

// webACLOf is the web ACL that stands before a load balancer.
func (p *Provider) webACLOf(ctx context.Context, arn string) (string, error) {
	out, err := p.waf.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{ResourceArn: aws.String(arn)})
	if err != nil {
		return "", explained("reading the web ACL of "+arn, err)
	}
	if out.WebACL == nil {
		return lb.NoWebACL, nil
	}
	return aws.ToString(out.WebACL.ARN), nil
}

// readWebACL reads the web ACL that was put before a load balancer: from the tag, or, looked at
// deeply, which one stands there.
func (p *Provider) readWebACL(ctx context.Context, l *look, _ map[string]map[string]string) error {
	if l.balancer == nil {
		return nil
	}
	arn := aws.ToString(l.balancer.LoadBalancerArn)
	if l.protection.WebACL = l.tags[arn][tagWebACL]; l.protection.WebACL == "" || !l.deep {
		return nil
	}
	there, err := p.webACLOf(ctx, arn)
	if err == nil {
		l.protection.WebACL = there
	}
	return err
}

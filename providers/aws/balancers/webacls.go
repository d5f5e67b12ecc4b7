package balancers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	waf "github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
)

// This file attaches web ACLs of AWS WAF to load balancers. A tag names the web ACL that Fairlead
// attached. Without it Fairlead does not call AWS WAF, and a web ACL of others stays.
//
// All routes of a load balancer wait for its web ACL. So a web ACL that the role cannot attach, or
// that AWS refuses to attach, is left out for a while, and a diagnostic reports it.

// The times for which the list of web ACLs is used: for a name in the list, and for a missing name,
// whose web ACL may have been created since.
const (
	webACLLife  = time.Hour
	webACLPause = time.Minute
)

// WebACLs attaches web ACLs to load balancers.
type WebACLs struct {
	client.API
	waf      *wafv2.Client
	releases rerouted

	arns    client.Cached[map[string]string] // of the account's web ACLs, by name
	unready client.Backoff                   // load balancers that AWS WAF does not know yet, by ARN
	refused refusedWebACLs
}

// NewWebACLs returns WebACLs without state.
func NewWebACLs(api client.API, client *wafv2.Client, released rerouted) *WebACLs {
	return &WebACLs{API: api, waf: client, releases: released}
}

// rerouted reports whether rules of a load balancer changed a moment ago, so that the old ones may
// still answer requests.
type rerouted interface{ ReroutedLately(arn string) bool }

// LookUp returns the ARNs of web ACLs that are given by name or ARN. The error has the reason why
// some are left out: the web ACLs cannot be listed, so that only the last list is known, or AWS
// refused to attach them. The Ingresses that ask for these get a diagnostic, and no other route
// waits for them.
func (w *WebACLs) LookUp(ctx context.Context, asked []string) (map[string]string, error) {
	out, why := w.findNamed(ctx, asked)
	for name, arn := range out {
		if denied := w.refused.reason(arn); denied != nil {
			delete(out, name)
			why = denied
		}
	}
	return out, why
}

// findNamed returns the known ARNs of web ACLs. The error has the reason why others are not known.
func (w *WebACLs) findNamed(ctx context.Context, asked []string) (map[string]string, error) {
	out, why := map[string]string{}, error(nil)
	for _, name := range asked {
		if strings.HasPrefix(name, "arn:") {
			out[name] = name
			continue
		}
		read := func() (map[string]string, error) { return w.list(ctx) }
		named, err := w.arns.ReadSince(time.Now().Add(-webACLLife), read)
		if err == nil && named[name] == "" {
			named, err = w.arns.ReadSince(time.Now().Add(-webACLPause), read)
		}
		if err != nil {
			named, why = w.arns.Last(), err
		}
		if named[name] != "" {
			out[name] = named[name]
		}
	}
	return out, why
}

// list returns the ARNs of the web ACLs of the region, by name.
func (w *WebACLs) list(ctx context.Context) (map[string]string, error) {
	named := map[string]string{}
	in := &wafv2.ListWebACLsInput{Scope: waf.ScopeRegional, Limit: aws.Int32(100)}
	for {
		page, err := w.waf.ListWebACLs(ctx, in)
		if isServiceMissing(err) {
			return named, nil // without AWS WAF there are no web ACLs
		}
		if err != nil {
			return nil, client.Explain("listing web ACLs", err)
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

// isServiceMissing reports whether the service does not exist: its endpoint has no address, as in
// partitions that lack it, or the account is not signed up for it.
func isServiceMissing(err error) bool {
	var unknown *net.DNSError
	return errors.As(err, &unknown) && unknown.IsNotFound ||
		client.HasCode(err, "OptInRequired", "UnknownEndpoint")
}

// Attach attaches a web ACL to a load balancer, in place of any other; "" detaches ours.
func (w *WebACLs) Attach(ctx context.Context, seen *lb.Observed, want string) error {
	arn := seen.Handle
	var err error
	switch {
	case !(lb.Protection{WebACL: want}).HasWebACL() && w.releases.ReroutedLately(arn):
		return fmt.Errorf(
			"rules of %s that ask for a web ACL were deleted a moment ago: %w", arn, providers.ErrPending,
		)
	case want == "":
		return w.detach(ctx, arn)
	case want == lb.Unsettled:
		return fmt.Errorf(
			"guarding %s: the web ACL that is asked for does not exist: %w", arn, providers.ErrRejected,
		)
	case w.unready.TooEarly(arn):
		return fmt.Errorf("AWS WAF did not know %s a moment ago: %w", arn, providers.ErrPending)
	case want == lb.NoWebACL:
		err = w.disassociate(ctx, arn)
	default:
		_, err = w.waf.AssociateWebACL(ctx, &wafv2.AssociateWebACLInput{
			ResourceArn: aws.String(arn), WebACLArn: aws.String(want),
		})
	}
	// AWS WAF's answer for load balancers that were created a moment ago
	if client.HasCode(err, "WAFUnavailableEntity") {
		w.unready.Wait(arn, unreadyWait, unreadyWaitMax)
	}
	if err != nil {
		// The web ACL may exist, and AWS WAF may not know the load balancer yet.
		unfound := client.HasCode(err, "WAFNonexistentItem")
		err = client.Explain(fmt.Sprintf("giving %s the web ACL %s", arn, want), err)
		lasts := errors.Is(err, providers.ErrDenied) || errors.Is(err, providers.ErrRejected) && !unfound
		if lasts && want != lb.NoWebACL {
			w.refused.add(want, err)
			err = fmt.Errorf("%s; routes that ask for it are left out: %w", err.Error(),
				providers.ErrPending)
		}
		return err
	}
	w.unready.Forget(arn)
	return w.Tag(ctx, arn, map[string]string{client.TagWebACL: want})
}

// detach detaches the web ACL that the tag of a load balancer names, if it is still attached.
func (w *WebACLs) detach(ctx context.Context, arn string) error {
	tags, err := w.TagsOf(ctx, []string{arn})
	if err != nil {
		return err
	}
	there, err := w.Attached(ctx, arn)
	if err != nil {
		return err
	}
	if there == tags[arn][client.TagWebACL] && there != lb.NoWebACL {
		if err := w.disassociate(ctx, arn); err != nil {
			return client.Explain("taking the web ACL from "+arn, err)
		}
	}
	return w.Untag(ctx, arn, []string{client.TagWebACL})
}

func (w *WebACLs) disassociate(ctx context.Context, arn string) error {
	_, err := w.waf.DisassociateWebACL(ctx, &wafv2.DisassociateWebACLInput{
		ResourceArn: aws.String(arn),
	})
	return err
}

// Attached returns the ARN of the web ACL of a load balancer, or NoWebACL.
func (w *WebACLs) Attached(ctx context.Context, arn string) (string, error) {
	out, err := w.waf.GetWebACLForResource(ctx, &wafv2.GetWebACLForResourceInput{
		ResourceArn: aws.String(arn),
	})
	if err != nil {
		return "", client.Explain("reading the web ACL of "+arn, err)
	}
	if out.WebACL == nil {
		return lb.NoWebACL, nil
	}
	return aws.ToString(out.WebACL.ARN), nil
}

// Observe reads the web ACL of a load balancer: the one in the tag, or, with a deep look, the one
// that is attached.
func (w *WebACLs) Observe(ctx context.Context, l *look.Look, _ map[string]map[string]string) error {
	if l.Balancer == nil {
		return nil
	}
	arn := aws.ToString(l.Balancer.LoadBalancerArn)
	if l.Protection.WebACL = l.Tags[arn][client.TagWebACL]; l.Protection.WebACL == "" || !l.Deep {
		return nil
	}
	there, err := w.Attached(ctx, arn)
	if err == nil {
		l.Protection.WebACL = there
	}
	return err
}

// Forget forgets a load balancer that was deleted.
func (w *WebACLs) Forget(_ lb.Key, arn string) { w.unready.Forget(arn) }

// The first wait until AWS WAF knows a new load balancer, and the longest.
const (
	unreadyWait    = 5 * time.Second
	unreadyWaitMax = 45 * time.Second
)

// refusedFor is the time after which a refused web ACL is tried again.
const refusedFor = 10 * time.Minute

// refusedWebACLs holds the web ACLs that AWS refused to attach, by ARN.
type refusedWebACLs struct {
	mu  sync.Mutex
	all map[string]refusedWebACL
}

// A refusedWebACL has the error with which AWS refused to attach a web ACL, and the time.
type refusedWebACL struct {
	why error
	at  time.Time
}

// add adds a web ACL that AWS refused to attach.
func (r *refusedWebACLs) add(arn string, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]refusedWebACL{}
	}
	r.all[arn] = refusedWebACL{why, time.Now()}
}

// reason returns the error with which AWS refused to attach a web ACL, or nil if it can be tried.
func (r *refusedWebACLs) reason(arn string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.all[arn].at) >= refusedFor {
		delete(r.all, arn)
	}
	return r.all[arn].why
}

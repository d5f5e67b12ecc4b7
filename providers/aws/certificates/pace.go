package certificates

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// This file paces imports, for each namespace. An account has 5,000 imports within a year, and a
// certificate that is deleted makes no room:
// https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html. So one namespace whose Secrets
// come and go could leave none to the others.
//
// A namespace has as many imports as it may have certificates, and gets as many again within
// paceTime. Renewals count, too: AWS does not say whether an import in the place of another
// certificate counts (the ledger's renewals-count). But a renewal waits only if that certificate
// was renewed within renewalTime, so that those of short-lived certificates are made in any case.
//
// A process that starts counts anew: ACM lists certificates that exist, and what uses up the quota
// are those that were imported and deleted. A count that outlives the process would need an object
// that outlives load balancers, too: their records go with them, and tenants delete both. So a
// namespace that rewrites its Secrets all the time gets as many imports more with each start. A start
// itself imports nothing again, however soon the next one follows: certificates are found by their
// tags, or in the list of the account (searchRecent). The protocol of providers has no namespaces, so
// serve-provider has no pace.

const (
	// paceTime is less than the time between renewals of certificates that are valid for 45 days.
	paceTime = 30 * 24 * time.Hour
	// renewalTime is less than the time between renewals of certificates that are valid for six days.
	renewalTime = 72 * time.Hour
)

// A pace has the imports of this process.
type pace struct {
	mu      sync.Mutex
	used    map[string]pacedImports // by namespace
	renewed map[string]time.Time    // when a certificate was renewed last, by ARN
}

// pacedImports are the imports of a namespace that still count.
type pacedImports struct {
	n  float64
	at time.Time
}

// left returns how many imports count at a time.
func (p pacedImports) left(now time.Time, most int) float64 {
	return max(0, p.n-float64(most)*float64(now.Sub(p.at))/float64(paceTime))
}

// begin counts an import, or returns why it has to wait. The ARN is "" for a new certificate. The
// function that it returns is for an import that failed.
func (p *pace) begin(c lb.Certificate, arn string, now time.Time) (undo func(), err error) {
	most := c.MostOfNamespace
	if len(c.Secrets) == 0 || most == 0 {
		return func() {}, nil
	}
	namespace, _, _ := strings.Cut(c.Secrets[0], "/")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld(now)
	n := p.used[namespace].left(now, most) + 1
	_, again := p.renewed[arn]
	if n > float64(most) && (arn == "" || again) {
		return nil, fmt.Errorf("namespace %s has imported as many certificates within %d days as it may "+
			"have, %d (loadBalancers.certificatesPerNamespace of the class), and may import one more every "+
			"%s: %w", namespace, int(paceTime.Hours()/24), most,
			(paceTime / time.Duration(most)).Round(time.Minute), providers.ErrNoRoom)
	}
	p.used[namespace] = pacedImports{min(n, float64(most)), now}
	if arn != "" {
		p.renewed[arn] = now
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		u := p.used[namespace]
		p.used[namespace] = pacedImports{max(0, u.n-1), u.at}
		delete(p.renewed, arn)
	}, nil
}

// forgetOld removes what makes no difference any more.
func (p *pace) forgetOld(now time.Time) {
	if p.used == nil {
		p.used, p.renewed = map[string]pacedImports{}, map[string]time.Time{}
	}
	maps.DeleteFunc(p.used, func(_ string, u pacedImports) bool { return now.Sub(u.at) >= paceTime })
	maps.DeleteFunc(p.renewed, func(_ string, at time.Time) bool { return now.Sub(at) >= renewalTime })
}

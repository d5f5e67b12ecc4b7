// Package probe tests the answers of a provider on the wire (docs/reference/protocol.md), also to
// wrong, repeated and interrupted requests. It creates a load balancer and deletes it again.
package probe

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/check"
)

// This file runs all trials.

// Prefix begins the key of each load balancer of a probe.
const Prefix = "fairlead-check/"

// Run tests a provider. It deletes the load balancer, also if the context ends.
func Run(ctx context.Context, to Provider) []check.Finding {
	if to.Pause <= 0 {
		to.Pause = time.Second
	}
	if to.CleanupTimeout <= 0 {
		to.CleanupTimeout = 5 * time.Minute
	}
	c := &client{Provider: to, secrets: map[string]string{}, leaked: map[string]bool{}}
	p := &probe{client: c, key: Prefix + strings.ToLower(rand.Text()[:10])}
	if p.try(ctx, capabilitiesTrial) {
		for _, t := range reading {
			p.try(ctx, t)
		}
		if ctx.Err() == nil {
			p.write(ctx)
		}
	}
	if ctx.Err() != nil {
		p.findings = append(p.findings, check.Unsure("provider/interrupted", "all that there is to try",
			"it was interrupted", "run it again"))
	}
	return p.findings
}

// write tests calls that change the load balancer, and deletes it.
func (p *probe) write(ctx context.Context) {
	defer func() {
		ctx := context.WithoutCancel(ctx)
		p.try(ctx, deletionTrial)
		p.try(ctx, secretsTrial)
	}()
	for _, t := range writing {
		if !p.try(ctx, t) && t.id == requiredTrial {
			return
		}
	}
}

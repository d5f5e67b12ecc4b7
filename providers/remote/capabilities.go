package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/wire"
)

// This file reads the capabilities of the provider, and reads them again.

// freshFor is the time after which capabilities are read again.
const freshFor = 10 * time.Minute

// isStale reports whether the capabilities have to be read again.
func (p *client) isStale() bool { return time.Since(p.known().at) > freshFor }

// keepFresh reads the capabilities again. If that fails, the last ones stay.
func (p *client) keepFresh(ctx context.Context) {
	if err := p.refresh(ctx); err != nil {
		p.endpoint.Log.Info("the capabilities of the provider could not be read anew, and are taken "+
			"for what they were", "provider", p.endpoint.Name, "reason", err.Error())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.capabilities.at = time.Now()
	}
}

// refresh reads the capabilities.
func (p *client) refresh(ctx context.Context) error {
	before := p.known()
	var reply v1.Capabilities
	var etag string
	var header http.Header
	err := p.call(ctx, call{operation: "Capabilities", method: http.MethodGet, at: v1.PathCapabilities,
		ifNoneMatch: before.etag, into: &reply, etag: &etag, header: &header})
	if errors.Is(err, errNotModified) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.capabilities.at = time.Now()
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Contains(reply.Versions, v1.Version) {
		return p.withName(fmt.Errorf("it speaks the versions %v of the protocol, and this operator "+
			"speaks %d", reply.Versions, v1.Version))
	}
	model, err := wire.DecodeCapabilities(reply)
	if err != nil {
		return p.withName(fmt.Errorf("reading its capabilities: %w", err))
	}
	schemas, err := compileSchemas(reply.SettingsSchema)
	if err != nil {
		return p.withName(fmt.Errorf("reading its capabilities: %w", err))
	}
	most := v1.MaxRequest
	if reply.Calls.RequestBytes > 0 {
		most = min(most, reply.Calls.RequestBytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capabilities = capabilities{
		model: model, schemas: schemas, stepsPerApply: reply.Calls.StepsPerApply, requestBytes: most,
		etag: etag, at: time.Now(),
		gzip: strings.Contains(header.Get("Accept-Encoding"), "gzip"),
	}
	return nil
}

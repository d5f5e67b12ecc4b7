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

// This file knows what the provider can express, and keeps that fresh.

// freshFor is how long capabilities are believed.
const freshFor = 10 * time.Minute

// stale reports whether the capabilities are to be asked for again.
func (p *client) stale() bool { return time.Since(p.known().at) > freshFor }

// keepFresh asks for the capabilities. Where that fails, those that are known hold.
func (p *client) keepFresh(ctx context.Context) {
	if err := p.refresh(ctx); err != nil {
		p.endpoint.Log.Info("the capabilities of the provider could not be read anew, and are taken for what they were", "provider", p.endpoint.Name, "reason", err.Error())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.capabilities.at = time.Now()
	}
}

// refresh asks for the capabilities.
func (p *client) refresh(ctx context.Context) error {
	before := p.known()
	var told v1.Capabilities
	var etag string
	var header http.Header
	err := p.call(ctx, call{operation: "Capabilities", method: http.MethodGet, at: v1.PathCapabilities, ifNoneMatch: before.etag, into: &told, etag: &etag, header: &header})
	if errors.Is(err, errNotModified) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.capabilities.at = time.Now()
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Contains(told.Versions, v1.Version) {
		return p.says(fmt.Errorf("it speaks the versions %v of the protocol, and this operator speaks %d", told.Versions, v1.Version))
	}
	model, err := wire.DecodeCapabilities(told)
	if err != nil {
		return p.says(fmt.Errorf("reading its capabilities: %w", err))
	}
	schemas, err := compileSchemas(told.SettingsSchema)
	if err != nil {
		return p.says(fmt.Errorf("reading its capabilities: %w", err))
	}
	most := v1.MaxRequest
	if told.Calls.RequestBytes > 0 {
		most = min(most, told.Calls.RequestBytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capabilities = capabilities{
		model: model, schemas: schemas, stepsPerApply: told.Calls.StepsPerApply, requestBytes: most, etag: etag, at: time.Now(),
		gzip: strings.Contains(header.Get("Accept-Encoding"), "gzip"),
	}
	return nil
}

package probe

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file tries compressed bodies.

// gzipAnswers asks for an answer without compression, and for a compressed one.
func (p *probe) gzipAnswers(ctx context.Context) error {
	for _, accepts := range []string{"identity", "gzip"} {
		a, err := p.send(ctx, request{method: http.MethodGet, path: v1.PathCapabilities,
			header: http.Header{"Accept-Encoding": {accepts}}})
		if err != nil {
			return err
		}
		if encoding := a.header.Get("Content-Encoding"); encoding != "" && encoding != accepts {
			return fmt.Errorf("to Accept-Encoding: %s it answered with Content-Encoding: %s", accepts,
				encoding)
		}
		if err := a.read(&v1.Capabilities{}); err != nil {
			return fmt.Errorf("to Accept-Encoding: %s: %w", accepts, err)
		}
	}
	return nil
}

// gzipRequests sends a compressed request, and one in an unknown encoding.
func (p *probe) gzipRequests(ctx context.Context) error {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(`{}`)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	told, err := p.send(ctx, request{method: http.MethodGet, path: v1.PathCapabilities})
	if err != nil {
		return err
	}
	for _, encoding := range []string{"gzip", "fairlead-check"} {
		a, err := p.send(ctx, request{method: http.MethodPost, path: v1.PathLookup, body: zipped.Bytes(),
			header: http.Header{"Content-Encoding": {encoding}}})
		if err != nil {
			return err
		}
		if strings.Contains(told.header.Get("Accept-Encoding"), encoding) {
			err = a.read(&v1.Facts{})
		} else {
			err = expectProblem(a, []int{415, 400},
				v1.ProblemMalformed, v1.ProblemVersion, v1.ProblemUnknown)
		}
		if err != nil {
			return fmt.Errorf("a request with Content-Encoding: %s: %w", encoding, err)
		}
	}
	return nil
}

package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file tests calls that only read.

// capabilitiesTrial runs first. If it fails, the URL has no provider.
var capabilitiesTrial = trial{
	"provider/capabilities", "GET /capabilities says what the load balancers can express",
	"see that the URL and the credentials are right and that the provider runs",
	func(p *probe, ctx context.Context) error {
		if err := p.get(ctx, v1.PathCapabilities, nil, &p.capabilities); err != nil {
			return err
		}
		switch {
		case !slices.Contains(p.capabilities.Versions, v1.Version):
			return fmt.Errorf("it speaks the versions %v of the protocol; this program speaks %d",
				p.capabilities.Versions, v1.Version)
		case p.capabilities.Name == "":
			return fmt.Errorf("the name is empty")
		}
		return nil
	},
}

var reading = []trial{
	{"provider/capabilities-etag", "If-None-Match of the capabilities is answered with 304",
		"answer GET /capabilities with an ETag, and with 304 where If-None-Match has the same one",
		func(p *probe, ctx context.Context) error {
			return p.notModified(ctx, request{method: http.MethodGet, path: v1.PathCapabilities})
		}},
	{"provider/request-id", "an answer has the Request-Id of its request",
		"copy the header Request-Id into each answer",
		func(p *probe, ctx context.Context) error {
			id := rand.Text()
			a, err := p.send(ctx, request{method: http.MethodGet, path: v1.PathCapabilities, requestID: id})
			if err == nil && a.header.Get(v1.HeaderRequestID) != id {
				err = fmt.Errorf("the request had %q, the answer has %q", id, a.header.Get(v1.HeaderRequestID))
			}
			return err
		}},
	{"provider/lookup", "a lookup without questions is answered with facts",
		"answer POST /lookup with {} where there is nothing to look up",
		func(p *probe, ctx context.Context) error {
			a, err := p.lookup(ctx, `{}`)
			if err == nil {
				err = a.read(&v1.Facts{})
			}
			return err
		}},
	{"provider/missing", "a load balancer that does not exist is reported as such",
		"answer GET /load-balancer with 200 and exists: false",
		func(p *probe, ctx context.Context) error { return p.expectMissing(ctx, p.key) }},
	{"provider/reserved-key", "a key can have any character",
		"decode the query parameter key like any other text, and do not read what it says",
		func(p *probe, ctx context.Context) error {
			return p.expectMissing(ctx, p.key+"/a b&c=d?e#f%2Fg+é")
		}},
	{"provider/no-key", "a request without a key is refused",
		"refuse it with 400 and the problem malformed",
		expectMalformed(request{method: http.MethodGet, path: v1.PathLoadBalancer})},
	{"provider/unknown-call", "a call that the protocol does not have is refused",
		"answer with 404 and the problem malformed",
		func(p *probe, ctx context.Context) error {
			a, err := p.send(ctx, request{method: http.MethodGet, path: "/fairlead-check"})
			if err != nil {
				return err
			}
			return expectProblem(a, []int{404}, v1.ProblemMalformed)
		}},
	{"provider/unknown-field", "a field that is not known is refused, and named",
		"refuse it with 422 and the problem unknown, with the field in its detail: to ignore it would " +
			"be to do something else",
		func(p *probe, ctx context.Context) error {
			a, err := p.lookup(ctx, `{"fairleadCheck":true}`)
			if err != nil {
				return err
			}
			if err := expectProblem(a, []int{422}, v1.ProblemUnknown); err != nil {
				return err
			}
			if !bytes.Contains(a.body, []byte("fairleadCheck")) {
				return fmt.Errorf("the problem does not name the field fairleadCheck")
			}
			return nil
		}},
	{"provider/accept", "a version that the provider does not speak is refused",
		"answer with 406 and the problem version where Accept has no version that is spoken",
		func(p *probe, ctx context.Context) error {
			return p.expectVersionRefused(ctx,
				request{method: http.MethodGet, path: v1.PathCapabilities, accept: otherVersion}, 406)
		}},
	{"provider/content-version", "a body in a version that the provider does not speak is refused",
		"answer with 415 and the problem version",
		func(p *probe, ctx context.Context) error {
			return p.expectVersionRefused(ctx, request{
				method: http.MethodPost, path: v1.PathLookup, body: []byte(`{}`), contentType: otherVersion,
			}, 415)
		}},
}

// otherVersion is the media type of a version that does not exist.
var otherVersion = strings.Replace(v1.MediaType, "version=1", "version=9999", 1)

func (p *probe) lookup(ctx context.Context, body string) (answer, error) {
	return p.send(ctx, request{method: http.MethodPost, path: v1.PathLookup, body: []byte(body)})
}

// expectMalformed sends a request and expects that it is refused as malformed.
func expectMalformed(r request) func(*probe, context.Context) error {
	return func(p *probe, ctx context.Context) error {
		a, err := p.send(ctx, r)
		if err != nil {
			return err
		}
		return expectProblem(a, []int{400, 422}, v1.ProblemMalformed, v1.ProblemUnknown)
	}
}

// expectVersionRefused sends a request of another version and expects the problem version.
func (p *probe) expectVersionRefused(ctx context.Context, r request, status int) error {
	a, err := p.send(ctx, r)
	if err != nil {
		return err
	}
	if err := expectProblem(a, []int{status}, v1.ProblemVersion); err != nil {
		return err
	}
	if reply, _ := a.problem(); !slices.Contains(reply.Versions, v1.Version) { // refused has read it
		return fmt.Errorf("the problem has the versions %v; it has to have those that the "+
			"provider speaks", reply.Versions)
	}
	return nil
}

// expectMissing reads a load balancer that does not exist.
func (p *probe) expectMissing(ctx context.Context, key string) error {
	var reply v1.Observed
	if err := p.get(ctx, v1.PathLoadBalancer, url.Values{"key": {key}}, &reply); err != nil {
		return err
	}
	if reply.Key != key || reply.Exists {
		return fmt.Errorf("asked for %q, the answer is about %q, exists: %v", key, reply.Key, reply.Exists)
	}
	return nil
}

// notModified sends a request twice, the second time with the entity tag of the first answer.
func (p *probe) notModified(ctx context.Context, r request) error {
	a, err := p.send(ctx, r)
	if err != nil {
		return err
	}
	r.ifNoneMatch = a.header.Get("ETag")
	if r.ifNoneMatch == "" {
		return fmt.Errorf("the answer has no ETag")
	}
	if a, err = p.send(ctx, r); err != nil {
		return err
	}
	if a.status != http.StatusNotModified || len(a.body) > 0 {
		return a.unexpectedStatus("304 without a body")
	}
	return nil
}

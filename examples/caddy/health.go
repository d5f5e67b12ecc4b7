package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file finds out which targets can serve. Caddy's own checks know one status or a class of
// them, start from healthy, and begin anew with each configuration; so the provider checks, and
// Caddy is given the targets that passed.

// A member is a target of a target group.
type member struct {
	key, group string
	v1.Target
}

// A watch is a member's state, as long as it is one.
type watch struct {
	state string
	stop  context.CancelFunc
}

// watchAll watches all members, and no others.
func (p *provider) watchAll() {
	there := map[member]bool{}
	for key, b := range p.state.Balancers {
		for id, g := range b.Groups {
			for _, t := range g.Targets {
				m := member{key, id, t}
				there[m] = true
				if p.health[m] == nil {
					ctx, stop := context.WithCancel(context.Background())
					p.health[m] = &watch{"initial", stop}
					go p.watch(ctx, m)
				}
			}
		}
	}
	for m, w := range p.health {
		if !there[m] {
			w.stop()
			delete(p.health, m)
		}
	}
}

// inUse are the targets of a group that requests go to: those that are healthy, or all where none
// is. A check that is wrong costs less than an outage.
func (p *provider) inUse(key string, g *group) []v1.Target {
	healthy := slices.DeleteFunc(slices.Clone(g.Targets), func(t v1.Target) bool { return p.stateOf(member{key, g.ID, t}) != "healthy" })
	if len(healthy) == 0 {
		return g.Targets
	}
	return healthy
}

func (p *provider) stateOf(m member) string {
	if w := p.health[m]; w != nil {
		return w.state
	}
	return "initial"
}

// ready reports whether a target of a group is healthy.
func (p *provider) ready(key string, g *group) bool {
	return slices.ContainsFunc(g.Targets, func(t v1.Target) bool { return p.stateOf(member{key, g.ID, t}) == "healthy" })
}

// watch checks a member until it is none any more.
func (p *provider) watch(ctx context.Context, m member) {
	for streak := 0; ; { // of equal results: passed above zero, failed below
		p.mu.Lock()
		if ctx.Err() != nil {
			p.mu.Unlock()
			return
		}
		g := p.state.Balancers[m.key].Groups[m.group].TargetGroup
		p.mu.Unlock()
		if err := check(ctx, g, m.Target); err == nil {
			streak = max(streak, 0) + 1
		} else {
			streak = min(streak, 0) - 1
		}
		p.mu.Lock()
		if w := p.health[m]; ctx.Err() == nil && w.state != next(w.state, streak, g.Settings.Health) {
			w.state = next(w.state, streak, g.Settings.Health)
			select {
			case p.changed <- struct{}{}:
			default: // it is said already
			}
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(p.checkEvery, seconds(g.Settings.Health.IntervalSeconds, 15))):
		}
	}
}

// next is a state after a streak. The first success makes a new member healthy; later both
// directions take as many as the settings say.
func next(state string, streak int, h v1.HealthCheck) string {
	switch {
	case streak > 0 && (state == "initial" || streak >= cmp.Or(h.HealthyThreshold, 2)):
		return "healthy"
	case -streak >= cmp.Or(h.UnhealthyThreshold, 2):
		return "unhealthy"
	}
	return state
}

func seconds(n, fallback int) time.Duration { return time.Duration(cmp.Or(n, fallback)) * time.Second }

// check asks a target once: over HTTP where the settings name a path or a protocol, else by
// connecting.
func check(ctx context.Context, g v1.TargetGroup, t v1.Target) error {
	h := g.Settings.Health
	ctx, cancel := context.WithTimeout(ctx, seconds(h.TimeoutSeconds, 5))
	defer cancel()
	port := h.Port
	if port == "" || port == "traffic-port" {
		port = strconv.Itoa(int(t.Port))
	}
	at := net.JoinHostPort(t.Address, port)
	if h.Protocol == "" && h.Path == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	scheme := strings.ToLower(cmp.Or(h.Protocol, g.Protocol, "HTTP"))
	method := http.MethodGet
	if g.Version == "GRPC" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, scheme+"://"+at+cmp.Or(h.Path, "/"), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "fairlead-health-check")
	if g.Version == "GRPC" {
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("Te", "trailers")
	}
	response, err := transports[scheme == "https"][g.Version == "HTTP2" || g.Version == "GRPC"].RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil {
		return err
	}
	status, wanted := response.StatusCode, cmp.Or(h.SuccessCodes, "200")
	if g.Version == "GRPC" {
		wanted = cmp.Or(h.SuccessCodes, "12")
		if status, err = strconv.Atoi(cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))); err != nil {
			return err
		}
	}
	if !succeeds(status, wanted) {
		return fmt.Errorf("status %d is not in %s", status, wanted)
	}
	return nil
}

// succeeds reports whether a status is in a list such as "200,301-399".
func succeeds(status int, codes string) bool {
	for part := range strings.SplitSeq(codes, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 == nil && err2 == nil && from <= status && status <= to {
			return true
		}
	}
	return false
}

// transports are those of checks, by whether they are over TLS and HTTP/2.
var transports = map[bool]map[bool]*http.Transport{
	false: {false: newTransport(false, false), true: newTransport(false, true)},
	true:  {false: newTransport(true, false), true: newTransport(true, true)},
}

func newTransport(encrypted, two bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two && encrypted)
	protocols.SetUnencryptedHTTP2(two && !encrypted)
	return &http.Transport{Protocols: protocols, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // any certificate of a target will do
}

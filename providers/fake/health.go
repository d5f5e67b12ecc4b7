package fake

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/model/routing"
)

// This file finds out which targets can serve.

const (
	stateInitial   = "initial"
	stateHealthy   = "healthy"
	stateUnhealthy = "unhealthy"
	stateDraining  = "draining"
)

// watch checks a member until it leaves.
func (p *pool) watch(ctx context.Context, m *member) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Until(m.warmAt)):
	}
	var streak int // of checks with one result: passed above zero, failed below
	for {
		settings := *p.settings.Load()
		passed := p.ask(ctx, m, settings) == nil
		if ctx.Err() != nil {
			return
		}
		streak = extend(streak, passed)
		if next := nextState(m.state(), streak, settings); next != m.state() {
			m.health.Store(next)
			p.changed.Store(true)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(p.every, seconds(settings.IntervalSeconds, 15))):
		}
	}
}

// extend counts one more result.
func extend(streak int, passed bool) int {
	if passed {
		return max(streak, 0) + 1
	}
	return min(streak, 0) - 1
}

// nextState is a member's state after a streak of equal results. The first success makes a new
// member healthy; later both directions take as many as the settings say.
func nextState(state string, streak int, h routing.HealthCheck) string {
	switch {
	case streak > 0 && (state == stateInitial || streak >= cmp.Or(h.HealthyThreshold, 2)):
		return stateHealthy
	case streak < 0 && -streak >= cmp.Or(h.UnhealthyThreshold, 2):
		return stateUnhealthy
	}
	return state
}

// ask asks a target once: over HTTP where the settings name a path or that protocol, else by
// connecting.
func (p *pool) ask(ctx context.Context, m *member, h routing.HealthCheck) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(h.TimeoutSeconds, 5))
	defer cancel()
	port := h.Port
	if port == "" || port == "traffic-port" {
		port = strconv.Itoa(int(m.Port))
	}
	address := net.JoinHostPort(m.Address, port)
	if h.Protocol == "TCP" || h.Protocol == "" && h.Path == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	at := strings.ToLower(cmp.Or(h.Protocol, p.scheme)) + "://" + address + cmp.Or(h.Path, "/")
	if p.version == "GRPC" {
		return call(ctx, m.transport, at, cmp.Or(h.SuccessCodes, "12"))
	}
	return get(ctx, m.transport, at, cmp.Or(h.SuccessCodes, "200"))
}

// call calls a gRPC method without a message. The answer's status is in its trailer, or in the
// header of one that is nothing else.
func call(ctx context.Context, transport *http.Transport, at, success string) error {
	header := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	return ask(ctx, transport, http.MethodPost, at, header, func(response *http.Response) error {
		code := cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
		if n, err := strconv.Atoi(code); err != nil || !succeeds(n, success) {
			return fmt.Errorf("gRPC status %q is not in %s", code, success)
		}
		return nil
	})
}

func get(ctx context.Context, transport *http.Transport, at, success string) error {
	return ask(ctx, transport, http.MethodGet, at, http.Header{}, func(response *http.Response) error {
		if !succeeds(response.StatusCode, success) {
			return fmt.Errorf("status %d is not in %s", response.StatusCode, success)
		}
		return nil
	})
}

// ask sends a request without a body, and has its answer judged once that has come to its end.
func ask(ctx context.Context, transport *http.Transport, method, at string, header http.Header, judge func(*http.Response) error) error {
	request, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return err
	}
	request.Header = header
	request.Header.Set("User-Agent", "fairlead-health-check")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil {
		return err
	}
	return judge(response)
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

// seconds is a number of seconds, or a default where there is none.
func seconds(n, fallback int) time.Duration { return time.Duration(cmp.Or(n, fallback)) * time.Second }

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
	"sync/atomic"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
)

// This file checks the health of targets.

// groupOptions configure the checks of a group and the departure of its members.
type groupOptions struct {
	Every   time.Duration // between health checks; zero stands for the interval in the settings
	WarmUp  time.Duration // before a new member is checked, or receives requests
	Drain   time.Duration // that requests to a member may take after it has left
	Checked bool          // whether members are checked; otherwise they are healthy
	Here    bool          // whether this process checks them
	Changed *atomic.Bool  // set when the health of a member changes
}

// A checker checks the members of a target group.
type checker struct {
	Scheme   string          // of requests to the targets
	version  routing.Version // likewise
	Settings atomic.Pointer[routing.HealthCheck]
	groupOptions
}

// watch checks a member until it leaves.
func (p *checker) watch(ctx context.Context, m *member) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Until(m.warmAt)):
	}
	var streak int // of checks with one result: passed above zero, failed below
	for {
		settings := *p.Settings.Load()
		passed := p.ask(ctx, m, settings) == nil
		if ctx.Err() != nil {
			return
		}
		streak = extendStreak(streak, passed)
		if next := nextState(m.state(), streak, settings); next != m.state() {
			m.health.Store(next)
			p.Changed.Store(true)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(p.Every, seconds(settings.IntervalSeconds, 15))):
		}
	}
}

// extendStreak counts one more result.
func extendStreak(streak int, passed bool) int {
	if passed {
		return max(streak, 0) + 1
	}
	return min(streak, 0) - 1
}

// nextState returns a member's state after a streak of equal results. The first success makes a new
// member healthy; after that both directions take as many results as the settings ask for.
func nextState(state lb.HealthState, streak int, h routing.HealthCheck) lb.HealthState {
	switch {
	case streak > 0 && (state == lb.HealthInitial || streak >= cmp.Or(h.HealthyThreshold, 2)):
		return lb.HealthHealthy
	case streak < 0 && -streak >= cmp.Or(h.UnhealthyThreshold, 2):
		return lb.HealthUnhealthy
	}
	return state
}

// ask checks a target once: over HTTP if the settings name a path or that protocol, else by
// connecting.
func (p *checker) ask(ctx context.Context, m *member, h routing.HealthCheck) error {
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
	at := strings.ToLower(cmp.Or(h.Protocol, p.Scheme)) + "://" + address + cmp.Or(h.Path, "/")
	if p.version == routing.VersionGRPC {
		return checkGRPC(ctx, m.connections(), at, cmp.Or(h.SuccessCodes, "12"))
	}
	return get(ctx, m.connections(), at, cmp.Or(h.SuccessCodes, "200"))
}

// checkGRPC calls a gRPC method without a message. The status is in the trailer, or in the header
// of a response that has only a header.
func checkGRPC(ctx context.Context, transport *http.Transport, at, success string) error {
	header := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	return sendCheck(ctx, transport, http.MethodPost, at, header, func(response *http.Response) error {
		code := cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
		if n, err := strconv.Atoi(code); err != nil || !matchesStatus(n, success) {
			return fmt.Errorf("gRPC status %q is not in %s", code, success)
		}
		return nil
	})
}

func get(ctx context.Context, transport *http.Transport, at, success string) error {
	return sendCheck(ctx, transport, http.MethodGet, at, http.Header{},
		func(response *http.Response) error {
			if !matchesStatus(response.StatusCode, success) {
				return fmt.Errorf("status %d is not in %s", response.StatusCode, success)
			}
			return nil
		})
}

// sendCheck sends a request without a body, and judges the response after its end.
func sendCheck(
	ctx context.Context, transport *http.Transport, method, at string, header http.Header,
	judge func(*http.Response) error,
) error {
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

// matchesStatus reports whether a list such as "200,301-399" has a status.
func matchesStatus(status int, codes string) bool {
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

// seconds returns a number of seconds, or a default for zero.
func seconds(n, fallback int) time.Duration {
	return time.Duration(cmp.Or(n, fallback)) * time.Second
}

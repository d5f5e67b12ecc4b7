package fake

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
)

// This file tests that members have connections only when requests come.

// TestMembersHaveConnectionsOnceRequestsCome counts the transports before and after one request to
// a group of two members.
func TestMembersHaveConnectionsOnceRequestsCome(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	group := newGroup(lb.TargetGroup{}, groupOptions{Drain: time.Second, Changed: new(atomic.Bool)})
	defer group.Stop()
	group.Set([]lb.Target{
		{Address: at.Addr().String(), Port: int32(at.Port())},
		{Address: "127.0.0.2", Port: int32(at.Port())},
	})
	transports := func() (n int) {
		for _, m := range *group.members.Load() {
			if m.transport != nil {
				n++
			}
		}
		return n
	}
	if n := transports(); n != 0 {
		t.Errorf("%d members have a transport before any request, want 0", n)
	}
	request := httptest.NewRequest(http.MethodGet, server.URL, http.NoBody)
	request.RequestURI = ""
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errand := &exchange{Group: group, Cancel: cancel}
	response, err := errand.RoundTrip(request.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	errand.Finish()
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if n := transports(); n != 1 {
		t.Errorf("%d members have a transport after one request, want 1", n)
	}
}

// TestFirstRequestAfterAMemberLeftKeepsNoConnection covers a request that entered before its
// member left, and is sent after it.
func TestFirstRequestAfterAMemberLeftKeepsNoConnection(t *testing.T) {
	group := newGroup(lb.TargetGroup{}, groupOptions{Drain: time.Second, Changed: new(atomic.Bool)})
	group.Set([]lb.Target{{Address: "127.0.0.1", Port: 1}})
	m := (*group.members.Load())[0]
	group.Set(nil)
	if !m.connections().DisableKeepAlives {
		t.Error("the connection would stay open after the request")
	}
}

package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/serve"
)

// TestListening serves at a port until it is told to end.
func TestListening(t *testing.T) {
	s := serving(t, newCloud(t), serve.Options{})
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx, on, 10*time.Second) }()
	url := "http://" + on.Addr().String()
	body := bytes.NewReader([]byte("{}"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/lookup", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", v1.MediaType)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != v1.MediaType || !strings.Contains(string(text), "capabilitiesETag") {
		t.Errorf("%d %s, %v", got.StatusCode, text, err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if again, err := http.Get(url); err == nil {
		again.Body.Close()
		t.Error("it answers on")
	}
}

// A connection that says nothing is closed when the time to end is over.
func TestConnectionsAreClosedAtTheEnd(t *testing.T) {
	on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", on.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "GET /capabilities HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serving(t, newCloud(t), serve.Options{}).Listen(ctx, on, time.Millisecond) }()
	time.Sleep(50 * time.Millisecond) // until the connection is accepted
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}

package remote

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRaw(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Authorized", r.Header.Get("Authorization"))
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	credentials := t.TempDir()
	token := filepath.Join(credentials, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]string{"": "", credentials: "Bearer secret"} {
		base, send, err := Raw(Endpoint{URL: server.URL, Credentials: directory})
		if err != nil {
			t.Fatal(err)
		}
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := send(ask)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Authorized"); answer.StatusCode != http.StatusFound || got != want {
			t.Errorf("it answered %d to %q, want %q", answer.StatusCode, got, want)
		}
	}
}

func TestRawWithoutAToken(t *testing.T) {
	credentials := t.TempDir()
	if err := os.Mkdir(filepath.Join(credentials, "token"), 0o700); err != nil { // it cannot be read
		t.Fatal(err)
	}
	_, send, err := Raw(Endpoint{URL: "http://127.0.0.1:1", Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	sent := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1", nil)
	sent.RequestURI = ""
	answer, err := send(sent)
	if err == nil {
		answer.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a request without the token: error %v", err)
	}
	if _, _, err := Raw(Endpoint{URL: "ftp://provider.example"}); err == nil {
		t.Error("an ftp URL is taken")
	}
}

// TestARawRequestEnds has a provider never answer.
func TestARawRequestEnds(t *testing.T) {
	to := &line{}
	to.is.Store(hangs)
	for given, want := range map[time.Duration]time.Duration{0: 15 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1", nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			answer, err := rawClient(Endpoint{Attempt: given}, to).Do(ask)
			if err == nil {
				answer.Body.Close()
			}
			if took := time.Since(began); err == nil || took != want {
				t.Errorf("a timeout of %s: error %v after %s, want one after %s", given, err, took, want)
			}
		})
	}
}

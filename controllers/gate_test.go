package controllers_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// This file is what stands between operators and the API server.

// A gate counts what operators write, and can let somebody else have been faster.
type gate struct {
	before    atomic.Pointer[func(*http.Request)] // is called before each write
	reading   atomic.Pointer[func(*http.Request)] // is called before each read
	writes    atomic.Int32                        // all but those of leases
	conflicts atomic.Int32                        // so many of the next changes meet a conflict
	secrets   atomic.Int32                        // how often Secrets were read by name
	shut      atomic.Pointer[string]              // writes to where this is in the path fail
}

// around is what a rest.Config is wrapped in.
func (g *gate) around(inner http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if reading := g.reading.Load(); reading != nil && r.Method == http.MethodGet {
			(*reading)(r)
		}
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/secrets/") {
			g.secrets.Add(1)
		}
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") {
			return inner.RoundTrip(r)
		}
		g.writes.Add(1)
		if before := g.before.Load(); before != nil {
			(*before)(r)
		}
		if r.Method == http.MethodPatch && g.conflicts.Add(-1) >= 0 {
			return conflict(r), nil
		}
		if part := g.shut.Load(); part != nil && strings.Contains(r.URL.Path, *part) {
			return nil, errors.New("somebody has pulled the cable")
		}
		return inner.RoundTrip(r)
	})
}

// conflict is what the API server answers to who has not seen the last change.
func conflict(r *http.Request) *http.Response {
	status := apierrors.NewConflict(schema.GroupResource{}, r.URL.Path, errors.New("the object has been modified")).Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	answer.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(answer).Encode(status) // to memory
	return answer.Result()
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

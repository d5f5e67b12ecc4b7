package remote

import (
	"net/http"
	"slices"
	"testing"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/fake"
)

// TestKeysAreInOrder has a provider that lists keys in an order of its own.
func TestKeysAreInOrder(t *testing.T) {
	next := serving(t, fake.Options{})
	p := open(t, served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != v1.PathLoadBalancers {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", v1.MediaType)
		_, _ = w.Write([]byte(`{"keys":["b","c","a"]}`))
	})))
	if keys, err := p.List(t.Context()); err != nil || !slices.Equal(keys, []lb.Key{"a", "b", "c"}) {
		t.Errorf("listed %v, %v", keys, err)
	}
}

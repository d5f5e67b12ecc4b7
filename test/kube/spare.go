package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// This file gives the control plane of one test to the next, as new: an API server takes 2.6 s of CPU
// to start, and a few ms to forget.

// spares are the control planes that no test has. Main stops them.
var spares struct {
	sync.Mutex
	clusters []*Cluster
}

// take returns a spare, or a new control plane.
func take(o Options) (*Cluster, error) {
	spares.Lock()
	defer spares.Unlock()
	if last := len(spares.clusters) - 1; last >= 0 && reflect.DeepEqual(o, Options{}) {
		c := spares.clusters[last]
		spares.clusters = spares.clusters[:last]
		return c, nil
	}
	return start(o)
}

// give makes a control plane a spare if it can be as new, and stops it otherwise.
func (c *Cluster) give(t testing.TB) {
	if !shared.inMain || !reflect.DeepEqual(c.options, Options{}) {
		c.stop()
		return
	}
	if err := c.forget(); err != nil {
		t.Logf("a control plane is not used again: %s", err)
		c.stop()
		return
	}
	spares.Lock()
	defer spares.Unlock()
	spares.clusters = append(spares.clusters, c)
}

// stored is a key of etcd with its value.
type stored struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
	// ModRevision is the revision of the last write.
	ModRevision string `json:"mod_revision"` //nolint:tagliatelle // etcd's
}

// forget writes to etcd what was there when the control plane was ready, and deletes all else. The API server
// sees that as any other write.
func (c *Cluster) forget() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, err := c.everything(ctx)
	if err != nil {
		return err
	}
	was := map[string]stored{}
	for _, s := range c.first {
		was[string(s.Key)] = s
	}
	for _, s := range now {
		old, ok := was[string(s.Key)]
		delete(was, string(s.Key))
		switch {
		case isServers(string(s.Key)) || ok && old.ModRevision == s.ModRevision:
		case ok:
			err = c.ask(ctx, "put", map[string]any{"key": s.Key, "value": old.Value}, nil)
		default:
			err = c.ask(ctx, "deleterange", map[string]any{"key": s.Key}, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range was { // which are deleted
		if err := c.ask(ctx, "put", map[string]any{"key": s.Key, "value": s.Value}, nil); err != nil {
			return err
		}
	}
	c.hasClass = false
	return c.awaitServer(ctx) // which fails where a test has stopped it
}

// isServers reports whether the API server writes a key itself, at any time.
func isServers(key string) bool {
	for _, prefix := range []string{
		"compact_rev_key", "/registry/masterleases/", "/registry/leases/kube-system/apiserver-", "/registry/apiregistration.k8s.io/",
		"/registry/flowschemas/", "/registry/prioritylevelconfigurations/", "/registry/namespaces/kube-", "/registry/configmaps/kube-system/",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.HasSuffix(key, "/default/kubernetes") // the Service, with its endpoints
}

// everything returns all keys of etcd.
func (c *Cluster) everything(ctx context.Context) ([]stored, error) {
	var answer struct {
		Keys []stored `json:"kvs"` //nolint:tagliatelle // etcd's
	}
	all := []byte{0} // as key and as end of the range: https://etcd.io/docs/v3.5/learning/api/#range
	err := c.ask(ctx, "range", map[string]any{"key": all, "range_end": all}, &answer)
	return answer.Keys, err
}

// ask calls etcd by its JSON gateway: https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/
func (c *Cluster) ask(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcdURL()+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s with %s", method, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

package source_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/source"
)

// An apiServer has the kinds that are compiled, and no objects. It tells of a change of a kind.
type apiServer struct {
	groups  map[schema.GroupVersion]*metav1.APIResourceList
	mu      sync.Mutex
	watched map[string]chan struct{} // by kind
	whole   []string                 // requests for more than metadata
}

func newAPIServer() *apiServer {
	s := &apiServer{groups: map[schema.GroupVersion]*metav1.APIResourceList{}, watched: map[string]chan struct{}{}}
	for _, k := range append([]manifests.Kind{{APIVersion: "fairlead.dev/v1alpha1", Name: "LoadBalancer"}}, manifests.Kinds...) {
		of := schema.FromAPIVersionAndKind(k.APIVersion, k.Name).GroupVersion()
		if s.groups[of] == nil {
			s.groups[of] = &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: of.String()}
		}
		s.groups[of].APIResources = append(s.groups[of].APIResources,
			metav1.APIResource{Name: strings.ToLower(k.Name), Kind: k.Name, Namespaced: k.Namespaced, Verbs: metav1.Verbs{"list", "watch"}})
	}
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) } // the client may be gone
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.URL.Path == "/api":
		answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		var list metav1.APIGroupList
		for of := range s.groups {
			version := metav1.GroupVersionForDiscovery{GroupVersion: of.String(), Version: of.Version}
			if of.Group != "" {
				list.Groups = append(list.Groups, metav1.APIGroup{Name: of.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
			}
		}
		answer(list)
	case parts[0] == "api" && len(parts) == 2:
		answer(s.groups[schema.GroupVersion{Version: parts[1]}])
	case parts[0] == "apis" && len(parts) == 3:
		answer(s.groups[schema.GroupVersion{Group: parts[1], Version: parts[2]}])
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r, parts[len(parts)-1])
	default:
		s.note(r)
		answer(metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	}
}

// note keeps a request that asks for more than metadata.
func (s *apiServer) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		s.whole = append(s.whole, r.URL.Path)
	}
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, kind string) {
	s.note(r)
	changed := make(chan struct{})
	s.mu.Lock()
	s.watched[kind] = changed
	s.mu.Unlock()
	for {
		_ = http.NewResponseController(w).Flush() // the client may be gone
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			fmt.Fprint(w, `{"type": "MODIFIED", "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "resourceVersion": "2"}}}`+"\n")
			changed = nil
		}
	}
}

// TestAClusterIsFollowed: each kind that is compiled is watched, Secrets too, and of all of them only metadata is asked for.
func TestAClusterIsFollowed(t *testing.T) {
	cluster := newAPIServer()
	server := httptest.NewServer(cluster)
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: %q}}]\n"+
		"contexts: [{name: a, context: {cluster: a}}]\n", server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := source.WatchCluster(t.Context(), access.Cluster{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		return len(cluster.watched)
	}
	for deadline := time.Now().Add(time.Minute); count() < len(manifests.Kinds)+1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d kinds are watched, and %d are compiled or reported", count(), len(manifests.Kinds)+1)
		}
	}
	cluster.mu.Lock()
	secrets := cluster.watched["secret"]
	if len(cluster.whole) > 0 {
		t.Errorf("more than metadata is asked for: %v", cluster.whole)
	}
	cluster.mu.Unlock()
	close(secrets)
	select {
	case <-changes:
	case <-time.After(time.Minute):
		t.Error("the change of a Secret is not told")
	}
}

package cli

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/page"
)

// TestThePageIsAskedByMany at the same time, while the documents change. The race detector tells of answers without the lock.
func TestThePageIsAskedByMany(t *testing.T) {
	dir := directory(t, map[string]string{"service.yaml": serviceYAML, "a.yaml": withPaths("a", "a.example.com", "Prefix /", "Exact /b"),
		"star.yaml": withPaths("star", "*.example.com", "Prefix /")})
	u := &pageSource{with: testProviders().Clouds, changed: make(chan struct{}), cmd: &cobra.Command{}}
	u.cmd.SetContext(t.Context())
	u.in.ManifestFlags(u.cmd)
	u.in.ProviderFlag(u.cmd, u.with)
	u.in.Files = []string{dir}
	var all sync.WaitGroup
	for reader := range 8 {
		all.Go(func() {
			for i := range 20 {
				q := page.Question{URL: fmt.Sprintf("http://x%d-%d.example.com/b", reader, i)}
				if _, err := u.Explain(context.Background(), q); err != nil {
					t.Errorf("%+v: %v", q, err)
				}
				if i%10 == 0 {
					u.mu.Lock()
					u.compiled, u.documents, u.err = nil, nil, nil // as a change does
					u.mu.Unlock()
				}
				if _, err := u.Documents(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

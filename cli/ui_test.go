package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
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

// TestAFileOfAPageSaysWhatItIsAbout, and has the same bytes when it is written again.
func TestAFileOfAPageSaysWhatItIsAbout(t *testing.T) {
	repository(t, map[string]string{"old/a.yaml": ingressYAML("web", "a.example.com", "/"), "new/a.yaml": ingressYAML("web", "a.example.com", "/x"),
		"e.yaml": "expectations: [{name: none, must: {answered: false}}]", "access.log": accessLine("http://a.example.com:80/")})
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	write(t, "state.json", fairlead(t, "plan", "-f", "old", "-o", "json").out)
	for args, want := range map[string]string{
		"plan -f old -f new": "Files: old, new.",

		"diff old new":                                    "Before: old. After: new.",
		"diff --old-state state.json new":                 "Before: the state in state.json. After: new.",
		"diff --new-state state.json new":                 "Before: new. After: the state in state.json.",
		"diff --base main old":                            "Before: old at revision main (commit " + strings.TrimSpace(string(commit)) + "). After: old.",
		"diff --base HEAD: old":                           "Before: old at revision HEAD:. After: old.",
		"verify --expect e.yaml old":                      "Files: old.",
		"explain --all -f old":                            "Files: old.",
		"migrate --from alb --class-name fairlead -f old": "Files: old.",
		"replay --logs access.log -f old --change new --load-balancer app/my-loadbalancer=fairlead/shop/web/internal": "Files: old. Logs: access.log. The change: new.",
	} {
		var written []string
		for range 2 {
			_ = os.Remove("page.html")
			got := fairlead(t, append(strings.Fields(args), "--html", "page.html")...)
			text, err := os.ReadFile("page.html")
			if err != nil {
				t.Errorf("%s: %v: %s", args, err, got.err)
			}
			written = append(written, string(text))
		}
		if !strings.Contains(written[0], `role="status">`+want+" Written by Fairlead ") {
			_, head, _ := strings.Cut(written[0], `id="news"`)
			t.Errorf("%s says %.200s, want %s", args, head, want)
		}
		if written[0] != written[1] {
			t.Errorf("%s writes two files", args)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExamplesOfGuidesArePlanned: the Ingresses that these pages have people write are served as they
// are, on an Application Load Balancer.
func TestExamplesOfGuidesArePlanned(t *testing.T) {
	for page, want := range map[string]string{
		"redirect-https": "redirect 301 https://#{host}:443/",
		"blue-green":     "forward shop/blue:80*90 shop/green:80*10",
		"cognito":        "after cognito arn:aws:cognito-idp:",
		"rollouts":       "forward default/shop:",
	} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../docs/how-to/" + page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
			if len(blocks) != 1 {
				t.Fatalf("%d examples", len(blocks))
			}
			const class = "\n---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: fairlead}\n" +
				"spec: {controller: fairlead.dev/ingress}\n"
			file := filepath.Join(t.TempDir(), "guide.yaml")
			if err := os.WriteFile(file, []byte(blocks[0][1]+class), 0o600); err != nil {
				t.Fatal(err)
			}
			got := fairlead(t, "plan", "--provider", "aws", "-f", file)
			if got.code != exitToDo || !strings.Contains(got.out, want) || !strings.Contains(got.out, " 0 errors, 0 warnings") {
				t.Errorf("exit code %d, want %q:\n%s%s", got.code, want, got.out, got.err)
			}
		})
	}
}

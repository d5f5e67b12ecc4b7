package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// This file measures the page with many Ingresses. `make nightly` has 2,000 of them.

// crowd writes so many Ingresses with two paths each, forty of a group or each alone.
func crowd(t *testing.T, ingresses int, grouped bool) string {
	t.Helper()
	var b strings.Builder
	for i := range ingresses {
		group := ""
		if grouped {
			group = fmt.Sprintf(", annotations: {fairlead.dev/group: g%d}", i/40)
		}
		fmt.Fprintf(&b, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: app-%[1]d, namespace: shop%[2]s}
spec:
  ingressClassName: fairlead
  rules:
  - host: app-%[1]d.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web-%[3]d, port: {number: 80}}}}
      - {path: /api, pathType: Exact, backend: {service: {name: api-%[3]d, port: {number: 80}}}}
`, i, group, i%50)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crowd.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// violated are expectations that every answer of an Ingress violates.
const violated = "expectations: [{name: a, must: {answered: false}}, {name: b, must: {answered: false}}, " +
	"{name: c, must: {answered: false}}, {name: d, must: {answered: false}}, {name: e, must: {answered: false}}]"

// disagreeing writes lines of an access log: each Ingress was answered 404, though it has the path. It returns the flags for it.
func disagreeing(t *testing.T, file string, ingresses int, grouped bool) (flags []string) {
	t.Helper()
	var b strings.Builder
	names := map[string]bool{}
	for i := range ingresses {
		name, key := fmt.Sprintf("app-%d", i), fmt.Sprintf("fairlead/shop/app-%d/internal", i)
		if grouped {
			name, key = fmt.Sprintf("g%d", i/40), fmt.Sprintf("fairlead/shop/@g%d/internal", i/40)
		}
		if !names[name] {
			flags = append(flags, "--load-balancer", name+"="+key)
		}
		names[name] = true
		fmt.Fprintf(&b, `http 2026-07-02T22:20:00.186641Z app/%s/50dc6c495c0c9188 192.0.2.1:2817 - -1 -1 -1 404 - 34 366 `+
			`"GET http://app-%d.example.com:80/api HTTP/1.1" "curl" - - - "Root=1" "-" "-" 0 2026-07-02T22:22:48.364000Z "fixed-response" "-" "-" "-" "-" "-" "-"`+"\n", name, i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(flags, "--logs", file, "--top", fmt.Sprint(ingresses))
}

// work is what a browser is compared with: it makes a list, and lays it out. On a machine on which that takes 200 ms, the
// limits are a second for a view, and 100 ms for a search.
const work = `(() => {
	const start = performance.now(), all = document.createElement("div");
	for (let i = 0; i < 20000; i++) all.append(Object.assign(document.createElement("p"), {textContent: "row " + i}));
	document.body.append(all);
	const height = all.offsetHeight;
	all.remove();
	return performance.now() - start + 0 * height;
})()`

// These are the limits, in units of that work.
const (
	mostOfView   = 5
	mostOfSearch = 0.5
)

// measured are times of a page in milliseconds: the least of a few.
type measured struct{ unit, view, search float64 }

func (m *measured) add(o measured) {
	m.unit, m.view, m.search = min(m.unit, o.unit), min(m.view, o.view), min(m.search, o.search)
}

// measure opens a view, and types into its search.
func measure(ctx context.Context, t *testing.T, address, view string) measured {
	t.Helper()
	out := measured{1e9, 1e9, 1e9}
	for i := range 3 {
		var one measured
		run(ctx, t, view, chromedp.Navigate(address+view), chromedp.Evaluate(work, &one.unit),
			chromedp.Poll(`performance.getEntriesByName("first-contentful-paint").length > 0`, nil, chromedp.WithPollingTimeout(time.Minute)),
			chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0].startTime`, &one.view),
			chromedp.Evaluate(`(() => {
				const start = performance.now();
				search.value = "app-17.example.com";
				search.dispatchEvent(new Event("input"));
				return performance.now() - start + 0 * document.body.offsetHeight;
			})()`, &one.search))
		if i == 0 {
			t.Logf("%s appears for the first time after %.0f ms", view, one.view)
		}
		out.add(one)
	}
	return out
}

// TestThePageOfManyIngresses: a view and a search take as long as so much of the browser's own work, and files of --html are small.
func TestThePageOfManyIngresses(t *testing.T) {
	many := 500
	if os.Getenv("NIGHTLY") != "" {
		many = 2000
	}
	fairlead := command(t)
	for _, grouped := range []bool{true, false} {
		ctx := browse(t)
		quiet(ctx, t)
		dir := crowd(t, many, grouped)
		address := serve(t, fairlead, dir)
		run(ctx, t, "start", network.Enable(), runtime.Enable())
		for _, view := range []string{"/now", "/routes", "/plan", "/diagnostics"} {
			m := measure(ctx, t, address, view)
			t.Logf("%d Ingresses, in groups: %v, %s: it appears after %.0f ms, a search takes %.0f ms, the work %.0f ms", many, grouped, view, m.view, m.search, m.unit)
			if m.view > mostOfView*m.unit || m.search > mostOfSearch*m.unit {
				t.Errorf("%s appears after %.2f times the work, at most %d, and a search takes %.2f times the work, at most %.1f",
					view, m.view/m.unit, mostOfView, m.search/m.unit, mostOfSearch)
			}
		}
		others := t.TempDir() // what is compared with the Ingresses
		expectations := filepath.Join(others, "e.yaml")
		if err := os.WriteFile(expectations, []byte(violated), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"plan", "-f", dir}, {"diff", "../../config/samples", dir}, {"explain", "--all", "-f", dir},
			{"migrate", "--from", "alb", "--class-name", "fairlead", "-f", dir}, {"verify", "--expect", expectations, "-f", dir},
			slices.Concat([]string{"replay", "-f", dir}, disagreeing(t, filepath.Join(others, "a.log"), many, grouped)),
		} {
			file := filepath.Join(others, "page.html")
			_ = os.Remove(file) // that of another command
			said, err := exec.CommandContext(t.Context(), fairlead, slices.Concat(args, []string{"--html", file})...).CombinedOutput()
			info, statErr := os.Stat(file)
			if statErr != nil {
				t.Fatalf("%v: %v, %v\n%.2000s", args, err, statErr, said)
			}
			t.Logf("%d Ingresses, in groups: %v, %s: %d bytes", many, grouped, args[0], info.Size())
			if most := int64(5<<20) * int64(many) / 2000; info.Size() > most {
				t.Errorf("%v writes %d bytes, and %d are the most", args, info.Size(), most)
			}
		}
	}
}

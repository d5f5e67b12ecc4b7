package site

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"image/png"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fairlead.dev/fairlead/test/binary"
	"fairlead.dev/fairlead/test/nightly"
)

// This file looks at the page that `fairlead ui` serves, and at the files of --html.

const axe = "../../.cache/axe/node_modules/axe-core/axe.min.js"

// hostile is an Ingress whose texts run where they are not escaped.
const hostile = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: hostile, namespace: shop, annotations: {fairlead.dev/scheme: '"><img src=x onerror=alert(1)><script>alert(2)</script>'}}
spec:
  ingressClassName: fairlead
  rules:
  - host: hostile.example.com
    http: {paths: [{path: "/<script>alert(3)</script>", pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

// command is fairlead, built from this tree.
func command(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "fairlead")
	if err := binary.Build(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// samples copies the samples, and adds the hostile Ingress.
func samples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../config/samples")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hostile.yaml"), []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve starts `fairlead ui`, and returns its address.
func serve(t *testing.T, fairlead, dir string) string {
	t.Helper()
	address, _ := serveAt(t, fairlead, dir, "0")
	return address
}

// serveAt starts `fairlead ui` at a port, and returns its address and what ends it.
func serveAt(t *testing.T, fairlead, dir, port string) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, fairlead, "ui", "-f", dir, "--port", port)
	cmd.Dir = "../.."
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, found := strings.Cut(line, "the page is ")
	address, _, _ = strings.Cut(rest, "/now,")
	if err != nil || !found {
		t.Fatalf("%q, %v", line, err)
	}
	return address, stop
}

// quiet fails the test if a script of the page fails, something opens a dialog, or the policy of the page refuses something.
func quiet(ctx context.Context, t *testing.T) {
	t.Helper()
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			t.Errorf("a dialog opens: %s", e.Message)
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(false)) }()
		case *runtime.EventExceptionThrown:
			t.Errorf("a script fails: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *runtime.EventConsoleAPICalled:
			t.Errorf("the console says %v", e.Args)
		}
	})
}

func run(ctx context.Context, t *testing.T, what string, tasks ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, tasks...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// visible is the text of the page that can be seen. Chromium has no innerText for what content-visibility skips, so that rows are
// asked one by one.
const visible = `[...document.querySelectorAll("main [data-row]")].filter(r => r.closest("[hidden]") === null).map(r => r.textContent).join("\n")`

// TestThePageIsForEverybody opens each view at three widths in both themes: axe-core finds nothing, and nothing is cut off.
func TestThePageIsForEverybody(t *testing.T) {
	rules, err := os.ReadFile(axe)
	if err != nil {
		t.Skipf("%v: `make setup` installs it where there is npm", err)
	}
	ctx := browse(t)
	quiet(ctx, t)
	address := serve(t, command(t), samples(t))
	run(ctx, t, "start", network.Enable(), runtime.Enable())
	type look struct {
		theme string
		width int64
	}
	looks := []look{{"light", 360}, {"light", 768}, {"light", 1300}, {"dark", 360}, {"dark", 768}, {"dark", 1300}}
	for _, view := range []string{"/now", "/routes", "/ask?url=http://shop.example.com/cart", "/ask?url=http://none.example/", "/plan", "/diagnostics", "/search?q=cart"} {
		for _, as := range nightly.Some(t, 2, looks) {
			what := fmt.Sprintf("%s, %s, %d wide", view, as.theme, as.width)
			var violations []string
			var over int
			run(ctx, t, what, emulation.SetDeviceMetricsOverride(as.width, 900, 1, false),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.theme}}), //nolint:misspell // CSS spells it so
				chromedp.Navigate(address+view), chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &over),
				chromedp.Evaluate(string(rules)+"; 0", nil), chromedp.Evaluate(
					`axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html.slice(0, 200)).slice(0, 3).join(" | ")))`,
					&violations, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
			if len(violations) > 0 || over > 0 {
				t.Errorf("%s: %d pixels too wide; %s", what, over, strings.Join(violations, "\n"))
			}
		}
	}
}

// TestThePageByKeyboard searches, opens and copies without a mouse, and finds the state again by its address.
func TestThePageByKeyboard(t *testing.T) {
	ctx := browse(t)
	quiet(ctx, t)
	address := serve(t, command(t), samples(t))
	var rows, focus, where, copied string
	run(ctx, t, "search", network.Enable(), runtime.Enable(), chromedp.Navigate(address+"/routes"), chromedp.KeyEvent(kb.Tab),
		chromedp.Evaluate(`document.activeElement.textContent`, &focus), input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/"), chromedp.KeyEvent("cart/ping"),
		chromedp.Evaluate(visible, &rows), chromedp.Evaluate(`location.search`, &where))
	if focus != "Skip to the content" || !strings.Contains(rows, "/cart/ping") || strings.Contains(rows, "payments") || where != "?q=cart%2Fping" {
		t.Errorf("the first focus is %q, the address ends with %q, and these rows are shown:\n%s", focus, where, rows)
	}
	run(ctx, t, "again", chromedp.Reload(), chromedp.Evaluate(visible, &rows))
	if !strings.Contains(rows, "/cart/ping") || strings.Contains(rows, "payments") {
		t.Errorf("after a reload these rows are shown:\n%s", rows)
	}
	run(ctx, t, "all views", chromedp.Focus("#q"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#routes-title"), chromedp.Evaluate(`location.pathname`, &where))
	if where != "/search" {
		t.Errorf("Enter leads to %s", where)
	}
	var open bool
	run(ctx, t, "ask", chromedp.Navigate(address+"/ask"), chromedp.Focus(`[name=url]`), chromedp.KeyEvent("http://shop.example.com/cart"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(".answer"), chromedp.Text(".answer", &rows), chromedp.Evaluate(`location.search.includes("url=http")`, &open))
	if rows != "Service shop/cart port 8080" || !open {
		t.Errorf("the answer is %q", rows)
	}
	run(ctx, t, "copy", browser.GrantPermissions([]browser.PermissionType{browser.PermissionTypeClipboardReadWrite, browser.PermissionTypeClipboardSanitizedWrite}),
		chromedp.Focus(".copy"), chromedp.KeyEvent(kb.Enter), chromedp.Sleep(300*time.Millisecond), chromedp.Evaluate(`navigator.clipboard.readText()`, &copied,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if copied != "http://shop.example.com/cart" {
		t.Errorf("%q is copied", copied)
	}
	run(ctx, t, "details", chromedp.Navigate(address+"/diagnostics"), chromedp.Focus("main summary"), chromedp.KeyEvent(kb.Enter),
		chromedp.Evaluate(`document.querySelector("main details").open`, &open))
	if !open {
		t.Error("Enter does not open a diagnostic")
	}
}

// TestThePageFollowsFiles changes a file: the page shows it without a reload, and keeps what the reader has opened and typed.
func TestThePageFollowsFiles(t *testing.T) {
	ctx := browse(t)
	quiet(ctx, t)
	dir := samples(t)
	address := serve(t, command(t), dir)
	run(ctx, t, "open", network.Enable(), runtime.Enable(), chromedp.Navigate(address+"/routes"), chromedp.Evaluate(`marker = 1`, nil),
		chromedp.Focus("#q"), chromedp.KeyEvent("shop"))
	added := strings.NewReplacer("hostile.example.com", "new-shop.example.com", `"/<script>alert(3)</script>"`, "/added", "name: hostile", "name: added",
		`, annotations: {fairlead.dev/scheme: '"><img src=x onerror=alert(1)><script>alert(2)</script>'}`, "").Replace(hostile)
	if err := os.WriteFile(filepath.Join(dir, "added.yaml"), []byte(added), 0o600); err != nil {
		t.Fatal(err)
	}
	var kept bool
	run(ctx, t, "follow", chromedp.Poll(`document.querySelector("main").textContent.includes("/added")`, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Evaluate(`marker === 1 && document.querySelector("#q").value === "shop" && document.querySelector("#news").textContent.startsWith("Updated")`, &kept))
	if !kept {
		t.Error("the page was loaded anew, or lost what was typed")
	}
	if err := os.WriteFile(filepath.Join(dir, "added.yaml"), []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, "broken", chromedp.Poll(`!document.querySelector("main").textContent.includes("/added")`, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Navigate(address+"/now"), chromedp.WaitReady("main"), chromedp.Evaluate(`document.querySelector("main").textContent.includes("added.yaml")`, &kept))
	if !kept {
		t.Error("the page does not say which file cannot be read")
	}
}

// TestThePageComesBack: the command ends, a file changes, and the command starts again. The page shows it without a reload,
// even if it did not listen yet when the command ended.
func TestThePageComesBack(t *testing.T) {
	t.Run("it listened", func(t *testing.T) { comesBack(t, true) })
	t.Run("it did not listen", func(t *testing.T) { comesBack(t, false) })
}

func comesBack(t *testing.T, listened bool) {
	ctx := browse(t)
	quiet(ctx, t)
	fairlead, dir := command(t), samples(t)
	address, stop := serveAt(t, fairlead, dir, "0")
	command, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listens, listen := make(chan struct{}), make(chan struct{}) // it has an answer; it may have one
	var once sync.Once
	proxy := httputil.NewSingleHostReverseProxy(command)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // the command is away for a while
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path == "/changes" {
			once.Do(func() { close(listens) })
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // as a port without a listener
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/changes" {
			<-listen
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	run(ctx, t, "open", network.Enable(), runtime.Enable(), chromedp.Navigate(server.URL+"/routes"), chromedp.Evaluate(`marker = 1`, nil))
	if listened {
		close(listen)
		<-listens
	}
	stop()
	added := strings.NewReplacer("hostile.example.com", "back.example.com", "name: hostile", "name: back").Replace(hostile)
	added = regexp.MustCompile(`, annotations: \{[^}]*\}`).ReplaceAllString(added, "")
	if err := os.WriteFile(filepath.Join(dir, "back.yaml"), []byte(added), 0o600); err != nil {
		t.Fatal(err)
	}
	serveAt(t, fairlead, dir, address[strings.LastIndex(address, ":")+1:])
	if !listened {
		close(listen)
	}
	var kept bool
	run(ctx, t, "again", chromedp.Poll(`document.querySelector("main").textContent.includes("back.example.com")`, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Evaluate(`marker === 1`, &kept))
	if !kept {
		t.Error("the page was loaded anew")
	}
}

// TestThePageWithoutScripts reads, searches and asks with scripts off.
func TestThePageWithoutScripts(t *testing.T) {
	ctx := browse(t)
	address := serve(t, command(t), samples(t))
	var text, searched string
	run(ctx, t, "read", network.Enable(), emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(address+"/routes"), chromedp.Text("main", &text),
		chromedp.SetValue("#q", "cart"), chromedp.Submit("#q"), chromedp.WaitVisible("#now"), chromedp.Text("main", &searched))
	if !strings.Contains(text, "Service shop/cart port 8080") || !strings.Contains(searched, "/cart/ping") || strings.Contains(searched, "payments") {
		t.Errorf("the routes are\n%s\nthe search shows\n%s", text, searched)
	}
	run(ctx, t, "ask", chromedp.Navigate(address+"/ask"), chromedp.SetValue("[name=url]", "http://shop.example.com/cart/ping"), chromedp.Submit("[name=url]"),
		chromedp.WaitVisible(".answer"), chromedp.Text(".answer", &text))
	if text != "Service shop/storefront port 80" {
		t.Errorf("the answer is %q", text)
	}
}

var update = flag.Bool("update", false, "write the pictures of the page")

// TestPicturesOfThePage takes the pictures in docs/pictures, and with -update writes them. Fonts differ between machines, so that
// those that are there have to have the same size.
func TestPicturesOfThePage(t *testing.T) {
	ctx := browse(t)
	quiet(ctx, t)
	address := serve(t, command(t), "config/samples")
	run(ctx, t, "start", network.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(1000, 640, 1, false))
	for name, view := range map[string]string{
		"page-now": "/now", "page-routes": "/routes?q=shop.example.com", "page-ask": "/ask?url=http://shop.example.com/cart", "page-plan": "/plan",
	} {
		var taken []byte
		run(ctx, t, name, chromedp.Navigate(address+view), chromedp.Sleep(200*time.Millisecond), chromedp.CaptureScreenshot(&taken))
		file := "../../docs/pictures/" + name + ".png"
		if *update {
			if err := os.WriteFile(file, taken, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v: `make screenshots` makes it", err)
		}
		want, errWant := png.DecodeConfig(bytes.NewReader(taken))
		got, errGot := png.DecodeConfig(bytes.NewReader(there))
		if errWant != nil || errGot != nil || got.Width != want.Width || got.Height != want.Height {
			t.Errorf("%s is %d times %d, want %d times %d: `make screenshots` makes it anew", name, got.Width, got.Height, want.Width, want.Height)
		}
	}
}

// TestFilesNeedNothing opens files of --html from disk. The browser asks for nothing else.
func TestFilesNeedNothing(t *testing.T) {
	ctx := browse(t)
	quiet(ctx, t)
	fairlead, dir, out := command(t), samples(t), t.TempDir()
	run(ctx, t, "start", network.Enable(), runtime.Enable())
	for name, args := range map[string][]string{
		"plan": {"plan", "-f", dir}, "diff": {"diff", "../../config/samples", dir}, "all": {"explain", "--all", "-f", dir},
	} {
		file := filepath.Join(out, name+".html")
		said, err := exec.CommandContext(t.Context(), fairlead, append(args, "--html", file)...).CombinedOutput()
		if err != nil && exec.CommandContext(t.Context(), "test", "-s", file).Run() != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
		var text, saved string
		var hidden int
		run(ctx, t, name, chromedp.Navigate("file://"+file), chromedp.Text("main", &text), chromedp.Focus("#q"), chromedp.KeyEvent("zzzz"),
			chromedp.Evaluate(`document.querySelectorAll("main [data-row]:not([hidden])").length`, &hidden),
			chromedp.Evaluate(`fetch("data:,x").then(() => "ran", () => "refused")`, &saved, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if len(text) < 50 || hidden > 0 || saved != "refused" {
			t.Errorf("%s: %d rows are shown of a search that finds nothing, the policy let a request through: %s; the text is\n%s", name, hidden, saved, text)
		}
	}
}

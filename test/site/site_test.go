// Package site looks at the site that `make site` builds, and at the page of `fairlead ui`, in a headless Chromium.
package site

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"fairlead.dev/fairlead/test/nightly"
)

const built = "../../.cache/site/site"

// open serves the site on loopback, and returns its address and a browser.
func open(t *testing.T) (string, context.Context) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(built, "index.html")); err != nil {
		t.Fatalf("%v: `make site` builds it", err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(built)))
	t.Cleanup(server.Close)
	return server.URL, browse(t)
}

// browse returns a browser. When the test ends, each request of the browser has to have been for loopback or a file, and
// answered.
func browse(t *testing.T) context.Context {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && browser == "" {
			browser = found
		}
	}
	if browser == "" {
		t.Skip("there is no Chromium: `make setup` installs it where it can, as root on Debian")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.UserDataDir(t.TempDir()),
		// CI runs as root, for which Chromium has no sandbox.
		chromedp.NoSandbox, chromedp.WindowSize(1300, 900), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	within, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	allocated, cancel := chromedp.NewExecAllocator(within, options...)
	t.Cleanup(cancel)
	ctx, _ := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {})) // it logs events that it does not know
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // it waits until the browser has ended
			t.Error(err)
		}
	})

	var lock sync.Mutex
	asked := 0
	chromedp.ListenTarget(ctx, func(event any) {
		lock.Lock()
		defer lock.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			asked++
			to, err := url.Parse(e.Request.URL)
			if err != nil || to.Hostname() != "127.0.0.1" && !slices.Contains([]string{"data", "blob", "file"}, to.Scheme) {
				t.Errorf("%s asks for %s", e.DocumentURL, e.Request.URL)
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				t.Errorf("%s is answered %d", e.Response.URL, e.Response.Status)
			}
		}
	})
	t.Cleanup(func() {
		lock.Lock()
		defer lock.Unlock()
		if asked == 0 {
			t.Error("no request was seen")
		}
	})
	return ctx
}

// TestPagesLoadNothingFromElsewhere opens pages, and looks at each picture in them.
func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	address, ctx := open(t)
	with, without := pages(t)
	pictures := map[string]bool{}
	for _, page := range append(with, nightly.Some(t, 20, without)...) {
		var loaded []string
		if err := chromedp.Run(ctx, network.Enable(), chromedp.Navigate(address+"/"+page), chromedp.Evaluate(
			`[...document.images].map(i => (i.complete && i.naturalWidth > 0 ? "" : "broken ") + new URL(i.src).pathname)`, &loaded)); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		for _, image := range loaded {
			if strings.HasPrefix(image, "broken ") {
				t.Errorf("%s: %s is not shown", page, image)
			}
			pictures[image] = true
		}
	}
	drawn, _ := filepath.Glob("../../docs/pictures/*.svg")
	if all := len(with) + len(without); all < 50 || len(drawn) < 6 || len(pictures) < len(drawn) {
		t.Errorf("%d pages have %d pictures, and %d are drawn", all, len(pictures), len(drawn))
	}
}

// pages are those with pictures, and the others.
func pages(t *testing.T) (with, without []string) {
	t.Helper()
	err := filepath.WalkDir(built, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		page, err := filepath.Rel(built, file)
		if page = filepath.ToSlash(page); bytes.Contains(text, []byte("<img")) {
			with = append(with, page)
		} else {
			without = append(without, page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return with, without
}

// TestSearchFinds types words into the search, and expects the pages that are about them.
func TestSearchFinds(t *testing.T) {
	address, ctx := open(t)
	for word, page := range map[string]string{
		"Cognito": "cognito", "canary": "blue-green", "AnnotationForeign": "diagnostics",
	} {
		var results string
		search := chromedp.Tasks{
			network.Enable(), chromedp.Navigate(address + "/index.html"), chromedp.Click("button.md-search__button", chromedp.ByQuery),
			chromedp.Sleep(time.Second), chromedp.KeyEvent(word), chromedp.Sleep(time.Second),
			chromedp.Evaluate(deepLinks, &results),
		}
		if err := chromedp.Run(ctx, search); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if !strings.Contains(results, page) {
			t.Errorf("the search for %s finds no page %s:\n%s", word, page, results)
		}
	}
}

// deepLinks lists what links of the search lead to; it has a shadow tree of its own.
const deepLinks = `(function links(root) {
	return [...root.querySelectorAll("*")].map(e => (e.shadowRoot ? links(e.shadowRoot) : "") +
		(root !== document && e.tagName === "A" ? e.href + "\n" : "")).join("");
})(document)`

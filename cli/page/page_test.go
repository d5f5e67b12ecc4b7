package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template/parse"
	"time"

	"golang.org/x/net/html"

	"fairlead.dev/fairlead/cli/page"
)

// hostile are texts that run, or end what they stand in, where they are not escaped.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, `</style><script>alert(1)</script>`,
	`' onmouseover='alert(1)`, `{{.}}`, `<!--`, `http://evil.example/?a=b&c=d"x`,
}

// filled is JSON of a schema with a text in the place of each text, and lists of two.
func filled(schema map[string]any, text string) any {
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	if one, ok := schema["oneOf"].([]any); ok {
		return filled(one[0].(map[string]any), text)
	}
	kind, _ := schema["type"].(string)
	switch kind {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, of := range properties {
			out[name] = filled(of.(map[string]any), text)
		}
		if of, ok := schema["additionalProperties"].(map[string]any); ok {
			out[text] = filled(of, text)
		}
		return out
	case "array":
		items := schema["items"].(map[string]any)
		return []any{filled(items, text), filled(items, text+"2")}
	case "integer":
		return 3
	case "boolean":
		return true
	}
	return text
}

// commands are those whose output has a page, with the files of their schemas.
var commands = map[string]string{
	"status": "status", "plan": "plan", "diff": "diff", "verify": "verify", "replay": "replay", "explain": "explain",
	"explain --all": "explain-all", "migrate": "migrate",
}

func schemaOf(t *testing.T, command string) map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../docs/reference/" + commands[command] + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func documentOf(t *testing.T, command, text string) page.Document {
	t.Helper()
	data, err := json.Marshal(filled(schemaOf(t, command), text))
	if err != nil {
		t.Fatal(err)
	}
	return page.Document{Command: command, JSON: data}
}

// TestTemplatesReadPublishedFields: a field that no schema has would be empty on the page, and no test of its look would tell.
func TestTemplatesReadPublishedFields(t *testing.T) {
	published := map[string]bool{}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				add(each)
			}
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok {
				for name := range properties {
					published[name] = true
				}
			}
			for _, each := range v {
				add(each)
			}
		}
	}
	for command := range commands {
		add(schemaOf(t, command))
	}
	files, err := filepath.Glob("parts/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	read := 0
	field := regexp.MustCompile(`^[a-z]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range fieldsOf(t, file, string(text)) {
			if !field.MatchString(name) || name == "depth" { // ours, and that of tree
				continue
			}
			if read++; !published[name] {
				t.Errorf("%s reads %q, which no command prints", file, name)
			}
		}
	}
	if read < 50 {
		t.Errorf("%d fields were looked at", read)
	}
}

// fieldsOf returns the names of all fields in templates.
func fieldsOf(t *testing.T, file, text string) (out []string) {
	t.Helper()
	trees := map[string]*parse.Tree{}
	tree := parse.New(file)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		t.Fatal(err)
	}
	var walk func(n parse.Node)
	pipe := func(p *parse.PipeNode) {
		if p == nil {
			return
		}
		for _, c := range p.Cmds {
			for _, a := range c.Args {
				walk(a)
			}
		}
	}
	list := func(l *parse.ListNode) {
		if l == nil {
			return
		}
		for _, n := range l.Nodes {
			walk(n)
		}
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.FieldNode:
			out = append(out, n.Ident...)
		case *parse.ActionNode:
			pipe(n.Pipe)
		case *parse.PipeNode:
			pipe(n)
		case *parse.ListNode:
			list(n)
		case *parse.IfNode:
			pipe(n.Pipe)
			list(n.List)
			list(n.ElseList)
		case *parse.RangeNode:
			pipe(n.Pipe)
			list(n.List)
			list(n.ElseList)
		case *parse.WithNode:
			pipe(n.Pipe)
			list(n.List)
			list(n.ElseList)
		case *parse.TemplateNode:
			pipe(n.Pipe)
		}
	}
	for _, tree := range trees {
		walk(tree.Root)
	}
	return out
}

// TestHostileTextsStayText fills every field that a command prints with texts that run where they are not escaped.
func TestHostileTextsStayText(t *testing.T) {
	for command := range commands {
		for _, text := range hostile {
			d := documentOf(t, command, text)
			var file bytes.Buffer
			if err := page.Write(&file, text, d); err != nil {
				t.Fatal(err)
			}
			harmless(t, command+" in a file: "+text, file.String(), 1)
			if !strings.Contains(textOf(file.String()), text) {
				t.Errorf("%s: %q is not shown", command, text)
			}
			from := &fixed{documents: []page.Document{d}, answer: documentOf(t, "explain", text), of: text}
			for _, path := range []string{"/now", "/routes", "/plan", "/diff", "/diagnostics", "/search?q=" + escape("a"),
				"/ask?url=" + escape(text) + "&headers=" + escape(text), "/search?q=" + escape(text)} {
				got := get(t, page.Handler(from), "localhost:1", path)
				if got.Code == http.StatusOK {
					harmless(t, command+" at "+path+": "+text, got.Body.String(), 1)
				}
			}
		}
	}
}

func escape(text string) string {
	return strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", "+", "%2B", " ", "%20", "<", "%3C", ">", "%3E", `"`, "%22",
		"{", "%7B", "}", "%7D").Replace(text)
}

// harmless fails for scripts besides ours, for handlers of events, styles and links that run, and for resources from elsewhere.
func harmless(t *testing.T, what, text string, scripts int) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" {
			found++
		}
		if slices.Contains([]string{"iframe", "object", "embed", "base", "img"}, n.Data) {
			t.Errorf("%s: there is a %s", what, n.Data)
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style",
				strings.HasPrefix(value, "javascript:") && a.Key != "value":
				t.Errorf("%s: %s has %s=%q", what, n.Data, a.Key, a.Val)
			case slices.Contains([]string{"href", "src", "action", "srcset", "poster"}, a.Key) && (strings.Contains(value, "//") || strings.HasPrefix(value, "http")) &&
				!strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "data:application/gzip;base64,"):
				t.Errorf("%s: %s has %s=%q", what, n.Data, a.Key, a.Val)
			}
		}
	}
	if found != scripts {
		t.Errorf("%s: there are %d scripts, want %d", what, found, scripts)
	}
}

func textOf(page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return ""
	}
	var out strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			out.WriteString(n.Data)
		}
	}
	return out.String()
}

// fixed is a source of documents that a test changes.
type fixed struct {
	documents []page.Document
	answer    page.Document
	err       error
	version   int
	changed   chan struct{}
	asked     page.Question
	of        string
}

func (f *fixed) Documents(context.Context) ([]page.Document, error) { return f.documents, f.err }
func (f *fixed) Version() (string, <-chan struct{})                 { return strconv.Itoa(f.version), f.changed }
func (f *fixed) Of() string                                         { return f.of }
func (f *fixed) Explain(_ context.Context, q page.Question) (page.Document, error) {
	f.asked = q
	return f.answer, f.err
}

func get(t *testing.T, h http.Handler, host, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestThePageIsForLoopbackAlone: a page of another site that has its name lead to loopback gets nothing, and nothing is written.
func TestThePageIsForLoopbackAlone(t *testing.T) {
	h := page.Handler(&fixed{documents: []page.Document{documentOf(t, "status", "secret")}})
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example:1", "", "0.0.0.0:80",
		"10.0.0.1", "[::]:80", "localhost@evil.example"} {
		for _, path := range []string{"/now", "/json/status", "/changes", "/script.js"} {
			if got := get(t, h, host, path); got.Code != http.StatusMisdirectedRequest || strings.Contains(got.Body.String(), "secret") {
				t.Errorf("%s of %q: %d %s", path, host, got.Code, got.Body)
			}
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "[::1]"} {
		if got := get(t, h, host, "/now"); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "secret") {
			t.Errorf("%q: %d", host, got.Code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		r := httptest.NewRequestWithContext(t.Context(), method, "/now", strings.NewReader("x"))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	policy := get(t, h, "localhost", "/now").Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
}

// TestAViewIsWhatACommandPrints: the JSON behind a view is byte for byte the command's.
func TestAViewIsWhatACommandPrints(t *testing.T) {
	from := &fixed{documents: []page.Document{documentOf(t, "status", "x"), documentOf(t, "plan", "x")}, answer: documentOf(t, "explain", "x")}
	h := page.Handler(from)
	for i, path := range []string{"/json/status", "/json/plan"} {
		if got := get(t, h, "localhost", path); got.Body.String() != string(from.documents[i].JSON) {
			t.Errorf("%s differs", path)
		}
	}
	ask := "?url=https%3A%2F%2Fa.example%2Fx&method=PUT&headers=A%3A+1%0D%0AB%3A+2&client=192.0.2.1"
	if got := get(t, h, "localhost", "/json/explain"+ask); got.Body.String() != string(from.answer.JSON) {
		t.Error("/json/explain differs")
	}
	want := page.Question{URL: "https://a.example/x", Method: "PUT", Headers: []string{"A: 1", "B: 2"}, Client: "192.0.2.1"}
	if from.asked.URL != want.URL || from.asked.Method != want.Method || !slices.Equal(from.asked.Headers, want.Headers) || from.asked.Client != want.Client {
		t.Errorf("%+v was asked", from.asked)
	}
	shown := get(t, h, "localhost", "/ask"+ask).Body.String()
	for _, kept := range []string{`value="https://a.example/x"`, `value="PUT"`, "A: 1", `value="192.0.2.1"`} {
		if !strings.Contains(shown, kept) {
			t.Errorf("the question is not kept: %s", kept)
		}
	}
}

const twoHosts = `{"loadBalancers": [], "diagnostics": [], "problems": [], "summary": {"findings": {}}, "hosts": [
 {"host": "a.example", "port": 80, "protocol": "HTTP", "loadBalancer": "c/a/internal", "default": {"answer": "404"}, "refused": [], "routes": [
  {"path": "/cart", "type": "Prefix", "answer": "Service shop/cart"}, {"path": "/", "type": "Prefix", "answer": "Service shop/front"},
  {"path": "/cart/new", "type": "Exact", "answer": "Service shop/new", "unreachable": true, "behind": ["Ingress b/other"]}]},
 {"host": "b.example", "port": 443, "protocol": "HTTPS", "loadBalancer": "c/b/internal", "default": {"answer": "404"}, "refused": [], "routes": [
  {"path": "/", "type": "Prefix", "answer": "Service shop/back"}]}]}`

// TestASearchHidesOtherRows: without the script, too.
func TestASearchHidesOtherRows(t *testing.T) {
	h := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(twoHosts)}}})
	visible := func(path string) string { return withoutHidden(get(t, h, "localhost", path).Body.String()) }
	for query, want := range map[string][2]string{
		"CART":      {"shop/cart", "shop/front"},
		"b.example": {"shop/back", "shop/cart"},
		"a.example": {"shop/front", "shop/back"},
		"other":     {"Ingress b/other", "shop/front"},
	} {
		for _, path := range []string{"/routes?q=", "/search?q="} {
			got := visible(path + query)
			if !strings.Contains(got, want[0]) || strings.Contains(got, want[1]) {
				t.Errorf("%s%s shows, want %q and not %q:\n%s", path, query, want[0], want[1], got)
			}
		}
	}
	if got := visible("/routes"); !strings.Contains(got, "shop/cart") || !strings.Contains(got, "shop/back") {
		t.Errorf("all is not shown: %s", got)
	}
	at := strings.Index
	if got := visible("/routes"); at(got, "shop/front") > at(got, "shop/cart") || at(got, "shop/cart") > at(got, "shop/new") {
		t.Errorf("paths are not below those above them: %s", got)
	}
}

// TestAViewIsWrittenOnce for the same documents, and before the first request for it where that is prepared.
func TestAViewIsWrittenOnce(t *testing.T) {
	from := &fixed{documents: []page.Document{documentOf(t, "status", "x"), documentOf(t, "plan", "x")}}
	cost := func(h http.Handler, path string) float64 {
		return testing.AllocsPerRun(1, func() { // it runs once before it counts
			if got := get(t, h, "localhost", path); got.Code != http.StatusOK {
				t.Error(path, got.Code)
			}
		})
	}
	for _, view := range []string{"/now", "/routes", "/plan", "/diagnostics"} {
		fresh := testing.AllocsPerRun(1, func() { get(t, page.Handler(from), "localhost", view) })
		if again := cost(page.Handler(from), view); again > fresh/3 {
			t.Errorf("%s: the second view takes %.0f allocations, the first %.0f", view, again, fresh)
		}
		var prepared []*page.Server
		for range 2 {
			h := page.Handler(from)
			h.Prepare(t.Context())
			prepared = append(prepared, h)
		}
		if first := testing.AllocsPerRun(1, func() {
			get(t, prepared[0], "localhost", view)
			prepared = prepared[1:]
		}); first > fresh/3 {
			t.Errorf("%s: the first view takes %.0f allocations though it is prepared, and else %.0f", view, first, fresh)
		}
	}
}

// TestAViewFollowsItsDocuments: neither other documents nor a search shows what was written before.
func TestAViewFollowsItsDocuments(t *testing.T) {
	from := &fixed{documents: []page.Document{{Command: "status", JSON: []byte(twoHosts)}}}
	h := page.Handler(from)
	h.Prepare(t.Context())
	whole := get(t, h, "localhost", "/routes").Body.String()
	if found := get(t, h, "localhost", "/routes?q=cart").Body.String(); withoutHidden(found) == withoutHidden(whole) {
		t.Error("a search shows all")
	}
	if again := get(t, h, "localhost", "/routes").Body.String(); again != whole {
		t.Errorf("after a search: %s", again)
	}
	if other := get(t, h, "localhost", "/now").Body.String(); strings.Contains(other, "shop/front") {
		t.Errorf("another view: %s", other)
	}
	from.documents = []page.Document{{Command: "status", JSON: []byte(strings.ReplaceAll(twoHosts, "shop/front", "shop/new-front"))}}
	if got := get(t, h, "localhost", "/routes").Body.String(); !strings.Contains(got, "shop/new-front") || strings.Contains(got, "shop/front") {
		t.Errorf("other documents: %s", got)
	}
}

// withoutHidden is the text of a page that is not hidden.
func withoutHidden(text string) string {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return ""
	}
	var out strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" }) {
			return
		}
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(root)
	return out.String()
}

// TestChangesAreSent asks a served page for changes.
func TestChangesAreSent(t *testing.T) {
	from := &changing{fixed: fixed{changed: make(chan struct{})}}
	server := httptest.NewServer(page.Handler(from))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	for _, want := range []string{"data: 0\n\n", "data: 1\n\n"} { // the first is the version that is there
		sent := make([]byte, len(want))
		if _, err := io.ReadFull(answer.Body, sent); err != nil || string(sent) != want {
			t.Errorf("%q, %v", sent, err)
		}
		from.change()
	}
}

// TestAProblemIsShown: what cannot be read is said, and the views stay.
func TestAProblemIsShown(t *testing.T) {
	h := page.Handler(&fixed{err: errors.New("a.yaml:3: it is no YAML"), documents: nil})
	for _, path := range []string{"/now", "/ask?url=http://a.example/"} {
		got := get(t, h, "localhost", path).Body.String()
		if !strings.Contains(textOf(got), "a.yaml:3: it is no YAML") || !strings.Contains(got, `href="/now"`) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestWithoutAPlanItsCommandIsNamed: of a cluster, whose cloud is not read.
func TestWithoutAPlanItsCommandIsNamed(t *testing.T) {
	status := `{"summary": {"attention": 0, "findings": {}}, "hosts": [], "diagnostics": [], "problems": [], "loadBalancers": [
 {"key": "a", "rules": {}, "certificates": {}, "members": [], "notKnown": [{"what": "x", "command": "fairlead status --live"}, {"what": "y", "command": "fairlead plan --live --provider aws"}]},
 {"key": "b", "rules": {}, "certificates": {}, "members": [], "notKnown": [{"what": "y", "command": "fairlead plan --live --provider aws"}]}]}`
	h := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(status)}}})
	got := get(t, h, "localhost", "/plan")
	text := textOf(got.Body.String())
	if got.Code != http.StatusOK || !strings.Contains(text, "fairlead plan --live --provider aws has the plan of 2 load balancers.") ||
		strings.Contains(text, "status --live") || !strings.Contains(get(t, h, "localhost", "/now").Body.String(), `href="/plan"`) {
		t.Errorf("%d %s", got.Code, text)
	}
	if found := get(t, h, "localhost", "/search?q=aws").Body.String(); strings.Contains(found, "has the plan of") {
		t.Errorf("a search finds it: %s", found)
	}
	both := page.Handler(&fixed{documents: []page.Document{documentOf(t, "status", "x"), documentOf(t, "plan", "x")}})
	if text := get(t, both, "localhost", "/plan").Body.String(); strings.Contains(text, "has the plan of") || strings.Count(text, `href="/plan"`) != 1 {
		t.Errorf("beside a plan: %s", text)
	}
}

// TestThePlanThatIsRemembered is shown without the cloud: what is not done first.
func TestThePlanThatIsRemembered(t *testing.T) {
	status := `{"summary": {"findings": {}}, "hosts": [], "diagnostics": [], "problems": [], "loadBalancers": [
 {"key": "c/a", "rules": {}, "certificates": {}, "members": [], "notKnown": [], "lastChange": {"at": "2026-01-02T03:04:05Z", "summary": "1 to create", "done": 1, "steps": ["create rule 80/1"]}},
 {"key": "c/b", "rules": {}, "certificates": {}, "members": [], "notKnown": [], "lastError": "the cloud is down", "lastChange": {"summary": "52 to create", "done": 7, "steps": ["create rule 80/2", "create rule 80/3"], "omitted": 50}},
 {"key": "c/c", "rules": {}, "certificates": {}, "members": [], "notKnown": [], "lastChange": {"summary": "nothing", "done": 0, "steps": []}},
 {"key": "c/d", "rules": {}, "certificates": {}, "members": [], "notKnown": []}]}`
	h := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(status)}}})
	got := get(t, h, "localhost", "/plan").Body.String()
	text, last := textOf(got), -1
	for _, want := range []string{"The last plan of each load balancer", "not done", "c/b", "52 to create; 7 of 52 steps done", "create rule 80/2", "and 50 more", "the cloud is down",
		"c/a", "2026-01-02T03:04:05Z: 1 to create; 1 of 1 step done", "create rule 80/1"} {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is not behind what comes before it:\n%s", want, text)
		}
		last = at
	}
	if strings.Contains(text, "c/c") || strings.Contains(text, "c/d") || strings.Count(text, "not done") != 1 || strings.Count(got, " open>") != 1 {
		t.Errorf("%s", got)
	}
	if found := withoutHidden(get(t, h, "localhost", "/plan?q=80/1").Body.String()); !strings.Contains(found, "c/a") || strings.Contains(found, "c/b") {
		t.Errorf("a search shows %s", found)
	}
	none := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(strings.ReplaceAll(status, "lastChange", "x"))}}})
	if text := get(t, none, "localhost", "/plan").Body.String(); strings.Contains(text, "The last plan") {
		t.Errorf("of none: %s", text)
	}
}

const degraded = `{"summary": {"attention": 1, "loadBalancers": 2, "findings": {"errors": 2, "warnings": 5}}, "problems": [], "diagnostics": [
 {"severity": "error", "reason": "R1", "source": "Ingress a/x", "message": "no port", "remedy": "Correct ` + "`<port>`" + `.", "namespace": "a"},
 {"severity": "warning", "reason": "R2", "source": "Ingress a/y", "message": "m2", "namespace": "a"},
 {"severity": "error", "reason": "R3", "source": "Ingress b/z", "message": "m3", "namespace": "b"},
 {"severity": "info", "reason": "R4", "source": "Ingress b/n", "message": "m4", "namespace": "b"},
 {"severity": "warning", "reason": "R5", "source": "Ingress b/n", "message": "m5", "namespace": "b"}, {"severity": "warning", "reason": "R6", "source": "Ingress b/n", "message": "m6", "namespace": "b"},
 {"severity": "warning", "reason": "R7", "source": "Ingress b/n", "message": "m7", "namespace": "b"}], "loadBalancers": [
 {"key": "c/a/internal", "state": "attention", "rules": {}, "certificates": {}, "members": ["a/x", "a/y"], "notKnown": [{"what": "the cloud", "command": "fairlead plan"}, {"what": "the report", "command": "fairlead status"}]},
 {"key": "c/b/internal", "state": "ok", "rules": {}, "certificates": {}, "members": ["b/1", "b/2", "b/3", "b/4"], "notKnown": [{"what": "the cloud", "command": "fairlead plan"}]}], "hosts": [
 {"host": "a.example", "port": 80, "protocol": "HTTP", "loadBalancer": "c/a/internal", "default": {"answer": "fixed response 404"}, "refused": [], "routes": [
  {"path": "/", "type": "Prefix", "answer": "Service a/front"}, {"path": "/", "type": "Prefix", "answer": "Service a/other", "unreachable": true}]},
 {"host": "b.example", "port": 80, "protocol": "HTTP", "loadBalancer": "c/b/internal", "default": {"answer": "fixed response 404"}, "routes": [
  {"path": "/", "type": "Prefix", "when": "method = POST", "answer": "Service b/front"}], "refused": [{"severity": "error", "reason": "R3", "source": "Ingress b/z", "message": "m3"}]}]}`

// TestNowBeginsWithWhatIsWrong: errors, with what to do, before warnings and load balancers. What is not known is said once.
func TestNowBeginsWithWhatIsWrong(t *testing.T) {
	h := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(degraded)}}})
	now := get(t, h, "localhost", "/now").Body.String()
	text, last := textOf(now), -1
	for _, want := range []string{"R1", "no port", "Do this: Correct <port>.", "R3", "R2", "R5", "R6", "All 2 errors and 5 warnings", "the cloud. fairlead plan knows it",
		"of 1 load balancer: the report. fairlead status knows it", "c/a/internal", "a/x, a/y", "c/b/internal", "4 Ingresses"} {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is not behind what comes before it:\n%s", want, text)
		}
		last = at
	}
	if strings.Contains(text, "R4") || strings.Contains(text, "R7") || strings.Count(text, "fairlead plan") != 1 || !strings.Contains(now, "<code>&lt;port&gt;</code>") {
		t.Errorf("%s", now)
	}
	if found := textOf(get(t, h, "localhost", "/search?q=m3").Body.String()); strings.Count(found, "Ingress b/z") != 2 { // a diagnostic, and its host
		t.Errorf("a search finds a diagnostic twice: %s", found)
	}
	if found := withoutHidden(get(t, h, "localhost", "/now?q=m3").Body.String()); !strings.Contains(found, "R3") || strings.Contains(found, "R1") {
		t.Errorf("a search does not hide others: %s", found)
	}
	if !strings.Contains(now, `href="/routes?q=c%2Fa%2Finternal"`) {
		t.Error("a load balancer does not lead to its routes")
	}
	if routes := withoutHidden(get(t, h, "localhost", "/routes?q=c/a/internal").Body.String()); !strings.Contains(routes, "Service a/front") || strings.Contains(routes, "Service b/front") {
		t.Errorf("the routes of a load balancer are %s", routes)
	}
}

// TestAHostSaysWhatIsWrongWithIt before it is opened, and nothing about requests that there are none of.
func TestAHostSaysWhatIsWrongWithIt(t *testing.T) {
	h := page.Handler(&fixed{documents: []page.Document{{Command: "status", JSON: []byte(degraded)}}})
	a, b, _ := strings.Cut(textOf(get(t, h, "localhost", "/routes").Body.String()), "b.example")
	if !strings.Contains(a, "1 not reached") || strings.Contains(a, "everything else") {
		t.Errorf("a Prefix / takes all: %s", a)
	}
	if !strings.Contains(b, "1 error") || !strings.Contains(b, "everything else → fixed response 404") {
		t.Errorf("one with a condition does not: %s", b)
	}
}

// TestAPlanSaysItsErrors, as a file of it has no other view.
func TestAPlanSaysItsErrors(t *testing.T) {
	plan := `{"summary": {"create": 0, "change": 0, "delete": 0, "errors": 1}, "steps": [], "problems": [], "proofs": [], "diagnostics": [
 {"severity": "info", "reason": "R4", "source": "Ingress b/n", "message": "m4"}, {"severity": "warning", "reason": "R2", "source": "Ingress a/y", "message": "m2"},
 {"severity": "error", "reason": "R1", "source": "Ingress a/x", "message": "no port"}]}`
	var file bytes.Buffer
	if err := page.Write(&file, "x", page.Document{Command: "plan", JSON: []byte(plan)}); err != nil {
		t.Fatal(err)
	}
	text := textOf(file.String())
	if !strings.Contains(text, "1 error\n") || strings.Index(text, "Ingress a/x: no port") > strings.Index(text, "Ingress a/y: m2") || strings.Contains(text, "m4") {
		t.Errorf("%s", text)
	}
}

// TestWhatViolatesAnExpectationEverywhereIsShort: its first routes are shown, and the file has all in its JSON.
func TestWhatViolatesAnExpectationEverywhereIsShort(t *testing.T) {
	file := func(many int) string {
		var violations []string
		for i := range many {
			violations = append(violations, fmt.Sprintf(`{"curl": "curl http://%d.example/", "problems": ["p"], "answer": {"action": "a", "why": "w"}}`, i))
		}
		report := `{"summary": {"violated": 1}, "notChecked": [], "expectations": [{"name": "e", "verdict": "violated", "applies": true, "undecided": [], "violations": [` +
			strings.Join(violations, ",") + "]}]}"
		var out bytes.Buffer
		if err := page.Write(&out, "x", page.Document{Command: "verify", JSON: []byte(report)}); err != nil {
			t.Fatal(err)
		}
		return textOf(out.String())
	}
	const said = "fairlead verify -o json prints all."
	if text := file(300); strings.Count(text, "curl http://") != 100 || !strings.Contains(text, "And 200 more routes: "+said) {
		t.Errorf("of 300: %s", text)
	}
	if text := file(101); !strings.Contains(text, "And 1 more route: "+said) {
		t.Errorf("of 101: %s", text)
	}
	if text := file(100); strings.Count(text, "curl http://") != 100 || strings.Contains(text, said) {
		t.Errorf("of 100: %s", text)
	}
}

// TestAnAnswerOfSeveralLoadBalancers is told to be that of one of them, and its status is a heading.
func TestAnAnswerOfSeveralLoadBalancers(t *testing.T) {
	answer := `{"url": "http://a.example/", "named": true, "loadBalancer": "c/a", "loadBalancers": ["c/a", "c/b"], "outcome": {"kind": "service", "service": "a/x", "port": 81, "status": 503},
 "why": "w", "over": [], "hosts": [], "paths": [], "others": [{"loadBalancer": "c/b", "why": "v", "outcome": {"kind": "fixed", "status": 404}}],
 "ports": [{"port": 443, "url": "https://a.example/x?y", "source": "s", "outcome": {"kind": "service", "service": "a/x", "port": 80}}],
 "refused": [{"source": "Ingress a/x", "severity": "error", "reason": "ServicePortMissing", "message": "m", "state": "problem"}]}`
	from := &fixed{answer: page.Document{Command: "explain", JSON: []byte(answer)}}
	got := get(t, page.Handler(from), "localhost", "/ask?url=a.example").Body.String()
	for _, want := range []string{`role="heading" aria-level="2">503: no targets of Service a/x port 81</div>`, "2 load balancers name this host", "This is the answer of c/a.",
		`<dt>port 443</dt><dd>has it: <a href="/ask?url=https%3A%2F%2Fa.example%2Fx%3Fy">https://a.example/x?y</a> is answered by Service a/x port 80`,
		"<dt>problem</dt>", "c/b: <strong>404</strong>", "<details><summary>Method"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if with := get(t, page.Handler(from), "localhost", "/ask?url=a.example&client=192.0.2.1").Body.String(); !strings.Contains(with, "<details open><summary>Method") {
		t.Errorf("what was asked is closed: %s", with)
	}
	from.answer.JSON = []byte(strings.Replace(answer, `[{"loadBalancer": "c/b", "why": "v", "outcome": {"kind": "fixed", "status": 404}}]`, "[]", 1))
	if got := get(t, page.Handler(from), "localhost", "/ask?url=a.example").Body.String(); strings.Contains(got, "name this host") {
		t.Errorf("of one alone: %s", got)
	}
}

// changing is a source of which a test has the next version.
type changing struct {
	fixed
	mu sync.Mutex
}

func (c *changing) Version() (string, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fixed.Version()
}

func (c *changing) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.version++
	c.changed = make(chan struct{})
}

// telling is a response that does something when a part of it is written.
type telling struct {
	http.ResponseWriter
	written func()
}

func (w telling) Write(data []byte) (int, error) {
	w.written()
	return w.ResponseWriter.Write(data)
}

func (w telling) Flush() {}

// TestNoChangeIsMissedWhileOneIsTold: the documents change while a version is written.
func TestNoChangeIsMissedWhileOneIsTold(t *testing.T) {
	from := &changing{fixed: fixed{changed: make(chan struct{})}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/changes", nil)
	r.Host = "localhost"
	told := 0
	page.Handler(from).ServeHTTP(telling{httptest.NewRecorder(), func() {
		if told++; told == 1 {
			from.change()
		} else {
			cancel() // both are told
		}
	}}, r)
	if told != 2 {
		t.Errorf("%d versions are told, and there were 2", told)
	}
}

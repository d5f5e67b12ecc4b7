// Package page shows what commands print with -o json as HTML: as a page that is served on loopback, and as files that stand
// for themselves. It reads that JSON alone, so that a page knows no more than a script can.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"
)

//go:embed parts
var parts embed.FS

var (
	style  = mustRead("style.css")
	script = mustRead("script.js")
	pages  = template.Must(template.New("").Funcs(functions).ParseFS(parts, "parts/*.html"))
)

func mustRead(name string) string {
	data, err := parts.ReadFile("parts/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A Document is what a command has printed.
type Document struct {
	// Command is the command: plan, diff, verify, replay, migrate, status, explain or "explain --all".
	Command string
	JSON    []byte
}

// A section is a view of a document.
type section struct {
	ID, Title string
	template  string
	Command   string
	Body      template.HTML
	JSON      template.URL
}

// viewsOf are the sections of the documents of each command.
var viewsOf = map[string][]section{
	"status": {
		{ID: "now", Title: "Now", template: "now"},
		{ID: "routes", Title: "Routes", template: "routes"},
		{ID: "diagnostics", Title: "Diagnostics", template: "diagnostics"},
	},
	"explain":       {{ID: "ask", Title: "Ask", template: "ask"}},
	"explain --all": {{ID: "diagnostics", Title: "Diagnostics", template: "diagnostics"}},
	"plan":          {{ID: "plan", Title: "Plan", template: "plan"}},
	"diff":          {{ID: "diff", Title: "Differences", template: "diff"}},
	"verify":        {{ID: "verify", Title: "Expectations", template: "verify"}},
	"replay":        {{ID: "replay", Title: "Replayed requests", template: "replay"}},
	"migrate":       {{ID: "migrate", Title: "Migration", template: "migrate"}},
}

// noPlan stands in place of a plan, which takes the state of the cloud.
var noPlan = section{ID: "plan", Title: "Plan", template: "noplan"}

// A part is a section with the command whose document it shows.
type part struct {
	section
	of string
}

// partsOf returns the sections of documents. Where a cluster's status is shown without a plan, another one says which command has it.
func partsOf(all []Document) (out []part) {
	has := map[string]bool{}
	for _, d := range all {
		has[d.Command] = true
		for _, s := range viewsOf[d.Command] {
			out = append(out, part{s, d.Command})
		}
	}
	if has["status"] && !has["plan"] {
		out = append(out, part{noPlan, "status"})
	}
	return out
}

// A view is a link to a page or a section.
type view struct {
	Address template.URL
	Title   string
	Current bool
}

// A layout is a whole page.
type layout struct {
	Title, Of, Query string
	Version          string // of the documents
	Served           bool
	Views            []view
	Sections         []section
	Policy           string
	Style            template.CSS
	Script           template.JS
}

// A context is what the template of a section gets.
type context struct {
	Doc    any
	Served bool
	Query  string     // which rows to show; in lower case
	Only   bool       // others are left out, and not merely hidden
	Form   url.Values // of the view that asks
	// Problem is why a question has no answer.
	Problem string
	// Level is that of headings within the section.
	Level int
}

// body is the content of a section.
func (s section) body(c context) (template.HTML, error) {
	if s.ID == "diagnostics" {
		if report, ok := c.Doc.(map[string]any); ok {
			c.Doc = report["diagnostics"]
		}
	}
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, s.template, c); err != nil {
		return "", fmt.Errorf("writing the view %s: %w", s.Title, err)
	}
	return template.HTML(out.String()), nil //nolint:gosec // html/template has escaped it
}

// unread are the large parts of documents that no view shows, by command.
var unread = map[string][]string{"plan": {"loadBalancers", "state", "settings"}}

// decode reads what a command has printed, without what no view shows. Whole numbers are integers.
func (d Document) decode() (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(d.JSON))
	decoder.UseNumber()
	out, err := d.read(decoder)
	if err != nil {
		return nil, fmt.Errorf("reading what a command has printed: %w", err)
	}
	return numbers(out), nil
}

func (d Document) read(decoder *json.Decoder) (out any, err error) {
	leave := unread[d.Command]
	if leave == nil {
		err = decoder.Decode(&out)
		return out, err
	}
	if _, err := decoder.Token(); err != nil { // {
		return nil, err //nolint:wrapcheck // decode does
	}
	parts := map[string]any{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err //nolint:wrapcheck // decode does
		}
		if name := fmt.Sprint(name); slices.Contains(leave, name) {
			err = decoder.Decode(&json.RawMessage{})
		} else {
			var value any
			err = decoder.Decode(&value)
			parts[name] = value
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // decode does
		}
	}
	return parts, nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// Write writes a file that shows a document, and needs nothing else: it has its style, its script and, compressed, the JSON.
func Write(w io.Writer, of string, d Document) error {
	parts := viewsOf[d.Command]
	page := layout{Title: parts[0].Title, Of: of, Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // both are ours
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
			hashOf(style), hashOf(script))}
	value, err := d.decode()
	if err != nil {
		return err
	}
	compressed, err := compress(d.JSON)
	if err != nil {
		return err
	}
	for i, s := range parts {
		if s.Body, err = s.body(context{Doc: value, Level: levelOf(len(parts))}); err != nil {
			return err
		}
		if s.Command = "fairlead " + d.Command; i == 0 {
			s.JSON = template.URL("data:application/gzip;base64," + compressed) //nolint:gosec // base64
		}
		page.Sections = append(page.Sections, s)
		page.Views = append(page.Views, view{Address: template.URL("#" + s.ID), Title: s.Title}) //nolint:gosec // ours
	}
	return page.write(w)
}

// levelOf is the level of headings within sections. A section that is alone has its title in that of the page.
func levelOf(sections int) int {
	if sections > 1 {
		return 3
	}
	return 2
}

func (p layout) write(w io.Writer) error {
	if err := pages.ExecuteTemplate(w, "layout.html", p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func compress(data []byte) (string, error) {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	if _, err := packed.Write(data); err != nil {
		return "", fmt.Errorf("compressing the JSON: %w", err)
	}
	if err := packed.Close(); err != nil {
		return "", fmt.Errorf("compressing the JSON: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// hashOf permits one text: https://www.w3.org/TR/CSP3/#grammardef-hash-source.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// textOf has all texts of a value, in lower case.
func textOf(v any) string {
	var out strings.Builder
	addText(&out, v)
	return out.String()
}

func addText(out *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			addText(out, each)
		}
	case map[string]any:
		for _, each := range v {
			addText(out, each)
		}
	case nil:
	default:
		out.WriteString(strings.ToLower(fmt.Sprint(v)))
		out.WriteByte('\n')
	}
}

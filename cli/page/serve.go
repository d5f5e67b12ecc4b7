package page

import (
	gocontext "context"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// This file serves the page on loopback. It answers requests that name loopback alone, so that the page of another site
// cannot read it by a name that it has changed to this address; it changes nothing, and has no script or style within HTML.

// A Source has the documents that are shown now.
type Source interface {
	// Documents returns what commands would print now: the same slice until that changes.
	Documents(ctx gocontext.Context) ([]Document, error)
	// Explain returns what explain prints for a request.
	Explain(ctx gocontext.Context, q Question) (Document, error)
	// Version names what there is to show now, as no other Source names it. The channel is closed when it changes.
	Version() (string, <-chan struct{})
	// Of says what the documents are about: files, or a cluster.
	Of() string
}

// A Question is a request that a reader asks about.
type Question struct {
	URL, Method string
	Headers     []string
	Client      string
}

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// A Server serves the page.
type Server struct {
	from Source
	mux  http.ServeMux

	mu      sync.Mutex
	of      *Document                // the first of the documents that are decoded
	decoded map[string]any           // by command
	bodies  map[string]template.HTML // by view: those of no search
}

// Handler serves the page.
func Handler(from Source) *Server {
	s := &Server{from: from}
	s.mux.HandleFunc("GET /style.css", asset("text/css", style))
	s.mux.HandleFunc("GET /script.js", asset("text/javascript", script))
	s.mux.HandleFunc("GET /changes", s.changes)
	s.mux.HandleFunc("GET /json/{command}", s.json)
	s.mux.HandleFunc("GET /search", s.search)
	s.mux.HandleFunc("GET /ask", s.ask)
	s.mux.HandleFunc("GET /{view}", s.view)
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/now", http.StatusFound)
	})
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !isLoopback(r.Host) {
		http.Error(w, "This page is for localhost, 127.0.0.1 and [::1] alone: open it by one of these.", http.StatusMisdirectedRequest)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Prepare writes all views, so that the first request does not wait for them. What is wrong, the page says.
func (s *Server) Prepare(ctx gocontext.Context) {
	all, err := s.from.Documents(ctx)
	if err != nil {
		return
	}
	for _, p := range partsOf(all) {
		if _, err := s.body(all, p, context{Served: true, Level: levelOf(1)}); err != nil {
			return
		}
	}
}

// isLoopback reports whether a Host header names this machine.
func isLoopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]"}, strings.ToLower(name))
}

func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write([]byte(text)) // the client may be gone
	}
}

// value returns what a document has. It is decoded when it is first shown. The caller holds the lock.
func (s *Server) value(all []Document, command string) (any, error) {
	if value, known := s.decoded[command]; known {
		return value, nil
	}
	i := slices.IndexFunc(all, func(d Document) bool { return d.Command == command })
	value, err := all[i].decode()
	if err == nil {
		s.decoded[command] = value
	}
	return value, err
}

// body returns the content of a view. That of a view as it is, without a search, is written once for the same documents.
func (s *Server) body(all []Document, p part, c context) (template.HTML, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != &all[0] {
		s.of, s.decoded, s.bodies = &all[0], map[string]any{}, map[string]template.HTML{}
	}
	whole := c.Query == "" && !c.Only
	if body, known := s.bodies[p.ID]; known && whole {
		return body, nil
	}
	var err error
	if c.Doc, err = s.value(all, p.of); err != nil {
		return "", err
	}
	body, err := p.section.body(c)
	if err == nil && whole {
		s.bodies[p.ID] = body
	}
	return body, err
}

// changes tells the version that is there, and each that follows, as an event stream. A page that was made of another one asks
// for itself again: https://html.spec.whatwg.org/multipage/server-sent-events.html.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for {
		version, changed := s.from.Version()
		if _, err := fmt.Fprintf(w, "data: %s\n\n", version); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// json answers with what a command prints.
func (s *Server) json(w http.ResponseWriter, r *http.Request) {
	all, err := s.from.Documents(r.Context())
	if r.PathValue("command") == "explain" {
		var d Document
		d, err = s.from.Explain(r.Context(), questionOf(r.URL.Query()))
		all = []Document{d}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	for _, d := range all {
		if d.Command == r.PathValue("command") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(d.JSON)
			return
		}
	}
	http.NotFound(w, r)
}

func questionOf(form url.Values) Question {
	q := Question{URL: form.Get("url"), Method: form.Get("method"), Client: strings.TrimSpace(form.Get("client"))}
	for line := range strings.Lines(form.Get("headers")) {
		if line = strings.TrimSpace(line); line != "" {
			q.Headers = append(q.Headers, line)
		}
	}
	return q
}

// ask answers a question. The address has the question, so that it can be sent to others.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	form := r.URL.Query()
	c := context{Served: true, Form: form}
	part := viewsOf["explain"][0]
	page := s.layout(r, part.Title)
	if form.Get("url") != "" {
		d, err := s.from.Explain(r.Context(), questionOf(form))
		if err == nil {
			c.Doc, err = d.decode()
		}
		if err != nil {
			c.Problem = err.Error()
		}
	}
	part.Command, part.JSON = "fairlead explain URL", template.URL("/json/explain?"+form.Encode()) //nolint:gosec // encoded
	s.answerOne(w, r, page, part, c)
}

// view answers with one view.
func (s *Server) view(w http.ResponseWriter, r *http.Request) {
	s.sections(w, r, false, func(p section) bool { return p.ID == r.PathValue("view") })
}

// search answers with the rows of all views in which a text is.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	s.sections(w, r, true, func(section) bool { return true })
}

func (s *Server) sections(w http.ResponseWriter, r *http.Request, only bool, wanted func(section) bool) {
	page := s.layout(r, "Search")
	all, err := s.from.Documents(r.Context())
	if err != nil {
		s.failed(w, r, page, err)
		return
	}
	query := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	shown := slices.DeleteFunc(partsOf(all), func(p part) bool {
		return !wanted(p.section) || only && p.ID == noPlan.ID && p.of == "status"
	})
	for _, p := range shown {
		c := context{Served: true, Query: query, Only: only, Level: levelOf(len(shown))}
		if p.Body, err = s.body(all, p, c); err != nil {
			s.failed(w, r, page, err)
			return
		}
		p.Command, p.JSON = "fairlead "+p.of, template.URL("/json/"+p.of) //nolint:gosec // ours
		if page.Sections = append(page.Sections, p.section); !only {
			page.Title = p.Title
		}
	}
	if len(shown) == 0 {
		http.NotFound(w, r)
		return
	}
	s.answer(w, r, page)
}

// failed says why there are no documents. The next change shows them again.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, page layout, err error) {
	page.Title = "Nothing can be shown"
	s.answerOne(w, r, page, section{ID: "problem", template: "problem"}, context{Problem: err.Error()})
}

// layout is a page of the version that is there now: it is asked for before the documents, which may be newer.
func (s *Server) layout(r *http.Request, title string) layout {
	version, _ := s.from.Version()
	return layout{Title: title, Version: version, Served: true, Of: s.from.Of(), Query: r.URL.Query().Get("q")}
}

// answerOne answers with one section, which is written for this request.
func (s *Server) answerOne(w http.ResponseWriter, r *http.Request, page layout, p section, c context) {
	var err error
	c.Level = levelOf(1)
	if p.Body, err = p.body(c); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	page.Sections = []section{p}
	s.answer(w, r, page)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, page layout) {
	page.Views = s.views(r)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.write(w) // the client may be gone
}

// views are the links to all views.
func (s *Server) views(r *http.Request) []view {
	ids := []section{viewsOf["explain"][0]}
	all, err := s.from.Documents(r.Context())
	if err != nil {
		all = []Document{{Command: "status"}, {Command: "plan"}}
	}
	for _, p := range partsOf(all) {
		ids = append(ids, p.section)
	}
	order := []string{"now", "routes", "ask", "plan", "diff", "diagnostics"}
	slices.SortFunc(ids, func(a, b section) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	var out []view
	for _, p := range ids {
		out = append(out, view{template.URL("/" + p.ID), p.Title, r.URL.Path == "/"+p.ID}) //nolint:gosec // ours
	}
	return out
}

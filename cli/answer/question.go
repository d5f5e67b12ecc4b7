package answer

import (
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"fairlead.dev/fairlead/model/routing"
)

// A Question is the request to be explained.
type Question struct {
	Asked   string // as it would be given to curl
	Scheme  string
	Query   string
	Request routing.Request
}

// Questions returns the requests of a client for the URLs. The error names each text that is no
// URL.
func Questions(urls []string, method string, headers []string) ([]Question, error) {
	if !isToken(method) {
		return nil, fmt.Errorf("--request: %q is not a method, such as GET", method)
	}
	fields := map[string][]string{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header: %q is not of the form 'Name: value'", h)
		}
		if name = strings.TrimSpace(name); strings.EqualFold(name, "Host") {
			return nil, fmt.Errorf("--header: %q: the URL has the host, so write it there", h)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		fields[name] = append(fields[name], strings.TrimSpace(value))
	}
	var asked []Question
	var wrong []error
	for _, text := range urls {
		q, err := Ask(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", text, err))
			continue
		}
		q.Request.Method, q.Request.Header = method, fields
		asked = append(asked, q)
	}
	return asked, errors.Join(wrong...)
}

// isToken reports whether a text can be the method of a request
// (https://www.rfc-editor.org/rfc/rfc9110#name-tokens).
func isToken(text string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune(marks, r)
	})
}

// Ask reads a URL, which may lack http://. It keeps the path as it is written: clients send it so,
// and rules match it so.
func Ask(text string) (Question, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return Question{}, fmt.Errorf("reading the URL: %w", errors.Unwrap(err))
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	switch {
	case usual == "":
		return Question{}, fmt.Errorf("reading the URL: the scheme is %s, neither http nor https",
			u.Scheme)
	case u.Hostname() == "":
		return Question{}, errors.New("reading the URL: it has no host")
	}
	name, err := hostSent(u.Hostname())
	if err != nil {
		return Question{}, err
	}
	host, port := strings.Replace(u.Host, u.Hostname(), name, 1), u.Port()
	if port == "" || port == usual {
		host, port = name, usual
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return Question{}, fmt.Errorf("reading the URL: %s is not a port", port)
	}
	q := Question{
		Scheme: u.Scheme,
		Query:  u.RawQuery,
		Request: routing.Request{
			Port: int32(number), // at most 65535
			Host: host, Path: writtenPath(text), Query: u.Query(),
		},
	}
	q.Asked = q.Scheme + "://" + host + q.Request.Path
	if q.Query != "" {
		q.Asked += "?" + q.Query
	}
	return q, nil
}

// hostSent returns the name that clients send for a host: other letters than those of ASCII are
// encoded (https://www.rfc-editor.org/rfc/rfc5891#section-4.4). A wildcard is no name.
func hostSent(host string) (string, error) {
	if strings.Contains(host, "*") {
		return "", fmt.Errorf("reading the URL: %s is not the name of a host, but many: ask for one of "+
			"them, such as %s", host, strings.ReplaceAll(host, "*", "www"))
	}
	if !strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return host, nil
	}
	sent, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("reading the URL: %s is not the name of a host: %w", host, err)
	}
	return sent, nil
}

// writtenPath returns the path of a URL that has a scheme. Only bytes that cannot be sent are
// encoded.
func writtenPath(text string) string {
	_, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	start := strings.IndexByte(rest, '/')
	if start < 0 {
		return "/"
	}
	return routing.Sendable(rest[start:])
}

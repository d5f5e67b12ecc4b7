package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

// This file prints requests.

// Written returns a request over a scheme in printable form.
func Written(scheme string, r routing.Request) Request {
	out := Request{Method: r.Method, Routed: r, Headers: r.Header}
	if r.Source.IsValid() {
		out.Source = r.Source.String()
	}
	host := r.Host
	if r.Port != map[string]int32{"http": 80, "https": 443}[scheme] {
		host += fmt.Sprintf(":%d", r.Port)
	}
	out.URL = scheme + "://" + host + routing.Sendable(r.Path)
	if len(r.Query) > 0 {
		out.URL += "?" + query(r.Query)
	}
	return out
}

// query returns parameters as rules compare them: only bytes that clients always encode are
// encoded.
func query(parameters map[string][]string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~:/@!$'(),*?-"
	var b strings.Builder
	write := func(text string) {
		for _, c := range []byte(text) {
			if strings.IndexByte(plain, c) < 0 {
				fmt.Fprintf(&b, "%%%02X", c)
				continue
			}
			b.WriteByte(c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		for _, value := range parameters[name] {
			if b.Len() > 0 {
				b.WriteByte('&')
			}
			write(name)
			b.WriteByte('=')
			write(value)
		}
	}
	return b.String()
}

// Curl returns the request as a command line. Curl sends the path unchanged only with an option
// (https://curl.se/docs/manpage.html#--path-as-is, and #-g for brackets and braces).
func (r Request) Curl() string {
	words := []string{"curl"}
	if strings.Contains(r.URL, "/.") {
		words = append(words, "--path-as-is")
	}
	if strings.ContainsAny(r.URL, "[]{}") {
		words = append(words, "-g")
	}
	switch r.Method {
	case "GET":
	case "HEAD":
		words = append(words, "-I")
	default:
		words = append(words, "-X", printable.Shell(r.Method))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		for _, value := range r.Headers[name] {
			field := name + ": " + value
			if value == "" {
				field = name + ";" // how curl sends a header without a value
			}
			words = append(words, "-H", printable.Shell(field))
		}
	}
	line := strings.Join(append(words, printable.Shell(r.URL)), " ")
	if r.Source != "" {
		line += " # from " + r.Source
	}
	return line
}

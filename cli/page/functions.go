package page

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"slices"
	"strings"
)

// This file has what the templates call.

var functions = template.FuncMap{
	"rows": rows, "tree": tree, "commands": commands, "notKnown": notKnown, "first": first, "lost": lost,
	"takesAll": takesAll, "prose": prose,
	"join":  func(first, second any) []any { return slices.Concat(list(first), list(second)) },
	"count": count, "sum": sum, "noun": noun, "port": port,
	"colour": colour, "settings": settings, "changed": changed, "planned": planned, "unfinished": unfinished,
	"commas": commas, "shown": shown, "more": more,
	"id": identify, "lower": strings.ToLower, "list": list, "outcome": outcome, "namespaces": namespaces, "groups": groups,
	"changes": changes, "pair": func(first, second any) pair { return pair{first, second} },
	"ask": func(address string) template.URL {
		return template.URL("/ask?url=" + url.QueryEscape(address)) //nolint:gosec // it is escaped
	},
	"search": func(view string, text any) template.URL {
		return template.URL(view + "?q=" + url.QueryEscape(fmt.Sprint(text))) //nolint:gosec // it is escaped
	},
}

// colour is that of a step by what it does.
func colour(op string) string {
	switch verb, _, _ := strings.Cut(op, " "); verb {
	case "create":
		return "good"
	case "delete":
		return "bad"
	}
	return "warn"
}

// settings says what becomes of the settings of a step.
func settings(all any) string {
	var out strings.Builder
	for i, s := range list(all) {
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(field(s, "name") + ": ")
		if old := field(s, "old"); old != "" {
			out.WriteString(old + " → ")
		}
		out.WriteString(cmp.Or(field(s, "new"), "unset"))
	}
	return out.String()
}

// mostShown is how many routes that violate an expectation are shown: a request that is answered wrongly everywhere is one
// mistake, and thousands of cards hide the next one.
const mostShown = 100

// shown returns the beginning of a list, and more how many elements are left.
func shown(all any) []any { return list(all)[:min(mostShown, len(list(all)))] }

func more(all any) int { return max(0, len(list(all))-mostShown) }

// changed returns the load balancers of which the operator remembers steps, those whose steps are not all done first.
func changed(balancers any) []any {
	var done, open []any
	for _, l := range list(balancers) {
		of, _ := l.(map[string]any)
		switch change := of["lastChange"]; {
		case planned(change) == 0:
		case unfinished(change):
			open = append(open, l)
		default:
			done = append(done, l)
		}
	}
	return append(open, done...)
}

// planned is the number of steps of a change, and unfinished reports whether some are not done.
func planned(change any) int64 {
	of, _ := change.(map[string]any)
	return int64(len(list(of["steps"]))) + sum(of["omitted"])
}

func unfinished(change any) bool {
	of, _ := change.(map[string]any)
	return sum(of["done"]) < planned(change)
}

// commas are the elements of a list.
func commas(all any) string {
	var out []string
	for _, v := range list(all) {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}

// sum adds whole numbers.
func sum(all ...any) (out int64) {
	for _, v := range all {
		if n, ok := v.(int64); ok {
			out += n
		}
	}
	return out
}

// count returns a number with its noun.
func count(n any, of string) string { return fmt.Sprint(n) + " " + noun(n, of) }

// noun returns a noun for a number of things.
func noun(n any, of string) string {
	switch {
	case fmt.Sprint(n) == "1":
		return of
	case strings.HasSuffix(of, "s"):
		return of + "es"
	case of == "kind of request":
		return "kinds of requests"
	}
	return of + "s"
}

// port returns a port as URLs have it: not the usual one of a protocol.
func port(protocol string, port any) string {
	if usual := map[string]string{"HTTP": "80", "HTTPS": "443"}[protocol]; usual == fmt.Sprint(port) {
		return ""
	}
	return ":" + fmt.Sprint(port)
}

type pair struct{ First, Second any }

// A row is an element of a list, which a search may hide.
type row struct {
	V            any
	Hidden, Open bool
	C            context // for what the row contains
}

// rows returns the elements of a list. If the search finds the name of one, it finds all that the element contains.
func rows(c context, all any) []row {
	var out []row
	for _, v := range list(all) {
		r := row{V: v, C: c}
		if c.Query != "" {
			r.Hidden = !strings.Contains(textOf(v), c.Query)
			if of, ok := v.(map[string]any); ok && strings.Contains(textOf([]any{of["host"], of["loadBalancer"]}), c.Query) {
				r.C.Query = ""
			}
			r.Open = !r.Hidden
		}
		if !r.Hidden || !c.Only {
			out = append(out, r)
		}
	}
	return out
}

// list returns a list, or one element as a list.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// field returns a text of an element.
func field(v any, name string) string {
	if of, ok := v.(map[string]any); ok && of[name] != nil {
		return fmt.Sprint(of[name])
	}
	return ""
}

// identify returns a short name for an element by some of its fields, which stays the same when others change.
func identify(v any, names ...string) string {
	hash := fnv.New64a()
	for _, name := range names {
		fmt.Fprintf(hash, "%s\x00", field(v, name))
	}
	return fmt.Sprintf("%x", hash.Sum64())
}

// deepest is how far paths are indented.
const deepest = 5

// tree returns routes in the order of their paths, each with its depth below others.
func tree(routes any) []any {
	all := slices.Clone(list(routes))
	slices.SortStableFunc(all, func(a, b any) int {
		return cmp.Or(slices.Compare(elements(a), elements(b)), cmp.Compare(field(a, "type"), field(b, "type")))
	})
	var above [][]string
	for i, r := range all {
		of, ok := r.(map[string]any)
		if !ok {
			continue
		}
		path := elements(r)
		for len(above) > 0 && !isBelow(path, above[len(above)-1]) {
			above = above[:len(above)-1]
		}
		depth := len(above)
		if depth == 0 || len(above[depth-1]) < len(path) {
			above = append(above, path)
		} else {
			depth-- // the same path, with another type or condition
		}
		copied := make(map[string]any, len(of)+1)
		for k, v := range of {
			copied[k] = v
		}
		copied["depth"] = min(depth, deepest)
		all[i] = copied
	}
	return all
}

// elements returns the parts of the path of a route.
func elements(route any) []string {
	path := strings.Trim(field(route, "path"), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func isBelow(path, above []string) bool {
	return len(path) >= len(above) && slices.Equal(path[:len(above)], above)
}

// outcome returns the answer to a request in words.
func outcome(o any) string {
	service := func(v any) string {
		if group := field(v, "targetGroup"); group != "" {
			return "target group " + group
		}
		return "Service " + field(v, "service") + " port " + field(v, "port")
	}
	switch field(o, "kind") {
	case "none":
		return "No answer: no load balancer accepts such a connection"
	case "fixed":
		return field(o, "status")
	case "redirect":
		return "Redirect " + field(o, "status") + " to " + field(o, "location")
	}
	answer := service(o)
	if of, ok := o.(map[string]any); ok && len(list(of["services"])) > 0 {
		var shares []string
		for _, s := range list(of["services"]) {
			shares = append(shares, service(s)+" (weight "+field(s, "weight")+")")
		}
		answer = strings.Join(shares, ", ")
	}
	if status := field(o, "status"); status != "" {
		return status + ": no targets of " + answer
	}
	return answer
}

// A group is a part of a list.
type group struct {
	Name       string
	Counts     string
	Protection string
	Open       bool
	All        []any
}

// groups returns the elements of a list by the value of a field, in order of appearance.
func groups(all any, name string) []group {
	var out []group
	at := map[string]int{}
	for _, v := range list(all) {
		value := field(v, name)
		i, known := at[value]
		if !known {
			i = len(out)
			at[value] = i
			out = append(out, group{Name: value})
		}
		out[i].All = append(out[i].All, v)
	}
	return out
}

// namespaces returns diagnostics by the namespace of their object: those with most errors first.
func namespaces(all any) []group {
	var named []any
	for _, v := range list(all) {
		of, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if of["namespace"] == nil { // what explain --all prints has the object in its source
			copied := map[string]any{"namespace": namespaceOf(field(v, "source"))}
			for k, v := range of {
				copied[k] = v
			}
			of = copied
		}
		named = append(named, of)
	}
	out := groups(named, "namespace")
	errors := map[string]int{}
	for i, g := range out {
		by := map[string]int{}
		for _, v := range g.All {
			by[field(v, "severity")]++
		}
		errors[g.Name] = by["error"]
		out[i].Counts = count(by["error"], "error") + ", " + count(by["warning"], "warning") + ", " +
			count(by["info"], "note")
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(errors[b.Name]-errors[a.Name], cmp.Compare(a.Name, b.Name))
	})
	return out
}

// namespaceOf returns the namespace in a source such as "Ingress shop/web spec.rules[0]".
func namespaceOf(source string) string {
	words := strings.Fields(source)
	if len(words) < 2 {
		return ""
	}
	namespace, _, found := strings.Cut(words[1], "/")
	if !found {
		return ""
	}
	return namespace
}

// notKnown returns what is not known of the load balancers of a status, each with the command that knows it.
func notKnown(status any) (out []any) {
	of, _ := status.(map[string]any)
	for _, l := range list(of["loadBalancers"]) {
		balancer, _ := l.(map[string]any)
		out = append(out, list(balancer["notKnown"])...)
	}
	return out
}

// commands returns what only a plan knows of the load balancers of a status.
func commands(status any) []any {
	return slices.DeleteFunc(notKnown(status), func(n any) bool { return !strings.HasPrefix(field(n, "command"), "fairlead plan ") })
}

// first returns diagnostics that are no notes, errors first: at most so many, or all of them for 0.
func first(all any, most int) []any {
	var errors, warnings []any
	for _, v := range list(all) {
		switch field(v, "severity") {
		case "error":
			errors = append(errors, v)
		case "warning":
			warnings = append(warnings, v)
		}
	}
	out := slices.Concat(errors, warnings)
	if most > 0 {
		out = out[:min(len(out), most)]
	}
	return out
}

// prose is a text in which code stands between backticks.
func prose(text any) template.HTML {
	var out strings.Builder
	parts := strings.Split(fmt.Sprint(text), "`")
	for i, part := range parts {
		switch escaped := template.HTMLEscapeString(part); {
		case i%2 == 0:
			out.WriteString(escaped)
		case i == len(parts)-1: // no other one follows
			out.WriteString("`" + escaped)
		default:
			out.WriteString("<code>" + escaped + "</code>")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // it is escaped
}

// lost counts the routes that no request reaches.
func lost(routes any) (n int) {
	for _, r := range list(routes) {
		if field(r, "unreachable") == "true" {
			n++
		}
	}
	return n
}

// takesAll reports whether a route matches every request.
func takesAll(routes any) bool {
	return slices.ContainsFunc(list(routes), func(r any) bool {
		return field(r, "path") == "/" && field(r, "type") == "Prefix" && field(r, "when") == "" && field(r, "unreachable") != "true"
	})
}

// changes returns what happens to requests, less protected ones first: those to which the same happens are one group.
func changes(all any) []group {
	var out []group
	at := map[string]int{}
	for _, v := range list(all) {
		of, ok := v.(map[string]any)
		if !ok {
			continue
		}
		name := said(of["before"]) + " → " + said(of["after"])
		key := field(v, "protection") + "\x00" + name
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, group{Name: name, Protection: field(v, "protection")})
		}
		out[i].All = append(out[i].All, v)
	}
	order := map[string]int{"less": 0, "unknown": 1, "same": 2, "more": 3}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(order[a.Protection]-order[b.Protection], len(b.All)-len(a.All))
	})
	for i := range out {
		out[i].Open = out[i].Protection == "less" || len(out) == 1
	}
	return out
}

// said is an answer of diff in words.
func said(v any) string {
	if v == nil {
		return "nothing"
	}
	text := field(v, "action")
	if in := field(v, "signIn"); in != "" {
		text += ", signs in"
	}
	return cmp.Or(text, "nothing")
}

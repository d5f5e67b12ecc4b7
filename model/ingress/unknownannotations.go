package ingress

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/model/ingress/spelling"
	"fairlead.dev/fairlead/model/settings"
)

// This file finds the settings that unknown annotations may have been meant as: misspelt
// annotations, those without their prefix, those on a Service, and names of fields instead of
// annotations.

// mostUnknown is the most unknown annotations of an Ingress that have a diagnostic each.
const mostUnknown = 10

// unknownAnnotations returns diagnostics about annotations that seem to be meant for Fairlead, and that
// Fairlead does not have.
func unknownAnnotations(ing *networkingv1.Ingress, given settings.Values) []diag.Diagnostic {
	var out []diag.Diagnostic
	left := diag.Diagnostic{Severity: diag.Warning, Reason: diag.AnnotationUnknown,
		Source: sourceOfIngress(ing).At("metadata.annotations")}
	more := 0
	for _, key := range slices.Sorted(maps.Keys(ing.Annotations)) {
		if settings.Of(key) != nil || !strings.HasPrefix(key, settings.Prefix) && !meantAsOurs(key) {
			continue
		}
		hint, severity, said := unknown(key, ing.Annotations[key], given)
		switch {
		case !said:
		case len(out) < mostUnknown:
			out = append(out, aboutAnnotation(ing, key, severity, diag.AnnotationUnknown, hint))
		default:
			more++
			if severity == diag.Error {
				left.Severity = severity
			}
		}
	}
	if more > 0 {
		left.Message = fmt.Sprintf("%d more annotations have names that no annotation has", more)
		out = append(out, left)
	}
	return out
}

// unknown returns a message about an unknown annotation. It is an error if the Ingress, served
// without the annotation, would expose more than its author seems to ask for.
func unknown(key, value string, given settings.Values) (message string, severity diag.Severity,
	said bool) {
	_, short, prefixed := cutPrefix(key)
	m := meaningOf(short, prefixed)
	message, severity = "no annotation has this name", diag.Warning
	switch {
	case !prefixed && (m.annotation == nil || len(value) > settings.Longest ||
		m.annotation.Check(value) != nil):
		return "", "", false // a name of another purpose
	case m.annotation != nil:
		message += "; did you mean " + m.annotation.Annotation + "?"
	case m.field != "":
		message += "; it is " + m.field
	case m.instead != "":
		message += "; instead: " + m.instead
	}
	if m.restricts(short, value, given) {
		severity = diag.Error
		if !strings.HasSuffix(message, "?") {
			message += "."
		}
		message += " Without it more may be exposed than is asked for, so the Ingress is not served " +
			"as it is"
	}
	return message, severity, true
}

// cutPrefix splits a key into its prefix and its name. After our prefix, a dot, a hyphen or an
// underscore may stand in place of the slash. Without a prefix, the name is the whole key.
func cutPrefix(key string) (p, short string, prefixed bool) {
	if p, short, prefixed = strings.Cut(key, "/"); prefixed {
		return p, short, true
	}
	for _, ours := range []string{v1alpha1.Group, "fairlead"} {
		if n := len(ours); len(key) > n+1 && strings.EqualFold(key[:n], ours) &&
			strings.ContainsRune(".-_", rune(key[n])) {
			return key[:n], key[n+1:], true
		}
	}
	return "", key, false
}

// meantAsOurs reports whether an annotation without our prefix may have been meant to have it.
// Either it has no prefix and the name of one of our annotations, or its prefix resembles ours. The
// prefix can be ours in capitals: the API server checks keys of annotations in lower case, and
// stores them as they are (ValidateAnnotations in k8s.io/apimachinery
// pkg/api/validation/objectmeta.go).
func meantAsOurs(key string) bool {
	p, short, prefixed := cutPrefix(key)
	if !prefixed {
		return meaningOf(short, false).annotation != nil
	}
	if strings.HasPrefix(key, settings.Prefix) {
		return false
	}
	p = strings.ToLower(p)
	return strings.Contains(p, "fairlead") || spelling.Within(p, v1alpha1.Group, 2)
}

// A meaning is the setting that a name may have been meant as.
type meaning struct {
	annotation *settings.Setting
	field      string // of a class or a Backend
	instead    string // the equivalent of another controller's annotation with the name
	narrows    bool   // it restricts which requests are answered
	secures    bool   // it asks for HTTPS
	loosely    bool   // the name is a synonym, and its values may differ
}

// otherWords has synonyms of our annotations, in lower case without punctuation.
var otherWords = func() map[string]string {
	out := map[string]string{}
	for _, s := range settings.Table {
		for _, name := range s.OtherNames {
			out[name] = s.Annotation
		}
	}
	return out
}()

// narrowingFields has the fields that restrict which requests are answered.
var narrowingFields = map[string]bool{"securityGroups": true, "allowedHosts": true,
	"mutualAuthentication": true, "authenticate": true}

// ours has the annotations with our prefix. ourNames has their names without it, in lower case
// without punctuation.
var ours, ourNames = func() (names, squeezed []string) {
	for _, a := range settings.Table {
		if short, found := strings.CutPrefix(a.Annotation, settings.Prefix); found {
			names, squeezed = append(names, a.Annotation), append(squeezed, spelling.Squeeze(short))
		}
	}
	return names, squeezed
}()

// fieldNames has the keys of fields, sorted.
var fieldNames = slices.Sorted(maps.Keys(fields))

// fields has the names of the fields of classes and Backends, in lower case without punctuation,
// with their places.
var fields = func() map[string]meaning {
	out := map[string]meaning{}
	add := func(of reflect.Type, path, object string) {
		for i := range of.NumField() {
			field, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if squeezed := spelling.Squeeze(field); field != "" && out[squeezed].field == "" {
				out[squeezed] = meaning{field: path + field + " of " + object, narrows: narrowingFields[field]}
			}
		}
	}
	add(reflect.TypeFor[v1alpha1.LoadBalancerClassSpec](), "", "the class")
	add(reflect.TypeFor[v1alpha1.BackendSpec](), "", "a Backend")
	add(reflect.TypeFor[v1alpha1.PortSettings](), "ports[].", "the class")
	return out
}()

// meaningOf returns the setting that a name without its prefix may have been meant as. Names that
// differ in case and punctuation alone are preferred to similar names. If the key has no prefix,
// only the former count.
func meaningOf(short string, prefixed bool) meaning {
	squeezed := spelling.Squeeze(short)
	if at := slices.Index(ourNames, squeezed); at >= 0 {
		return meaning{annotation: settings.Of(ours[at])}
	}
	if !prefixed {
		return meaning{}
	}
	if m, known := fields[squeezed]; known {
		return m
	}
	if name := otherWords[squeezed]; name != "" {
		return meaning{annotation: settings.Of(name), loosely: true}
	}
	if s, known := foreign.Find(short); known && (s.Instead != "" || s.Effect == foreign.Restricts) {
		return meaning{instead: s.Instead, narrows: s.Effect == foreign.Restricts, secures: s.Secures}
	}
	for i, name := range ourNames {
		if spelling.Resembles(squeezed, name) {
			return meaning{annotation: settings.Of(ours[i])}
		}
	}
	for _, name := range fieldNames {
		if spelling.Resembles(squeezed, name) {
			return fields[name]
		}
	}
	return meaning{}
}

// restricts reports whether the Ingress may expose more than its author asks for if the annotation
// is ignored. If the name resembles no setting, its words decide.
func (m meaning) restricts(short, value string, given settings.Values) bool {
	switch {
	case m.annotation == nil && seemsToNarrow(short, value, given):
		return true
	case m.loosely && m.annotation.Annotation == settings.Scheme:
		return given.Scheme != v1alpha1.SchemeInternal && foreign.LooksInternal("", value)
	case m.loosely && off(value):
		return false
	case spelling.Squeeze(short) == "allowhttp":
		return false // a value that is not off allows more
	case m == (meaning{}):
		return foreign.LooksRestrictive(short, value)
	case m.annotation != nil && m.annotation.Annotation == settings.ListenPorts:
		if len(value) > settings.Longest {
			return true
		}
		asked, err := settings.ParsePorts(value)
		return err != nil || !plain(asked) && plain(given.Ports)
	case m.annotation == nil && m.secures:
		return !off(value) && plain(given.Ports)
	case m.annotation == nil:
		return m.narrows && strings.TrimSpace(value) != "" && value != "false" && value != "none"
	case !m.annotation.Restricts:
		return false
	}
	return len(value) > settings.Longest || m.annotation.Check(value) != nil ||
		m.annotation.Exposes(value, given)
}

// narrowingWords has parts of names that suggest that a setting restricts which requests are
// answered, or how.
var narrowingWords = map[string]bool{
	"method": true, "methods": true, "login": true,
}

// off reports whether a value switches a setting off.
func off(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "false", "off", "no", "none", "0", "disabled":
		return true
	}
	return false
}

// seemsToNarrow reports whether an unknown name seems to ask for less than is served: no plain
// HTTP, no access from the internet, or a name with one of the narrowing words.
func seemsToNarrow(short, value string, given settings.Values) bool {
	words := spelling.Words(short)
	has := func(word string) bool { return slices.Contains(words, word) }
	lower := strings.ToLower(strings.TrimSpace(value))
	off := off(value)
	switch {
	case has("ssl") || has("tls"):
		return !off && (has("policy") || has("version") || has("min") || has("minimum") ||
			has("protocols") || has("ciphers"))
	case has("http") && !has("methods") && !has("method") && off && lower != "":
		return plain(given.Ports) // such as allow-http: "false"
	case has("port") || has("ports") || has("listen") || has("listeners") || has("protocol") ||
		has("protocols"):
		return !has("backend") && strings.Contains(lower, "https") &&
			!strings.Contains(strings.ReplaceAll(lower, "https", ""), "http") && plain(given.Ports)
	case foreign.LooksInternal(short, value):
		return given.Scheme != v1alpha1.SchemeInternal
	}
	return !off && slices.ContainsFunc(words, func(word string) bool { return narrowingWords[word] })
}

// plain reports whether ports serve plain HTTP.
func plain(ports []v1alpha1.ListenPort) bool {
	return slices.ContainsFunc(ports, func(p v1alpha1.ListenPort) bool { return p.Protocol == "HTTP" })
}

package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/settings"
)

// This file reports annotations on a Service that belong on the Ingress.

// misplacedAnnotations reports annotations of Fairlead on a Service, and those with a misspelt prefix.
func misplacedAnnotations(at diag.Source, service Name, annotations map[string]string,
	given settings.Values) []diag.Diagnostic {
	var names []string
	severity, misspelt := diag.Warning, ""
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		_, short, prefixed := cutPrefix(key)
		if !prefixed || !strings.HasPrefix(key, settings.Prefix) && !meantAsOurs(key) || onServices(key) {
			continue
		}
		names = append(names, key)
		if !strings.HasPrefix(key, settings.Prefix) {
			misspelt = ", with the prefix " + settings.Prefix
		}
		if meaningOf(short, true).restricts(short, annotations[key], given) {
			severity = diag.Error
		}
	}
	if names == nil {
		return nil
	}
	const most = 10
	listed := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		listed += fmt.Sprintf(" and %d more", len(names)-most)
	}
	message := fmt.Sprintf("Service %s has annotations that Fairlead reads on Ingresses only: put %s on the "+
		"Ingress%s", service, listed, misspelt)
	if severity == diag.Error {
		message += "; without it, more clients would be admitted, so this version of the Ingress is " +
			"not served"
	}
	return []diag.Diagnostic{{Severity: severity, Reason: diag.AnnotationMisplaced, Source: at,
		Message: message}}
}

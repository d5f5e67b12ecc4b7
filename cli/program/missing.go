package program

import (
	"reflect"
	"regexp"
	"slices"

	"fairlead.dev/fairlead/model/diag"
)

// This file changes the diagnostics of missing objects if only files are read: the objects may be
// in the cluster.

// absent is the begin of the compiler's message about an object that does not exist.
var absent = regexp.MustCompile(
	`^there is no (IngressClass|Service|Secret|Backend) ([^\s,;:]+)($|[,;:])`)

// AmongFiles returns the diagnostics of a compilation of files. A missing object is only a note
// there, and a missing IngressClass a warning, since its Ingresses are left out of the plan.
func AmongFiles(diagnostics []diag.Diagnostic) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range diagnostics {
		if found := absent.FindStringSubmatchIndex(d.Message); found != nil && d.Severity == diag.Error {
			part := func(n int) string { return d.Message[found[2*n]:found[2*n+1]] }
			rest := d.Message[found[6]:]
			d.Severity = diag.Info
			if part(1) == "IngressClass" {
				d.Severity = diag.Warning
				rest += ", so its Ingresses are left out; --class-name=" + part(2) + " assumes it"
			}
			d.Message = part(1) + " " + part(2) + " is not among the files" + rest
		}
		out = append(out, d)
	}
	return diag.Sort(out)
}

// Unserved returns the errors and, for files, the Ingresses without a class. In a cluster these are
// often Ingresses of other controllers.
func Unserved(diagnostics []diag.Diagnostic, live bool) []diag.Diagnostic {
	out, classless := diag.Sort(slices.Clone(diagnostics)), []diag.Reason{}
	if !live {
		out = AmongFiles(diagnostics)
		classless = []diag.Reason{diag.ClassMissing, diag.ClassUnset, diag.ClassUnknown}
	}
	out = slices.DeleteFunc(out, func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error && !slices.Contains(classless, d.Reason)
	})
	return slices.CompactFunc(out, func(a, b diag.Diagnostic) bool {
		return reflect.DeepEqual(a, b)
	})
}

// MissingSecrets returns the Secrets that do not exist, by namespace and name.
func MissingSecrets(diagnostics []diag.Diagnostic) []string {
	var out []string
	for _, d := range diagnostics {
		if found := absent.FindStringSubmatch(d.Message); found != nil && found[1] == "Secret" {
			out = append(out, found[2])
		}
	}
	return out
}

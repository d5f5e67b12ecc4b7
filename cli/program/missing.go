package program

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/spelling"
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
				rest += leftOut(part(2))
			}
			d.Message = part(1) + " " + part(2) + " is not among the files" + rest
		}
		if class := unknownClass(d); class != "" {
			d.Severity = diag.Warning
			d.Message = "IngressClass " + class + " is not among the files" + leftOut(class)
		}
		if found := belongs.FindStringSubmatch(d.Message); d.Reason == diag.ClassForeign && found != nil {
			d.Message += "; " + Assuming(found[1], found[2]) + " takes it for Fairlead's"
		}
		out = append(out, d)
	}
	return diag.Sort(out)
}

// meant returns the diagnostics with the Service of the same namespace that one which does not exist was meant as, if there
// is one whose name differs little. Names that differ in digits alone are those of other Services.
func meant(diagnostics []diag.Diagnostic, objects ingress.Objects) []diag.Diagnostic {
	in := map[string][]string{} // names by namespace
	for _, s := range objects.Services {
		in[s.Namespace] = append(in[s.Namespace], s.Name)
	}
	known := map[string]string{}
	for i, d := range diagnostics {
		found := absent.FindStringSubmatch(d.Message)
		if d.Reason != diag.ServiceMissing || found == nil {
			continue
		}
		name, done := known[found[2]]
		if !done {
			namespace, missing, _ := strings.Cut(found[2], "/")
			if near := nearest(missing, in[namespace]); near != "" {
				name = "; did you mean " + namespace + "/" + near + "?"
			}
			known[found[2]] = name
		}
		diagnostics[i].Message += name
	}
	return diagnostics
}

// nearest returns the name that another one is a misspelling of; "" for none.
func nearest(misspelt string, names []string) (out string) {
	fewest := 0
	for _, name := range names {
		a, b := spelling.Squeeze(misspelt), spelling.Squeeze(name)
		if !spelling.Resembles(a, b) || digits.ReplaceAllString(misspelt, "") == digits.ReplaceAllString(name, "") {
			continue
		}
		edits := 0
		for !spelling.Within(a, b, edits) {
			edits++
		}
		if out == "" || edits < fewest || edits == fewest && name < out {
			out, fewest = name, edits
		}
	}
	return out
}

var digits = regexp.MustCompile(`[0-9]+`)

func leftOut(class string) string {
	return ", so its Ingresses are left out; " + Assuming(class, "") + " assumes it"
}

// Assuming returns the flag that has a class of files be Fairlead's: one for the dialect, if the class or its
// controller is that of one.
func Assuming(class, controller string) string {
	for _, d := range flagvalue.Dialects {
		if of, standard := ingress.ControllerOf(d); controller == of || controller == "" && class == standard {
			return "--from " + d
		}
	}
	return "--class-name=" + class
}

// belongs is the begin of the compiler's message about an Ingress of another controller's class.
var belongs = regexp.MustCompile(`^IngressClass (\S+) belongs to the controller ([^\s,;]+)`)

// unknown is the begin of the compiler's message about an annotation with an unknown class.
var unknown = regexp.MustCompile(`^there is no IngressClass ("[^"]*"), and another controller`)

// unknownClass returns the class that an annotation names and that does not exist; "" for other
// diagnostics.
func unknownClass(d diag.Diagnostic) string {
	found := unknown.FindStringSubmatch(d.Message)
	if d.Reason != diag.ClassUnknown || found == nil {
		return ""
	}
	class, _ := strconv.Unquote(found[1]) // which the compiler has quoted
	return class
}

// MissingClasses returns the classes that Ingresses name and that do not exist, in order.
func MissingClasses(diagnostics []diag.Diagnostic) []string {
	var out []string
	for _, d := range diagnostics {
		class := unknownClass(d)
		if found := absent.FindStringSubmatch(d.Message); d.Reason == diag.ClassMissing && found != nil {
			class = found[2]
		}
		if class != "" {
			out = append(out, class)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WithoutClass returns the Ingresses that name no class, where no class counts for them, in order.
func WithoutClass(diagnostics []diag.Diagnostic) []string {
	var out []string
	for _, d := range diagnostics {
		if d.Reason == diag.ClassUnset {
			out = append(out, "Ingress "+d.Source.Object())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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

// AssumedSecrets returns the diagnostics of missing Secrets as notes that they are assumed.
func AssumedSecrets(diagnostics []diag.Diagnostic) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range diagnostics {
		if found := absent.FindStringSubmatch(d.Message); found != nil && found[1] == "Secret" {
			d.Severity = diag.Info
			d.Message = "Secret " + found[2] + " is not among the files, so it is assumed to be there"
			out = append(out, d)
		}
	}
	return out
}

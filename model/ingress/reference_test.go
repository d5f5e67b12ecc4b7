package ingress

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference pages of what users see of this package, from the tables that the
// code works by, and checks that the committed pages are the same.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../../docs/reference/annotations.md", annotationsPage())
	page.Check(t, "../../docs/reference/diagnostics.md", diagnosticsPage())
}

func annotationsPage() string {
	var b strings.Builder
	b.WriteString(`# Annotations

What an Ingress can say besides its spec. A value that makes no sense is never read as the default:
the Ingress is refused as it is, and its last accepted version keeps being served. A class can
restrict which annotations the authors of its Ingresses use: one that is not allowed is ignored,
or, where to go without it would expose more than was asked for, the Ingress is refused.

<!-- Generated from model/ingress/annotations.go by "make generate". -->
`)
	for _, a := range annotations {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", a.name, a.doc)
		fmt.Fprintf(&b, "| | |\n|---|---|\n")
		for _, row := range [][2]string{
			{"Value", a.kind}, {"Without it", a.fallback}, {"On", a.on}, {"About", a.about.described()}, {"Within a load balancer", a.merge}, {"Needs of the cloud", a.needs}, {"Example", "`" + a.name + ": " + quoted(a.example) + "`"},
		} {
			fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
		}
	}
	return b.String()
}

// described is what a setting is about, and who decides about that.
func (s subject) described() string {
	if s.whole() {
		return string(s) + "; in a group across namespaces it counts only from an Ingress of the group's owner (`groups[].owner` of the class)"
	}
	return string(s)
}

// quoted is a value as YAML needs it: annotations are strings.
func quoted(value string) string {
	if strings.Trim(value, "0123456789-") == "" {
		return `"` + value + `"`
	}
	if strings.HasPrefix(value, "[") {
		return "'" + value + "'"
	}
	return value
}

func diagnosticsPage() string {
	var b strings.Builder
	b.WriteString(`# Diagnostics

What Fairlead has to say about objects. An error means that something which was asked for is not
served; a warning that it is served, but probably not the way its author expects; an info that it
is worth knowing. Reasons are stable: alerts and scripts can match on them.

<!-- Generated from model/diag/reason.go by "make generate". -->

| Reason | What it means | What to do |
|---|---|---|
`)
	for _, r := range diag.Reasons {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Reason, r.Meaning, r.Remedy)
	}
	return b.String()
}

// TestEveryReasonIsDocumented reads the constants where they are declared.
func TestEveryReasonIsDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../diag/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, r := range diag.Reasons {
		documented[string(r.Reason)] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" && !documented[spec.Names[0].Name] {
			t.Errorf("reason %s is not in diag.Reasons", spec.Names[0].Name)
		}
		return false
	})
}

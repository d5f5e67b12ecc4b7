package ingress

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress/foreign"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference pages of what users see of this package, from the tables that the
// code works by, and checks that the committed pages are the same.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../../docs/reference/diagnostics.md", diagnosticsPage())
	page.Check(t, "../../docs/reference/foreign-annotations.md", foreignPage())
}

func foreignPage() string {
	var b strings.Builder
	b.WriteString(`# Annotations of other controllers

Fairlead does not read annotations of other Ingress controllers, and leaves none of them out in silence:

| An annotation that … | |
|---|---|
| **restricts** keeps requests or clients away (sign-in, address ranges, firewalls, client certificates, conditions, rate limits), can contain configuration that does, or asks for HTTPS while a port without TLS would forward requests. | The Ingress is refused with the error AnnotationForeign, because serving it would expose more than its author asked for. A version that was accepted before is served on. |
| **changes** answers in another way. | The Ingress is served without it, and the warning AnnotationForeign says so once. |
| is harmless changes no answer. | Nothing is said. |

The tables have the annotations of the controllers that people move from most. All other controllers have one rule: under
a prefix of an Ingress controller, an annotation restricts where a word of its name says so (auth, jwt, waf, whitelist,
limit, snippet, plugin …), where its name or value is internal or private and the load balancer faces the internet, or where its words
ask for HTTPS, as force-https does. A value that is off restricts nothing. All others change answers. The rule also holds for names
under the prefixes of the tables that are not in them. Under a prefix that has both ingress and kubernetes in it, or
kubernetes.io/ingress., names are looked up in the tables first. A dot, hyphen or underscore behind a prefix counts as the slash.

` + "`fairlead explain ANNOTATION`" + ` prints what is known of one annotation.

An Ingress that asks for HTTPS is served where it redirects all its hosts to HTTPS (` + "`fairlead.dev/ssl-redirect: \"443\"`" + `), where it
listens on HTTPS alone (` + "`fairlead.dev/listen-ports: HTTPS:443`" + `), or where all its paths have Backends that redirect. ` + "`ssl-redirect: \"false\"`" + ` asks for nothing, and ` + "`certificate-arn`" + ` beside ` + "`listen-ports`" + `
with HTTP in it asks for plain HTTP.

The field ` + "`foreignAnnotations`" + ` of the class decides: **Refuse** is the above, **Warn** serves the Ingress and warns of all, and
**Ignore** says nothing, for Ingresses that two controllers serve on purpose.

Services are read as well, where the other controller reads annotations there: an Ingress that refers to a Service with one
that restricts is refused. Annotations of other programs, such as external-dns and cert-manager, are none of these.

<!-- Generated from model/ingress/foreign by "make generate". -->
`)
	for _, c := range foreign.Tables() {
		title := strings.ToUpper(c.Name[:1]) + c.Name[1:]
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		fmt.Fprintf(&b, "Prefixes: `%s`.", strings.Join(c.Prefixes, "`, `"))
		if c.OnServices != "" {
			fmt.Fprintf(&b, " On Services: `%s`.", strings.Join(strings.Fields(c.OnServices), "`, `"))
		}
		b.WriteString("\n\n| Annotation | It | Instead | Example |\n|---|---|---|---|\n")
		for _, r := range c.Rows {
			effect, example := r.Effect.String(), ""
			if r.Effect == foreign.Restricts {
				effect = "**" + effect + "**"
			}
			if r.When != "" {
				effect += ", " + r.When
			}
			if r.Example != "" {
				example = "`" + strings.ReplaceAll(r.Example, "|", `\|`) + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, effect, r.Instead, example)
		}
	}
	return b.String()
}

func diagnosticsPage() string {
	var b strings.Builder
	b.WriteString(`# Diagnostics

What Fairlead has to say about objects. An error means that something which was asked for is not
served; a warning that it is served, but probably not the way its author expects; an info that it
is worth knowing. Reasons are stable: alerts and scripts can match on them.

<!-- Generated from model/diag/reason.go by "make generate". -->

` + "`fairlead explain REASON`" + ` prints the same, with the address of its section.
`)
	for _, r := range diag.Reasons {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n**Do this:** %s\n", r.Reason, r.Meaning, r.Remedy)
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

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

Fairlead does not read the annotations of other Ingress controllers, and leaves none of them out in silence.
What each of them is, Fairlead knows by the tables below:

| | |
|---|---|
| **restricts** | It keeps requests or clients away: authentication, ranges of addresses, firewalls, client certificates, conditions, limits of rates; or it is configuration that can contain any of these. Or it asks for HTTPS: for HTTPS alone, for redirects to HTTPS, or for a certificate, while a port without TLS would forward requests. The Ingress is refused, with the error AnnotationForeign: to serve it without would expose more than its author asked for. A version of it that was accepted before keeps being served. |
| **changes** | It makes requests be answered differently. The Ingress is served without it, and told so once, with the warning AnnotationForeign. |
| harmless | It makes no difference to what requests get. Nothing is said. |

Both messages say what of Fairlead does the same, where something does. An annotation that is not in the
table of its prefix is told with the warning, too; so is one of a prefix below it, as custom.nginx.org is below nginx.org.
It counts as restricting where it resembles one that
does, as auth-tpye does, or where a word of its name says so, as auth, jwt, waf or whitelist do, or force-https, or where its name or value is
internal or private, and the load balancer faces the internet. A value with which
the other controller restricts nothing restricts nothing here. Under a prefix with ingress and kubernetes in it that no controller
below has, and under kubernetes.io/ingress., names are looked up in all tables. Under any other prefix with ingress in it
those that restrict are, and under all prefixes those that restrict for the controllers of NGINX, HAProxy and AWS, where
they have a hyphen. A dot, a hyphen or an underscore behind a prefix is read as the slash.

An Ingress that asks for HTTPS is served where it listens on HTTPS alone (` + "`fairlead.dev/listen-ports: HTTPS:443`" + `), or where all that it
names are Backends that redirect. A value that switches a redirect off, as in ` + "`ssl-redirect: \"false\"`" + `, asks for nothing, and
` + "`certificate-arn`" + ` beside ` + "`listen-ports`" + ` with HTTP in it leaves plain HTTP as it was asked for.

The class decides with ` + "`foreignAnnotations`" + `: **Refuse** is the above, **Warn** tells everything with warnings and serves it,
and **Ignore** says nothing, which is for Ingresses that two controllers serve on purpose. An Ingress that was accepted
because its class said Warn or Ignore is not served any more once the class says Refuse; one that was served before
Fairlead looked at annotations of others is, and is told.

Services are looked at as well, where a controller reads annotations there: an Ingress that refers to a Service with one that
restricts is refused likewise.

Annotations of other programs, such as external-dns and cert-manager, are none of these, and nothing is said of them.

<!-- Generated from model/ingress/foreign by "make generate". -->
`)
	for _, c := range foreign.Controllers() {
		title := strings.ToUpper(c.Name[:1]) + c.Name[1:]
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		fmt.Fprintf(&b, "Prefixes: `%s`. ", strings.Join(c.Prefixes, "`, `"))
		if c.OnServices != "" {
			fmt.Fprintf(&b, "On Services: `%s`. ", strings.Join(strings.Fields(c.OnServices), "`, `"))
		}
		fmt.Fprintf(&b, "From: %s.\n\n", strings.Join(c.Sources, "; "))
		b.WriteString("| Annotation | It | Instead | Example |\n|---|---|---|---|\n")
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

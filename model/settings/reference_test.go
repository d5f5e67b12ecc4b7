package settings

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference page of annotations from the table, and checks that the committed
// page is the same.

//go:generate go test . -run ^TestReference$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../../docs/reference/annotations.md", annotationsPage())
}

// TestEveryAnnotationIsOnAPageForUsers fails for an annotation that neither page names: the fields
// of a health check by the end of their name.
func TestEveryAnnotationIsOnAPageForUsers(t *testing.T) {
	var pages string
	for _, path := range []string{"../../docs/reference/aws.md", "../../docs/reference/routing.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages += string(text)
	}
	for _, a := range Table {
		if a.put == nil {
			continue // the class of an Ingress, and fields of the class
		}
		end, ofHealthCheck := strings.CutPrefix(a.Annotation, Prefix+"health-check")
		// a longer name may begin with this one
		named := strings.Contains(strings.NewReplacer("`", " ", "=", " ", ":", " ").Replace(pages), " "+a.Annotation+" ")
		if !named &&
			!(ofHealthCheck && strings.Contains(pages, "`"+end+"`")) {
			t.Errorf("neither docs/reference/aws.md nor docs/reference/routing.md names %s", a.Annotation)
		}
	}
}

func annotationsPage() string {
	var b strings.Builder
	b.WriteString(`# Annotations

What an Ingress can say besides its spec. A value that makes no sense is never read as the default:
the Ingress is refused as it is, and its last accepted version keeps being served. A class can
restrict which annotations the authors of its Ingresses use: one that is not allowed is ignored,
or, where to go without it would expose more than was asked for, the Ingress is refused. What the class
does not allow any more does not count in the last accepted version either.

<!-- Generated from model/settings/table.go by "make generate". -->
`)
	for _, a := range Table {
		if a.Annotation == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", a.Annotation, a.Doc)
		fmt.Fprintf(&b, "| | |\n|---|---|\n")
		for _, row := range [][2]string{
			{"Value", a.Type.String()}, {"Without it", a.without()}, {"About", a.About.described()}, {"Within a load balancer", cmp.Or(a.Merged, string(a.Merge))}, {"Needs of the cloud", cmp.Or(a.Needs, "none")}, {"Example", "`" + a.Annotation + ": " + quoted(a.Example) + "`"},
		} {
			fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
		}
	}
	return b.String()
}

// described says what a setting is about, and which Ingresses decide about that.
func (s Subject) described() string {
	if s == ServicePorts {
		return string(s) + "; an annotation of a Service itself takes priority over those of Ingresses"
	}
	if s.Whole() {
		return string(s) + "; in a group across namespaces it counts only from an Ingress of the group's owner (`groups[].owner` of the class)"
	}
	return string(s)
}

// quoted returns a value as YAML needs it: annotations are strings.
func quoted(value string) string {
	if strings.Trim(value, "0123456789-") == "" || value == "true" || value == "false" {
		return `"` + value + `"`
	}
	if strings.HasPrefix(value, "[") {
		return "'" + value + "'"
	}
	return value
}

// without says what holds without an annotation.
func (s *Setting) without() string {
	out := cmp.Or(s.Without, "`"+s.Default+"`")
	field := s.Class
	if s.BalancerAttribute != "" {
		field = "attributes"
	}
	if field == "" {
		return out
	}
	return "`" + field + "` of the class, else " + out
}

package ingress

import (
	"fmt"
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/language"
)

// This file finds paths that look like regular expressions but are read otherwise.

// expression matches paths that look like regular expressions or templates: with anchors, classes,
// groups that repeat or have alternatives, escapes, or characters that clients only send encoded.
// Brackets, plus signs and dollar signs alone are ordinary characters of paths (RFC 3986, section
// 3.3).
var expression = regexp.MustCompile(
	`[\\^\[\]{}|]|\.[*+]|\)[*+?$]|\([^)]*[*+?]|/\([^)]*\)/?$|[+*?]\$$|[^/]\$$`)

// reportText reports a path that looks like a regular expression but is compared as text.
func (v *memberTranslation) reportText(p *networkingv1.HTTPIngressPath, read routing.Path,
	field string) {
	if read.Type == routing.Regex || !expression.MatchString(p.Path) {
		return
	}
	how := "as it is written"
	if read.Type == routing.Glob {
		how = "as a glob, in which only * and ? are special"
	}
	advice := "a class with implementationSpecific: Regex reads regular expressions, and compares " +
		"them with the whole path"
	if *p.PathType != networkingv1.PathTypeImplementationSpecific {
		advice = "regular expressions have the type ImplementationSpecific, and a class with " +
			"implementationSpecific: Regex"
	}
	what := "a regular expression"
	if !expression.MatchString(strings.NewReplacer("{", "", "}", "").Replace(p.Path)) {
		what = "a template"
	}
	v.addDiagnostic(diag.Warning, diag.PathReadAsText, field+".path",
		fmt.Sprintf("%s looks like %s and is read %s: %s", quotedPath(p.Path), what, how, advice))
}

// reportAnchors reports a regular expression that matches no path, as it has text before its start
// anchor or after its end anchor. It returns whether the path is one. The AWS Load Balancer
// Controller removes the leading slash before it compares (docs/guide/ingress/annotations.md,
// use-regex-path-match), so its expressions begin with "/^/".
func (v *memberTranslation) reportAnchors(p *networkingv1.HTTPIngressPath, read routing.Path,
	field string) bool {
	if read.Type != routing.Regex || !strings.ContainsAny(p.Path, "^$\\") {
		return false
	}
	if _, found := language.Find([]string{read.Pattern(), language.PathUniverse},
		nil); found != language.None {
		return false
	}
	message := "no request has a path that matches " + quotedPath(p.Path) +
		": a regular expression is compared with the whole path, the leading slash included"
	if rest, doubled := strings.CutPrefix(p.Path, "/^/"); doubled {
		message += "; write " + quotedPath("/"+strings.TrimSuffix(rest, "$"))
	}
	v.addDiagnostic(diag.Warning, diag.Unreachable, field+".path", message)
	return true
}

// quotedPath returns a path for a message, shortened if it is long.
func quotedPath(path string) string {
	const most = 100
	if len(path) > most {
		return fmt.Sprintf("%q…", path[:most])
	}
	return fmt.Sprintf("%q", path)
}

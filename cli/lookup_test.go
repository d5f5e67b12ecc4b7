package cli

import (
	"strings"
	"testing"
)

// Names are explained without files: annotations with their effect, reasons with their remedy.
func TestExplainNames(t *testing.T) {
	for name, c := range map[string]struct {
		asked []string
		says  []string
	}{
		"of nginx":                        {[]string{"nginx.ingress.kubernetes.io/auth-url"}, []string{"restricts: the Ingress is not served", "instead     authenticate of a Backend", "foreign-annotations.md"}},
		"of AWS, which changes":           {[]string{"alb.ingress.kubernetes.io/healthcheck-path"}, []string{"with a warning", "fairlead.dev/health-check-path"}},
		"of a controller without a table": {[]string{"konghq.com/plugins"}, []string{"of          the Kong Ingress Controller", "restricts", "by          the words of its name"}},
		"a value":                         {[]string{"nginx.ingress.kubernetes.io/ssl-redirect=false"}, []string{"changes no answer"}},
		"of Fairlead":                     {[]string{"fairlead.dev/scheme"}, []string{"annotation  fairlead.dev/scheme", "class       scheme", "annotations.md#fairleaddevscheme"}},
		"a reason":                        {[]string{"hosttaken"}, []string{"reason      HostTaken", "do this     ", "diagnostics.md#hosttaken"}},
		"a reason with a link":            {[]string{"AnnotationForeign"}, []string{"so does the table (docs/reference/foreign-annotations.md). `foreign"}},
		"two":                             {[]string{"HostTaken", "fairlead.dev/group"}, []string{"reason      HostTaken", "annotation  fairlead.dev/group"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := fairlead(t, append([]string{"explain"}, c.asked...)...)
			if got.code != exitDone {
				t.Fatalf("exit code %d: %s", got.code, got.err)
			}
			for _, says := range c.says {
				if !strings.Contains(got.out, says) {
					t.Errorf("it does not say %q:\n%s", says, got.out)
				}
			}
		})
	}
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/answer"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/cli/status"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/endpoints"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/printable"
	"fairlead.dev/fairlead/model/routing"
)

const explainHelp = `Print which Ingress answers a request, by which rule, and which other
routes match, with lower precedence.

If no rule names the host, the answer is that of each load balancer with a listener on the port, and
explain names the nearest hosts. If no path of the host matches, it names the nearest paths. With
--live, or with EndpointSlices among the files, a Service without targets is answered by 503.

The answer is computed twice: from the Ingress specification, and from the rules for the cloud. If
the two differ, Fairlead has a defect, and explain fails.

With --all, explain lists errors, conflicts and routes that no request can reach, and what becomes
of TargetGroupBindings; targetgroupbinding/NAMESPACE/NAME in place of a URL is one of these, and
ingress/NAMESPACE/NAME stands for a request for each route of an Ingress. Exit code 0:
every Ingress is served as asked; 2: one is not, by the severity of --fail-on; 1: error. With
-o json, one URL is printed as an object, and several as a list. Files without an Ingress are an
error.

An object that cannot be read is reported with its file and line, and explain answers from the rest,
with exit code 1. An object that is merely not among the files is no error: it may be in the
cluster. A Secret is assumed to be there, with a certificate for the hosts that need it.

With --live, and without files, the Ingresses are those of the cluster. Explain asks nothing of the
cloud, and changes nothing.

The name of an annotation, of Fairlead or of another controller, or of a reason takes the place of a
URL: explain prints what it means, without files.`

const explainExamples = `  # Which Service answers this?
  fairlead explain http://shop.example.com/cart -f config/samples

  # Which Service answers this in the cluster of the current kubeconfig?
  fairlead explain https://shop.example.com/cart --live

  # Several requests at once, for a program to read
  fairlead explain http://shop.example.com/ https://shop.example.com/ -f config/samples -o json

  # What becomes of an annotation of another controller? What does a reason mean?
  fairlead explain nginx.ingress.kubernetes.io/auth-url AnnotationForeign

  # Which requests reach this Ingress, and what answers them?
  fairlead explain ingress/shop/shop -f config/samples

  # Is this TargetGroupBinding served?
  fairlead explain targetgroupbinding/shop/web --live

  # All errors, conflicts, and routes that no request can reach
  fairlead explain --all -f config/samples`

func newExplain(with access.Clouds) *cobra.Command {
	var (
		in      source.Input
		cluster access.Cluster
		live    bool
		format  output.Format
		failOn  string
		method  string
		headers []string
		all     bool
	)
	cmd := &cobra.Command{
		Use:     "explain URL... -f FILE|DIR... | --live",
		Short:   "Print which Ingress answers a request, and why",
		Long:    explainHelp,
		Example: explainExamples,
		RunE: func(cmd *cobra.Command, urls []string) error {
			if all != (len(urls) == 0) {
				return errors.New("explain takes one or more URLs, or --all")
			}
			if !all && cmd.Flags().Changed("html") {
				return errors.New("--html is for --all; fairlead ui answers about URLs in a browser")
			}
			if names, found := lookUpAll(urls); found {
				return names.print(cmd.OutOrStdout(), format)
			}
			if err := in.RequireFiles(live); err != nil {
				return err
			}
			bound, named := objectsNamed(urls, bindingKind), objectsNamed(urls, ingressKind)
			if len(bound)+len(named) > 0 {
				urls = nil
			}
			asked, err := answer.Questions(urls, method, headers)
			if err != nil {
				return err
			}
			compiled, err := compileFor(cmd, &in, with, cluster)
			if err != nil {
				return err
			}
			switch {
			case all:
				err = compiled.explainAll(cmd, in.Of(cluster), format, failOn)
			case len(bound) > 0:
				err = compiled.explainBindings(cmd.OutOrStdout(), bound, format)
			case len(named) > 0:
				err = compiled.explainIngresses(cmd.OutOrStdout(), named, method, headers, format)
			default:
				err = compiled.explainEach(cmd.OutOrStdout(), asked, format)
			}
			return cmp.Or(leftOut(compiled.problems), err)
		},
	}
	in.ManifestFlags(cmd)
	cmd.Flags().BoolVar(&live, "live", false, "read the Ingresses from the cluster")
	cluster.ConnectionFlags(cmd.Flags())
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format)
	htmlFlag(cmd)
	failOnFlag(cmd, &failOn, failOnError+"; only --all has diagnostics that fail it")
	cmd.Flags().StringVarP(&method, "request", "X", http.MethodGet, "`METHOD` of the request")
	cmd.Flags().StringArrayVarP(&headers, "header", "H", nil,
		"`HEADER` of the request, such as 'X-Canary: yes'; can be repeated")
	cmd.Flags().BoolVar(&all, "all", false, "list errors, conflicts and routes that no request can reach")
	return cmd
}

// A compilation holds the facts for the answers of explain.
type compilation struct {
	objects     ingress.Objects
	live        bool // the objects are those of a cluster
	programs    []program.Program
	diagnostics []diag.Diagnostic
	bindings    []diag.Diagnostic  // of TargetGroupBindings
	problems    manifests.Problems // of objects that were left out
	places      manifests.Places   // of objects in files
}

// compileFor compiles the files of the flags, or the Ingresses of the cluster, as if no load
// balancer existed. Secrets that are missing among files are assumed, as verify and diff do.
func compileFor(
	cmd *cobra.Command, in *source.Input, with access.Clouds, cluster access.Cluster,
) (compilation, error) {
	cloud, err := in.Provider.Offline(cmd.Context(), with)
	if err != nil {
		return compilation{}, err
	}
	all, options, places, err := in.Located(cmd, cluster)
	problems, err := manifests.LeftOut(program.WithoutIngress(all, err))
	if err != nil {
		return compilation{}, err
	}
	programs, diagnostics, err := compileAll(cmd, cloud, all, options, nil)
	missing := program.MissingSecrets(diagnostics)
	if err == nil && in.FromFiles() && len(missing) > 0 {
		source.AddToBoth(&all, &ingress.Objects{}, missing)
		assumed := program.AssumedSecrets(diagnostics)
		programs, diagnostics, err = compileAll(cmd, cloud, all, options, nil)
		diagnostics = append(diagnostics, assumed...)
	}
	if in.FromFiles() {
		diagnostics = program.AmongFiles(diagnostics)
	}
	return compilation{all, !in.FromFiles(), programs, diagnostics, program.Bindings(all, options, in.FromFiles()), problems, places}, err
}

// These begin the name of an object in place of a URL.
const (
	bindingKind = "targetgroupbinding/"
	ingressKind = "ingress/"
)

// objectsNamed returns the objects of a kind that words name, as namespace/name; none unless all words do.
func objectsNamed(words []string, kind string) []string {
	var out []string
	for _, word := range words {
		if len(word) <= len(kind) || !strings.EqualFold(word[:len(kind)], kind) || !strings.Contains(word[len(kind):], "/") {
			return nil
		}
		out = append(out, word[len(kind):])
	}
	return out
}

// explainIngresses prints the answer to a request for each route of Ingresses.
func (c compilation) explainIngresses(w io.Writer, ingresses []string, method string, headers []string, format output.Format) error {
	report := status.Of(status.Input{Objects: c.objects, Programs: c.programs, Known: c.knowsEndpoints})
	var urls []string
	for _, name := range ingresses {
		before := len(urls)
		for _, h := range report.Hosts {
			for _, r := range append(slices.Clip(h.Routes), h.Default) {
				if r.Ingress == name && r.URL != "" && !slices.Contains(urls, r.URL) {
					urls = append(urls, r.URL)
				}
			}
		}
		if len(urls) == before {
			return fmt.Errorf("no route of an Ingress %s is served: fairlead explain --all says why", printable.Line(name))
		}
	}
	asked, err := answer.Questions(urls, method, headers)
	if err != nil {
		return err
	}
	return c.explainEach(w, asked, format)
}

// explainBindings prints what becomes of some TargetGroupBindings.
func (c compilation) explainBindings(w io.Writer, names []string, format output.Format) error {
	var found []diag.Diagnostic
	var wrong []error
	for _, name := range names {
		at := slices.IndexFunc(c.objects.TargetGroupBindings, func(b *alb.TargetGroupBinding) bool {
			return b.Namespace+"/"+b.Name == name
		})
		switch {
		case at < 0:
			wrong = append(wrong, fmt.Errorf("there is no TargetGroupBinding %s", printable.Line(name)))
		case c.objects.TargetGroupBindings[at].OfController():
			wrong = append(wrong, fmt.Errorf("the AWS Load Balancer Controller made TargetGroupBinding %s for "+
				"itself, and it is left alone", name))
		}
		found = append(found, slices.DeleteFunc(slices.Clone(c.bindings), func(d diag.Diagnostic) bool {
			return d.Source.Object() != name
		})...)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if format != output.Text {
		return format.Print(w, found)
	}
	return printEach(w, found)
}

// printEach prints diagnostics.
func printEach(w io.Writer, diagnostics []diag.Diagnostic) error {
	for _, d := range diagnostics {
		if _, err := fmt.Fprintf(w, "%s %s\n  %s\n", d.Reason, printable.Line(d.Source.String()), printable.Line(d.Message)); err != nil {
			return err
		}
	}
	return nil
}

// explainAll prints errors, and other diagnostics about conflicts between routes and about
// Ingresses that are not served.
func (c compilation) explainAll(cmd *cobra.Command, of string, format output.Format, failOn string) error {
	about := append([]diag.Reason{diag.Conflict, diag.DefaultConflict, diag.HostTaken,
		diag.CertificateForeign, diag.Unreachable, diag.OpenRoute}, answer.NotServed...)
	diagnostics := slices.DeleteFunc(slices.Clone(c.diagnostics), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error && !slices.Contains(about, d.Reason)
	})
	diagnostics = append(diagnostics, c.bindings...)
	if err := c.print(cmd.OutOrStdout(), diagnostics, format); err != nil {
		return err
	}
	if err := writeHTML(cmd, "explain --all", of, diagnostics); err != nil {
		return err
	}
	if slices.ContainsFunc(diagnostics, func(d diag.Diagnostic) bool { return failing(d, failOn) }) {
		return errToDo
	}
	return nil
}

// print prints diagnostics, their consequence, and a summary.
func (c compilation) print(w io.Writer, diagnostics []diag.Diagnostic, format output.Format) error {
	if format != output.Text {
		return format.Print(w, append([]diag.Diagnostic{}, diagnostics...))
	}
	if err := printEach(w, diagnostics); err != nil {
		return err
	}
	tally := output.TallyOf(diagnostics, len(c.problems))
	_, err := fmt.Fprintf(w, "%s\nSummary: %s\n", c.summary(diagnostics), tally)
	return err
}

// summary returns the last line: whether Ingresses are served as they ask to be.
func (c compilation) summary(printed []diag.Diagnostic) string {
	var refused []string
	for _, d := range printed {
		if d.Severity == diag.Error {
			refused = append(refused,
				diag.Source{Kind: d.Source.Kind, Namespace: d.Source.Namespace, Name: d.Source.Name}.String())
		}
	}
	switch {
	case len(refused) > 0:
		slices.Sort(refused)
		return fmt.Sprintf("Not served as asked: %s.",
			printable.Line(strings.Join(slices.Compact(refused), ", ")))
	case len(c.programs) == 0:
		return "No Ingress is served by Fairlead."
	case slices.ContainsFunc(printed, func(d diag.Diagnostic) bool { return d.Source.Kind != alb.BindingKind }):
		return "Every Ingress is accepted."
	}
	return "No conflicts, and some request reaches every route."
}

// answers explains what answers requests.
func (c compilation) answers(asked []answer.Question) (answers []answer.Explanation, err error) {
	var wrong []error
	for _, q := range asked {
		answer, err := answer.Explain(c.programs, q, c.knowsEndpoints)
		answer.AddRefusals(c.programs, q.Request.Port, c.notServed(q.Request, answer))
		answers, wrong = append(answers, answer), append(wrong, err)
	}
	return answers, errors.Join(wrong...)
}

// explainEach prints the answers. If one of them fails, it prints none.
func (c compilation) explainEach(w io.Writer, asked []answer.Question, format output.Format) error {
	answers, err := c.answers(asked)
	if err != nil {
		return err
	}
	switch {
	case format != output.Text && len(answers) == 1:
		return format.Print(w, answers[0])
	case format != output.Text:
		return format.Print(w, answers)
	}
	colour := output.PaletteOf(w)
	for i, answer := range answers {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := io.WriteString(w, answer.Text(colour)); err != nil {
			return err
		}
	}
	tally := output.TallyOf(nil, len(c.problems))
	_, err = fmt.Fprintf(w, "\nSummary: %s\n", answer.Summarise(answers, tally))
	return err
}

// knowsEndpoints reports whether the endpoints of a port of a Service are known: in a cluster they are.
// Files may have a Service without its endpoints. A port that the Service lacks has none.
func (c compilation) knowsEndpoints(service string, port routing.ServicePort) bool {
	of := func(s *discoveryv1.EndpointSlice) bool {
		return s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName] == service
	}
	runs := func(s *corev1.Service) bool {
		return s.Namespace+"/"+s.Name == service && (!s.CreationTimestamp.IsZero() || lacksPort(s, port))
	}
	return c.live || slices.ContainsFunc(c.objects.EndpointSlices, of) ||
		slices.ContainsFunc(c.objects.Services, runs)
}

// lacksPort reports whether a Service, unless it is of an external name, has no port with this number or name.
func lacksPort(s *corev1.Service, port routing.ServicePort) bool {
	return s.Spec.Type != corev1.ServiceTypeExternalName && endpoints.PortOf(s, endpoints.ReferenceTo("", port, "")) == nil
}

// notServed returns the refusals of Ingresses that name a host, or a wildcard above it, and why the
// Ingress that answers lacks targets. If no load balancer names the host, Ingresses for any host
// count, too.
func (c compilation) notServed(q routing.Request, e answer.Explanation) []answer.Refusal {
	named := slices.DeleteFunc(routing.Levels(q.Hostname()), func(h routing.Host) bool {
		return h == routing.Any && e.Named
	})
	out := []answer.Refusal{}
	for _, d := range c.diagnostics {
		// A Service that several paths name is reported at the first of them.
		answers := e.Outcome.Service != "" && strings.Contains(d.Message, e.Outcome.Service)
		names := func(ing *networkingv1.Ingress) bool {
			return d.Source.Kind == "Ingress" && ing.Namespace == d.Source.Namespace &&
				ing.Name == d.Source.Name && namesHost(ing, named) &&
				(answers || d.Severity == diag.Error || !isAboutOtherPath(ing, d.Source.Field, q.Path))
		}
		tells := d.Severity == diag.Error || slices.Contains(answer.NotServed, d.Reason)
		if e.LacksTargets(d) || tells && slices.ContainsFunc(c.objects.Ingresses, names) {
			out = append(out, answer.RefusalOf(d))
		}
	}
	return out
}

// pathField is the begin of a field of one path.
var pathField = regexp.MustCompile(`^spec\.rules\[(\d+)\]\.http\.paths\[(\d+)\]`)

// isAboutOtherPath reports whether a field is of a path that a request does not match for sure.
func isAboutOtherPath(ing *networkingv1.Ingress, field, path string) bool {
	found := pathField.FindStringSubmatch(field)
	if found == nil {
		return false
	}
	rule, _ := strconv.Atoi(found[1]) // the expression matches digits
	at, _ := strconv.Atoi(found[2])
	if rule >= len(ing.Spec.Rules) || ing.Spec.Rules[rule].HTTP == nil ||
		at >= len(ing.Spec.Rules[rule].HTTP.Paths) {
		return false
	}
	p := ing.Spec.Rules[rule].HTTP.Paths[at]
	switch {
	case p.PathType == nil:
		return false
	case *p.PathType == networkingv1.PathTypeExact:
		return p.Path != path
	case *p.PathType == networkingv1.PathTypePrefix:
		return p.Path != path && !strings.HasPrefix(path, strings.TrimRight(p.Path, "/")+"/")
	}
	return false
}

// namesHost reports whether a rule, spec.tls or the default backend of an Ingress is for one of the
// hosts.
func namesHost(ing *networkingv1.Ingress, hosts []routing.Host) bool {
	anyHost := ing.Spec.DefaultBackend != nil && slices.Contains(hosts, routing.Any)
	return anyHost || slices.ContainsFunc(ing.Spec.Rules,
		func(r networkingv1.IngressRule) bool { return slices.Contains(hosts, routing.Host(r.Host)) }) ||
		slices.ContainsFunc(ing.Spec.TLS, func(t networkingv1.IngressTLS) bool {
			return slices.ContainsFunc(t.Hosts, func(h string) bool {
				return slices.Contains(hosts, routing.Host(h))
			})
		})
}

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/ingress/dialect"
	"fairlead.dev/fairlead/model/ingress/dialect/alb"
	"fairlead.dev/fairlead/model/ingress/dialect/nginx"
)

const migrateHelp = `Say what becomes of each Ingress that was written for another controller, and
of each of its annotations, in a class of Fairlead with that dialect: same, changed, dropped or
refused. The report begins with how many request classes are answered the same. A request class is a path
of an Ingress on its host: over HTTP it is one, and over HTTPS another one. Of --from alb, those that may
change are all of an Ingress that have a part in a change. Then come what each load balancer needs of the
quotas (how many rules, and how many before paths were packed into fewer), what needs a decision, the worst
first, and each Ingress. All of it is about the --provider: one that is no ALB can do more than an ALB.

--from alb is for the AWS Load Balancer Controller. Its IngressClasses, those of the controller
` + alb.Controller + `, are taken for classes of Fairlead with dialect: alb. So is the class alb if there is
no IngressClass of either controller, and so are the classes that --class-name names. The parameters
of such a class are its IngressClassParams, and the ClusterLoadBalancerClass of its name.

--from nginx is for ingress-nginx. Its IngressClasses, those of the controller ` + nginx.Controller + `, or
the class nginx, are taken likewise. The data of its ConfigMap is nginx.config of the ClusterLoadBalancerClass of
the name of the class, or what --config-map names in the cluster. Without either, the report says that the
defaults of ingress-nginx are assumed. nginx.service of that class, or else the annotations of the only Service of
type LoadBalancer with the label app.kubernetes.io/name=ingress-nginx, say where TLS ends.

With --logs, requests show which verdicts concern requests that come. Of --from nginx, these are access logs
of ingress-nginx in its default format, also with what its Pods print beside them. That format has neither
the host nor the scheme, headers nor cookies: a request counts for all hosts that have its path and Service,
and where these differ, it is undecided. A million lines take about 15 seconds, and 200 MB of memory.

Of --from alb, requests in access logs of its load balancers are replayed against what the dialect
makes of the Ingresses: each line whose answer is not possible is a disagreement, and is printed with
examples (docs/how-to/replay.md). The name of a target group says to which Service a request went, if the
controller gave it; a line that went to another one is a disagreement, too. The names that the controller
gives to load balancers are known, except where two of them begin alike; --load-balancer names others.

With --write, the Ingresses that are served are written with annotations of Fairlead alone, and so are
their Services and classes, which need no dialect. Comments and the order of fields are kept. Before
that, what would be written is compiled and compared with what the dialect makes of the originals, over
all requests and all settings. If anything differs, or is not decided, nothing is written. The report has
the attestation: the digests of both, and how many routes were compared. An Ingress that is refused stays
with the other controller, and the others get a class fairlead-NAME. If none is refused, the class keeps its
name. The controller of an IngressClass cannot be changed then: delete the object, and make the new one.

Exit code 0: all is the same; 2: something is changed or dropped, or a line of the logs disagrees; 3: an
Ingress is refused; 1: an error, or no Ingress has such a class, or nothing is written.`

const migrateExamples = `  # What becomes of these Ingresses?
  fairlead migrate --from alb --provider aws -f manifests/

  # And of these, of ingress-nginx?
  fairlead migrate --from nginx --provider aws -f manifests/

  # The Ingresses of the cluster of the current kubeconfig
  fairlead migrate --from alb --provider aws --live

  # The same for ingress-nginx, with its ConfigMap
  fairlead migrate --from nginx --provider aws --live --config-map ingress-nginx/ingress-nginx-controller

  # Do they answer yesterday's requests as they were answered?
  fairlead migrate --from alb --provider aws -f manifests/ --logs logs/2026/07/02/

  # Which of the changes concern requests that come?
  kubectl logs -n ingress-nginx deployment/ingress-nginx-controller > access.log
  fairlead migrate --from nginx --provider aws -f manifests/ --logs access.log

  # Write them with annotations of Fairlead, and keep the attestation
  fairlead migrate --from alb --provider aws -f manifests/ --write migrated/ -o json > attested.json

  # A comment on a pull request
  fairlead migrate --from alb --provider aws -f manifests/ -o markdown`

// migrating has the Ingresses that migrate.
type migrating struct {
	source.Input
	live    bool
	cluster access.Cluster
	write   string
	logs    []string
	names   []string
	// configMap is the namespace/name of the ConfigMap of ingress-nginx in the cluster; "" for none.
	configMap string
}

func newMigrate(with access.Clouds) *cobra.Command {
	var (
		in     migrating
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "migrate --from alb|nginx -f FILE|DIR... | --live",
		Short:   "Say what becomes of Ingresses that were written for another controller",
		Long:    migrateHelp,
		Example: migrateExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			return in.run(cmd, with, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown)
	htmlFlag(cmd)
	completeManifests(cmd)
	cmd.Flags().BoolVar(&in.live, "live", false, "read the Ingresses from the cluster")
	in.cluster.ConnectionFlags(cmd.Flags())
	cmd.Flags().StringVar(&in.write, "write", "",
		"new or empty `DIR` for the Ingresses that are served, their Services and classes, for Fairlead alone")
	flagvalue.Must(cmd.MarkFlagDirname("write"))
	logsFlag(cmd, &in.logs)
	cmd.Flags().StringArrayVar(&in.names, "load-balancer", nil, loadBalancerUsage)
	cmd.Flags().StringVar(&in.configMap, "config-map", "",
		"`NAMESPACE/NAME` of the ConfigMap of ingress-nginx, as its flag --configmap has it: with --live, its data goes before "+
			"nginx.config of the class")
	return cmd
}

func (m *migrating) run(cmd *cobra.Command, with access.Clouds, format output.Format) error {
	if err := m.check(cmd); err != nil {
		return err
	}
	found, places, err := m.read(cmd)
	if err != nil {
		return err
	}
	programs, assumed, notes, err := found.programsAssuming(cmd, with)
	if err != nil {
		return err
	}
	var report migration
	_ = output.While(cmd.ErrOrStderr(), "comparing both controllers", func() error { // it cannot fail
		report = reportMigration(&found, places, notes)
		return nil
	})
	if m.From == v1alpha1.DialectNGINX {
		report.Notes = notesOfController(&found, m.configMap)
	}
	if report.LoadBalancers, err = found.needs(cmd, with, programs, assumed); err != nil {
		return err
	}
	report.Summary.On = onWhat(report.LoadBalancers)
	if len(report.Ingresses) == 0 && len(report.Decisions) == 0 {
		return errors.Join(leftOut(found.problems), errors.New("no Ingress has a class of "+
			"the other controller: --class-name names its classes"))
	}
	switch {
	case len(m.logs) > 0 && m.From == v1alpha1.DialectNGINX:
		if report.Requests, err = m.judgeRequests(cmd, &found); err != nil {
			return err
		}
	case len(m.logs) > 0:
		if report.Logs, err = m.replayLogs(cmd, &found, program.TablesOf(programs)); err != nil {
			return err
		}
	}
	var unwritten error
	if m.write != "" {
		report.Attestation, unwritten = m.writeTo(cmd, with, found, places)
	}
	if err := format.PrintReport(cmd.OutOrStdout(), report, "the migration"); err != nil {
		return err
	}
	if err := writeHTML(cmd, "migrate", m.Of(m.cluster), report); err != nil {
		return err
	}
	return report.end(&found, unwritten)
}

// check returns what is wrong with the flags.
func (m *migrating) check(cmd *cobra.Command) error {
	switch {
	case m.From == "":
		return errors.New("no controller is given: --from alb is for the AWS " +
			"Load Balancer Controller, and --from nginx for ingress-nginx")
	case m.live && m.FromFiles():
		return errors.New("--live reads the cluster, and no files: leave out one of them")
	case m.configMap != "" && (m.From != v1alpha1.DialectNGINX || !m.live):
		return errors.New("--config-map is for --from nginx --live: with files, the data of the ConfigMap is nginx.config of the " +
			"ClusterLoadBalancerClass of the name of the class")
	case cmd.Flags().Changed("write") && m.write == "":
		return errors.New("--write needs the name of a directory, and it is empty")
	}
	return m.RequireFiles(m.live)
}

// end returns what the command ends with, once the report is printed.
func (r migration) end(found *side, unwritten error) error {
	switch {
	case unwritten != nil && len(found.problems) > 0:
		return errors.Join(leftOut(found.problems), unwritten)
	case unwritten != nil:
		return unwritten
	case len(found.problems) > 0:
		return leftOut(found.problems)
	case r.Logs != nil && comparedAll(*r.Logs) != nil:
		return comparedAll(*r.Logs)
	case r.Requests != nil && r.Requests.Unread > 0:
		return fmt.Errorf("%s of the logs could not be read", output.Number(r.Requests.Unread, "line"))
	case len(r.Decisions) > 0 && r.Decisions[0].Outcome == dialect.Refused:
		return errRefused
	case len(r.Decisions) > 0 || r.Logs != nil && r.Logs.Summary.Disagreements+r.Logs.Summary.NoListener > 0:
		return errToDo
	}
	return nil
}

// read reads the Ingresses, with the classes that are taken over.
func (m *migrating) read(cmd *cobra.Command) (side, manifests.Places, error) {
	out := side{input: m.Input, live: m.live}
	var places manifests.Places
	var err error
	if m.live {
		out.objects, out.options, err = m.Objects(cmd, m.cluster)
		out.objects.Records = nil // what was accepted before says nothing about Ingresses that migrate
	} else {
		out.objects, places, err = m.Load(cmd, m.cluster.Namespace)
		out.problems, err = manifests.AllLeftOut(err)
		out.options = m.Options(out.objects)
	}
	out.objects = out.objects.Taken(out.options)
	if err == nil && m.From == v1alpha1.DialectNGINX {
		out.readService()
	}
	if err == nil && m.configMap != "" {
		err = m.readConfigMap(cmd, &out)
	}
	out.options.From, out.options.TakenClasses = "", nil
	out.options = out.options.Once()
	return out, places, err
}

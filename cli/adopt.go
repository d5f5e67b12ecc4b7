package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/compare"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
)

const adoptHelp = `Compare load balancers that others made with those that the Ingresses ask for: which
requests get another answer, which settings differ, and which target group is the one of which
Service. All requests are compared. Nothing is changed, neither in the cluster nor in the cloud.

--from alb finds what the AWS Load Balancer Controller made, by its tags. Its Ingresses are read with
dialect: alb, from the cluster or from files, as migrate reads them. --from tags:KEY=VALUE and
--from arn:ARN find load balancers that Terraform or people made; --key names the one of Fairlead that
each is compared with.

Exit code 0: requests get the same answers, and no setting differs; 2: something differs; 3: some requests
are less protected than now, or may be; 1: an error, or nothing was compared.`

const adoptExamples = `  # Do the load balancers answer as Fairlead would answer?
  fairlead adopt --from alb --provider aws --aws-region eu-west-1 --aws-vpc-id vpc-0123

  # Those of these Ingresses, for a program to read
  fairlead adopt --from alb --provider aws -f manifests/ --kubeconfig none -o json

  # One that Terraform made
  fairlead adopt --from arn:arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/shop/0123456789abcdef \
    --key fairlead/shop/web/internet-facing --provider aws`

// adopting has the load balancers that are compared.
type adopting struct {
	source.Input
	home access.Cluster
	from string
	key  string
}

func newAdopt(with access.Clouds) *cobra.Command {
	var (
		in     adopting
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "adopt --from alb|tags:KEY=VALUE|arn:ARN",
		Short:   "Compare load balancers that others made with what the Ingresses ask for",
		Long:    adoptHelp,
		Example: adoptExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			return in.run(cmd, with, format)
		},
	}
	in.ManifestFlags(cmd)
	from := cmd.Flags().Lookup("from")
	from.Value = fromValue{&in.from}
	from.Usage = "alb, tags:KEY=VALUE or arn:ARN: which `LOADBALANCERS` to compare"
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format)
	completeManifests(cmd)
	cmd.Flags().StringVar(&in.key, "key", "", "compare only the load balancer of Fairlead with this `KEY`")
	in.home.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	return cmd
}

// marks returns which load balancers are asked about, and sets the dialect of the Ingresses.
func (a *adopting) marks() (lb.Marks, error) {
	kind, rest, _ := strings.Cut(a.from, ":")
	switch {
	case a.from == "":
		return lb.Marks{}, errors.New("which load balancers? --from alb is for those of the AWS Load Balancer " +
			"Controller, --from tags:KEY=VALUE and --from arn:ARN are for others")
	case slices.Contains(flagvalue.Dialects, a.from):
		a.From = a.from
		return adopt.OfController(), nil
	case kind == "arn" && rest != "":
		return lb.Marks{Handle: rest}, nil
	case kind == "tags" && rest != "":
		name, value, _ := strings.Cut(rest, "=")
		return lb.Marks{Tags: map[string]string{name: value}}, nil
	}
	return lb.Marks{}, fmt.Errorf("--from: %q is neither alb nor tags:KEY=VALUE nor arn:ARN", a.from)
}

func (a *adopting) run(cmd *cobra.Command, with access.Clouds, format output.Format) error {
	marks, err := a.marks()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	objects, options, err := a.read(cmd)
	problems, err := manifests.LeftOut(err)
	if err != nil {
		return err
	}
	opened, err := a.Provider.Live(ctx, with, a.home.Environment())
	if err != nil {
		return err
	}
	defer opened.Close()
	cloud := providers.ReadOnly(opened.Term())
	facts, err := cloud.Lookup(ctx, lb.Questions{Others: &marks})
	if err != nil {
		return err
	}
	if facts.Others == nil {
		return fmt.Errorf("the provider %s cannot say which load balancers others made", a.Provider.First())
	}
	programs, _, err := program.CompileAll(ctx, cloud, objects, options, nil)
	if err != nil {
		return err
	}
	report := adoption{LoadBalancers: []foundBalancer{}, Unmatched: []string{}}
	var found []compare.Report
	for i := range facts.Others {
		other := &facts.Others[i]
		at := slices.IndexFunc(programs, func(p program.Program) bool {
			return a.isFor(p.Plan.Key, other, len(facts.Others))
		})
		if at < 0 {
			report.Unmatched = append(report.Unmatched, describeOther(other))
			continue
		}
		p := programs[at]
		compared := adopt.Compare(*other, adopt.Wanted{Table: p.Table, LoadBalancer: p.LoadBalancer},
			p.Capabilities.Dialect, requests.OfCommand)
		report.add(other, p.Plan.Key, compared)
		found = append(found, compared.Report)
	}
	report.finish(found)
	if err := format.PrintReport(cmd.OutOrStdout(), report, "the comparison"); err != nil {
		return err
	}
	switch {
	case len(problems) > 0:
		return leftOut(problems)
	case len(report.LoadBalancers) == 0:
		return errors.New("nothing was compared: no load balancer that was found is one that the Ingresses ask for")
	case report.Answers.LessProtected():
		return errLessProtected
	case report.differ() > 0 || report.Answers.Differs():
		return errToDo
	}
	return nil
}

// read reads the Ingresses, with the classes that are taken over.
func (a *adopting) read(cmd *cobra.Command) (ingress.Objects, ingress.ClassOptions, error) {
	objects, options, err := a.Objects(cmd, a.home)
	objects.Records = nil // what was accepted before says nothing about load balancers of others
	objects = objects.Taken(options)
	options.From, options.TakenClasses = "", nil
	return objects, options, err
}

// isFor reports whether a load balancer of others serves the Ingresses of a key.
func (a *adopting) isFor(key lb.Key, other *lb.Other, found int) bool {
	if a.key != "" && string(key) != a.key {
		return false
	}
	if a.From != "" {
		return adopt.IsOfKey(other, key)
	}
	return a.key != "" && found == 1
}

// describeOther names a load balancer of others.
func describeOther(other *lb.Other) string {
	if stack := adopt.Stack(other); stack != "" {
		return other.Name + " of " + stack
	}
	return other.Name
}

// fromValue is the flag that says which load balancers to compare.
type fromValue struct{ text *string }

func (v fromValue) String() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

func (v fromValue) Set(text string) error { *v.text = text; return nil }

func (fromValue) Type() string { return "LOADBALANCERS" }

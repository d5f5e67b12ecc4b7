package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/requests"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
)

const adoptHelp = `Take over load balancers that another controller made, where they are: addresses, rules and
targets stay, and no Ingress changes. Without --yes, nothing is changed: the load balancers are compared
with those that the Ingresses ask for: which requests get another answer, which settings differ, which
target group is the one of which Service, and which load balancer has no counterpart. All requests are
compared.

--from with an ARN, or with tags:KEY=VALUE, finds load balancers that no controller made, such as those
of Terraform. Such a load balancer becomes the one of the Ingresses that ask for its name (loadBalancerName
of a class, or the annotation fairlead.dev/load-balancer-name), and --target-group says of which Services
its target groups are. Its security groups stay if the class names them. The blocks with which Terraform lets go of it are printed.

--from alb finds what the AWS Load Balancer Controller made, by its tags. --cluster-name is the name that
the controller has for this cluster (its own --cluster-name), since an account can have the load balancers
of several. The Ingresses are read with dialect: alb, from the cluster or from files, as migrate reads them.

A target group is that of a Service if its tag says so. A setting differs if Fairlead would make it
otherwise: as the Ingresses ask for it or, where they do not, as AWS makes it; "stays" is said of those that
nothing asks for, since Fairlead leaves these as they are. What is not understood is a difference.
A listener whose port no Ingress asks for stays as it is, and is not compared, unless the class has
unknownListeners: Remove.
With --live, what stands in the way of taking over is printed, too: that the controller runs, and its
webhooks that refuse writes while it does not.

With --yes, the load balancer of --key, or all, are taken over as far as that is possible now: first what
the controller has made in the cluster is recorded and removed, its finalizers and TargetGroupBindings;
then, once their Ingresses have a class of Fairlead, the tags of its resources are replaced. The controller
has to be scaled to zero meanwhile. What differs needs --accept. The command can end anywhere, and be run
again. fairlead release gives load balancers back. --finish deletes what that would need; --status says how
far each load balancer is.

Not compared are tags, client secrets (AWS returns none), reserved capacity, web ACLs of AWS WAF Classic,
rules for outgoing traffic and, except whether there are any, the targets that are registered.

Exit code 0: requests get the same answers, and no setting differs; 2: something differs; 3: some requests
are less protected than now, or may be, or something is not understood; 1: an error, or nothing was compared.
With --yes, --finish or --status, 2: something is left to do.`

const adoptExamples = `  # Do the load balancers answer as Fairlead would answer?
  fairlead adopt --from alb --cluster-name prod --provider aws --live

  # One of them
  fairlead adopt --from alb --cluster-name prod --provider aws --live --key k8s-all-be6a96a135

  # Take this one over, then all
  fairlead adopt --from alb --cluster-name prod --provider aws --live --key k8s-all-be6a96a135 --yes
  fairlead adopt --from alb --cluster-name prod --provider aws --live --all --yes

  # How far are they?
  fairlead adopt --from alb --cluster-name prod --provider aws --live --status

  # Those of these Ingresses, for a program to read
  fairlead adopt --from alb --cluster-name prod --provider aws --installation-id prod -f manifests/ -o json`

// adopting has the load balancers that are compared.
type adopting struct {
	migrating
	chosen
	theirCluster   string
	status, finish bool
	hand           byHand
}

func newAdopt(with access.Clouds) *cobra.Command {
	with = with.Only(access.Adopts)
	var (
		in     adopting
		format output.Format
	)
	cmd := &cobra.Command{
		Use:     "adopt --from alb --cluster-name NAME -f FILE|DIR... | --live",
		Short:   "Take over load balancers that another controller made, or compare them with the Ingresses",
		Long:    adoptHelp,
		Example: adoptExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Files = append(in.Files, args...)
			return in.run(cmd, with, format)
		},
	}
	in.ManifestFlags(cmd)
	in.ProviderFlag(cmd, with)
	output.Flag(cmd, &format, output.Markdown)
	completeManifests(cmd)
	cmd.Flags().BoolVar(&in.live, "live", false, "read the Ingresses from the cluster")
	cmd.Flags().StringVar(&in.theirCluster, "cluster-name", "",
		"`NAME` that the other controller has for this cluster, in the tags of what it made")
	cmd.Flags().Lookup("from").Value = &sourceValue{&in}
	cmd.Flags().Lookup("from").Usage = "which load balancers, by their `SOURCE`: alb is the AWS Load Balancer Controller, " +
		"an ARN is the one that has it, and tags:KEY=VALUE are those with this tag, such as those of Terraform"
	cmd.Flags().StringToStringVar(&in.hand.groups, "target-group", nil,
		"`ARN=SERVICE` of a target group that no controller made: which Service it is of, as namespace/name:port; may be repeated")
	in.chosen.flags(cmd, "take over, or finish: change the cluster and the cloud")
	cmd.Flags().BoolVar(&in.status, "status", false, "say how far the load balancers are that are taken over or given back")
	cmd.Flags().BoolVar(&in.finish, "finish", false, "delete what giving load balancers back would need")
	cmd.MarkFlagsMutuallyExclusive("status", "finish")
	cmd.MarkFlagsMutuallyExclusive("status", "yes")
	in.cluster.Flags(cmd.Flags())
	with.Flags(cmd.Flags())
	return cmd
}

func (a *adopting) run(cmd *cobra.Command, with access.Clouds, format output.Format) error {
	switch {
	case a.From == "" && !a.hand.given():
		return errors.New("which load balancers? --from alb is for those of the AWS Load Balancer Controller, an ARN or " +
			"tags:KEY=VALUE for others")
	case a.From != "" && len(a.hand.groups) > 0:
		return errors.New("--target-group is for load balancers that no controller made: the tags of this one say it")
	case a.live && a.FromFiles():
		return errors.New("--live reads the Ingresses of the cluster, and no files: leave out one of them")
	case (a.yes || a.status || a.finish) && !a.live:
		return errors.New("--yes, --status and --finish are about a cluster: add --live")
	}
	if err := errors.Join(a.chosen.check(), a.RequireFiles(a.live)); err != nil {
		return err
	}
	ctx := cmd.Context()
	side, _, err := a.read(cmd)
	if err != nil {
		return err
	}
	opened, err := a.Provider.Live(ctx, with, a.cluster.Environment())
	if err != nil {
		return err
	}
	defer opened.Close()
	term := opened.Term()
	if a.status || a.finish {
		return a.about(cmd, term, format)
	}
	cloud := providers.ReadOnly(term)
	found, err := a.find(ctx, cloud)
	if err != nil {
		return err
	}
	wanted, err := a.wanted(ctx, cloud, side.objects, side.options, found)
	if err != nil {
		return err
	}
	report := a.compare(found, wanted)
	if !a.hand.given() {
		report.InTheWay = a.inTheWay(ctx)
	}
	if a.yes {
		report.Progress, err = a.take(ctx, term, found, wanted)
		return errors.Join(format.PrintReport(cmd.OutOrStdout(), report, "what was done"), unfinished(report.Progress, err),
			report.aloneError())
	}
	if err := format.PrintReport(cmd.OutOrStdout(), report, "the comparison"); err != nil {
		return err
	}
	switch {
	case len(side.problems) > 0:
		return leftOut(side.problems)
	case len(report.LoadBalancers)+len(report.Alone) == 0:
		return errors.New("nothing was compared: no load balancer was found, and no Ingress asks for one")
	case report.Answers.LessProtected() || report.odd():
		return errLessProtected
	case report.differs():
		return errToDo
	}
	return nil
}

// inTheWay returns what stands in the way of taking over, as far as the cluster is read.
func (a *adopting) inTheWay(ctx context.Context) []string {
	out := []string{}
	if !a.live {
		return out
	}
	client, err := a.cluster.Client()
	if err == nil {
		out, err = adoption.InTheWay(ctx, client, time.Now())
	}
	if err != nil {
		out = append(out, "it was not read what stands in the way: "+err.Error())
	}
	return append([]string{}, out...)
}

// find returns the load balancers that others made.
func (a *adopting) find(ctx context.Context, cloud providers.Provider) (found []lb.Other, err error) {
	if a.hand.given() {
		found, err = a.hand.find(ctx, cloud)
	} else {
		found, err = adoption.Others(ctx, cloud)
	}
	if errors.Is(err, adoption.ErrCannotSay) {
		err = a.cannot("say which load balancers others made")
	}
	if err != nil || a.hand.given() {
		return found, err
	}
	clusters := map[string]int{}
	for i := range found {
		clusters[adopt.ClusterOf(&found[i])]++
	}
	if a.theirCluster == "" {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(clusters)) {
			all = append(all, name+" has "+output.Number(clusters[name], "load balancer"))
		}
		return nil, fmt.Errorf("which cluster? --cluster-name is the name that the controller has for it; found: %s",
			cmp.Or(strings.Join(all, ", "), "no load balancer of the controller, so look at --aws-region and at the account"))
	}
	return found, nil
}

// wanted returns the load balancers that Ingresses of the dialect ask for.
func (a *adopting) wanted(
	ctx context.Context, cloud clouds.Offline, objects ingress.Objects, options ingress.ClassOptions, found []lb.Other,
) ([]adoption.Wanted, error) {
	all, err := adoption.WantedOf(ctx, cloud, objects, options, adoption.OfDialect(a.From))
	for i := range all {
		all[i].Named = a.hand.named()
	}
	if err != nil || a.key == "" {
		return all, err
	}
	names := map[lb.Key]string{}
	for _, p := range a.pairs(found, all) {
		if p.Found != nil && p.Wanted != nil {
			names[p.Wanted.LoadBalancer.Key] = p.Found.Name
		}
	}
	var keys []string
	for _, w := range all {
		if a.covers(w.LoadBalancer.Key, names[w.LoadBalancer.Key]) {
			return []adoption.Wanted{w}, nil
		}
		keys = append(keys, string(w.LoadBalancer.Key))
	}
	return nil, fmt.Errorf("--key: no Ingress asks for the load balancer %s; they ask for: %s", a.key, strings.Join(keys, ", "))
}

// pairs pairs what was found with what is wanted.
func (a *adopting) pairs(found []lb.Other, wanted []adoption.Wanted) []adopt.Pair {
	if a.hand.given() {
		return adopt.PairsByName(found, adoption.Plain(wanted))
	}
	return adopt.Pairs(found, adoption.Plain(wanted), a.theirCluster)
}

// compare compares each load balancer that was found with the one that is wanted.
func (a *adopting) compare(found []lb.Other, wanted []adoption.Wanted) takeovers {
	report := takeovers{Cluster: a.theirCluster, OtherClusterNames: []string{}, LoadBalancers: []foundBalancer{}, Alone: []alone{},
		ByHand: a.hand.given()}
	for _, p := range a.pairs(found, wanted) {
		switch {
		case p.Found != nil && adopt.ClusterOf(p.Found) != a.theirCluster:
			report.OtherClusters++
			report.OtherClusterNames = append(report.OtherClusterNames, cmp.Or(adopt.ClusterOf(p.Found), "without a name"))
		case p.Found == nil:
			report.Alone = append(report.Alone, alone{Wanted: p.Wanted.LoadBalancer.Key, Why: p.Why})
		case p.Wanted == nil && a.key == "":
			report.Alone = append(report.Alone, alone{Name: p.Found.Name, For: adopt.Stack(p.Found), Why: p.Why})
		case p.Wanted != nil:
			report.add(p, adopt.Compare(p.Found, *p.Wanted, requests.OfCommand))
		}
	}
	slices.Sort(report.OtherClusterNames)
	report.OtherClusterNames = slices.Compact(report.OtherClusterNames)
	report.finish()
	return report
}

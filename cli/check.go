package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/cli/cluster"
	"fairlead.dev/fairlead/cli/configuration"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/cli/selection"
	"fairlead.dev/fairlead/cli/version"
	"fairlead.dev/fairlead/controllers"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/remote"
)

// This file looks at a cloud and a cluster before the operator works there, or when it does not.

// errWrong is how check says that something is wrong. It has said what already.
var errWrong = errors.New("something is wrong")

// noCluster is the kubeconfig that stands for none.
const noCluster = "none"

func newCheck(with Providers) *cobra.Command {
	var (
		o      operator.Settings
		format string
		as     string
		proof  proving
	)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look at what the operator needs of a cloud and a cluster, and say what is missing",
		Long: `Look at the account and the network in the cloud, and at the kinds, roles, classes and webhooks of the
cluster, as the operator would find them with these settings. Nothing is changed. Each line is one thing:
✓ is as it has to be, ✗ is wrong, ? is not known; what to do follows.

Settings are those of fairlead run: flags, variables of the environment such as FAIRLEAD_AWS_REGION, and a
file that --config names. In the operator's pod, they are the operator's.

With --prove, load balancers are made, changed and deleted again, each step compared with what the cloud then
has, and what is assumed of the cloud is tried. It says first what it will make, and asks. All of it is deleted
also when it is interrupted; what is left all the same, --prove --clean finds and deletes. The report of -o json
has no account IDs and can be attached to an issue.

Exit code 0: nothing is wrong; 1: something is, or an error.`,
		Example: `  # Before installing, with one's own credentials
  fairlead check --provider aws --aws-cluster-name my-cluster

  # With the permissions that the operator has in the cluster
  fairlead check --provider aws --as system:serviceaccount:fairlead-system:fairlead

  # The cloud alone, for a program to read
  fairlead check --provider aws --kubeconfig none -o json

  # Prove on the account what tests prove on a simulator, and keep the report
  fairlead check --provider aws --prove -o json > report.json

  # As the operator that runs
  kubectl exec -n fairlead-system deploy/fairlead -- /fairlead check`,
		Args: cobra.NoArgs,
	}
	settings := o.Flags(with.Clouds)
	cmd.Flags().SortFlags = false
	ofClouds := pflag.NewFlagSet("", pflag.ContinueOnError)
	with.Clouds.Flags(ofClouds)
	settings.VisitAll(func(f *pflag.Flag) {
		if f.Name == "provider" || f.Name == "kubeconfig" || f.Name == "namespace" || ofClouds.Lookup(f.Name) != nil {
			cmd.Flags().AddFlag(f)
		}
	})
	cmd.Flags().Lookup("kubeconfig").Usage += "; none: only the cloud is looked at"
	cmd.Flags().String("config", "", "`FILE` of settings in YAML, by the names of these flags; also "+configuration.Variable("config"))
	cmd.Flags().StringVar(&as, "as", "", "`USER` whose permissions in the cluster are looked at; unset: the caller's")
	proof.flags(cmd)
	output.Flag(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := configuration.Resolve(cmd, settings, os.Environ()); err != nil {
			return err
		}
		json, err := output.IsJSON(format)
		if err != nil {
			return err
		}
		if proof.prove || proof.clean {
			return proof.run(cmd, with, &o, json)
		}
		findings, err := checkAll(cmd.Context(), &o, with.Clouds, as)
		if err != nil {
			return err
		}
		err = output.Findings(cmd.OutOrStdout(), findings, json)
		if err == nil && check.AnyWrong(findings) {
			return errWrong
		}
		return err
	}
	return cmd
}

// check looks at the cloud and at the cluster.
func checkAll(ctx context.Context, o *operator.Settings, with selection.Clouds, as string) ([]check.Finding, error) {
	around := o.Surroundings()
	around.Nodes = nodesOf(o)
	var findings []check.Finding
	for _, name := range o.Provider.InTree() {
		look := with[name].Check
		if look == nil {
			return nil, fmt.Errorf("--provider: %q cannot be checked; %s can", name, strings.Join(with.Names(selection.Checks), ", "))
		}
		findings = append(findings, look(ctx, around)...)
	}
	for _, name := range o.Provider.Others() {
		findings = append(findings, reached(ctx, o.Provider.Endpoint(name, around)))
	}
	return append(findings, checkCluster(ctx, o, as)...), nil
}

// providerAnswersWithin is how long a provider may take to answer.
const providerAnswersWithin = 5 * time.Second

// reached looks whether a provider that is another process answers, and speaks as this operator
// does.
func reached(ctx context.Context, e remote.Endpoint) check.Finding {
	e.Call = providerAnswersWithin
	id, title := "provider/"+e.Name, "provider "+e.Name
	p, err := remote.Open(ctx, e)
	if err != nil {
		return check.Bad(id, title, err.Error(), "see that it runs at "+e.URL+", and that its token and certificates are in --provider-credentials")
	}
	defer p.Close()
	return check.Good(id, title, fmt.Sprintf("answers at %s and makes load balancers of kind %s", e.URL, p.Capabilities(lb.Class{}).Name))
}

// nodes asks the cluster for its nodes, if there is one.
func nodesOf(o *operator.Settings) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		if o.Cluster.Kubeconfig == noCluster {
			return nil, nil
		}
		ids, err := o.Cluster.Instances(ctx)
		if err != nil {
			return nil, nil //nolint:nilerr // the check of the cluster says so
		}
		return ids, nil
	}
}

// checkCluster looks at the cluster, if there is one.
func checkCluster(ctx context.Context, o *operator.Settings, as string) []check.Finding {
	skipped := func(why string) []check.Finding {
		return []check.Finding{check.Unsure("cluster", "cluster", "it is not looked at: "+why, "")}
	}
	if o.Cluster.Kubeconfig == noCluster {
		return skipped("--kubeconfig is none")
	}
	config, err := o.Cluster.Config()
	if err != nil && o.Cluster.Kubeconfig == "" {
		return skipped(err.Error())
	}
	var live cluster.Live
	if err == nil {
		live, err = reach(config, as)
	}
	if err != nil {
		return []check.Finding{check.Bad("cluster", "cluster", err.Error(), "mend the kubeconfig, or leave the cluster out with --kubeconfig none")}
	}
	options := cluster.Options{Namespace: o.Cluster.Namespace, Lease: o.LeaseName()}
	options.Oldest, options.Newest = supported()
	findings := cluster.Check(ctx, live, options)
	if findings[0].ID == cluster.Silent && o.Cluster.Kubeconfig == "" {
		return skipped(findings[0].Detail)
	}
	return findings
}

// supported are the minor versions of Kubernetes that this is for.
func supported() (oldest, newest int) {
	_, _ = fmt.Sscanf(version.Kubernetes, "1.%d to 1.%d", &oldest, &newest) // a constant, which a test reads
	return oldest, newest
}

// answersWithin is how long an API server may take to answer.
const answersWithin = 15 * time.Second

// reach makes the clients of a cluster, in the name of a user if one is given.
func reach(config *rest.Config, as string) (cluster.Live, error) {
	config.Impersonate.UserName = as
	config.Timeout = answersWithin
	config.WarningHandler = rest.NoWarnings{}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return cluster.Live{}, fmt.Errorf("reaching the cluster: %w", err)
	}
	out, err := client.New(config, client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		return cluster.Live{}, fmt.Errorf("reaching the cluster: %w", err)
	}
	return cluster.Live{Client: out, Discovery: asking}, nil
}

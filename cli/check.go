package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	kube "fairlead.dev/fairlead/controllers/cluster"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/cluster"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/remote"
)

// This file has the command fairlead check. It checks a cloud and a cluster, before the operator is
// installed or when it does not work.

const checkHelp = `Check the account and the network in the cloud, and the CRDs, RBAC,
IngressClasses and webhooks of the cluster, with the settings of the operator. Nothing is
changed. Each line is one finding: ✓ passed, ✗ failed, ? is unknown. Advice follows on the
same line.

The settings are those of fairlead run: flags, environment variables such as
FAIRLEAD_KUBECONFIG, and a file that --config names. In the operator's pod, check reads the
operator's own settings.

With --prove, check creates load balancers, changes them and deletes them again. After each step
it compares the result with the cloud, and it tests what Fairlead assumes about the cloud. It
first prints what it will create, and asks. It deletes everything, also when it is interrupted;
--prove --clean finds and deletes what is left after a crash. The report of -o json has no
account IDs and can be attached to an issue.

Exit code 0: nothing is wrong; 1: something is wrong, or an error.`

const checkExamples = `  # Before installing, with your own credentials
  fairlead check --provider aws --aws-cluster-name my-cluster

  # With the permissions that the operator has in the cluster
  fairlead check --provider aws --as system:serviceaccount:fairlead-system:fairlead

  # The cloud alone, for a program to read
  fairlead check --provider aws --kubeconfig none -o json

  # Prove on the account what tests prove on a simulator, and keep the report
  fairlead check --provider aws --prove -o json > report.json

  # As the operator that runs
  kubectl exec -n fairlead-system deploy/fairlead -- /fairlead check`

func newCheck(with access.Clouds, readInterval time.Duration) *cobra.Command {
	var (
		o      operator.Settings
		format output.Format
		as     string
		trial  = proving{readInterval: cmp.Or(readInterval, proveReadInterval)}
	)
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check that a cloud and a cluster have everything that the operator needs",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cobra.NoArgs,
	}
	settings := o.Flags(with)
	addSomeSettings(cmd, settings, func(name string) bool {
		return slices.Contains([]string{"provider", "kubeconfig", "context", "namespace"}, name) ||
			with.Has(name)
	})
	cmd.Flags().Lookup("kubeconfig").Usage += "; none: check only the cloud"
	cmd.Flags().StringVar(&as, "as", "",
		"`USER` whose permissions in the cluster are checked; unset: yours")
	trial.flags(cmd)
	output.Flag(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := resolveSettings(cmd, settings, os.Environ()); err != nil {
			return err
		}
		if trial.prove || trial.clean {
			return trial.run(cmd, with, &o, format)
		}
		findings, err := checkBoth(cmd.Context(), &o, with, as)
		if err != nil {
			return err
		}
		err = output.Findings(cmd.OutOrStdout(), findings, format)
		if err == nil && check.AnyWrong(findings) {
			return errWrong
		}
		return err
	}
	return cmd
}

// checkBoth checks the cloud and the cluster.
func checkBoth(
	ctx context.Context, o *operator.Settings, with access.Clouds, as string,
) ([]check.Finding, error) {
	around := o.Environment()
	around.Nodes = o.Cluster.KnownInstances
	var findings []check.Finding
	if o.Provider.IsDefault() {
		findings = append(findings, assumed(o.Provider.First(), with)...)
	}
	for _, name := range o.Provider.InTree() {
		look := with[name].Check
		if look == nil {
			can := strings.Join(with.NamesOf(access.Checks), ", ")
			return nil, fmt.Errorf("--provider: %q cannot be checked; %s can", name, can)
		}
		findings = append(findings, look(ctx, around)...)
	}
	for _, name := range o.Provider.Others() {
		findings = append(findings, checkProvider(ctx, o.Provider.Endpoint(name, around)))
	}
	return append(findings, checkCluster(ctx, o, as)...), nil
}

// assumed returns the finding that no provider is named, if the binary has others to check.
func assumed(provider string, with access.Clouds) []check.Finding {
	others := slices.DeleteFunc(with.NamesOf(access.Checks), func(name string) bool {
		return name == provider
	})
	if len(others) == 0 {
		return nil
	}
	detail := "none is named, so " + provider + " is checked, and no other cloud"
	return []check.Finding{check.Unsure("provider", "provider", detail,
		"name yours, such as --provider "+strings.Join(others, " or --provider "))}
}

// providerAnswersWithin is how long a provider may take to answer.
const providerAnswersWithin = 5 * time.Second

// checkProvider checks that a provider in another process answers, and shares a version of the
// protocol with this binary.
func checkProvider(ctx context.Context, e remote.Endpoint) check.Finding {
	e.Call = providerAnswersWithin
	id, title := "provider/"+e.Name, "provider "+e.Name
	p, err := remote.Open(ctx, e)
	if err != nil {
		advice := "see that it runs at " + e.URL +
			", and that its token and certificates are in --provider-credentials"
		return check.Bad(id, title, err.Error(), advice)
	}
	defer p.Close()
	kind := p.Capabilities(lb.Class{}).Name
	return check.Good(id, title,
		fmt.Sprintf("answers at %s and makes load balancers of kind %s", e.URL, kind))
}

// checkCluster checks the cluster. Without --kubeconfig, a missing cluster is no error.
func checkCluster(ctx context.Context, o *operator.Settings, as string) []check.Finding {
	skipped := func(why string) []check.Finding {
		return []check.Finding{check.Unsure("cluster", "cluster", "skipped: "+why, "")}
	}
	if o.Cluster.Kubeconfig == access.NoCluster {
		return skipped("--kubeconfig is none")
	}
	config, err := o.Cluster.Config()
	if err != nil && o.Cluster.Kubeconfig == "" && !o.Cluster.NamesContext() {
		return skipped(err.Error())
	}
	var live cluster.Live
	if err == nil {
		live, err = reach(config, as)
	}
	if err != nil {
		advice := "correct the kubeconfig, or leave the cluster out with --kubeconfig none"
		return []check.Finding{check.Bad("cluster", "cluster", err.Error(), advice)}
	}
	options := cluster.Options{Namespace: o.Cluster.Namespace, Lease: o.LeaseName()}
	options.Oldest, options.Newest = supported()
	findings := cluster.Check(ctx, live, options)
	if findings[0].ID == cluster.Silent && o.Cluster.Kubeconfig == "" && !o.Cluster.NamesContext() {
		return skipped(findings[0].Detail)
	}
	return findings
}

// supported returns the minor versions of Kubernetes 1 that are supported.
func supported() (oldest, newest int) {
	// A test reads the constant, so keep this form.
	_, _ = fmt.Sscanf(operator.KubernetesVersions, "1.%d to 1.%d", &oldest, &newest)
	return oldest, newest
}

// answersWithin is how long an API server may take to answer.
const answersWithin = 15 * time.Second

// reach returns the clients of a cluster, which impersonate a given user.
func reach(config *rest.Config, as string) (cluster.Live, error) {
	config.Impersonate.UserName = as
	config.Timeout = answersWithin
	config.WarningHandler = rest.NoWarnings{}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return cluster.Live{}, fmt.Errorf("reaching the cluster: %w", err)
	}
	out, err := client.New(config, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		return cluster.Live{}, fmt.Errorf("reaching the cluster: %w", err)
	}
	return cluster.Live{Client: out, Discovery: asking}, nil
}

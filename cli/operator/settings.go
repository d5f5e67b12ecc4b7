package operator

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file is the table of the operator's settings. A row is a flag of run, a variable of its
// environment and a key of its file at once (configuration.go), and an entry in
// docs/reference/run.md.

// Settings holds the values of the settings.
type Settings struct {
	Provider         access.Selection
	Cluster          access.Cluster
	withoutClass     string
	manageClass      string
	literal          string
	readOnly         bool
	from             string
	secrets          string
	leaderElect      bool
	leaseIn          string
	leaseLasts       time.Duration
	leaseRenewed     time.Duration
	metrics          string
	probes           string
	pprof            string
	driftInterval    time.Duration
	paused           []string
	vanishedGrace    time.Duration
	Shutdown         time.Duration
	reconcileTimeout time.Duration
	cloudRate        float64
	cloudBurst       int
	attemptTimeout   time.Duration
	callTimeout      time.Duration
	workers          int
	gates            bool
	gateTimeout      time.Duration
	logFormat        string
	verbose          bool
}

// Flags returns the table. A row checks its value when it is set, wherever the value comes from.
func (o *Settings) Flags(with access.Clouds) *pflag.FlagSet {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	flags.SortFlags = false
	o.Provider.Flags(flags, with, access.Serves, "that serve")
	with.Flags(flags)
	o.Cluster.Flags(flags)
	flags.Var(flagvalue.ClassName(&o.withoutClass, flagvalue.NoName), "watch-ingress-without-class",
		"serve Ingresses that name no class as if they named the IngressClass `NAME`, with its "+
			"parameters; without a name, or true: that of --manage-ingress-class; unset, or false: "+
			"leave them alone")
	flags.Lookup("watch-ingress-without-class").NoOptDefVal = flagvalue.NoName
	flagvalue.ClassLiteral(flags, &o.literal)
	flags.Var(flagvalue.ClassName(&o.manageClass, ingress.DefaultClass), "manage-ingress-class",
		"create the IngressClass `NAME` whenever it is missing; without a name, or true: "+
			ingress.DefaultClass+"; unset: none")
	flags.Lookup("manage-ingress-class").NoOptDefVal = ingress.DefaultClass
	flags.BoolVar(&o.readOnly, "read-only", false,
		"only plan: write the planned steps into LoadBalancers, and change nothing else")
	flagvalue.From(flags, &o.from)
	flags.Var(flagvalue.List(&o.paused), "paused", "`KEYS` of load balancers that are only planned: "+
		"the spec.key of each LoadBalancer, separated by commas; unset: none. The annotation "+
		v1alpha1.PausedAnnotation+"=true on a LoadBalancer or an IngressClass does the same")
	flags.Var(flagvalue.OneOf(&o.secrets, "all", "all", "labelled", "none"), "secrets",
		"`WHICH` Secrets may be served: all, labelled (those with "+cluster.SecretLabel+"=true) or none")
	o.leaderFlags(flags)
	o.endpointFlags(flags)
	flags.Var(flagvalue.Positive(&o.driftInterval, 10*time.Hour), "drift-interval",
		"how often to read each load balancer anew from the cloud, settings and targets included, and "+
			"to correct or report what others have changed; docs/explanation/cost.md lists it")
	flags.DurationVar(&o.vanishedGrace, "vanished-grace", 10*time.Minute,
		"how long to keep serving an Ingress that vanished while it had its finalizer: the finalizer "+
			"was removed by force, or the API server was restored from a backup. Where more than a few "+
			"vanish, they are served until an annotation confirms it. 0: not at all")
	o.callFlags(flags)
	flags.Var(flagvalue.AtLeastOne(&o.workers, 4), "workers",
		"how many load balancers to reconcile, and how many target groups to update, at a time")
	flags.Var(flagvalue.Positive(&o.reconcileTimeout, 10*time.Minute), "reconcile-timeout",
		"how long to work on a load balancer before it is reconciled anew; a worker that takes minutes "+
			"longer fails the liveness probe")
	flags.BoolVar(&o.gates, "readiness-gates", false,
		"set the readiness gate "+v1alpha1.TargetHealthGate+": a pod that declares it is ready once "+
			"the load balancers that have it as a target find it healthy. Watches all pods")
	flags.Var(flagvalue.Positive(&o.gateTimeout, 10*time.Minute), "readiness-timeout",
		"how long such a pod waits before it is ready all the same")
	flags.Var(flagvalue.Positive(&o.Shutdown, 30*time.Second), "shutdown-timeout",
		"how long steps under way may take once the operator is told to stop")
	flags.Var(flagvalue.OneOf(&o.logFormat, "json", "console", "json"), "log-format",
		"`FORMAT` of logs: json or console")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "log every step of every plan")
	return flags
}

// leaderFlags adds the flags of the election of a leader.
func (o *Settings) leaderFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"work only while holding a lease, so that several replicas can run")
	flags.StringVar(&o.leaseIn, "leader-elect-namespace", "",
		"`NAMESPACE` of the lease; unset: that of this process's pod")
	flags.Var(flagvalue.Positive(&o.leaseLasts, 15*time.Second), "leader-elect-lease-duration",
		"how long other replicas wait for a leader that no longer renews its lease")
	flags.Var(flagvalue.Positive(&o.leaseRenewed, 10*time.Second), "leader-elect-renew-deadline",
		"how long the leader tries to renew its lease before it stops; shorter than the lease duration. "+
			"Every fifth of it the leader renews the lease, and other replicas try to get it")
}

// leaseRetried returns how often the leader renews the lease, and other replicas try to get it.
func (o *Settings) leaseRetried() time.Duration { return o.leaseRenewed / 5 }

// endpointFlags adds the flags of the addresses that the operator serves at.
func (o *Settings) endpointFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.metrics, "metrics-bind-address", "127.0.0.1:8080",
		"`ADDRESS` to serve metrics at; :8080: on all interfaces; 0: nowhere")
	flags.StringVar(&o.probes, "health-probe-bind-address", "127.0.0.1:8081",
		"`ADDRESS` to serve /healthz and /readyz at; :8081: on all interfaces; 0: nowhere")
	flags.StringVar(&o.pprof, "pprof-bind-address", "", "`ADDRESS` to serve Go's profiles at, under "+
		"/debug/pprof/; unset: nowhere. Profiles show the contents of memory: choose a loopback address")
}

// callFlags adds the flags of the rate and the time of calls to the cloud.
func (o *Settings) callFlags(flags *pflag.FlagSet) {
	flags.Var(flagvalue.Rate(&o.cloudRate), "cloud-rate", "how many calls to the cloud to make in a "+
		"second, over all load balancers, which take turns; unset, or 0: no limit")
	flags.Var(flagvalue.AtLeastOne(&o.cloudBurst, 10), "cloud-burst",
		"how many calls to make at once after fewer than --cloud-rate were made")
	flags.Var(flagvalue.Positive(&o.attemptTimeout, 15*time.Second), "cloud-attempt-timeout",
		"how long the cloud may take to answer one attempt of a call that only reads")
	flags.Var(flagvalue.Positive(&o.callTimeout, time.Minute), "cloud-call-timeout",
		"how long all attempts of a call may take, without the wait for its turn, and one attempt of a "+
			"call that changes something: it is not repeated while the cloud may still carry it out")
}

// Environment describes the operator to a cloud.
func (o *Settings) Environment() clouds.Environment {
	around := o.Cluster.Environment()
	around.AttemptTimeout, around.CallTimeout = o.attemptTimeout, o.callTimeout
	return around
}

// errNoClassToAssume refuses to serve Ingresses without a class where none was named.
var errNoClassToAssume = errors.New("--watch-ingress-without-class: under which IngressClass? " +
	"Give it a name, as in --watch-ingress-without-class=" + ingress.DefaultClass +
	", or have one made by --manage-ingress-class")

// Classes returns the options that decide which Ingresses belong to the operator.
func (o *Settings) Classes() (ingress.ClassOptions, error) {
	options := ingress.ClassOptions{
		WithoutClass: o.withoutClass, Literal: o.literal, ManagedClass: o.manageClass,
		Providers: o.Provider.Names, Called: o.Provider.Called(), From: o.from,
	}
	if o.from != "" && !o.readOnly {
		return options, errors.New("--from is for a trial beside another controller: add --read-only, or set " +
			"`dialect` of a class of Fairlead")
	}
	if options.WithoutClass == flagvalue.NoName {
		options.WithoutClass = o.manageClass
		if o.manageClass == "" {
			return options, errNoClassToAssume
		}
	}
	return options, nil
}

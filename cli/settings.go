package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/controllers/cluster"
	"fairlead.dev/fairlead/model/ingress"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file is the table of what can be set of the operator. A row is a flag of run, a variable of
// its environment and a key of its file at once, and has its entry in docs/reference/run.md:
// layers.go sees to all of that.

// running are the settings.
type running struct {
	provider         selection
	home             home
	withoutClass     string
	manageClass      string
	literal          string
	readOnly         bool
	secrets          string
	leaderElect      bool
	leaseIn          string
	leaseLasts       time.Duration
	leaseRenewed     time.Duration
	leaseRetried     time.Duration
	metrics          string
	probes           string
	pprof            string
	driftInterval    time.Duration
	paused           []string
	vanishedGrace    time.Duration
	shutdown         time.Duration
	reconcileTimeout time.Duration
	cloudRate        float64
	cloudBurst       int
	attemptTimeout   time.Duration
	callTimeout      time.Duration
	workers          int
	targetWorkers    int
	gates            bool
	gateTimeout      time.Duration
	logFormat        string
	verbose          bool
}

// settings is the table. A row checks its value in its Set, wherever the value comes from.
func (o *running) settings(with Providers) *pflag.FlagSet {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	flags.SortFlags = false
	o.provider.flags(flags, with.names(serves), "that serve")
	with.flags(flags)
	o.home.flags(flags)
	flags.Var(className{&o.withoutClass, bare}, "watch-ingress-without-class", "serve Ingresses that name no class as if they named the IngressClass `NAME`, with its parameters; without a name, or true: that of --manage-ingress-class; unset, or false: they are left alone")
	flags.Lookup("watch-ingress-without-class").NoOptDefVal = bare
	literalFlag(flags, &o.literal)
	flags.Var(className{&o.manageClass, ingress.DefaultClass}, "manage-ingress-class", "make the IngressClass of this `NAME` whenever it is missing; without a name, or true: "+ingress.DefaultClass+"; unset: none")
	flags.Lookup("manage-ingress-class").NoOptDefVal = ingress.DefaultClass
	flags.BoolVar(&o.readOnly, "read-only", false, "only plan: write what there would be to do into LoadBalancers, and nothing else anywhere")
	flags.Var(list{&o.paused}, "paused", "`KEYS` of load balancers that are only planned, the spec.key of each LoadBalancer, with commas between; unset: none. "+v1alpha1.PausedAnnotation+"=true on a LoadBalancer or an IngressClass does the same")
	flags.Var(oneOf(&o.secrets, "all", "all", "labelled", "none"), "secrets", "`WHICH` Secrets may be served: all, labelled (those with "+cluster.SecretLabel+"=true) or none")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "work only while holding a lease, so that several replicas can run")
	flags.StringVar(&o.leaseIn, "leader-elect-namespace", "", "`NAMESPACE` of the lease; unset: that of this process's pod")
	flags.Var(positive(&o.leaseLasts, 15*time.Second), "leader-elect-lease-duration", "how long the lease of a replica that is not heard of stands in the way of others")
	flags.Var(positive(&o.leaseRenewed, 10*time.Second), "leader-elect-renew-deadline", "how long the leader tries to renew its lease before it stops; less than the lease lasts")
	flags.Var(positive(&o.leaseRetried, 2*time.Second), "leader-elect-retry-period", "how often the lease is renewed, or tried for")
	flags.StringVar(&o.metrics, "metrics-bind-address", "127.0.0.1:8080", "`ADDRESS` to serve metrics at, :8080 for everybody, 0 for nowhere")
	flags.StringVar(&o.probes, "health-probe-bind-address", "127.0.0.1:8081", "`ADDRESS` to serve /healthz and /readyz at, :8081 for everybody, 0 for nowhere")
	flags.StringVar(&o.pprof, "pprof-bind-address", "", "`ADDRESS` to serve Go's profiles at, under /debug/pprof/; unset: nowhere. They show what is in memory: choose one of loopback")
	flags.Var(positive(&o.driftInterval, 10*time.Hour), "drift-interval", "how long what was seen of the cloud is believed: then it is read again, settings and members included, and what another hand changed is put right or told; docs/aws/cost.md lists it")
	flags.DurationVar(&o.vanishedGrace, "vanished-grace", 10*time.Minute, "how long an Ingress is served that is gone without having been let go of: its finalizer was taken by force, or the API server was restored. Where more than a few vanish, they are served until an annotation confirms it. 0: not at all")
	flags.Var(rate{&o.cloudRate}, "cloud-rate", "how many calls of the cloud are made in a second, over all load balancers; those that wait take turns. Unset, or 0: no limit")
	flags.Var(atLeastOne(&o.cloudBurst, 10), "cloud-burst", "how many calls can be made at once where there were fewer than the rate before")
	flags.Var(positive(&o.attemptTimeout, 15*time.Second), "cloud-attempt-timeout", "how long the cloud may take to answer an attempt of a call")
	flags.Var(positive(&o.callTimeout, time.Minute), "cloud-call-timeout", "how long all attempts of a call may take, without the wait for its turn")
	flags.Var(atLeastOne(&o.workers, 4), "workers", "how many load balancers are worked on at a time")
	flags.Var(atLeastOne(&o.targetWorkers, 4), "target-workers", "how many target groups have their members changed at a time")
	flags.Var(positive(&o.reconcileTimeout, 10*time.Minute), "reconcile-timeout", "how long a load balancer is worked on before it is looked at anew; a worker that takes minutes longer fails the liveness probe")
	flags.BoolVar(&o.gates, "readiness-gates", false, "keep the readiness gate "+v1alpha1.TargetHealthGate+": a pod that declares it is ready once the load balancers that have it for a target find it healthy. Watches all pods")
	flags.Var(positive(&o.gateTimeout, 10*time.Minute), "readiness-timeout", "how long such a pod waits before it is ready all the same")
	flags.Var(positive(&o.shutdown, 30*time.Second), "shutdown-timeout", "how long steps under way may take once the operator is told to stop")
	flags.Var(oneOf(&o.logFormat, "json", "console", "json"), "log-format", "`FORMAT` of logs: json or console")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "log every step of every plan")
	return flags
}

// surroundings are what a cloud is told of the operator.
func (o *running) surroundings() clouds.Surroundings {
	around := o.home.surroundings()
	around.AttemptTimeout, around.CallTimeout = o.attemptTimeout, o.callTimeout
	return around
}

// classes are the settings that decide which Ingresses are ours.
func (o *running) classes() (ingress.Options, error) {
	options := ingress.Options{WithoutClass: o.withoutClass, Literal: o.literal, ManagedClass: o.manageClass, Providers: o.provider.names}
	if options.WithoutClass == bare {
		options.WithoutClass = o.manageClass
		if o.manageClass == "" {
			return options, errors.New("--watch-ingress-without-class: under which IngressClass? Give it a name, as in --watch-ingress-without-class=" + ingress.DefaultClass + ", or have one made by --manage-ingress-class")
		}
	}
	return options, nil
}

// flags say which cluster is meant, or which part of it.
func (h *home) flags(flags *pflag.FlagSet) {
	h.clusterFlags(flags)
	flags.StringVar(&h.installation, "installation-id", "", "`TEXT` in the cloud's tags that tells what this operator makes from what others do; unset: the UID of the namespace kube-system, and the namespace that is served")
}

// clusterFlags say which cluster, and which part of it.
func (h *home) clusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&h.kubeconfig, "kubeconfig", "", "`FILE` that says which cluster; unset: KUBECONFIG, else the cluster around this process")
	flags.StringVar(&h.namespace, "namespace", "", "the only `NAMESPACE` whose Ingresses are served; unset: all")
}

// A list is a setting with several values, with commas between.
type list struct {
	values *[]string
}

func (l list) Set(s string) error {
	*l.values = nil
	for value := range strings.SplitSeq(s, ",") {
		if value = strings.TrimSpace(value); value != "" {
			*l.values = append(*l.values, value)
		}
	}
	return nil
}

func (l list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

func (l list) Type() string { return "list" }

// A choice is a setting with a few values.
type choice struct {
	value  *string
	values []string
}

func oneOf(value *string, unset string, values ...string) choice {
	*value = unset
	return choice{value, values}
}

func (c choice) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return *c.value
}

func (c choice) Set(v string) error {
	if !slices.Contains(c.values, v) {
		return errors.New("it can be " + c.names())
	}
	*c.value = v
	return nil
}

func (c choice) Type() string { return "string" }

// names are the values as prose.
func (c choice) names() string {
	last := len(c.values) - 1
	if last <= 0 {
		return strings.Join(c.values, "")
	}
	return strings.Join(c.values[:last], ", ") + " or " + c.values[last]
}

// A span is a setting that is a duration of more than nothing.
type span struct{ value *time.Duration }

func positive(value *time.Duration, unset time.Duration) span {
	*value = unset
	return span{value}
}

func (s span) String() string {
	if s.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return s.value.String()
}

func (s span) Set(v string) error {
	d, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("reading a duration like 90s or 1h30m: %w", err)
	}
	if d <= 0 {
		return errors.New("it has to be more than zero")
	}
	*s.value = d
	return nil
}

func (s span) Type() string { return "duration" }

// A count is a setting that is a number of at least one.
type count struct{ value *int }

func atLeastOne(value *int, unset int) count {
	*value = unset
	return count{value}
}

func (c count) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return strconv.Itoa(*c.value)
}

func (c count) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return errors.New("it has to be a whole number of at least 1")
	}
	*c.value = n
	return nil
}

func (c count) Type() string { return "int" }

// literalFlag names what is served without an IngressClass.
func literalFlag(flags *pflag.FlagSet, value *string) {
	flags.Var(className{value: value}, "ingress-class-literal", "serve Ingresses whose annotation kubernetes.io/ingress.class says `NAME`, without any parameters, where no IngressClass has this name; unset: they are told ClassMissing, as with the field")
}

// bare is the value of a flag that names a class, and is given without a name.
const bare = "true"

// A className is a setting that names a class, or says whether there is one at all.
type className struct {
	value *string
	yes   string // what the value true stands for; "" where it has to be a name
}

func (c className) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return *c.value
}

func (c className) Set(v string) error {
	switch v {
	case "true":
		if c.yes == "" {
			return errors.New("it has to be the name of a class")
		}
		v = c.yes
	case "", "false":
		*c.value = ""
		return nil
	}
	if problems := validation.IsDNS1123Subdomain(v); len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	*c.value = v
	return nil
}

func (c className) Type() string { return "name" }

// A rate is a setting that is so many a second, or no limit.
type rate struct{ value *float64 }

func (r rate) String() string {
	if r.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return strconv.FormatFloat(*r.value, 'g', -1, 64)
}

func (r rate) Set(v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0) || math.IsInf(f, 0) {
		return errors.New("it has to be a number that is not below 0")
	}
	*r.value = f
	return nil
}

func (r rate) Type() string { return "float64" }
